"""Utilisations by category: exact where they are constant, with the ledger's totals as roofs."""

import numpy as np
import pytest

from tpbook.category_utilisation import category_work, fit_startup, fit_utilisation
from tpbook.hardware import accelerator
from tpbook.kernels import kernels
from tpbook.models import model, parameters

LLAMA, A40 = model("llama-2-7b"), accelerator("a40")


def ideal_times(*arguments, **named):
    return category_work(*arguments, **named)["ideal_s"]


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
    assert category_work(LLAMA, A40, 1, 1, 1, 0)["calls"]["weight_gemm"] == 4 * 32 + 1
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


def test_a_utilisation_and_a_startup_are_recovered():
    ideal, calls = np.array([1.0, 2.0, 5.0, 9.0]) * 1e-3, np.array([129, 129, 258, 129])
    fit = fit_startup(ideal, calls, ideal / 0.7 + 4e-6 * calls)
    assert (fit.eta, fit.startup) == pytest.approx((0.7, 4e-6), rel=1e-3)
    assert fit.error < 1e-3
    np.testing.assert_allclose(fit.time(ideal, calls), ideal / 0.7 + 4e-6 * calls, rtol=1e-3)


def test_time_beyond_the_roof_is_start_up_where_the_utilisation_would_exceed_one():
    ideal, calls = np.array([1e-5, 1e-4]), np.array([100, 100])
    fit = fit_startup(ideal, calls, 3e-6 * calls + 0.5 * ideal)  # half of it served by a cache
    assert fit.eta == 1
    assert fit.startup == pytest.approx(3e-6, rel=0.15)


def test_a_startup_never_makes_the_fit_worse_in_squares():
    ideal = np.array([1.0, 2.0, 5.0, 3.0]) * 1e-3
    measured = ideal / np.array([0.6, 0.7, 0.8, 0.75])
    one = fit_utilisation(ideal, measured)
    two = fit_startup(ideal, [64] * 4, measured)
    squares = [np.sum((x / measured - 1) ** 2) for x in (ideal / one.eta, two.time(ideal, 64))]
    assert squares[1] <= squares[0]


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
    with pytest.raises(ValueError, match=message):
        fit_startup(ideal, np.ones(len(ideal)), measured)
