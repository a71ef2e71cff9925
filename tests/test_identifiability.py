"""Identifiability: ranks by brute force, amplification against repeated noisy fits."""

import numpy as np
import pytest
import sympy

from tpbook import identifiability as i
from tpbook import modified_amdahl as m
from tpbook.notation import symbols

work, count, message, alpha, alpha_hop = symbols("work_time collectives message alpha alpha_hop")
u, w = sympy.symbols("u w", positive=True)  # 1/eta and 1/beta


def lumped(degrees):
    totals = [m.modified_amdahl_time(p, work, 1 / u, count, message, alpha, 1 / w) for p in degrees]
    return i.design_matrix(totals, (u, alpha, w))


def per_hop(degrees):
    totals = [
        m.modified_amdahl_time_per_hop(p, work, 1 / u, count, message, alpha_hop, 1 / w)
        for p in degrees
    ]
    return i.design_matrix(totals, (u, alpha_hop, w))


@pytest.mark.parametrize(
    ("degrees", "rank"), [((1, 2, 4), 3), ((2, 4, 8), 2), ((1, 2), 2), ((2, 4, 8, 16), 2)]
)
def test_one_latency_per_collective_needs_the_single_rank(degrees, rank):
    assert lumped(degrees).rank() == rank


@pytest.mark.parametrize("degrees", [(1, 2, 4), (2, 4, 8), (3, 5, 7)])
def test_one_latency_per_hop_needs_any_three_degrees(degrees):
    assert per_hop(degrees).rank() == 3


def test_the_design_reproduces_the_totals():
    totals = [m.modified_amdahl_time(p, work, 1 / u, count, message, alpha, 1 / w) for p in (1, 4)]
    product = lumped((1, 4)) * sympy.Matrix([u, alpha, w])
    assert (product - sympy.Matrix(totals)).applyfunc(sympy.simplify) == sympy.zeros(2, 1)


def test_an_unknown_is_left_open_when_totals_cannot_tell_two_values_apart():
    assert i.left_open(lumped((1, 2, 4)), (u, alpha, w)) == []
    assert i.left_open(lumped((2, 4, 8)), (u, alpha, w)) == [u, alpha, w]
    # One unknown is determined, though the other two are not: theirs are equal columns.
    assert i.left_open(sympy.Matrix([[1, 1, 0], [2, 2, 5]]), (u, alpha, w)) == [u, alpha]
    with pytest.raises(ValueError, match="^unknowns must be 3"):
        i.left_open(lumped((1, 2, 4)), (u, alpha))


def test_a_nonlinear_unknown_is_refused():
    eta = symbols("eta")[0]
    total = m.modified_amdahl_time(2, work, eta, count, message, alpha, 1 / w)
    with pytest.raises(ValueError, match="not linear"):
        i.design_matrix([total], [eta, alpha])


def test_rows_of_the_relative_design_sum_to_one():
    relative = i.relative_design([[1.0, 2.0], [3.0, 4.0], [5.0, 0.5]], [0.1, 7.0])
    assert np.allclose(relative.sum(axis=1), 1)


def test_units_do_not_matter():
    matrix, unknowns = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.1, 7.0])
    scale = np.array([1e9, 1e-6])
    assert np.allclose(
        i.relative_design(matrix, unknowns), i.relative_design(matrix / scale, unknowns * scale)
    )


def test_condition_number_of_an_orthogonal_and_of_a_singular_matrix():
    assert i.condition_number(np.diag([3.0, 3.0])) == pytest.approx(1)
    assert i.condition_number([[1.0, 2.0], [2.0, 4.0]]) == float("inf")


def test_amplification_is_the_scatter_of_repeated_fits():
    matrix = np.array([[1.0, 0.0], [0.5, 1.0], [0.25, 1.5], [0.125, 1.75]])
    truth = np.array([1.0, 0.2])
    relative = i.relative_design(matrix, truth)
    generator = np.random.default_rng(7)
    noise = 1e-3 * generator.standard_normal((4000, 4))
    # Weighted fit: each total divided by its true size, so that the noise is relative.
    fits = np.linalg.lstsq(relative, (1 + noise).T, rcond=None)[0]
    assert np.allclose(fits.std(axis=1) / 1e-3, i.error_amplification(relative), rtol=0.06)


def test_amplification_refuses_a_singular_design():
    with pytest.raises(ValueError, match="rank 1 for 2 parameters"):
        i.error_amplification([[0.5, 0.5], [0.5, 0.5]])


def test_a_parameter_of_zero_has_no_relative_error():
    with pytest.raises(ValueError, match="^parameters must be positive"):
        i.relative_design([[1.0, 2.0]], [1.0, 0.0])


def test_the_difference_is_the_exactly_determined_case_of_the_general_formula():
    p, q, size, latency, rate = 2, 4, 8192.0, 1e-5, 2e10
    matrix = [[1, 2 * (k - 1) * size / k] for k in (p, q)]
    general = i.error_amplification(i.relative_design(matrix, [latency, 1 / rate]))
    assert i.difference_amplification(p, q, size, latency, rate) == pytest.approx(general[1])


def test_the_difference_amplifies_less_the_larger_the_message():
    sizes = np.geomspace(1e3, 1e9, 50)
    found = i.difference_amplification(2, 4, sizes, 1e-5, 2e10)
    assert (np.diff(found) < 0).all()
    assert found[-1] == pytest.approx(np.sqrt(13), rel=1e-2)  # times 1 and 3/2 over 1/2


@pytest.mark.parametrize(("changed", "field"), [({"p": 1}, "p"), ({"message": 0}, "message")])
def test_bad_input_names_its_field(changed, field):
    good = {"p": 2, "q": 4, "message": 8192, "alpha": 1e-5, "beta": 2e10}
    with pytest.raises(ValueError, match=f"^{field} must"):
        i.difference_amplification(**good | changed)


@pytest.mark.parametrize("q", [4, 2])
def test_a_second_degree_that_is_not_larger_is_refused(q):
    with pytest.raises(ValueError, match="^q - p must be positive"):
        i.difference_amplification(4, q, 1e6, 1e-6, 1e9)
