"""Laws that hold for every labelled equation: dimensions, labels, floats = arrays = symbols."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import sympy

import tpbook
from tpbook.dimensions import _SAMPLES, has_right_dimensions, unit_powers
from tpbook.equation import EQUATIONS, equation, symbolic
from tpbook.notation import NOTATION, symbol

for module in pkgutil.iter_modules(tpbook.__path__):
    if not module.ispkg and module.name != "__main__":
        importlib.import_module(f"tpbook.{module.name}")

every_equation = pytest.mark.parametrize(
    "function", EQUATIONS.values(), ids=[f.label for f in EQUATIONS.values()]
)


def sample(function):
    return {name: _SAMPLES.get(name, 3.0) for name in inspect.signature(function).parameters}


@every_equation
def test_arguments_and_symbol_are_in_the_notation_table(function):
    assert function.symbol in NOTATION
    assert set(inspect.signature(function).parameters) <= set(NOTATION)


@every_equation
def test_dimensions(function):
    assert has_right_dimensions(function)


@every_equation
def test_symbols_give_what_floats_give(function):
    values = sample(function)
    formula = symbolic(function).rhs
    number = formula.subs({symbol(name): value for name, value in values.items()})
    assert float(number) == pytest.approx(float(function(**values)), rel=1e-12)


@every_equation
def test_arrays_give_what_floats_give(function):
    values = sample(function)
    arrays = {name: np.array([value, value * 1.0]) for name, value in values.items()}
    result = np.asarray(function(**arrays))
    assert result.shape == (2,)
    np.testing.assert_allclose(result, float(function(**values)), rtol=1e-12)


@every_equation
def test_a_docstring_says_what_is_raised(function):
    text = inspect.getdoc(function)
    assert "Raises" in text or "errors" in text


@every_equation
def test_nan_is_refused(function):
    for name in sample(function):
        with pytest.raises(ValueError):
            function(**sample(function) | {name: float("nan")})


def test_latex_names_one_symbol_each():
    latex = [row.latex for row in NOTATION.values()]
    assert len(latex) == len(set(latex))


@pytest.mark.parametrize("name", NOTATION)
def test_units_are_readable(name):
    unit_powers(NOTATION[name].unit)


def test_a_sum_of_unlike_quantities_is_caught():
    def wrong(message, alpha, beta):
        return alpha + message

    wrong.symbol, wrong.carries = "message_time", "1"
    assert not has_right_dimensions(wrong)


def test_a_missing_rate_is_caught():
    def wrong(flops, traffic, peak, memory_bandwidth):
        return flops / peak + traffic * memory_bandwidth

    wrong.symbol, wrong.carries = "ideal_time", "1"
    assert not has_right_dimensions(wrong)


def test_a_taken_label_is_refused():
    with pytest.raises(ValueError, match="eq-hockney is taken"):
        equation("eq-hockney", symbol="time")(lambda p: p)


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="'GB/s' is not made of"):
        unit_powers("GB/s")


def test_an_unknown_argument_is_refused():
    with pytest.raises(ValueError, match="no argument nonsense"):
        symbolic(EQUATIONS["eq-hockney"], nonsense=1)


def test_symbolic_equation_keeps_its_left_side():
    assert symbolic(EQUATIONS["eq-amdahl"]).lhs == sympy.Symbol("S", positive=True)


ARGUMENTS = [
    (function, name)
    for function in EQUATIONS.values()
    for name in inspect.signature(function).parameters
]


@pytest.mark.parametrize(
    ("function", "name"), ARGUMENTS, ids=[f"{f.__name__}-{name}" for f, name in ARGUMENTS]
)
def test_every_argument_of_every_equation_refuses_what_is_no_number(function, name):
    good = sample(function)
    assert np.isfinite(function(**good))
    for bad in (float("nan"), "3", True, None):
        with pytest.raises(ValueError, match=rf"\b{name}\b.* must .*, got ") as caught:
            function(**good | {name: bad})
        assert "\n" not in str(caught.value)
