"""Distances to a roof: limits, brute force, and the two inverses."""

import numpy as np
import pytest

from tpbook.collectives import ring_allreduce_time, ring_traffic
from tpbook.communication_share import (
    bandwidth_part,
    break_even_allreduce_time,
    communication_share,
    share_allreduce_time,
)
from tpbook.roof_distance import implied_latency, lost_time, roof_gain


def test_gain_is_what_replacing_the_time_gives():
    times = np.array([3.0, 2.0, 5.0])
    for distance in (1.0, 4.0, 500.0):
        after = times.sum() - times[1] + times[1] / distance
        gain = roof_gain(times[1] / times.sum(), distance)
        assert gain == pytest.approx(times.sum() / after, rel=1e-12)


def test_no_distance_gains_more_than_the_share_allows():
    assert roof_gain(0.3, 1.0) == 1
    assert roof_gain(0.3, np.inf) == pytest.approx(1 / 0.7)
    assert roof_gain(0.0, 1e6) == 1
    # A small distance of a large share gains more than a huge distance of a small one.
    assert roof_gain(0.8, 1.5) > roof_gain(0.1, 1e9)


def test_lost_times_of_the_parts_add_up_to_that_of_the_whole():
    one, four = np.array([8.0, 2.0, 0.0]), np.array([2.5, 0.6, 1.0])
    parts = lost_time(4, four, one)
    assert parts.sum() == pytest.approx(lost_time(4, four.sum(), one.sum()), rel=1e-12)
    assert lost_time(1, 7.0, 7.0) == 0
    assert lost_time(2, 1.0, 4.0) == -1


@pytest.mark.parametrize("p", [2, 4, 8])
def test_implied_latency_inverts_the_ring(p):
    alpha, beta, message = 37e-6, 32e9, 8192
    traffic = ring_traffic(p, message)
    distance = ring_allreduce_time(p, message, alpha, beta) / (traffic / beta)
    assert implied_latency(distance, traffic, beta) == pytest.approx(alpha, rel=1e-12)
    assert implied_latency(1, traffic, beta) == 0


def test_share_and_its_inverse():
    for share in (0.0, 0.07, 0.63, 0.99):
        time = share_allreduce_time(share, 7e-3, 64)
        assert communication_share(7e-3, 64, time) == pytest.approx(share, rel=1e-12, abs=1e-15)


def test_at_break_even_p_ranks_take_as_long_as_one():
    time = break_even_allreduce_time(10e-3, 6e-3, 64)
    assert 6e-3 + 64 * time == pytest.approx(10e-3, rel=1e-12)
    assert break_even_allreduce_time(1e-3, 2e-3, 64) < 0


def test_an_endless_link_saves_exactly_the_bandwidth_part():
    alpha, beta, traffic = 9e-6, 30e9, 12288
    now, best = alpha + traffic / beta, alpha
    assert bandwidth_part(traffic, alpha, beta) == pytest.approx(1 - best / now, rel=1e-12)
    assert bandwidth_part(traffic, 0, beta) == 1
    assert bandwidth_part(1, alpha, beta) < 1e-4


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: roof_gain(1.2, 2), "share must lie between 0 and 1"),
        (lambda: roof_gain(0.2, 0), "distance must be positive"),
        (lambda: lost_time(0.5, 1, 1), "p must be at least 1"),
        (lambda: implied_latency(0.9, 8192, 32e9), "distance must be at least 1"),
        (lambda: communication_share(0, 64, 1e-6), "compute_time must be positive"),
        (lambda: share_allreduce_time(1.0, 1e-3, 64), "share must be below 1"),
        (lambda: break_even_allreduce_time(1e-3, 1e-3, 0), "collectives must be positive"),
        (lambda: bandwidth_part(8192, -1e-6, 32e9), "alpha must be zero or positive"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
