"""SymPy's LaTeX as people write it: alpha + M/beta, q - p, and one root over a whole fraction."""


def latex(expression) -> str:
    """The LaTeX of a SymPy expression or equation.

    A sum puts positive terms before negative ones and symbols before numbers; terms that are
    alike in that keep the reverse of SymPy's lexical order, which brings latencies before rates.
    A product of square roots becomes one root, sqrt(a)/sqrt(b) that of a/b.
    """
    return _printer().doprint(expression)


def join_roots(product):
    """Factors (outside, inside) with product = outside sqrt(inside); inside is 1 where none join.

    Roots join when there are at least two, all of nonnegative expressions; one in the numerator
    may be of unknown sign. 1/2 sqrt(2 a) is written sqrt(a/2).
    """
    import sympy

    roots = [a for a in product.args if a.is_Pow and abs(a.exp) == sympy.S.Half]
    unknown = [a for a in roots if not a.base.is_nonnegative]
    if len(roots) < 2 or len(unknown) > 1 or any(a.exp < 0 for a in unknown):
        return product, sympy.S.One
    number, outside = sympy.Mul(*(a for a in product.args if a not in roots)).as_coeff_Mul()
    under, inside = sympy.Mul(*(a.base ** (2 * a.exp) for a in roots)).as_coeff_Mul()
    if under.is_Integer and number.is_Rational and under % number.q == 0:
        number, under = number * number.q, under / number.q**2
    return number * outside, under * inside


def _printer():
    # Defined here, because importing this module must not import SymPy.
    from sympy import Symbol
    from sympy.printing.latex import LatexPrinter

    class Printer(LatexPrinter):
        def _as_ordered_terms(self, expr, order=None):
            terms = super()._as_ordered_terms(expr, order="rev-lex")
            return sorted(terms, key=lambda t: (t.could_extract_minus_sign(), t.is_number))

        def _print_Mul(self, expr):
            outside, inside = join_roots(expr)
            if inside == 1:
                return super()._print_Mul(expr)
            return self._print(outside * Symbol(rf"\sqrt{{{self._print(inside)}}}"))

        def _print_log2(self, expr, exp=None):
            argument = self._print(expr.args[0])
            if not expr.args[0].is_Symbol:
                argument = rf"\left({argument}\right)"
            return rf"\log_{{2}}{'' if exp is None else f'^{{{exp}}}'} {argument}"

    return Printer()
