"""Observed terms keep the step's time, and compare with the prediction term by term."""

from dataclasses import replace

import numpy as np
import pytest

from tpbook import apriori, steps
from tpbook import apriori_observed as ao
from tpbook.models import model
from tpbook.systems import load_system

LLAMA = model("llama-2-7b")
A40 = load_system("quad-a40-hoststaged")
L40S = load_system("quad-l40s-pcie")
LAWS = ao.network_laws(A40, LLAMA)


def alpha(p):
    return 10e-6


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_terms_add_up_to_the_step(phase):
    context = ao.phases(A40)[phase]
    terms = ao.observed_terms(A40, LLAMA, phase, context, LAWS)
    for (p, batch), row in terms.iterrows():
        assert row["total"] == pytest.approx(steps.step_time(A40, p, batch, phase, context))
    assert (terms.loc[1, ["latency", "bandwidth"]] == 0).all(axis=None)
    assert (terms.loc[2:, ["latency", "bandwidth"]] > 0).all(axis=None)


def test_without_an_all_reduce_table_the_communication_stays_whole():
    bare = replace(A40, allreduce=None, methods={})
    assert ao.communication_method(bare, LLAMA) is None
    assert ao.network_laws(bare, LLAMA) == {}
    terms = ao.observed_terms(bare, LLAMA, "decode", 512, {})
    whole = ao.observed_terms(A40, LLAMA, "decode", 512, LAWS)
    np.testing.assert_allclose(terms["total"], whole["total"])
    predicted = apriori.predict_steps(bare, LLAMA, "decode", 512, alpha)
    compared = ao.same_terms(predicted, terms)
    np.testing.assert_allclose(
        compared["communication"], predicted["latency"] + predicted["bandwidth"]
    )


def test_what_nobody_observed_is_left_out_on_both_sides():
    observed = ao.observed_terms(L40S, LLAMA, "decode", 512, ao.network_laws(L40S, LLAMA))
    predicted = apriori.predict_steps(L40S, LLAMA, "decode", 512, alpha)
    compared = ao.same_terms(predicted, observed)
    assert list(compared) == list(observed) and "other" not in compared
    left = predicted["total"] - predicted["other"] - predicted["kv_copy"]
    np.testing.assert_allclose(compared["total"], left)


def test_a_system_of_one_card_needs_no_law():
    alone = replace(A40, steps=A40.steps.query("p == 1"), allreduce=None, methods={})
    terms = ao.observed_terms(alone, LLAMA, "decode", 512, ao.network_laws(alone, LLAMA))
    assert (terms["latency"] + terms["bandwidth"] == 0).all()


def test_a_system_without_steps_is_replaced():
    bare = replace(A40, steps=None)
    assert ao.phases(bare) == {}
    assert ao.with_steps(bare, "quad-l40s-pcie").id == "quad-l40s-pcie"
    assert ao.with_steps(A40, "quad-l40s-pcie") is A40


def test_an_unknown_context_is_refused():
    with pytest.raises(ValueError, match="no decode steps at context 7"):
        ao.observed_terms(A40, LLAMA, "decode", 7, LAWS)
