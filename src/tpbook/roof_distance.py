"""What a distance to a roof says, and what it does not: savings, lost time, implied latency.

The distance is a time over the time at the roof, the inverse of the utilisation of eq-utilisation.
"""

from tpbook import checks
from tpbook.equation import equation


@equation("eq-roof-gain", symbol="speedup")
def roof_gain(share, distance):
    """Speed-up 1 / (1 - theta (1 - 1/gamma)) of a pass when one kind of its work reaches its roof.

    share: theta, that work's share of the pass. distance: gamma, its time over its time at the
    roof. Raises ValueError for a share outside 0..1 and a distance that is not positive.
    Source: Amdahl's law, with the work that speeds up in the place of the parallel part.
    """
    checks.fraction(share=share)
    checks.positive(distance=distance)
    return 1 / (1 - share * (1 - 1 / distance))


@equation("eq-lost-time", symbol="lost_time")
def lost_time(p, time, time_one):
    """Time T_p - T_1/p by which work on p ranks exceeds an even division of its one-rank time.

    Negative where the work scales better than evenly. For communication, time_one is zero.
    p: degree. time, time_one: s. Raises ValueError for p < 1 or a negative time.
    """
    checks.degree(p=p)
    checks.nonnegative(time=time, time_one=time_one)
    return time - time_one / p


@equation("eq-implied-latency", symbol="alpha")
def implied_latency(distance, rank_traffic, beta):
    """Latency (gamma - 1) W / beta of a collective that runs gamma times below the line rate.

    Solves alpha + W/beta = gamma W/beta. distance: gamma. rank_traffic: W, bytes that one rank
    sends. beta: line rate, B/s per direction.
    Raises ValueError for a distance below 1 and a rate that is not positive.
    """
    checks.degree(distance=distance)
    checks.nonnegative(rank_traffic=rank_traffic)
    checks.positive(beta=beta)
    return (distance - 1) * rank_traffic / beta
