"""The sharded layer against the whole one, and the block identities behind it."""

import numpy as np
import pytest
import sympy

from tpbook.blocks import block_symbols, blocks_of, elementwise, side_by_side, stacked, summed
from tpbook.collectives import ring_traffic
from tpbook.messages import allreduce_message
from tpbook.ring import fewest_sends, ring_steps, run_ring_allreduce
from tpbook.tiny_layer import (
    attention,
    random_weights,
    rank_weights,
    rms_norm,
    sharded_layer,
    whole_layer,
)

X = np.random.default_rng(0).normal(size=(2, 3, 32))


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_cutting_a_layer_changes_nothing_but_the_messages(p, kv_heads):
    w = random_weights(1, kv_heads=kv_heads)
    result, messages = sharded_layer(X, w, p)
    np.testing.assert_allclose(result, whole_layer(X, w), rtol=1e-12, atol=1e-12)
    per_layer = 0 if p == 1 else 2
    assert messages == [allreduce_message(2, 3, 32, X.itemsize)] * per_layer


def test_attention_is_causal():
    w = random_weights(2)
    changed = X.copy()
    changed[:, -1] += 1
    before, after = whole_layer(X, w), whole_layer(changed, w)
    np.testing.assert_allclose(after[:, :-1], before[:, :-1])
    assert not np.allclose(after[:, -1], before[:, -1])


def test_a_norm_of_partial_sums_is_not_the_norm_of_the_sum():
    w = random_weights(3)
    parts = [attention(rms_norm(X), rank_weights(w, 2, rank)) for rank in range(2)]
    assert not np.allclose(rms_norm(sum(parts)), sum(map(rms_norm, parts)), rtol=0.1)


def test_a_degree_that_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="p = 3 does not cut 4 heads"):
        rank_weights(random_weights(4), 3, 0)


@pytest.mark.parametrize("p", [2, 3, 4])
def test_block_products_agree_with_entries(p):
    f = elementwise(r"\sigma")
    x = sympy.MatrixSymbol("X", 2, 2)
    up, down = block_symbols("A", p, 2, 1), block_symbols("D", p, 1, 2)
    hidden = blocks_of(x * side_by_side(up))
    cut = summed(side_by_side([block.applyfunc(f) for block in hidden]) * stacked(down))
    whole = x.as_explicit() * sympy.Matrix.hstack(*(block.as_explicit() for block in up))
    whole = whole.applyfunc(f) * sympy.Matrix.vstack(*(block.as_explicit() for block in down))
    assert (cut.as_explicit() - whole).applyfunc(sympy.expand) == sympy.zeros(2, 2)


def test_a_function_without_a_formula_prints_as_its_name():
    assert sympy.latex(sympy.MatrixSymbol("X", 2, 2).applyfunc(elementwise(r"\sigma"))) == (
        r"{\sigma}_{\circ}\left({X}\right)"
    )


@pytest.mark.parametrize("p", range(1, 6))
def test_no_order_of_sends_beats_the_ring(p):
    # Per element: the ring's p ranks send 2(p-1)/p elements each.
    assert fewest_sends(p) == p * ring_traffic(p, 1.0)


@pytest.mark.parametrize("p", [0, 6, 2.5])
def test_only_a_few_ranks_can_be_searched(p):
    with pytest.raises(ValueError, match="p must be 1 to 5"):
        fewest_sends(p)


@pytest.mark.parametrize("p", range(2, 9))
def test_after_half_the_steps_each_rank_holds_one_finished_chunk(p):
    ones = np.ones((p, p))
    states = [state for state, sent in ring_steps(ones)]
    assert len(states) == 2 * (p - 1)
    halfway = states[p - 2].reshape(p, p)
    np.testing.assert_array_equal((halfway == p).sum(axis=1), np.ones(p))
    np.testing.assert_array_equal(states[-1].reshape(p, p), np.full((p, p), p))


def test_the_callers_buffers_are_left_alone():
    buffers = np.ones((4, 4))
    run_ring_allreduce(buffers)
    np.testing.assert_array_equal(buffers, np.ones((4, 4)))


@pytest.mark.parametrize("p, rank", [(0, 0), (-1, 0), (2, 2), (2, -1)])
def test_a_rank_that_does_not_exist_is_refused(p, rank):
    with pytest.raises(ValueError, match="^p must be at least 1 and rank one of"):
        rank_weights(random_weights(0), p, rank)


def test_heads_that_no_group_shares_are_refused():
    with pytest.raises(ValueError, match="^kv_heads must divide heads, got 2 and 3"):
        random_weights(0, heads=3, kv_heads=2)


def test_no_rank_at_all_is_refused():
    with pytest.raises(ValueError, match="^p must be at least 1"):
        sharded_layer(np.ones((1, 2, 32)), random_weights(0), 0)
    with pytest.raises(ValueError, match="^buffers must have shape"):
        run_ring_allreduce(np.zeros((0, 4)))
    for p in (0, 2.0, True, "2"):
        with pytest.raises(ValueError, match="^p must be 1 to 5"):
            fewest_sends(p)
