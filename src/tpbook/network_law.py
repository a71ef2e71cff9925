"""The time of an all-reduce of any size from a table of measured sizes, with its own error.

One Hockney line fails where the library switches its protocol. Between two measured sizes it
holds well: a line through both has their own alpha and beta. Where repeats scatter more than
neighbours differ, a running median around one line is better. Which of the two a table gets is
decided by leaving out sizes of the table itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tpbook import checks
from tpbook.network_fit import checked_table
from tpbook.systems import System, allreduce_times

FOLDS = 7
BLOCKS = 8
LOW, HIGH = 8 * 1024.0, 64 * 1024.0**2  # B: the sizes of inference, which are left out in turn
WINDOW = 0.1  # of ln M: the standard width of the running median
FEWEST = 5  # sizes below which nothing can be left out and judged


def line_between(message, time, at) -> np.ndarray:
    """Times (s) at other sizes (B) by straight lines between measured sizes.

    Below the smallest size its time stands, since latency is left; above the largest the last
    line goes on, but never downwards.
    """
    inside = np.interp(at, message, time)
    slope = max((time[-1] - time[-2]) / (message[-1] - message[-2]), 0.0)
    return inside + slope * np.maximum(np.asarray(at) - message[-1], 0.0)


def running_median(message, time, at) -> np.ndarray:
    """Times (s) at other sizes (B): one line, times the median ratio to it of the sizes near by."""
    scaled = np.column_stack([np.ones(len(time)), message / message[-1]]) / time[:, None]
    alpha, slope = nnls(scaled, np.ones(len(time)))[0]

    def line(size):
        return alpha + slope * np.asarray(size) / message[-1]

    ratio = time / line(message)
    order = np.argsort(ratio, kind="stable")
    at = np.atleast_1d(at)
    distance = (np.log(np.maximum(at, message[0]))[:, None] - np.log(message[order])) / WINDOW
    nearest = np.min(distance**2, axis=1, keepdims=True)
    weight = np.cumsum(np.exp((nearest - distance**2) / 2), axis=1)
    middle = np.argmax(weight >= weight[:, -1:] / 2, axis=1)
    return line(at) * ratio[order][middle]


WAYS: dict[str, Callable] = {"lines": line_between, "running median": running_median}


@dataclass(frozen=True)
class AllReduceModel:
    """The time of an all-reduce on p ranks, to be called with a message (B, number or array).

    way: "lines" or "running median". low, high: smallest and largest measured message (B).
    errors: time by the model over measured time minus 1, at sizes of 8 KiB to 64 MiB that were
    left out; the way was chosen anew without them. Empty where the table is too short to tell.
    """

    p: int
    way: str
    message: np.ndarray
    time: np.ndarray
    errors: np.ndarray

    @property
    def low(self) -> float:
        """Smallest measured message (B)."""
        return float(self.message[0])

    @property
    def high(self) -> float:
        """Largest measured message (B)."""
        return float(self.message[-1])

    @property
    def error(self) -> float:
        """Median size of the errors; NaN where there are none."""
        return float(np.median(np.abs(self.errors))) if len(self.errors) else float("nan")

    def __call__(self, message):
        """Time (s) of a message (B); ValueError for one that is not positive."""
        checks.positive(message=message)
        flat = np.ravel(np.asarray(message, dtype=float))
        return WAYS[self.way](self.message, self.time, flat).reshape(np.shape(message))[()]


def allreduce_time_model(system: System, p: int, method: str | None = None) -> AllReduceModel:
    """The model of a system's all-reduce at a measured degree, by a method (the main one).

    Raises ValueError for a degree or method that was not measured, and for a single size.
    """
    message, time = checked_table(*allreduce_times(system, p, method))
    if len(message) < 2:
        raise ValueError(f"{system.id}, p = {p}: a line needs two sizes, the table holds one")
    folds = every_seventh(message)
    way = _best_way(message, time)
    return AllReduceModel(p, way, message, time, held_out(message, time, chosen, folds))


def chosen(message, time, at) -> np.ndarray:
    """Times (s) at other sizes (B) by the way that the table itself prefers."""
    return WAYS[_best_way(message, time)](message, time, at)


def every_seventh(message) -> list[np.ndarray]:
    """Rows to leave out together: every seventh size between 8 KiB and 64 MiB, in turn."""
    inner = _inner(message)
    return [inner[inner % FOLDS == fold] for fold in range(FOLDS)]


def blocks(message) -> list[np.ndarray]:
    """Rows to leave out together: eight runs of neighbouring sizes between 8 KiB and 64 MiB."""
    return np.array_split(_inner(message), BLOCKS)


def held_out(message, time, way: Callable, folds: list[np.ndarray]) -> np.ndarray:
    """Relative errors of a way at rows that were left out, fold after fold.

    way: of (message, time, at). Empty for tables of fewer than five sizes.
    """
    errors = [np.empty(0)]
    for out in folds:
        if len(out) and len(message) >= FEWEST:
            kept = np.ones(len(message), dtype=bool)
            kept[out] = False
            errors.append(way(message[kept], time[kept], message[out]) / time[out] - 1)
    return np.concatenate(errors)


def _best_way(message, time) -> str:
    # A median needs neighbours: on a grid of one size per octave it would only copy one.
    if np.median(np.diff(np.log(message))) > WINDOW or len(message) < FEWEST:
        return "lines"
    folds = every_seventh(message)
    errors = {name: held_out(message, time, way, folds) for name, way in WAYS.items()}
    return min(errors, key=lambda name: np.median(np.abs(errors[name])))


def _inner(message) -> np.ndarray:
    # The first and the last size stay: a table says nothing beyond them.
    rows = np.arange(1, len(message) - 1)
    return rows[(message[rows] >= LOW) & (message[rows] <= HIGH)]
