"""The ring all-reduce run step by step on real arrays: the brute force behind its formula."""

from collections.abc import Iterator
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
    work = _chunked(buffers)
    sent = np.zeros(len(work))
    steps = 0
    for work, outgoing in ring_steps(buffers):
        steps += 1
        sent += outgoing[0].nbytes
    return RingRun(work.reshape(len(work), -1), steps, sent)


def ring_steps(buffers: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The ring all-reduce one step at a time: p - 1 steps of summing, then p - 1 of copying.

    buffers: as in run_ring_allreduce. Yields, after each step, the chunks (p ranks, p chunks,
    size / p) and what each rank sent in that step (p, size / p).
    """
    chunks = _chunked(buffers)
    p = len(chunks)
    ranks = np.arange(p)
    receiver = (ranks + 1) % p
    for step in range(2 * (p - 1)):
        summing = step < p - 1
        # In step s rank r sends chunk r - s; the all-gather goes on with the chunk just summed.
        chunk = (ranks - step) % p if summing else (ranks + 1 - (step - (p - 1))) % p
        outgoing = chunks[ranks, chunk].copy()
        if summing:
            chunks[receiver, chunk] += outgoing
        else:
            chunks[receiver, chunk] = outgoing
        yield chunks.copy(), outgoing


def fewest_sends(p: int) -> int:
    """The fewest point-to-point sends after which p ranks all hold the sum of p numbers.

    A message carries one sum of distinct contributions that its sender can form. Found by trying
    every order, so for p up to 5.
    Raises ValueError for another p.
    """
    if isinstance(p, bool) or not isinstance(p, int) or p not in range(1, 6):
        raise ValueError(f"p must be 1 to 5, since every order of sends is tried; got {p}")
    start = tuple(frozenset([1 << rank]) for rank in range(p))
    sends = 0
    while not _reachable(start, (1 << p) - 1, sends):
        sends += 1
    return sends


def _chunked(buffers: np.ndarray) -> np.ndarray:
    work = np.array(buffers, dtype=float)
    if work.ndim != 2 or len(work) == 0 or work.shape[1] % len(work):
        raise ValueError(
            f"buffers must have shape (p, size) with size a multiple of p, got {work.shape}"
        )
    return work.reshape(len(work), len(work), -1)


def _reachable(state: tuple, full: int, sends: int) -> bool:
    missing = sum(full not in known for known in state)
    # A send completes at most one rank, so nothing is lost by stopping here.
    if missing == 0 or missing > sends:
        return missing == 0
    return any(_reachable(after, full, sends - 1) for after in _after_one_send(state))


def _after_one_send(state: tuple) -> Iterator[tuple]:
    """Every state that one useful send leads to; a state lists the sums each rank can form."""
    for sender, offered in enumerate(state):
        for receiver, known in enumerate(state):
            for message in offered - known:
                sums = known | {message} | {message | own for own in known if not message & own}
                yield state[:receiver] + (frozenset(sums),) + state[receiver + 1 :]
