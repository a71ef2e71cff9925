"""The accuracy figures: published totals, no leak from held-out cells, brute-force Amdahl."""

import json

import numpy as np
import pytest

from tpbook import accuracy, accuracy_sets
from tpbook.accuracy_laws import accuracy_allreduce, mean_interval
from tpbook.accuracy_sets import (
    BENCH,
    MAIN_MODEL,
    PAIRS,
    judge,
    select,
    setting,
    transfer_sets,
)
from tpbook.predict import CARRIED
from tpbook.published import FLAGS, published
from tpbook.serving_amounts import amounts, times
from tpbook.serving_fit import fit
from tpbook.serving_transfer import carried, clock_ratio


@pytest.fixture(scope="module")
def figures():
    return accuracy.accuracy()


def test_every_test_has_its_figure_and_its_verdict(figures):
    assert list(figures) == list(accuracy.TESTS)
    for id, found in figures.items():
        assert found["n"] > 0 and isinstance(found["met"], bool), id
        assert {"bias", "bar", "met", "sets"} <= set(found)
        assert {"mape", "median", "coverage"} & set(found)
        assert isinstance(found["bias"], float), id
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_all_usable_cells_are_judged(figures):
    assert figures["llmib-p4"]["n"] == 78
    assert figures["llmib-peer-cells"]["n"] == 12
    assert figures["cross-hardware"]["n"] == 112
    assert figures["interval-coverage"]["n"] == 78


def test_verdicts_follow_from_the_figures(figures):
    main = figures["llmib-p4"]
    assert main["met"] == (main["mape"] <= 0.045 and abs(main["bias"]) <= 0.02)
    families = figures["transfer-sets"]["families"]
    assert figures["transfer-sets"]["met"] == all(f["mape"] < f["amdahl"] for f in families)
    low, high = figures["interval-coverage"]["bar"]
    assert figures["interval-coverage"]["met"] == (
        low <= figures["interval-coverage"]["coverage"] <= high
    )
    for id in ("llmib-p4", "llmib-peer-cells", "cross-hardware"):
        assert {each["bar"] for each in figures[id]["sets"]} == {figures[id]["bar"]}
    assert figures["llmib-p4"]["low"] < main["mape"] < figures["llmib-p4"]["high"]
    for id in ("kernel-law", "allreduce"):
        sets = figures[id]["sets"]
        assert figures[id]["median"] == max(each["median"] for each in sets)
        assert figures[id]["met"] == all(each["median"] <= figures[id]["bar"] for each in sets)


def test_every_all_reduce_table_is_counted_once(figures):
    found = figures["allreduce"]
    everything = accuracy_allreduce()
    assert len(found["sets"]) + len(found["elsewhere"]) == len(everything)
    assert found["sets_met"] + found["elsewhere_met"] == everything["met"].sum()


def test_interval_of_a_mean_in_closed_form():
    size, cluster = np.array([1.0, 3.0, 2.0, 2.0]), np.array([0, 0, 1, 1])
    assert mean_interval(size, cluster) == (2, 2)  # every cluster has the same mean
    assert mean_interval(np.array([1.0, 1.0, 4.0]), np.array([0, 0, 1])) == (1, 4)
    many = np.random.default_rng(0).exponential(size=900)
    low, high = mean_interval(many, np.arange(900))
    assert high - low == pytest.approx(2 * 1.96 * many.std() / 30, rel=0.15)


def test_the_form_is_more_accurate_than_amdahl_s_law_on_the_main_cells():
    for card, engine in PAIRS:
        rows = judge(BENCH, MAIN_MODEL, card, engine).held_out.dropna(subset="amdahl_s")
        form, amdahl = (
            (rows[c] / rows["time_s"] - 1).abs().mean() for c in ("predicted_s", "amdahl_s")
        )
        assert form < amdahl


def test_held_out_times_change_no_parameter(monkeypatch):
    card, engine = PAIRS[3]
    honest = judge(BENCH, MAIN_MODEL, card, engine)

    def spoilt(*selection):
        table = select(*selection)
        table.loc[table["p"] > 2, "time_s"] *= 7
        return table

    monkeypatch.setattr(accuracy_sets, "select", spoilt)
    again = judge.__wrapped__(BENCH, MAIN_MODEL, card, engine)
    assert again.parameters == honest.parameters and again.noise == honest.noise
    np.testing.assert_array_equal(again.rows["predicted_s"], honest.rows["predicted_s"])


def test_amdahl_by_brute_force():
    rows = judge(BENCH, MAIN_MODEL, *PAIRS[0]).held_out
    row = rows.iloc[3]
    cell = (rows["batch"] == row["batch"]) & (rows["prompt_tokens"] == row["prompt_tokens"])
    assert cell.sum() == 1
    known = select(BENCH, MAIN_MODEL, *PAIRS[0])
    known = known[
        (known["batch"] == row["batch"]) & (known["prompt_tokens"] == row["prompt_tokens"])
    ]
    one, two = (known.query("p == @p")["time_s"].item() for p in (1, 2))
    serial = 2 * two - one
    assert row["amdahl_s"] == pytest.approx(serial + (one - serial) / 4)


def test_broken_rows_and_rows_without_room_are_never_judged():
    judged, refused = transfer_sets()
    for each in judged:
        assert (each.rows["flag"] == "").all() and (each.rows["fits"] == "yes").all()
        assert set(each.rows["p"][~each.rows["held_out"]]) == set(each.fit_on)
    flagged = published(BENCH)["flag"]
    assert set(flagged) - {""} <= set(FLAGS)
    assert all("\n" not in reason for reason in refused)


def test_a_set_without_a_third_degree_is_refused():
    with pytest.raises(ValueError, match="leave none to predict"):
        judge(BENCH, "llama-3-8b", "a100-40gb-sxm4", "vLLM")


def test_seconds_of_the_host_do_not_change_with_the_card():
    found = judge(BENCH, MAIN_MODEL, *PAIRS[0]).parameters
    moved = carried(found, "a100-40gb-sxm4", "h100-sxm")
    assert clock_ratio("a100-40gb-sxm4", "h100-sxm") == pytest.approx(1.83 / 1.41)
    assert clock_ratio("a100-40gb-sxm4", "mi250") == pytest.approx(1.7 / 1.41)
    assert clock_ratio("a100-40gb-sxm4", "gaudi2") == 1  # no source prints its clock
    assert moved.per_step == found.per_step and moved.eta_weights == found.eta_weights
    assert moved.alpha == pytest.approx(found.alpha * 1.41 / 1.83)
    assert carried(found, "h100-sxm", "h100-sxm") == found
    with pytest.raises(ValueError, match="unknown accelerator 'abacus'"):
        carried(found, "h100-sxm", "abacus")


def test_the_width_of_a_carried_prediction_is_what_was_found():
    error = []
    for engine in ("TensorRT-LLM", "vLLM"):
        source = judge(BENCH, MAIN_MODEL, "a100-40gb-sxm4", engine).parameters
        table = select(BENCH, MAIN_MODEL, "h100-sxm", engine)
        known = amounts(table, *setting(BENCH, MAIN_MODEL, "h100-sxm"))
        seconds = times(known, carried(source, "a100-40gb-sxm4", "h100-sxm"))
        error.append(seconds / table["time_s"].to_numpy() - 1)
    assert np.quantile(np.abs(np.concatenate(error)), 0.9) == pytest.approx(CARRIED, abs=0.01)


def test_more_rows_of_the_same_times_change_nothing():
    table = select(BENCH, MAIN_MODEL, *PAIRS[2]).query("p <= 2")
    known = amounts(table, *setting(BENCH, MAIN_MODEL, PAIRS[2][0]))
    order = np.random.default_rng(0).permutation(len(table))
    time = table["time_s"].to_numpy()
    shuffled = fit(known[order], time[order])
    for name, value in vars(fit(known, time)).items():
        assert getattr(shuffled, name) == pytest.approx(value, rel=2e-3, abs=1e-9)
