"""Symbolic block matrices: a matrix cut among ranks, for any sizes of the blocks."""

import sympy


class _Named(sympy.Lambda):
    """A function of one element that prints as its name alone."""

    def _latex(self, printer):
        return self.expr.func.__name__


def elementwise(name: str):
    """An unknown function of one element, to be applied by matrix.applyfunc; name is LaTeX."""
    x = sympy.Symbol("x")
    return _Named(x, sympy.Function(name)(x))


def block_symbols(name: str, p: int, rows, columns) -> list:
    """p matrix symbols name_1 ... name_p, each rows x columns (integers or symbols)."""
    return [sympy.MatrixSymbol(f"{name}_{rank}", rows, columns) for rank in range(1, p + 1)]


def side_by_side(blocks) -> sympy.BlockMatrix:
    """One block row: a matrix cut by columns."""
    return sympy.BlockMatrix([list(blocks)])


def stacked(blocks) -> sympy.BlockMatrix:
    """One block column: a matrix cut by rows."""
    return sympy.BlockMatrix([[block] for block in blocks])


def blocks_of(product) -> list:
    """The blocks, in reading order, of a product of block matrices after it is carried out."""
    return list(sympy.block_collapse(product).blocks)


def summed(product):
    """A block row times a block column, carried out: the sum of the products of the blocks."""
    return sympy.block_collapse(product)
