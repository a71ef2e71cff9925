"""Every labelled equation of the package is shown once in the book, so that {eq} finds it."""

import re
from collections import Counter
from pathlib import Path

import nbformat

from tpbook.notation_page import equations_in_order

BOOK = Path(__file__).parents[2] / "book"
LABEL = re.compile(r"^\$\$ \((eq-[a-z0-9-]+)\)$", re.MULTILINE)


def shown_labels() -> Counter:
    labels = Counter()
    for path in sorted(BOOK.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                labels.update(LABEL.findall(output.get("data", {}).get("text/markdown", "")))
    return labels


def test_every_equation_is_shown_exactly_once():
    labels = shown_labels()
    equations = {function.label for function in equations_in_order()}
    assert {label for label in equations if labels[label] != 1} == set()


def test_the_pattern_finds_a_label():
    assert LABEL.findall("$$\nE = m\n$$ (eq-energy)") == ["eq-energy"]
    assert LABEL.findall("$$\nE = m\n$$") == []
