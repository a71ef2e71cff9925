"""Laws of Amdahl's error: exact on Amdahl's law, the theorems' sizes, noise by brute force."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tpbook import amdahl_errors as errors
from tpbook.amdahl import amdahl_time
from tpbook.modified_amdahl import modified_amdahl_time, modified_amdahl_time_per_hop
from tpbook.systems import load_system

PASS = {"work_time": 10e-3, "eta": 0.7, "collectives": 64, "message": 8192, "beta": 25e9}
TRIPLES = errors.TRIPLES


def table(law, degrees=(1, 2, 4, 8)):
    return pd.DataFrame([{"name": "run", "batch": 1, "p": p, "time_s": law(p)} for p in degrees])


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.4])
def test_no_error_where_the_law_holds(fraction):
    found = errors.extrapolations(
        table(lambda p: amdahl_time(p, 0.02, fraction)), ["name", "batch"]
    )
    assert [tuple(row) for row in found[["first", "second", "read"]].to_numpy()] == list(TRIPLES)
    np.testing.assert_allclose(found["error"], 0, atol=1e-12)
    np.testing.assert_allclose(found["fraction"][:2], fraction, atol=1e-12)
    assert set(found["sign"]) == {"open"}


def test_the_theorems_of_section_2_3():
    alpha = 30e-6
    for law, name, at_four, grouped in (
        (modified_amdahl_time, "alpha", 0.5, 0),
        (modified_amdahl_time_per_hop, "alpha_hop", -3, -6),
    ):

        def time(p, law=law, name=name):
            return law(p, **PASS, **{name: alpha})

        found = errors.extrapolations(table(time), ["name", "batch"])
        by_triple = found.set_index(["first", "second", "read"])["error"]
        unit = PASS["collectives"] * alpha
        assert by_triple[1, 2, 4] * time(4) == pytest.approx(at_four * unit, rel=1e-9)
        assert by_triple[2, 4, 8] * time(8) == pytest.approx(grouped * unit, rel=1e-9, abs=1e-15)


def test_the_noise_is_that_of_drawn_times():
    generator = np.random.default_rng(42)
    true, spread = np.array([10.0, 6.0, 3.5]), np.array([1e-3, 2e-3, 3e-3])
    drawn = true[:, None] * (1 + spread[:, None] * generator.standard_normal((3, 50_000)))
    for p, q in ((2, 4), (2, 8), (4, 8)):
        found = errors.error_spread(p, q, *true, *spread)
        assert found == pytest.approx(errors.relative_error(p, q, *drawn).std(), rel=0.03)


def test_a_sign_needs_more_than_its_noise():
    assert errors.sign(0.05, 0.04) == "pessimistic"
    assert errors.sign(-0.05, 0.04) == "optimistic"
    assert errors.sign(0.04, 0.04) == "open"


def test_repeats_give_their_own_spread():
    cells = pd.DataFrame(
        {"time_s": [2.0, 2.0], "low_s": [1.9, 1.9], "high_s": [2.1, 2.1], "repeats": [5, 1]}
    )
    np.testing.assert_allclose(errors.time_spreads(cells), [0.05, errors.SINGLE_RUN])


def test_the_summary_counts_and_averages():
    cells = pd.DataFrame(
        {
            "set": ["a", "a", "b"],
            "error": [0.1, -0.3, 0.02],
            "half_width": [0.05, 0.07, 0.05],
            "sign": ["pessimistic", "optimistic", "open"],
        }
    )
    found = errors.summary(cells, ["set"]).set_index("set")
    assert found.loc["a", "n"] == 2 and found.loc["b", "n"] == 1
    assert found.loc["a", "mape"] == pytest.approx(0.2)
    assert found.loc["a", ["bias", "median"]].tolist() == pytest.approx([-0.1, -0.1])
    assert found.loc["a", ["pessimistic", "optimistic", "open"]].tolist() == [1, 1, 0]
    assert (found["low"] <= found["q25"]).all() and (found["q75"] <= found["high"]).all()


@pytest.mark.parametrize("id", ["quad-a40-hoststaged", "quad-l40s-pcie"])
def test_the_categories_add_up(id):
    system = load_system(id)
    found = errors.extrapolations(
        errors.step_totals(system), ["phase", "context", "batch"], triples=[(1, 2, 4)]
    )
    assert len(found) >= 6
    for row in found.itertuples():
        parts = errors.errors_by_category(system, row.phase, row.context, row.batch)
        assert parts.sum() == pytest.approx(row.error, abs=1e-12)


def test_a_system_without_steps_has_no_errors():
    bare = replace(load_system("quad-a40-hoststaged"), steps=None)
    found = errors.extrapolations(errors.step_totals(bare), ["phase", "context", "batch"])
    assert found.empty and {"error", "half_width", "sign"} <= set(found.columns)


def test_two_times_at_one_degree_are_refused():
    twice = pd.concat([table(lambda p: 1 / p), table(lambda p: 2 / p)])
    with pytest.raises(ValueError, match="two times at p = 1 for run, 1"):
        errors.extrapolations(twice, ["name", "batch"])


def test_a_step_that_is_missing_is_named():
    with pytest.raises(ValueError, match="no decode step at p = 16, batch 1, context 512"):
        errors.errors_by_category(load_system("quad-a40-hoststaged"), "decode", 512, 1, (1, 2, 16))


def test_bad_times_are_refused():
    with pytest.raises(ValueError, match="time_q must be positive"):
        errors.relative_error(2, 4, 1.0, 0.6, 0.0)
    with pytest.raises(ValueError, match="spread_p"):
        errors.error_spread(2, 4, 1.0, 0.6, 0.4, 0.03, -0.03, 0.03)
