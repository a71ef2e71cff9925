"""Intervals hold what made the times; what no row tells stays open."""

import numpy as np
import pandas as pd

from tpbook.models import model
from tpbook.serving_amounts import UTILISATIONS, amounts, times
from tpbook.serving_fit import PRIOR, fit
from tpbook.serving_model import Parameters
from tpbook.serving_uncertainty import draws, growth_ambiguity, spread, uncertainty
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
