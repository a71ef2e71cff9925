"""The latency of one all-reduce, added up from its parts before anything is measured.

The parts of NCCL are the constants with which the library chooses an algorithm and a protocol:
estimates that steer a decision, not measurements.
"""

from dataclasses import dataclass
from functools import cache

from tpbook import catalogue, checks
from tpbook.equation import equation
from tpbook.paths import data_path
from tpbook.symbolic import where_parallel

FILE = "latency.yml"
STATUSES = ("measured", "stated", "assumed")


@dataclass(frozen=True)
class Part:
    """One part of a latency: seconds, its range where a source gives one, and how it is known."""

    title: str
    value: float
    low: float | None
    high: float | None
    status: str
    source: str
    url: str | None


@equation("eq-latency-budget", symbol="alpha")
def latency_budget(p, launch, base, alpha_hop, crossing):
    """Latency t_launch + t_base + 2(p-1)(alpha_h + t_host) of one ring all-reduce.

    Zero at p = 1, where there is no collective. p: degree. launch: of the kernel, s. base: what
    the protocol pays once, s. alpha_hop: s per step of the ring. crossing: what a step through
    the host adds, s. Raises ValueError for p < 1 or a negative part.
    Source: the single-node ring of NCCL's tuning model, with launch and crossing added.
    """
    checks.degree(p=p)
    checks.nonnegative(launch=launch, base=base, alpha_hop=alpha_hop, crossing=crossing)
    return where_parallel(p, launch + base) + 2 * (p - 1) * (alpha_hop + crossing)


def nccl_latency(link: str, algorithm: str = "ring", protocol: str = "LL") -> tuple[float, float]:
    """NCCL's base and per-hop latency (s) on a link, nvlink or pcie.

    algorithm: ring or tree. protocol: LL (the fastest for short messages), LL128 or Simple.
    Raises ValueError for a name that the table does not have. Source: data/latency.yml.
    """
    nccl = _table()["nccl"]
    base = catalogue.lookup(nccl["base"], algorithm, "algorithm")
    hops = catalogue.lookup(nccl["hop"], link, "link")
    hop = catalogue.lookup(hops, algorithm, "algorithm")
    return (
        catalogue.number(
            catalogue.lookup(base, protocol, "protocol"), f"{FILE}: nccl.base.{algorithm}"
        ),
        catalogue.number(
            catalogue.lookup(hop, protocol, "protocol"), f"{FILE}: nccl.hop.{link}.{algorithm}"
        ),
    )


def nccl_source() -> dict[str, str]:
    """Where the NCCL constants come from: repository, path, version, commit, licence, status."""
    names = ("repository", "path", "version", "commit", "licence", "status")
    return {
        name: catalogue.typed_field(_table()["nccl"], name, str, f"{FILE}: nccl") for name in names
    }


def part(name: str) -> Part:
    """The part kernel_launch, framework_launch, host_read or numa_crossing.

    Raises ValueError for another name or an entry that is not as it should be.
    """
    entry = catalogue.lookup(_table()["parts"], name, "part of the latency")
    where = f"{FILE}: {name}"
    source = catalogue.typed_field(entry, "source", dict, where)
    status = catalogue.field(entry, "status", where)
    if status not in STATUSES:
        raise ValueError(f"{where}: status must be one of {', '.join(STATUSES)}, got {status!r}")
    ends = {
        end: None if entry.get(end) is None else catalogue.number(entry[end], f"{where}.{end}")
        for end in ("low", "high")
    }
    return Part(
        title=catalogue.typed_field(entry, "title", str, where),
        value=catalogue.number(catalogue.field(entry, "value", where), f"{where}.value"),
        status=status,
        source=catalogue.typed_field(source, "title", str, where),
        url=catalogue.field(source, "url", where),
        **ends,
    )


@cache
def _table() -> dict:
    table = catalogue.read_table(data_path(FILE))
    for name in ("nccl", "parts"):
        catalogue.typed_field(table, name, dict, FILE)
    return table
