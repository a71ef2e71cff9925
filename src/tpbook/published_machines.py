"""The machine behind each published table: the catalogue's card, wired as far as is known."""

from dataclasses import replace
from functools import cache

from tpbook.catalogue import field, lookup, number, read_table
from tpbook.hardware import Fabric, accelerator
from tpbook.paths import data_path
from tpbook.serving_work import Machine, machine_of

FILE = "published/machines.yml"


@cache
def _table() -> dict:
    return read_table(data_path("published", "machines.yml"))


def published_machine(source: str, card: str, wiring: str | None = None) -> Machine:
    """The machine on which a source measured an accelerator.

    wiring: overrides the table's with "switch", to see what the wiring is worth.
    Raises ValueError for an accelerator that neither the table nor the catalogue knows.
    """
    entry = _table().get(source, {}).get(card, {})
    where = f"{FILE}: {source} {card}"
    device = accelerator(card)
    part = number(entry.get("part", 1), f"{where}.part")
    network = _wired(device.network, entry, where)
    found = machine_of(device, network)
    found = replace(
        found,
        title=entry.get("title", device.title),
        peak=part * found.peak,
        memory_bandwidth=part * found.memory_bandwidth,
        memory_bytes=part * found.memory_bytes,
    )
    if "across" in entry:
        found = replace(found, across=number(entry["across"], f"{where}.across"))
    if wiring is not None:
        found = replace(found, network=replace(found.network, topology=wiring))
    return found


def machine_basis(source: str, card: str) -> tuple[str, str]:
    """How the wiring of a published machine is known: status, and the reason in a sentence."""
    entry = lookup(_table().get(source, {}), card, f"machine of {source}:")
    return field(entry, "status", FILE), field(entry, "reason", FILE)


def _wired(network: Fabric, entry: dict, where: str) -> Fabric:
    rate = network.per_direction
    if "per_direction" in entry:
        rate = number(entry["per_direction"], f"{where}.per_direction")
    links = entry.get("links", network.links)
    return replace(
        network,
        topology=entry.get("wiring", network.topology),
        per_direction=rate,
        links=links,
        rate_per_link=rate / links,
    )
