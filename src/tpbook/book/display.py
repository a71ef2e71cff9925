"""What a chapter's cells show: equations, tables and the numbers of the prose.

Everything is Markdown, which the site parses as its own: equations get their number and their
label, tables are native. The same text is the plain form, so nbval compares it.
"""

import re

from tpbook.book import fingerprint
from tpbook.book.figures import use_house_style
from tpbook.book.latex import latex
from tpbook.book.units import binary_bytes, si

__all__ = ["binary_bytes", "say", "setup", "show", "show_latex", "si", "table"]

GLUE = "application/papermill.record/"


def setup() -> None:
    """Prepare a chapter: house style, figures that nbval can compare. Prints nothing."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        shell.enable_matplotlib("inline")
        # The version of matplotlib in the file would change the bytes of every figure.
        set_matplotlib_formats("png", bbox_inches="tight", metadata={"Software": None})
        fingerprint.install()
    use_house_style()


def show(function, label: str | None = None, **substitutions) -> None:
    """Show the equation that a function of the package computes.

    function: registered by @equation. label: as for show_latex; by default the function's own
    label, unless something is substituted (then none). substitutions: values or expressions for
    some arguments, by name.

    Raises ValueError when the function is no labelled equation.
    """
    if not hasattr(function, "symbolic"):
        name = getattr(function, "__name__", function)
        raise ValueError(f"{name} is no labelled equation: decorate it with @equation")
    if label is None and not substitutions:
        label = function.label
    show_latex(function.symbolic(**substitutions), label)


def show_latex(formula, label: str | None = None) -> None:
    """Show a formula in display form, numbered when it has a label.

    formula: SymPy expression or equation, or LaTeX. label: name for {eq}, beginning with "eq-";
    None or "" leaves the formula without a number.

    Raises ValueError when the label cannot be referred to.
    """
    if label and not re.fullmatch(r"eq-[a-z0-9-]+", label):
        raise ValueError(f"label must look like eq-ring-time, got {label!r}")
    suffix = f" ({label})" if label else ""
    _markdown(f"$$\n{_latex(formula)}\n$${suffix}")


def table(rows, align: str | None = None, caption: str | None = None, name: str | None = None):
    """Show a table, numbered when it has a caption.

    rows: DataFrame, or list of dicts with the same keys; the keys are the column titles. Cells
    are text (Markdown and $math$ allowed) or whole numbers: format fractions first.
    align: one letter l, c or r per column; by default the first is left, the others right.
    caption, name: text over the table, and its name for {numref}, beginning with "tab-".

    Raises ValueError for no rows, rows that differ in keys, an unformatted cell.
    """
    rows = rows.to_dict("records") if hasattr(rows, "to_dict") else list(rows)
    if not rows:
        raise ValueError("rows must not be empty: say in the prose that there is nothing to show")
    columns = list(rows[0])
    for row in rows:
        if list(row) != columns:
            raise ValueError(f"rows must have the same keys {columns}, got {list(row)}")
    align = align or "l" + "r" * (len(columns) - 1)
    if len(align) != len(columns) or set(align) - set("lcr"):
        raise ValueError(f"align must be {len(columns)} letters of l, c, r, got {align!r}")
    if name and not (caption and name.startswith("tab-")):
        raise ValueError(f"name must begin with tab- and have a caption, got {name!r}")
    rules = {"l": ":--", "c": ":-:", "r": "--:"}
    lines = [columns, [rules[letter] for letter in align]]
    lines += [[_cell(column, value) for column, value in row.items()] for row in rows]
    text = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
    if caption:
        options = f":name: {name}\n" if name else ""
        text = f":::{{table}} {caption}\n{options}\n{text}\n:::"
    _markdown(text)


def say(**values: str) -> None:
    """Store formatted numbers for the prose, which names them as {glue:text}`name`.

    values: text by name, for example say(batch=f"{batch:,.0f}"). Shows nothing.
    Raises ValueError for a value that is not text.
    """
    from IPython.display import display

    for name, value in values.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} must be text, got {value!r}: format it first")
        # The name is in the data too, because nbval does not compare metadata.
        data = {GLUE + "text/plain": repr(value), GLUE + "text/x-name": name}
        display(data, metadata={"scrapbook": {"name": name, "mime_prefix": GLUE}}, raw=True)


def _latex(formula) -> str:
    if isinstance(formula, str):
        return formula.strip()
    return latex(formula)


def _cell(column: str, value) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"cell of column {column!r} must be text, got {value!r}: format it first")
    return re.sub(r"(?<!\\)\|", r"\\|", str(value)).replace("\n", " ")


def _markdown(text: str) -> None:
    from IPython.display import display

    display({"text/markdown": text, "text/plain": text}, raw=True)
