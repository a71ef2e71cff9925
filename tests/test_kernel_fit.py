"""Kernel laws: known parameters come back, work equals the ledger, the judged laws are distinct."""

import numpy as np
import pandas as pd
import pytest

from tpbook.hardware import accelerator
from tpbook.kernel_fit import LAWS, fit_kernel_law, gemm_work, predict
from tpbook.models import model

CARD = "a40"
CONSTANT, SMOOTH, HARD_START, SMOOTH_START, NORM_START = LAWS
TRUTH = {
    "eta": 0.7,
    "eta_compute": 0.8,
    "eta_memory": 0.9,
    "startup": 4e-6,
    "exponent": 1.6,
}


@pytest.fixture(scope="module")
def work():
    return gemm_work("llama-2-7b")


def synthetic(work: pd.DataFrame, law) -> tuple[pd.DataFrame, dict]:
    truth = {name: TRUTH[name] for name in law.parameters}
    rows = work[(work["accelerator"] == CARD) & (work["tokens"] % 2 == 0)]
    return rows.assign(time_s=predict(law, CARD, truth, rows["flops"], rows["traffic"])), truth


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_exact_times_give_back_the_parameters(work, law):
    rows, truth = synthetic(work, law)
    fit = fit_kernel_law(law, rows, CARD)
    assert fit.parameters == pytest.approx(truth, rel=1e-2)
    assert fit.fitted.worst < 1e-2
    assert max(errors.worst for errors in fit.predicted.values()) < 1e-2
    assert sorted(fit.predicted) == [4, 8]


def test_noise_of_one_percent_leaves_the_parameters_within_their_intervals(work):
    law = SMOOTH_START
    rows, truth = synthetic(work, law)
    noise = 1 + 0.01 * np.random.default_rng(1).standard_normal(len(rows))
    fit = fit_kernel_law(law, rows.assign(time_s=rows["time_s"] * noise), CARD)
    for name, (low, high) in fit.intervals.items():
        # Eight series make a narrow bootstrap: allow half a width on each side.
        slack = (high - low) / 2
        assert low - slack <= truth[name] <= high + slack


def test_a_law_without_start_up_cannot_follow_times_that_have_one(work):
    rows, _ = synthetic(work, SMOOTH_START)
    with_start = fit_kernel_law(SMOOTH_START, rows, CARD)
    for law in (CONSTANT, SMOOTH):
        without = fit_kernel_law(law, rows, CARD)
        assert without.predicted[8].mean > 10 * with_start.predicted[8].mean
        assert without.predicted[8].bias < -0.05


def test_a_hard_roof_cannot_follow_times_that_add(work):
    rows, _ = synthetic(work, SMOOTH_START)
    hard, smooth = (fit_kernel_law(law, rows, CARD) for law in (HARD_START, SMOOTH_START))
    assert hard.predicted[8].mean > 10 * smooth.predicted[8].mean
    assert hard.parameters["startup"] > smooth.parameters["startup"]


def test_the_norm_holds_the_smooth_and_the_hard_roof_as_its_ends(work):
    rows = work[work["accelerator"] == CARD]
    shared = {"eta_compute": 0.8, "eta_memory": 0.9, "startup": 4e-6}
    amounts = rows["flops"].to_numpy(), rows["traffic"].to_numpy()
    hard, smooth, norm = HARD_START, SMOOTH_START, NORM_START
    one = predict(norm, CARD, shared | {"exponent": 1}, *amounts)
    many = predict(norm, CARD, shared | {"exponent": 40}, *amounts)
    assert one == pytest.approx(predict(smooth, CARD, shared, *amounts), rel=1e-12)
    assert many == pytest.approx(predict(hard, CARD, shared, *amounts), rel=2 ** (1 / 40) - 1)


def test_the_work_of_all_shards_is_the_work_of_the_whole(work):
    geometry = model("llama-2-7b")
    rows = work[(work["accelerator"] == CARD) & (work["tokens"] == 64)]
    d, f = geometry.hidden, geometry.intermediate
    whole = {"qkv": 3 * d * d, "attention_out": d * d, "mlp_up": 2 * d * f, "mlp_down": d * f}
    for row in rows.itertuples():
        assert row.flops * row.p == pytest.approx(2 * 64 * whole[row.kernel], rel=1e-12)
        assert row.traffic * row.p >= 2 * whole[row.kernel]


def test_the_datasheet_roofs_bound_every_measured_gemm(work):
    for card, rows in work.groupby("accelerator"):
        spec = accelerator(card)
        # 1 us of resolution on either side of the shortest repeat.
        slowest_low = rows["low_s"] + 1e-6
        assert (rows["flops"] / slowest_low <= spec.peak_flops).all()
        assert (rows["traffic"] / slowest_low <= spec.memory_bandwidth).all()


def test_a_table_without_degrees_to_predict_is_refused(work):
    with pytest.raises(ValueError, match="fit_on must leave degrees"):
        fit_kernel_law(CONSTANT, work[work["p"] <= 2], CARD)
    with pytest.raises(ValueError, match="fit_on must leave degrees"):
        fit_kernel_law(CONSTANT, work, "rtx-4090")
