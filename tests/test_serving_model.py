"""The form evaluated agrees with the labelled equations it is made of."""

from dataclasses import replace

import numpy as np
import pytest

from tpbook.models import model
from tpbook.serving_metrics import request_latency
from tpbook.serving_model import Parameters, decode_terms, prefill_terms, request_terms
from tpbook.serving_terms import (
    cache_step_time,
    decode_gemm_time,
    decode_step_time,
    pass_communication_time,
    prefill_pass_time,
    step_overhead_time,
)
from tpbook.serving_work import machine, model_work

FOUND = Parameters(0.9, 0.6, 0.8, 0.55, 1e-8, 2e-3, 3e-4, 2e-5, 1e-5, 6e-6)
WORK, MACHINE = model_work(model("llama-2-70b")), machine("h100-sxm")


@pytest.mark.parametrize(("p", "batch"), [(1, 1), (2, 16), (8, 64)])
def test_terms_add_up_to_the_equations(p, batch):
    context, beta = 1536, MACHINE.bandwidth(p)
    overhead = step_overhead_time(p, batch, 2e-3, 3e-4, 2e-5, 1e-5)
    rates = MACHINE.peak, MACHINE.memory_bandwidth, 0.9, 0.6
    message = batch * WORK.hidden * 2
    step = decode_step_time(
        decode_gemm_time(p, batch, WORK.weight_bytes, WORK.token_flops, *rates),
        cache_step_time(
            batch, context, WORK.cache_bytes / min(p, 8), MACHINE.memory_bandwidth, 0.8, 80, 1e-8
        ),
        overhead,
        pass_communication_time(p, 160, message, 6e-6, beta),
    )
    assert sum(decode_terms(WORK, MACHINE, FOUND, p, batch, context).values()) == pytest.approx(
        step
    )

    tokens = 1024
    flops = batch * (tokens * (WORK.token_flops - WORK.head_flops) + WORK.head_flops)
    flops += batch * WORK.prompt_flops * tokens**2
    first = prefill_pass_time(
        p,
        flops,
        MACHINE.peak,
        0.55,
        WORK.weight_bytes,
        MACHINE.memory_bandwidth,
        0.9,
        overhead,
        pass_communication_time(p, 160, message * tokens, 6e-6, beta),
    )
    terms = prefill_terms(WORK, MACHINE, FOUND, p, batch, tokens)
    assert sum(terms.values()) == pytest.approx(first)


def test_arrays_give_what_numbers_give():
    p, batch, prompt, output = np.array([[1, 2, 4, 8], [1, 4, 16, 64], [512] * 4, [7] * 4])
    parts = request_terms(WORK, MACHINE, FOUND, p, batch, prompt, output)
    ttft, tpot = (sum(part.values()) for part in parts)
    latency = request_latency(output, ttft, tpot)
    for i in range(4):
        alone = request_terms(WORK, MACHINE, FOUND, p[i], batch[i], prompt[i], output[i])
        first, mean = (sum(part.values()) for part in alone)
        assert latency[i] == pytest.approx(first + 6 * mean)


def test_no_rank_holds_less_than_one_kv_head():
    eight, sixteen = (decode_terms(WORK, MACHINE, FOUND, p, 64, 2048)["KV cache"] for p in (8, 16))
    assert eight == sixteen


def test_attention_looks_no_further_than_its_window():
    windowed = replace(WORK, window=1000)
    near, far = (decode_terms(windowed, MACHINE, FOUND, 1, 4, c)["KV cache"] for c in (1000, 9000))
    assert near == far


def test_a_degree_the_network_lacks_is_refused():
    with pytest.raises(ValueError, match="must be at most 8"):
        decode_terms(WORK, machine("mi300x"), FOUND, 16, 1, 100)
