"""The serving form evaluated: parameters, a model and a machine in, seconds by term out."""

from dataclasses import dataclass

import numpy as np

from tpbook.serving_terms import (
    cache_step_time,
    decode_gemm_time,
    pass_communication_time,
    rank_growth,
)
from tpbook.serving_work import Machine, Work
from tpbook.symbolic import where_parallel

TERMS = ("weights and GEMMs", "prefill compute", "KV cache", "per step", "per sequence")
TERMS += ("gather", "collective latency", "collective traffic")


@dataclass(frozen=True)
class Parameters:
    """What a calibration finds: four utilisations, then times in seconds (tpbook.serving_terms)."""

    eta_weights: float
    eta_compute: float
    eta_cache: float
    eta_prefill: float
    walk: float
    per_step: float
    several: float
    per_sequence: float
    gather: float
    alpha: float


def prefill_terms(work: Work, machine: Machine, found: Parameters, p, batch, prompt) -> dict:
    """Seconds of one prefill pass by term, eq-prefill-pass taken apart; arrays broadcast.

    p: degree. batch: sequences. prompt: tokens of each.
    """
    flops = batch * (prompt * (work.token_flops - work.head_flops) + work.head_flops)
    flops = flops + batch * work.prompt_flops * prompt**2
    message = batch * prompt * work.hidden * work.element_bytes
    weights = work.weight_bytes / (machine.memory_bandwidth * found.eta_weights * p)
    return {
        "weights and GEMMs": weights,
        "prefill compute": flops / (p * machine.peak * found.eta_prefill),
        **_overheads(found, p, batch, weights),
        **_communication(work, machine, found, p, message),
    }


def decode_terms(work: Work, machine: Machine, found: Parameters, p, batch, context) -> dict:
    """Seconds of one decode step by term, eq-decode-step taken apart; arrays broadcast.

    context: tokens already cached per sequence, the mean over the steps for a mean step.
    """
    rates = machine.peak, machine.memory_bandwidth, found.eta_weights, found.eta_compute
    gemms = decode_gemm_time(p, batch, work.weight_bytes, work.token_flops, *rates)
    if work.window is not None:
        context = np.minimum(context, work.window)
    token_cache = work.cache_bytes / np.minimum(p, work.kv_heads)
    cache = cache_step_time(
        batch,
        context,
        token_cache,
        machine.memory_bandwidth,
        found.eta_cache,
        work.layers,
        found.walk,
    )
    message = batch * work.hidden * work.element_bytes
    return {
        "weights and GEMMs": gemms,
        "KV cache": cache,
        **_overheads(found, p, batch, gemms),
        **_communication(work, machine, found, p, message),
    }


def request_terms(
    work: Work, machine: Machine, found: Parameters, p, batch, prompt, output
) -> tuple[dict, dict]:
    """Terms of the prefill and of the mean decode step, in s; arrays broadcast.

    The mean step reads a cache of prompt + output/2 tokens. TTFT is the sum of the first, TPOT
    that of the second, and the latency TTFT + (output - 1) TPOT (eq-latency).
    """
    prefill = prefill_terms(work, machine, found, p, batch, prompt)
    return prefill, decode_terms(work, machine, found, p, batch, prompt + output / 2)


def _overheads(found: Parameters, p, batch, like) -> dict:
    """eq-step-overhead taken apart; like: an array of the result's shape."""
    return {
        "per step": found.per_step + where_parallel(batch, found.several) + 0 * like,
        "per sequence": batch * found.per_sequence,
        "gather": batch * rank_growth(p) * found.gather,
    }


def _communication(work: Work, machine: Machine, found: Parameters, p, message) -> dict:
    beta = machine.bandwidth(p)
    whole = pass_communication_time(p, work.collectives, message, found.alpha, beta)
    latency = work.collectives * rank_growth(p) * found.alpha
    return {"collective latency": latency, "collective traffic": whole - latency}
