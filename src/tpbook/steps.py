"""The step tables of a system: times by category, totals, and what users see of them.

A step is one forward pass: all prompts of a batch in prefill, one token of each sequence in
decode. With several ranks, the one that communicates least is read: it waited for nobody.
"""

import numpy as np
import pandas as pd

from tpbook.serving_metrics import request_latency, throughput
from tpbook.system_tables import CATEGORIES
from tpbook.systems import System

COLUMNS = ["p", "batch", "ttft_s", "tpot_s", "latency_s", "tokens_per_s", "basis"]


def configurations(system: System) -> list[tuple[int, int]]:
    """The pairs (p, batch) that the system's step table holds, or else its serving table, sorted.

    An empty list where it has neither.
    """
    table = system.serving if system.steps is None else system.steps
    if table is None:
        return []
    return sorted({(int(p), int(batch)) for p, batch in zip(table["p"], table["batch"])})


def contexts(system: System, phase: str) -> list[int]:
    """The contexts (tokens) of a phase in the step table, sorted: prompt lengths in prefill,
    tokens already cached in decode. An empty list where the table has none."""
    if system.steps is None:
        return []
    return sorted(int(c) for c in system.steps.query("phase == @phase")["context"].unique())


def phase_times(system: System, phase: str, context: int | None = None) -> pd.DataFrame:
    """Seconds of one step by category: index (p, batch), one column for each category present.

    phase: prefill, decode or mixed. context: tokens, the longest measured by default. A category
    that a configuration lacks is NaN there. Raises ValueError when the table has no such rows.
    """
    return _wide(system, phase, context, "time_s")


def estimated_times(system: System, phase: str, context: int | None = None) -> pd.DataFrame:
    """The part of phase_times that is estimated, not measured, in s; same shape and errors."""
    return _wide(system, phase, context, "estimated_s")


def step_time(system: System, p: int, batch: int, phase: str, context: int | None = None) -> float:
    """Seconds of one step, all its categories together.

    Raises ValueError as phase_times does, and for a configuration that the table lacks.
    """
    times = phase_times(system, phase, context)
    if (p, batch) not in times.index:
        known = ", ".join(f"({p}, {batch})" for p, batch in times.index)
        raise ValueError(
            f"system {system.id} has no {phase} step at (p, batch) = ({p}, {batch}); it has {known}"
        )
    return float(times.loc[(p, batch)].sum())


def serving_table(system: System, prompt: int, output: int) -> pd.DataFrame:
    """What a user sees: p, batch, ttft_s, tpot_s, latency_s, tokens_per_s, basis; one row for each
    configuration, sorted.

    prompt, output: tokens of each sequence. basis "measured": a row of the serving table.
    "composed": TTFT is the prefill step at this prompt, TPOT the decode step, and the latency
    TTFT + (output - 1) TPOT. The decode step is taken at the mean context prompt + output / 2,
    between the two measured contexts around it, or at the nearest one.
    Raises ValueError when neither table says anything about these lengths.
    """
    rows = _measured(system, prompt, output)
    for (p, batch), ttft, tpot in _composed(system, prompt, output):
        if (p, batch) not in rows:
            latency = request_latency(output, ttft, tpot)
            rate = throughput(batch, output, latency)
            rows[p, batch] = (p, batch, ttft, tpot, latency, rate, "composed")
    if not rows:
        raise ValueError(
            f"system {system.id} has no times of prompts of {prompt} tokens; it has serving rows "
            f"(prompt, output) {_lengths(system)} and prefill steps {contexts(system, 'prefill')}"
        )
    return pd.DataFrame([rows[key] for key in sorted(rows)], columns=COLUMNS)


def _wide(system: System, phase: str, context: int | None, column: str) -> pd.DataFrame:
    known = contexts(system, phase)
    if not known:
        raise ValueError(f"system {system.id} has no {phase} steps: add them to its steps.csv")
    context = known[-1] if context is None else context
    if context not in known:
        raise ValueError(
            f"system {system.id} has no {phase} steps at context {context}; known: {known}"
        )
    rows = system.steps.query("phase == @phase and context == @context")
    rows = rows[rows["rank"] == _trusted_ranks(rows)]
    wide = rows.pivot(index=["p", "batch"], columns="category", values=column)
    return wide[[name for name in CATEGORIES if name in wide]].rename_axis(columns=None)


def _trusted_ranks(rows: pd.DataFrame) -> pd.Series:
    """For each row, the rank of its configuration that communicates least (the lowest on a tie)."""
    said = rows["time_s"].where(rows["category"] == "communication", 0)
    total = said.groupby([rows["p"], rows["batch"], rows["rank"]]).sum()
    least = total.groupby(level=["p", "batch"]).idxmin().map(lambda key: key[2])
    keys = pd.MultiIndex.from_frame(rows[["p", "batch"]])
    return pd.Series(least.reindex(keys).to_numpy(), rows.index)


def _measured(system: System, prompt: int, output: int) -> dict[tuple[int, int], tuple]:
    if system.serving is None:
        return {}
    rows = system.serving.query("prompt_tokens == @prompt and output_tokens == @output")
    return {
        (row.p, row.batch): (
            *(row.p, row.batch, row.ttft_s, row.tpot_s, row.latency_s),
            throughput(row.batch, output, row.latency_s),
            "measured",
        )
        for row in rows.itertuples()
    }


def _composed(system: System, prompt: int, output: int):
    known = contexts(system, "decode")
    if prompt not in contexts(system, "prefill") or not known:
        return
    first = phase_times(system, "prefill", prompt).sum(axis=1)
    steps = {context: phase_times(system, "decode", context).sum(axis=1) for context in known}
    for key in first.index:
        held = [context for context in known if key in steps[context].index]
        if held:
            times = [steps[context][key] for context in held]
            yield key, float(first[key]), float(np.interp(prompt + output / 2, held, times))


def _lengths(system: System) -> list[tuple[int, int]]:
    if system.serving is None:
        return []
    pairs = zip(system.serving["prompt_tokens"], system.serving["output_tokens"])
    return sorted({(int(prompt), int(output)) for prompt, output in pairs})
