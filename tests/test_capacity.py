"""The memory filter: counted from the geometry, and what it refuses."""

import pytest

from tpbook.capacity import bytes_needed, fits
from tpbook.models import model

LLAMA = model("llama-2-7b")


def test_an_empty_cache_leaves_the_weights():
    assert bytes_needed(LLAMA, 1, 8, 0) == 2 * 6_738_415_616


def test_a_token_of_the_small_llama_takes_half_a_mebibyte():
    grown = bytes_needed(LLAMA, 1, 3, 7) - bytes_needed(LLAMA, 1, 3, 6)
    assert grown == 3 * 2**19


@pytest.mark.parametrize("p", [2, 4, 8])
def test_ranks_share_evenly(p):
    assert p * bytes_needed(LLAMA, p, 16, 512) == bytes_needed(LLAMA, 1, 16, 512)


def test_the_border_is_nine_tenths_of_the_memory():
    border = bytes_needed(LLAMA, 1, 1, 100) / 0.9
    assert fits(LLAMA, 1, 1, 100, 1.001 * border)
    assert not fits(LLAMA, 1, 1, 100, 0.999 * border)


@pytest.mark.parametrize(
    "change, message",
    [({"p": 0}, "p must be"), ({"batch": 0}, "batch must be"), ({"memory_bytes": -1}, "memory_b")],
)
def test_bad_sizes_are_refused(change, message):
    sizes = {"p": 1, "batch": 1, "tokens": 1, "memory_bytes": 80e9} | change
    with pytest.raises(ValueError, match=message):
        fits(LLAMA, **sizes)
