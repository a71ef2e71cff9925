"""Calibrations by name: from a published table, from a system folder, or from a file."""

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tpbook.accuracy_sets import select, setting
from tpbook.calibration_file import RANGES, load
from tpbook.collectives import bus_bandwidth
from tpbook.models import model
from tpbook.published import published, usable
from tpbook.published_machines import published_machine
from tpbook.serving_amounts import NAMES, UTILISATIONS
from tpbook.serving_calibration import Calibration, calibrate_rows
from tpbook.serving_fit import PRIOR, TYPICAL
from tpbook.serving_model import Parameters
from tpbook.serving_work import Machine, machine, model_work
from tpbook.steps import contexts, phase_times
from tpbook.system_record import System
from tpbook.systems import allreduce_times, degrees, load_system

# What every step holds, and the parameters that only it tells.
PARTS_OF_A_STEP = {
    "weight_gemm": "eta_weights",
    "attention": "eta_cache",
    "communication": "alpha",
}
ROW = ["p", "batch", "prompt_tokens", "output_tokens", "phase", "time_s"]


def calibrate_published(
    source: str, model_id: str, card: str, engine: str, on: tuple[int, ...] | None = None
) -> Calibration:
    """Calibrate on one published set; on: the degrees to use, all by default.

    Raises ValueError for a set without rows, and as calibrate_rows does.
    """
    table = select(source, model_id, card, engine)
    name = f"{source}: {model_id}, {card}, {engine}"
    if table.empty:
        raise ValueError(f"{name}: no usable rows; {_known_sets(source)}")
    table = _at_degrees(table, on, name)
    return calibrate_rows(table, *setting(source, model_id, card), name, source, card, model_id)


def calibrate_system(system: System, on: tuple[int, ...] | None = None) -> Calibration:
    """Calibrate on a system's serving rows, or else its steps, with the network of its all-reduces.

    Raises ValueError for a system without either or without a model, and as calibrate_rows does.
    """
    if system.model is None:
        raise ValueError(f"{system.id}: system.yml names no model, so no amounts are known")
    table, basis = system_rows(system)
    table = _at_degrees(table, on, f"system {system.id}")
    found = system_machine(system)
    return calibrate_rows(
        table,
        model_work(model(system.model)),
        found,
        f"system {system.id}",
        f"system:{system.id}",
        system.accelerator,
        system.model,
        basis,
    )


def system_rows(system: System) -> tuple[pd.DataFrame, str]:
    """The times of a system as rows to calibrate on, and what they are: serving rows or steps.

    Steps give whole passes and, apart, the cache reading and the communication of a decode step.
    Raises ValueError for a system with neither table, and for a step that lacks a category.
    """
    if system.serving is not None:
        rows = []
        for row in system.serving.to_dict("records"):
            cell = row["p"], row["batch"], row["prompt_tokens"], row["output_tokens"]
            rows += [(*cell, "prefill", row["ttft_s"]), (*cell, "decode", row["tpot_s"])]
        return pd.DataFrame(rows, columns=ROW).dropna(), "serving rows"
    if system.steps is None:
        raise ValueError(f"{system.id}: add serving.csv or steps.csv to calibrate on it")
    rows = []
    for phase in ("prefill", "decode"):
        for context in contexts(system, phase):
            for (p, batch), parts in phase_times(system, phase, context).iterrows():
                cell = p, batch, context, 0
                _whole_step(system.id, phase, p, batch, context, parts)
                rows.append((*cell, phase, parts.sum()))
                if phase == "decode":
                    rows.append((*cell, "decode cache", parts.get("attention")))
                    rows.append((*cell, "decode communication", parts.get("communication")))
    table = pd.DataFrame(rows, columns=ROW).dropna()
    return table[table["time_s"] > 0], "steps"


def _whole_step(id: str, phase: str, p: int, batch: int, context: int, parts: pd.Series) -> None:
    # A step without one of its parts would pass for a faster one.
    for category, parameter in PARTS_OF_A_STEP.items():
        if pd.isna(parts.get(category)) and (p > 1 or category != "communication"):
            raise ValueError(
                f"{id}/steps.csv: the {phase} step of p = {p}, batch {batch}, context {context} "
                f"has no {category}, so {parameter} cannot be identified: measure it"
            )


def _at_degrees(table: pd.DataFrame, on: tuple[int, ...] | None, name: str) -> pd.DataFrame:
    if on is None:
        return table
    known = sorted(int(p) for p in table["p"].unique())
    absent = [p for p in on if p not in known]
    if absent:
        raise ValueError(f"{name}: no rows at p = {absent[0]}; it has {known}")
    return table[table["p"].isin(on)]


def _known_sets(source: str) -> str:
    table = usable(published(source))
    sets = sorted(set(zip(table["model"], table["accelerator"], table["engine"])))
    usable_sets = [":".join(each) for each in sets if not select(source, *each).empty]
    return f"those of {source} are {', '.join(usable_sets)}"


def system_machine(system: System) -> Machine:
    """The system's accelerator, with the bus bandwidth of its longest timed messages as network."""
    found = machine(system.accelerator)
    if system.allreduce is None:
        return found
    measured = []
    for p in degrees(system):
        messages, seconds = allreduce_times(system, p)
        measured.append((p, float(bus_bandwidth(p, messages[-1], seconds[-1]))))
    return replace(found, measured=tuple(measured))


def uncalibrated(card: str, model_id: str) -> Calibration:
    """What stands in where nothing was measured: assumed parameters without an interval."""
    assumed = {name: PRIOR[name][0] for name in UTILISATIONS} | TYPICAL
    nothing = (0.0,) * len(NAMES)
    return Calibration(
        name="nothing: assumed utilisations and overheads",
        source="",
        accelerator=card,
        model=model_id,
        basis="assumed",
        parameters=Parameters(**assumed),
        intervals={},
        covariance=(nothing,) * len(NAMES),
        noise=math.nan,
        fitted_error=math.nan,
        rows=0,
        **dict.fromkeys(RANGES, (0, 0)),
    )


def named(name: str, on: tuple[int, ...] | None = None) -> Calibration:
    """The calibration of a name: SOURCE:MODEL:ACCELERATOR:ENGINE of a published table, system:ID
    or a system's folder to calibrate anew on the degrees of `on`, or a file that save wrote.

    Raises ValueError for a name that is none of these, for a file with degrees to choose, and as
    the calibrations do.
    """
    parts = name.split(":")
    if len(parts) == 4:
        return calibrate_published(*parts, on=on)
    if len(parts) == 2 and parts[0] == "system":
        return calibrate_system(load_system(parts[1]), on)
    if Path(name).is_dir():
        return calibrate_system(load_system(name), on)
    if Path(name).is_file():
        if on is not None:
            raise ValueError(f"{name} is calibrated already; choose degrees when calibrating")
        return load(name)
    raise ValueError(
        f"no calibration {name!r}: give SOURCE:MODEL:ACCELERATOR:ENGINE, system:ID, a system's "
        "folder or a file that calibrate wrote"
    )


def home(calibration: Calibration) -> Machine:
    """The machine that a calibration was measured on: a system's with its timed rates, or wired as
    the published source says."""
    if calibration.source.startswith("system:"):
        return replace(machine(calibration.accelerator), measured=calibration.rates)
    return published_machine(calibration.source, calibration.accelerator)
