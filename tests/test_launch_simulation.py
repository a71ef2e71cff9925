"""The launch simulation: time is conserved, and a loop over single kernels gives the same."""

import numpy as np
import pytest

from tpbook.launch_simulation import jittered, simulate, spread

US = 1e-6
RANKS, KERNELS = 4, 5


def launches(segments=12, mean=10 * US, seed=1, variation=0.5):
    return jittered(mean, variation, (segments, KERNELS + 1, RANKS), seed)


def one_by_one(launch, compute, collective, per_pass, ahead):
    """The same run, kernel after kernel: (waiting, idle, elapsed)."""
    segments, count, ranks = launch.shape
    cpu, gpu = [0.0] * ranks, [0.0] * ranks
    waiting, idle, ends = [0.0] * ranks, [0.0] * ranks, []
    for s in range(segments):
        starts = []
        for r in range(ranks):
            if per_pass and s and s % per_pass == 0:
                cpu[r] = max(cpu[r], gpu[r])
            if s >= ahead:
                cpu[r] = max(cpu[r], ends[s - ahead])
            for k in range(count):
                cpu[r] += launch[s, k, r]
                start = max(cpu[r], gpu[r])
                idle[r] += start - gpu[r]
                gpu[r] = start + (compute[s, k, r] if k < count - 1 else 0.0)
            starts.append(gpu[r])
        for r in range(ranks):
            waiting[r] += max(starts) - starts[r]
            gpu[r] = max(starts) + collective
        ends.append(gpu[0])
    return waiting, idle, gpu[0]


@pytest.mark.parametrize("mean", [1 * US, 10 * US, 40 * US])
@pytest.mark.parametrize(("synchronise", "depth"), [(True, 1024), (False, 1024), (False, 12)])
def test_a_loop_over_single_kernels_gives_the_same(mean, synchronise, depth):
    launch = launches(mean=mean)
    compute = jittered(8 * US, 1.0, (12, KERNELS, RANKS), seed=2)
    found = simulate(launch, compute, 7 * US, passes=3, synchronise=synchronise, depth=depth)
    ahead = depth // (KERNELS + 1)
    waiting, idle, elapsed = one_by_one(launch, compute, 7 * US, 4 * synchronise, ahead)
    np.testing.assert_allclose(found.communication - 12 * 7 * US, waiting, atol=1e-15)
    np.testing.assert_allclose(found.idle, idle, atol=1e-15)
    assert found.elapsed == pytest.approx(elapsed)


@pytest.mark.parametrize("compute", [1 * US, 100 * US])
def test_the_time_of_every_rank_is_accounted_for(compute):
    found = simulate(launches(), compute, 7 * US, passes=2)
    np.testing.assert_allclose(found.active + found.idle, found.elapsed)
    assert (found.segment_idle > -1e-15).all()
    assert (found.communication >= 12 * 7 * US - 1e-15).all()


def test_the_shortest_time_of_any_rank_sums_to_the_collectives_alone():
    found = simulate(launches(), 3 * US, 7 * US)
    assert found.shortest == pytest.approx(12 * 7 * US)
    assert (found.communication > found.shortest).all()  # every rank was early once


def test_equal_ranks_without_jitter_never_wait():
    launch = launches(variation=0.0)
    found = simulate(launch, 3 * US, 7 * US)
    np.testing.assert_allclose(found.communication, found.shortest)
    assert spread(found.active) == 0
    # The stream starves: it idles for all of the launch time that its kernels do not cover.
    assert found.elapsed == pytest.approx(12 * (6 * 10 * US) + 7 * US)


def test_a_full_queue_has_no_idle_time_after_the_first_launch():
    launch = launches(mean=1 * US)
    found = simulate(launch, 100 * US, 7 * US)
    np.testing.assert_allclose(found.idle, launch[0, 0], rtol=1e-9)


def test_the_rank_that_is_launched_late_has_the_least_communication_and_is_the_least_active():
    slow = np.array([1.0, 1.0, 1.1, 1.0])
    found = simulate(launches(240) * slow, 3 * US, 7 * US, passes=4)
    assert found.communication.argmin() == found.active.argmin() == found.idle.argmax() == 2


def test_with_a_full_queue_a_slow_clock_shows_in_communication_and_not_in_active_time():
    clock = np.array([1.0, 1.01, 1.0, 1.0])
    found = simulate(launches(mean=1 * US), 100 * US * clock, 7 * US, synchronise=False)
    assert found.communication.argmin() == 1
    assert spread(found.active) < 5 * US < spread(found.communication)


def test_runs_along_leading_axes_are_independent():
    both = np.stack([launches(seed=1), launches(seed=5)])
    found = simulate(both, 3 * US, 7 * US)
    for run in range(2):
        alone = simulate(both[run], 3 * US, 7 * US)
        np.testing.assert_allclose(found.arrival[run], alone.arrival)
        assert found.elapsed[run] == pytest.approx(alone.elapsed)


def test_one_rank_waits_for_nobody():
    found = simulate(launches()[..., :1], 3 * US, 7 * US)
    assert found.communication == pytest.approx(found.shortest)


def test_jitter_keeps_its_mean_and_variation():
    draws = jittered(10 * US, 0.4, 200_000, seed=3)
    assert draws.mean() == pytest.approx(10 * US, rel=0.01)
    assert draws.std() / draws.mean() == pytest.approx(0.4, rel=0.02)
    assert (draws > 0).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"compute": -1.0}, "^compute must be zero or positive"),
        ({"passes": 5}, "^passes must divide the 12 segments, got 5"),
        ({"launch": np.ones((3, 4))}, "^launch must have axes"),
        ({"collective": float("nan")}, "^collective must be zero or positive"),
    ],
)
def test_bad_input_is_refused(changed, message):
    good = {"launch": launches(), "compute": 1 * US, "collective": 1 * US}
    with pytest.raises(ValueError, match=message):
        simulate(**good | changed)
    with pytest.raises(ValueError, match="^variation must be zero or positive"):
        jittered(1.0, -0.1, 3, seed=1)
