"""Latency and bandwidth from the communication times of two degrees at one message size.

The outline's recipe of section 4.4. Under one latency per collective the difference of the two
times holds no latency, so it gives the bandwidth; the latency follows from either time. The
condition of the recipe is that of the difference: see identifiability.difference_amplification.
"""

import numpy as np

from tpbook import checks
from tpbook.equation import equation


@equation("eq-difference-bandwidth", symbol="beta")
def difference_bandwidth(p, q, collectives, message, communication_p, communication_q):
    """Bandwidth 2 K M (q-p) / (p q (T_q - T_p)) from the communication times at p and at q.

    p, q: degrees above 1, q > p. collectives: K. message: B.
    communication_p, communication_q: s of one pass on p and on q ranks.
    Raises ValueError for a value out of range, and for a time at q that is not the longer one,
    from which no bandwidth follows. Source: the outline, section 4.4.
    """
    _check(p, q, collectives, communication_p, communication_q)
    checks.positive(message=message)
    later = communication_q - communication_p
    checks.positive(**{"communication_q - communication_p": later})
    return 2 * collectives * message * (q - p) / (p * q * later)


@equation("eq-difference-latency", symbol="alpha")
def difference_latency(p, q, collectives, communication_p, communication_q):
    """Latency [p (q-1) T_p - q (p-1) T_q] / (K (q-p)) per collective from the same two times.

    It is negative where the times grow faster with the degree than a bandwidth explains.
    Arguments and errors as in difference_bandwidth; the message drops out.
    """
    _check(p, q, collectives, communication_p, communication_q)
    weighted = p * (q - 1) * communication_p - q * (p - 1) * communication_q
    return weighted / (collectives * (q - p))


def difference_errors(p, q, communication_p, communication_q) -> tuple:
    """Relative errors of 1/beta and of alpha per unit of relative noise in the two times.

    hypot(x_p, x_q) / |x_q - x_p| for independent noise, with x the times themselves for 1/beta and
    their weighted values p (q-1) T_p and q (p-1) T_q for alpha. Infinite where the two are equal.
    p, q: degrees above 1, q > p. communication_p, communication_q: s.
    Raises ValueError for a value out of range.
    """
    _check(p, q, 1, communication_p, communication_q)
    weighted = p * (q - 1) * communication_p, q * (p - 1) * communication_q
    return tuple(_amplified(*pair) for pair in ((communication_p, communication_q), weighted))


def _amplified(first, second):
    with np.errstate(divide="ignore"):
        return np.hypot(first, second) / np.abs(np.subtract(second, first))


def _check(p, q, collectives, communication_p, communication_q) -> None:
    checks.several(p=p, q=q)
    checks.positive(
        collectives=collectives,
        communication_p=communication_p,
        communication_q=communication_q,
        **{"q - p": q - p},
    )
