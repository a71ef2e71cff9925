"""The ring all-reduce run step by step on real arrays: the brute force behind its formula."""

from typing import NamedTuple

import numpy as np


class RingRun(NamedTuple):
    """What a run gave: each rank's result, the steps taken, the bytes each rank sent."""

    results: np.ndarray
    steps: int
    sent: np.ndarray


def run_ring_allreduce(buffers: np.ndarray) -> RingRun:
    """Sum p buffers on p ranks by a ring reduce-scatter and a ring all-gather.

    buffers: array (p, size), one row per rank; size must be a multiple of p.
    Returns the results (p, size), the number of steps and the bytes sent (p,).
    Raises ValueError for another shape. Source: Patarasuk and Yuan 2009.
    """
    work = np.array(buffers, dtype=float)
    if work.ndim != 2 or work.shape[1] % work.shape[0]:
        raise ValueError(
            f"buffers must have shape (p, size) with size a multiple of p, got {work.shape}"
        )
    p = work.shape[0]
    chunks = work.reshape(p, p, -1)
    sent = np.zeros(p)
    ranks = np.arange(p)
    for step in range(2 * (p - 1)):
        reducing = step < p - 1
        # In step s rank r sends chunk r - s; the all-gather goes on with the chunk just summed.
        chunk = (ranks - step) % p if reducing else (ranks + 1 - (step - (p - 1))) % p
        outgoing = chunks[ranks, chunk].copy()
        receiver = (ranks + 1) % p
        if reducing:
            chunks[receiver, chunk] += outgoing
        else:
            chunks[receiver, chunk] = outgoing
        sent += outgoing[0].nbytes
    return RingRun(work, 2 * (p - 1), sent)
