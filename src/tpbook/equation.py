"""One labelled equation is one function: the decorator that ties the two together.

The label names the equation on the page, the symbol is its left-hand side, and the argument
names are rows of the notation table. So the page prints the function itself, and a test can
check the dimensions of every equation.
"""

import inspect
from collections.abc import Callable

EQUATIONS: dict[str, Callable] = {}


def equation(label: str, symbol: str, carries: str = "1") -> Callable:
    """Register a function as the labelled equation of the book that it computes.

    label: the equation's name on the page, beginning with "eq-".
    symbol: the notation name of its left-hand side.
    carries: the unit of the formula's bare numbers, where they have one (the 2 of "2 m k n"
        counts FLOP).

    Raises ValueError when the label is taken.
    """

    def register(function: Callable) -> Callable:
        if label in EQUATIONS:
            raise ValueError(f"equation label {label} is taken by {EQUATIONS[label].__name__}")
        function.label = label
        function.symbol = symbol
        function.carries = carries
        function.symbolic = lambda **given: symbolic(function, **given)
        EQUATIONS[label] = function
        return function

    return register


def symbolic(function: Callable, **given):
    """The equation as SymPy writes it: Eq(left-hand side, function of its symbols).

    given: replaces some arguments by numbers or expressions before the function is called.
    """
    import sympy

    from tpbook.notation import symbol

    names = inspect.signature(function).parameters
    unknown = set(given) - set(names)
    if unknown:
        raise ValueError(f"{function.__name__} has no argument {sorted(unknown)[0]}")
    arguments = {name: given.get(name, symbol(name)) for name in names}
    # SymPy multiplies 2 (p - 1) out; factor_terms writes it as people do.
    formula = sympy.factor_terms(function(**arguments))
    return sympy.Eq(symbol(function.symbol), formula, evaluate=False)
