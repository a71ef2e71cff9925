"""Step tables: categories add up, the trusted rank is the one that waits least, and serving
times are measured where they were and composed elsewhere."""

from dataclasses import replace

import pandas as pd
import pytest

from tpbook.serving_metrics import throughput
from tpbook.steps import (
    configurations,
    contexts,
    estimated_times,
    phase_times,
    serving_table,
    step_time,
)
from tpbook.systems import chosen_system, load_system, systems

COLUMNS = ["p", "batch", "context", "phase", "rank", "category", "time_s", "estimated_s"]


@pytest.fixture
def bridge():
    return load_system("quad-a40-bridge")


def made(system, *rows):
    return replace(system, steps=pd.DataFrame(rows, columns=COLUMNS))


@pytest.mark.parametrize("id", systems())
def test_a_step_is_the_sum_of_its_rows(id):
    system = load_system(id)
    for phase in ("prefill", "decode"):
        for context in contexts(system, phase):
            for p, batch in configurations(system):
                rows = system.steps.query(
                    "p == @p and batch == @batch and phase == @phase and context == @context"
                )
                total = step_time(system, p, batch, phase, context)
                assert total == pytest.approx(rows["time_s"].sum(), rel=1e-12)


@pytest.mark.parametrize("id", systems())
def test_every_composed_system_holds_the_nine_configurations(id):
    system = load_system(id)
    degrees = [p for p in (1, 2, 4, 8) if p <= system.device_count]
    assert configurations(system) == [(p, batch) for p in degrees for batch in (1, 8, 32)]
    assert contexts(system, "decode") == [512] and contexts(system, "prefill") == [512, 1024]
    assert contexts(system, "mixed") == []


@pytest.mark.parametrize("id", systems())
def test_one_rank_does_not_communicate_and_estimates_are_parts(id):
    system = load_system(id)
    for phase in ("prefill", "decode"):
        times, estimated = phase_times(system, phase), estimated_times(system, phase)
        assert times.loc[1, "communication"].isna().all()
        assert (times.loc[2:, "communication"] > 0).all()
        assert (estimated.fillna(0) <= times.fillna(0)).all(axis=None)
        assert (estimated["weight_gemm"] > 0).all()  # the head


@pytest.mark.parametrize("id", systems())
def test_more_sequences_and_longer_prompts_never_take_less_time(id):
    system = load_system(id)
    for phase in ("prefill", "decode"):
        total = phase_times(system, phase).sum(axis=1).unstack("batch")
        assert (total.diff(axis=1).iloc[:, 1:] > 0).all(axis=None)
    long, short = (phase_times(system, "prefill", c).sum(axis=1) for c in (1024, 512))
    assert (long > short).all() and (long < 2.2 * short).all()


def test_the_rank_that_communicates_least_is_read(bridge):
    rows = [
        (2, 1, 512, "decode", rank, category, time, 0)
        for rank, gemm, wait in ((0, 1.0, 5.0), (1, 1.5, 4.0), (2, 1.7, 4.0))
        for category, time in (("weight_gemm", gemm), ("communication", wait))
    ]
    table = phase_times(made(bridge, *rows), "decode")
    assert table.to_dict("records") == [{"weight_gemm": 1.5, "communication": 4.0}]


def test_a_rank_without_a_communication_row_communicates_least(bridge):
    rows = [
        (1, 4, 512, "decode", 1, "weight_gemm", 2.0, 0),
        (1, 4, 512, "decode", 0, "weight_gemm", 3.0, 0),
        (1, 4, 512, "decode", 0, "kv_copy", 0.5, 0),
    ]
    # A tie goes to the lowest rank; kv_copy stands between attention and the rest.
    table = phase_times(made(bridge, *rows), "decode")
    assert table.to_dict("records") == [{"weight_gemm": 3.0, "kv_copy": 0.5}]


def test_composed_serving_is_prefill_and_decode_steps(bridge):
    table = serving_table(bridge, 512, 128).set_index(["p", "batch"])
    assert set(table["basis"]) == {"composed"} and len(table) == 9
    row = table.loc[(4, 8)]
    first, step = (step_time(bridge, 4, 8, phase, 512) for phase in ("prefill", "decode"))
    assert row["ttft_s"] == first and row["tpot_s"] == step
    assert row["latency_s"] == pytest.approx(first + 127 * step)
    assert row["tokens_per_s"] == pytest.approx(throughput(8, 128, row["latency_s"]))


def test_a_decode_step_between_two_contexts_is_interpolated(bridge):
    rows = [(1, 1, 512, "prefill", 0, "weight_gemm", 1.0, 0)]
    rows += [(1, 1, c, "decode", 0, "attention", t, 0) for c, t in ((500, 1.0), (700, 3.0))]
    system = made(bridge, *rows)
    assert serving_table(system, 512, 176)["tpot_s"].tolist() == [pytest.approx(2.0)]
    assert serving_table(system, 512, 1024)["tpot_s"].tolist() == [3.0]


def test_measured_serving_rows_come_before_composed_ones(bridge):
    names = ["p", "batch", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "latency_s"]
    serving = pd.DataFrame([(2, 8, 512, 128, 0.5, 0.02, 3.2), (2, 8, 64, 64, 0.1, 0.1, 1)])
    system = replace(bridge, serving=serving.set_axis(names, axis=1))
    table = serving_table(system, 512, 128).set_index(["p", "batch"])
    assert table["basis"].value_counts().to_dict() == {"composed": 8, "measured": 1}
    assert table.loc[(2, 8), "tokens_per_s"] == pytest.approx(8 * 128 / 3.2)
    assert serving_table(replace(system, steps=None), 64, 64)["basis"].tolist() == ["measured"]


def test_what_a_system_lacks_is_refused_by_name(bridge):
    with pytest.raises(ValueError, match=r"no decode steps at context 999; known: \[512\]"):
        phase_times(bridge, "decode", 999)
    with pytest.raises(ValueError, match="has no mixed steps: add them to its steps.csv"):
        phase_times(bridge, "mixed")
    with pytest.raises(ValueError, match=r"\(p, batch\) = \(8, 1\); it has \(1, 1\), "):
        step_time(bridge, 8, 1, "decode")
    with pytest.raises(ValueError, match=r"no times of prompts of 7 tokens; .* \[512, 1024\]"):
        serving_table(bridge, 7, 7)
    bare = replace(bridge, steps=None)
    assert configurations(bare) == [] and contexts(bare, "decode") == []


def test_the_environment_chooses_the_system(monkeypatch, tmp_path):
    monkeypatch.delenv("TPBOOK_SYSTEM", raising=False)
    assert chosen_system().id == "quad-a40-hoststaged"
    monkeypatch.setenv("TPBOOK_SYSTEM", "octo-h100-sxm")
    assert chosen_system().id == "octo-h100-sxm"
    monkeypatch.setenv("TPBOOK_SYSTEM", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="no system or folder"):
        chosen_system()
