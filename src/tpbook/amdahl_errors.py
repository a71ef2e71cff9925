"""Amdahl's law against measured times: fitted at two degrees, read at a third, with its noise.

The fitted degrees are g and g p, the read one g q: with g = 1 the fit starts at one rank. The law
is the same for ranks that come in groups of g, so a model that fits no single card is judged too.
Errors are relative to the measured time, positive where the law promises too long a time
(pessimistic).
"""

import numpy as np
import pandas as pd

from tpbook import checks
from tpbook.amdahl import amdahl_extrapolation, karp_flatt
from tpbook.steps import contexts, phase_times
from tpbook.symbolic import sqrt
from tpbook.system_record import System

# Relative half-width of a time that was measured once: about the widest distance between the
# cells that LLM-Inference-Bench measured twice (section 2.4).
SINGLE_RUN = 0.03
# Fewer repeats than this say nothing about a spread.
ENOUGH_REPEATS = 3
TRIPLES = ((1, 2, 4), (1, 2, 8), (2, 4, 8))


def relative_error(p, q, time_one, time_p, time_q):
    """Amdahl's prediction at q from the times at 1 and p, less the true time, over the true time.

    p, q: degrees above 1. time_one, time_p, time_q: s. Raises ValueError as amdahl_extrapolation.
    """
    checks.positive(time_q=time_q)
    return amdahl_extrapolation(p, q, time_one, time_p) / time_q - 1


def error_spread(p, q, time_one, time_p, time_q, spread_one, spread_p, spread_q):
    """Half-width of relative_error, to first order, from those of the three times.

    sqrt((w_1 T_1 d_1)^2 + (w_p T_p d_p)^2 + (T^_q d_q)^2) / T_q, with the weights
    w_p = p (q-1) / (q (p-1)) and w_1 = 1 - w_p of the extrapolation.
    spread_one, spread_p, spread_q: relative half-widths d, taken as independent.
    Raises ValueError as relative_error, and for a negative spread.
    """
    checks.nonnegative(spread_one=spread_one, spread_p=spread_p, spread_q=spread_q)
    weight = p * (q - 1) / (q * (p - 1))
    predicted = amdahl_extrapolation(p, q, time_one, time_p)
    parts = ((1 - weight) * time_one * spread_one, weight * time_p * spread_p, predicted * spread_q)
    return sqrt(sum(part**2 for part in parts)) / time_q


def sign(error: float, half_width: float) -> str:
    """pessimistic or optimistic; open where the error does not exceed its half-width."""
    if abs(error) <= half_width:
        return "open"
    return "pessimistic" if error > 0 else "optimistic"


def time_spreads(table: pd.DataFrame) -> pd.Series:
    """Relative half-width of each published time: half the range of its repeats, or SINGLE_RUN.

    table: columns time_s, low_s, high_s, repeats.
    """
    ranges = (table["high_s"] - table["low_s"]) / (2 * table["time_s"])
    return ranges.where(table["repeats"] >= ENOUGH_REPEATS, SINGLE_RUN)


def extrapolations(
    table: pd.DataFrame, setting: list[str], triples=TRIPLES, spreads: pd.Series | None = None
) -> pd.DataFrame:
    """Amdahl's error of every setting that has the three degrees of a triple.

    table: the columns of setting, p and time_s (s), one row for each setting and degree.
    spreads: relative half-width of each row, SINGLE_RUN by default.
    Returns one row for each setting and triple: the setting, "first", "second", "read" (the
    degrees), "fraction" (Karp and Flatt's, of the fitted two), "error", "half_width", "sign".
    Raises ValueError for a setting with two times at one degree.
    """
    table = table.assign(spread=SINGLE_RUN if spreads is None else spreads)
    if table.duplicated([*setting, "p"]).any():
        twice = table[table.duplicated([*setting, "p"])].iloc[0]
        raise ValueError(
            f"two times at p = {twice['p']} for {', '.join(str(twice[s]) for s in setting)}: "
            "add to the setting what tells them apart, or keep one"
        )
    rows = []
    for key, cell in table.groupby(setting, sort=False):
        cell = cell.set_index("p")
        for triple in triples:
            if set(triple) <= set(cell.index):
                rows.append((*key, *triple, *_error(cell, triple)))
    columns = ["first", "second", "read", "fraction", "error", "half_width", "sign"]
    return pd.DataFrame(rows, columns=[*setting, *columns])


def summary(errors: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What a group of errors says together, one row for each group in the order of the table.

    n; median, low, high and the quartiles q25, q75 of the error; mape, its mean size; bias, its
    mean; floor, the median half-width; pessimistic, optimistic, open: how many have that sign.
    """

    def row(group):
        error = group["error"]
        low, q25, median, q75, high = np.quantile(error, [0, 0.25, 0.5, 0.75, 1])
        signs = group["sign"].value_counts()
        return pd.Series(
            {"n": len(group), "median": median, "low": low, "q25": q25, "q75": q75, "high": high}
            | {"mape": error.abs().mean(), "bias": error.mean()}
            | {"floor": group["half_width"].median()}
            | {name: signs.get(name, 0) for name in ("pessimistic", "optimistic", "open")}
        )

    return errors.groupby(by, sort=False)[["error", "half_width", "sign"]].apply(row).reset_index()


def step_totals(system: System) -> pd.DataFrame:
    """The step times of a system: system, phase, context, batch, p, time_s (s, all categories).

    An empty table for a system without steps.
    """
    parts = []
    for phase in ("prefill", "decode"):
        for context in contexts(system, phase):
            total = phase_times(system, phase, context).sum(axis=1).rename("time_s").reset_index()
            parts.append(total.assign(system=system.id, phase=phase, context=context))
    if not parts:
        return pd.DataFrame(columns=["p", "batch", "time_s", "system", "phase", "context"])
    return pd.concat(parts, ignore_index=True)


def errors_by_category(
    system: System, phase: str, context: int, batch: int, triple=TRIPLES[0]
) -> pd.Series:
    """Amdahl's relative error of one step, split over the kernel categories; they add up to it.

    The extrapolation is linear in the times, so each category has an error of its own. triple: the
    two fitted degrees and the read one.
    Raises ValueError when the system lacks one of the steps.
    """
    times = phase_times(system, phase, context).fillna(0.0)
    missing = [p for p in triple if (p, batch) not in times.index]
    if missing:
        raise ValueError(
            f"system {system.id} has no {phase} step at p = {missing[0]}, batch {batch}, "
            f"context {context}"
        )
    first, second, read = (times.loc[(p, batch)] for p in triple)
    p, q = triple[1] / triple[0], triple[2] / triple[0]
    weight = p * (q - 1) / (q * (p - 1))
    return (weight * second + (1 - weight) * first - read) / read.sum()


def _error(cell: pd.DataFrame, triple: tuple[int, int, int]) -> tuple:
    times, spreads = ([cell.loc[p, name] for p in triple] for name in ("time_s", "spread"))
    p, q = triple[1] / triple[0], triple[2] / triple[0]
    error = relative_error(p, q, *times)
    half_width = error_spread(p, q, *times, *spreads)
    return karp_flatt(p, times[0] / times[1]), error, half_width, sign(error, half_width)
