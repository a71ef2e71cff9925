"""What a batch takes from request to last token, term by term: the form behind every prediction.

A batch of B sequences is prefilled in one pass and then decoded token by token. Each term is a
physical amount over a datasheet rate times a utilisation, or a time that repeats. Amounts that
tensor parallelism divides are divided; whatever exists only beside other ranks grows as
g(p) = 2(p-1)/p, the law of ring traffic. With that law a latency per collective and a constant
per step are the same to any prediction, which is as well: one rank and two cannot tell them apart.
"""

from tpbook import checks
from tpbook.equation import equation
from tpbook.symbolic import sqrt, where_parallel


@equation("eq-rank-growth", symbol="growth")
def rank_growth(p):
    """Growth g = 2(p-1)/p of what only several ranks pay: zero alone, one at p = 2.

    p: degree. Raises ValueError for p < 1.
    """
    checks.degree(p=p)
    return 2 * (p - 1) / p


@equation("eq-decode-gemms", symbol="gemm_time")
def decode_gemm_time(
    p, batch, weight_bytes, token_flops, peak, memory_bandwidth, eta_weights, eta_compute
):
    """GEMM time of a decode step: sqrt((W/(p beta_m eta_w))^2 + (B F_1/(p pi eta_c))^2).

    The norm of the two roofs with exponent two: eq-norm-kernel without its start-up.
    p: degree. batch: sequences. weight_bytes: read once per step, B. token_flops: FLOP per token.
    peak: FLOP/s. memory_bandwidth: B/s. eta_weights, eta_compute: utilisations.
    Raises ValueError for p < 1 or a value that is not positive.
    """
    checks.degree(p=p)
    checks.positive(
        batch=batch,
        weight_bytes=weight_bytes,
        token_flops=token_flops,
        peak=peak,
        memory_bandwidth=memory_bandwidth,
        eta_weights=eta_weights,
        eta_compute=eta_compute,
    )
    memory = weight_bytes / (memory_bandwidth * eta_weights)
    compute = batch * token_flops / (peak * eta_compute)
    return sqrt(memory**2 + compute**2) / p


@equation("eq-decode-cache", symbol="cache_step_time")
def cache_step_time(batch, context, token_cache, memory_bandwidth, eta_cache, layers, walk):
    """Cache time of a decode step: sqrt((B C k/(beta_m eta_k))^2 + (L C tau)^2).

    One block of threads walks along each head's cache, tau seconds per token and layer; with few
    heads and sequences the walk is longer than the reading, and no degree shortens it.
    context: tokens cached per sequence. token_cache: bytes of one token on one rank, B.
    layers: count. walk: s. Other arguments and errors as decode_gemm_time; walk may be zero.
    """
    checks.nonnegative(context=context, walk=walk)
    checks.positive(
        batch=batch,
        token_cache=token_cache,
        memory_bandwidth=memory_bandwidth,
        eta_cache=eta_cache,
        layers=layers,
    )
    reading = batch * token_cache / (memory_bandwidth * eta_cache)
    return context * sqrt(reading**2 + (layers * walk) ** 2)


@equation("eq-pass-communication", symbol="communication_time")
def pass_communication_time(p, collectives, message, alpha, beta):
    """Communication of one pass: K g(p) (alpha + M/beta), with g(p) = 2(p-1)/p.

    K ring all-reduces whose latency counts as if it were bytes. collectives: K. message: B.
    alpha: s per collective at p = 2. beta: B/s per direction at this degree.
    Raises ValueError for p < 1, a negative amount or a bandwidth that is not positive.
    """
    checks.nonnegative(collectives=collectives, message=message, alpha=alpha)
    checks.positive(beta=beta)
    return collectives * rank_growth(p) * (alpha + message / beta)


@equation("eq-step-overhead", symbol="overhead_time")
def step_overhead_time(p, batch, per_step, several, per_sequence, gather):
    """Overhead of a pass: c_0 + c_+ [B > 1] + B (c_1 + g(p) c_g).

    per_step: c_0, every pass, s. several: c_+, added once where B > 1, s. per_sequence: c_1, each
    sequence, s. gather: c_g, each sequence whose result is gathered from ranks, s.
    On symbols B stands for a batch above one. Raises ValueError for p < 1, B < 1 or a negative
    time.
    """
    checks.degree(batch=batch)
    checks.nonnegative(per_step=per_step, several=several, per_sequence=per_sequence, gather=gather)
    return (
        per_step + where_parallel(batch, several) + batch * (per_sequence + rank_growth(p) * gather)
    )


@equation("eq-decode-step", symbol="tpot")
def decode_step_time(gemm_time, cache_step_time, overhead_time, communication_time):
    """TPOT: the sum of GEMMs, cache, overhead and communication of one decode step, s.

    Raises ValueError for a negative time.
    """
    checks.nonnegative(
        gemm_time=gemm_time,
        cache_step_time=cache_step_time,
        overhead_time=overhead_time,
        communication_time=communication_time,
    )
    return gemm_time + cache_step_time + overhead_time + communication_time


@equation("eq-prefill-pass", symbol="ttft")
def prefill_pass_time(
    p,
    flops,
    peak,
    eta_prefill,
    weight_bytes,
    memory_bandwidth,
    eta_weights,
    overhead_time,
    communication_time,
):
    """TTFT: F/(p pi eta_p) + W/(p beta_m eta_w) + overhead + the prefill's communication.

    flops: of all prompts of the batch, FLOP. eta_prefill: utilisation. overhead_time: that of
    one pass, eq-step-overhead, s. communication_time: s.
    Other arguments and errors as decode_gemm_time.
    """
    checks.degree(p=p)
    checks.positive(
        flops=flops,
        peak=peak,
        eta_prefill=eta_prefill,
        weight_bytes=weight_bytes,
        memory_bandwidth=memory_bandwidth,
        eta_weights=eta_weights,
    )
    checks.nonnegative(overhead_time=overhead_time, communication_time=communication_time)
    compute = flops / (peak * eta_prefill)
    weights = weight_bytes / (memory_bandwidth * eta_weights)
    return (compute + weights) / p + overhead_time + communication_time
