"""Amounts of a model and rates of a machine."""

import numpy as np
import pytest

from tpbook.models import model, parameters
from tpbook.published_machines import machine_basis, published_machine
from tpbook.serving_work import machine, model_work


def test_weights_are_all_matrices_but_the_embedding():
    rows = parameters(model("llama-2-7b"))
    small = rows["layers"] - 32 * rows["layer"] + rows["final_norm"] + 32 * rows["layer/norms"]
    expected = rows["total"] - rows["embedding/token"] - small
    work = model_work(model("llama-2-7b"))
    assert work.weight_bytes == 2 * expected
    assert work.token_flops == 2 * expected
    assert work.cache_bytes == 2 * 2 * 32 * 4096


def test_two_allreduces_per_layer():
    assert model_work(model("llama-2-70b")).collectives == 160


def test_wiring_decides_the_rate_at_each_degree():
    switched = machine("a100-80gb-sxm4")
    np.testing.assert_allclose(switched.bandwidth([2, 4, 8]), 230e9)
    meshed = published_machine("llm-inference-bench", "a100-40gb-sxm4")
    np.testing.assert_allclose(meshed.bandwidth([2, 4]), [230e9 / 3, 230e9])
    assert meshed.bandwidth(1) == np.inf
    assert published_machine("llm-inference-bench", "a100-40gb-sxm4", "switch").bandwidth(
        2
    ) == pytest.approx(230e9)


def test_a_part_of_a_card_is_one_device():
    whole, part = machine("mi250"), published_machine("llm-inference-bench", "mi250")
    assert part.memory_bandwidth == whole.memory_bandwidth / 2
    assert part.bandwidth(4) == part.bandwidth(2) / 4


def test_an_unlisted_machine_is_the_catalogue_s():
    assert published_machine("splitwise", "h100-sxm") == machine("h100-sxm")


def test_every_inferred_wiring_has_its_reason():
    for card in ("a100-40gb-sxm4", "h100-sxm", "mi250", "gaudi2"):
        status, reason = machine_basis("llm-inference-bench", card)
        assert status in ("stated", "inferred", "assumed") and reason.endswith(".")


def test_a_pair_joins_no_four():
    with pytest.raises(ValueError, match="joins two devices, got p = 4"):
        machine("a40").bandwidth(4)


def test_an_unknown_machine_is_refused():
    with pytest.raises(ValueError, match="unknown accelerator 'abacus'"):
        published_machine("llm-inference-bench", "abacus")


def test_elements_need_bytes():
    with pytest.raises(ValueError, match="element_bytes must be positive"):
        model_work(model("llama-2-7b"), 0)
