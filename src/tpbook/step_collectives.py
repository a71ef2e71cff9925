"""The all-reduces of a step table: how many, how large, and by which timed method."""

import numpy as np
import pandas as pd

from tpbook.geometry import Model
from tpbook.messages import forward_collectives
from tpbook.steps import phase_times
from tpbook.systems import System, allreduce_times


def step_collectives(
    system: System, model: Model, phase: str, context: int, element_bytes: int = 2
) -> pd.DataFrame:
    """The all-reduces of every step of a phase; index (p, batch).

    Columns: passes (a large prefill batch runs in several, seen in the calls of its
    communication), collectives (K, all passes), message (B of one), time_s (of all; NaN without
    a communication row). Rows at p = 1 have the counts of their batch on several ranks.
    Raises ValueError as steps.phase_times.
    """
    times = phase_times(system, phase, context)
    rows = system.steps.query(
        "phase == @phase and context == @context and category == 'communication' and p > 1"
    )
    calls = rows.groupby("batch")["calls"].max()
    tokens = context if phase == "prefill" else 1
    found = []
    for p, batch in times.index:
        one = forward_collectives(model, 2, batch, tokens, element_bytes)
        count = sum(c.count for c in one)
        passes = max(1, round(float(calls.get(batch, count)) / count))
        found.append((passes, passes * count, one[0].message / passes))
    table = pd.DataFrame(found, times.index, ["passes", "collectives", "message"])
    blank = pd.Series(np.nan, times.index)
    return table.assign(time_s=times.get("communication", blank))


def closest_method(system: System, tables: list[pd.DataFrame]) -> tuple[str, float]:
    """The method of the all-reduce table that comes closest to the steps' communication.

    tables: of step_collectives. Returns the method and the mean |ln(T_method/T_step)| over the
    messages inside its table, between whose sizes it is read on straight lines of the logarithms.
    A method that lacks a degree or has no such message is passed over.
    Raises ValueError when every method is.
    """
    steps = pd.concat(tables).reset_index().query("p > 1 and time_s > 0")
    found = {}
    for method in system.methods:
        try:
            found[method] = _distance(system, method, steps)
        except ValueError:
            continue
    found = {method: value for method, value in found.items() if np.isfinite(value)}
    if not found:
        raise ValueError(
            f"system {system.id} has no all-reduce times at the degrees and messages of its steps"
        )
    best = min(found, key=found.get)
    return best, found[best]


def _distance(system: System, method: str, steps: pd.DataFrame) -> float:
    distances = []
    for p, rows in steps.groupby("p"):
        sizes, times = allreduce_times(system, int(p), method)
        inside = rows[rows["message"].between(sizes[0], sizes[-1])]
        one = np.exp(np.interp(np.log(inside["message"]), np.log(sizes), np.log(times)))
        distances += list(np.abs(np.log(inside["collectives"] * one / inside["time_s"])))
    return float(np.mean(distances)) if distances else float("nan")
