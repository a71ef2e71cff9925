"""What the notation page lists: the equations in the order of the book, and where symbols begin."""

import importlib
import inspect
from collections.abc import Callable
from functools import cache

from tpbook.book.labels import shown_labels
from tpbook.equation import EQUATIONS
from tpbook.paths import DATA

# The modules that hold equations.
MODULES = (
    "rooflines",
    "intensity",
    "messages",
    "collectives",
    "amdahl",
    "modified_amdahl",
    "serial_fraction",
    "crossover",
    "cache_crossover",
    "serving_metrics",
    "difference_method",
    "kv_copy",
    "latency_budget",
    "apriori",
    "roof_distance",
    "communication_share",
)


@cache
def equations_in_order() -> list[Callable]:
    """Every labelled equation, in the order in which the chapters show them.

    Raises ValueError when an equation is shown in no chapter.
    """
    for module in MODULES:
        importlib.import_module(f"tpbook.{module}")
    places = {label: place for place, label in enumerate(shown_labels(DATA.parent / "book"))}
    for label in EQUATIONS:
        if label not in places:
            raise ValueError(f"{label} is shown in no chapter: show it, then execute the chapter")
    return sorted(EQUATIONS.values(), key=lambda function: places[function.label])


def first_equation(name: str) -> str | None:
    """The label of the first equation with the symbol in it, None when no equation has it."""
    for function in equations_in_order():
        if name == function.symbol or name in inspect.signature(function).parameters:
            return function.label
    return None
