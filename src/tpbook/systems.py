"""Measured systems: one folder each under data/systems, read and checked by one loader.

A folder holds system.yml (what was measured, how, where it comes from) and tidy CSV tables in SI
units. A folder that breaks the contract is refused with one line: file, line, column, reason.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from tpbook import catalogue, system_checks
from tpbook.hardware import all_accelerators
from tpbook.paths import DATA, data_path
from tpbook.system_record import Known, Method, System
from tpbook.system_tables import STATISTICS, TABLES
from tpbook.tables import read_csv

CHOICE = "TPBOOK_SYSTEM"
DEFAULT = "quad-a40-hoststaged"
STATUSES = ("stated", "measured", "inferred", "assumed")
KINDS = {"title": str, "model": str | None, "dtype": str, "software": dict, "composed": bool}


def systems() -> list[str]:
    """The ids of the systems under data/systems, sorted."""
    return sorted(path.parent.name for path in (DATA / "systems").glob("*/system.yml"))


def chosen_system() -> System:
    """The system that the environment variable TPBOOK_SYSTEM names (id or folder), by default the
    quad-A40 staged through the host. Raises ValueError as load_system does."""
    return load_system(os.environ.get(CHOICE) or DEFAULT)


def system_folder(id_or_path: str | Path) -> Path:
    """The folder of a system: its path, or its id under data/systems; an id comes first.

    Raises ValueError where there is neither.
    """
    if str(id_or_path) in systems():
        return data_path("systems", str(id_or_path))
    if os.path.isdir(id_or_path):
        return Path(os.path.abspath(id_or_path))
    known = ", ".join(systems())
    raise ValueError(f"no system or folder {str(id_or_path)!r}; known systems: {known}")


def load_system(id_or_path: str | Path, tables: Iterable[str] = TABLES) -> System:
    """Read and check a system folder, named by its id under data/systems or by its path.

    tables: which of its tables to read, all by default; the others are None.
    Raises ValueError for an unknown id, and for a folder that breaks the contract.
    """
    folder = system_folder(id_or_path)
    where = f"{folder.name}/system.yml"
    if not os.path.isfile(folder / "system.yml"):
        raise ValueError(f"{where} is missing: describe the system there")
    entry = catalogue.read_table(folder / "system.yml")
    fabric = catalogue.field(entry, "fabric", where)
    methods = _methods(catalogue.typed_field(entry, "methods", dict, where), where)
    card = catalogue.field(entry, "accelerator", where)
    catalogue.lookup(all_accelerators(), card, f"accelerator in {where}:")
    # A description of how a table came about promises the table.
    promised = {"allreduce": bool(methods), "steps": bool(_composition(entry, where))}
    system = System(
        id=folder.resolve().name,
        accelerator=card,
        fabric=catalogue.typed_field(fabric, "kind", str, f"{where}: fabric"),
        bandwidth=_known(fabric, "bandwidth_per_direction", f"{where}: fabric"),
        topology=_known(fabric, "topology", f"{where}: fabric"),
        methods=methods,
        composition=_composition(entry, where),
        **{
            name: _table(folder, name, promised.get(name, False)) if name in tables else None
            for name in TABLES
        },
        **{name: catalogue.typed_field(entry, name, kind, where) for name, kind in KINDS.items()},
        **{
            name: catalogue.count(catalogue.field(entry, name, where), f"{where}: {name}")
            for name in ("device_count", "machine_device_count")
        },
        **{
            name: catalogue.list_of(entry, name, kind, where)
            for name, kind in (("dropped", str), ("known_limits", str), ("sources", dict))
        },
    )
    system_checks.check(system, folder.name)
    return system


def allreduce_times(
    system: System, p: int, method: str | None = None, statistic: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Messages (B) and times (s) of one degree, sorted by message.

    method: the system's main one by default. statistic: the method's own by default.
    Raises ValueError when the system has no such rows.
    """
    table = system.allreduce
    if table is None:
        raise ValueError(f"system {system.id} has no all-reduce times: add allreduce.csv")
    method = method or system.main_method
    chosen = catalogue.lookup(system.methods, method, f"method of system {system.id}")
    statistic = statistic or chosen.statistic
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
    if system.allreduce is None and (method is None or method in system.methods):
        return []
    method = method or system.main_method
    catalogue.lookup(system.methods, method, f"method of system {system.id}")
    rows = system.allreduce[system.allreduce["method"] == method]
    return sorted(int(p) for p in rows["p"].unique())


def _known(entry: dict, name: str, where: str) -> Known:
    where = f"{where}: {name}"
    given = catalogue.field(entry, name, where)
    known = Known(
        catalogue.field(given, "value", where),
        catalogue.field(given, "status", where),
        catalogue.typed_field(given, "reason", str, where),
    )
    if known.status not in STATUSES:
        raise ValueError(
            f"{where}: status must be one of {', '.join(STATUSES)}, got {known.status!r}"
        )
    if name.startswith("bandwidth"):
        catalogue.number(known.value, f"{where}.value")
    else:
        catalogue.typed_field(given, "value", str, where)
    return known


def _methods(entries: dict, where: str) -> dict[str, Method]:
    methods = {}
    for id, entry in entries.items():
        at = f"{where}: methods: {id}"
        names = ("statistic", "how", "includes")
        methods[id] = Method(id, *(catalogue.typed_field(entry, name, str, at) for name in names))
        if methods[id].statistic not in STATISTICS:
            raise ValueError(
                f"{at}: statistic must be one of {', '.join(STATISTICS)}, "
                f"got {methods[id].statistic!r}"
            )
    return methods


def _composition(entry: dict, where: str) -> tuple[str, ...]:
    if not catalogue.typed_field(entry, "composed", bool, where):
        return ()
    return catalogue.list_of(entry, "composition", str, where)


def _table(folder: Path, name: str, required: bool) -> pd.DataFrame | None:
    file = folder / f"{name}.csv"
    # A link that leads nowhere is a fault and not an absent table.
    return read_csv(file, *TABLES[name]) if required or os.path.lexists(file) else None
