"""The fit to totals: exact on its own law, and a right total with a wrong split beyond it."""

import numpy as np
import pytest

from tpbook import modified_amdahl as m
from tpbook.joint_fit import joint_fit

P = np.repeat([1, 2, 4], 3)
BATCH = np.tile([1, 8, 32], 3)
WORK = (20 + 0.3 * BATCH) * 1e-3
MESSAGE = 8192.0 * BATCH
TRUTH = dict(eta=0.8, alpha=15e-6, beta=6e9)


def totals(**changed):
    return m.modified_amdahl_time(P, WORK, collectives=64, message=MESSAGE, **TRUTH | changed)


def test_totals_of_the_law_give_back_its_parameters_and_its_parts():
    fit = joint_fit(P, WORK, 64, MESSAGE, totals())
    assert fit.parameters == pytest.approx(TRUTH, rel=1e-3)
    assert fit.total_error < 1e-3
    np.testing.assert_allclose(fit.compute, WORK / P / TRUTH["eta"], rtol=1e-3)
    truth = m.communication_time(P, 64, MESSAGE, TRUTH["alpha"], TRUTH["beta"])
    np.testing.assert_allclose(fit.communication, truth, rtol=1e-3)
    assert (fit.communication[P == 1] == 0).all()


def test_the_parts_add_up_to_the_totals_that_the_error_judges():
    noisy = totals() * (1 + 0.05 * np.random.default_rng(1).standard_normal(9))
    fit = joint_fit(P, WORK, 64, MESSAGE, noisy)
    error = np.abs((fit.compute + fit.communication) / noisy - 1).mean()
    assert fit.total_error == pytest.approx(error)
    for name, (low, high) in fit.intervals.items():
        assert low <= fit.parameters[name] <= high


def test_work_that_is_not_shared_goes_into_the_latency():
    serial = 1.5e-3
    fit = joint_fit(P, WORK, 64, MESSAGE, totals() + serial)
    # A constant beside work that shrinks with p looks like a latency, times the collectives.
    assert fit.total_error < 0.02
    assert fit.parameters["alpha"] > TRUTH["alpha"] + 0.5 * serial / 64


def test_the_fit_scales_with_the_unit_of_time():
    noisy = totals() * (1 + 0.05 * np.random.default_rng(2).standard_normal(9))
    one = joint_fit(P, WORK, 64, MESSAGE, noisy).parameters
    milli = joint_fit(P, WORK * 1e3, 64, MESSAGE, noisy * 1e3).parameters
    expected = {"eta": one["eta"], "alpha": one["alpha"] * 1e3, "beta": one["beta"] / 1e3}
    assert milli == pytest.approx(expected, rel=1e-9)


def test_traffic_that_the_totals_leave_no_time_for_gets_an_endless_bandwidth():
    fit = joint_fit(P, WORK, 64, MESSAGE, totals(beta=np.inf) * np.where(BATCH > 1, 0.97, 1))
    assert fit.parameters["beta"] == np.inf


@pytest.mark.parametrize("keep", [P > 1, P < 3, P < 2], ids=["no single rank", "1 and 2", "one"])
def test_totals_that_leave_an_unknown_open_are_refused(keep):
    # One message size: with several, the bandwidth may be told from the latency.
    fixed = m.modified_amdahl_time(P, WORK[0], collectives=64, message=8192.0, **TRUTH)
    one_size = np.resize(P[keep], 4), WORK[0], 64, 8192.0, np.resize(fixed[keep], 4)
    with pytest.raises(ValueError, match="^total does not determine"):
        joint_fit(*one_size)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"total": totals() * -1}, "^total must be positive"),
        ({"p": 0}, "^p must be at least 1"),
        ({"message": np.nan}, "^message must be positive"),
        (
            {"p": P[:3], "work_time": 1.0, "message": 1.0, "total": [1.0, 2.0, 3.0]},
            "^total must hold",
        ),
    ],
)
def test_bad_input_is_refused(changed, message):
    good = dict(p=P, work_time=WORK, collectives=64, message=MESSAGE, total=totals())
    with pytest.raises(ValueError, match=message):
        joint_fit(**good | changed)
