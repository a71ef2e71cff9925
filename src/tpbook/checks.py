"""Checks of a function's arguments: SymPy symbols pass, bad numbers get one clear line.

Every check takes keyword arguments, so that the message can name the argument. Nothing is
clipped: a value outside its range raises ValueError.
"""

import numpy as np

from tpbook.symbolic import is_symbolic

# No count comes near, and a float holds every whole number up to it.
LARGEST = 1e15


def positive(**values) -> None:
    """Raise ValueError unless every value is a finite or infinite number above zero."""
    for name, value in values.items():
        _check(name, value, lambda x: x > 0, "must be positive")


def nonnegative(**values) -> None:
    """Raise ValueError unless every value is zero or above."""
    for name, value in values.items():
        _check(name, value, lambda x: x >= 0, "must be zero or positive")


def degree(**values) -> None:
    """Raise ValueError unless every value is a degree of parallelism, one or above."""
    for name, value in values.items():
        _check(name, value, lambda x: x >= 1, "must be at least 1")


def whole(**values) -> None:
    """Raise ValueError unless every value is a whole number up to 1e15, of any type."""
    for name, value in values.items():
        _check(name, value, lambda x: np.mod(x, 1) == 0, "must be whole")
        _check(name, value, lambda x: x <= LARGEST, f"must be at most {LARGEST:g}")


def several(**values) -> None:
    """Raise ValueError unless every value is a degree above one, so that ranks communicate."""
    for name, value in values.items():
        _check(name, value, lambda x: x > 1, "must be above 1")


def fraction(**values) -> None:
    """Raise ValueError unless every value lies between zero and one."""
    for name, value in values.items():
        _check(name, value, lambda x: (x >= 0) & (x <= 1), "must lie between 0 and 1")


def below_one(**values) -> None:
    """Raise ValueError unless every value is below one."""
    for name, value in values.items():
        _check(name, value, lambda x: x < 1, "must be below 1")


def number(**values) -> None:
    """Raise ValueError unless every value is a number, of either sign."""
    for name, value in values.items():
        _check(name, value, lambda x: ~np.isnan(x), "must be a number")


def _check(name, value, holds, rule) -> None:
    # An expression without symbols, such as Integer(-1), is a number like any other.
    if is_symbolic(value) and value.free_symbols:
        return
    try:
        numbers = _numbers(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a number of double precision") from None
    # A comparison with NaN is False, so NaN fails every rule.
    with np.errstate(invalid="ignore"):
        bad = ~np.asarray(holds(numbers))
    if bad.any():
        first = float(numbers[bad].flat[0]) if numbers.ndim else float(numbers)
        raise ValueError(f"{name} {rule}, got {first:g}")


def _numbers(value) -> np.ndarray:
    """The value as floats; TypeError for what NumPy would make one of: None, "3", True, 1j."""
    raw = np.asarray(value)
    if raw.dtype == object:
        plain = not any(isinstance(item, str | bytes | bool | complex | None) for item in raw.flat)
    else:
        plain = raw.dtype.kind in "iuf"
    if not plain:
        raise TypeError
    return raw.astype(float)
