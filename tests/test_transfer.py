"""Carrying a calibration over: a known law is found again, and only the hardware's part changes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tpbook.collectives import ring_allreduce_time
from tpbook.hardware import accelerator
from tpbook.network_fit import fit_hockney
from tpbook.roofline_points import kernel_points
from tpbook.systems import load_system
from tpbook.transfer import fit_terms, transferred_allreduce_time, transferred_times

A40, H100 = accelerator("a40"), accelerator("h100-sxm")
TRUE = {"weight_gemm": (0.8, 0.7, 4e-6), "attention": (0.2, 0.9, 9e-6), "other": (1.0, 0.6, 2e-6)}


@pytest.fixture(scope="module")
def points():
    """The work of the nine configurations in both phases, timed by a known law on an A40."""
    system = load_system("quad-a40-hoststaged")
    table = pd.concat(
        [kernel_points(system, A40, phase) for phase in ("decode", "prefill")], ignore_index=True
    )
    known = pd.DataFrame(TRUE).T.reindex(table["category"])
    compute, memory, startup = (known[i].to_numpy() for i in range(3))
    flops = table["flops"].where(table["category"] != "other", 0)
    return table.assign(
        time_s=startup * table["calls"]
        + flops / (compute * A40.peak_flops)
        + table["traffic"] / (memory * A40.memory_bandwidth)
    )


def test_a_known_law_is_found_again(points):
    terms = fit_terms(points, A40)
    assert set(terms) == set(TRUE)
    for category, fit in terms.items():
        compute, memory, startup = TRUE[category]
        assert (fit.eta_memory, fit.startup) == pytest.approx((memory, startup), rel=1e-3)
        if category == "other":
            assert fit.eta_compute == np.inf  # its operations cost nothing
        else:
            assert fit.eta_compute == pytest.approx(compute, rel=1e-3)
        assert fit.error < 1e-3
        for name, (low, high) in fit.intervals.items():
            assert low <= getattr(fit, name) <= high


def test_only_the_part_of_the_hardware_changes(points):
    terms = fit_terms(points, A40)
    double = replace(A40, peak_flops=2 * A40.peak_flops, memory_bandwidth=2 * A40.memory_bandwidth)
    same = transferred_times(terms, points, A40)
    twice = transferred_times(terms, points, double)
    start = points["calls"] * points["category"].map(lambda c: terms[c].startup)
    assert same.to_numpy() == pytest.approx(points["time_s"].to_numpy(), rel=1e-3)
    assert (2 * (twice - start)).to_numpy() == pytest.approx((same - start).to_numpy(), rel=1e-9)
    endless = replace(A40, peak_flops=np.inf, memory_bandwidth=np.inf)
    assert transferred_times(terms, points, endless).to_numpy() == pytest.approx(start.to_numpy())


def test_utilisations_stay_below_the_datasheet(points):
    fast = points.assign(time_s=points["hard_s"])
    for fit in fit_terms(fast, A40).values():
        assert fit.eta_memory <= 1 and (fit.eta_compute <= 1 or fit.eta_compute == np.inf)
        assert fit.startup >= 0


def test_the_network_keeps_its_latency_and_its_share_of_the_line(points):
    message = np.geomspace(8192, 2**25, 20)
    fit = fit_hockney(message, ring_allreduce_time(4, message, 12e-6, 5e9), 4)
    kept = transferred_allreduce_time(fit, 31.5e9, 31.5e9, message)
    assert kept == pytest.approx(fit.time(message), rel=1e-12)
    faster = transferred_allreduce_time(fit, 31.5e9, 315e9, message)
    assert faster == pytest.approx(ring_allreduce_time(4, message, 12e-6, 50e9), rel=1e-9)
    assert transferred_allreduce_time(fit, 31.5e9, np.inf, 8192) == pytest.approx(12e-6)


def test_a_category_that_was_not_timed_has_no_law(points):
    gemms = points[points["category"] == "weight_gemm"]
    with pytest.raises(ValueError, match="no law for category attention"):
        transferred_times(fit_terms(gemms, A40), points, H100)


def test_too_few_steps_fix_no_law(points):
    with pytest.raises(ValueError, match="category attention has 2 steps"):
        fit_terms(points[points["category"] == "attention"].head(2), A40)
