"""The GEMM law: limits, known parameters come back, deviations are carried, tests stay unseen."""

import numpy as np
import pytest

from tpbook.gemm_choice import CARRIED, all_times, choice, judged_forms, smooth_floor
from tpbook.gemm_forms import FORMS, LOOP
from tpbook.gemm_law import (
    carried_time,
    fit_gemm_law,
    gemm_kernel_time,
    gemm_law,
    gemm_shards,
    law_time,
)
from tpbook.rooflines import norm_kernel_time

CARD = "a40"
TRUTH = {
    "eta_compute": 0.8,
    "eta_memory": 0.9,
    "startup": 4e-6,
    "loop": 5e-10,
    "exponent": 1.6,
}
(MENU_OF_TILES,) = (
    form for form in FORMS if form.name.startswith("the fastest of six tiles, whole")
)
WORK = (4e9, 3e7, 4096, 1.5e14, 7e11)


@pytest.fixture(scope="module")
def shards():
    table = gemm_shards("llama-2-7b")
    return table[table["accelerator"] == CARD].reset_index(drop=True)


@pytest.fixture(scope="module")
def exact(shards):
    work = (shards[name].to_numpy() for name in ("flops", "traffic", "inner"))
    return shards.assign(time_s=law_time(CARD, *work, **TRUTH))


@pytest.fixture(scope="module")
def forms():
    return judged_forms().set_index("form")


def test_without_a_loop_the_law_is_the_norm_law():
    flops, traffic, _, *rates = WORK
    assert gemm_kernel_time(*WORK, 4e-6, 0.0, 1.6) == norm_kernel_time(
        flops, traffic, *rates, 4e-6, 1.6
    )


def test_the_loop_costs_its_time_for_every_element_of_the_inner_width():
    slow, fast = (gemm_kernel_time(*WORK, 4e-6, loop, 1.6) for loop in (3e-10, 1e-10))
    assert slow - fast == pytest.approx(4096 * 2e-10, rel=1e-9)


def test_none_or_all_of_a_deviation_is_carried():
    assert carried_time(2.0, 1.3, 0.0) == 2.0
    assert carried_time(2.0, 1.3, 1.0) == pytest.approx(2.6)
    assert 2.0 < carried_time(2.0, 1.3, 0.4) < 2.6
    assert carried_time(2.0, 0.7, 0.4) < 2.0


@pytest.mark.parametrize("model", ["llama-2-7b", "llama-2-70b"])
def test_shards_multiply_out_to_their_work_and_divide_one_width_each(model):
    table = gemm_shards(model)
    assert np.array_equal(table["columns"], np.round(table["columns"]))
    whole = table[table["p"] == 1].set_index(["accelerator", "tokens", "kernel"])
    for p in (2, 4, 8):
        part = table[table["p"] == p].set_index(["accelerator", "tokens", "kernel"])
        inner, columns = (whole[name] / part[name] for name in ("inner", "columns"))
        kernel = part.index.get_level_values("kernel")
        cut = kernel.isin(["attention_out", "mlp_down"])
        assert (inner[cut] == p).all() and (columns[cut] == 1).all()
        assert (inner[~cut] == 1).all() and (columns[~cut] == p).all()


def test_exact_times_give_back_the_parameters(exact):
    law = fit_gemm_law(exact, CARD)
    assert law.parameters == pytest.approx(TRUTH, rel=2e-3)
    np.testing.assert_allclose(law.carried_times(exact), exact["time_s"], rtol=2e-3)


def deviating(exact, seed, common):
    """Times that deviate by one factor for each kernel and token count, or afresh at each p."""
    kernels, tokens = exact["kernel"].unique(), exact["tokens"].unique()
    random = np.random.default_rng(seed)
    factor = np.exp(0.1 * random.standard_normal((len(kernels), len(tokens), 4)))
    if common:
        factor[:] = factor[:, :, :1]
    keys = (
        {name: i for i, name in enumerate(kernels)},
        {count: i for i, count in enumerate(tokens)},
        {1: 0, 2: 1, 4: 2, 8: 3},
    )
    index = tuple(exact[x].map(key) for x, key in zip(("kernel", "tokens", "p"), keys))
    return exact.assign(time_s=exact["time_s"] * factor[index])


def test_deviations_that_two_degrees_share_are_carried(exact):
    table = deviating(exact, 1, common=True)
    law = fit_gemm_law(table, CARD)
    beyond = table["p"] > 2
    assert law.carried > 0.95
    with_carry = law.carried_times(table)[beyond] / table["time_s"][beyond] - 1
    alone = law.time(table["flops"], table["traffic"], table["inner"])[beyond]
    without = alone / table["time_s"][beyond] - 1
    # The common deviations also pull the parameters, so that some error is left.
    assert np.median(np.abs(with_carry)) < np.median(np.abs(without)) / 2


def test_deviations_that_two_degrees_do_not_share_are_not(exact):
    assert fit_gemm_law(deviating(exact, 2, common=False), CARD).carried < 0.3


def test_the_degrees_to_predict_do_not_touch_the_law(shards):
    spoilt = shards.assign(time_s=shards["time_s"] * np.where(shards["p"] > 2, 10, 1))
    clean, other = (fit_gemm_law(table, CARD) for table in (shards, spoilt))
    np.testing.assert_array_equal(clean.carried_times(shards), other.carried_times(spoilt))


def test_a_shape_without_deviation_gets_the_law_alone(shards):
    law = fit_gemm_law(shards, CARD)
    rows = shards[shards["p"] == 4].assign(tokens=77)
    alone = law.time(rows["flops"], rows["traffic"], rows["inner"])
    np.testing.assert_array_equal(law.carried_times(rows), alone)


@pytest.mark.parametrize("card", ["a40", "a100-80gb-pcie", "h100-sxm"])
def test_the_law_for_predictions_is_physical(card):
    law = gemm_law(card)
    assert 0.5 < law.parameters["eta_compute"] < 1 and 0.5 < law.parameters["eta_memory"] < 1.05
    assert 0 < law.parameters["startup"] < 2e-5
    times = law.time(np.array([1e9, 1e10, 1e11]), 1e8, 4096)
    assert (np.diff(times) > 0).all()


def test_the_law_in_use_is_the_one_that_the_rule_takes(forms):
    assert choice(forms.reset_index()) == CARRIED


def test_the_rule_prefers_fewer_parameters_within_one_standard_error(forms):
    table = (
        forms.reset_index()
        .iloc[:3]
        .assign(parameters=[1, 3, 9], median=[0.10, 0.05, 0.04], standard_error=0.02)
    )
    assert choice(table) == table["form"][1]
    assert choice(table.assign(standard_error=0.001)) == table["form"][2]
    assert choice(table.assign(standard_error=0.1)) == table["form"][0]


def test_the_list_of_forms_judges_the_law_that_is_used(shards):
    own = judged_forms("llama-2-7b", CARD).set_index("form").loc[CARRIED]
    law = fit_gemm_law(shards, CARD)
    error = law.carried_times(shards) / shards["time_s"] - 1
    assert own["median_8"] == pytest.approx(error[shards["p"] == 8].abs().median())
    assert own["bias"] == pytest.approx(error[shards["p"] > 2].mean())


def test_no_form_sees_the_degrees_that_judge_it(shards):
    spoilt = shards.assign(time_s=shards["time_s"] * np.where(shards["p"] > 2, 3.0, 1.0))
    for (name, _, clean), (_, _, other) in zip(
        all_times(shards, CARD), all_times(spoilt, CARD), strict=True
    ):
        np.testing.assert_allclose(clean, other, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "plain, richer, neutral",
    [
        (LOOP, "... bytes that fit into the L2 cache partly kept there", {"cached": 0.0}),
        (MENU_OF_TILES, "the fastest of six tiles, a start-up in each wave", {"wave_startup": 0.0}),
    ],
)
def test_a_richer_form_contains_the_plain_one(shards, plain, richer, neutral):
    (form,) = (form for form in FORMS if form.name == richer)
    parameters = TRUTH | ({} if plain is LOOP else {"tile_loss": 0.2})
    np.testing.assert_allclose(
        form.time(shards, **parameters, **neutral), plain.time(shards, **parameters), rtol=1e-12
    )
    assert (
        form.time(shards, **parameters, **{name: 5e-7 for name in neutral})
        != plain.time(shards, **parameters)
    ).any()


def test_a_choice_to_split_the_inner_width_never_slows_the_fastest_tile(shards):
    (split,) = (form for form in FORMS if form.name.endswith("inner width split by up to 8"))
    parameters = TRUTH | {"tile_loss": 0.2}
    whole = MENU_OF_TILES.time(shards, **parameters)
    free, dear = (split.time(shards, **parameters, split_cost=cost) for cost in (1.0, 1e9))
    assert (free <= whole).all() and (free < whole).any()
    np.testing.assert_allclose(dear, whole, rtol=1e-12)


def test_whole_waves_of_one_tile_size_cost_what_they_count():
    # 108 multiprocessors: 108 tiles of 64 x 64 fill one wave, one column more starts a second.
    rows = gemm_shards("llama-2-7b").query("accelerator == 'a100-80gb-pcie'").iloc[[0, 0]]
    rows = rows.assign(tokens=64, columns=[64 * 108, 64 * 108 + 1], traffic=1.0)
    waves = MENU_OF_TILES.time(
        rows, **TRUTH | {"startup": 0.0, "loop": 0.0, "tile_loss": 0.0, "exponent": 20.0}
    )
    tile = 2 * 64 * 64 * rows["inner"] / (TRUTH["eta_compute"] * 312e12 / 108)
    np.testing.assert_allclose(waves, [tile.iloc[0], 2 * tile.iloc[1]], rtol=1e-9)


def test_the_floor_of_smooth_laws_is_their_own_fit_to_the_test():
    floor = smooth_floor().set_index(["model", "accelerator", "p"])
    assert len(floor) == 12 and (floor > 0).all(axis=None)
    # Neither rounding nor repeats are what the law lacks; a law fitted to the test fails its bar.
    assert (floor["rounding"] < floor["itself"]).all()
    assert (floor["itself"] > 0.05).any() and (floor["itself"] < 0.05).any()


def test_one_degree_or_an_unmeasured_card_is_refused(shards):
    with pytest.raises(ValueError, match="fit_on must name two measured degrees"):
        fit_gemm_law(shards, CARD, (1,))
    with pytest.raises(ValueError, match="no GEMM times of 'tpu-v5e'"):
        gemm_law("tpu-v5e")
    with pytest.raises(ValueError, match="no GEMM times of llama-2-7b on 'tpu-v5e'"):
        judged_forms("llama-2-7b", "tpu-v5e")
    with pytest.raises(ValueError, match="carried"):
        carried_time(1.0, 1.0, 1.5)
    with pytest.raises(ValueError, match="deviation"):
        carried_time(1.0, 0.0, 0.5)
    with pytest.raises(ValueError, match="loop"):
        gemm_kernel_time(*WORK, 0.0, -1e-10, 1.5)
