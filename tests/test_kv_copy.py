"""The copy of an eager cache: counted tensor by tensor, and twice the read of the same cache."""

import numpy as np
import pytest
import sympy

from tpbook.cache_crossover import cache_time
from tpbook.kv_copy import cache_copy_time
from tpbook.models import model
from tpbook.notation import symbols

CASE = dict(p=2, batch=3, context=7, tokens=1, kv_heads=8, head_dim=16, element_bytes=2)


def test_the_bytes_are_those_of_the_concatenated_arrays():
    shape = CASE["batch"], CASE["kv_heads"] // CASE["p"], CASE["context"], CASE["head_dim"]
    moved = 0
    for _ in ("keys", "values"):
        old, new = np.zeros(shape, "f2"), np.zeros(shape, "f2")[:, :, : CASE["tokens"]]
        grown = np.concatenate([old, new], axis=2)
        moved += old.nbytes + new.nbytes + grown.nbytes  # read, read, written
    assert cache_copy_time(**CASE, memory_bandwidth=1.0) == moved


def test_a_copy_takes_two_reads_of_the_longer_cache():
    p, batch, context, tokens, kv, head, size, rate = symbols(
        "p batch context tokens kv_heads head_dim element_bytes memory_bandwidth"
    )
    copy = cache_copy_time(p, batch, context, tokens, kv, head, size, rate)
    read = cache_time(p, batch, context + tokens, kv, head, size, rate)
    assert sympy.simplify(copy - 2 * read) == 0


def test_llama_moves_a_mebibyte_for_every_cached_token_of_every_sequence():
    llama = model("llama-2-7b")
    layer = cache_copy_time(1, 32, 511, 1, llama.kv_heads, llama.head_dim, 2, 1.0)
    assert llama.layers * layer == 32 * 512 * 2**20


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"p": 0}, "p"), ({"context": -1}, "context"), ({"tokens": 0}, "tokens")],
)
def test_bad_input_names_its_field(changed, field):
    with pytest.raises(ValueError, match=f"^{field} must"):
        cache_copy_time(**CASE | {"memory_bandwidth": 1.0} | changed)
