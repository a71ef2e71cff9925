"""The difference of two degrees: exact on its own law, and its errors against repeated noise."""

import numpy as np
import pytest
import sympy

from tpbook import difference_method as d
from tpbook import modified_amdahl as m
from tpbook.collectives import ring_traffic
from tpbook.identifiability import (
    difference_amplification,
    error_amplification,
    relative_design,
)
from tpbook.notation import symbols

p, q, count, message, alpha, hop, beta = symbols("p q collectives message alpha alpha_hop beta")


def recovered(law, latency):
    first, second = (law(k, count, message, latency, beta) for k in (p, q))
    # The check of a positive difference passes symbols, so the degrees may stay symbolic.
    found = d.difference_bandwidth(p, q, count, message, first, second)
    return found, d.difference_latency(p, q, count, first, second)


def test_the_lumped_law_is_recovered_at_any_two_degrees():
    rate, latency = recovered(m.communication_time, alpha)
    assert sympy.simplify(rate - beta) == 0
    assert sympy.simplify(latency - alpha) == 0


def test_the_per_hop_law_turns_into_a_negative_latency_and_a_slower_network():
    rate, latency = recovered(m.communication_time_per_hop, hop)
    assert sympy.simplify(1 / rate - 1 / beta - p * q * hop / message) == 0
    assert sympy.simplify(latency + 2 * (p - 1) * (q - 1) * hop) == 0


@pytest.mark.parametrize("size", [8192, 2**23])
def test_the_errors_are_the_scatter_of_repeated_recipes(size):
    truth, noise = (12e-6, 20e9), 1e-5
    generator = np.random.default_rng(4)
    exact = [m.communication_time(k, 64, size, *truth) for k in (2, 4)]
    first, second = (time * (1 + noise * generator.standard_normal(20_000)) for time in exact)
    expected = d.difference_errors(2, 4, *exact)
    inverse = 1 / d.difference_bandwidth(2, 4, 64, size, first, second)
    assert inverse.std() * truth[1] / noise == pytest.approx(expected[0], rel=0.03)
    found = d.difference_latency(2, 4, 64, first, second)
    assert found.std() / truth[0] / noise == pytest.approx(expected[1], rel=0.03)


def test_the_errors_are_those_of_the_model_and_of_the_general_formula():
    size, truth = 65536.0, (12e-6, 20e9)
    times = [m.communication_time(k, 1, size, *truth) for k in (2, 4)]
    found = d.difference_errors(2, 4, *times)
    assert found[0] == pytest.approx(difference_amplification(2, 4, size, *truth))
    design = [[1, ring_traffic(k, size)] for k in (2, 4)]
    general = error_amplification(relative_design(design, [truth[0], 1 / truth[1]]))
    assert found == pytest.approx(general[::-1])


def test_equal_times_leave_the_bandwidth_open_and_the_latency_the_root_of_thirteen():
    assert d.difference_errors(2, 4, 1.0, 1.0) == pytest.approx((np.inf, np.sqrt(13)))


def test_a_time_that_does_not_grow_gives_no_bandwidth():
    with pytest.raises(ValueError, match="^communication_q - communication_p must be positive"):
        d.difference_bandwidth(2, 4, 64, 8192, 2e-3, 2e-3)


@pytest.mark.parametrize(("degrees", "field"), [((1, 4), "p"), ((4, 2), "q - p")])
def test_the_degrees_are_checked(degrees, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        d.difference_latency(*degrees, 64, 1e-3, 2e-3)
    with pytest.raises(ValueError, match=f"^{field} must"):
        d.difference_errors(*degrees, 1e-3, 2e-3)
