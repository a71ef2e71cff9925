"""The record of forms: the chosen one is the one that accuracy judges, and changes do what they say."""

import numpy as np
import pytest

from tpbook.accuracy import main_cells, peer_cells
from tpbook.accuracy_sets import BENCH, MAIN_MODEL, select, setting
from tpbook.serving_amounts import NAMES, amounts, times
from tpbook.serving_forms import CHOSEN_ON, FORMS, growing, judge_form, norm, without
from tpbook.serving_model import Parameters
from tpbook.serving_terms import rank_growth

TABLE = select(BENCH, MAIN_MODEL, *CHOSEN_ON)
P = TABLE["p"].to_numpy(float)
KNOWN = amounts(TABLE, *setting(BENCH, MAIN_MODEL, CHOSEN_ON[0]))
FOUND = Parameters(0.9, 0.6, 0.8, 0.55, 1e-8, 2e-3, 3e-4, 2e-5, 1e-5, 6e-6)


def test_the_first_form_is_the_one_that_is_judged():
    found = judge_form(FORMS[0])
    assert found["main"] == pytest.approx(main_cells()["mape"])
    assert found["bias"] == pytest.approx(main_cells()["bias"])
    assert found["peers"] == pytest.approx(peer_cells()["mape"])


def test_names_are_unique():
    assert len({form.name for form in FORMS}) == len(FORMS)


@pytest.mark.parametrize("name", NAMES[4:])
def test_a_term_left_out_is_a_parameter_at_zero(name):
    gone = times(without(name)(KNOWN, P), FOUND)
    zero = Parameters(*(0.0 if each == name else getattr(FOUND, each) for each in NAMES))
    np.testing.assert_allclose(gone, times(KNOWN, zero), rtol=1e-12)


def test_norms_fall_from_the_sum_to_the_maximum():
    seconds = [times(norm(power)(KNOWN, P), FOUND) for power in (1.0, 2.0, 30.0)]
    assert (seconds[0] > seconds[1]).all() and (seconds[1] > seconds[2]).all()


def test_laws_of_growth_agree_up_to_two_ranks():
    other = times(growing(np.log2, np.log2)(KNOWN, P), FOUND)
    same = times(KNOWN, FOUND)
    np.testing.assert_allclose(other[P <= 2], same[P <= 2], rtol=1e-12)
    assert (other[P == 4] > same[P == 4]).all()


def test_the_ring_s_own_law_changes_nothing():
    ring = growing(rank_growth, rank_growth)
    np.testing.assert_allclose(times(ring(KNOWN, P), FOUND), times(KNOWN, FOUND))


def test_an_unknown_term_is_refused():
    with pytest.raises(ValueError, match="not in tuple"):
        without("luck")(KNOWN, P)
