"""What a kernel category makes of its roof: a utilisation, or a utilisation and a start-up time.

The ideal times come from the ledger of kernels, the others from a table of steps. Errors are
relative, as the steps differ in length.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from tpbook import checks
from tpbook.geometry import Model
from tpbook.hardware import Accelerator
from tpbook.kernels import kernels
from tpbook.rooflines import ideal_time

REPLICATES = 500
SEED = 45
DIGITS = 4


@dataclass(frozen=True)
class CategoryUtilisation:
    """One constant utilisation of a category and what it is worth.

    eta: ideal over measured time (1), to four digits. interval: 95 % of a bootstrap that draws
    configurations. lowest, highest: eta of single configurations. error: mean
    |ideal/(eta T) - 1| over the configurations. count: their number.
    """

    eta: float
    interval: tuple[float, float]
    lowest: float
    highest: float
    error: float
    count: int


@dataclass(frozen=True)
class CategoryStartup:
    """A utilisation and a start-up time per kernel of a category.

    eta: utilisation, at most 1. startup: s per kernel. Both to four digits, their intervals as
    in CategoryUtilisation. error: mean |(ideal/eta + startup calls)/T - 1|.
    """

    eta: float
    startup: float
    eta_interval: tuple[float, float]
    startup_interval: tuple[float, float]
    error: float

    def time(self, ideal, calls):
        """Time ideal/eta + startup calls (s) of so much ideal time (s) in so many kernels."""
        return ideal / self.eta + self.startup * calls


def category_work(
    model: Model, card: Accelerator, p: int, batch: int, tokens: int, context: int, passes: int = 1
) -> pd.DataFrame:
    """Ideal time (ideal_s) and number of kernels (calls) of a step on one of p ranks, by category.

    Each kernel takes max(F/pi, Q/beta_m), equation eq-ideal-time, at the card's datasheet rates.
    batch, tokens, context: as in kernels.kernels. passes: the batch runs in so many equal parts,
    one after another. Raises ValueError for passes that do not divide the batch, and as kernels.
    """
    checks.positive(passes=passes)
    if batch % passes:
        raise ValueError(f"passes must divide the batch of {batch}, got {passes}")
    rates = card.peak_flops, card.memory_bandwidth
    rows = [
        (
            k.category,
            passes * k.calls * float(ideal_time(k.flops, k.traffic, *rates)),
            passes * k.calls,
        )
        for k in kernels(model, p, batch // passes, tokens, context)
    ]
    return pd.DataFrame(rows, columns=["category", "ideal_s", "calls"]).groupby("category").sum()


def fit_utilisation(ideal, measured) -> CategoryUtilisation:
    """The constant eta for which ideal/eta is closest to the measured times, in relative error.

    ideal, measured: s, one value per configuration. Least squares of ideal/(eta T) - 1 gives
    eta = sum(r^2)/sum(r) with r = ideal/T.
    Raises ValueError for times that are not positive and for unequal lengths.
    """
    ideal, measured = _checked(ideal=ideal, measured=measured)
    ratio = ideal / measured
    draws = _draws(len(ratio))
    drawn = (ratio[draws] ** 2).sum(axis=1) / ratio[draws].sum(axis=1)
    eta = _rounded((ratio**2).sum() / ratio.sum())
    return CategoryUtilisation(
        eta,
        _interval(drawn),
        float(ratio.min()),
        float(ratio.max()),
        float(np.mean(np.abs(ratio / eta - 1))),
        len(ratio),
    )


def fit_startup(ideal, calls, measured) -> CategoryStartup:
    """The eta <= 1 and start-up >= 0 for which ideal/eta + startup calls is closest to the times.

    Closest in relative error, by least squares. Without the bound a category of short kernels,
    whose time is nearly all start-up, would get any eta. ideal, measured: s. calls: kernels; one
    value each per configuration.
    Raises ValueError for values that are not positive and for unequal lengths.
    """
    ideal, calls, measured = _checked(ideal=ideal, calls=calls, measured=measured)
    # With 1/eta = 1 + x the bounds are x >= 0 and startup >= 0.
    columns, target = np.column_stack([ideal, calls]) / measured[:, None], 1 - ideal / measured
    scale = np.linalg.norm(columns, axis=0)

    def solve(rows):
        x, startup = nnls(columns[rows] / scale, target[rows])[0] / scale
        return 1 / (1 + x), startup

    eta, startup = (_rounded(value) for value in solve(np.arange(len(ideal))))
    etas, startups = zip(*(solve(draw) for draw in _draws(len(ideal))))
    error = np.mean(np.abs((ideal / eta + startup * calls) / measured - 1))
    return CategoryStartup(eta, startup, _interval(etas), _interval(startups), float(error))


def _checked(**columns) -> list[np.ndarray]:
    checks.positive(**columns)
    arrays = {name: np.atleast_1d(np.asarray(value, float)) for name, value in columns.items()}
    (first, shape), *others = [(name, array.shape) for name, array in arrays.items()]
    for name, other in others:
        if other != shape or len(shape) != 1:
            raise ValueError(f"{first} and {name} must match, got {shape} and {other}")
    return list(arrays.values())


def _draws(count: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(count, size=(REPLICATES, count))


def _interval(values) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5], method="nearest")
    return _rounded(low), _rounded(high)


def _rounded(value) -> float:
    return float(f"{value:.{DIGITS}g}")
