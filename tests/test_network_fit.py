"""The Hockney fits recover what was put in, and say how wrong they are where the law fails."""

import numpy as np
import pytest

from tpbook.collectives import ring_allreduce_time, ring_allreduce_time_per_hop
from tpbook.network_fit import compare_latency_laws, fit_hockney, fit_ordinary

MESSAGE = 2.0 ** np.arange(12, 28)
ALPHA, BETA = 12e-6, 40e9


@pytest.mark.parametrize("p", [2, 4, 8])
def test_exact_times_give_back_alpha_and_beta(p):
    fit = fit_hockney(MESSAGE, ring_allreduce_time(p, MESSAGE, ALPHA, BETA), p)
    assert fit.alpha == pytest.approx(ALPHA, rel=1e-9)
    assert fit.beta == pytest.approx(BETA, rel=1e-9)
    assert fit.worst_error < 1e-9
    assert not fit.bounded


def test_one_percent_noise_stays_within_the_intervals():
    inside = {"alpha": 0, "beta": 0}
    for seed in range(20):
        noise = 1 + 0.01 * np.random.default_rng(seed).standard_normal(len(MESSAGE))
        fit = fit_hockney(MESSAGE, ring_allreduce_time(4, MESSAGE, ALPHA, BETA) * noise, 4)
        inside["alpha"] += fit.alpha_interval[0] <= ALPHA <= fit.alpha_interval[1]
        inside["beta"] += fit.beta_interval[0] <= BETA <= fit.beta_interval[1]
        assert fit.alpha == pytest.approx(ALPHA, rel=0.03)
    # A 95 % interval from 16 points covers somewhat less often than 19 times in 20.
    assert min(inside.values()) >= 15


def test_the_fit_scales_with_the_units():
    noise = 1 + 0.1 * np.random.default_rng(3).standard_normal(len(MESSAGE))
    time = ring_allreduce_time(2, MESSAGE, ALPHA, BETA) * noise
    one, scaled = fit_hockney(MESSAGE, time, 2), fit_hockney(MESSAGE * 8, time * 1e3, 2)
    assert scaled.alpha == pytest.approx(one.alpha * 1e3, rel=1e-9)
    assert scaled.beta == pytest.approx(one.beta * 8 / 1e3, rel=1e-9)
    assert scaled.mean_error == pytest.approx(one.mean_error, rel=1e-9)
    assert scaled.alpha_interval == pytest.approx([1e3 * a for a in one.alpha_interval])


def test_the_order_of_the_points_does_not_matter():
    time = ring_allreduce_time(2, MESSAGE, ALPHA, BETA) * (1 + 0.1 * np.sin(MESSAGE))
    forward, backward = fit_hockney(MESSAGE, time, 2), fit_hockney(MESSAGE[::-1], time[::-1], 2)
    assert forward.alpha == pytest.approx(backward.alpha, rel=1e-12)
    assert forward.beta == pytest.approx(backward.beta, rel=1e-12)


def test_no_other_pair_within_the_bounds_has_smaller_squared_relative_errors():
    rng = np.random.default_rng(5)
    time = ring_allreduce_time(2, MESSAGE, ALPHA, BETA) * rng.uniform(0.7, 1.3, len(MESSAGE))

    def loss(alpha, beta):
        return np.sum((ring_allreduce_time(2, MESSAGE, alpha, beta) / time - 1) ** 2)

    fit = fit_hockney(MESSAGE, time, 2)
    best = loss(fit.alpha, fit.beta)
    for alpha in np.linspace(0, time.min(), 40):
        for beta in fit.beta * np.linspace(0.5, 2, 61):
            assert loss(alpha, beta) >= best * (1 - 1e-12)


def test_alpha_never_exceeds_the_smallest_time():
    # A step doubles the time of all but the smallest message: no line through it is good.
    time = ring_allreduce_time(2, MESSAGE, ALPHA, BETA) * np.where(MESSAGE > MESSAGE[0], 2, 1)
    fit = fit_hockney(MESSAGE, time, 2)
    assert fit.alpha == time.min()
    assert fit.bounded
    assert fit.alpha_interval[0] >= 0


def test_a_negative_latency_is_never_fitted():
    time = MESSAGE**1.1 / 1e10
    assert fit_hockney(MESSAGE, time, 2).alpha == 0
    assert fit_ordinary(MESSAGE, time, 2).alpha < 0


def test_r_squared_near_one_hides_large_relative_errors():
    # Latency in reality, 20 % noise at the large end: the line follows the large messages.
    noise = np.ones(len(MESSAGE))
    noise[-2:] = 0.9, 1.1
    time = ring_allreduce_time(2, MESSAGE, ALPHA, BETA) * noise
    ordinary, relative = fit_ordinary(MESSAGE, time, 2), fit_hockney(MESSAGE, time, 2)
    assert ordinary.r_squared > 0.99
    assert ordinary.worst_error > 0.6
    assert relative.mean_error < 0.05


def test_an_exact_line_has_r_squared_one():
    fit = fit_ordinary(MESSAGE, ring_allreduce_time(4, MESSAGE, ALPHA, BETA), 4)
    assert fit.r_squared == pytest.approx(1, abs=1e-12)
    assert fit.alpha == pytest.approx(ALPHA, rel=1e-6)
    assert fit.time(MESSAGE) == pytest.approx(ring_allreduce_time(4, MESSAGE, ALPHA, BETA))


@pytest.mark.parametrize(
    "law, truth",
    [(0, ring_allreduce_time), (1, ring_allreduce_time_per_hop)],
    ids=["lumped", "per hop"],
)
def test_each_latency_law_is_recognised_and_recovered(law, truth):
    betas = {2: 20e9, 4: 30e9, 8: 25e9}
    tables = {p: (MESSAGE, truth(p, MESSAGE, 3e-6, beta)) for p, beta in betas.items()}
    fits = compare_latency_laws(tables)
    right, wrong = fits[law], fits[1 - law]
    assert right.mean_error < 1e-6
    assert right.latency == pytest.approx(3e-6, rel=1e-6)
    assert right.betas == pytest.approx(betas, rel=1e-6)
    assert wrong.mean_error > 0.05


def test_one_degree_cannot_tell_the_laws_apart_and_is_refused():
    table = {2: (MESSAGE, ring_allreduce_time(2, MESSAGE, ALPHA, BETA))}
    with pytest.raises(ValueError, match="two degrees or more, got \\[2\\]"):
        compare_latency_laws(table)


@pytest.mark.parametrize(
    "message, time, p, message_of_error",
    [
        ([1e3, 2e3, 4e3], [1e-6, 2e-6, 4e-6], 1, "p must be above 1, got 1"),
        ([1e3, 2e3, 4e3], [1e-6, -2e-6, 4e-6], 2, "time must be positive, got -2e-06"),
        ([1e3, 2e3, 4e3], [1e-6, float("nan"), 4e-6], 2, "time must be positive, got nan"),
        ([1e3, 0, 4e3], [1e-6, 2e-6, 4e-6], 2, "message must be positive, got 0"),
        ([1e3, 2e3], [1e-6, 2e-6], 2, "three sizes or more, got 2"),
        ([1e3, 2e3, 4e3], [1e-6, 2e-6], 2, "message and time must match"),
    ],
)
@pytest.mark.parametrize("fit", [fit_hockney, fit_ordinary])
def test_bad_tables_are_refused(fit, message, time, p, message_of_error):
    with pytest.raises(ValueError, match=message_of_error):
        fit(message, time, p)


def test_times_that_fall_with_the_message_are_refused():
    with pytest.raises(ValueError, match="time must grow with message"):
        fit_ordinary(MESSAGE, 1 / MESSAGE, 2)


@pytest.mark.parametrize("fit", [fit_hockney, fit_ordinary])
def test_endless_values_and_text_are_refused(fit):
    good, endless = [1e3, 1e4, 1e5], [1e-5, 2e-5, np.inf]
    with pytest.raises(ValueError, match="^time must be finite, got inf"):
        fit(good, endless, 2)
    with pytest.raises(ValueError, match="^message must be a number"):
        fit(["1", "2", "3"], good, 2)
