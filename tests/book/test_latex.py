"""Typeset sums read as people write them, and mean what the expression means."""

import pytest
import sympy

from tpbook.book.latex import latex
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
