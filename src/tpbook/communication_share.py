"""The share of communication in a pass, and what of it a faster link or a shorter latency changes."""

from tpbook import checks
from tpbook.equation import equation


@equation("eq-communication-share", symbol="share")
def communication_share(compute_time, collectives, allreduce_time):
    """Share K T_AR / (T_comp + K T_AR) of communication in a pass.

    compute_time: everything else in the pass (s). collectives: K. allreduce_time: s.
    Raises ValueError for a compute time that is not positive, or a negative count or time.
    """
    checks.positive(compute_time=compute_time)
    checks.nonnegative(collectives=collectives, allreduce_time=allreduce_time)
    return collectives * allreduce_time / (compute_time + collectives * allreduce_time)


@equation("eq-share-time", symbol="allreduce_time")
def share_allreduce_time(share, compute_time, collectives):
    """All-reduce time theta T_comp / ((1 - theta) K) that makes communication a share theta.

    share: theta, below one. compute_time: s. collectives: K.
    Raises ValueError for a share outside 0..1 and for values that are not positive.
    """
    checks.fraction(share=share)
    checks.below_one(share=share)
    checks.positive(compute_time=compute_time, collectives=collectives)
    return share * compute_time / ((1 - share) * collectives)


@equation("eq-break-even", symbol="allreduce_time")
def break_even_allreduce_time(time_one, compute_time, collectives):
    """All-reduce time (T_1 - T_comp) / K at which p ranks are no faster than one.

    Negative where compute alone takes longer on p ranks than on one.
    time_one: the pass on one rank (s). compute_time: on p ranks without communication (s).
    collectives: K. Raises ValueError for values that are not positive.
    """
    checks.positive(time_one=time_one, compute_time=compute_time, collectives=collectives)
    return (time_one - compute_time) / collectives


@equation("eq-bandwidth-part", symbol="bandwidth_part")
def bandwidth_part(rank_traffic, alpha, beta):
    """Share W / (W + alpha beta) of the bandwidth term in a collective's time alpha + W/beta.

    No link saves more of the collective than this, however fast.
    rank_traffic: W, bytes that one rank sends. alpha: s. beta: B/s per direction.
    Raises ValueError for traffic or a rate that is not positive, or a negative latency.
    """
    checks.positive(rank_traffic=rank_traffic, beta=beta)
    checks.nonnegative(alpha=alpha)
    return rank_traffic / (rank_traffic + alpha * beta)
