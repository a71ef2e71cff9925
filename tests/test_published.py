"""The published times: contract, physics, sources, and the same bytes from the same upstream."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tpbook import published
from tpbook.hardware import accelerators, published_accelerators
from tpbook.models import model, models, published_models, total_parameters
from tpbook.paths import DATA
from tpbook.sources import (
    distributed_llama,
    fastertransformer,
    gpt_fast,
    llm_inference_bench,
    published_tables,
    splitwise,
)

UPSTREAM = DATA.parent.parent / "shared" / "public-data"
BUILDERS = [llm_inference_bench, fastertransformer, gpt_fast, splitwise, distributed_llama]
DESCRIBED = yaml.safe_load((DATA / "published" / "sources.yml").read_text())
ALL = published.published()
CARDS = accelerators() | published_accelerators()


def test_every_table_has_a_source_with_commit_and_licence():
    listed = {entry["source"]: entry for entry in DESCRIBED["sources"]}
    assert set(listed) == set(published.SOURCES) == set(ALL["source"])
    for entry in listed.values():
        assert len(entry["commit"]) == 40 and entry["licence"] and entry["limits"]


def test_every_column_and_every_flag_is_described():
    assert list(DESCRIBED["columns"]) == [column.name for column in published.COLUMNS]
    assert tuple(DESCRIBED["flags"]) == published.FLAGS
    assert set(ALL["flag"]) == {"", *published.FLAGS}


def test_accelerators_are_in_the_catalogue_or_named_as_outside_it():
    outside = set(ALL["accelerator"]) - set(CARDS)
    said = DESCRIBED["columns"]["accelerator"]
    assert all(card in said for card in outside)


def test_medians_lie_between_their_extremes():
    assert ((ALL["low_s"] <= ALL["time_s"]) & (ALL["time_s"] <= ALL["high_s"])).all()
    single = ALL[ALL["repeats"] == 1]
    assert (single["low_s"] == single["high_s"]).all()


def test_no_usable_row_beats_the_reading_of_its_weights():
    """Each output token reads the weights once, at the fastest rate that any card has."""
    rows = published.usable(ALL)
    rows = rows[rows["model"].isin([*models(), *published_models()])]
    width = rows["dtype"].map({"q40": 4.5 / 8, "int8": 1}).fillna(2)
    steps = np.where(rows["phase"] == "end-to-end", rows["output_tokens"], 1)
    weights = rows["model"].map(lambda id: total_parameters(model(id))) * width
    rate = rows["accelerator"].map({id: card.memory_bandwidth for id, card in CARDS.items()})
    assert (rows["time_s"] > steps * weights / rows["p"] / rate.fillna(8e12)).all()


def test_usable_drops_what_does_not_fit_and_what_is_flagged():
    kept = published.usable(ALL)
    assert set(kept["fits"]) == {"yes", "unknown"} and set(kept["flag"]) == {""}
    assert len(kept) == len(ALL) - ((ALL["fits"] == "no") | (ALL["flag"] != "")).sum()


def test_usable_cells_of_the_small_llama():
    """Four batches, five lengths, two engines and cards; two cells of four A100 do not fit."""
    rows = published.usable(published.published("llm-inference-bench"))
    rows = rows[
        (rows["model"] == "llama-2-7b")
        & (rows["phase"] == "end-to-end")
        & rows["engine"].isin(["vLLM", "TensorRT-LLM"])
        & rows["accelerator"].isin(["a100-40gb-sxm4", "h100-sxm"])
    ]
    assert (rows["p"] == 4).sum() == 2 * 2 * 4 * 5 - 2
    assert (rows["accelerator"] == "h100-sxm").sum() == 112


def test_published_rates_come_back():
    """gpt-fast prints 104.9 tokens/s for Llama-2-7B in bf16 on one card, 328.43 on eight."""
    table = published.published("gpt-fast")
    rows = table[table["model"] == "llama-2-7b"]
    rates = dict(zip(rows["p"], 1 / rows["time_s"]))
    assert rates[1] == pytest.approx(104.9, rel=1e-5)
    assert rates[8] == pytest.approx(328.43, rel=1e-5)


def test_tables_have_every_published_cell():
    """Cells that the sources' documents print, less those that ran out of memory."""
    counts = ALL.groupby(["source", "model"]).size()
    assert counts["fastertransformer", "gpt-20b"] == 5 * 9 * 4 - 6
    assert counts["fastertransformer", "megatron-530b"] == 3 * 9 * 2 - 3
    assert counts["gpt-fast"].sum() == 21 and counts["distributed-llama"].sum() == 22
    # 1260 rows of five repeats or more: three sweeps share the cell 512/128 at batch one.
    split = published.published("splitwise")
    assert split.groupby("phase")["repeats"].sum().to_list() == [1260, 1260]


def test_batches_of_a_power_capped_card_are_no_measurements():
    split = published.published("splitwise").set_index(list(published.SETTING[1:]) + ["p"])
    capped = split.xs("h100-sxm-power-cap", level="accelerator")["time_s"]
    ratio = capped / split.xs("h100-sxm", level="accelerator")["time_s"].reindex(capped.index)
    assert np.allclose(ratio.xs("prefill", level="phase"), 1.3, rtol=1e-5)
    assert np.allclose(ratio.xs("decode", level="phase"), 1.0, rtol=1e-5)


def test_every_selected_setting_has_three_degrees():
    found = published.settings(published.speedups())
    assert sum(len(times) for _, times in found) == len(published.speedups())
    assert all(len(times) >= 3 and times.index.is_monotonic_increasing for _, times in found)
    assert len({setting["source"] for setting, _ in found}) == 4


def test_spreads_are_of_cells_measured_more_than_once():
    spreads = published.duplicate_spreads()
    assert len(spreads) == 57
    assert (spreads > 0).all() and (spreads[1:] >= spreads[:-1]).all()


def test_two_rows_for_one_cell_are_refused(tmp_path, monkeypatch):
    lines = (DATA / "published" / "gpt-fast.csv").read_text().splitlines()
    (tmp_path / "gpt-fast.csv").write_text("\n".join([*lines[:3], lines[2]]))
    monkeypatch.setattr("tpbook.published.data_path", lambda _, name: tmp_path / name)
    with pytest.raises(ValueError, match="gpt-fast.csv line 4, column source: a second row for"):
        published.published("gpt-fast")


@pytest.mark.parametrize(
    "column, text", [("flag", "odd"), ("fits", "perhaps"), ("time_s", "-1"), ("p", "1.5")]
)
def test_a_broken_cell_is_named(tmp_path, monkeypatch, column, text):
    table = pd.read_csv(DATA / "published" / "gpt-fast.csv", dtype=str, keep_default_na=False)
    table.loc[3, column] = text
    table.to_csv(tmp_path / "gpt-fast.csv", index=False)
    monkeypatch.setattr("tpbook.published.data_path", lambda _, name: tmp_path / name)
    with pytest.raises(ValueError, match=f"gpt-fast.csv line 5, column {column}"):
        published.published("gpt-fast")


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="unknown source 'mlperf'; known: gpt-fast"):
        published.published("mlperf")


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="no upstream files beside the repository")
@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.SOURCE)
def test_rebuilding_gives_the_same_bytes(tmp_path: Path, builder):
    builder.build(UPSTREAM, tmp_path)
    name = f"{builder.SOURCE}.csv"
    assert (tmp_path / "published" / name).read_bytes() == (DATA / "published" / name).read_bytes()


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.SOURCE)
def test_a_checkout_without_the_tables_is_refused(tmp_path, builder):
    with pytest.raises(ValueError, match="no file with blob id"):
        builder.build(tmp_path, tmp_path)
    assert not (tmp_path / "published").exists()


def cells(rows):
    """Cells of Llama-2-7B in vLLM on one H100: (batch, tokens, time in s) each."""
    setting = {"model": "llama-2-7b", "accelerator": "h100-sxm", "engine": "vLLM", "p": 1}
    names = ("batch", "tokens", "time")
    return pd.DataFrame([setting | dict(zip(names, row)) for row in rows])


@pytest.mark.parametrize(
    "rows, expected",
    [
        # 1024 readings of 13.5 GB at 3.35 TB/s take 4.1 s.
        ([(1, 1024, 4.0)], [published.TOO_FAST]),
        ([(1, 1024, 4.2), (16, 1024, 4.3)], ["", ""]),
        ([(1, 1024, 4.6), (16, 1024, 4.3)], [published.SLOWER_THAN_LARGER, ""]),
        ([(1, 512, 20.0), (1, 1024, 9.9)], ["", published.SHORTER_THAN_HALF]),
        ([(1, 512, 10.0), (1, 1024, 14.9)], [published.FIXED_TIME, ""]),
        ([(1, 512, 10.0), (1, 1024, 15.1)], ["", ""]),
    ],
)
def test_times_in_the_wrong_order_are_flagged(rows, expected):
    assert llm_inference_bench.flags(cells(rows)).to_list() == expected


def test_llama_cpp_is_usable_on_one_device_with_one_sequence():
    table = cells([(1, 128, 9.0), (16, 128, 9.0)]).assign(engine="llama.cpp")
    assert llm_inference_bench.flags(table).to_list() == ["", published.PROMPT_CHUNK]
    assert llm_inference_bench.flags(table.assign(p=2))[0] == published.LAYER_SPLIT


def test_fits_is_unknown_where_model_or_memory_is():
    seven = ("llama-2-7b", 1, 1, 128)
    assert published_tables.fits(*seven, (16e9, 16e9)) == "yes"
    assert published_tables.fits(*seven, (14e9, 14e9)) == "no"
    assert published_tables.fits(*seven, (14e9, 16e9)) == "unknown"
    assert published_tables.fits(*seven, None) == "unknown"
    assert published_tables.fits("gpt-j-6b", 1, 1, 128, (80e9, 80e9)) == "unknown"
