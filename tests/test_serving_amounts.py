"""Amounts reproduce the form, whole or in phases."""

import numpy as np
import pandas as pd
import pytest

from tpbook.models import model
from tpbook.serving_amounts import UTILISATIONS, amounts, times
from tpbook.serving_fit import PRIOR
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


def test_an_unknown_phase_is_refused():
    with pytest.raises(ValueError, match="unknown phase 'lunch'"):
        amounts(grid((1,), ("lunch",)), WORK, MACHINE)
