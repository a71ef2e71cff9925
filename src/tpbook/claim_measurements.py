"""Checks of the claims ledger against the committed measurements.

All-reduce times are measured, weight reads follow from the roofline: what joins the two is
composed, not measured end to end.
"""

from functools import cache

import numpy as np

from tpbook import claim_checks, collectives, rooflines
from tpbook.hardware import accelerator
from tpbook.kernel_times import GEMMS, gemm_times
from tpbook.systems import allreduce_times, degrees
from tpbook.systems import load_system as read_system

load_system, kernel_table = cache(read_system), cache(gemm_times)


def allreduce_seconds(system, p, message, method):
    """Measured time in s at the first measured size that is at least message bytes."""
    sizes, times = allreduce_times(load_system(system), p, method)
    return float(times[np.searchsorted(sizes, message)])


def fastest_allreduce(system, p, message):
    """The shortest measured time in s over the system's methods, at least message bytes."""
    known = load_system(system)
    return min(
        allreduce_seconds(system, p, message, method)
        for method in known.methods
        if p in degrees(known, method)
    )


def best_bus_bandwidth(system, p):
    """The largest measured bus bandwidth in B/s over the system's methods and sizes."""
    known = load_system(system)
    return max(
        float(collectives.bus_bandwidth(p, *allreduce_times(known, p, method)).max())
        for method in known.methods
        if p in degrees(known, method)
    )


def hop_latency(system, p, eager):
    """The shortest measured all-reduce over its 2(p-1) steps, in s.

    eager: over the methods that include the launch from the CPU, or over those that do not.
    """
    known = load_system(system)
    methods = [m for m in known.methods if (m.endswith("-eager") and "kernel" not in m) == eager]
    shortest = min(float(allreduce_times(known, p, method)[1].min()) for method in methods)
    return shortest / (2 * (p - 1))


def layer_communication(system, p, batch):
    """Seconds of the two fastest measured all-reduces of a Llama-2-7B layer in decode."""
    return 2 * fastest_allreduce(system, p, batch * claim_checks.HIDDEN * 2)


def layer_time(system, p, batch):
    """Composed seconds of a layer: weight GEMMs by the roofline, all-reduces as measured."""
    gemms = claim_checks.gemm_time(p, batch, load_system(system).accelerator)
    return gemms + (layer_communication(system, p, batch) if p > 1 else 0)


def communication_share(system, p, batch):
    """Communication over the composed time of a layer."""
    return layer_communication(system, p, batch) / layer_time(system, p, batch)


def layer_speedup(system, p, batch):
    """Speed-up of the composed layer time."""
    return layer_time(system, 1, batch) / layer_time(system, p, batch)


def pipeline_over_tensor(system, devices, batch):
    """Decode throughput of a pipeline over that of tensor parallelism, on as many devices.

    The pipeline keeps one batch / devices in each stage, so that every stage is busy, and its
    own messages are left out, which favours it.
    """
    chip = load_system(system).accelerator
    pipeline = claim_checks.gemm_time(1, batch / devices, chip)
    return layer_time(system, devices, batch) / pipeline


def gemm_seconds(chip, p, tokens):
    """Measured seconds of the four weight GEMMs of a Llama-2-7B layer on one of p ranks."""
    table = kernel_table("llama-2-7b")
    rows = table[(table["accelerator"] == chip) & (table["p"] == p) & (table["tokens"] == tokens)]
    return float(rows[rows["kernel"].isin(GEMMS)]["time_s"].sum())


def gemm_utilisation(chip, p, tokens):
    """Roofline time of the four weight GEMMs over their measured time."""
    ideal = claim_checks.gemm_time(p, tokens, chip)
    return float(rooflines.utilisation(ideal, gemm_seconds(chip, p, tokens)))


def effective_over_line(fabric_of):
    """Effective over line rate of an accelerator's own network."""
    network = accelerator(fabric_of).network
    return network.effective / network.per_direction
