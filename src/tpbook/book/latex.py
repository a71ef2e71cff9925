"""SymPy's LaTeX with sums in the order people write: alpha + M/beta, q - p, p - 1."""


def latex(expression) -> str:
    """The LaTeX of a SymPy expression or equation.

    A sum puts positive terms before negative ones and symbols before numbers; terms that are
    alike in that keep the reverse of SymPy's lexical order, which brings latencies before rates.
    """
    return _printer().doprint(expression)


def _printer():
    # Defined here, because importing this module must not import SymPy.
    from sympy.printing.latex import LatexPrinter

    class Printer(LatexPrinter):
        def _as_ordered_terms(self, expr, order=None):
            terms = super()._as_ordered_terms(expr, order="rev-lex")
            return sorted(terms, key=lambda t: (t.could_extract_minus_sign(), t.is_number))

        def _print_log2(self, expr, exp=None):
            argument = self._print(expr.args[0])
            if not expr.args[0].is_Symbol:
                argument = rf"\left({argument}\right)"
            return rf"\log_{{2}}{'' if exp is None else f'^{{{exp}}}'} {argument}"

    return Printer()
