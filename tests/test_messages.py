"""Which collectives a forward pass has, checked against a layer run on split arrays."""

from dataclasses import replace

import numpy as np
import pytest

from tpbook.messages import allreduce_message, forward_collectives
from tpbook.models import Model, model, models
from tpbook.sharding import degrees, shard


class Ranks:
    """Sums partial results as an all-reduce does, and remembers the size of every buffer."""

    def __init__(self):
        self.messages = []

    def all_reduce(self, partial):
        self.messages.append(partial[0].nbytes)
        return sum(partial)


def run_layers(m, p, batch, tokens):
    """A forward pass of m's layers on p simulated ranks; attention mixes nothing over tokens."""
    rng, ranks = np.random.default_rng(3), Ranks()
    x = rng.normal(size=(batch * tokens, m.hidden))
    whole = x.copy()
    queries, width = m.heads * m.head_dim // p, shard(m, p).intermediate
    for _ in range(m.layers):
        for columns, part in [(m.heads * m.head_dim, queries), (m.intermediate, width)]:
            first = rng.normal(size=(m.hidden, columns)) / columns
            second = rng.normal(size=(columns, m.hidden))
            cuts = [slice(r * part, (r + 1) * part) for r in range(p)]
            x = x + ranks.all_reduce([np.tanh(x @ first[:, c]) @ second[c] for c in cuts])
            whole = whole + np.tanh(whole @ first) @ second
    np.testing.assert_allclose(x, whole, rtol=1e-9)
    return ranks.messages


@pytest.mark.parametrize("p, batch, tokens", [(2, 1, 1), (4, 3, 1), (4, 2, 5)])
def test_a_split_forward_pass_needs_exactly_these_all_reduces(p, batch, tokens):
    m = Model("tiny", 8, 16, 3, 4, 4, 2, 64)
    ledger = forward_collectives(m, p, batch, tokens, element_bytes=8)
    expected = [c.message for c in ledger for _ in range(c.count)]
    assert run_layers(m, p, batch, tokens) == expected
    assert len(expected) == 2 * m.layers


@pytest.mark.parametrize("id", models())
def test_one_rank_communicates_nothing(id):
    assert forward_collectives(model(id), 1, 8, 1, embedding=True, lm_head=True) == []


@pytest.mark.parametrize("id", models())
def test_messages_do_not_depend_on_the_degree(id):
    m = model(id)
    several = [forward_collectives(m, p, 8, 1) for p in degrees(m) if p > 1]
    assert all(ledger == several[0] for ledger in several)
    assert sum(c.count for c in several[0]) == 2 * m.layers


def test_sizes_in_decode_and_prefill():
    m = model("llama-2-7b")
    assert {c.message for c in forward_collectives(m, 4, 1, 1)} == {8192}
    assert {c.message for c in forward_collectives(m, 4, 2, 1024)} == {2 * 1024 * 8192}
    assert allreduce_message(1, 1, 4096, 2) == 8192


def test_options_add_the_embedding_and_the_head():
    m = model("llama-2-7b")
    ledger = forward_collectives(m, 4, 8, 1024, embedding=True, lm_head=True)
    assert [(c.name, c.kind, c.count) for c in ledger] == [
        ("embedding", "all_reduce", 1),
        ("attention_out", "all_reduce", 32),
        ("mlp_down", "all_reduce", 32),
        ("lm_head", "all_gather", 1),
    ]
    assert ledger[0].message == ledger[1].message
    # The head sees the last token of each sequence, whatever the prompt's length.
    assert ledger[-1].message == 8 * 32000 * 2


def test_padded_logits_are_gathered_too():
    m = Model("odd", 8, 16, 1, 4, 4, 2, 50257)
    head = forward_collectives(m, 2, 1, 1, lm_head=True)[-1]
    assert head.message == 50304 * 2


def test_side_by_side_layers_are_summed_once():
    m = replace(model("llama-2-7b"), allreduces_per_layer=1)
    assert [c.count for c in forward_collectives(m, 4, 1, 1)] == [32]


@pytest.mark.parametrize(
    "change, why",
    [
        (dict(batch=0), "batch must be positive"),
        (dict(tokens=float("nan")), "tokens must be positive, got nan"),
        (dict(element_bytes=-2), "element_bytes must be positive"),
        (dict(p=3), "p = 3 does not divide its 32 query heads"),
    ],
)
def test_bad_input_is_refused(change, why):
    arguments = dict(model=model("llama-2-7b"), p=2, batch=1, tokens=1)
    with pytest.raises(ValueError, match=why):
        forward_collectives(**arguments | change)
