"""The published sets on which the serving form is judged: calibrated on the two smallest degrees."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from tpbook.amdahl import amdahl_extrapolation
from tpbook.models import model
from tpbook.published import published, usable
from tpbook.published_machines import published_machine
from tpbook.serving_amounts import amounts, times
from tpbook.serving_calibration import LEVEL, groups, refuse_unidentified
from tpbook.serving_fit import fit, left_out
from tpbook.serving_model import Parameters
from tpbook.serving_uncertainty import growth_ambiguity
from tpbook.serving_work import Machine, Work, model_work

BENCH = "llm-inference-bench"
CELL = ["phase", "batch", "prompt_tokens", "output_tokens"]
# The main test, as (accelerator, engine); the form was chosen on the first.
PAIRS = (
    ("a100-40gb-sxm4", "TensorRT-LLM"),
    ("a100-40gb-sxm4", "vLLM"),
    ("h100-sxm", "TensorRT-LLM"),
    ("h100-sxm", "vLLM"),
)
MAIN_MODEL = "llama-2-7b"


@dataclass(frozen=True)
class Judged:
    """One set, calibrated on fit_on and read at every larger degree.

    rows: the usable rows with predicted_s, half_width (relative, of the 90 % interval), amdahl_s
    (NaN where a smaller degree is missing) and held_out.
    """

    source: str
    model: str
    accelerator: str
    engine: str
    fit_on: tuple[int, int]
    parameters: Parameters
    noise: float
    rows: pd.DataFrame

    @property
    def held_out(self) -> pd.DataFrame:
        return self.rows[self.rows["held_out"]]


@cache
def _usable(source: str) -> pd.DataFrame:
    return usable(published(source))


def select(source: str, model_id: str, card: str, engine: str) -> pd.DataFrame:
    """The usable rows of one set that fit in memory; whole requests, or prefill and decode."""
    table = _usable(source)
    keep = (table["model"] == model_id) & (table["accelerator"] == card)
    table = table[keep & (table["engine"] == engine) & (table["fits"] == "yes")]
    whole = table["phase"] == "end-to-end"
    return (table[whole] if whole.any() else table).reset_index(drop=True)


def setting(source: str, model_id: str, card: str, wiring=None) -> tuple[Work, Machine]:
    """Amounts and machine of a set; wiring overrides how the devices are joined."""
    return model_work(model(model_id)), published_machine(source, card, wiring)


@cache
def judge(source: str, model_id: str, card: str, engine: str, wiring=None) -> Judged:
    """Calibrate a set on its two smallest degrees and predict all its rows.

    Raises ValueError when there is no larger degree, and as refuse_unidentified does.
    """
    table = select(source, model_id, card, engine)
    name = f"{source} {model_id} {card} {engine}"
    known_degrees = sorted(int(p) for p in table["p"].unique())
    if len(known_degrees) < 3:
        raise ValueError(f"{name}: degrees {known_degrees} leave none to predict")
    fit_on = tuple(known_degrees[:2])
    inside = table["p"].isin(fit_on).to_numpy()
    refuse_unidentified(table[inside], name)
    known = amounts(table, *setting(source, model_id, card, wiring))
    time = table["time_s"].to_numpy(float)
    found = fit(known[inside], time[inside])
    out = left_out(known[inside], time[inside], groups(table[inside]))
    noise = float(np.quantile(np.abs(out), LEVEL))
    table["predicted_s"] = times(known, found)
    table["half_width"] = np.hypot(noise, growth_ambiguity(known, found, table["p"]))
    table["held_out"] = ~inside
    table["amdahl_s"] = _amdahl(table, fit_on)
    return Judged(source, model_id, card, engine, fit_on, found, noise, table)


@cache
def transfer_sets() -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """Every other published set that the form can be calibrated on, and why each other cannot.

    All models and accelerators of the three sources; engines that split layers carry a flag and
    have no usable rows.
    """
    judged, refused = [], []
    for source in (BENCH, "fastertransformer", "splitwise"):
        table = _usable(source)
        for model_id, card, engine in sorted(
            set(zip(table["model"], table["accelerator"], table["engine"]))
        ):
            if source == BENCH and model_id == MAIN_MODEL and (card, engine) in PAIRS:
                continue
            try:
                judged.append(judge(source, model_id, card, engine))
            except ValueError as error:
                refused.append(str(error))
    return tuple(judged), tuple(refused)


def _amdahl(table: pd.DataFrame, fit_on: tuple[int, int]) -> np.ndarray:
    """Amdahl's time of every row from its own cell's times at the two smallest degrees."""
    wide = table.pivot(index=CELL, columns="p", values="time_s").reindex(columns=fit_on)
    pair = wide.loc[pd.MultiIndex.from_frame(table[CELL])].to_numpy()
    known = np.isfinite(pair).all(axis=1)
    low, high = fit_on
    result = np.full(len(table), np.nan)
    degree = table["p"].to_numpy(float)[known] / low
    result[known] = amdahl_extrapolation(high / low, degree, *pair[known].T)
    return result
