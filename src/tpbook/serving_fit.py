"""Calibration of the serving form: least squares in relative error, with physical bounds.

What a datasheet already says enters as a prior on the four utilisations; the times are kept from
being negative, and where no row knows them, near their typical values.
"""

import numpy as np
from scipy.optimize import least_squares

from tpbook.serving_amounts import (
    NAMES,
    UTILISATIONS,
    Amounts,
    evaluate,
    times,
    unknowns,
)
from tpbook.serving_model import Parameters

# Mean and standard deviation of what utilisations of a datasheet rate are, before any time is seen.
PRIOR = {
    "eta_weights": (0.90, 0.05),
    "eta_compute": (0.60, 0.15),
    "eta_cache": (0.75, 0.20),
    "eta_prefill": (0.60, 0.15),
}
# Relative noise of one time, which weighs the times against the prior: runs repeat to 2-3 %.
NOISE = 0.02
# Where the search starts and where identifiability is judged, s.
TYPICAL = {"walk": 1e-8, "per_step": 2e-3, "several": 2e-4, "per_sequence": 2e-5}
TYPICAL |= {"gather": 1e-5, "alpha": 5e-6}
# Weight of the typical times: nothing beside a single row, but it settles what all rows leave open,
# where the search would end anywhere and not at the same place on every processor.
HOLD = 1e-3
LEAST_UTILISATION = 0.02
TOLERANCE = 1e-10
DIGITS = 4


def fit(known: Amounts, time: np.ndarray) -> Parameters:
    """The parameters of least squared relative error, prior included; four digits each.

    time: s, one for each row.
    """
    return _parameters(_solve(known, np.asarray(time, dtype=float)))


def left_out(known: Amounts, time: np.ndarray, groups) -> np.ndarray:
    """Relative errors T_form/T - 1 of every row, fitted to the rows of all other groups."""
    groups, time = np.asarray(groups), np.asarray(time, dtype=float)
    errors = np.empty(len(time))
    for group in np.unique(groups):
        out = groups == group
        found = fit(known[~out], time[~out])
        errors[out] = times(known[out], found) / time[out] - 1
    return errors


def row_residuals(known: Amounts, time, values) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of the rows over the noise, and their slopes in the unknowns."""
    total, slopes = evaluate(known, values)
    return (total / time - 1) / NOISE, slopes / (np.asarray(time)[:, None] * NOISE)


def prior_residuals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the prior on the utilisations, and their slopes in the reciprocals."""
    mean, spread = np.array([PRIOR[name] for name in UTILISATIONS]).T
    slopes = np.zeros((4, len(NAMES)))
    slopes[range(4), range(4)] = -1 / values[:4] ** 2 / spread
    return (1 / values[:4] - mean) / spread, slopes


def typical_residuals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals that hold the times near typical ones, and their slopes."""
    typical = np.array([TYPICAL[name] for name in NAMES[4:]])
    slopes = np.zeros((len(typical), len(NAMES)))
    slopes[:, 4:] = np.diag(HOLD / typical)
    return HOLD * (values[4:] / typical - 1), slopes


def bounds() -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest unknowns: utilisations up to one, times from zero up."""
    low = np.array([1.0] * 4 + [0.0] * 6)
    high = np.array([1 / LEAST_UTILISATION] * 4 + [np.inf] * 6)
    return low, high


def rounded(value: float) -> float:
    """The value to the digits that every processor agrees on."""
    return float(f"{value:.{DIGITS}g}")


def _parameters(values: np.ndarray) -> Parameters:
    given = np.array(values)
    given[:4] = 1 / given[:4]
    return Parameters(*(rounded(value) for value in given))


def _solve(known: Amounts, time: np.ndarray) -> np.ndarray:
    start = Parameters(**{name: PRIOR[name][0] for name in UTILISATIONS}, **TYPICAL)
    scale = unknowns(start)

    def parts(x):
        values = x * scale
        rows = row_residuals(known, time, values)
        return rows, prior_residuals(values), typical_residuals(values)

    def residuals(x):
        return np.concatenate([residual for residual, _ in parts(x)])

    def slopes(x):
        return np.concatenate([slope for _, slope in parts(x)]) * scale

    # The interior method finds the region and may creep along a bound; the other one then steps
    # onto the bound, and may stall when it starts far away.
    low, high = bounds()
    found = None
    for method in ("trf", "dogbox"):
        begin = np.ones(len(NAMES)) if found is None else found.x
        further = least_squares(
            residuals,
            begin,
            jac=slopes,
            bounds=(low / scale, high / scale),
            method=method,
            xtol=TOLERANCE,
            ftol=TOLERANCE,
            gtol=TOLERANCE,
            max_nfev=60,
        )
        if found is None or further.cost <= found.cost:
            found = further
    # A time that the bound holds at zero is zero, not what the interior method left of it.
    values = found.x * scale
    values[4:][found.x[4:] < 1e-3] = 0.0
    return values
