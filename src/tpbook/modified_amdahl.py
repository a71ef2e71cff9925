"""Amdahl's law with communication as an explicit term, under both latency conventions."""

from tpbook import checks
from tpbook.collectives import ring_allreduce_time, ring_allreduce_time_per_hop
from tpbook.equation import equation


@equation("eq-modified-amdahl", symbol="time")
def modified_amdahl_time(p, work_time, eta, collectives, message, alpha, beta):
    """Time T_c/(p eta) + K [alpha + 2(p-1)M/(p beta)] of a pass on p ranks.

    p: degree. work_time: ideal compute time on one rank (s). eta: utilisation. collectives: K.
    message: B. alpha: s per collective. beta: B/s per direction.
    Raises ValueError for a value out of range. Source: the outline, section 2.3.
    """
    return _compute(p, work_time, eta) + communication_time(p, collectives, message, alpha, beta)


@equation("eq-modified-amdahl-per-hop", symbol="time")
def modified_amdahl_time_per_hop(p, work_time, eta, collectives, message, alpha_hop, beta):
    """Time T_c/(p eta) + 2 K (p-1) [alpha_h + M/(p beta)] of a pass on p ranks.

    alpha_hop: s per ring step. Other arguments and errors as modified_amdahl_time.
    """
    return _compute(p, work_time, eta) + communication_time_per_hop(
        p, collectives, message, alpha_hop, beta
    )


@equation("eq-communication", symbol="communication_time")
def communication_time(p, collectives, message, alpha, beta):
    """Communication K [alpha + 2(p-1)M/(p beta)] of a pass, one latency per collective.

    Zero at p = 1, where a single rank has no collective. p: degree. collectives: K. message: B.
    alpha: s per collective. beta: B/s per direction. Raises ValueError for a value out of range.
    """
    checks.nonnegative(collectives=collectives)
    return collectives * ring_allreduce_time(p, message, alpha, beta)


@equation("eq-communication-per-hop", symbol="communication_time")
def communication_time_per_hop(p, collectives, message, alpha_hop, beta):
    """Communication 2 K (p-1) [alpha_h + M/(p beta)] of a pass, one latency per ring step.

    alpha_hop: s per ring step. Other arguments and errors as communication_time.
    """
    checks.nonnegative(collectives=collectives)
    return collectives * ring_allreduce_time_per_hop(p, message, alpha_hop, beta)


@equation("eq-extrapolation-error", symbol="extrapolation_error")
def extrapolation_error(p, q, collectives, alpha):
    """Error K alpha (q-p) / (q (p-1)) of Amdahl fitted at 1 and p and read at q > p.

    Positive: Amdahl is pessimistic. Holds when the truth has one latency per collective.
    p, q: degrees above 1. collectives: K. alpha: s per collective.
    Raises ValueError for a degree of 1 or less. Source: this book, theorem of section 2.3.
    """
    checks.several(p=p, q=q)
    checks.nonnegative(collectives=collectives, alpha=alpha)
    return collectives * alpha * (q - p) / (q * (p - 1))


@equation("eq-extrapolation-error-per-hop", symbol="extrapolation_error")
def extrapolation_error_per_hop(p, q, collectives, alpha_hop):
    """Error -2 K alpha_h (q-1)(q-p)/q of Amdahl fitted at 1 and p and read at q > p.

    Negative: Amdahl is optimistic. Holds when the truth has one latency per ring step.
    Arguments and errors as extrapolation_error, alpha_hop in s per step.
    """
    checks.several(p=p, q=q)
    checks.nonnegative(collectives=collectives, alpha_hop=alpha_hop)
    return -2 * collectives * alpha_hop * (q - 1) * (q - p) / q


def _compute(p, work_time, eta):
    checks.nonnegative(work_time=work_time)
    checks.positive(eta=eta)
    checks.degree(p=p)
    return work_time / (p * eta)
