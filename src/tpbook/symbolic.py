"""How minima, maxima and the case p = 1 behave on floats, arrays and SymPy symbols.

Every equation of the book is one function for all three. Plain arithmetic needs no help; the
few operations that do are decided here and nowhere else. SymPy is imported only when a symbol
arrives.
"""

import numpy as np


def is_symbolic(*values) -> bool:
    """Whether any of the values is a SymPy expression."""
    return any(hasattr(value, "free_symbols") for value in values)


def same(a, b) -> bool:
    """Whether two expressions are one function: their difference simplifies to zero."""
    import sympy

    return sympy.simplify(sympy.sympify(a) - b) == 0


def minimum(a, b):
    """The smaller of a and b: numpy.minimum on numbers, sympy.Min on symbols."""
    if is_symbolic(a, b):
        import sympy

        return sympy.Min(a, b)
    return np.minimum(a, b)


def maximum(a, b):
    """The larger of a and b: numpy.maximum on numbers, sympy.Max on symbols."""
    if is_symbolic(a, b):
        import sympy

        return sympy.Max(a, b)
    return np.maximum(a, b)


def sqrt(value):
    """The square root of a number, an array or an expression."""
    if is_symbolic(value):
        import sympy

        return sympy.sqrt(value)
    return np.sqrt(value)


def log2(value):
    """The logarithm to base two of a number, an array or an expression."""
    if is_symbolic(value):
        from sympy.codegen.cfunctions import log2 as symbolic_log2

        return symbolic_log2(value)
    return np.log2(value)


def power_norm(a, b, exponent):
    """(a^nu + b^nu)^(1/nu); on numbers the larger part is taken out, so that none underflows."""
    if is_symbolic(a, b, exponent):
        return (a**exponent + b**exponent) ** (1 / exponent)
    larger, smaller = np.maximum(a, b), np.minimum(a, b)
    share = np.divide(smaller, larger, out=np.zeros_like(larger * 1.0), where=larger > 0)
    return larger * (1 + share**exponent) ** (1 / np.asarray(exponent, dtype=float))


def where_parallel(p, value):
    """The value where p > 1 and zero at p = 1, where a single rank launches no collective.

    A symbolic p stands for p > 1: the formula is returned as it is, since a case distinction
    would only hide it. A symbolic value at a numeric p is taken or dropped like a number.
    """
    if is_symbolic(p):
        return value
    if is_symbolic(value):
        return value if p > 1 else 0
    return np.where(np.asarray(p) > 1, value, 0.0)[()]
