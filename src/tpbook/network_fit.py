"""Fits of the Hockney law T = alpha + 2(p-1)M/(p beta) to measured all-reduce times.

The law is linear in alpha and 1/beta. Times span five decades, so residuals are relative; a plain
least-squares fit is kept beside it to show what it hides.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from tpbook import checks
from tpbook.collectives import ring_allreduce_time, ring_allreduce_time_per_hop, ring_traffic

REPLICATES = 2000
SEED = 20


@dataclass(frozen=True)
class HockneyFit:
    """A fitted alpha (s per collective) and beta (B/s per direction) with what they are worth.

    alpha_interval, beta_interval: 95 % intervals of a pair bootstrap. They say how far the
    choice of points moves the fit, not how wrong the law is; for that see the errors.
    bounded: alpha sits on its upper bound, the smallest time; the points would take a larger one.
    mean_error, worst_error: mean and largest |T_law / T_measured - 1| over the fit range.
    low_message, high_message: fit range in B. points: number of sizes.
    """

    p: int
    alpha: float
    beta: float
    alpha_interval: tuple[float, float]
    beta_interval: tuple[float, float]
    low_message: float
    high_message: float
    points: int
    bounded: bool
    mean_error: float
    worst_error: float

    def time(self, message):
        """The law's time (s) of a message (B)."""
        return ring_allreduce_time(self.p, message, self.alpha, self.beta)


@dataclass(frozen=True)
class OrdinaryFit:
    """Plain least squares of T against M; alpha may be negative. Fields as in HockneyFit."""

    p: int
    alpha: float
    beta: float
    r_squared: float
    mean_error: float
    worst_error: float

    def time(self, message):
        """The line's time (s) of a message (B), negative where alpha is."""
        return self.alpha + ring_allreduce_time(self.p, message, 0, self.beta)


@dataclass(frozen=True)
class LawFit:
    """One latency law fitted to all degrees at once.

    latency: alpha per collective (lumped) or alpha_h per hop, s, shared by all degrees.
    betas: B/s per direction by degree. errors: mean |relative error| by degree; mean_error
    averages them.
    """

    law: str
    latency: float
    betas: dict[int, float]
    errors: dict[int, float]
    mean_error: float


def fit_hockney(message, time, p: int) -> HockneyFit:
    """Fit alpha and beta by least squares of (T_law - T)/T, with 0 <= alpha <= min T.

    message: B, 1-D. time: s, same length. p: degree above 1.
    Raises ValueError for values that are not positive, unequal lengths, fewer than three points
    and times that do not grow with the message.
    """
    message, time = _checked(message, time, p)
    constant, slope = 1 / time, ring_traffic(p, message) / time
    alpha, inverse = (float(x[0]) for x in _solve(constant, slope, time.min()))
    if inverse <= 0:
        raise ValueError("time must grow with message: no bandwidth fits these times")
    draws = np.random.default_rng(SEED).multinomial(
        len(time), np.full(len(time), 1 / len(time)), size=REPLICATES
    )
    # Each draw has its own smallest time, and with it its own bound on alpha.
    limits = np.where(draws > 0, time, np.inf).min(axis=1)
    alphas, inverses = _solve(constant, slope, limits, draws)
    with np.errstate(divide="ignore"):
        betas = 1 / np.maximum(inverses, 0)
    error = np.abs(ring_allreduce_time(p, message, alpha, 1 / inverse) / time - 1)
    return HockneyFit(
        p=p,
        alpha=alpha,
        beta=1 / inverse,
        alpha_interval=_interval(alphas),
        beta_interval=_interval(betas),
        low_message=float(message.min()),
        high_message=float(message.max()),
        points=len(time),
        bounded=alpha == time.min(),
        mean_error=float(error.mean()),
        worst_error=float(error.max()),
    )


def fit_ordinary(message, time, p: int) -> OrdinaryFit:
    """Fit the same line by least squares of T_law - T, as is usually done, with its R^2.

    Arguments and errors as in fit_hockney; alpha is free and may come out negative.
    """
    message, time = _checked(message, time, p)
    slope, alpha = np.polyfit(ring_traffic(p, message), time, 1)
    if slope <= 0:
        raise ValueError("time must grow with message: no bandwidth fits these times")
    fit = alpha + slope * ring_traffic(p, message)
    error = np.abs(fit / time - 1)
    unexplained = np.sum((time - fit) ** 2) / np.sum((time - time.mean()) ** 2)
    return OrdinaryFit(
        p, float(alpha), float(1 / slope), float(1 - unexplained), error.mean(), error.max()
    )


def compare_latency_laws(tables: dict[int, tuple]) -> tuple[LawFit, LawFit]:
    """Fit all degrees at once with one alpha per collective, and with one alpha_h per hop.

    tables: (message, time) by degree; two degrees or more. Each degree has its own beta and the
    same weight. The latency is bounded below by zero only: a bound by the smallest time would
    judge the lumped law at the smallest degree alone. Returns (lumped, per hop); the law with the
    smaller mean_error describes the system better.
    Raises ValueError as fit_hockney, and for fewer than two degrees.
    """
    if len(tables) < 2:
        raise ValueError(f"tables must hold two degrees or more, got {sorted(tables)}")
    return (
        _joint_fit("lumped", tables, ring_allreduce_time),
        _joint_fit("per hop", tables, ring_allreduce_time_per_hop),
    )


def _joint_fit(law: str, tables: dict[int, tuple], predict) -> LawFit:
    degrees = sorted(tables)
    data = {p: _checked(*tables[p], p) for p in degrees}
    blocks = []
    for column, p in enumerate(degrees):
        message, time = data[p]
        # The latency's coefficient is the law's own time for an empty message.
        coefficient = float(predict(p, 0, 1, np.inf))
        block = np.zeros((len(time), 1 + len(degrees)))
        block[:, 0] = coefficient / time
        block[:, 1 + column] = ring_traffic(p, message) / time
        blocks.append(block / np.sqrt(len(time)))
    matrix = np.vstack(blocks)
    target = np.concatenate([np.full(len(data[p][1]), len(data[p][1]) ** -0.5) for p in degrees])
    scale = np.linalg.norm(matrix, axis=0)
    solution = lsq_linear(matrix / scale, target, bounds=(0, np.inf)).x / scale
    if (solution[1:] <= 0).any():
        raise ValueError("time must grow with message: no bandwidth fits these times")
    latency, betas = float(solution[0]), dict(zip(degrees, (1 / solution[1:]).tolist()))
    errors = {
        p: float(np.mean(np.abs(predict(p, data[p][0], latency, betas[p]) / data[p][1] - 1)))
        for p in degrees
    }
    return LawFit(law, latency, betas, errors, float(np.mean(list(errors.values()))))


def _solve(constant, slope, limit, weights=None):
    """Weighted least squares of a constant + b slope = 1 with 0 <= a <= limit, row by row."""
    weights = np.ones((1, len(constant))) if weights is None else weights
    cc, cs, ss = weights @ constant**2, weights @ (constant * slope), weights @ slope**2
    c, s = weights @ constant, weights @ slope
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (c * ss - s * cs) / (cc * ss - cs**2)
    # One draw in many may hold a single size, which fixes no line; it takes the middle.
    a = np.clip(np.where(np.isfinite(a), a, limit / 2), 0, limit)
    return a, (s - a * cs) / ss


def _interval(values) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5], method="nearest")
    return float(low), float(high)


def checked_table(message, time) -> tuple[np.ndarray, np.ndarray]:
    """A table's messages (B) and times (s) as arrays.

    Raises ValueError unless they are positive, finite, one-dimensional and equally long.
    """
    checks.positive(message=message, time=time)
    message, time = np.asarray(message, float), np.asarray(time, float)
    for name, values in (("message", message), ("time", time)):
        if np.isinf(values).any():
            raise ValueError(f"{name} must be finite, got inf")
    if message.shape != time.shape or message.ndim != 1:
        raise ValueError(f"message and time must match, got {message.shape} and {time.shape}")
    return message, time


def _checked(message, time, p) -> tuple[np.ndarray, np.ndarray]:
    checks.several(p=p)
    message, time = checked_table(message, time)
    if len(np.unique(message)) < 3:
        raise ValueError(f"message must hold three sizes or more, got {len(np.unique(message))}")
    return message, time
