"""A calibration says where it holds, and refuses rows that cannot tell its terms apart."""

import numpy as np
import pytest

from tpbook.accuracy_sets import BENCH, select, setting
from tpbook.serving_amounts import NAMES
from tpbook.serving_calibration import calibrate_rows, groups, refuse_unidentified

CARD = "h100-sxm"
TABLE = select(BENCH, "llama-2-7b", CARD, "vLLM").query("p <= 2")


def calibrated(table):
    where = setting(BENCH, "llama-2-7b", CARD)
    return calibrate_rows(table, *where, "vLLM", BENCH, CARD, "llama-2-7b")


def test_the_domain_is_that_of_the_rows():
    found = calibrated(TABLE)
    assert found.degrees == (1, 2) and found.batches == (1, 64)
    assert found.prompts == found.outputs == (128, 2048)
    assert found.messages[0] == 4096 * 2
    largest = (TABLE["batch"] * TABLE["prompt_tokens"]).max()
    assert found.messages[1] == largest * 4096 * 2
    assert set(found.intervals) == set(NAMES)
    for name, (low, high) in found.intervals.items():
        assert low <= getattr(found.parameters, name) * 1.01 and low <= high, name
    assert found.fitted_error < found.noise


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("p == 1", "measure a second degree"),
        ("batch == 16", "measure batch 1 and two larger ones"),
        ("batch > 1", "measure batch 1 and two larger ones"),
        ("prompt_tokens == 512", "measure a second one, or the attention kernels"),
        ("p == 16", "no rows to calibrate on"),
    ],
)
def test_what_cannot_be_identified_is_refused_with_the_remedy(rows, says):
    with pytest.raises(ValueError, match=says) as caught:
        calibrated(TABLE.query(rows))
    assert "\n" not in str(caught.value) and str(caught.value).startswith("vLLM: ")


def test_one_phase_alone_is_refused():
    with pytest.raises(ValueError, match="decode alone leave the other phase open"):
        refuse_unidentified(TABLE.assign(phase="decode"), "steps")


def test_all_that_is_missing_is_named_at_once():
    with pytest.raises(ValueError, match="second degree.*larger ones.*attention kernels"):
        calibrated(TABLE.query("p == 1 and batch == 1 and prompt_tokens == 512"))


def test_rows_are_left_out_by_their_lengths():
    assert len(np.unique(groups(TABLE))) == TABLE["prompt_tokens"].nunique()
    assert len(np.unique(groups(TABLE.query("prompt_tokens == 512")))) == 4
