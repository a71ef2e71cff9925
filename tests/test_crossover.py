"""The crossover batch solves its balance; the record's form is one special case of it."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tpbook import crossover as c
from tpbook import rooflines
from tpbook.notation import symbols
from tpbook.symbolic import same

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
            degree,
            **LLAMA,
            element_bytes=2,
            allreduces_per_layer=2,
            **H100,
            alpha=factor * limit,
            beta=beta,
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


@pytest.mark.parametrize("degree", [2, 4, 8, 16])
@pytest.mark.parametrize("beta", [25e9, 200e9, 450e9, 900e9])
@pytest.mark.parametrize("share", [0, 0.05, 0.3, 0.8, 0.99, 1.01, 1.6])
def test_who_leads_at_each_batch_is_decided_by_two_crossings(degree, beta, share):
    """Brute force on a fine grid of batches against the two closed forms."""
    layer = {**LLAMA, "element_bytes": 2, "allreduces_per_layer": 2}
    limit = c.latency_limit(degree, LLAMA["layer_parameters"], 2, 2, **H100)
    ridge = rooflines.ridge_batch(989.4e12, 3350e9, 2)
    ratio = c.compute_bound_ratio(degree, **layer, peak=989.4e12, beta=beta)
    start = c.crossover_batch(degree, **layer, **H100, alpha=share * limit, beta=beta)
    end = c.return_batch(share * limit, limit, ridge, ratio) if ratio < 1 else np.inf
    batch = np.geomspace(1e-3, 1e6, 50_000)
    talk = c.layer_communication_time(degree, batch, 4096, 2, 2, share * limit, beta)
    work = rooflines.ideal_time(
        2 * batch * LLAMA["layer_parameters"] / degree,
        2 * LLAMA["layer_parameters"] / degree,
        989.4e12,
        3350e9,
    )
    leads = (batch > start) & (batch < end) & (start < ridge)
    np.testing.assert_array_equal(talk > work, leads)


def test_the_gemms_return_where_both_times_agree():
    rho, limit, ridge = symbols("compute_ratio latency_limit ridge_batch")
    latency_time = alpha * n
    per_sequence = n * limit / ridge  # compute-bound GEMMs, in s per sequence
    batch = c.return_batch(alpha, limit, ridge, rho)
    assert same(latency_time + rho * per_sequence * batch, per_sequence * batch)


@pytest.mark.parametrize("ratio", [1, 2.5])
def test_gemms_that_grow_more_slowly_never_return(ratio):
    with pytest.raises(ValueError, match="^compute_ratio must be below 1"):
        c.return_batch(1e-6, 1e-5, 300, ratio)


def test_one_rank_has_no_latency_limit():
    with pytest.raises(ValueError, match="^p must be above 1"):
        c.latency_limit(1, LLAMA["layer_parameters"], 2, 2, **H100)


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
        "p": 2,
        **LLAMA,
        "element_bytes": 2,
        "allreduces_per_layer": 2,
        **H100,
        "alpha": 0,
        "beta": 25e9,
    }
    with pytest.raises(ValueError, match=f"^{field} must"):
        c.crossover_batch(**good | changed)
