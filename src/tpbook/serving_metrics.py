"""What a user of a served model sees, and how its measures hang together.

The measures themselves come from a stopwatch or from composed steps (tpbook.steps).
"""

import numpy as np

from tpbook import checks
from tpbook.equation import equation
from tpbook.symbolic import is_symbolic

# Share of the ideal speed-up from which on this book says "almost linearly".
NEARLY = 0.9


@equation("eq-latency", symbol="latency")
def request_latency(output_tokens, ttft, tpot):
    """Latency TTFT + (n_out - 1) TPOT of a batch that starts and ends together.

    output_tokens: tokens generated for each sequence; the first one ends the prefill. ttft, tpot: s.
    Raises ValueError for less than one output token or a time that is not positive.
    """
    checks.degree(output_tokens=output_tokens)
    checks.positive(ttft=ttft, tpot=tpot)
    return ttft + (output_tokens - 1) * tpot


@equation("eq-throughput", symbol="throughput")
def throughput(batch, output_tokens, latency):
    """Throughput B n_out / latency: output tokens of all sequences over the whole latency (1/s).

    batch: sequences. output_tokens: of each sequence. latency: s.
    Raises ValueError for a value that is not positive.
    """
    checks.positive(batch=batch, output_tokens=output_tokens, latency=latency)
    return batch * output_tokens / latency


@equation("eq-total-throughput", symbol="total_throughput")
def total_throughput(batch, prompt_tokens, output_tokens, latency):
    """The other convention B (n_in + n_out) / latency, which counts the prompt's tokens too (1/s).

    prompt_tokens: of each sequence, zero or more. Other arguments and errors as throughput.
    Source: LLM-Inference-Bench prints this one.
    """
    checks.nonnegative(prompt_tokens=prompt_tokens)
    checks.positive(batch=batch, output_tokens=output_tokens, latency=latency)
    return batch * (prompt_tokens + output_tokens) / latency


@equation("eq-latency-speedup", symbol="speedup")
def latency_speedup(output_tokens, ttft_one, tpot_one, ttft, tpot):
    """Speed-up of the whole latency from those of its two parts.

    It is their mean, each weighted by the part's share of the latency on p ranks.
    ttft_one, tpot_one: s on one rank. Other arguments and errors as request_latency.
    """
    checks.positive(ttft_one=ttft_one, tpot_one=tpot_one)
    return request_latency(output_tokens, ttft_one, tpot_one) / request_latency(
        output_tokens, ttft, tpot
    )


@equation("eq-break-even-output", symbol="break_even_output")
def break_even_output(ttft_one, tpot_one, ttft, tpot):
    """Answer length 1 + (TTFT - TTFT_1) / (TPOT_1 - TPOT) at which p ranks are as fast as one.

    Longer answers are faster on p ranks. Below 1 every answer is. ttft_one, tpot_one: s on one
    rank. ttft, tpot: s on p ranks. Raises ValueError for a time that is not positive, and where
    decode gains nothing, so that no answer is long enough.
    """
    checks.positive(ttft_one=ttft_one, tpot_one=tpot_one, ttft=ttft, tpot=tpot)
    gain = tpot_one - tpot
    if not is_symbolic(gain) and not np.all(gain > 0):
        raise ValueError(
            f"decode gains nothing from the ranks, so no answer is long enough: TPOT_1 - TPOT is {gain} s"
        )
    return 1 + (ttft - ttft_one) / gain


def scaling(speedup, p, spread) -> str:
    """How a time scales at degree p: "almost linearly", "sublinearly", "not at all", "regresses".

    speedup: T_1/T_p. spread: relative half-width of each of the two times; a speed-up within
    sqrt(2) spread of one counts as none. Almost linearly: at least NEARLY of p.
    Raises ValueError for p <= 1, a speed-up that is not positive or a negative spread.
    """
    checks.several(p=p)
    checks.positive(speedup=speedup)
    checks.nonnegative(spread=spread)
    noise = 2**0.5 * spread * speedup
    if abs(speedup - 1) <= noise:
        return "not at all"
    if speedup < 1:
        return "regresses"
    return "almost linearly" if speedup >= NEARLY * p else "sublinearly"
