"""Modified Amdahl: the theorems of section 2.3, checked as algebra and by direct fitting."""

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import amdahl
from tpbook import modified_amdahl as m
from tpbook.notation import symbols

names = "p q work_time eta collectives message alpha alpha_hop beta"
p, q, work, eta, count, message, alpha, alpha_hop, beta = symbols(names)


def amdahl_at(q, p, one, at_p):
    """Amdahl's time at q, fitted to the times at 1 and p."""
    fraction = amdahl.karp_flatt(p, amdahl.speedup(one, at_p))
    return amdahl.amdahl_time(q, one, fraction)


def test_bandwidth_alone_is_amdahl():
    """Without latency the time at p has the two terms of Amdahl's law, for every p."""
    time = m.modified_amdahl_time(p, work, eta, count, message, 0, beta)
    one = work / eta
    predicted = amdahl_at(q, p, one, time)
    truth = m.modified_amdahl_time(q, work, eta, count, message, 0, beta)
    assert sympy.simplify(predicted - truth) == 0


def test_the_error_with_one_latency_per_collective():
    one = work / eta
    time = m.modified_amdahl_time(p, work, eta, count, message, alpha, beta)
    truth = m.modified_amdahl_time(q, work, eta, count, message, alpha, beta)
    error = amdahl_at(q, p, one, time) - truth
    assert sympy.simplify(error - m.extrapolation_error(p, q, count, alpha)) == 0


def test_the_error_with_one_latency_per_hop():
    one = work / eta
    time = m.modified_amdahl_time_per_hop(p, work, eta, count, message, alpha_hop, beta)
    truth = m.modified_amdahl_time_per_hop(q, work, eta, count, message, alpha_hop, beta)
    error = amdahl_at(q, p, one, time) - truth
    assert sympy.simplify(error - m.extrapolation_error_per_hop(p, q, count, alpha_hop)) == 0


def test_from_two_to_four():
    assert m.extrapolation_error(2, 4, count, alpha) == count * alpha / 2
    assert m.extrapolation_error_per_hop(2, 4, count, alpha_hop) == -3 * count * alpha_hop


@given(st.integers(2, 8), st.integers(1, 8), st.floats(1e-7, 1e-4), st.floats(1e-3, 1.0))
def test_signs_on_numbers(degree, more, latency, seconds):
    larger = degree + more
    arguments = (seconds, 0.7, 64, 8192, latency, 2e10)
    one = m.modified_amdahl_time(1, *arguments)
    lumped = amdahl_at(larger, degree, one, m.modified_amdahl_time(degree, *arguments))
    assert lumped > m.modified_amdahl_time(larger, *arguments)
    hop = amdahl_at(larger, degree, one, m.modified_amdahl_time_per_hop(degree, *arguments))
    assert hop < m.modified_amdahl_time_per_hop(larger, *arguments)


def test_one_rank_only_computes():
    assert m.modified_amdahl_time(1, 2.0, 0.5, 64, 8192, 1e-5, 1e10) == 4.0


@pytest.mark.parametrize(
    ("changed", "field"), [({"eta": 0}, "eta"), ({"work_time": -1}, "work_time"), ({"p": 0}, "p")]
)
def test_bad_input_names_its_field(changed, field):
    good = {"p": 2, "work_time": 1, "eta": 1, "collectives": 1, "message": 1, "alpha": 1, "beta": 1}
    with pytest.raises(ValueError, match=f"^{field} must"):
        m.modified_amdahl_time(**good | changed)
