"""A calibration: the parameters of an engine on a machine, what they rest on, where they hold.

Refused is what the rows cannot tell apart, with the measurement that would.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpbook.serving_amounts import NAMES, amounts, times
from tpbook.serving_fit import fit, left_out
from tpbook.serving_model import Parameters
from tpbook.serving_uncertainty import draws, uncertainty
from tpbook.serving_work import Machine, Work

# A parameter that leaves a row's time more open than this, relatively, is not identified.
OPEN = 0.3
LEVEL = 0.9
BASES = ("serving rows", "steps")
REMEDY = {
    "eta_weights": "times of a decode step at batch 1",
    "eta_compute": "decode times at a larger batch",
    "eta_cache": "decode times at a longer context and a larger batch",
    "eta_prefill": "times of prefill (TTFT), or runs with longer prompts",
    "walk": "decode times at batch 1 and two contexts",
    "per_step": "decode times at batch 1",
    "several": "decode times at batch 1 and at two larger batches",
    "per_sequence": "decode times at two batches above 1",
    "gather": "times at a second degree and a larger batch",
    "alpha": "times at a second degree",
}


@dataclass(frozen=True)
class Calibration:
    """What a fit found, and where it may be used.

    name: what was measured. source: the published source or the system, which knows the wiring.
    accelerator: catalogue id, or the published table's word. model: id.
    intervals: 95 % by parameter. covariance: of the parameters as the solver sees them
    (reciprocal utilisations, then seconds), from the same bootstrap.
    noise: the 90 % quantile of |relative error| over rows left out by lengths; fitted_error: the
    mean one over the rows fitted. rows: their number.
    degrees, batches, prompts, outputs, messages: least and most that the rows hold (messages in
    B). basis: serving rows or steps. rates: B/s per direction by degree, where the machine's own
    all-reduces gave them.
    """

    name: str
    source: str
    accelerator: str
    model: str
    basis: str
    parameters: Parameters
    intervals: dict[str, tuple[float, float]]
    covariance: tuple[tuple[float, ...], ...]
    noise: float
    fitted_error: float
    rows: int
    degrees: tuple[int, int]
    batches: tuple[int, int]
    prompts: tuple[int, int]
    outputs: tuple[int, int]
    messages: tuple[float, float]
    rates: tuple[tuple[int, float], ...] = ()


def calibrate_rows(
    table: pd.DataFrame,
    work: Work,
    machine: Machine,
    name: str,
    source: str,
    accelerator: str,
    model: str,
    basis: str = "serving rows",
) -> Calibration:
    """Calibrate the serving form on a table of times.

    table: columns p, batch, prompt_tokens, output_tokens, phase (serving_fit.PHASES), time_s.
    Raises ValueError, in one line with the remedy, for rows that cannot tell the terms apart.
    """
    table = table.reset_index(drop=True)
    refuse_unidentified(table, name)
    known, time = amounts(table, work, machine), table["time_s"].to_numpy(float)
    left = {p: left for p, left in uncertainty(known, time).items() if left > OPEN}
    if left:
        missing = "; ".join(dict.fromkeys(REMEDY[each] for each in left))
        raise ValueError(f"{name}: {', '.join(left)} cannot be identified; add {missing}")
    found = fit(known, time)
    ends, covariance = draws(known, time, found, np.arange(len(table)))
    error = times(known, found) / time - 1
    out = left_out(known, time, groups(table))
    message = table["batch"] * work.hidden * work.element_bytes
    longest = message * np.where(np.isin(table["phase"], ("prefill", "end-to-end")), 1, 0)
    longest = np.maximum(longest * table["prompt_tokens"], message)
    return Calibration(
        name=name,
        source=source,
        accelerator=accelerator,
        model=model,
        basis=basis,
        parameters=found,
        intervals=ends,
        covariance=covariance,
        noise=_four(np.quantile(np.abs(out), LEVEL)),
        fitted_error=_four(np.abs(error).mean()),
        rows=len(table),
        degrees=_range(table["p"]),
        batches=_range(table["batch"]),
        prompts=_range(table["prompt_tokens"]),
        outputs=_range(table["output_tokens"]),
        messages=(float(message.min()), float(longest.max())),
        rates=machine.measured,
    )


def refuse_unidentified(table: pd.DataFrame, name: str) -> None:
    """Raise ValueError unless degrees, batches, lengths and phases vary enough to fit the form."""
    if table.empty:
        raise ValueError(f"{name}: no rows to calibrate on")
    lacks = []
    if table["p"].nunique() < 2:
        lacks.append(
            f"alpha and gather cannot be identified from p = {table['p'].iloc[0]} alone: measure a "
            "second degree"
        )
    batches = sorted(set(table["batch"]))
    if len(batches) < 3 or batches[0] != 1:
        lacks.append(
            f"per_step, several and per_sequence cannot be told apart with batches {batches}: "
            "measure batch 1 and two larger ones"
        )
    phases = set(table["phase"])
    whole = sorted(phases & {"prefill", "decode", "end-to-end"})
    steps = table[table["phase"] != "prefill"]
    contexts = (steps["prompt_tokens"] + steps["output_tokens"] / 2).nunique()
    if contexts < 2 and "decode cache" not in phases:
        lacks.append(
            "eta_cache and walk cannot be told from overheads at a single length: measure a "
            "second one, or the attention kernels"
        )
    if "end-to-end" not in phases and not {"prefill", "decode"} <= phases:
        lacks.append(
            f"{' and '.join(whole)} alone leave the other phase open: measure prefill "
            "and decode, or whole requests"
        )
    if lacks:
        raise ValueError(f"{name}: {'; '.join(lacks)}")


def groups(table: pd.DataFrame) -> np.ndarray:
    """The label of each row for leaving out: its lengths, or its batch where lengths are few."""
    lengths = table["prompt_tokens"].astype(str) + "/" + table["output_tokens"].astype(str)
    return (lengths if lengths.nunique() > 2 else table["batch"].astype(str)).to_numpy()


def _range(values: pd.Series) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _four(value: float) -> float:
    return float(f"{value:.4g}")


assert set(REMEDY) == set(NAMES)
