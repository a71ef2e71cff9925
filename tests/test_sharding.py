"""What p ranks hold together is the model, plus what is copied or padded and nothing else."""

import numpy as np
import pytest

from tpbook.models import Model, layer_parameters, model, models, total_parameters
from tpbook.sharding import (
    degrees,
    kv_bytes_per_token,
    rank_model,
    shard,
    shard_parameters,
    weight_bytes,
)

every_degree = pytest.mark.parametrize(
    "id, p", [(id, p) for id, m in models().items() for p in degrees(m)]
)


@pytest.mark.parametrize("id", models())
def test_one_rank_holds_the_model(id):
    m = model(id)
    assert rank_model(m, 1) == m
    assert shard(m, 1).notes == ()
    assert shard_parameters(m, 1)["total"] == total_parameters(m)


@every_degree
def test_p_ranks_hold_every_weight_matrix_once_but_for_copied_kv_heads(id, p):
    m, part = model(id), shard(model(id), p)
    copies = 2 * m.kv_heads * (part.kv_replication - 1) * m.head_dim * m.hidden
    assert p * layer_parameters(rank_model(m, p)) == layer_parameters(m) + copies
    assert p * part.heads == m.heads
    assert p * part.kv_heads == m.kv_heads * part.kv_replication
    assert p * part.intermediate == m.intermediate


@every_degree
def test_vocabulary_is_padded_up_by_less_than_one_granule(id, p):
    m = model(id)
    extra = p * shard(m, p).vocab - m.vocab
    assert 0 <= extra < 64 * p


@every_degree
def test_norms_are_copied(id, p):
    m = model(id)
    assert shard_parameters(m, p)["layer/norms"] == 2 * m.hidden
    assert shard_parameters(m, p)["final_norm"] == m.hidden


@pytest.mark.parametrize("p", [1, 2, 4, 8])
def test_a_split_layer_computes_what_the_whole_one_does(p):
    """Attention-free check of the cut: column-parallel, then row-parallel, then one sum."""
    m = Model("tiny", 8, 16, 1, 8, 8, 1, 64, gated_mlp=False)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, m.hidden))
    up = rng.normal(size=(m.hidden, m.intermediate))
    down = rng.normal(size=(m.intermediate, m.hidden))
    width = shard(m, p).intermediate
    partial = [
        np.tanh(x @ up[:, r * width : (r + 1) * width]) @ down[r * width : (r + 1) * width]
        for r in range(p)
    ]
    np.testing.assert_allclose(sum(partial), np.tanh(x @ up) @ down, rtol=1e-12)


def test_kv_heads_are_copied_beyond_their_number():
    part = shard(model("llama-2-70b"), 16)
    assert (part.kv_heads, part.kv_replication) == (1, 2)
    assert any("8 KV heads is on 2 ranks" in note for note in part.notes)
    assert shard(model("llama-2-70b"), 8).kv_replication == 1
    assert not any("KV" in note for note in shard(model("llama-2-70b"), 8).notes)


def test_copied_kv_heads_stop_the_cache_from_shrinking():
    m = model("llama-2-70b")
    per_rank = [kv_bytes_per_token(m, p) for p in (1, 2, 4, 8, 16, 32)]
    assert per_rank[0] == 2 * 80 * 8 * 128 * 2
    ratios = [per_rank[0] / value for value in per_rank]
    assert ratios == [1, 2, 4, 8, 8, 8]


def test_known_cache_size_of_llama_2_7b():
    assert kv_bytes_per_token(model("llama-2-7b"), 1) == 512 * 1024
    assert kv_bytes_per_token(model("llama-2-7b"), 4, element_bytes=1) == 64 * 1024


def test_weights_of_a_rank_fall_as_one_over_p_where_nothing_is_copied():
    m = model("llama-2-70b")
    copied = shard_parameters(m, 1)["final_norm"] + m.layers * shard_parameters(m, 1)["layer/norms"]
    for p in (2, 4, 8):
        assert weight_bytes(m, p) == 2 * ((total_parameters(m) - copied) / p + copied)


def test_a_vocabulary_that_does_not_divide_is_padded_and_said_so():
    m = Model("odd", 8, 28, 1, 14, 14, 2, 50257)
    two = shard(m, 2)
    assert (two.vocab * 2, len(two.notes)) == (50304, 2)
    assert "padded from 50257 to 50304 rows" in " ".join(two.notes)
    # 50304 is no multiple of 7, and 64 x 7 x 113 = 50624 is the next that is.
    assert shard(m, 7).vocab * 7 == 50624
    assert "vLLM stops here" in " ".join(shard(m, 7).notes)


@pytest.mark.parametrize(
    "id, p, why",
    [
        ("llama-2-13b", 3, "p = 3 does not divide its 40 query heads"),
        ("qwen2.5-7b", 8, "p = 8 does not divide its 28 query heads; possible degrees: 1, 2, 4$"),
        ("qwen2.5-7b", 7, "p = 7 neither divides its 4 KV heads nor is a multiple"),
        ("llama-2-13b", 40, "p = 40 does not divide its MLP width 13824"),
    ],
)
def test_degrees_that_engines_refuse_are_refused(id, p, why):
    with pytest.raises(ValueError, match=why):
        shard(model(id), p)


@pytest.mark.parametrize("p", [0, -2, 1.5, float("nan"), "four"])
def test_a_degree_that_is_no_count_is_refused(p):
    with pytest.raises(ValueError, match="^p must be"):
        shard(model("llama-2-7b"), p)


def test_element_bytes_must_be_positive():
    with pytest.raises(ValueError, match="element_bytes must be positive"):
        weight_bytes(model("llama-2-7b"), 2, 0)


@pytest.mark.parametrize("p", [float("inf"), [2, 4], "2", True])
def test_a_degree_that_is_no_single_number_is_refused(p):
    with pytest.raises(ValueError, match="^p must be"):
        shard(model("llama-2-7b"), p)
