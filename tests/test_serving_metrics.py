"""Laws of what a user sees: latency, the two throughputs, the speed-up of a sum."""

import numpy as np
import pytest

from tpbook import serving_metrics as metrics
from tpbook.amdahl import speedup


def test_the_latency_is_the_sum_over_the_tokens():
    for output in (1, 2, 7):
        waits = [0.3] + [0.02] * (output - 1)
        assert metrics.request_latency(output, 0.3, 0.02) == pytest.approx(sum(waits))


def test_throughputs_differ_by_the_share_of_the_output():
    out = metrics.throughput(8, 100, 2.5)
    both = metrics.total_throughput(8, 300, 100, 2.5)
    assert out == pytest.approx(8 * 100 / 2.5)
    assert both == pytest.approx(4 * out)
    assert metrics.total_throughput(8, 0, 100, 2.5) == out  # no prompt, no difference


def test_the_speedup_of_the_latency_lies_between_those_of_its_parts():
    generator = np.random.default_rng(41)
    ttft_one, tpot_one, ttft, tpot = generator.uniform(0.01, 1, (4, 200))
    parts = np.array([speedup(ttft_one, ttft), speedup(tpot_one, tpot)])
    for output in (1, 2, 50, 10**6):
        whole = metrics.latency_speedup(output, ttft_one, tpot_one, ttft, tpot)
        assert np.all(whole <= parts.max(0) * (1 + 1e-12))
        assert np.all(whole >= parts.min(0) * (1 - 1e-12))
    np.testing.assert_allclose(whole, parts[1], rtol=1e-3)  # a long answer is all decode
    one = metrics.latency_speedup(1, ttft_one, tpot_one, ttft, tpot)
    np.testing.assert_allclose(one, parts[0])  # one token is all prefill


def test_the_latencies_are_equal_at_the_break_even_output():
    one, many = (0.08, 0.025), (0.3, 0.01)
    output = metrics.break_even_output(*one, *many)
    assert output > 1
    latency = metrics.request_latency
    assert latency(output, *one) == pytest.approx(latency(output, *many))
    assert latency(output + 1, *one) > latency(output + 1, *many)
    # Where both phases gain, one token is long enough.
    assert metrics.break_even_output(*one, 0.04, 0.01) < 1


@pytest.mark.parametrize(
    "gain, p, spread, word",
    [
        (4.0, 4, 0.03, "almost linearly"),
        (3.5, 4, 0.03, "sublinearly"),
        (1.03, 4, 0.03, "not at all"),
        (0.97, 4, 0.03, "not at all"),
        (1.03, 4, 0.0, "sublinearly"),
        (0.5, 2, 0.03, "regresses"),
        (2.4, 2, 0.03, "almost linearly"),
    ],
)
def test_a_speedup_becomes_a_word(gain, p, spread, word):
    assert metrics.scaling(gain, p, spread) == word


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: metrics.request_latency(0, 1, 1), "output_tokens"),
        (lambda: metrics.request_latency(2, -1, 1), "ttft"),
        (lambda: metrics.throughput(8, 100, 0), "latency"),
        (lambda: metrics.total_throughput(8, -1, 100, 1), "prompt_tokens"),
        (lambda: metrics.break_even_output(1.0, 0.01, 1.0, 0.02), "decode gains nothing"),
        (lambda: metrics.scaling(1.0, 1, 0.03), "p must be above 1"),
        (lambda: metrics.scaling(1.0, 2, -0.03), "spread"),
        (lambda: metrics.scaling(float("nan"), 2, 0.03), "speedup"),
    ],
)
def test_bad_values_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
