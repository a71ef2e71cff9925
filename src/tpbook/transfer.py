"""A calibration carried to other hardware: what was fitted stays, what a datasheet says is replaced.

Each category of kernels follows t0 calls + F/(eta_c pi) + Q/(eta_m beta_m), the smooth kernel law
eq-smooth-kernel summed over a step; it is linear in its amounts, so a step table fits it as well
as single kernels would. Networks keep their latency and the share of the line rate they attain.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import lsq_linear

from tpbook import checks
from tpbook.collectives import ring_allreduce_time
from tpbook.hardware import Accelerator
from tpbook.network_fit import HockneyFit
from tpbook.roofline_points import TENSOR_CATEGORIES

REPLICATES = 300
SEED = 46
DIGITS = 4
PARAMETERS = ("eta_compute", "eta_memory", "startup")


@dataclass(frozen=True)
class TermFit:
    """The kernel law of one category on one accelerator.

    eta_compute, eta_memory: utilisations of the datasheet rates, at most 1. startup: s per kernel.
    All to four digits. eta_compute is infinite for kernels off the tensor cores, whose operations
    cost nothing beside their bytes. intervals: 95 % by parameter, of a bootstrap that draws configurations.
    error: mean |T_law/T - 1| where it was fitted.
    """

    category: str
    eta_compute: float
    eta_memory: float
    startup: float
    intervals: dict[str, tuple[float, float]]
    error: float

    def time(self, flops, traffic, calls, card: Accelerator):
        """Seconds of flops (FLOP), traffic (B) and calls (kernels) on an accelerator."""
        compute = flops / (self.eta_compute * card.peak_flops)
        memory = traffic / (self.eta_memory * card.memory_bandwidth)
        return self.startup * calls + compute + memory


def fit_terms(points: pd.DataFrame, card: Accelerator) -> dict[str, TermFit]:
    """The law of every category in a table of roofline_points.kernel_points, by category.

    Least squares of T_law/T - 1 over all rows, phases together: decode fixes the memory rate and
    the start-up, prefill the compute rate. A rate that no row needs stays at the datasheet's.
    Raises ValueError for a category with fewer than three rows.
    """
    found = {}
    for category, rows in points.groupby("category"):
        if len(rows) < 3:
            raise ValueError(
                f"category {category} has {len(rows)} steps, and three parameters need three"
            )
        found[str(category)] = _fit(str(category), rows, card)
    return found


def transferred_times(terms: dict[str, TermFit], work: pd.DataFrame, card: Accelerator):
    """Seconds of every row of work (columns category, flops, traffic, calls) on an accelerator.

    Returns a Series. Raises ValueError for a category without a law.
    """
    unknown = sorted(set(work["category"]) - set(terms))
    if unknown:
        raise ValueError(f"no law for category {unknown[0]}: the source system did not time it")
    times = pd.Series(0.0, work.index)
    for category, rows in work.groupby("category"):
        times[rows.index] = terms[category].time(
            rows["flops"], rows["traffic"], rows["calls"], card
        )
    return times


def transferred_allreduce_time(fit: HockneyFit, source_line: float, target_line: float, message):
    """Seconds of an all-reduce when the latency and the attained share of the line rate are kept.

    fit: at the same degree, on the source. source_line, target_line: line rates, B/s per
    direction. message: B. Raises ValueError for rates that are not positive.
    """
    checks.positive(source_line=source_line, target_line=target_line)
    beta = fit.beta * target_line / source_line
    return ring_allreduce_time(fit.p, message, fit.alpha, beta)


def _fit(category: str, rows: pd.DataFrame, card: Accelerator) -> TermFit:
    ideal = np.column_stack(
        [rows["flops"] / card.peak_flops, rows["traffic"] / card.memory_bandwidth, rows["calls"]]
    )
    if category not in TENSOR_CATEGORIES:
        ideal[:, 0] = 0
    matrix = ideal / rows["time_s"].to_numpy()[:, None]
    draws = np.random.default_rng(SEED).integers(len(rows), size=(REPLICATES, len(rows)))
    drawn = np.array([_solve(matrix[draw]) for draw in draws])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0, method="nearest")
    best = [_rounded(value) for value in _solve(matrix)]
    compute, memory, startup = best
    error = np.mean(np.abs(matrix @ [1 / compute, 1 / memory, startup] - 1))
    intervals = {n: (_rounded(a), _rounded(b)) for n, a, b in zip(PARAMETERS, low, high)}
    return TermFit(category, *best, intervals=intervals, error=float(error))


def _solve(matrix: np.ndarray) -> np.ndarray:
    """eta_compute, eta_memory and startup; eta_compute is infinite where no row has operations."""
    # Unknowns 1/eta_c >= 1, 1/eta_m >= 1 and t0 >= 0, in microseconds to keep the scales alike.
    used = matrix.any(axis=0)
    scaled = (matrix * [1, 1, 1e-6])[:, used]
    low = np.array([1.0, 1.0, 0.0])[used]
    found = np.zeros(3)
    found[used] = lsq_linear(scaled, np.ones(len(scaled)), (low, np.inf), method="bvls").x
    compute = 1 / found[0] if used[0] else np.inf
    return np.array([compute, 1 / found[1], found[2] * 1e-6])


def _rounded(value) -> float:
    return float(f"{value:.{DIGITS}g}")
