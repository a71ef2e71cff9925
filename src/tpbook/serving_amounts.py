"""The amounts that parameters scale: seconds of every term of every row at unit parameters.

A time is linear in the repeated times and in the reciprocal utilisations, but for two norms of
two parts each. So the labelled equations are asked once, one parameter at a time, and every
evaluation after that is a product of matrices.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd

from tpbook.serving_model import Parameters, decode_terms, prefill_terms
from tpbook.serving_work import Machine, Work

PHASES = ("prefill", "decode", "end-to-end", "decode cache", "decode communication")
NAMES = tuple(field.name for field in fields(Parameters))
UTILISATIONS = NAMES[:4]
# The columns of the parameters in the two norms.
GEMM, CACHE = [0, 1], [2, 4]


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
    return evaluate(known, unknowns(found))[0]


def unknowns(found: Parameters) -> np.ndarray:
    """The parameters as a solver sees them: reciprocal utilisations, times as they are."""
    values = np.array([getattr(found, name) for name in NAMES])
    values[:4] = 1 / values[:4]
    return values


def evaluate(known: Amounts, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every row at the unknowns, and their slopes in each of them."""
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
