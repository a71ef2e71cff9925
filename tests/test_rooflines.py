"""Rooflines: limits, orderings and the duality with the communication roofline."""

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import collectives, rooflines
from tpbook.notation import symbols

work = st.floats(1e3, 1e15)
rates = st.floats(1e9, 1e15)


@given(work, work, rates, rates)
def test_smooth_lies_under_hard_and_within_a_factor_of_two(flops, traffic, peak, bandwidth):
    intensity = rooflines.arithmetic_intensity(flops, traffic)
    hard = rooflines.roofline(intensity, peak, bandwidth)
    smooth = rooflines.smooth_roofline(intensity, peak, bandwidth)
    assert hard / 2 * (1 - 1e-12) <= smooth <= hard


@given(work, work, rates, rates)
def test_time_and_rate_are_one_law(flops, traffic, peak, bandwidth):
    intensity = flops / traffic
    assert rooflines.ideal_time(flops, traffic, peak, bandwidth) == pytest.approx(
        flops / rooflines.roofline(intensity, peak, bandwidth)
    )
    assert rooflines.smooth_kernel_time(flops, traffic, peak, bandwidth, 0) == pytest.approx(
        flops / rooflines.smooth_roofline(intensity, peak, bandwidth)
    )


@given(rates, rates)
def test_the_roofs_meet_at_the_ridge(peak, bandwidth):
    ridge = rooflines.ridge_intensity(peak, bandwidth)
    assert rooflines.roofline(ridge, peak, bandwidth) == pytest.approx(peak)
    assert rooflines.smooth_roofline(ridge, peak, bandwidth) == pytest.approx(peak / 2)
    # A two-byte decode GEMM has intensity B, so its ridge batch is the ridge itself.
    assert rooflines.ridge_batch(peak, bandwidth, 2) == pytest.approx(ridge)


@given(work, work, rates, rates)
def test_the_norm_law_ends_in_the_two_roofs(flops, traffic, peak, bandwidth):
    smooth = rooflines.norm_kernel_time(flops, traffic, peak, bandwidth, 0, 1)
    assert smooth == pytest.approx(rooflines.smooth_kernel_time(flops, traffic, peak, bandwidth, 0))
    between = rooflines.norm_kernel_time(flops, traffic, peak, bandwidth, 0, 2)
    hard = rooflines.ideal_time(flops, traffic, peak, bandwidth)
    assert hard * (1 - 1e-12) <= between <= smooth * (1 + 1e-12)


def test_the_norm_law_survives_large_exponents():
    norm = rooflines.norm_kernel_time(1e6, 1e3, 1e12, 1e9, 1e-6, 500.0)
    assert norm == pytest.approx(1e-6 + 2 ** (1 / 500) * 1e-6)
    assert rooflines.norm_kernel_time(0.0, 0.0, 1e12, 1e9, 1e-6, 2.0) == 1e-6


def test_a_memory_bound_kernel_is_a_message():
    """t0 + Q/beta_m is Hockney's law with t0 for alpha and beta_m for beta."""
    traffic, startup, rate = symbols("traffic startup memory_bandwidth")
    flops, peak = symbols("flops peak")
    kernel = rooflines.smooth_kernel_time(flops, traffic, peak, rate, startup)
    assert (
        sympy.simplify(
            sympy.limit(kernel, peak, sympy.oo) - collectives.hockney_time(traffic, startup, rate)
        )
        == 0
    )
    assert rooflines.half_traffic(startup, rate) == collectives.half_bandwidth_message(
        startup, rate
    )


def test_utilisation_undoes_the_hard_kernel():
    time = rooflines.hard_kernel_time(1e12, 1e9, 1e14, 1e12, 0.6)
    ideal = rooflines.ideal_time(1e12, 1e9, 1e14, 1e12)
    assert rooflines.utilisation(ideal, time) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: rooflines.roofline(1, 0, 1), "peak"),
        (lambda: rooflines.roofline(1, 1, -1), "memory_bandwidth"),
        (lambda: rooflines.arithmetic_intensity(1, 0), "traffic"),
        (lambda: rooflines.hard_kernel_time(1, 1, 1, 1, 0), "eta"),
        (lambda: rooflines.norm_kernel_time(1, 1, 1, 1, 0, 0.5), "exponent"),
        (lambda: rooflines.smooth_kernel_time(1, 1, 1, 1, -1), "startup"),
    ],
)
def test_bad_input_names_its_field(call, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        call()
