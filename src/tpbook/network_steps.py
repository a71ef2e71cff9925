"""Steps in measured all-reduce times, where a library changes its protocol or its algorithm.

The Hockney law is a straight line in the message. At a step two lines meet with a gap.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import nnls

from tpbook.network_fit import checked_table, fit_hockney

WINDOW = 2.0  # points up to this factor below and above a boundary make its two lines
FOLDS = 7
SMALLEST_STEP = 1.3  # well above the few percent by which neighbouring sizes scatter


@dataclass(frozen=True)
class Step:
    """A jump of the time between two measured sizes.

    below, above: the sizes on either side (B). before, after: the times (s) that the lines
    through the points below and above it give at the boundary, their geometric mean.
    """

    below: float
    above: float
    before: float
    after: float

    @property
    def factor(self) -> float:
        """Time above the step over time below it; under 1 for a step down."""
        return self.after / self.before


def find_steps(message, time) -> list[Step]:
    """Every step by a factor of 1.3 or more, up or down, in order of message.

    message: B, 1-D, increasing. time: s, same length. Two lines are fitted in relative error to
    the points within a factor of two on either side, at least two points each; of neighbouring
    boundaries the one with the largest step counts.
    Raises ValueError for values that are not positive, unequal lengths, messages out of order.
    """
    message, time = _checked(message, time)
    boundaries = [_boundary(message, time, i) for i in range(len(message) - 1)]
    found = [step for step in boundaries if step and _size(step) >= SMALLEST_STEP]
    found.sort(key=_size, reverse=True)
    kept: list[Step] = []
    for step in found:
        apart = (max(step.below / k.above, k.below / step.above) for k in kept)
        # Lines within one window of a kept step are bent by it.
        if all(distance >= WINDOW for distance in apart):
            kept.append(step)
    return sorted(kept, key=lambda step: step.below)


def pieces(message, time, steps: list[Step]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The table cut at its steps; a piece of fewer than three sizes joins the one below it."""
    message, time = _checked(message, time)
    cuts = []
    for step in steps:
        cut = int(np.searchsorted(message, step.above))
        if cut - (cuts[-1] if cuts else 0) >= 3 and len(message) - cut >= 3:
            cuts.append(cut)
    return list(zip(np.split(message, cuts), np.split(time, cuts)))


def interpolated_time(message, time, at) -> np.ndarray:
    """Times (s) at other messages (B), by straight lines between the logarithms of the table.

    Raises ValueError for a message outside the table, and as find_steps.
    """
    message, time = _checked(message, time)
    at = np.asarray(at, float)
    if not np.all((at >= message[0]) & (at <= message[-1])):
        raise ValueError(
            f"at must lie between {message[0]:g} and {message[-1]:g} B: a table says nothing beyond"
        )
    return np.exp(np.interp(np.log(at), np.log(message), np.log(time)))


def held_out_errors(message, time, p: int) -> dict[str, float]:
    """Mean |relative error| at sizes left out of the fit, for three ways to use one table.

    "law": one Hockney law. "pieces": one law between each two steps. "table": interpolation.
    Every seventh size is left out in turn, the smallest and the largest never.
    Arguments and errors as in network_fit.fit_hockney, and as find_steps.
    """
    message, time = _checked(message, time)
    inner = np.arange(1, len(message) - 1)
    errors = {"law": [], "pieces": [], "table": []}
    for fold in range(FOLDS):
        out = inner[inner % FOLDS == fold]
        kept = np.setdiff1d(np.arange(len(message)), out)
        known, at, true = (message[kept], time[kept]), message[out], time[out]
        whole = [(known[0], known[1])]
        parts = pieces(*known, find_steps(*known))
        predicted = {
            "law": _by_pieces(whole, at, p),
            "pieces": _by_pieces(parts, at, p),
            "table": interpolated_time(*known, at),
        }
        for way, times in predicted.items():
            errors[way].extend(np.abs(times / true - 1))
    return {way: float(np.mean(values)) for way, values in errors.items()}


def _by_pieces(parts, at, p: int) -> np.ndarray:
    # A size between two pieces belongs to the lower one up to the middle of the gap.
    cuts = [np.sqrt(low[0][-1] * high[0][0]) for low, high in pairwise(parts)]
    owner = np.searchsorted(cuts, at)
    laws = [fit_hockney(*part, p) for part in parts]
    return np.array([laws[i].time(m) for i, m in zip(owner, at)])


def _size(step: Step) -> float:
    return max(step.factor, 1 / step.factor)


def _boundary(message, time, i: int) -> Step | None:
    low, high = message[i], message[i + 1]
    left = (message <= low) & (message >= low / WINDOW)
    right = (message >= high) & (message <= high * WINDOW)
    if left.sum() < 2 or right.sum() < 2:
        return None
    at = float(np.sqrt(low * high))
    before, after = (_line(message[side], time[side], at) for side in (left, right))
    return Step(float(low), float(high), before, after)


def _line(message, time, at: float) -> float:
    """The time at a message by a line with neither negative latency nor negative slope."""
    matrix = np.column_stack([np.full(len(time), 1.0), message / at]) / time[:, None]
    solution, _ = nnls(matrix, np.ones(len(time)))
    return float(solution.sum())


def _checked(message, time) -> tuple[np.ndarray, np.ndarray]:
    message, time = checked_table(message, time)
    if np.any(np.diff(message) <= 0):
        raise ValueError("message must increase from row to row: sort it, one row per size")
    return message, time
