"""Laws of the serving terms: limits, and what one rank and two cannot tell apart."""

import numpy as np
import pytest
import sympy

from tpbook.notation import symbols
from tpbook.serving_terms import (
    cache_step_time,
    decode_gemm_time,
    decode_step_time,
    pass_communication_time,
    prefill_pass_time,
    rank_growth,
    step_overhead_time,
)


def test_growth_is_ring_traffic_in_messages():
    from tpbook.collectives import ring_traffic

    p = np.array([1, 2, 4, 8])
    np.testing.assert_allclose(rank_growth(p), ring_traffic(p, 1.0))
    assert rank_growth(1) == 0 and rank_growth(2) == 1


def test_latency_constant_and_weights_cannot_be_told_apart_at_any_degree():
    p, per_step, alpha, collectives, beta = symbols("p per_step alpha collectives beta")
    weights, moved = sympy.symbols("w delta", positive=True)

    def step(weights, per_step, alpha):
        return weights / p + per_step + pass_communication_time(p, collectives, 0, alpha, beta)

    same = step(weights + moved, per_step - moved, alpha + moved / (2 * collectives))
    assert sympy.simplify(same - step(weights, per_step, alpha)) == 0


def test_another_law_of_growth_tells_them_apart_beyond_two_ranks():
    p, moved = sympy.Symbol("p", positive=True), sympy.Symbol("delta", positive=True)
    change = moved / p - moved + moved / 2 * sympy.log(p, 2)  # a latency that grows as log2 p
    assert change.subs(p, 2).equals(0) and not change.subs(p, 4).equals(0)


def test_gemms_lie_between_the_longer_part_and_the_sum():
    rates = dict(peak=3e14, memory_bandwidth=1.5e12, eta_weights=0.9, eta_compute=0.6)
    memory = decode_gemm_time(1, 1e-9, 1.3e10, 1.3e10, **rates)
    for batch in (1, 16, 64, 256, 4096):
        compute = batch * 1.3e10 / (rates["peak"] * rates["eta_compute"])
        whole = decode_gemm_time(1, batch, 1.3e10, 1.3e10, **rates)
        assert max(memory, compute) <= whole <= memory + compute
        assert decode_gemm_time(4, batch, 1.3e10, 1.3e10, **rates) == pytest.approx(whole / 4)


def test_no_degree_shortens_the_walk_of_one_sequence():
    long_walk = dict(memory_bandwidth=1.5e12, eta_cache=0.8, layers=32, walk=1e-6)
    alone = cache_step_time(1, 1000, 5e5, **long_walk)
    shared = cache_step_time(1, 1000, 5e5 / 8, **long_walk)
    assert shared == pytest.approx(alone, rel=1e-4)
    no_walk = {**long_walk, "walk": 0.0}
    assert cache_step_time(1, 1000, 5e5 / 8, **no_walk) == pytest.approx(
        cache_step_time(1, 1000, 5e5, **no_walk) / 8
    )


def test_overhead_counts_sequences_and_ranks():
    times = dict(per_step=1.0, several=0.1, per_sequence=0.01, gather=0.002)
    assert step_overhead_time(1, 1, **times) == pytest.approx(1.01)
    assert step_overhead_time(1, 2, **times) == pytest.approx(1.12)
    assert step_overhead_time(4, 2, **times) == pytest.approx(1.12 + 2 * 1.5 * 0.002)


def test_one_rank_pays_no_communication():
    assert pass_communication_time(1, 64, 1e6, 1e-5, 1e11) == 0


def test_a_step_is_the_sum_of_its_parts():
    assert decode_step_time(1.0, 2.0, 3.0, 4.0) == 10.0


def test_prefill_work_is_shared_and_overhead_is_not():
    sizes = dict(flops=1e14, peak=3e14, eta_prefill=0.5, weight_bytes=1.3e10)
    sizes |= dict(memory_bandwidth=1.5e12, eta_weights=0.9, communication_time=0.0)
    alone, four = (prefill_pass_time(p, overhead_time=0.1, **sizes) for p in (1, 4))
    assert four - 0.1 == pytest.approx((alone - 0.1) / 4)


@pytest.mark.parametrize("bad", [{"p": 0.5}, {"batch": 0}, {"eta_weights": -1.0}])
def test_bad_arguments_are_refused_by_name(bad):
    good = dict(p=2, batch=1, weight_bytes=1e10, token_flops=1e10, peak=1e14)
    good |= dict(memory_bandwidth=1e12, eta_weights=0.9, eta_compute=0.5)
    with pytest.raises(ValueError, match=next(iter(bad))):
        decode_gemm_time(**good | bad)


def test_a_batch_below_one_is_refused():
    with pytest.raises(ValueError, match="batch must be at least 1"):
        step_overhead_time(1, 0.5, 1.0, 1.0, 1.0, 1.0)
