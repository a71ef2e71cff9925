"""Bad numbers get one line that names the argument; symbols pass."""

import numpy as np
import pytest
import sympy

from tpbook import checks


@pytest.mark.parametrize(
    ("check", "bad"),
    [
        (checks.positive, [0, -1.0, float("nan"), [1, -2]]),
        (checks.nonnegative, [-1e-9, float("nan"), np.array([0.0, -1.0])]),
        (checks.degree, [0.5, 0, -2, float("nan")]),
        (checks.several, [1, 0.5, float("nan"), [2, 1]]),
        (checks.below_one, [1, 1.5, float("nan"), [0.5, 1]]),
        (checks.fraction, [-0.1, 1.1, float("nan")]),
    ],
)
def test_bad_values_are_refused_by_name(check, bad):
    for value in bad:
        with pytest.raises(ValueError, match=r"^beta must .*, got "):
            check(beta=value)


@pytest.mark.parametrize(
    "value",
    ["fast", "3", b"3", ["1", "2"], None, [1, None], [1, "x"], True, np.True_, [True], 1j]
    + [np.array(["3"], dtype=object), [sympy.Symbol("a"), 2], sympy.zoo],
    ids=repr,
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="^alpha must be a number"):
        checks.positive(alpha=value)


@pytest.mark.parametrize("value", [sympy.Integer(-1), sympy.Rational(-1, 2), sympy.nan, -sympy.oo])
def test_an_expression_without_symbols_is_judged_as_a_number(value):
    with pytest.raises(ValueError, match="^alpha must be zero or positive"):
        checks.nonnegative(alpha=value)
    checks.positive(alpha=sympy.sqrt(2), beta=sympy.oo)


def test_good_values_and_symbols_pass():
    checks.positive(a=1, b=[0.5, 2], c=sympy.Symbol("c"), d=float("inf"))
    checks.nonnegative(a=0)
    checks.degree(p=1)
    checks.several(p=2)
    checks.below_one(rho=-3)
    checks.fraction(f=[0, 1])


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), [1, 2.5]])
def test_parts_of_a_whole_are_refused(value):
    with pytest.raises(ValueError, match="^batch must be whole"):
        checks.whole(batch=value)
    checks.whole(batch=[1.0, 2], p=sympy.Symbol("p"))


@pytest.mark.parametrize(
    ("value", "says"),
    [(10**16, "^batch must be at most 1e"), (10**400, "^batch is too large")],
)
def test_a_count_that_no_float_holds_is_refused(value, says):
    with pytest.raises(ValueError, match=says):
        checks.whole(batch=value)
