"""Calibration of the serving form: least squares in relative error, with physical bounds.

A time is linear in the repeated times and in the reciprocal utilisations, but for two norms of
two parts each. So the amounts are computed once, from the labelled equations at unit parameters,
and a fit takes milliseconds. What a datasheet already says enters as a prior on the four
utilisations; the times are only kept from being negative.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from tpbook.serving_model import Parameters, decode_terms, prefill_terms
from tpbook.serving_work import Machine, Work

PHASES = ("prefill", "decode", "end-to-end", "decode cache", "decode communication")
NAMES = tuple(field.name for field in fields(Parameters))
UTILISATIONS = NAMES[:4]
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
LEAST_UTILISATION = 0.02
DIGITS = 4
REPLICATES = 400
SEED = 47
SWEEPS = 200


@dataclass(frozen=True)
class Amounts:
    """Seconds of every term of every row at unit parameters.

    linear: (rows, parameters), what multiplies 1/eta of the first four and the six times.
    gemm, cache: (rows, 2) the two parts of each norm: 1/eta_weights and 1/eta_compute, 1/eta_cache
    and walk. fixed: what no parameter scales (the ring's traffic). exponent: that of the norms.
    """

    linear: np.ndarray
    gemm: np.ndarray
    cache: np.ndarray
    fixed: np.ndarray
    exponent: float = 2.0

    def __getitem__(self, rows) -> "Amounts":
        parts = self.linear[rows], self.gemm[rows], self.cache[rows], self.fixed[rows]
        return Amounts(*parts, self.exponent)


GEMM, CACHE = [0, 1], [2, 4]


def amounts(table: pd.DataFrame, work: Work, machine: Machine) -> Amounts:
    """The amounts of a table with columns p, batch, prompt_tokens, output_tokens, phase.

    phase: one of PHASES; a decode row is one step at a context of prompt + output/2 tokens.
    Raises ValueError for another phase and for a degree that the machine does not join.
    """
    unknown = sorted(set(table["phase"]) - set(PHASES))
    if unknown:
        raise ValueError(f"unknown phase {unknown[0]!r}; known: {', '.join(PHASES)}")
    names = ("p", "batch", "prompt_tokens", "output_tokens")
    p, batch, prompt, output = (table[name].to_numpy(float) for name in names)
    phase = table["phase"].to_numpy()
    passes = np.isin(phase, ("prefill", "end-to-end")).astype(float)
    steps = np.where(phase == "end-to-end", output - 1, (phase != "prefill") * 1.0)
    everything = np.isin(phase, ("prefill", "decode", "end-to-end"))

    # One parameter at a time: infinite rates and no overheads leave one part of the form.
    nothing = Parameters(*(np.inf,) * 4, *(0.0,) * 6)
    silent = replace(machine, measured=tuple((int(each), np.inf) for each in np.unique(p)))

    def seconds(found, on):
        first = prefill_terms(work, on, found, p, np.where(passes, batch, 1), prompt)
        mean = decode_terms(work, on, found, p, batch, prompt + output / 2)
        return first, mean

    linear = np.zeros((len(table), len(NAMES)))
    gemm, cache = np.zeros((len(table), 2)), np.zeros((len(table), 2))
    for column, name in enumerate(NAMES):
        first, mean = seconds(replace(nothing, **{name: 1.0}), silent)
        if name in ("eta_weights", "eta_compute"):
            gemm[:, column] = everything * steps * mean["weights and GEMMs"]
        elif name in ("eta_cache", "walk"):
            seen = everything | (phase == "decode cache")
            cache[:, CACHE.index(column)] = seen * steps * mean["KV cache"]
        elif name != "eta_prefill":
            seen = everything | ((phase == "decode communication") & (name == "alpha"))
            linear[:, column] = seen * steps * sum(mean.values())
        linear[:, column] += passes * sum(first.values())
    first, mean = seconds(nothing, machine)
    seen = everything | (phase == "decode communication")
    fixed = passes * first["collective traffic"] + seen * steps * mean["collective traffic"]
    return Amounts(linear, gemm, cache, fixed)


def times(known: Amounts, found: Parameters) -> np.ndarray:
    """Seconds of every row under the parameters."""
    return _evaluate(known, _unknowns(found))[0]


def fit(known: Amounts, time: np.ndarray) -> Parameters:
    """The parameters of least squared relative error, prior included; four digits each.

    time: s, one for each row.
    """
    return _parameters(_solve(known, np.asarray(time, dtype=float)))


def draws(known: Amounts, time: np.ndarray, found: Parameters, cells) -> tuple[dict, tuple]:
    """Bootstrap of the fit: 95 % intervals by parameter, and the covariance of the unknowns.

    Cells are drawn, and what the prior says is drawn anew; each draw takes one bounded Newton step
    from the fit. The unknowns are reciprocal utilisations and times in s.
    cells: a label for each row; rows of one label are drawn together.
    """
    values = _unknowns(found)
    residual, slopes = _residuals(known, time, values)
    prior, prior_slopes = _prior(values)
    rng = np.random.default_rng(SEED)
    labels, place = np.unique(np.asarray(cells), return_inverse=True)
    counts = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)), REPLICATES)
    weights = counts[:, place]
    # Drawing what the prior says about each utilisation anew keeps its width in the interval.
    said = prior + rng.standard_normal((REPLICATES, len(prior)))
    normal = np.einsum("bi,ij,ik->bjk", weights, slopes, slopes) + prior_slopes.T @ prior_slopes
    pull = np.einsum("bi,i,ij->bj", weights, residual, slopes) + said @ prior_slopes
    drawn = values + _bounded_step(normal, pull, *(bound - values for bound in _bounds()))
    covariance = np.cov(drawn, rowvar=False)
    drawn[:, :4] = 1 / drawn[:, :4]
    ends = np.percentile(drawn, [2.5, 97.5], axis=0)
    named = {name: (_rounded(a), _rounded(b)) for name, a, b in zip(NAMES, *ends)}
    return named, tuple(tuple(_rounded(value) for value in row) for row in covariance)


def left_out(known: Amounts, time: np.ndarray, groups) -> np.ndarray:
    """Relative errors T_form/T - 1 of every row, fitted to the rows of all other groups."""
    groups, time = np.asarray(groups), np.asarray(time, dtype=float)
    errors = np.empty(len(time))
    for group in np.unique(groups):
        out = groups == group
        found = fit(known[~out], time[~out])
        errors[out] = times(known[out], found) / time[out] - 1
    return errors


def spread(known: Amounts, found: Parameters, covariance) -> np.ndarray:
    """Relative standard deviation of every row's time that the covariance of draws() implies."""
    total, slopes = _evaluate(known, _unknowns(found))
    return np.sqrt(np.einsum("ij,jk,ik->i", slopes, np.asarray(covariance), slopes)) / total


def growth_ambiguity(known: Amounts, found: Parameters, p) -> np.ndarray:
    """Relative half-distance of a row's time between two other laws of growth with the degree.

    Latency per collective (constant from p = 2 on) and latency per level of a tree (log2 p): the
    laws that timed all-reduces follow, and that g(p) = 2(p-1)/p lies between. Zero up to p = 2.
    """
    p = np.asarray(p, dtype=float)
    growing = [NAMES.index("gather"), NAMES.index("alpha")]
    paid = known.linear[:, growing] @ _unknowns(found)[growing]
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
    _, slopes = _residuals(known, times(known, typical), _unknowns(typical))
    _, prior_slopes = _prior(_unknowns(typical))
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


def _unknowns(found: Parameters) -> np.ndarray:
    """The parameters as the solver sees them: reciprocal utilisations, times as they are."""
    values = np.array([getattr(found, name) for name in NAMES])
    values[:4] = 1 / values[:4]
    return values


def _parameters(values: np.ndarray) -> Parameters:
    given = np.array(values)
    given[:4] = 1 / given[:4]
    return Parameters(*(_rounded(value) for value in given))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _bounds() -> tuple[np.ndarray, np.ndarray]:
    low = np.array([1.0] * 4 + [0.0] * 6)
    high = np.array([1 / LEAST_UTILISATION] * 4 + [np.inf] * 6)
    return low, high


def _evaluate(known: Amounts, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every row, and their slopes."""
    slopes = known.linear.copy()
    total = known.linear @ values + known.fixed
    for parts, columns in ((known.gemm, GEMM), (known.cache, CACHE)):
        scaled = parts * values[columns]
        power = known.exponent
        larger = scaled.max(axis=1)
        shares = scaled / np.where(larger > 0, larger, 1)[:, None]
        norm = larger * (shares**power).sum(axis=1) ** (1 / power)
        total = total + norm
        ratio = scaled / np.where(norm > 0, norm, 1)[:, None]
        slopes[:, columns] += parts * ratio ** (power - 1)
    return total, slopes


def _residuals(known: Amounts, time, values) -> tuple[np.ndarray, np.ndarray]:
    total, slopes = _evaluate(known, values)
    return (total / time - 1) / NOISE, slopes / (np.asarray(time)[:, None] * NOISE)


def _prior(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of the prior on the utilisations, and their slopes in the reciprocals."""
    mean, spread = np.array([PRIOR[name] for name in UTILISATIONS]).T
    slopes = np.zeros((4, len(NAMES)))
    slopes[range(4), range(4)] = -1 / values[:4] ** 2 / spread
    return (1 / values[:4] - mean) / spread, slopes


def _solve(known: Amounts, time: np.ndarray) -> np.ndarray:
    start = Parameters(**{name: PRIOR[name][0] for name in UTILISATIONS}, **TYPICAL)
    scale = _unknowns(start)

    def residuals(x):
        values = x * scale
        return np.concatenate([_residuals(known, time, values)[0], _prior(values)[0]])

    def slopes(x):
        values = x * scale
        both = [_residuals(known, time, values)[1], _prior(values)[1]]
        return np.concatenate(both) * scale

    low, high = _bounds()
    found = least_squares(
        residuals,
        np.ones(len(NAMES)),
        jac=slopes,
        bounds=(low / scale, high / scale),
        xtol=1e-10,
        ftol=1e-10,
        gtol=1e-10,
        max_nfev=300,
    )
    # A time that the bound holds at zero is zero, not what the interior method left of it.
    values = found.x * scale
    values[4:][found.x[4:] < 1e-3] = 0.0
    return values
