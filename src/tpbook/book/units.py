"""Numbers with units as a reader writes them: 3.35 TB/s, 12.4 µs, 8 KiB."""

import math
from decimal import Decimal

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def si(value: float, unit: str, digits: int = 3) -> str:
    """A value in a base unit, with an SI prefix and significant digits: si(3.35e12, "B/s").

    value: in the base unit (s, B, B/s, FLOP/s). Raises ValueError when it is not finite.
    """
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"value must be finite, got {value}: say in words what it means")
    if value == 0:
        return f"0 {unit}"
    # Round first: 999.96 µs at three digits is 1 ms, not 1000 µs.
    value = float(f"{value:.{digits}g}")
    power = 3 * math.floor(math.log10(abs(value)) / 3 + 1e-12)
    power = min(max(power, min(PREFIXES)), max(PREFIXES))
    return f"{_plain(value / 10.0**power, digits)} {PREFIXES[power]}{unit}"


def binary_bytes(value: float, digits: int = 3) -> str:
    """Bytes with a binary prefix: binary_bytes(8192) is "8 KiB"."""
    value = float(value)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"bytes must be finite and not negative, got {value}")
    for prefix in ("", "Ki", "Mi", "Gi"):
        if value < 1024:
            return f"{_plain(value, digits)} {prefix}B"
        value /= 1024
    return f"{_plain(value, digits)} TiB"


def _plain(value: float, digits: int) -> str:
    """Significant digits without an exponent: 1200, 12.4, 0.05."""
    text = f"{value:.{digits}g}"
    return format(Decimal(text), "f")
