"""How far a serial fraction computed from measured times can be trusted."""

import numpy as np

from tpbook import checks
from tpbook.symbolic import sqrt


def fraction_spread(p, speedup, spread):
    """Half-width sqrt(2) delta p / (S (p-1)) of Karp and Flatt's fraction.

    p: degree above 1. speedup: S = T_1/T_p. spread: relative half-width delta of each of the two
    times, taken as independent. To first order in delta.
    Raises ValueError for p <= 1, a speed-up that is not positive or a negative spread.
    """
    checks.nonnegative(spread=spread)
    return spread * sqrt(2 * _sensitivity(p, speedup) ** 2)


def change_spread(p, speedup_p, q, speedup_q, spread):
    """Half-width of the change of the fraction from degree p to degree q.

    Both fractions share the one-rank time, so their errors partly cancel: with
    g = p/(S (p-1)), it is delta sqrt(g_p^2 + g_q^2 + (g_q - g_p)^2). Arguments, errors as
    fraction_spread.
    """
    checks.nonnegative(spread=spread)
    at_p, at_q = _sensitivity(p, speedup_p), _sensitivity(q, speedup_q)
    return spread * sqrt(at_p**2 + at_q**2 + (at_q - at_p) ** 2)


def trend(change, half_width) -> str:
    """What a change with its half-width says: "rises", "falls" or "unresolved"."""
    checks.number(change=change)
    checks.nonnegative(half_width=half_width)
    if abs(change) <= half_width:
        return "unresolved"
    return "rises" if np.sign(change) > 0 else "falls"


def _sensitivity(p, speedup):
    """Change of the fraction per relative change of the time on p ranks."""
    checks.several(p=p)
    checks.positive(speedup=speedup)
    return p / (speedup * (p - 1))
