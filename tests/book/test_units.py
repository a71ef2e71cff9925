"""Numbers with units: what a reader sees is what was computed, to the digits shown."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpbook.book.units import PREFIXES, binary_bytes, si


@pytest.mark.parametrize(
    "value, unit, expected",
    [
        (3.35e12, "B/s", "3.35 TB/s"),
        (12.4e-6, "s", "12.4 µs"),
        (20e-6, "s", "20 µs"),
        (999.96e-6, "s", "1 ms"),
        (0.0, "s", "0 s"),
        (-4.2e-3, "s", "-4.2 ms"),
        (1.0, "FLOP", "1 FLOP"),
    ],
)
def test_si_examples(value, unit, expected):
    assert si(value, unit) == expected


@given(st.floats(1e-11, 1e16), st.integers(1, 6))
def test_si_reads_back_to_its_digits(value, digits):
    number, unit = si(value, "s", digits).split(" ")
    scale = {prefix: power for power, prefix in PREFIXES.items()}[unit[:-1]]
    assert float(number) * 10.0**scale == pytest.approx(value, rel=0.51 * 10 ** (1 - digits))
    assert 1 <= float(number) < 1000 and "e" not in number


@given(st.integers(0, 2**45))
def test_binary_bytes_reads_back(value):
    number, unit = binary_bytes(value, digits=6).split(" ")
    scale = ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)
    assert float(number) * 1024**scale == pytest.approx(value, rel=1e-5)


def test_exact_powers_are_whole():
    assert [binary_bytes(2**k) for k in (0, 13, 20, 30)] == ["1 B", "8 KiB", "1 MiB", "1 GiB"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="finite"):
        si(value, "s")
    with pytest.raises(ValueError, match="finite"):
        binary_bytes(value)
    assert not re.search("nan|inf", si(1.0, "s"))


def test_nothing_becomes_zero_for_want_of_a_prefix():
    assert si(1e-17, "s") == "0.00001 ps" and si(1.2e21, "B") == "1200000 PB"
