"""The effective serial fraction: what Amdahl's law would fit to a run that communicates."""

import numpy as np

from tpbook import checks
from tpbook.equation import equation
from tpbook.symbolic import is_symbolic, sqrt


@equation("eq-communicating-time", symbol="time")
def communicating_time(p, time_one, serial_fraction, communication_time):
    """Time (1-f) T_1/p + f T_1 + T_comm of a pass on p ranks.

    p: degree. time_one: s. serial_fraction: f between 0 and 1. communication_time: s.
    Raises ValueError for a value out of range. Source: the outline, archive section 2.4.
    """
    checks.degree(p=p)
    checks.positive(time_one=time_one)
    checks.fraction(serial_fraction=serial_fraction)
    checks.nonnegative(communication_time=communication_time)
    return (1 - serial_fraction) * time_one / p + serial_fraction * time_one + communication_time


@equation("eq-effective-fraction", symbol="effective_fraction")
def effective_serial_fraction(p, time_one, serial_fraction, communication_time):
    """Effective serial fraction f + p/(p-1) T_comm/T_1.

    p: degree above 1. Other arguments and errors as communicating_time.
    """
    checks.several(p=p)
    checks.positive(time_one=time_one)
    checks.fraction(serial_fraction=serial_fraction)
    checks.nonnegative(communication_time=communication_time)
    return serial_fraction + p / (p - 1) * communication_time / time_one


@equation("eq-effective-fraction-lumped", symbol="effective_fraction")
def effective_serial_fraction_lumped(
    p, time_one, serial_fraction, collectives, message, alpha, beta
):
    """Effective serial fraction f + p K alpha/((p-1) T_1) + 2 K M/(T_1 beta), falling in p.

    p: degree above 1. time_one: s. serial_fraction: f. collectives: K. message: B.
    alpha: s per collective. beta: B/s per direction.
    Raises ValueError for a value out of range.
    """
    checks.several(p=p)
    checks.nonnegative(collectives=collectives, message=message, alpha=alpha)
    checks.positive(time_one=time_one, beta=beta)
    checks.fraction(serial_fraction=serial_fraction)
    return (
        serial_fraction
        + p * collectives * alpha / ((p - 1) * time_one)
        + 2 * collectives * message / (time_one * beta)
    )


@equation("eq-effective-fraction-per-hop", symbol="effective_fraction")
def effective_serial_fraction_per_hop(
    p, time_one, serial_fraction, collectives, message, alpha_hop, beta
):
    """Effective serial fraction f + 2 K p alpha_h/T_1 + 2 K M/(T_1 beta), rising in p.

    alpha_hop: s per ring step. Other arguments and errors as the lumped form.
    Source: the outline, archive section 2.4.
    """
    checks.several(p=p)
    checks.nonnegative(collectives=collectives, message=message, alpha_hop=alpha_hop)
    checks.positive(time_one=time_one, beta=beta)
    checks.fraction(serial_fraction=serial_fraction)
    return (
        serial_fraction
        + 2 * collectives * p * alpha_hop / time_one
        + 2 * collectives * message / (time_one * beta)
    )


@equation("eq-optimum-degree", symbol="optimum_degree")
def optimum_degree(time_one, serial_fraction, collectives, message, alpha_hop, beta):
    """Degree sqrt(((1-f) T_1 - 2 K M/beta) / (2 K alpha_h)) with the shortest time.

    It exists for one latency per ring step; with one latency per collective the time falls or
    rises in p without an optimum. Arguments as effective_serial_fraction_per_hop.
    Raises ValueError for a value out of range, and when one rank is the fastest: the root would
    lie below one, or what the ranks share would not outweigh the ring's bytes.
    """
    gain, step = _gain_and_step(time_one, serial_fraction, collectives, message, alpha_hop, beta)
    return sqrt(gain / step)


@equation("eq-maximum-speedup", symbol="maximum_speedup")
def maximum_speedup(time_one, serial_fraction, collectives, message, alpha_hop, beta):
    """Speed-up at the optimum degree, for one latency per ring step.

    T_1 / [f T_1 + 2 K M/beta - 2 K alpha_h + 2 sqrt(2 K alpha_h ((1-f) T_1 - 2 K M/beta))].
    Arguments and errors as optimum_degree.
    """
    gain, step = _gain_and_step(time_one, serial_fraction, collectives, message, alpha_hop, beta)
    fixed = serial_fraction * time_one + 2 * collectives * message / beta
    return time_one / (fixed - step + 2 * sqrt(step * gain))


def _gain_and_step(time_one, serial_fraction, collectives, message, alpha_hop, beta):
    """What falls as 1/p, the parallel work less the ring's bytes, and what each rank adds (s)."""
    checks.positive(time_one=time_one, collectives=collectives, alpha_hop=alpha_hop, beta=beta)
    checks.nonnegative(message=message)
    checks.fraction(serial_fraction=serial_fraction)
    gain = (1 - serial_fraction) * time_one - 2 * collectives * message / beta
    step = 2 * collectives * alpha_hop
    if not is_symbolic(gain, step) and not np.all(gain >= step):
        raise ValueError(
            "no optimum degree above 1, one rank is the fastest: (1-f) T_1 - 2 K M/beta is "
            f"{gain} s, but must be at least 2 K alpha_h = {step} s"
        )
    return gain, step
