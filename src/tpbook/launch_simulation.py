"""Ranks that launch kernels, starve and wait for one another: a simulation of eager execution.

Every rank has a CPU thread that launches kernels one after another and a GPU stream that runs
them in order, each no earlier than its launch has arrived. A pass is cut into segments: kernels
of its own, then one all-reduce. The all-reduce ends on all ranks at once, its own duration after
the last of them has started it; a rank that started earlier waits inside the kernel, which a
profiler counts as active time. All times are simulated; nothing here was measured.
"""

from dataclasses import dataclass

import numpy as np

from tpbook import checks


@dataclass(frozen=True)
class RankTimes:
    """Where the elapsed time of every rank went; arrays end in the axis of the ranks.

    compute, waiting, idle: s. waiting is the part of the all-reduces before the last rank came;
    idle is the time in which the stream had no kernel. collective: duration of all all-reduces
    without waiting (s). elapsed: s, the same for all ranks. first_waits: the sum over all
    all-reduces of the least waiting of any rank, which is zero: some rank is always the last.
    """

    compute: np.ndarray
    waiting: np.ndarray
    idle: np.ndarray
    collective: np.ndarray
    elapsed: np.ndarray
    first_waits: np.ndarray

    @property
    def communication(self) -> np.ndarray:
        """What a profiler reports as all-reduce time: the collective and the waiting."""
        return self.collective[..., None] + self.waiting

    @property
    def active(self) -> np.ndarray:
        """What a profiler reports as GPU active time: compute and communication."""
        return self.compute + self.communication


def simulate(
    launch, compute, collective, passes: int = 1, synchronise: bool = True, depth: int = 1024
) -> RankTimes:
    """Run segments on several ranks and account for the time of each.

    launch: s that the CPU spends on each launch, shape (..., segments, kernels + 1, ranks); the
    last of a segment is its all-reduce. compute: s of each kernel, shape that broadcasts to
    (..., segments, kernels, ranks). collective: s of one all-reduce without waiting.
    passes: equal parts of the segments; with synchronise the CPU waits at the end of each until
    its GPU is done, as one that reads the next token does. depth: kernels that may be launched
    ahead; checked once a segment.
    Leading axes are independent runs. Raises ValueError for a negative time, for fewer launches
    than kernels and for segments that passes does not divide.
    """
    checks.nonnegative(launch=launch, compute=compute, collective=collective)
    launch, compute = np.asarray(launch, float), np.asarray(compute, float)
    if launch.ndim < 3:
        raise ValueError(
            f"launch must have axes segments, kernels + 1, ranks, got shape {launch.shape}"
        )
    *runs, segments, launches, ranks = launch.shape
    compute = np.broadcast_to(compute, (*runs, segments, launches - 1, ranks))
    if passes < 1 or segments % passes:
        raise ValueError(f"passes must divide the {segments} segments, got {passes}")
    per_pass, ahead = segments // passes, max(1, depth // launches)

    issued = np.cumsum(launch, axis=-2)  # since the beginning of the segment
    work = compute.sum(axis=-2)
    # Work that is still to do when a kernel starts: the all-reduce starts after all of it.
    remaining = work[..., None, :] - np.cumsum(compute, axis=-2) + compute
    tail = (issued[..., :-1, :] + remaining).max(axis=-2) if launches > 1 else issued[..., 0, :]

    cpu, gpu = np.zeros((*runs, ranks)), np.zeros((*runs, ranks))
    idle, waiting, first_waits = np.zeros_like(cpu), np.zeros_like(cpu), np.zeros(runs)
    ends = []
    for segment in range(segments):
        at = (..., segment, slice(None))
        if synchronise and segment and segment % per_pass == 0:
            cpu = np.maximum(cpu, gpu)
        if segment >= ahead:
            cpu = np.maximum(cpu, ends[segment - ahead])
        free = np.maximum(gpu + work[at], cpu + tail[at])
        cpu = cpu + issued[..., segment, -1, :]
        start = np.maximum(free, cpu)
        end = start.max(axis=-1, keepdims=True)
        idle += start - gpu - work[at]
        waiting += end - start
        first_waits += (end - start).min(axis=-1)
        gpu = np.broadcast_to(end + collective, cpu.shape)
        ends.append(gpu)
    return RankTimes(
        work.sum(axis=-2),
        waiting,
        idle,
        np.full(runs, segments * float(collective)),
        gpu[..., 0],
        first_waits,
    )


def jittered(mean, variation, shape, seed: int) -> np.ndarray:
    """Launch times with a log-normal spread: most a little short, a few long.

    mean: s, a number or an array that broadcasts to shape. variation: standard deviation over
    mean. shape: of the result. seed: of the generator. The mean is that of the distribution, not
    of the sample. Raises ValueError for a mean or a variation below zero.
    """
    checks.nonnegative(mean=mean, variation=variation)
    width = np.sqrt(np.log1p(float(variation) ** 2))
    draws = np.random.default_rng(seed).standard_normal(shape)
    return mean * np.exp(width * draws - width**2 / 2)


def spread(times: np.ndarray) -> np.ndarray:
    """Largest less smallest value over the ranks (s)."""
    return np.ptp(times, axis=-1)
