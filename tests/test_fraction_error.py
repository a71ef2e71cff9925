"""The spread of a measured serial fraction against error propagation and a brute-force draw."""

import numpy as np
import pytest
import sympy

from tpbook import amdahl
from tpbook import fraction_error as e
from tpbook.notation import symbols

p, q, one = symbols("p q time_one")
at_p, at_q, delta = sympy.symbols("T_p T_q delta", positive=True)


def fraction(degree, time):
    return amdahl.karp_flatt(degree, amdahl.speedup(one, time))


def propagated(expression, times):
    """First-order half-width when every time has the relative half-width delta."""
    return delta * sympy.sqrt(sum((t * sympy.diff(expression, t)) ** 2 for t in times))


def test_the_half_width_is_first_order_propagation():
    found = e.fraction_spread(p, amdahl.speedup(one, at_p), delta)
    known = propagated(fraction(p, at_p), [one, at_p])
    assert sympy.simplify(found**2 - known**2) == 0


def test_the_change_counts_the_shared_time_once():
    change = fraction(q, at_q) - fraction(p, at_p)
    found = e.change_spread(p, one / at_p, q, one / at_q, delta)
    assert sympy.simplify(found**2 - propagated(change, [one, at_p, at_q]) ** 2) == 0


def test_a_draw_of_noisy_times_scatters_as_far():
    noise = np.random.default_rng(7).normal(1, 0.01, (3, 200_000))
    one_rank, two, four = np.array([1.0, 0.6, 0.4])[:, None] * noise
    low, high = amdahl.karp_flatt(2, one_rank / two), amdahl.karp_flatt(4, one_rank / four)
    assert low.std() == pytest.approx(e.fraction_spread(2, 1 / 0.6, 0.01), rel=0.02)
    known = e.change_spread(2, 1 / 0.6, 4, 1 / 0.4, 0.01)
    assert (high - low).std() == pytest.approx(known, rel=0.02)


def test_a_trend_needs_to_exceed_its_half_width():
    assert e.trend(0.05, 0.02) == "rises"
    assert e.trend(-0.05, 0.02) == "falls"
    assert e.trend(-0.01, 0.02) == "unresolved"


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: e.fraction_spread(1, 1.0, 0.03), "p"),
        (lambda: e.fraction_spread(2, 0.0, 0.03), "speedup"),
        (lambda: e.fraction_spread(2, 1.5, -0.03), "spread"),
        (lambda: e.change_spread(2, 1.5, 4, 2.5, -1), "spread"),
        (lambda: e.trend(float("nan"), 0.1), "change"),
    ],
)
def test_bad_input_names_its_field(call, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        call()
