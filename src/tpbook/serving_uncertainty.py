"""How sure a calibration is: intervals, the law of growth, and what the rows do not tell."""

import numpy as np

from tpbook.serving_amounts import (
    NAMES,
    UTILISATIONS,
    Amounts,
    evaluate,
    times,
    unknowns,
)
from tpbook.serving_fit import (
    NOISE,
    PRIOR,
    TYPICAL,
    bounds,
    prior_residuals,
    rounded,
    row_residuals,
)
from tpbook.serving_model import Parameters

REPLICATES = 400
SEED = 47
SWEEPS = 200


def draws(known: Amounts, time: np.ndarray, found: Parameters, cells) -> tuple[dict, tuple]:
    """Bootstrap of the fit: 95 % intervals by parameter, and the covariance of the unknowns.

    Cells are drawn, and what the prior says is drawn anew; each draw takes one bounded Newton step
    from the fit. The unknowns are reciprocal utilisations and times in s.
    cells: a label for each row; rows of one label are drawn together.
    """
    values = unknowns(found)
    residual, slopes = row_residuals(known, time, values)
    prior, prior_slopes = prior_residuals(values)
    rng = np.random.default_rng(SEED)
    labels, place = np.unique(np.asarray(cells), return_inverse=True)
    counts = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)), REPLICATES)
    weights = counts[:, place]
    # Drawing what the prior says about each utilisation anew keeps its width in the interval.
    said = prior + rng.standard_normal((REPLICATES, len(prior)))
    normal = np.einsum("bi,ij,ik->bjk", weights, slopes, slopes) + prior_slopes.T @ prior_slopes
    pull = np.einsum("bi,i,ij->bj", weights, residual, slopes) + said @ prior_slopes
    drawn = values + _bounded_step(normal, pull, *(bound - values for bound in bounds()))
    covariance = np.cov(drawn, rowvar=False)
    drawn[:, :4] = 1 / drawn[:, :4]
    ends = np.percentile(drawn, [2.5, 97.5], axis=0)
    named = {name: (rounded(a), rounded(b)) for name, a, b in zip(NAMES, *ends)}
    return named, tuple(tuple(rounded(value) for value in row) for row in covariance)


def spread(known: Amounts, found: Parameters, covariance) -> np.ndarray:
    """Relative standard deviation of every row's time that the covariance of draws() implies."""
    total, slopes = evaluate(known, unknowns(found))
    variance = np.einsum("ij,jk,ik->i", slopes, np.asarray(covariance), slopes)
    # Its four digits may leave less than nothing of parts that cancel.
    return np.sqrt(np.maximum(variance, 0)) / total


def growth_ambiguity(known: Amounts, found: Parameters, p) -> np.ndarray:
    """Relative half-distance of a row's time between two other laws of growth with the degree.

    Latency per collective (constant from p = 2 on) and latency per level of a tree (log2 p): the
    laws that timed all-reduces follow, and that g(p) = 2(p-1)/p lies between. Zero up to p = 2.
    """
    p = np.asarray(p, dtype=float)
    growing = [NAMES.index("gather"), NAMES.index("alpha")]
    paid = known.linear[:, growing] @ unknowns(found)[growing]
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = np.where(p > 1, paid / (2 * (p - 1) / p), 0.0)
    between = np.where(p > 2, (np.log2(p) - 1) / 2, 0.0)
    return unit * between / times(known, found)


def uncertainty(known: Amounts, time: np.ndarray) -> dict[str, float]:
    """Relative uncertainty of a row's time, at worst, that each parameter leaves after a fit.

    From the curvature of the fit at typical parameters, prior included; infinite where no row
    and no prior says anything of a parameter that matters.
    """
    typical = Parameters(**{name: PRIOR[name][0] for name in UTILISATIONS}, **TYPICAL)
    _, slopes = row_residuals(known, times(known, typical), unknowns(typical))
    _, prior_slopes = prior_residuals(unknowns(typical))
    reach = np.abs(slopes).max(axis=0) * NOISE
    used = reach > 0
    scaled, prior = slopes[:, used] / reach[used], prior_slopes[:, used] / reach[used]
    normal = scaled.T @ scaled + prior.T @ prior
    spread = np.sqrt(np.diag(np.linalg.pinv(normal + 1e-6 * np.eye(len(normal)))))
    found = dict.fromkeys(NAMES, np.inf)
    return found | dict(zip(np.array(NAMES)[used].tolist(), spread.tolist()))


def _bounded_step(normal, pull, low, high) -> np.ndarray:
    """The minimum of x N x / 2 + c x within bounds, for every pair of a stack of N and c.

    Gauss-Seidel with projection: the vectors of all draws advance together.
    """
    diagonal = np.einsum("bjj->bj", normal)
    step = np.zeros_like(pull)
    for _ in range(SWEEPS):
        for j in range(pull.shape[1]):
            slope = np.einsum("bk,bk->b", normal[:, j], step) + pull[:, j]
            moved = step[:, j] - slope / np.where(diagonal[:, j] > 0, diagonal[:, j], np.inf)
            step[:, j] = np.clip(moved, low[j], high[j])
    return step
