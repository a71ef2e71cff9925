"""A step that was put in is found; a smooth law has none; the envelope keeps the fast branch."""

import numpy as np
import pytest

from tpbook.collectives import ring_allreduce_time
from tpbook.message_steps import lower_envelope, protocol_steps
from tpbook.systems import allreduce_times, load_system

MESSAGE = 65536.0 * np.arange(1, 40)


@pytest.mark.parametrize("alpha, beta", [(0, 1e9), (5e-6, 40e9), (1e-3, 1e9)])
@pytest.mark.parametrize("message", [MESSAGE, 2.0 ** np.arange(9, 30)])
def test_a_smooth_law_has_no_step(message, alpha, beta):
    assert protocol_steps(message, ring_allreduce_time(4, message, alpha, beta)) == []


@pytest.mark.parametrize("at", [4, 11, 25])
def test_an_injected_step_is_found_where_it_was_put(at):
    time = ring_allreduce_time(2, MESSAGE, 6e-6, 40e9)
    time[at:] *= 2
    (step,) = protocol_steps(MESSAGE, time)
    assert (step.message_before, step.message_after) == (MESSAGE[at - 1], MESSAGE[at])
    assert (step.time_before, step.time_after) == (time[at - 1], time[at])


def test_the_order_of_the_points_does_not_matter():
    time = ring_allreduce_time(2, MESSAGE, 6e-6, 40e9) * np.where(MESSAGE > 1e6, 2, 1)
    assert protocol_steps(MESSAGE[::-1], time[::-1]) == protocol_steps(MESSAGE, time)


def test_a_single_slow_point_is_no_step():
    time = ring_allreduce_time(2, MESSAGE, 6e-6, 40e9)
    time[10] *= 3
    assert protocol_steps(MESSAGE, time) == []


def test_the_steps_of_the_bridged_a40_lie_where_its_table_jumps():
    system = load_system("quad-a40-bridge")
    (two,) = protocol_steps(*allreduce_times(system, 2))
    assert 128 * 1024 <= two.message_before < two.message_after <= 192 * 1024
    assert two.time_after / two.time_before > 1.9
    (four,) = protocol_steps(*allreduce_times(system, 4))
    assert 320 * 1024 <= four.message_before < four.message_after <= 384 * 1024


def test_the_envelope_keeps_the_fast_branch_and_never_rises_above_the_data():
    fast = ring_allreduce_time(2, MESSAGE, 6e-6, 40e9)
    slow = np.arange(len(MESSAGE)) % 3 == 0
    message, time = lower_envelope(MESSAGE, np.where(slow, fast + 1e-3, fast))
    assert set(message) == set(MESSAGE[~slow])
    assert (np.diff(time) >= 0).all()


def test_the_envelope_of_growing_times_is_the_table_itself():
    time = ring_allreduce_time(2, MESSAGE, 6e-6, 40e9)
    message, kept = lower_envelope(MESSAGE[::-1], time[::-1])
    assert (message == MESSAGE).all() and (kept == time).all()


@pytest.mark.parametrize("function", [protocol_steps, lower_envelope])
def test_bad_tables_are_refused(function):
    with pytest.raises(ValueError, match="time must be positive, got 0"):
        function([1e3, 2e3], [1e-6, 0])
    with pytest.raises(ValueError, match="message and time must match"):
        function([1e3, 2e3], [1e-6])
