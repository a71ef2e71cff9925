"""The ledger's checks on steps, networks, published runs and simulations: limits and identities."""

import pytest

from tpbook import claim_evaluation as steps
from tpbook import claim_jitter as jitter
from tpbook import claim_network as network
from tpbook import claim_published as runs
from tpbook import intensity

each = pytest.mark.parametrize


@each("p", [2, 4])
@each("batch", steps.BATCHES)
@each("phase", ["prefill", "decode"])
def test_lost_time_and_speedup_say_the_same(phase, p, batch):
    """T_p = T_1/p + what compute and communication lose."""
    total = steps.times(steps.A40, phase).sum(axis=1)
    lost = sum(steps.lost(phase, p, batch, part) for part in ("communication", "compute"))
    assert total[p, batch] == pytest.approx(total[1, batch] / p + lost)
    assert total[1, batch] / total[p, batch] == pytest.approx(steps.speedup(phase, p, batch))


def test_one_rank_does_not_communicate_and_divides_exactly():
    assert steps.share("decode", 1, 8) == 0
    assert steps.rank_division("prefill", 1, p=1) == 1
    assert steps.rank_division("prefill", 1, p=8) > steps.rank_division("prefill", 1, p=4) > 1


def test_a_copy_grows_towards_two_thirds_of_the_step():
    """Attention reads once what the copy reads and writes; here it runs below full bandwidth."""
    shares = [steps.copy_share(32, context) for context in (0, 512, 4096, 10**7)]
    assert shares == sorted(shares) and shares[0] < 0.01
    assert 0.5 < shares[-1] < 2 / 3


def test_one_rank_has_one_kind_of_kernel_less():
    assert [steps.kinds_of_kernel(p) for p in (1, 2, 8)] == [4, 5, 5]


@each("tokens", [64, 1024, 10**6])
def test_scores_in_memory_cap_the_intensity_at_half_the_head(tokens):
    """4 T^2 d_h / 8 T^2: however long the prompt, and at any length below a fused kernel's."""
    found = steps.eager_attention_intensity(tokens, head_dim=128)
    assert found < min(64, intensity.prefill_attention_intensity(tokens, 1, 1, 2) * 4)
    assert steps.eager_attention_intensity(10**9) == pytest.approx(64, rel=1e-6)


def test_a_full_clock_changes_nothing():
    assert steps.slower_clock("mlp_up", 1, 1024, 0, factor=1) == 1
    assert steps.slower_clock("mlp_up", 1, 1024, 0, factor=0.5) == pytest.approx(2, rel=1e-3)


def test_weight_products_depend_on_the_tokens_alone():
    assert steps.same_products(8, 8) and not steps.same_products(9, 8)


@each("share", [0.07, 0.63])
def test_no_more_bandwidth_leaves_the_share(share):
    assert network.share_after(share, 1) == pytest.approx(share)
    assert network.share_after(share, 6) < share


def test_traffic_at_the_line_rate_has_no_latency():
    assert network.latency_at_distance(1) == 0
    with pytest.raises(ValueError, match="distance"):
        network.latency_at_distance(0.5)


def test_an_implied_latency_gives_back_its_distance():
    """alpha + W/beta at the implied latency is the distance times W/beta."""
    distance = network.distance_to_line("decode", 4, 1)
    _, time = network.step_allreduce("decode", 4, 1)
    assert network.latency_at_distance(distance) == pytest.approx(time * (1 - 1 / distance))


def test_a_share_and_its_time_are_inverse():
    _, time = network.step_allreduce("decode", 4, 1)
    assert network.share_latency(steps.share("decode", 4, 1)) == pytest.approx(time)


@each("batch", steps.BATCHES)
def test_a_latency_gives_the_share_that_implies_it(batch):
    share = network.share_at_latency(50e-6, batch)
    message, _ = network.step_allreduce("decode", 4, batch)
    traffic = 2 * 3 / 4 * message / network.network(4).beta
    assert network.share_latency(share, batch=batch) == pytest.approx(50e-6 + traffic)


@each("phase", ["prefill", "decode"])
def test_the_differences_two_numbers_give_both_times_back(phase):
    alpha = network.difference_latency(phase, 1)
    beta = network.difference_over_fit(phase, 1) * network.network(4).beta
    for p, row in zip((2, 4), network._two_and_four(phase, 1, steps.A40)):
        law = row["collectives"] * (alpha + 2 * (p - 1) * row["message"] / (p * beta))
        # The bandwidth is rounded to three digits.
        assert law == pytest.approx(row["time_s"], rel=0.01)


@each("source", ["fastertransformer", "splitwise"])
def test_both_laws_are_judged_on_degrees_they_have_not_seen(source):
    rows = runs.larger_degrees(source)
    assert rows["held_out"].all() and rows["amdahl_s"].notna().all()
    assert rows["p"].min() > 2
    assert runs.law_error(source, "time") == 0


def test_published_signs_add_up():
    signs = ("pessimistic", "optimistic", "open")
    assert sum(map(runs.steps_with_sign, signs)) == 6
    assert sum(map(runs.share_with_sign, signs)) == pytest.approx(1)
    words = ("almost linearly", "sublinearly", "not at all", "regresses")
    assert sum(map(runs.single_sequence, words)) == runs.single_sequence()


def test_a_calibration_fits_its_own_system_better_than_another():
    assert runs.transfer_error(steps.A40, steps.A40) < runs.transfer_error()
    assert abs(runs.worst_transfer_error()) >= runs.transfer_error()


def test_ranks_without_launches_stay_together():
    assert jitter.active_spread("decode", launch=0.0) == 0
    assert jitter.idle_share("decode", launch=0.0) == pytest.approx(0, abs=1e-12)
    assert jitter.overstated("decode", launch=0.0) == pytest.approx(1)


def test_slower_launches_part_the_ranks_further():
    apart = [jitter.seconds_apart(slow_cpu=1.05, launch=x) for x in (10e-6, 20e-6, 40e-6)]
    assert apart == sorted(apart)
