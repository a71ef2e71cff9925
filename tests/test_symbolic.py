"""The few operations that behave alike on floats, arrays and symbols."""

import numpy as np
import pytest
import sympy

from tpbook import symbolic

x, y = sympy.symbols("x y", positive=True)


def test_same_sees_through_the_form():
    assert symbolic.same((x + y) ** 2, x**2 + 2 * x * y + y**2)
    assert symbolic.same(1, x / x)
    assert not symbolic.same((x + y) ** 2, x**2 + y**2)


@pytest.mark.parametrize(
    ("on_numbers", "on_symbols"), [("minimum", sympy.Min), ("maximum", sympy.Max)]
)
def test_extremes(on_numbers, on_symbols):
    function = getattr(symbolic, on_numbers)
    np.testing.assert_array_equal(
        function([1.0, 4.0], 2.0), [float(on_symbols(1, 2)), float(on_symbols(4, 2))]
    )
    assert function(x, y) == on_symbols(x, y)


def test_roots_and_logarithms():
    assert symbolic.sqrt(9.0) == 3 and symbolic.sqrt(x**2) == x
    assert symbolic.log2(8.0) == 3 and symbolic.log2(x).subs(x, 8) == 3


def test_one_rank_is_not_parallel():
    np.testing.assert_array_equal(symbolic.where_parallel([1, 2, 4], 5.0), [0, 5, 5])
    assert symbolic.where_parallel(1, x) == 0 and symbolic.where_parallel(2, x) == x
    assert symbolic.where_parallel(y, x) == x
