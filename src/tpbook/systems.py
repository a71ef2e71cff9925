"""Measured systems: one folder each under data/systems, read and checked by one loader.

A folder holds system.yml (what was measured, how, where it comes from) and tidy CSV tables in SI
units. A folder that breaks the contract is refused with one line: file, line, column, reason.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tpbook import catalogue
from tpbook.hardware import accelerators
from tpbook.paths import DATA, data_path
from tpbook.tables import Column, read_csv

STATISTICS = ("min", "median", "mean", "max")
PHASES = ("prefill", "decode", "mixed")
CATEGORIES = ("weight_gemm", "attention", "communication", "kv_copy", "other")
STATUSES = ("stated", "measured", "inferred", "assumed")
KINDS = {"title": str, "model": str | None, "dtype": str, "software": dict, "composed": bool}

ALLREDUCE = (
    Column("p", low=2, whole=True),
    Column("message_bytes", low=1, whole=True),
    Column("time_s", above=0),
    Column("statistic", allowed=STATISTICS),
    Column("samples", low=1, whole=True),
    Column("method"),
)
STEPS = (
    Column("p", low=1, whole=True),
    Column("batch", low=1, whole=True),
    Column("context", low=0, whole=True),
    Column("phase", allowed=PHASES),
    Column("rank", low=0, whole=True),
    Column("category", allowed=CATEGORIES),
    Column("time_s", low=0),
    Column("calls", low=0),
    Column("statistic", allowed=STATISTICS),
    Column("samples", low=1, whole=True),
)


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
    allreduce, steps: tables of the contract; steps is None where none was measured.
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
    allreduce: pd.DataFrame
    steps: pd.DataFrame | None

    @property
    def main_method(self) -> str:
        """The method that a chapter takes unless it says otherwise."""
        return next(iter(self.methods))


def systems() -> list[str]:
    """The ids of the systems under data/systems, sorted."""
    return sorted(path.parent.name for path in (DATA / "systems").glob("*/system.yml"))


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
    allreduce = read_csv(folder / "allreduce.csv", ALLREDUCE)
    _check_methods(folder, allreduce, methods)
    _check_once(folder, allreduce)
    steps = folder / "steps.csv"
    return System(
        id=folder.name,
        accelerator=card,
        fabric=catalogue.field(fabric, "kind", f"{where}: fabric"),
        bandwidth=_known(fabric, "bandwidth_per_direction", f"{where}: fabric"),
        topology=_known(fabric, "topology", f"{where}: fabric"),
        methods=methods,
        allreduce=allreduce,
        steps=read_csv(steps, STEPS) if steps.is_file() else None,
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


def allreduce_times(
    system: System, p: int, method: str | None = None, statistic: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Messages (B) and times (s) of one degree, sorted by message.

    method: the system's main one by default. statistic: the method's own by default.
    Raises ValueError when the system has no such rows.
    """
    method = method or system.main_method
    chosen = catalogue.lookup(system.methods, method, f"method of system {system.id}")
    statistic = statistic or chosen.statistic
    table = system.allreduce
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

    Raises ValueError for a method that the system does not have.
    """
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


def _check_methods(folder: Path, table: pd.DataFrame, methods: dict) -> None:
    unknown = sorted(set(table["method"]) - set(methods))
    if unknown:
        raise ValueError(
            f"{folder.name}/allreduce.csv, column method: {unknown[0]!r} is not described under "
            "methods in system.yml; describe it there"
        )


def _check_once(folder: Path, table: pd.DataFrame) -> None:
    keys = ["p", "message_bytes", "statistic", "method"]
    repeated = table.duplicated(keys)
    if repeated.any():
        row = int(np.argmax(repeated.to_numpy()))
        what = ", ".join(f"{key} {table[key].iloc[row]}" for key in keys)
        raise ValueError(
            f"{folder.name}/allreduce.csv line {row + 2}: a second time for {what}; "
            "keep one row, its statistic taken over all repeats"
        )
