"""The fit finds what made the times and keeps to its bounds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tpbook.models import model
from tpbook.serving_amounts import NAMES, UTILISATIONS, amounts, times
from tpbook.serving_fit import PRIOR, TYPICAL, fit, left_out
from tpbook.serving_model import Parameters
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


def test_what_no_row_tells_stays_at_its_typical_value():
    known = amounts(grid((1,)), WORK, MACHINE)
    found = fit(known, times(known, TRUE))
    assert found.alpha == pytest.approx(TYPICAL["alpha"], rel=1e-3)
    assert found.gather == pytest.approx(TYPICAL["gather"], rel=1e-3)


def test_what_the_rows_tell_is_not_held_at_its_typical_value():
    known = amounts(grid(), WORK, MACHINE)
    other = replace(TRUE, per_step=20 * TYPICAL["per_step"], alpha=0.0)
    found = fit(known, times(known, other))
    assert found.per_step == pytest.approx(other.per_step, rel=0.01)
    assert found.alpha < 0.1 * TYPICAL["alpha"]
