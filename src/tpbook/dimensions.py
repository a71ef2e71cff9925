"""The dimension check: an equation must change as its unit says when the units change.

Measuring seconds, bytes and FLOP in other units multiplies every argument by a known factor.
A formula with right dimensions then gives its old result times the factor of its own unit; a
sum of unlike quantities, a missing rate or a wrong power does not. The check needs only numbers,
so it reaches minima, roots and logarithms as well.
"""

import inspect
import math
from collections.abc import Callable

from tpbook.notation import row

# How many of the new units make an old one: unlike and irrational, so that no two can cancel.
_FACTORS = {"s": math.sqrt(2.9), "B": math.sqrt(5.3), "FLOP": math.sqrt(7.1)}

# Pure numbers at which every equation is defined; other arguments are taken as 3 of their unit.
_SAMPLES = {
    "serial_fraction": 0.3,
    "eta": 0.7,
    "q": 5.0,
    "exponent": 1.5,
    "time_one": 100.0,
    "speedup": 2.0,
    "share": 0.3,
    "carried": 0.4,
    "compute_ratio": 0.4,
    "context_limit": 5.0,
    "tpot_one": 5.0,
    "communication_q": 4.0,
}


def unit_powers(unit: str) -> dict[str, int]:
    """The powers of s, B and FLOP in a unit such as "FLOP/s", "B" or "FLOP^-1".

    Raises ValueError for a unit made of anything else.
    """
    powers = dict.fromkeys(_FACTORS, 0)
    numerator, *denominators = unit.split("/")
    for part, sign in [(numerator, 1), *((part, -1) for part in denominators)]:
        base, _, power = part.partition("^")
        if base == "1":
            continue
        if base not in powers:
            raise ValueError(f"unit {unit!r} is not made of s, B and FLOP")
        powers[base] += sign * int(power or 1)
    return powers


def has_right_dimensions(function: Callable) -> bool:
    """Whether a registered equation scales as the units of its arguments and symbol demand.

    function: one decorated with tpbook.equation.equation, arguments named as notation rows.
    Raises ValueError for a name or a unit that the notation table does not know.
    """
    names = inspect.signature(function).parameters
    plain = {name: _SAMPLES.get(name, 3.0) for name in names}
    scaled = {name: value * _factor(row(name).unit) for name, value in plain.items()}
    expected = _factor(row(function.symbol).unit) / _factor(function.carries)
    ratio = function(**scaled) / function(**plain)
    return math.isclose(ratio, expected, rel_tol=1e-9)


def _factor(unit: str) -> float:
    return math.prod(_FACTORS[base] ** power for base, power in unit_powers(unit).items())
