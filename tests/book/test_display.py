"""What the cells show, as the site's parser gets it."""

import pytest
import sympy

from tpbook.book import display
from tpbook.collectives import ring_allreduce_time


@pytest.fixture
def shown(monkeypatch):
    calls = []
    monkeypatch.setattr("IPython.display.display", lambda data, **rest: calls.append((data, rest)))
    return calls


def markdown(shown) -> str:
    (data, rest), *more = shown
    assert not more and rest["raw"] and data["text/plain"] == data["text/markdown"]
    return data["text/markdown"]


def test_an_equation_carries_its_label(shown):
    display.show(ring_allreduce_time)
    text = markdown(shown)
    assert text.startswith("$$\n") and text.endswith(f"\n$$ ({ring_allreduce_time.label})")
    assert r"\alpha" in text and "=" in text


def test_a_special_case_has_no_number_unless_named(shown):
    display.show(ring_allreduce_time, alpha=0)
    assert markdown(shown).endswith("\n$$") and r"\alpha" not in markdown(shown)
    shown.clear()
    display.show(ring_allreduce_time, label="eq-ring-no-latency", alpha=0)
    assert markdown(shown).endswith("$$ (eq-ring-no-latency)")


def test_formulas_of_any_kind(shown):
    x = sympy.Symbol("x")
    display.show_latex(sympy.Eq(x, sympy.sqrt(x) / 2), "eq-x")
    assert markdown(shown) == "$$\nx = \\frac{\\sqrt{x}}{2}\n$$ (eq-x)"


def test_what_is_no_equation_or_label_is_refused(shown):
    with pytest.raises(ValueError, match="len is no labelled equation"):
        display.show(len)
    with pytest.raises(ValueError, match="label"):
        display.show_latex("x", "Equation 1")
    assert not shown


def test_a_table_is_a_pipe_table(shown):
    display.table([{"a": "x|y", "$t$": 3}, {"a": r"p\|q", "$t$": "4 µs"}])
    lines = markdown(shown).split("\n")
    assert lines == ["| a | $t$ |", "| :-- | --: |", r"| x\|y | 3 |", r"| p\|q | 4 µs |"]


def test_a_caption_makes_a_numbered_table(shown):
    import pandas

    display.table(pandas.DataFrame({"a": ["x"]}), align="c", caption="All.", name="tab-all")
    assert markdown(shown) == ":::{table} All.\n:name: tab-all\n\n| a |\n| :-: |\n| x |\n:::"


@pytest.mark.parametrize(
    "rows, options, field",
    [
        ([], {}, "rows"),
        ([{"a": "1"}, {"b": "1"}], {}, "rows"),
        ([{"a": 0.1}], {}, "'a'"),
        ([{"a": True}], {}, "'a'"),
        ([{"a": "1"}], {"align": "rr"}, "align"),
        ([{"a": "1"}], {"name": "tab-x"}, "name"),
    ],
)
def test_bad_tables_are_refused(shown, rows, options, field):
    with pytest.raises(ValueError, match=field):
        display.table(rows, **options)
    assert not shown


def test_numbers_of_the_prose_are_stored_not_shown(shown):
    display.say(count="3,318", name="Amdahl's")
    (first, rest), (second, _) = shown
    assert all(key.startswith(display.GLUE) for key in first)
    assert first[display.GLUE + "text/plain"] == "'3,318'"
    assert second[display.GLUE + "text/plain"] == '"Amdahl\'s"'
    assert rest["metadata"]["scrapbook"]["name"] == "count"


def test_an_unformatted_number_is_refused(shown):
    with pytest.raises(ValueError, match="batch must be text, got 3318.2"):
        display.say(batch=3318.2)
