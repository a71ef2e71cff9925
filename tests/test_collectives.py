"""Collectives against brute force, limits and each other."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import collectives as c
from tpbook.notation import symbols
from tpbook.ring import run_ring_allreduce

sizes = st.floats(1.0, 1e9)
times = st.floats(1e-7, 1e-3)
rates = st.floats(1e8, 1e12)
degrees = st.integers(2, 64)


@pytest.mark.parametrize("p", range(1, 17))
def test_the_ring_run_agrees_with_the_formula(p):
    buffers = np.random.default_rng(p).normal(size=(p, 3 * p))
    run = run_ring_allreduce(buffers)
    np.testing.assert_allclose(run.results, np.tile(buffers.sum(axis=0), (p, 1)))
    assert run.steps == 2 * (p - 1)
    message = buffers[0].nbytes
    np.testing.assert_array_equal(run.sent, c.ring_traffic(p, message))
    # Each step is one Hockney message of M/p bytes.
    steps = run.steps * c.hockney_time(message / p, alpha=1e-6, beta=1e9)
    assert c.ring_allreduce_time_per_hop(p, message, 1e-6, 1e9) == pytest.approx(steps)


def test_a_buffer_that_does_not_split_is_refused():
    with pytest.raises(ValueError, match="multiple of p"):
        run_ring_allreduce(np.zeros((4, 6)))


@given(sizes, times, rates)
def test_one_rank_communicates_nothing(message, latency, beta):
    for law in (
        c.ring_allreduce_time,
        c.ring_allreduce_time_per_hop,
        c.tree_allreduce_time,
        c.one_shot_allreduce_time,
        c.two_shot_allreduce_time,
        c.in_network_allreduce_time,
        c.ring_reduce_scatter_time,
    ):
        assert law(1, message, latency, beta) == 0


@given(degrees, sizes, times, rates)
def test_the_two_conventions_meet_at_one_latency(p, message, alpha_hop, beta):
    lumped = c.ring_allreduce_time(p, message, 2 * (p - 1) * alpha_hop, beta)
    assert lumped == pytest.approx(c.ring_allreduce_time_per_hop(p, message, alpha_hop, beta))


@given(degrees, sizes, times, rates)
def test_reduce_scatter_and_all_gather_make_an_all_reduce(p, message, alpha_hop, beta):
    half = c.ring_reduce_scatter_time(p, message, alpha_hop, beta)
    assert 2 * half == pytest.approx(c.ring_allreduce_time_per_hop(p, message, alpha_hop, beta))


@given(degrees, sizes, rates)
def test_no_algorithm_without_a_switch_beats_the_ring_on_bandwidth(p, message, beta):
    ring = c.ring_allreduce_time(p, message, 0, beta)
    for law in (c.tree_allreduce_time, c.one_shot_allreduce_time, c.two_shot_allreduce_time):
        assert law(p, message, 0, beta) >= ring * (1 - 1e-12)


@given(st.integers(4, 64), sizes, rates)
def test_a_switch_that_adds_beats_the_ring_beyond_three_ranks(p, message, beta):
    assert c.in_network_allreduce_time(p, message, 0, beta) < c.ring_allreduce_time(
        p, message, 0, beta
    )
    assert c.in_network_allreduce_time(3, message, 0, beta) == pytest.approx(
        c.ring_allreduce_time(3, message, 0, beta)
    )


@given(times, rates)
def test_half_the_bandwidth_at_the_half_message(alpha, beta):
    half = c.half_bandwidth_message(alpha, beta)
    assert c.hockney_bandwidth(half, alpha, beta) == pytest.approx(beta / 2)


def test_the_communication_roofline_has_its_two_asymptotes():
    message, alpha, beta = symbols("message alpha beta")
    law = c.hockney_bandwidth(message, alpha, beta)
    assert sympy.limit(law, message, sympy.oo) == beta
    assert sympy.limit(law / message, message, 0) == 1 / alpha


def test_bus_bandwidth_undoes_the_ring():
    beta = 3e11
    time = c.ring_allreduce_time(8, 1e8, 0, beta)
    assert c.bus_bandwidth(8, 1e8, time) == pytest.approx(beta)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0.5, 1, 1, 1), "p"),
        ((2, -1, 1, 1), "message"),
        ((2, 1, -1, 1), "alpha"),
        ((2, 1, 1, 0), "beta"),
        ((2, 1, 1, float("nan")), "beta"),
    ],
)
def test_bad_input_names_its_field(arguments, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        c.ring_allreduce_time(*arguments)


def test_two_shots_name_the_latency_as_it_was_given():
    with pytest.raises(ValueError, match="^alpha must .*, got -1$"):
        c.two_shot_allreduce_time(2, 1, -1, 1)
