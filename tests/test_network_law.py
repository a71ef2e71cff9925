"""All-reduce times of any size: lines are exact on lines, scatter calls for medians, no peeking."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tpbook.accuracy_laws import accuracy_allreduce, accuracy_kernel_law
from tpbook.gemm_law import fit_gemm_law, gemm_shards
from tpbook.network_law import (
    allreduce_time_model,
    blocks,
    chosen,
    every_seventh,
    held_out,
    line_between,
    running_median,
)
from tpbook.systems import allreduce_times, load_system

OCTAVES = 2.0 ** np.arange(9, 30)
DENSE = np.geomspace(2048, 2.0**26, 220)


def hockney(message):
    return 1e-5 + message / 1e10


def a_system(message, time):
    table = pd.DataFrame(
        {"p": 2, "message_bytes": message, "time_s": time, "statistic": "mean", "method": "timed"}
    )
    return SimpleNamespace(
        id="own",
        main_method="timed",
        methods={"timed": SimpleNamespace(statistic="mean")},
        allreduce=table,
    )


def test_a_hockney_table_is_reproduced_everywhere_but_below_it():
    model = allreduce_time_model(a_system(OCTAVES, hockney(OCTAVES)), 2)
    at = np.array([700.0, 12345.0, 3e7, 1e10])
    np.testing.assert_allclose(model(at), hockney(at), rtol=1e-9)
    assert model.error < 1e-9
    assert model(1.0) == model(OCTAVES[0])
    assert (model.low, model.high) == (OCTAVES[0], OCTAVES[-1])


def test_one_message_gives_one_number_and_a_grid_keeps_its_shape():
    model = allreduce_time_model(a_system(DENSE, hockney(DENSE)), 2)
    assert np.ndim(model(4096.0)) == 0
    assert model(np.full((2, 3), 4096.0)).shape == (2, 3)


def test_a_step_spoils_only_its_own_neighbours():
    time = hockney(OCTAVES) * np.where(OCTAVES > 2.0**18, 2.0, 1.0)
    error = held_out(OCTAVES, time, line_between, every_seventh(OCTAVES))
    assert np.sum(np.abs(error) > 1e-6) == 2


def test_the_running_median_follows_a_line_and_ignores_stragglers():
    at = np.geomspace(1e4, 1e7, 50)
    np.testing.assert_allclose(running_median(DENSE, hockney(DENSE), at), hockney(at), rtol=1e-6)
    late = np.random.default_rng(3).random(len(DENSE)) < 0.25
    time = hockney(DENSE) * np.where(late, 4.0, 1.0)
    assert np.median(np.abs(running_median(DENSE, time, at) / hockney(at) - 1)) < 0.05
    model = allreduce_time_model(a_system(DENSE, time), 2)
    assert model.way == "running median"


def test_a_clean_table_gets_lines():
    wave = 1 + 0.2 * np.sin(8 * np.log(DENSE))
    assert allreduce_time_model(a_system(DENSE, hockney(DENSE) * wave), 2).way == "lines"


@pytest.mark.parametrize("message", [OCTAVES, DENSE], ids=["octaves", "dense"])
@pytest.mark.parametrize("split", [every_seventh, blocks])
def test_every_size_of_the_range_is_left_out_once(split, message):
    left_out = np.sort(np.concatenate(split(message)))
    inside = (message >= 8192) & (message <= 2.0**26)
    inside[[0, -1]] = False
    np.testing.assert_array_equal(left_out, np.flatnonzero(inside))


@pytest.mark.parametrize("split", [every_seventh, blocks])
def test_what_is_left_out_is_not_seen(split):
    time = hockney(DENSE)
    for out in split(DENSE):
        spoilt = time.copy()
        spoilt[out] *= 100
        error = held_out(DENSE, spoilt, chosen, [out])
        np.testing.assert_allclose((error + 1) * 100, held_out(DENSE, time, chosen, [out]) + 1)


def test_a_short_table_gives_times_without_an_error():
    model = allreduce_time_model(a_system([4096, 1 << 20], [1e-5, 1e-4]), 2)
    assert model(4096.0) == 1e-5 and np.isnan(model.error)


def test_what_cannot_be_told_is_refused():
    with pytest.raises(ValueError, match="no mean all-reduce times at p = 3"):
        allreduce_time_model(a_system(OCTAVES, hockney(OCTAVES)), 3)
    with pytest.raises(ValueError, match="two sizes"):
        allreduce_time_model(a_system([4096], [1e-5]), 2)
    with pytest.raises(ValueError, match="message must be positive"):
        allreduce_time_model(a_system(OCTAVES, hockney(OCTAVES)), 2)(0.0)


@pytest.fixture(scope="module")
def network():
    return accuracy_allreduce()


def test_every_table_is_judged_on_every_size_of_the_range(network):
    loaded = {id: load_system(id) for id in network["system"].unique()}
    for row in network.itertuples():
        message, _ = allreduce_times(loaded[row.system], row.p, row.method)
        assert row.n == len(np.concatenate(every_seventh(message)))
    assert (network["met"] == (network["median"] <= network["bar"])).all()


def test_one_figure_by_hand(network):
    message, time = allreduce_times(load_system("quad-l40s-pcie"), 2)
    inside = [i for i in range(1, len(message) - 1) if 8192 <= message[i] <= 2**26]
    errors = []
    for fold in range(7):
        out = [i for i in inside if i % 7 == fold]
        kept = [i for i in range(len(message)) if i not in out]
        errors += list(np.interp(message[out], message[kept], time[kept]) / time[out] - 1)
    row = network[(network["system"] == "quad-l40s-pcie") & network["main"]].iloc[0]
    assert row["way"] == "lines"
    assert row["median"] == pytest.approx(np.median(np.abs(errors)))
    assert row["bias"] == pytest.approx(np.mean(errors))


def test_the_kernel_law_is_judged_on_every_row():
    table = accuracy_kernel_law()
    work = gemm_shards("llama-2-7b")
    for row in table[table["model"] == "llama-2-7b"].itertuples():
        p = [int(x) for x in row.p.split(", ")]
        test = work[(work["accelerator"] == row.accelerator) & work["p"].isin(p)]
        error = fit_gemm_law(work, row.accelerator).carried_times(test) / test["time_s"] - 1
        assert row.n == len(test) == 140 * len(p)
        assert row.median == pytest.approx(error.abs().median())
        assert row.low < row.median < row.high
        assert row.met == (row.median <= row.bar)
    assert table["chosen_on"].sum() == 3
