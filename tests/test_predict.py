"""A prediction adds up, knows its limits, and says why more ranks may be slower."""

from dataclasses import replace

import pytest

from tpbook.calibrate import home, named, uncalibrated
from tpbook.models import model
from tpbook.predict import predict
from tpbook.serving_work import machine

VLLM = named("llm-inference-bench:llama-2-7b:h100-sxm:vLLM", (1, 2))
SEVEN = model("llama-2-7b")


def asked(p=4, batch=16, prompt=1024, output=1024, **change):
    given = dict(calibration=VLLM, geometry=SEVEN, device=home(VLLM), card="h100-sxm") | change
    return predict(**given, p=p, batch=batch, prompt=prompt, output=output)


def test_the_parts_add_up():
    found = asked()
    assert found.latency.value == pytest.approx(found.ttft.value + 1023 * found.tpot.value)
    assert found.throughput.value == pytest.approx(16 * 1024 / found.latency.value)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.throughput.low == pytest.approx(16 * 1024 / found.latency.high)


def test_intervals_bracket_and_widen_away_from_home():
    home_width, far_width, moved_width = (
        (found.latency.high - found.latency.low) / found.latency.value
        for found in (
            asked(p=2),
            asked(p=4),
            asked(p=2, device=machine("h200-sxm"), card="h200-sxm"),
        )
    )
    assert home_width < far_width and home_width < moved_width
    found = asked()
    for estimate in (found.ttft, found.tpot, found.latency, found.throughput):
        assert estimate.low < estimate.value < estimate.high


def test_inside_its_domain_a_prediction_warns_of_nothing():
    assert asked(p=2).warnings == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"p": 4}, "p = 4 lies outside the calibrated 1 to 2"),
        ({"batch": 200}, "batch = 200 lies outside"),
        ({"prompt": 8000}, "prompt = 8000 lies outside"),
        ({"batch": 64, "prompt": 2048, "output": 2048, "p": 2}, "does not fit"),
        ({"geometry": model("llama-3.1-8b")}, "calibrated on another model, llama-2-7b"),
        ({"card": "h200-sxm", "device": machine("h200-sxm")}, "carried over from h100-sxm"),
    ],
)
def test_outside_its_domain_it_says_so(change, says):
    assert any(says in warning for warning in asked(**change).warnings)


def test_an_error_as_large_as_the_value_leaves_no_interval():
    found = asked(calibration=replace(VLLM, noise=1.0))
    for estimate in (found.ttft, found.tpot, found.latency, found.throughput):
        assert estimate.low is None and estimate.high is None
    assert any("no interval is given" in warning for warning in found.warnings)


def test_more_ranks_than_a_server_holds_are_warned_of():
    def warned(card, p):
        nothing = uncalibrated(card, "llama-2-7b")
        found = asked(p=p, calibration=nothing, device=machine(card), card=card)
        return any("one server" in warning for warning in found.warnings)

    assert warned("h100-sxm", 16) and not warned("h100-sxm", 8)
    assert not warned("tpu-v5e", 16)


def test_nothing_calibrated_has_no_interval():
    found = asked(calibration=uncalibrated("h100-sxm", "llama-2-7b"))
    assert found.latency.low is None and found.throughput.high is None
    assert "nothing was calibrated" in found.warnings[0]


def test_a_slow_fabric_is_named_where_it_makes_two_ranks_slower():
    staged = named("system:quad-a40-hoststaged")
    found = predict(staged, SEVEN, home(staged), "a40", 2, 32, 1024, 2)
    assert found.slower.startswith("slower than one device: collective traffic adds")
    assert predict(staged, SEVEN, home(staged), "a40", 1, 32, 1024, 2).slower == ""
    assert asked().slower == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"p": 3}, "p = 3 does not divide"),
        ({"p": 0}, "p must be at least 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"batch": 1.5}, "batch must be whole"),
        ({"output": 1}, "output must be above 1"),
        ({"p": 8}, "p must be at most 4"),
        ({"p": 4, "device": machine("a40")}, "joins two devices"),
    ],
)
def test_what_cannot_run_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        asked(**change)


def test_shares_of_whole_requests_come_with_their_caveat():
    assert any("eta_weights" in note for note in asked().notes)
    staged = named("system:quad-a40-hoststaged")
    found = predict(staged, SEVEN, home(staged), "a40", 2, 1, 1024, 2)
    assert not any("eta_weights" in note for note in found.notes)
