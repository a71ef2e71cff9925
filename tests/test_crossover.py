"""The crossover batch solves its balance; the record's form is one special case of it."""

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import crossover as c
from tpbook import rooflines
from tpbook.notation import symbols

p, P, d, b, n, beta_m, alpha, beta, B, peak = symbols(
    "p layer_parameters hidden element_bytes allreduces_per_layer memory_bandwidth alpha beta"
    " batch peak"
)
LLAMA = {"layer_parameters": 202_375_168, "hidden": 4096}
H100 = {"memory_bandwidth": 3350e9}


def test_it_solves_the_balance():
    communication = c.layer_communication_time(p, B, d, b, n, alpha, beta)
    weights = c.weight_time(p, P, b, beta_m)
    symbol = sympy.Symbol("B", positive=True)
    free = sympy.Symbol("x", real=True)
    solution = sympy.solve((communication - weights).subs(symbol, free), free)
    assert len(solution) == 1
    assert sympy.simplify(solution[0] - c.crossover_batch(p, P, d, b, n, beta_m, alpha, beta)) == 0


def test_the_record_is_two_ranks_and_one_allreduce():
    general = c.crossover_batch(2, P, d, b, 1, beta_m, 0, beta)
    assert sympy.simplify(general - c.crossover_batch_record(P, d, beta_m, beta)) == 0


def test_without_latency_the_record_is_too_high_by_n_times_p_minus_one():
    general = c.crossover_batch(p, P, d, b, n, beta_m, 0, beta)
    ratio = sympy.simplify(c.crossover_batch_record(P, d, beta_m, beta) / general)
    assert sympy.simplify(ratio - n * (p - 1)) == 0
    closed = c.crossover_batch_bandwidth(p, P, d, n, beta_m, beta)
    assert sympy.simplify(general - closed) == 0


@given(st.integers(2, 64), st.floats(1e9, 1e12))
def test_no_crossover_from_the_latency_limit_on(degree, beta):
    limit = c.latency_limit(degree, LLAMA["layer_parameters"], 2, 2, 3350e9)
    for factor, sign in [(0.99, 1), (1.01, -1)]:
        batch = c.crossover_batch(
            degree, **LLAMA, element_bytes=2, allreduces_per_layer=2, **H100,
            alpha=factor * limit, beta=beta,
        )
        assert batch * sign > 0


@given(st.integers(2, 64), st.floats(1e9, 1e12))
def test_above_the_ridge_the_ratio_is_the_ridge_over_the_crossover(degree, beta):
    """Extrapolating the weight roof to the ridge batch gives the constant ratio beyond it."""
    ridge = rooflines.ridge_batch(989.4e12, 3350e9, 2)
    cross = c.crossover_batch(
        degree, **LLAMA, element_bytes=2, allreduces_per_layer=2, **H100, alpha=0, beta=beta
    )
    ratio = c.compute_bound_ratio(
        degree, **LLAMA, element_bytes=2, allreduces_per_layer=2, peak=989.4e12, beta=beta
    )
    assert ratio == pytest.approx(ridge / cross)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"p": 1}, "p"),
        ({"beta": 0}, "beta"),
        ({"alpha": -1}, "alpha"),
        ({"memory_bandwidth": float("nan")}, "memory_bandwidth"),
        ({"allreduces_per_layer": 0}, "allreduces_per_layer"),
    ],
)
def test_bad_input_names_its_field(changed, field):
    good = {
        "p": 2, **LLAMA, "element_bytes": 2, "allreduces_per_layer": 2, **H100,
        "alpha": 0, "beta": 25e9,
    }
    with pytest.raises(ValueError, match=f"^{field} must"):
        c.crossover_batch(**good | changed)
