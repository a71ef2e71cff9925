"""Accelerators and fabrics: datasheet values with their sources and grades.

All rates are SI and per device. A network's bandwidth is the line rate in one direction; the
headline counts both directions.
"""

from dataclasses import dataclass
from functools import cache

from tpbook.catalogue import count, field, lookup, number, read_table
from tpbook.paths import data_path

FILE = "hardware.yml"
GRADES = ("A", "B", "C")
BASES = ("measured", "inferred", "assumed")
TOPOLOGIES = ("switch", "mesh", "torus", "pairs", "host")
UNITS = {
    "peak_flops": "FLOP/s",
    "memory_bytes": "B",
    "memory_bandwidth": "B/s",
    "network": "B/s per direction",
    "network effective": "B/s per direction",
    "pcie": "generation",
}


@dataclass(frozen=True)
class Fabric:
    """What joins a device to its peers.

    per_direction: line rate of one device in one direction, all links together, in B/s; it is
    links x rate_per_link. headline: the vendor's number, both directions, in B/s;
    headline_raw: counted before PCIe's line code. effective: what a collective attains per
    direction, in B/s, None where no source says; effective_basis: measured, inferred or assumed.
    record_value: the per-direction rate that the crossover record computes with.
    topology: switch, mesh, torus, pairs (joins two devices only) or host (through the CPU).
    """

    id: str
    title: str
    kind: str
    topology: str
    per_direction: float
    links: int
    rate_per_link: float
    headline: float
    headline_raw: bool
    effective: float | None
    effective_basis: str | None
    record_value: float | None
    note: str


@dataclass(frozen=True)
class Accelerator:
    """One device: dense bf16 peak in FLOP/s, memory in B and B/s, and its own network."""

    id: str
    title: str
    peak_flops: float
    memory_bytes: float
    memory_bandwidth: float
    network: Fabric
    pcie_generation: int | None

    @property
    def ridge_intensity(self) -> float:
        """Intensity in FLOP/B at which the compute and memory roofs meet."""
        return self.peak_flops / self.memory_bandwidth


def accelerator(id: str) -> Accelerator:
    """The accelerator of an id such as "h100-sxm"; raises ValueError that lists the known ids."""
    return _accelerator(id, _entry(id))


def fabric(id: str) -> Fabric:
    """The fabric of an id such as "pcie4-x16"; raises ValueError that lists the known ids."""
    return _fabric(id, lookup(_table()["fabrics"], id, "fabric"), f"{FILE}: {id}")


def clock(id: str) -> float | None:
    """Clock in 1/s at which an accelerator's peak is reckoned; None where the catalogue has none.

    Raises ValueError as accelerator does.
    """
    check = field(_entry(id), "peak_flops", f"{FILE}: {id}").get("check", {})
    return check.get("clock")


def accelerators() -> dict[str, Accelerator]:
    """The book's own accelerators by id: those of the record and of the measured systems."""
    return {id: _accelerator(id, entry) for id, entry in _table()["accelerators"].items()}


def published_accelerators() -> dict[str, Accelerator]:
    """The further accelerators, which only the published times name, by id."""
    return {id: _accelerator(id, entry) for id, entry in _table()["published"].items()}


def all_accelerators() -> dict[str, Accelerator]:
    """Every accelerator of data/hardware.yml by id, the book's own first."""
    return accelerators() | published_accelerators()


def fabrics() -> dict[str, Fabric]:
    """Every fabric of data/hardware.yml by id."""
    table = _table()["fabrics"]
    return {id: _fabric(id, entry, f"{FILE}: {id}") for id, entry in table.items()}


def sources() -> dict[str, dict]:
    """Every source by id: title, url, and read (full, excerpt or only quoted elsewhere)."""
    return _table()["sources"]


def provenance(id: str) -> list[dict]:
    """One row per value of an accelerator or fabric: field, value, unit, grade, sources, note."""
    table = _table()
    known = table["accelerators"] | table["published"] | table["fabrics"]
    entries = lookup(known, id, "accelerator or fabric")
    if id in table["fabrics"]:
        entries = {"network": entries}
    rows = []
    for name, unit in UNITS.items():
        if name == "network effective":
            entry = entries["network"]["effective"]
        else:
            entry = entries.get(name)
        if entry:
            rows.append(
                dict(
                    field=name,
                    value=entry["value"],
                    unit=unit,
                    basis=entry.get("basis", "stated"),
                    grade=entry["grade"],
                    sources=[sources()[source]["title"] for source in entry["source"]],
                    note=entry.get("note", ""),
                )
            )
    return rows


def _entry(id: str) -> dict:
    return lookup(_table()["accelerators"] | _table()["published"], id, "accelerator")


@cache
def _table() -> dict:
    table = read_table(data_path(FILE))
    for part in ("sources", "accelerators", "published", "fabrics"):
        field(table, part, FILE)
    return table


def _value(entry, where: str, known_sources) -> float:
    """The number of one entry, once its grade and sources have been checked."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must hold value, source and grade, got {entry!r}")
    value = number(field(entry, "value", where), f"{where}.value")
    if field(entry, "grade", where) not in GRADES:
        raise ValueError(f"{where}: grade must be one of {GRADES}, got {entry['grade']!r}")
    named = field(entry, "source", where)
    if not isinstance(named, list) or not named:
        raise ValueError(f"{where}: source must be a list of source ids, got {named!r}")
    for source in named:
        if source not in known_sources:
            raise ValueError(f"{where}: source {source!r} is not in the table of sources")
    return value


def _one_of(entry: dict, name: str, allowed: tuple, where: str) -> str:
    value = field(entry, name, where)
    if value not in allowed:
        raise ValueError(f"{where}: {name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def _fabric(id: str, entry: dict, where: str, title: str | None = None) -> Fabric:
    per_direction = _value(entry, where, sources())
    effective = field(entry, "effective", where)
    value = basis = None
    if effective is not None:
        value = _value(effective, f"{where}.effective", sources())
        basis = _one_of(effective, "basis", BASES, f"{where}.effective")
    record = entry.get("record_value")
    return Fabric(
        id=id,
        title=title or field(entry, "title", where),
        kind=field(entry, "kind", where),
        topology=_one_of(entry, "topology", TOPOLOGIES, where),
        per_direction=per_direction,
        links=count(field(entry, "links", where), f"{where}.links"),
        rate_per_link=number(field(entry, "rate_per_link", where), f"{where}.rate_per_link"),
        headline=number(field(entry, "headline", where), f"{where}.headline"),
        headline_raw=entry.get("headline_raw", False),
        effective=value,
        effective_basis=basis,
        record_value=None if record is None else number(record, f"{where}.record_value"),
        note=entry.get("note", ""),
    )


def _accelerator(id: str, entry: dict) -> Accelerator:
    where = f"{FILE}: {id}"
    read = {
        name: _value(field(entry, name, where), f"{where}.{name}", sources())
        for name in ("peak_flops", "memory_bytes", "memory_bandwidth")
    }
    title = field(entry, "title", where)
    pcie = field(entry, "pcie", where)
    return Accelerator(
        id=id,
        title=title,
        network=_fabric(id, field(entry, "network", where), f"{where}.network", title),
        pcie_generation=(
            None
            if pcie is None
            else count(_value(pcie, f"{where}.pcie", sources()), f"{where}.pcie.value")
        ),
        **read,
    )
