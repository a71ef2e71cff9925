"""Measured systems: one folder each under data/systems, read and checked by one loader.

A folder holds system.yml (what was measured, how, where it comes from) and tidy CSV tables in SI
units. A folder that breaks the contract is refused with one line: file, line, column, reason.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpbook import catalogue, system_checks
from tpbook.hardware import accelerator, accelerators
from tpbook.models import models
from tpbook.paths import DATA, data_path
from tpbook.system_tables import STATISTICS, TABLES
from tpbook.tables import read_csv

CHOICE = "TPBOOK_SYSTEM"
DEFAULT = "quad-a40-hoststaged"
STATUSES = ("stated", "measured", "inferred", "assumed")
KINDS = {"title": str, "model": str | None, "dtype": str, "software": dict, "composed": bool}


@dataclass(frozen=True)
class Known:
    """A value with how it is known: stated, measured, inferred or assumed, and from what."""

    value: float | str
    status: str
    reason: str


@dataclass(frozen=True)
class Method:
    """A way in which times were taken; statistic is the one that estimates the network best."""

    id: str
    statistic: str
    how: str
    includes: str


@dataclass(frozen=True)
class System:
    """One measured or composed system.

    bandwidth: line rate of one device in B/s per direction. methods: by id, the main one first.
    device_count: devices of the system under study; machine_device_count: of the whole machine.
    composition: for a composed system, what its step table was put together from.
    allreduce, steps, serving, gpu_metrics: the tables of the folder, None where it has none.
    """

    id: str
    title: str
    accelerator: str
    model: str | None
    device_count: int
    machine_device_count: int
    fabric: str
    bandwidth: Known
    topology: Known
    software: dict[str, str]
    dtype: str
    composed: bool
    methods: dict[str, Method]
    dropped: tuple[str, ...]
    known_limits: tuple[str, ...]
    sources: tuple[dict[str, str], ...]
    composition: tuple[str, ...]
    allreduce: pd.DataFrame | None
    steps: pd.DataFrame | None
    serving: pd.DataFrame | None
    gpu_metrics: pd.DataFrame | None

    @property
    def main_method(self) -> str | None:
        """The method that a chapter takes unless it says otherwise; None where there is none."""
        return next(iter(self.methods), None)


def systems() -> list[str]:
    """The ids of the systems under data/systems, sorted."""
    return sorted(path.parent.name for path in (DATA / "systems").glob("*/system.yml"))


def chosen_system() -> System:
    """The system that the environment variable TPBOOK_SYSTEM names (id or folder), by default the
    quad-A40 staged through the host. Raises ValueError as load_system does."""
    return load_system(os.environ.get(CHOICE) or DEFAULT)


def load_system(id_or_path: str | Path) -> System:
    """Read and check a system folder, named by its id under data/systems or by its path.

    Raises ValueError for an unknown id, and for a folder that breaks the contract.
    """
    folder = Path(id_or_path)
    if not folder.is_dir():
        if str(id_or_path) not in systems():
            known = ", ".join(systems())
            raise ValueError(f"no system or folder {str(id_or_path)!r}; known systems: {known}")
        folder = data_path("systems", str(id_or_path))
    where = f"{folder.name}/system.yml"
    if not (folder / "system.yml").is_file():
        raise ValueError(f"{where} is missing: describe the system there")
    entry = catalogue.read_table(folder / "system.yml")
    fabric = catalogue.field(entry, "fabric", where)
    methods = _methods(catalogue.typed_field(entry, "methods", dict, where), where)
    card = catalogue.field(entry, "accelerator", where)
    catalogue.lookup(accelerators(), card, f"accelerator in {where}:")
    system = System(
        id=folder.resolve().name,
        accelerator=card,
        fabric=catalogue.field(fabric, "kind", f"{where}: fabric"),
        bandwidth=_known(fabric, "bandwidth_per_direction", f"{where}: fabric"),
        topology=_known(fabric, "topology", f"{where}: fabric"),
        methods=methods,
        composition=_composition(entry, where),
        **{name: _table(folder, name) for name in TABLES},
        **{name: catalogue.typed_field(entry, name, kind, where) for name, kind in KINDS.items()},
        **{
            name: catalogue.count(catalogue.field(entry, name, where), f"{where}: {name}")
            for name in ("device_count", "machine_device_count")
        },
        **{
            name: tuple(catalogue.typed_field(entry, name, list, where))
            for name in ("dropped", "known_limits", "sources")
        },
    )
    _check(system, folder.name)
    return system


def allreduce_times(
    system: System, p: int, method: str | None = None, statistic: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Messages (B) and times (s) of one degree, sorted by message.

    method: the system's main one by default. statistic: the method's own by default.
    Raises ValueError when the system has no such rows.
    """
    _allreduce(system)
    method = method or system.main_method
    chosen = catalogue.lookup(system.methods, method, f"method of system {system.id}")
    statistic = statistic or chosen.statistic
    table = _allreduce(system)
    rows = table[
        (table["p"] == p) & (table["method"] == method) & (table["statistic"] == statistic)
    ].sort_values("message_bytes")
    if rows.empty:
        raise ValueError(
            f"system {system.id} has no {statistic} all-reduce times at p = {p} by {method}"
        )
    return rows["message_bytes"].to_numpy(float), rows["time_s"].to_numpy(float)


def degrees(system: System, method: str | None = None) -> list[int]:
    """The degrees that a method measured (the main method by default), sorted.

    An empty list where the system has no all-reduce table. Raises ValueError for a method that
    the system does not have.
    """
    if system.allreduce is None and method is None:
        return []
    method = method or system.main_method
    catalogue.lookup(system.methods, method, f"method of system {system.id}")
    rows = system.allreduce[system.allreduce["method"] == method]
    return sorted(int(p) for p in rows["p"].unique())


def _known(entry: dict, name: str, where: str) -> Known:
    where = f"{where}: {name}"
    given = catalogue.field(entry, name, where)
    known = Known(*(catalogue.field(given, part, where) for part in ("value", "status", "reason")))
    if known.status not in STATUSES:
        raise ValueError(
            f"{where}: status must be one of {', '.join(STATUSES)}, got {known.status!r}"
        )
    if name.startswith("bandwidth"):
        catalogue.number(known.value, f"{where}.value")
    return known


def _methods(entries: dict, where: str) -> dict[str, Method]:
    methods = {}
    for id, entry in entries.items():
        parts = (catalogue.field(entry, part, where) for part in ("statistic", "how", "includes"))
        methods[id] = Method(id, *parts)
        if methods[id].statistic not in STATISTICS:
            raise ValueError(
                f"{where}: methods: {id}: statistic must be one of {', '.join(STATISTICS)}, "
                f"got {methods[id].statistic!r}"
            )
    return methods


def _composition(entry: dict, where: str) -> tuple[str, ...]:
    if not catalogue.typed_field(entry, "composed", bool, where):
        return ()
    return tuple(catalogue.typed_field(entry, "composition", list, where))


def _table(folder: Path, name: str) -> pd.DataFrame | None:
    file = folder / f"{name}.csv"
    return read_csv(file, TABLES[name][0]) if file.exists() else None


def _allreduce(system: System) -> pd.DataFrame:
    if system.allreduce is None:
        raise ValueError(f"system {system.id} has no all-reduce times: add allreduce.csv")
    return system.allreduce


def _check(system: System, folder: str) -> None:
    """Refuse a folder whose tables contradict the description, each other or physics."""
    tables = {name: getattr(system, name) for name in TABLES}
    tables = {name: table for name, table in tables.items() if table is not None}
    if not tables.keys() & {"allreduce", "steps", "serving"}:
        raise ValueError(
            f"{folder}: allreduce.csv, steps.csv and serving.csv are missing: add at least one"
        )
    for name, table in tables.items():
        where = f"{folder}/{name}.csv"
        system_checks.once(where, table, name)
        whole = name == "allreduce"
        devices = system.machine_device_count if whole else system.device_count
        fabric = tables.get("allreduce") if name == "steps" else None
        system_checks.degrees_exist(where, table, devices, fabric)
    where = f"{folder}/allreduce.csv"
    if "allreduce" in tables:
        system_checks.methods_described(where, tables["allreduce"], system.methods)
        system_checks.allreduce_physics(where, tables["allreduce"], system.bandwidth.value)
    if "serving" in tables:
        system_checks.serving_rows(f"{folder}/serving.csv", tables["serving"])
    if "gpu_metrics" in tables:
        system_checks.gpu_metric_rows(f"{folder}/gpu_metrics.csv", tables["gpu_metrics"])
    known = f"model in {folder}/system.yml:"
    model = None if system.model is None else catalogue.lookup(models(), system.model, known)
    if "steps" in tables and model is not None and "float16" in system.dtype:
        card = accelerator(system.accelerator)
        where = f"{folder}/steps.csv"
        system_checks.steps_physics(where, tables["steps"], model, card, system.bandwidth.value)
