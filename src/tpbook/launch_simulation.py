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
    """When each rank reached its all-reduces, and where its time went (s).

    work, arrival: kernel time of each segment and the time at which its all-reduce starts, shape
    (..., segments, ranks). duration: s of one all-reduce without waiting.
    The properties sum over the segments: their shape is (..., ranks), that of elapsed and
    shortest is (...).
    """

    work: np.ndarray
    arrival: np.ndarray
    duration: float

    @property
    def end(self) -> np.ndarray:
        """When each all-reduce ends, on all ranks at once: shape (..., segments, 1)."""
        return self.arrival.max(axis=-1, keepdims=True) + self.duration

    @property
    def segment_idle(self) -> np.ndarray:
        """Time of each segment in which the stream had no kernel: shape (..., segments, ranks)."""
        before = np.concatenate([np.zeros_like(self.end[..., :1, :]), self.end[..., :-1, :]], -2)
        return self.arrival - before - self.work

    @property
    def idle(self) -> np.ndarray:
        """Time in which the stream had no kernel to run."""
        return self.segment_idle.sum(axis=-2)

    @property
    def compute(self) -> np.ndarray:
        """Time of the rank's own kernels."""
        return self.work.sum(axis=-2)

    @property
    def communication(self) -> np.ndarray:
        """What a profiler reports as all-reduce time: with the waiting inside the kernel."""
        return (self.end - self.arrival).sum(axis=-2)

    @property
    def active(self) -> np.ndarray:
        """What a profiler reports as GPU active time: compute and communication."""
        return self.compute + self.communication

    @property
    def elapsed(self) -> np.ndarray:
        """Time from the first launch to the end of the last all-reduce."""
        return self.end[..., -1, 0]

    @property
    def shortest(self) -> np.ndarray:
        """Sum over the all-reduces of the shortest time that any rank saw: nobody's waiting."""
        return (self.end - self.arrival).min(axis=-1).sum(axis=-1)


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

    cpu = gpu = np.zeros((*runs, ranks))
    arrivals, ends = [], []
    for segment in range(segments):
        if synchronise and segment and segment % per_pass == 0:
            cpu = np.maximum(cpu, gpu)
        if segment >= ahead:
            cpu = np.maximum(cpu, ends[segment - ahead])
        done = np.maximum(gpu + work[..., segment, :], cpu + tail[..., segment, :])
        cpu = cpu + issued[..., segment, -1, :]
        arrivals.append(np.maximum(done, cpu))
        gpu = arrivals[-1].max(axis=-1, keepdims=True) + collective
        ends.append(gpu)
    return RankTimes(work, np.stack(arrivals, axis=-2), float(collective))


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
