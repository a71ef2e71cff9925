"""Every value of the hardware catalogue has a source, and the arithmetic of the values agrees."""

from copy import deepcopy

import pytest
import yaml

from tpbook import hardware
from tpbook.hardware import (
    accelerator,
    accelerators,
    fabric,
    fabrics,
    provenance,
    published_accelerators,
    sources,
)
from tpbook.paths import data_path

RECORD = "h100-sxm h200-sxm b200-sxm mi300x tpu-v5e a100-80gb-sxm4 rtx-4090".split()
OTHERS = "a40 a100-40gb-sxm4 a100-80gb-pcie l40s rtx-a6000".split()
EVERY = accelerators() | published_accelerators()
NETWORKS = {id: a.network for id, a in EVERY.items()} | fabrics()
PARTS = ("accelerators", "published", "fabrics")


TABLE = yaml.safe_load(data_path("hardware.yml").read_text())


def graded(place, node):
    """Every entry below a node that carries a grade, as (place, entry)."""
    if isinstance(node, dict):
        if "grade" in node:
            yield place, node
        for name, child in node.items():
            yield from graded(f"{place}.{name}", child)


ENTRIES = dict(graded("", {part: TABLE[part] for part in PARTS}))


def test_the_devices_of_the_record_and_of_the_measurements_are_there():
    assert set(accelerators()) == set(RECORD + OTHERS)


def test_the_published_ones_are_apart_and_found_by_the_same_call():
    assert set(published_accelerators()) == {"gh200", "mi250", "gaudi2"}
    assert not set(accelerators()) & set(published_accelerators())
    assert accelerator("gaudi2") == published_accelerators()["gaudi2"]
    assert provenance("mi250")[0]["value"] == accelerator("mi250").peak_flops


@pytest.mark.parametrize("place", ENTRIES)
def test_every_value_has_a_source_and_an_honest_grade(place):
    entry = ENTRIES[place]
    read = [sources()[source]["read"] for source in entry["source"]]
    if entry["grade"] == "A":
        assert set(read) & {"full", "excerpt"}
    if entry["grade"] == "B":
        assert len(read) >= 2 or "check" in entry


def test_no_value_is_without_a_grade():
    for part in PARTS[:2]:
        for id in TABLE[part]:
            for name in ("peak_flops", "memory_bytes", "memory_bandwidth", "network"):
                assert f".{part}.{id}.{name}" in ENTRIES
    assert {f".fabrics.{id}" for id in fabrics()} <= set(ENTRIES)


def test_every_source_is_used_and_has_title_and_address():
    used = {source for entry in ENTRIES.values() for source in entry["source"]}
    notes = " ".join(entry.get("note", "") for entry in ENTRIES.values())
    for id, source in sources().items():
        assert set(source) == {"title", "url", "read"}
        assert source["url"].startswith("https://")
        assert source["read"] in ("full", "excerpt", "quoted")
        assert id in used or id in notes


@pytest.mark.parametrize("id", NETWORKS)
def test_links_times_rate_is_the_total(id):
    network = NETWORKS[id]
    assert network.links * network.rate_per_link == pytest.approx(network.per_direction, rel=1e-9)


@pytest.mark.parametrize("id", NETWORKS)
def test_headline_counts_both_directions(id):
    network = NETWORKS[id]
    # PCIe's headline is taken before its 128b/130b line code.
    line_code = 128 / 130 if network.headline_raw else 1
    assert 2 * network.per_direction == pytest.approx(network.headline * line_code, rel=1e-5)
    assert network.headline_raw == ("PCIe" in network.kind)


@pytest.mark.parametrize("id", NETWORKS)
def test_effective_is_below_the_line_rate_and_says_its_basis(id):
    network = NETWORKS[id]
    assert (network.effective is None) == (network.effective_basis is None)
    if network.effective is not None:
        assert 0.5 * network.per_direction < network.effective < network.per_direction


@pytest.mark.parametrize("place", [p for p, e in ENTRIES.items() if "check" in e])
def test_datasheet_values_follow_from_clocks_and_widths(place):
    entry, check = ENTRIES[place], ENTRIES[place]["check"]
    if "cores" in check:
        expected = check["cores"] * check["fma_per_clock"] * 2 * check["clock"]
    else:
        expected = check["transfers"] * check["bus_bits"] / 8
    assert entry["value"] == pytest.approx(expected, rel=1e-3)


def test_most_values_carry_such_a_check():
    checked = [place for place, entry in ENTRIES.items() if "check" in entry]
    assert len([place for place in checked if place.endswith("peak_flops")]) >= 10


def test_the_record_rounds_by_less_than_a_tenth_of_a_percent():
    rates = {id: f.record_value for id, f in fabrics().items()}
    assert sorted(rates.values()) == [25e9, 31.5e9, 50e9, 63e9, 64e9, 450e9]
    for id, value in rates.items():
        assert value == pytest.approx(fabric(id).per_direction, rel=1e-3)


@pytest.mark.parametrize(
    "id, batch",
    [
        ("nvlink4", 3318),
        ("nvlink4-link", 184),
        ("pcie4-x16", 232),
        ("pcie5-x16", 465),
        ("infinity-fabric-link", 472),
        ("xgmi-link", 369),
    ],
)
def test_the_record_computes_with_these_values(id, batch):
    """The record's crossover batches follow from its rates and the H100's memory bandwidth."""
    rate, memory_bandwidth = fabric(id).record_value, accelerator("h100-sxm").memory_bandwidth
    assert 202_375_168 * rate / (2 * 4096 * memory_bandwidth) == pytest.approx(batch, abs=0.6)


def test_pcie_follows_from_its_transfer_rate():
    assert fabric("pcie4-x16").per_direction == pytest.approx(16e9 * 16 / 8 * 128 / 130, rel=1e-5)
    assert fabric("pcie5-x16").per_direction == pytest.approx(32e9 * 16 / 8 * 128 / 130, rel=1e-5)


def test_a_full_device_is_its_links():
    assert fabric("nvlink4").per_direction == 18 * fabric("nvlink4-link").per_direction
    assert accelerator("h100-sxm").network.per_direction == fabric("nvlink4").per_direction
    mesh = accelerator("mi300x").network
    assert mesh.rate_per_link == fabric("infinity-fabric-link").per_direction


def test_ridge_is_peak_over_bandwidth():
    h100 = accelerator("h100-sxm")
    assert h100.ridge_intensity * h100.memory_bandwidth == pytest.approx(h100.peak_flops)


def test_provenance_lists_what_the_accelerator_returns():
    device = accelerator("a40")
    rows = {row["field"]: row for row in provenance("a40")}
    for name in ("peak_flops", "memory_bytes", "memory_bandwidth"):
        assert rows[name]["value"] == getattr(device, name)
    assert rows["network"]["value"] == device.network.per_direction
    assert rows["network effective"]["basis"] == "assumed"
    assert all(row["sources"] and row["grade"] in "ABC" for row in rows.values())
    assert [row["field"] for row in provenance("xgmi-link")] == ["network"]


@pytest.mark.parametrize("read", [accelerator, fabric, provenance])
def test_an_unknown_id_lists_the_known_ones(read):
    with pytest.raises(ValueError, match="unknown .* 'h300'; known: "):
        read("h300")


def broken(path, change):
    """A copy of the catalogue's A40 with one change."""
    table = deepcopy(TABLE)
    table["accelerators"] = {"a40": table["accelerators"]["a40"]}
    change(table["accelerators"]["a40"])
    path.write_text(yaml.safe_dump(table))
    return path


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    def use(change):
        path = broken(tmp_path / "hardware.yml", change)
        monkeypatch.setattr(hardware, "data_path", lambda name: path)
        hardware._table.cache_clear()

    yield use
    hardware._table.cache_clear()


def put(field, name, value):
    return lambda device: device[field].__setitem__(name, value)


@pytest.mark.parametrize(
    "change, why",
    [
        (put("peak_flops", "value", "1.0e12"), "a40.peak_flops.value: '1.0e12' is text"),
        (put("peak_flops", "value", float("nan")), "peak_flops.value: must be finite and positive"),
        (put("peak_flops", "value", True), "peak_flops.value: must be a number"),
        (put("memory_bandwidth", "value", 0), "memory_bandwidth.value: must be finite and pos"),
        (put("memory_bandwidth", "value", -1.0), "memory_bandwidth.value: .* got -1.0"),
        (put("memory_bytes", "source", []), "a40.memory_bytes: source must be a list"),
        (put("memory_bytes", "source", ["rumour"]), "source 'rumour' is not in the table"),
        (put("memory_bytes", "grade", "D"), "memory_bytes: grade must be one of"),
        (put("network", "topology", "star"), "network: topology must be one of switch"),
        (put("network", "links", "four"), "network.links: 'four' is text"),
        (put("network", "links", 4.5), "network.links: must be whole, got 4.5"),
        (put("network", "effective", 0), "network.effective: must hold value, source and grade"),
        (put("network", "record_value", 0), "network.record_value: must be finite and positive"),
        (put("pcie", "value", 4.5), "pcie.value: must be whole, got 4.5"),
        (put("network", "rate_per_link", None), "network.rate_per_link: must be a number"),
        (lambda device: device["network"].pop("effective"), "field 'effective' is missing"),
        (lambda device: device.pop("memory_bytes"), "a40: field 'memory_bytes' is missing"),
        (lambda device: device["peak_flops"].pop("source"), "field 'source' is missing"),
        (lambda device: device.update(peak_flops=1e12), "must hold value, source and grade"),
    ],
)
def test_a_broken_catalogue_is_refused_with_file_and_field(catalogue, change, why):
    catalogue(change)
    with pytest.raises(ValueError, match=f"hardware.yml: a40.*{why.removeprefix('a40')}"):
        accelerator("a40")


def test_a_missing_data_file_is_named():
    with pytest.raises(ValueError, match="no data/nothing.yml beside the package"):
        data_path("nothing.yml")
