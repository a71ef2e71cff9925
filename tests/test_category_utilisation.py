"""Utilisations by category: exact where they are constant, with the ledger's totals as roofs."""

import numpy as np
import pytest

from tpbook.category_utilisation import fit_utilisation, ideal_times
from tpbook.hardware import accelerator
from tpbook.kernels import kernels
from tpbook.models import model, parameters

LLAMA, A40 = model("llama-2-7b"), accelerator("a40")


def test_decode_reads_every_weight_once():
    times = ideal_times(LLAMA, A40, 1, batch=1, tokens=1, context=512)
    rows = parameters(LLAMA)
    weights = 2 * (rows["layers"] + rows["lm_head"])
    assert times["weight_gemm"] == pytest.approx(weights / A40.memory_bandwidth, rel=0.01)


def test_prefill_is_bound_by_its_operations():
    times = ideal_times(LLAMA, A40, 1, batch=1, tokens=2048, context=0)
    gemms = [k for k in kernels(LLAMA, 1, 1, 2048, 0) if k.category == "weight_gemm"]
    heads = [k for k in gemms if k.name != "lm_head"]  # the head runs on one token
    assert times["weight_gemm"] == pytest.approx(
        sum(k.pass_flops for k in heads) / A40.peak_flops, rel=0.01
    )


def test_two_ranks_take_half_of_the_gemms():
    one, two = (ideal_times(LLAMA, A40, p, 1, 1024, 0)["weight_gemm"] for p in (1, 2))
    assert two == pytest.approx(one / 2, rel=0.02)


def test_parts_run_one_after_another():
    whole = ideal_times(LLAMA, A40, 1, batch=8, tokens=1024, context=0, passes=2)
    part = ideal_times(LLAMA, A40, 1, batch=4, tokens=1024, context=0)
    np.testing.assert_allclose(whole, 2 * part)
    with pytest.raises(ValueError, match="^passes must divide the batch of 8, got 3"):
        ideal_times(LLAMA, A40, 1, batch=8, tokens=1024, context=0, passes=3)


def test_a_constant_utilisation_is_found_without_error():
    ideal = np.array([1.0, 2.0, 5.0])
    fit = fit_utilisation(ideal, ideal / 0.8)
    assert fit.eta == pytest.approx(0.8)
    assert fit.error == pytest.approx(0, abs=1e-12)
    assert fit.interval == pytest.approx((0.8, 0.8))


def test_no_other_constant_has_smaller_squared_errors():
    ideal = np.array([1.0, 2.0, 5.0, 3.0])
    measured = ideal / np.array([0.9, 0.5, 0.7, 0.75])
    fit = fit_utilisation(ideal, measured)

    def loss(eta):
        return np.sum((ideal / eta / measured - 1) ** 2)

    assert all(loss(fit.eta) <= loss(other) + 1e-9 for other in np.linspace(0.3, 1, 141))
    assert fit.lowest == pytest.approx(0.5) and fit.highest == pytest.approx(0.9)
    assert fit.lowest <= fit.interval[0] <= fit.eta <= fit.interval[1] <= fit.highest


@pytest.mark.parametrize(
    ("ideal", "measured", "message"),
    [
        ([1.0, -1.0], [1.0, 1.0], "^ideal must be positive"),
        ([1.0, 1.0], [1.0, np.nan], "^measured must be positive"),
        ([1.0, 1.0], [1.0], "^ideal and measured must match"),
    ],
)
def test_bad_times_are_refused(ideal, measured, message):
    with pytest.raises(ValueError, match=message):
        fit_utilisation(ideal, measured)
