"""Millions of predictions: the serving form over a grid of degrees, batches and lengths.

The form is a sum of products of what depends on one axis or two. Only the mean step depends on
prompt and output at once, and only through the cached tokens, in which it is linear. So all
equations are evaluated on the small axes, and five operations are left for a configuration.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpbook import checks
from tpbook.geometry import Model
from tpbook.serving_model import Parameters, decode_terms, prefill_terms
from tpbook.serving_work import Machine, model_work
from tpbook.sharding import shard

# Configurations at a time: three columns of 256 KiB stay in a core's second-level cache.
CHUNK = 2**15


@dataclass(frozen=True)
class Chunk:
    """One block of a sweep: its four axes, and the measures on (p, batch, prompt, output).

    ttft, tpot, latency: s. throughput: output tokens of all sequences per second (eq-throughput).
    The next chunk overwrites the measures: copy what is to be kept.
    """

    p: np.ndarray
    batch: np.ndarray
    prompt: np.ndarray
    output: np.ndarray
    ttft: np.ndarray
    tpot: np.ndarray
    latency: np.ndarray
    throughput: np.ndarray

    def fastest_degree(self) -> np.ndarray:
        """The degree of the shortest latency for each (batch, prompt, output)."""
        return self.p[np.argmin(self.latency, axis=0)]


def sweep(
    found: Parameters, geometry: Model, device: Machine, p, batch, prompt, output
) -> Iterator[Chunk]:
    """Predict every configuration of a grid, block by block, in memory that no grid enlarges.

    found: parameters of a calibration. p, batch, prompt, output: the values of each axis, whole
    numbers from one up, output from two; every chunk holds all degrees.
    Raises ValueError as predict.predict does, and for an axis that is empty or not a list; so the
    first chunk is asked for at once.
    """
    axes = _axes(p, batch, prompt, output)
    for degree in axes[0]:
        shard(geometry, int(degree))
    device.bandwidth(axes[0])
    return _chunks(found, geometry, device, *axes)


def _axes(*values) -> list[np.ndarray]:
    axes = []
    for name, value in zip(("p", "batch", "prompt", "output"), values):
        rule = checks.several if name == "output" else checks.degree
        checks.whole(**{name: value})
        rule(**{name: value})
        axis = np.asarray(value, dtype=float)
        if axis.ndim != 1 or not len(axis):
            raise ValueError(f"{name} must be a list of one value or more, got {value!r}")
        axes.append(axis)
    return axes


def _chunks(found, geometry, device, p, batch, prompt, output) -> Iterator[Chunk]:
    work = model_work(geometry)
    degrees = p.astype(int)
    widths = _block_widths(len(p), len(batch), len(prompt), len(output))
    buffers = np.empty((3, len(p) * widths[0] * widths[1] * widths[2]))
    for b in _blocks(batch, widths[0]):
        ranks, sequences = p[:, None], b[None, :]
        still, one = (decode_terms(work, device, found, ranks, sequences, n) for n in (0.0, 1.0))
        base = sum(still.values())[..., None, None]
        per_token = (one["KV cache"] - still["KV cache"])[..., None, None]
        for n in _blocks(prompt, widths[1]):
            grid = np.ix_(p, b, n)
            first = sum(prefill_terms(work, device, found, *grid).values())[..., None]
            for o in _blocks(output, widths[2]):
                shape = len(p), len(b), len(n), len(o)
                size = int(np.prod(shape))
                tpot, latency, rate = (column[:size].reshape(shape) for column in buffers)
                context = n[:, None] + o / 2
                if work.window is not None:
                    context = np.minimum(context, work.window)
                np.multiply(per_token, context, out=tpot)
                tpot += base
                np.multiply(tpot, o - 1, out=latency)
                latency += first
                np.divide(b[:, None, None] * o, latency, out=rate)
                ttft = np.broadcast_to(first, shape)
                yield Chunk(degrees, b, n, o, ttft, tpot, latency, rate)


def _block_widths(degrees: int, batches: int, prompts: int, outputs: int) -> tuple[int, int, int]:
    """How many values of each of three axes make one chunk, the last axis first."""
    room = max(CHUNK // degrees, 1)
    output = min(outputs, room)
    prompt = min(prompts, max(room // output, 1))
    return min(batches, max(room // (output * prompt), 1)), prompt, output


def _blocks(axis: np.ndarray, width: int) -> Iterator[np.ndarray]:
    return (axis[start : start + width] for start in range(0, len(axis), width))
