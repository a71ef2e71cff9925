"""The notation page lists every equation, and every symbol that an equation uses."""

import importlib
import inspect
import pkgutil

import pytest

import tpbook
from tpbook import notation_page
from tpbook.book.labels import shown_labels
from tpbook.equation import EQUATIONS
from tpbook.notation import NOTATION
from tpbook.paths import DATA


def test_every_equation_is_listed_once():
    for module in pkgutil.iter_modules(tpbook.__path__):
        if module.name != "__main__":
            importlib.import_module(f"tpbook.{module.name}")
    functions = notation_page.equations_in_order()
    assert sorted(f.label for f in functions) == sorted(EQUATIONS)


def test_equations_come_as_the_chapters_show_them():
    labels = [f.label for f in notation_page.equations_in_order()]
    assert labels == [label for label in shown_labels(DATA.parent / "book") if label in labels]
    assert labels.index("eq-gemm-bytes") < labels.index("eq-ridge-batch")  # both in one chapter


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


def test_an_equation_that_no_chapter_shows_is_refused(monkeypatch):
    notation_page.equations_in_order.cache_clear()
    monkeypatch.setattr(notation_page, "shown_labels", lambda folder: ["eq-intensity"])
    with pytest.raises(ValueError, match="^eq-.* is shown in no chapter"):
        notation_page.equations_in_order()
    notation_page.equations_in_order.cache_clear()


def test_a_folder_without_notebooks_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no notebook"):
        shown_labels(tmp_path)
