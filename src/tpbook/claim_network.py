"""Checks of the claims ledger on the communication of a system's steps and on its fitted network."""

from functools import cache

from tpbook import apriori, difference_method, steps
from tpbook.claim_evaluation import A40, COMPUTE, read_system, times
from tpbook.claim_measurements import allreduce_seconds
from tpbook.collectives import half_bandwidth_message, ring_traffic
from tpbook.communication_share import (
    bandwidth_part,
    communication_share,
    share_allreduce_time,
)
from tpbook.latency_budget import part
from tpbook.models import model
from tpbook.network_fit import fit_hockney
from tpbook.roof_distance import implied_latency
from tpbook.step_collectives import step_collectives
from tpbook.systems import allreduce_times

METHOD = "nccl-kernel-eager"
FITTED = 8 * 2**10, 64 * 2**20


def step_allreduce(phase, p, batch, system=A40):
    """(message in B, mean seconds) of one all-reduce of a step."""
    known = read_system(system)
    context = steps.contexts(known, phase)[-1]
    row = step_collectives(known, model(known.model), phase, context).loc[(p, batch)]
    return float(row["message"]), float(row["time_s"] / row["collectives"])


def distance_to_line(phase, p, batch, system=A40):
    """Time of one all-reduce of a step over its ring traffic at the line rate."""
    message, time = step_allreduce(phase, p, batch, system)
    return float(time * read_system(system).bandwidth.value / ring_traffic(p, message))


def latency_at_distance(distance, p=4, batch=1, system=A40):
    """Latency in s that puts a decode all-reduce so many times below the line rate."""
    message, _ = step_allreduce("decode", p, batch, system)
    line = read_system(system).bandwidth.value
    return float(implied_latency(distance, ring_traffic(p, message), line))


@cache
def network(p, system=A40, method=METHOD):
    """Latency and bandwidth fitted to the timed all-reduces of 8 KiB to 64 MiB."""
    message, time = allreduce_times(read_system(system), p, method)
    inside = (message >= FITTED[0]) & (message <= FITTED[1])
    return fit_hockney(message[inside], time[inside], p)


def latency_bound(phase, p, batch, system=A40):
    """Whether latency takes longer than the ring's traffic in a step's all-reduce."""
    fit = network(p, system)
    traffic = ring_traffic(p, step_allreduce(phase, p, batch, system)[0])
    return bool(traffic < half_bandwidth_message(fit.alpha, fit.beta))


def budget(p, launch="framework_launch", system=A40):
    """The latency budget of one all-reduce in s; launch: a part of it, or None for none."""
    seconds = part(launch).value if launch else 0.0
    return float(sum(apriori.budget(read_system(system), p, seconds).values()))


def share_latency(share_of_step, p=4, batch=1, system=A40):
    """Seconds of one all-reduce that would make communication this share of a decode step."""
    row = times(system, "decode").loc[(p, batch)]
    count = 2 * model(read_system(system).model).layers
    return float(share_allreduce_time(share_of_step, float(row[COMPUTE].sum()), count))


def share_at_latency(alpha, batch, p=4, system=A40):
    """Share of communication in a decode step whose all-reduces have another latency (s).

    Their bandwidth is the fitted one, the rest of the step that of the table.
    """
    message, _ = step_allreduce("decode", p, batch, system)
    row = times(system, "decode").loc[(p, batch)]
    count = 2 * model(read_system(system).model).layers
    time = alpha + ring_traffic(p, message) / network(p, system).beta
    return float(communication_share(float(row[COMPUTE].sum()), count, time))


def share_after(before, factor, p=4, batch=1, line=None, system=A40):
    """Share of communication once the bandwidth alone has grown by a factor.

    before: the share with the present bandwidth; what its all-reduce takes beyond its traffic at
    the line rate (B/s; the system's by default) is latency.
    """
    message, _ = step_allreduce("decode", p, batch, system)
    line = line or read_system(system).bandwidth.value
    time, traffic = share_latency(before, p, batch, system), ring_traffic(p, message)
    gained = time * bandwidth_part(traffic, time - traffic / line, line) * (1 - 1 / factor)
    left = before / (1 - before) * (time - gained) / time
    return float(left / (1 + left))


def difference_over_fit(phase, batch, system=A40):
    """Bandwidth from the communication of two and of four ranks, over the fitted one of four."""
    two, four = _two_and_four(phase, batch, system)
    found = difference_method.difference_bandwidth(
        2, 4, two["collectives"], two["message"], two["time_s"], four["time_s"]
    )
    return _three_digits(found / network(4, system).beta)


def difference_latency(phase, batch, system=A40):
    """Latency in s from the communication of two and of four ranks, by the same recipe."""
    two, four = _two_and_four(phase, batch, system)
    found = difference_method.difference_latency(
        2, 4, two["collectives"], two["time_s"], four["time_s"]
    )
    return float(found)


def attained(p, system=A40):
    """Fitted bandwidth over the line rate."""
    return _three_digits(network(p, system).beta / read_system(system).bandwidth.value)


def share_with(system, method, p=4, batch=1):
    """Share of communication in a decode step whose all-reduces take as long as timed by a method."""
    message, _ = step_allreduce("decode", p, batch, system)
    row = times(system, "decode").loc[(p, batch)]
    count = 2 * model(read_system(system).model).layers
    time = allreduce_seconds(system, p, message, method)
    return float(communication_share(float(row[COMPUTE].sum()), count, time))


def _two_and_four(phase, batch, system):
    """The all-reduces of a step on two and on four ranks: rows of step_collectives."""
    known = read_system(system)
    context = steps.contexts(known, phase)[-1]
    table = step_collectives(known, model(known.model), phase, context)
    return tuple(table.loc[(p, batch)] for p in (2, 4))


def _three_digits(value):
    """A fitted value, the same on every processor."""
    return float(f"{value:.3g}")
