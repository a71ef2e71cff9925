"""The published times: contract, sources, and the same bytes from the same upstream files."""

from pathlib import Path

import pytest
import yaml

from tpbook import published
from tpbook.hardware import accelerators
from tpbook.paths import DATA
from tpbook.sources import speedups as builder

UPSTREAM = DATA.parent.parent / "shared" / "public-data"


def test_every_row_names_a_listed_source():
    listed = yaml.safe_load((DATA / "published" / "sources.yml").read_text())["sources"]
    known = {(entry["repository"], entry["commit"], entry["licence"]) for entry in listed}
    rows = published.speedups()[["source", "commit", "licence"]].drop_duplicates()
    assert set(rows.itertuples(index=False, name=None)) == known


def test_accelerators_are_in_the_catalogue():
    assert set(published.speedups()["accelerator"]) <= set(accelerators())


def test_medians_lie_between_their_extremes():
    table = published.speedups()
    assert ((table["low_s"] <= table["time_s"]) & (table["time_s"] <= table["high_s"])).all()
    single = table[table["repeats"] == 1]
    assert (single["low_s"] == single["high_s"]).all()


def test_published_rates_come_back():
    """gpt-fast prints 104.9 tokens/s for Llama-2-7B in bf16 on one card, 328.43 on eight."""
    table = published.speedups()
    rows = table[(table["source"] == "pytorch-labs/gpt-fast") & (table["model"] == "llama-2-7b")]
    rates = dict(zip(rows["p"], 1 / rows["time_s"]))
    assert rates[1] == pytest.approx(104.9, rel=1e-5)
    assert rates[8] == pytest.approx(328.43, rel=1e-5)


def test_every_setting_has_three_degrees():
    found = published.settings(published.speedups())
    assert sum(len(times) for _, times in found) == len(published.speedups())
    assert all(len(times) >= 3 and times.index.is_monotonic_increasing for _, times in found)


def test_two_rows_for_one_cell_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "published"
    folder.mkdir()
    lines = (DATA / "published" / "speedups.csv").read_text().splitlines()
    (folder / "speedups.csv").write_text("\n".join([*lines[:3], lines[2]]))
    monkeypatch.setattr("tpbook.published.data_path", lambda *parts: tmp_path.joinpath(*parts))
    with pytest.raises(ValueError, match="two rows for pytorch-labs/gpt-fast"):
        published.speedups()


def test_spreads_are_of_cells_measured_more_than_once():
    spreads = published.duplicate_spreads()
    assert (spreads > 0).all() and (spreads[1:] >= spreads[:-1]).all()


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="no upstream files beside the repository")
@pytest.mark.parametrize("name", ["speedups.csv", "duplicates.csv"])
def test_rebuilding_gives_the_same_bytes(tmp_path: Path, name):
    builder.build(UPSTREAM, tmp_path)
    rebuilt = (tmp_path / "published" / name).read_bytes()
    assert rebuilt == (DATA / "published" / name).read_bytes()


def test_a_checkout_without_the_tables_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no file with blob id"):
        builder.build(tmp_path, tmp_path)
