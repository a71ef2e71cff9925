"""Times of the collectives of tensor parallelism, each from a latency and a bandwidth.

Two latency conventions are in use, and the book keeps both, named: alpha is paid once per
collective, alpha_hop once per step of the algorithm. At p = 1 every collective takes no time.
A bandwidth is that of one rank in one direction.
"""

from tpbook import checks
from tpbook.equation import equation
from tpbook.symbolic import log2, where_parallel


@equation("eq-hockney", symbol="message_time")
def hockney_time(message, alpha, beta):
    """Time alpha + M/beta of one message.

    message: B. alpha: s. beta: B/s per direction.
    Raises ValueError for a negative size or latency or a bandwidth that is not positive.
    Source: Hockney 1994.
    """
    _check(message, beta, alpha=alpha)
    return alpha + message / beta


@equation("eq-communication-roofline", symbol="bandwidth")
def hockney_bandwidth(message, alpha, beta):
    """Bandwidth 1 / (alpha/M + 1/beta) that a message of M bytes attains: the smooth roof.

    message: B, positive. alpha: s. beta: B/s per direction.
    Raises ValueError as hockney_time, and for an empty message. Source: Hockney 1994.
    """
    checks.positive(message=message, beta=beta)
    checks.nonnegative(alpha=alpha)
    return 1 / (alpha / message + 1 / beta)


@equation("eq-half-message", symbol="half_message")
def half_bandwidth_message(alpha, beta):
    """Message n_1/2 = alpha beta at which half the bandwidth is reached.

    alpha: s. beta: B/s per direction.
    Raises ValueError for a negative latency or a bandwidth that is not positive.
    Source: Hockney 1994.
    """
    checks.nonnegative(alpha=alpha)
    checks.positive(beta=beta)
    return alpha * beta


@equation("eq-ring-traffic", symbol="rank_traffic")
def ring_traffic(p, message):
    """Bytes 2(p-1)M/p that each rank sends in a ring all-reduce, the least if ranks add.

    p: degree. message: B.
    Raises ValueError for p < 1 or a negative size. Source: Patarasuk and Yuan 2009.
    """
    checks.degree(p=p)
    checks.nonnegative(message=message)
    return 2 * (p - 1) * message / p


@equation("eq-ring-lumped", symbol="allreduce_time")
def ring_allreduce_time(p, message, alpha, beta):
    """Time alpha + 2(p-1)M/(p beta) of a ring all-reduce with one latency per collective.

    p: degree. message: B. alpha: s per collective. beta: B/s per direction.
    Raises ValueError for p < 1, a negative size or latency, a bandwidth that is not positive.
    """
    _check(message, beta, alpha=alpha)
    checks.degree(p=p)
    return where_parallel(p, alpha) + ring_traffic(p, message) / beta


@equation("eq-ring-per-hop", symbol="allreduce_time")
def ring_allreduce_time_per_hop(p, message, alpha_hop, beta):
    """Time 2(p-1)(alpha_h + M/(p beta)) of a ring all-reduce with one latency per step.

    p: degree. message: B. alpha_hop: s per step. beta: B/s per direction.
    Raises ValueError as ring_allreduce_time. Source: Thakur, Rabenseifner and Gropp 2005.
    """
    _check(message, beta, alpha_hop=alpha_hop)
    checks.degree(p=p)
    return 2 * (p - 1) * alpha_hop + ring_traffic(p, message) / beta


@equation("eq-ring-half", symbol="half_collective_time")
def ring_reduce_scatter_time(p, message, alpha_hop, beta):
    """Time (p-1)(alpha_h + M/(p beta)) of a ring reduce-scatter; an all-gather takes the same.

    message: B of the whole buffer, of which each rank ends with (or starts from) one p-th.
    Other arguments and errors as ring_allreduce_time_per_hop.
    """
    return ring_allreduce_time_per_hop(p, message, alpha_hop, beta) / 2


@equation("eq-tree", symbol="allreduce_time")
def tree_allreduce_time(p, message, alpha_hop, beta):
    """Time 2 log2(p) alpha_h + 2M/beta of a pipelined double-binary-tree all-reduce.

    p: degree. message: B. alpha_hop: s per level. beta: B/s per direction.
    Raises ValueError as ring_allreduce_time. Source: Sanders, Speck and Traff 2009, in the
    limit of many pipeline segments.
    """
    _check(message, beta, alpha_hop=alpha_hop)
    checks.degree(p=p)
    return 2 * log2(p) * alpha_hop + where_parallel(p, 2 * message / beta)


@equation("eq-one-shot", symbol="allreduce_time")
def one_shot_allreduce_time(p, message, alpha, beta):
    """Time alpha + (p-1)M/beta when every rank reads every other rank's whole buffer.

    p: degree. message: B. alpha: s per collective. beta: B/s per direction of one rank.
    Raises ValueError as ring_allreduce_time.
    """
    _check(message, beta, alpha=alpha)
    checks.degree(p=p)
    return where_parallel(p, alpha) + (p - 1) * message / beta


@equation("eq-two-shot", symbol="allreduce_time")
def two_shot_allreduce_time(p, message, alpha, beta):
    """Time 2 alpha + 2(p-1)M/(p beta): a direct reduce-scatter, then a direct all-gather.

    p: degree. message: B. alpha: s per shot. beta: B/s per direction of one rank.
    Raises ValueError as ring_allreduce_time.
    """
    checks.nonnegative(alpha=alpha)  # here, so that the message shows it undoubled
    return ring_allreduce_time(p, message, 2 * alpha, beta)


@equation("eq-in-network", symbol="allreduce_time")
def in_network_allreduce_time(p, message, alpha, beta):
    """Time alpha + (p+1)M/(p beta) when the switch adds and multicasts.

    Each rank pulls the switch's sum of its own p-th of the buffer and multicasts it, so it
    sends M bytes to the sums and M/p to the multicast, and receives as much.
    p: degree. message: B. alpha: s per collective. beta: B/s per direction of one rank.
    Raises ValueError as ring_allreduce_time.
    """
    _check(message, beta, alpha=alpha)
    checks.degree(p=p)
    return where_parallel(p, alpha + (p + 1) * message / (p * beta))


@equation("eq-bus-bandwidth", symbol="bus_bandwidth")
def bus_bandwidth(p, message, allreduce_time):
    """Bus bandwidth 2(p-1)M/(p T): the wire rate that a ring would need for the same time.

    p: degree above 1. message: B. allreduce_time: s.
    Raises ValueError for p <= 1 or a time that is not positive. Source: the NCCL tests'
    definition of busbw.
    """
    checks.several(p=p)
    checks.positive(allreduce_time=allreduce_time)
    return ring_traffic(p, message) / allreduce_time


def _check(message, beta, **latency) -> None:
    checks.nonnegative(message=message, **latency)
    checks.positive(beta=beta)
