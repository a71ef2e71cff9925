"""The classic laws: limits, inverses, and where the universal scalability law meets Amdahl."""

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import amdahl
from tpbook.notation import symbols

degrees = st.floats(1.01, 1e4)
fractions = st.floats(0, 1)


@given(degrees, fractions)
def test_karp_flatt_finds_amdahls_fraction(p, fraction):
    speedup = amdahl.amdahl_speedup(p, fraction)
    assert amdahl.karp_flatt(p, speedup) == pytest.approx(fraction, abs=1e-9)


@given(degrees, fractions)
def test_time_and_speedup_are_one_law(p, fraction):
    time = amdahl.amdahl_time(p, 7.0, fraction)
    assert amdahl.speedup(7.0, time) == pytest.approx(amdahl.amdahl_speedup(p, fraction))


def test_amdahls_limits():
    p, f = symbols("p serial_fraction")
    law = amdahl.amdahl_speedup(p, f)
    assert sympy.limit(law, p, sympy.oo) == 1 / f
    assert sympy.simplify(law.subs(f, 0) - p) == 0
    assert sympy.simplify(law.subs(p, 1)) == 1


def test_gustafson_is_amdahl_seen_from_the_parallel_run():
    """With g the serial share of the parallel time, f T_1 = g T_p gives Gustafson's law."""
    p, f = symbols("p serial_fraction")
    speedup = amdahl.amdahl_speedup(p, f)
    share = f * speedup
    assert sympy.simplify(amdahl.gustafson_speedup(p, share) - speedup) == 0


def test_the_scalability_law_without_coherency_is_amdahl():
    p, f = symbols("p serial_fraction")
    assert sympy.simplify(amdahl.usl_speedup(p, f, 0) - amdahl.amdahl_speedup(p, f)) == 0


def test_efficiency_is_speedup_per_rank():
    assert amdahl.parallel_efficiency(4, 10, 5) == 0.5


def test_superlinear_speedup_shows_as_a_negative_fraction():
    assert amdahl.karp_flatt(2, 2.5) < 0


@given(st.integers(2, 16), st.integers(1, 64), st.integers(1, 4), fractions)
def test_extrapolation_is_exact_for_amdahls_own_times(p, q, group, fraction):
    def time(ranks):
        return amdahl.amdahl_time(ranks, 3.0, fraction)

    found = amdahl.amdahl_extrapolation(p, q, time(group), time(p * group))
    assert found == pytest.approx(time(q * group))


def test_extrapolation_from_two_to_four_weighs_the_times():
    one, two = sympy.symbols("T_1 T_2", positive=True)
    found = sympy.nsimplify(sympy.expand(amdahl.amdahl_extrapolation(2, 4, one, two)))
    assert found == sympy.Rational(3, 2) * two - one / 2


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: amdahl.amdahl_speedup(0.5, 0.1), "p"),
        (lambda: amdahl.amdahl_speedup(2, 1.1), "serial_fraction"),
        (lambda: amdahl.karp_flatt(1, 1), "p"),
        (lambda: amdahl.karp_flatt(2, 0), "speedup"),
        (lambda: amdahl.usl_speedup(2, -1, 0), "contention"),
        (lambda: amdahl.speedup(0, 1), "time_one"),
        (lambda: amdahl.amdahl_extrapolation(1, 4, 1, 1), "p"),
    ],
)
def test_bad_input_names_its_field(call, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        call()
