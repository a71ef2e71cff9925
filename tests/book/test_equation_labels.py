"""Every labelled equation of the package is shown once in the book, so that {eq} finds it."""

from collections import Counter
from pathlib import Path

from tpbook.book.labels import LABEL, shown_labels
from tpbook.notation_page import equations_in_order

BOOK = Path(__file__).parents[2] / "book"


def test_every_equation_is_shown_exactly_once():
    labels = Counter(shown_labels(BOOK))
    equations = {function.label for function in equations_in_order()}
    assert {label for label in equations if labels[label] != 1} == set()


def test_the_pattern_finds_a_label():
    assert LABEL.findall("$$\nE = m\n$$ (eq-energy)") == ["eq-energy"]
    assert LABEL.findall("$$\nE = m\n$$") == []
