"""The fit finds what made the times, keeps to its bounds, and says what it does not know."""

import numpy as np
import pandas as pd
import pytest

from tpbook.models import model
from tpbook.serving_fit import (
    NAMES,
    PRIOR,
    UTILISATIONS,
    amounts,
    draws,
    fit,
    growth_ambiguity,
    left_out,
    spread,
    times,
    uncertainty,
)
from tpbook.serving_model import Parameters, request_terms
from tpbook.serving_work import machine, model_work

WORK, MACHINE = model_work(model("llama-2-7b")), machine("h100-sxm")
# The utilisations sit at the prior's means, so that the prior pulls nowhere.
TRUE = Parameters(*(PRIOR[name][0] for name in UTILISATIONS), 1e-8, 2e-3, 3e-4, 2e-5, 1e-5, 6e-6)


def grid(degrees=(1, 2), phases=("end-to-end",)):
    cells = [
        (p, batch, length, length, phase)
        for p in degrees
        for batch in (1, 16, 32, 64)
        for length in (128, 512, 2048)
        for phase in phases
    ]
    return pd.DataFrame(cells, columns=["p", "batch", "prompt_tokens", "output_tokens", "phase"])


def test_amounts_reproduce_the_form():
    table = grid((1, 2, 4, 8))
    p, batch, length = (table[name].to_numpy() for name in ("p", "batch", "prompt_tokens"))
    first, mean = request_terms(WORK, MACHINE, TRUE, p, batch, length, length)
    expected = sum(first.values()) + (length - 1) * sum(mean.values())
    np.testing.assert_allclose(times(amounts(table, WORK, MACHINE), TRUE), expected, rtol=1e-12)


def test_phases_are_parts_of_a_request():
    parts = grid((2,), ("prefill", "decode", "end-to-end"))
    seconds = times(amounts(parts, WORK, MACHINE), TRUE).reshape(-1, 3)
    lengths = parts["output_tokens"].to_numpy().reshape(-1, 3)[:, 0]
    np.testing.assert_allclose(seconds[:, 0] + (lengths - 1) * seconds[:, 1], seconds[:, 2])


def test_exact_times_give_back_the_parameters():
    table = grid()
    known = amounts(table, WORK, MACHINE)
    found = fit(known, times(known, TRUE))
    for name in NAMES:
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.02), name
    assert np.abs(left_out(known, times(known, TRUE), table["prompt_tokens"])).max() < 2e-3


def test_times_at_larger_degrees_follow_from_one_and_two_whatever_the_prior_says():
    weights = 0.78  # Far from the prior's mean: the fit shifts weights, constant and latency.
    other = Parameters(weights, *(getattr(TRUE, name) for name in NAMES[1:]))
    near, far = (amounts(grid(p), WORK, MACHINE) for p in ((1, 2), (4, 8)))
    found = fit(near, times(near, other))
    assert found.eta_weights > 0.8
    np.testing.assert_allclose(times(far, found), times(far, other), rtol=0.015)


def test_bounds_hold_against_times_that_break_them():
    known = amounts(grid(), WORK, MACHINE)
    found = fit(known, times(known, TRUE) / 5)
    for name in NAMES:
        value = getattr(found, name)
        assert 0 < value <= 1 if name in UTILISATIONS else value >= 0


def test_intervals_hold_the_parameters_and_widen_with_noise():
    table = grid()
    known = amounts(table, WORK, MACHINE)
    clean = times(known, TRUE)
    noisy = clean * np.random.default_rng(1).normal(1, 0.03, len(clean))
    ends, covariance = draws(known, noisy, fit(known, noisy), np.arange(len(table)))
    for name in ("eta_weights", "per_step", "alpha"):
        low, high = ends[name]
        assert low <= getattr(TRUE, name) <= high, name
    calm, _ = draws(known, clean, fit(known, clean), np.arange(len(table)))
    assert np.diff(calm["eta_cache"]) < np.diff(ends["eta_cache"])
    assert (spread(known, TRUE, covariance) < 0.05).all()


def test_growth_is_certain_where_it_was_measured():
    table = grid((1, 2, 4, 8))
    width = growth_ambiguity(amounts(table, WORK, MACHINE), TRUE, table["p"])
    p = table["p"].to_numpy()
    assert (width[p <= 2] == 0).all()
    assert 0 < width[p == 4].mean() < width[p == 8].mean()


def test_what_no_row_tells_stays_open():
    left = uncertainty(amounts(grid((1,)), WORK, MACHINE), np.ones(len(grid((1,)))))
    assert left["alpha"] == np.inf and left["gather"] == np.inf
    assert max(uncertainty(amounts(grid(), WORK, MACHINE), np.ones(len(grid()))).values()) < 0.3


def test_an_unknown_phase_is_refused():
    with pytest.raises(ValueError, match="unknown phase 'lunch'"):
        amounts(grid((1,), ("lunch",)), WORK, MACHINE)
