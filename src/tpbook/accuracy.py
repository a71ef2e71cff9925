"""Every accuracy figure of the book, computed anew from the tables: one entry for each test.

A test has its number of held-out times n, the mean (mape) or median of |error|, the mean error
(bias), the bar that was set beforehand, and whether it is met. Errors are relative,
prediction over measurement less one. For intervals, coverage is the figure, and its bias is what
it lies above or below the stated level.
"""

import numpy as np
import pandas as pd

from tpbook.accuracy_laws import allreduce, kernel_law, mean_interval
from tpbook.accuracy_sets import (
    BENCH,
    MAIN_MODEL,
    PAIRS,
    Judged,
    judge,
    select,
    setting,
    transfer_sets,
)
from tpbook.serving_amounts import amounts, times
from tpbook.serving_calibration import LEVEL
from tpbook.serving_transfer import carried

MAIN_BAR, BIAS_BAR = 0.045, 0.02
PEER_BAR = 0.03
HARDWARE_BAR = 0.10
COVERAGE_BAR = (0.85, 0.95)
PEER_LENGTHS, PEER_BATCHES = (1024, 1024), (1, 16, 32)
FAMILIES = {
    BENCH: "other models and accelerators of LLM-Inference-Bench",
    "fastertransformer": "FasterTransformer GPT-20B",
    "splitwise": "splitwise Llama-2-70B",
}


def main_sets(wiring: str | None = None) -> list[Judged]:
    """The four main sets: one model, two accelerators, two engines."""
    return [judge(BENCH, MAIN_MODEL, card, engine, wiring) for card, engine in PAIRS]


def main_cells() -> dict:
    """Calibrated on p = 1 and 2, read at p = 4: every usable cell of the four main sets.

    low, high: 95 % interval of mape.
    """
    judged = main_sets()
    rows = pd.concat([each.held_out for each in judged])
    result = _summary(errors(rows), MAIN_BAR)
    result["met"] = result["mape"] <= MAIN_BAR and abs(result["bias"]) <= BIAS_BAR
    # Cells of one set and batch err alike, so whole batches are drawn.
    batch = rows["accelerator"] + rows["engine"] + rows["batch"].astype(str)
    result["low"], result["high"] = mean_interval(np.abs(errors(rows)), batch.to_numpy())
    result["sets"] = [_named(each, errors(each.held_out), MAIN_BAR) for each in judged]
    return result


def peer_cells() -> dict:
    """The cells on which peers were measured: 1024 tokens in and out, p = 4."""
    judged = main_sets()
    rows = [_peer_rows(each.held_out) for each in judged]
    result = _summary(errors(pd.concat(rows)), PEER_BAR)
    result["met"] = result["mape"] <= PEER_BAR
    result["sets"] = [_named(each, errors(part), PEER_BAR) for each, part in zip(judged, rows)]
    return result


def transfers() -> dict:
    """The same form on every other set, against Amdahl's law on the cells that law can reach.

    bar: Amdahl's mean error on the same cells; met when the form is below it in every family.
    """
    judged, refused = transfer_sets()
    sets = [_against_amdahl(each) for each in judged]
    families = []
    for source, title in FAMILIES.items():
        parts = [each for each in judged if each.source == source]
        rows = _shared(pd.concat([each.held_out for each in parts]))
        families.append({"name": title, **_versus(rows)})
    rows = _shared(pd.concat([each.held_out for each in judged]))
    result = _versus(rows)
    result["bar"] = result.pop("amdahl")
    result["met"] = all(each["met"] for each in families)
    return result | {"families": families, "sets": sets, "not_judged": list(refused)}


def cross_hardware() -> dict:
    """Parameters of the A100, the datasheet of the H100: all its usable cells, both engines."""
    sets, found = [], []
    for engine in dict.fromkeys(engine for _, engine in PAIRS):
        source, target = dict.fromkeys(card for card, _ in PAIRS)
        known = judge(BENCH, MAIN_MODEL, source, engine)
        table = select(BENCH, MAIN_MODEL, target, engine)
        where = amounts(table, *setting(BENCH, MAIN_MODEL, target))
        parameters = carried(known.parameters, source, target)
        error = times(where, parameters) / table["time_s"].to_numpy() - 1
        sets.append({"name": f"{source} to {target}, {engine}", **_summary(error, HARDWARE_BAR)})
        found.append(error)
    result = _summary(np.concatenate(found), HARDWARE_BAR)
    return result | {"met": result["mape"] <= HARDWARE_BAR, "sets": sets}


def coverage() -> dict:
    """Share of the held-out cells of the main sets inside their 90 % interval, and of the others.

    mape is absent: coverage is the figure, bias its distance from the level, bar the range it was
    to lie in.
    """
    judged = main_sets()
    inside = pd.concat([_inside(each.held_out) for each in judged])
    elsewhere, _ = transfer_sets()
    others = pd.concat([_inside(each.held_out) for each in elsewhere])
    widths = pd.concat([each.held_out["half_width"] for each in judged])
    low, high = COVERAGE_BAR
    share = float(inside.mean())
    sets = [
        {"name": name(each), "n": len(each.held_out), "coverage": _inside(each.held_out).mean()}
        for each in (*judged, *elsewhere)
    ]
    return {
        "n": len(inside),
        "coverage": share,
        "bias": share - LEVEL,
        "bar": list(COVERAGE_BAR),
        "met": low <= share <= high,
        "median_half_width": float(widths.median()),
        "elsewhere_n": len(others),
        "elsewhere_coverage": float(others.mean()),
        "sets": [{**each, "coverage": float(each["coverage"])} for each in sets],
    }


TESTS = {
    "llmib-p4": main_cells,
    "llmib-peer-cells": peer_cells,
    "transfer-sets": transfers,
    "kernel-law": kernel_law,
    "allreduce": allreduce,
    "cross-hardware": cross_hardware,
    "interval-coverage": coverage,
}


def accuracy() -> dict[str, dict]:
    """Every test of TESTS by id, each with n, mape or median or coverage, bias, bar, met, sets."""
    return {id: test() for id, test in TESTS.items()}


def errors(rows: pd.DataFrame) -> np.ndarray:
    """Relative errors of a judged set's rows."""
    return (rows["predicted_s"] / rows["time_s"] - 1).to_numpy()


def name(judged: Judged) -> str:
    """A set in words: model, accelerator, engine."""
    engine = judged.engine if judged.engine != "not stated" else judged.source
    return f"{judged.model}, {judged.accelerator}, {engine}"


def _peer_rows(rows: pd.DataFrame) -> pd.DataFrame:
    prompt, output = PEER_LENGTHS
    lengths = (rows["prompt_tokens"] == prompt) & (rows["output_tokens"] == output)
    return rows[lengths & rows["batch"].isin(PEER_BATCHES) & (rows["p"] == 4)]


def _summary(error: np.ndarray, bar: float) -> dict:
    return {
        "n": len(error),
        "mape": float(np.abs(error).mean()),
        "bias": float(error.mean()),
        "bar": bar,
    }


def _named(judged: Judged, error: np.ndarray, bar: float) -> dict:
    return {"name": name(judged), **_summary(error, bar)}


def _shared(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["amdahl_s"].notna()]


def _versus(rows: pd.DataFrame) -> dict:
    amdahl = float((rows["amdahl_s"] / rows["time_s"] - 1).abs().mean())
    found = _summary(errors(rows), amdahl)
    found["amdahl"] = found.pop("bar")
    return found | {"met": found["mape"] < amdahl}


def _against_amdahl(judged: Judged) -> dict:
    rows = judged.held_out
    whole = errors(rows)
    result = {"name": name(judged), "family": FAMILIES[judged.source], **_versus(_shared(rows))}
    result |= {"all_n": len(rows), "all_mape": float(np.abs(whole).mean())}
    phases = sorted(set(rows["phase"]))
    if len(phases) > 1:
        shared = _shared(rows)
        result["phases"] = [
            {"name": phase, **_versus(shared[shared["phase"] == phase])} for phase in phases
        ]
    return result


def _inside(rows: pd.DataFrame) -> pd.Series:
    return (rows["time_s"] / rows["predicted_s"] - 1).abs() <= rows["half_width"]
