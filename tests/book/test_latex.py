"""Typeset sums read as people write them, and mean what the expression means."""

import pytest
import sympy

from tpbook.book.latex import join_roots, latex
from tpbook.collectives import hockney_time, tree_allreduce_time
from tpbook.notation import symbols

p, q, message, alpha, beta, f = symbols("p q message alpha beta serial_fraction")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (hockney_time(message, alpha, beta), r"\alpha + \frac{M}{\beta}"),
        (p - 1, "p - 1"),
        (p + 1, "p + 1"),
        (q - p, "q - p"),
        (1 - f, "1 - f"),
        (-f, "- f"),
        (-p - 1, "- p - 1"),
    ],
)
def test_order(expression, text):
    assert latex(expression) == text


def test_the_logarithm_to_base_two():
    assert r"\log_{2} p" in latex(tree_allreduce_time(p, message, alpha, beta))


def test_no_term_is_lost():
    terms = sympy.symbols("a:e")
    text = latex(sum(terms) - 7)
    assert all(sympy.latex(term) in text for term in terms) and text.endswith("- 7")


a, b, c = sympy.symbols("a b c", positive=True)
UNKNOWN = sympy.Symbol("u")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sympy.sqrt(a) / sympy.sqrt(b), r"\sqrt{\frac{a}{b}}"),
        (sympy.sqrt(a / (2 * b)), r"\sqrt{\frac{a}{2 b}}"),
        (2 * sympy.sqrt(2 * a * UNKNOWN), r"2 \sqrt{2 a u}"),
        (sympy.sqrt(a) * b, r"\sqrt{a} b"),
        (sympy.sqrt(a) / sympy.sqrt(UNKNOWN), r"\frac{\sqrt{a}}{\sqrt{u}}"),
    ],
)
def test_roots_become_one_where_that_is_right(expression, text):
    assert latex(expression) == text


@pytest.mark.parametrize(
    "product",
    [
        sympy.sqrt(2) * sympy.sqrt(a - UNKNOWN) / (2 * sympy.sqrt(b) * sympy.sqrt(c)),
        3 * sympy.sqrt(6) * c * sympy.sqrt(a) / (4 * sympy.sqrt(b)),
        -5 * sympy.sqrt(a) * sympy.sqrt(a + b) / c,
    ],
)
def test_one_root_has_the_value_of_the_product(product):
    outside, inside = join_roots(product)
    assert inside != 1
    assert sympy.simplify(outside**2 * inside - product**2) == 0
    values = {a: 7.0, b: 2.0, c: 3.0, UNKNOWN: 1.0}
    assert float((outside * sympy.sqrt(inside)).subs(values)) == pytest.approx(
        float(product.subs(values))
    )
