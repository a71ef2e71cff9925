"""With a KV cache the crossover moves out, and past a context there is none."""

import numpy as np
import pytest
import sympy

from tpbook import cache_crossover as k
from tpbook import crossover as c
from tpbook import intensity
from tpbook.models import layer_parameters, model
from tpbook.notation import symbols
from tpbook.sharding import kv_bytes_per_token
from tpbook.symbolic import same

LLAMA = model("llama-2-7b")
LAYER = {"layer_parameters": layer_parameters(LLAMA), "hidden": LLAMA.hidden}
HEADS = {"kv_heads": LLAMA.kv_heads, "head_dim": LLAMA.head_dim}


def test_the_cache_read_is_attention_without_queries_and_new_tokens():
    batch, context, kv, width, b, beta_m = symbols(
        "batch context kv_heads head_dim element_bytes memory_bandwidth"
    )
    read = k.cache_time(1, batch, context, kv, width, b, beta_m)
    attention = intensity.attention_bytes(batch, 1, context, 1, kv, width, b)
    assert sympy.limit(read * beta_m / attention, context, sympy.oo) == 1


@pytest.mark.parametrize("p", [1, 2, 8])
def test_the_cache_read_is_a_layer_of_the_bytes_per_token(p):
    read = k.cache_time(p, 5, 100, **HEADS, element_bytes=2, memory_bandwidth=1)
    assert read == pytest.approx(500 * kv_bytes_per_token(LLAMA, p) / LLAMA.layers)


def test_it_solves_the_balance_with_the_cache():
    p, P, d, b, n, beta_m, alpha, beta, B, C, kv, width = symbols(
        "p layer_parameters hidden element_bytes allreduces_per_layer memory_bandwidth alpha beta"
        " batch context kv_heads head_dim"
    )
    memory = c.weight_time(p, P, b, beta_m) + k.cache_time(p, B, C, kv, width, b, beta_m)
    gap = c.layer_communication_time(p, B, d, b, n, alpha, beta) - memory
    x = sympy.Symbol("x", real=True)
    (solution,) = sympy.solve(gap.subs(B, x), x)
    star = c.crossover_batch(p, P, d, b, n, beta_m, alpha, beta)
    limit = k.context_limit(p, d, kv, width, n, beta_m, beta)
    assert same(solution, k.crossover_batch_with_cache(star, C, limit))


@pytest.mark.parametrize("context", [60, 100, 110, 4096])
@pytest.mark.parametrize("alpha", [0, 4e-6, 9e-6])
def test_brute_force_on_both_sides_of_both_limits(context, alpha):
    network = {"alpha": alpha, "beta": 450e9}
    batch = np.geomspace(1e-3, 1e7, 20_000)
    talk = c.layer_communication_time(8, batch, LLAMA.hidden, 2, 2, **network)
    read = c.weight_time(8, LAYER["layer_parameters"], 2, 3350e9) + k.cache_time(
        8, batch, context, **HEADS, element_bytes=2, memory_bandwidth=3350e9
    )
    star = c.crossover_batch(
        8, **LAYER, element_bytes=2, allreduces_per_layer=2, memory_bandwidth=3350e9, **network
    )
    limit = k.context_limit(
        8, LLAMA.hidden, **HEADS, allreduces_per_layer=2, memory_bandwidth=3350e9, beta=450e9
    )
    assert limit == pytest.approx(14 * 3350 / 450)
    if context < limit:
        leads = batch > k.crossover_batch_with_cache(star, context, limit)
    else:  # the same expression, now the batch at which the cache takes the lead back
        leads = batch < star / (1 - context / limit)
    np.testing.assert_array_equal(talk > read, leads)


@pytest.mark.parametrize("context", [104, 5000])
def test_a_context_at_its_limit_is_refused(context):
    with pytest.raises(ValueError, match="^context / context_limit must be below 1"):
        k.crossover_batch_with_cache(237, context, 104)


def test_one_rank_has_no_context_limit():
    with pytest.raises(ValueError, match="^p must be above 1"):
        k.context_limit(1, 4096, 32, 128, 2, 3350e9, 450e9)
