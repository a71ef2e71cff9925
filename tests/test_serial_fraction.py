"""The effective serial fraction is what Karp and Flatt would measure; the optimum is one."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import amdahl, modified_amdahl
from tpbook import serial_fraction as s
from tpbook.notation import symbols

p, one, f, count, message, alpha, alpha_hop, beta = symbols(
    "p time_one serial_fraction collectives message alpha alpha_hop beta"
)
SMALL = {"time_one": 0.025, "serial_fraction": 0.05, "collectives": 64, "message": 8192}


def karp_flatt_of(communication):
    time = s.communicating_time(p, one, f, communication)
    return amdahl.karp_flatt(p, amdahl.speedup(one, time))


@pytest.mark.parametrize(
    ("communication", "closed_form"),
    [
        (
            modified_amdahl.communication_time(p, count, message, alpha, beta),
            s.effective_serial_fraction_lumped(p, one, f, count, message, alpha, beta),
        ),
        (
            modified_amdahl.communication_time_per_hop(p, count, message, alpha_hop, beta),
            s.effective_serial_fraction_per_hop(p, one, f, count, message, alpha_hop, beta),
        ),
    ],
    ids=["lumped", "per-hop"],
)
def test_it_is_what_karp_and_flatt_measure(communication, closed_form):
    assert sympy.simplify(karp_flatt_of(communication) - closed_form) == 0
    general = s.effective_serial_fraction(p, one, f, communication)
    assert sympy.simplify(general - closed_form) == 0


def test_growth_in_the_degree():
    lumped = s.effective_serial_fraction_lumped(p, one, f, count, message, alpha, beta)
    per_hop = s.effective_serial_fraction_per_hop(p, one, f, count, message, alpha_hop, beta)
    assert sympy.simplify(sympy.diff(lumped, p) + count * alpha / (one * (p - 1) ** 2)) == 0
    assert sympy.diff(per_hop, p) == 2 * count * alpha_hop / one


@given(st.floats(1e-6, 1e-4))
def test_the_optimum_is_the_lowest_point(latency):
    best = s.optimum_degree(**SMALL, alpha_hop=latency, beta=2e10)
    degrees = best * np.array([0.97, 1.0, 1.03])
    communication = modified_amdahl.communication_time_per_hop(degrees, 64, 8192, latency, 2e10)
    left, middle, right = s.communicating_time(degrees, 0.025, 0.05, communication)
    assert middle < left and middle < right
    assert s.maximum_speedup(**SMALL, alpha_hop=latency, beta=2e10) == pytest.approx(0.025 / middle)


def test_the_largest_speedup_without_communication_is_amdahls_limit():
    law = s.maximum_speedup(one, f, count, 0, alpha_hop, beta)
    assert sympy.limit(law, alpha_hop, 0) == 1 / f


@given(st.floats(1e-6, 1e-4))
def test_one_rank_is_as_fast_at_the_square_of_the_optimum(latency):
    even = s.optimum_degree(**SMALL, alpha_hop=latency, beta=2e10) ** 2
    communication = modified_amdahl.communication_time_per_hop(even, 64, 8192, latency, 2e10)
    assert s.communicating_time(even, 0.025, 0.05, communication) == pytest.approx(0.025)


@pytest.mark.parametrize("law", [s.optimum_degree, s.maximum_speedup])
@pytest.mark.parametrize(
    ("message", "alpha_hop"), [(1e9, 1e-6), (8192, 1e-3)], ids=["bytes", "steps"]
)
def test_no_optimum_is_said(law, message, alpha_hop):
    with pytest.raises(ValueError, match="^no optimum degree above 1"):
        law(1e-3, 0.0, 64, message, alpha_hop, 1e9)


@pytest.mark.parametrize(
    ("changed", "field"), [({"p": 1}, "p"), ({"time_one": 0}, "time_one"), ({"beta": -1}, "beta")]
)
def test_bad_input_names_its_field(changed, field):
    good = {"p": 2, **SMALL, "alpha": 1e-5, "beta": 1e10}
    with pytest.raises(ValueError, match=f"^{field} must"):
        s.effective_serial_fraction_lumped(**good | changed)
