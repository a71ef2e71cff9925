"""Steps: found where they were put, and nowhere else."""

import numpy as np
import pytest

from tpbook.collectives import ring_allreduce_time
from tpbook.network_steps import find_steps, held_out_errors, interpolated_time, pieces
from tpbook.systems import allreduce_times, load_system

DENSE = np.geomspace(8e3, 64e6, 150)
SPARSE = 2.0 ** np.arange(13, 27)
P = 4


def line(message, alpha=5e-6, beta=50e9):
    return ring_allreduce_time(P, message, alpha, beta)


def switched(message, at=300e3, late_alpha=40e-6, late_beta=60e9):
    """One protocol up to a size, another with a longer latency beyond it."""
    return np.where(message <= at, line(message), line(message, late_alpha, late_beta))


@pytest.mark.parametrize("message", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("alpha", [0, 1e-6, 1e-3])
def test_a_hockney_law_has_no_step(message, alpha):
    assert find_steps(message, line(message, alpha)) == []


@pytest.mark.parametrize("message", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_a_switch_is_found_where_it_is_and_as_large_as_it_is(message):
    (step,) = find_steps(message, switched(message))
    assert step.below <= 300e3 < step.above
    at = np.sqrt(step.below * step.above)
    assert step.before == pytest.approx(line(at), rel=1e-6)
    assert step.after == pytest.approx(line(at, 40e-6, 60e9), rel=1e-6)
    assert step.factor == pytest.approx(step.after / step.before)


def test_noise_of_a_few_percent_makes_no_step():
    noise = np.random.default_rng(0).normal(1, 0.03, len(DENSE))
    assert find_steps(DENSE, line(DENSE) * noise) == []
    assert len(find_steps(DENSE, switched(DENSE) * noise)) == 1


def test_the_fast_a40_path_steps_where_its_protocol_changes():
    system = load_system("quad-a40-bridge")
    for p, low, high in [(2, 128, 192), (4, 320, 384)]:
        message, time = allreduce_times(system, p)
        small = message <= 2**20
        (step,) = find_steps(message[small], time[small])
        assert low * 1024 <= step.below < step.above <= high * 1024
        assert step.factor > 1.7


def test_a_step_down_is_found_too():
    (step,) = find_steps(DENSE, switched(DENSE, at=5e6, late_alpha=5e-6, late_beta=90e9))
    assert step.factor < 1 and step.below <= 5e6 < step.above


def test_pieces_hold_every_size_once():
    time = switched(DENSE)
    parts = pieces(DENSE, time, find_steps(DENSE, time))
    assert len(parts) == 2 and parts[0][0][-1] <= 300e3 < parts[1][0][0]
    np.testing.assert_array_equal(np.concatenate([m for m, _ in parts]), DENSE)
    np.testing.assert_array_equal(np.concatenate([t for _, t in parts]), time)
    (only,) = pieces(DENSE, line(DENSE), [])
    np.testing.assert_array_equal(only[0], DENSE)


def test_two_pieces_follow_a_switch_and_one_law_does_not():
    errors = held_out_errors(DENSE, switched(DENSE), P)
    # Only the size right beside the switch can be given to the wrong piece: one in 148.
    assert errors["pieces"] < 3 / 148 + 1e-3 < 0.1 < errors["law"]
    on_a_line = held_out_errors(DENSE, line(DENSE), P)
    assert on_a_line["law"] < 1e-9 < on_a_line["table"]


def test_interpolation_keeps_the_table_and_power_laws():
    np.testing.assert_allclose(interpolated_time(DENSE, line(DENSE), DENSE), line(DENSE))
    between = np.sqrt(DENSE[1:] * DENSE[:-1])
    np.testing.assert_allclose(interpolated_time(DENSE, DENSE**0.7, between), between**0.7)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="message must increase"):
        find_steps([2, 1, 3], [1, 1, 1])
    with pytest.raises(ValueError, match="must match"):
        find_steps([1, 2, 3], [1, 1])
    with pytest.raises(ValueError, match="time must be positive"):
        find_steps([1, 2, 3], [1, 0, 1])
    with pytest.raises(ValueError, match="at must lie between 1 and 3 B"):
        interpolated_time([1, 2, 3], [1, 1, 1], 4)


def test_a_message_that_is_no_number_has_no_time():
    with pytest.raises(ValueError, match="^at must lie between"):
        interpolated_time([1.0, 2.0], [1.0, 2.0], float("nan"))
