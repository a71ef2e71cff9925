"""The sweep gives what predict gives, covers every configuration once, and never needs more room."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from tpbook import sweep as module
from tpbook.calibrate import uncalibrated
from tpbook.models import model
from tpbook.predict import predict
from tpbook.serving_fit import PRIOR, TYPICAL
from tpbook.serving_model import Parameters
from tpbook.serving_work import machine
from tpbook.sweep import sweep

CARD = "a100-80gb-sxm4"
FOUND = Parameters(**{name: mean for name, (mean, _) in PRIOR.items()}, **TYPICAL)
MEASURES = ("ttft", "tpot", "latency", "throughput")
SEVERAL_BLOCKS = [64, 1000, 2**15]


def whole(chunks, shape):
    """All chunks of a sweep put together, in the order of the grid."""
    out = {name: np.full(shape, np.nan) for name in MEASURES}
    axes = {}
    for chunk in chunks:
        for name in ("batch", "prompt", "output"):
            known = axes.setdefault(name, {})
            for value in getattr(chunk, name).tolist():
                known.setdefault(value, len(known))
        where = np.ix_(
            range(len(chunk.p)),
            *([axes[name][v] for v in getattr(chunk, name).tolist()] for name in axes),
        )
        for name in MEASURES:
            assert np.isnan(out[name][where]).all()
            out[name][where] = getattr(chunk, name)
    return out


@pytest.mark.parametrize("id", ["llama-2-7b", "llama-2-70b", "mistral-7b-v0.1"])
def test_random_configurations_are_those_of_predict(id):
    geometry, device = model(id), machine(CARD)
    calibration = uncalibrated(CARD, id)
    random = np.random.default_rng(5)
    axes = [[1, 2, 4, 8], [1, *random.integers(2, 300, 3)]]
    axes += [random.integers(1, 9000, 4), random.integers(2, 9000, 4)]
    found = whole(sweep(calibration.parameters, geometry, device, *axes), (4, 4, 4, 4))
    for place in random.integers(0, 4, (25, 4)):
        values = (int(axis[i]) for axis, i in zip(axes, place))
        expected = predict(calibration, geometry, device, CARD, *values)
        for name in MEASURES:
            assert found[name][tuple(place)] == pytest.approx(
                getattr(expected, name).value, rel=1e-12
            )


@pytest.mark.parametrize("size", SEVERAL_BLOCKS)
def test_every_configuration_comes_once_whatever_the_block(size, monkeypatch):
    axes = [1, 2, 8], np.arange(1, 12), np.arange(1, 10) * 100, np.arange(2, 9) * 50
    shape = tuple(len(axis) for axis in axes)
    at_once = whole(sweep(FOUND, model("llama-2-7b"), machine(CARD), *axes), shape)
    monkeypatch.setattr(module, "CHUNK", size)
    chunks = list(sweep(FOUND, model("llama-2-7b"), machine(CARD), *axes))
    assert max(chunk.latency.size for chunk in chunks) <= size
    assert sum(chunk.latency.size for chunk in chunks) == np.prod(shape)
    pieces = whole(sweep(FOUND, model("llama-2-7b"), machine(CARD), *axes), shape)
    for name in MEASURES:
        np.testing.assert_array_equal(pieces[name], at_once[name])


def peak(batches: int) -> int:
    axes = [1, 2, 4, 8], np.arange(1, batches + 1), np.arange(1, 101) * 10, np.arange(2, 102)
    chunks = sweep(FOUND, model("llama-2-7b"), machine(CARD), *axes)
    tracemalloc.start()
    try:
        for _ in chunks:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_the_grid_needs_no_more_memory():
    small, large = peak(10), peak(100)  # 0.4 and 4 million configurations
    assert large < 1.02 * small
    assert large < 4e6


def test_the_fastest_degree_is_the_one_with_the_shortest_latency():
    axes = [1, 2, 4, 8], [1, 64], [16, 4000], [2, 500]
    slow = replace(FOUND, alpha=1e-3)
    for found in (FOUND, slow):
        (chunk,) = sweep(found, model("llama-2-7b"), machine(CARD), *axes)
        best = chunk.fastest_degree()
        assert best.shape == (2, 2, 2)
        for place in np.ndindex(best.shape):
            latency = dict(zip(chunk.p.tolist(), chunk.latency[(slice(None), *place)]))
            assert best[place] == min(latency, key=latency.get)
    assert best[0, 0, 1] == 1  # a millisecond per collective: one device is fastest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": [3]}, "does not divide"),
        ({"p": []}, "p must be a list of one value or more"),
        ({"batch": [0]}, "batch"),
        ({"prompt": [1.5]}, "prompt must be"),
        ({"output": [1]}, "output"),
        ({"output": 128}, "output must be a list"),
    ],
)
def test_a_bad_axis_is_refused_before_the_first_chunk(change, message):
    axes = {"p": [1], "batch": [1], "prompt": [100], "output": [10]} | change
    with pytest.raises(ValueError, match=message):
        sweep(FOUND, model("llama-2-7b"), machine(CARD), **axes)
