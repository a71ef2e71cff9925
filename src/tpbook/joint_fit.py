"""Utilisation, latency and bandwidth fitted to totals alone, and the split that they imply.

The modified Amdahl law, eq-modified-amdahl, is linear in 1/eta, alpha and 1/beta, so the fit is a
least-squares problem with bounds, solved exactly. Errors are relative, as the totals differ.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tpbook import checks
from tpbook.collectives import ring_traffic
from tpbook.symbolic import where_parallel

REPLICATES = 500
SEED = 44
# As in kernel_fit: what is computed from the parameters is the same on every processor.
DIGITS = 4
UNKNOWNS = ("eta", "alpha", "beta")


@dataclass(frozen=True)
class JointFit:
    """Parameters of one fit to totals and the parts that it reads into them.

    parameters, intervals: eta (1), alpha (s per collective), beta (B/s per direction), to four
    digits; eta and beta are infinite where the fit gives compute or traffic no time. The
    intervals are 95 % of a bootstrap that draws whole totals.
    compute, communication: s, one value per total. total_error: mean |T_fit/T - 1|.
    """

    parameters: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    compute: np.ndarray
    communication: np.ndarray
    total_error: float


def joint_fit(p, work_time, collectives, message, total) -> JointFit:
    """Fit eta, alpha and beta to totals by least squares of T_fit/T - 1, none of them negative.

    One value per total: p: degree. work_time: ideal compute time on one rank (s). collectives: K.
    message: B. total: s.
    Raises ValueError for a value out of range, fewer than four totals, and totals that do not
    determine the three unknowns (theorem of section 2.3: they need p = 1).
    """
    checks.degree(p=p)
    checks.positive(work_time=work_time, collectives=collectives, message=message, total=total)
    p, work_time, collectives, message, total = np.broadcast_arrays(
        p, work_time, collectives, message, np.atleast_1d(np.asarray(total, float))
    )
    if total.size < 4:
        raise ValueError(f"total must hold four values or more, got {total.size}")
    columns = np.column_stack(
        [
            work_time / p,
            where_parallel(p, collectives * 1.0),
            collectives * ring_traffic(p, message),
        ]
    )
    relative = columns / total[:, None]
    # Columns of like size, so that the rank and the solver see no units.
    scale = np.linalg.norm(relative, axis=0)
    if not scale.all() or np.linalg.matrix_rank(relative / scale) < len(UNKNOWNS):
        raise ValueError(
            "total does not determine eta, alpha and beta: add totals at p = 1 and at two larger "
            "degrees"
        )
    relative = relative / scale

    def solve(rows):
        return nnls(relative[rows], np.ones(len(rows)))[0] / scale

    best = np.array([_rounded(x) for x in solve(np.arange(total.size))])
    draws = np.random.default_rng(SEED).integers(total.size, size=(REPLICATES, total.size))
    low, high = np.percentile([solve(draw) for draw in draws], [2.5, 97.5], axis=0)
    compute = columns[:, 0] * best[0]
    communication = columns[:, 1:] @ best[1:]
    return JointFit(
        _named(best),
        {name: tuple(sorted((_named(low)[name], _named(high)[name]))) for name in UNKNOWNS},
        compute,
        communication,
        float(np.mean(np.abs((compute + communication) / total - 1))),
    )


def _named(solution) -> dict[str, float]:
    """eta, alpha, beta of a solution for 1/eta, alpha, 1/beta."""
    inverse_eta, alpha, inverse_beta = (float(x) for x in solution)
    with np.errstate(divide="ignore"):
        eta, beta = 1 / np.float64(inverse_eta), 1 / np.float64(inverse_beta)
    return {"eta": _rounded(eta), "alpha": _rounded(alpha), "beta": _rounded(beta)}


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
