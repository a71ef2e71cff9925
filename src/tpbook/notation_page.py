"""What the notation page lists: the equations in the order of the book, and where symbols begin."""

import importlib
import inspect
from collections.abc import Callable
from functools import cache

from tpbook.equation import EQUATIONS

# The modules that hold equations, in the order of the chapters that show them.
CHAPTER_ORDER = (
    "rooflines",
    "intensity",
    "messages",
    "collectives",
    "amdahl",
    "modified_amdahl",
    "serial_fraction",
    "crossover",
    "cache_crossover",
)


@cache
def equations_in_order() -> list[Callable]:
    """Every labelled equation, chapter by chapter, in the order of its module.

    Raises ValueError when an equation's module is not listed in CHAPTER_ORDER.
    """
    for module in CHAPTER_ORDER:
        importlib.import_module(f"tpbook.{module}")
    places = {name: place for place, name in enumerate(CHAPTER_ORDER)}

    def place(function: Callable) -> int:
        module = function.__module__.rpartition(".")[2]
        if module not in places:
            raise ValueError(f"{function.label}: list its module {module} in CHAPTER_ORDER")
        return places[module]

    return sorted(EQUATIONS.values(), key=place)


def first_equation(name: str) -> str | None:
    """The label of the first equation with the symbol in it, None when no equation has it."""
    for function in equations_in_order():
        if name == function.symbol or name in inspect.signature(function).parameters:
            return function.label
    return None
