"""Points of the rooflines: work from the ledger, times from the tables, counters beside both."""

import shutil

import numpy as np
import pandas as pd
import pytest

from tpbook.collectives import ring_traffic
from tpbook.counters import counter_rates
from tpbook.hardware import accelerator
from tpbook.kernels import kernels
from tpbook.models import layer_parameters, model
from tpbook.paths import data_path
from tpbook.roofline_points import (
    FIT_RANGE,
    category_amounts,
    kernel_points,
    message_points,
    network_fits,
    step_message_points,
)
from tpbook.steps import phase_times
from tpbook.systems import load_system, systems

LLAMA = model("llama-2-7b")
# All weight matrices but the embedding, which is looked up.
WEIGHTS = LLAMA.layers * layer_parameters(LLAMA) + LLAMA.vocab * LLAMA.hidden


@pytest.fixture(scope="module")
def a40():
    return load_system("quad-a40-hoststaged")


@pytest.mark.parametrize("p", [1, 2, 4])
def test_weight_gemms_read_every_weight_once_and_two_operations_each(p):
    work = category_amounts(LLAMA, accelerator("a40"), p, 1, 1, 512)
    gemms = work.loc["weight_gemm"]
    assert gemms["flops"] * p == pytest.approx(2 * WEIGHTS, rel=1e-3)
    assert gemms["traffic"] * p == pytest.approx(2 * WEIGHTS, rel=5e-3)
    assert gemms["hard_s"] == pytest.approx(gemms["traffic"] / 696e9, rel=1e-12)


def test_amounts_are_the_sum_of_the_ledger_and_smooth_is_never_shorter_than_hard():
    card = accelerator("h100-sxm")
    work = category_amounts(LLAMA, card, 2, 8, 1024, 0)
    ledger = kernels(LLAMA, 2, 8, 1024, 0)
    assert work["flops"].sum() == pytest.approx(sum(k.pass_flops for k in ledger), rel=1e-12)
    assert work["calls"].sum() == sum(k.calls for k in ledger)
    assert ((work["smooth_s"] >= work["hard_s"]) & (work["smooth_s"] <= 2 * work["hard_s"])).all()


def test_two_passes_do_the_same_operations_and_read_the_weights_twice():
    card = accelerator("a40")
    one = category_amounts(LLAMA, card, 1, 8, 512, 0).loc["weight_gemm"]
    two = category_amounts(LLAMA, card, 1, 8, 512, 0, passes=2).loc["weight_gemm"]
    assert two["flops"] == pytest.approx(one["flops"], rel=1e-12)
    assert two["traffic"] - one["traffic"] == pytest.approx(2 * WEIGHTS, rel=1e-3)
    assert two["calls"] == 2 * one["calls"]
    with pytest.raises(ValueError, match="passes must divide the batch of 8, got 3"):
        category_amounts(LLAMA, card, 1, 8, 512, 0, passes=3)


@pytest.mark.parametrize("id", systems())
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_points_cover_the_step_table_and_keep_its_time(id, phase):
    system = load_system(id)
    points = kernel_points(system, accelerator(system.accelerator), phase)
    times = phase_times(system, phase).drop(columns="communication")
    found = points.pivot(index=["p", "batch"], columns="category", values="time_s")
    assert found.sum().sum() == pytest.approx(times.sum().sum(), rel=1e-12)
    assert (points["rate"] * points["time_s"]).to_numpy() == pytest.approx(
        points["flops"].to_numpy(), rel=1e-12
    )
    gemms = points[points["category"] == "weight_gemm"]
    assert (gemms["time_s"] > gemms["hard_s"]).all()


def test_messages_keep_the_communication_of_the_steps(a40):
    for phase in ("decode", "prefill"):
        points = step_message_points(a40, phase)
        total = phase_times(a40, phase)["communication"].sum()
        passes = np.where(points["message"] > 4095 * 8192, points["batch"] * 1024 / 4096, 1)
        assert (points["time_s"] * 64 * passes).sum() == pytest.approx(total, rel=1e-12)
    table = message_points(a40, "nccl-kernel-eager")
    assert (table["time_s"] > table["line_s"]).all()
    assert table["line_s"].to_numpy() == pytest.approx(
        ring_traffic(table["p"], table["message"]).to_numpy() / a40.bandwidth.value
    )


def test_a_network_of_known_latency_and_bandwidth_is_found_again(a40):
    table = message_points(a40, "nccl-kernel-eager")
    table["time_s"] = 20e-6 + table["traffic"] / 10e9
    fits = network_fits(table)
    assert sorted(fits) == [2, 4, 8]
    for fit in fits.values():
        assert (fit.alpha, fit.beta) == pytest.approx((20e-6, 10e9), rel=1e-9)
        assert FIT_RANGE[0] <= fit.low_message and fit.high_message <= FIT_RANGE[1]
    assert network_fits(table[table["message"] > FIT_RANGE[1]]) == {}


@pytest.fixture
def counted(tmp_path):
    """A system folder whose counters say what its step table implies, link times two."""
    folder = tmp_path / "mine"
    shutil.copytree(data_path("systems", "quad-a40-hoststaged"), folder)
    system = load_system(folder)
    card = accelerator(system.accelerator)
    points = kernel_points(system, card, "decode")
    rows = []
    for (p, batch), step in phase_times(system, "decode").sum(axis=1).items():
        here = points.query("p == @p and batch == @batch and category != 'other'")
        active = here["flops"].sum() / step / card.peak_flops
        wire = 64 * ring_traffic(p, 8192 * batch) / step
        for rank in range(p):
            # Ranks differ; their mean is what the table says.
            tilt = 1 + 0.1 * (rank - (p - 1) / 2)
            rows.append((p, batch, "decode", rank, "tensor_active", active * tilt, "fraction", 5))
            rows.append((p, batch, "decode", rank, "pcie_tx", 1.5 * wire, "B/s", 5))
            rows.append((p, batch, "decode", rank, "pcie_rx", 2.5 * wire, "B/s", 5))
            rows.append((p, batch, "decode", rank, "nvlink_tx", 0.0, "B/s", 5))
    columns = ["p", "batch", "phase", "rank", "metric", "value", "unit", "samples"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "gpu_metrics.csv", index=False)
    return load_system(folder)


def test_counters_stand_beside_the_rates_of_the_step_table(counted):
    rates = counter_rates(counted, accelerator("a40"), "decode")
    compute = rates[rates["quantity"] == "compute"]
    assert len(compute) == 9
    assert (compute["counted"] / compute["timed"]).to_numpy() == pytest.approx(1, rel=1e-9)
    links = rates[rates["quantity"] != "compute"]
    assert len(links) == 6 and set(links["quantity"]) == {"pcie"}
    assert (links["counted"] / links["timed"]).to_numpy() == pytest.approx(2, rel=1e-9)
    assert counter_rates(counted, accelerator("a40"), "prefill").empty


def test_a_system_without_counters_has_no_such_rates(a40):
    rates = counter_rates(a40, accelerator("a40"), "decode")
    assert rates.empty and list(rates) == ["p", "batch", "quantity", "counted", "timed"]


def test_a_phase_without_steps_is_refused(a40):
    with pytest.raises(ValueError, match="no mixed steps"):
        kernel_points(a40, accelerator("a40"), "mixed")
