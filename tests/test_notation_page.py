"""The notation page lists every equation, and every symbol that an equation uses."""

import inspect

import pytest

from tpbook import notation_page
from tpbook.equation import EQUATIONS
from tpbook.notation import NOTATION


def test_every_equation_is_listed_once():
    functions = notation_page.equations_in_order()
    assert sorted(f.label for f in functions) == sorted(EQUATIONS)


def test_chapters_come_in_order():
    modules = [f.__module__.rpartition(".")[2] for f in notation_page.equations_in_order()]
    assert list(dict.fromkeys(modules)) == list(notation_page.CHAPTER_ORDER)


@pytest.mark.parametrize("name", NOTATION)
def test_the_first_equation_has_the_symbol_and_no_earlier_one_does(name):
    label = notation_page.first_equation(name)
    assert label is not None, f"{name} is in no equation: drop its row"
    for function in notation_page.equations_in_order():
        used = name == function.symbol or name in inspect.signature(function).parameters
        if function.label == label:
            assert used
            break
        assert not used


def test_a_module_that_is_not_listed_is_refused(monkeypatch):
    notation_page.equations_in_order.cache_clear()
    monkeypatch.setattr(notation_page, "CHAPTER_ORDER", notation_page.CHAPTER_ORDER[:-1])
    with pytest.raises(ValueError, match="list its module cache_crossover"):
        notation_page.equations_in_order()
    notation_page.equations_in_order.cache_clear()
