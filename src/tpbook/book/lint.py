"""Refuse in chapters what nbval cannot see: python -m tpbook.book.lint FILES.

nbval compares the text of stored outputs with a new run. It is blind to cells that were never
run, to cells it is told to skip, to images, and to numbers typed into prose.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

from tpbook.book import canonical
from tpbook.book.display import GLUE
from tpbook.book.prose import bare_numbers

BLIND_TAGS = {
    "nbval-ignore-output",
    "nbval-raises-exception",
    "nbval-skip",
    "pytest-validate-ignore-output",
    "raises-exception",
}
VOLATILE = {
    "memory address": r"\b0x[0-9a-fA-F]{6,}",
    "timestamp": r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d",
    "absolute path": r"(?<![\w:/.])/(?:home|Users|root|tmp|usr|opt|mnt|var|work|srv|private)/\w"
    r"|\b[A-Z]:\\\w",
}
# Kinds that nbval leaves out of its comparison, and that a page would show all the same.
UNCOMPARED = {"image/jpeg", "application/vnd.jupyter.widget-view+json"}
RUN = "run python -m tpbook.book.execute on the file"


def findings(path: str | Path) -> list[str]:
    """One line "file: cell N: reason: remedy" for each fault of a chapter (.ipynb) or page (.md).

    Cells count from zero, as in nbval's and the executor's messages.
    """
    path = Path(path)
    if path.suffix == ".md":
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            return [f"{path}: not UTF-8 ({error}): save it again as UTF-8"]
        return [f"{path}: {fault}" for fault in _prose(text)]
    faults = canonical.faults(path)
    if faults and not faults[0].startswith("cell "):
        faults = [f"cell -: {fault}" for fault in faults]
    found = [f"{path}: {fault}: {RUN}" for fault in faults]
    try:
        cells = canonical.read(path).cells
    except ValueError:
        return found
    pictures = set()
    for index, cell in enumerate(cells):
        faults = _code(cell, pictures) if cell.cell_type == "code" else _prose(cell.source)
        found += [f"{path}: cell {index}: {fault}" for fault in faults]
    return found


def _prose(source: str):
    for number in bare_numbers(source):
        yield (
            f"bare number {number!r} in prose: "
            "say(...) it and write {glue:text}, or $...$ where it is part of a law"
        )


def _code(cell, pictures: set):
    tags = {str(tag).lower().replace("_", "-") for tag in cell.metadata.get("tags", [])}
    # Lines as nbval splits them: str.splitlines knows more line ends than a regular expression.
    comments = (line.strip() for line in cell.source.splitlines())
    tags |= {c.strip("# \t").lower().replace("_", "-") for c in comments if c.startswith("#")}
    for tag in sorted(tags & BLIND_TAGS):
        yield f"{tag} keeps the cell from being checked: remove it"
    lines = [line for line in cell.source.splitlines() if line.split("#")[0].strip()]
    if lines and lines[-1].split("#")[0].rstrip().endswith(";"):
        yield "a trailing ; hides the output from one run and not the other: assign to _ instead"
    yield from _typed(cell.source)
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    yield from _prose(str(figure.get("caption", "")))
    for output in cell.outputs:
        yield from _output(output)
        data = output.get("data", {})
        shown = {str(data[kind]) for kind in data if kind.startswith("image/")}
        if shown & pictures:
            yield "the same figure is shown twice: leave it to the end of its cell"
        pictures |= shown
        if shown and not cell.metadata.get("mystnb", {}).get("image", {}).get("alt"):
            yield "figure without alternative text: set mystnb.image.alt in the cell's metadata"


def _typed(source: str):
    """The numbers that a cell passes to say(...) as text, where the book wants them computed."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return  # a magic or a broken cell; the executor says which
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
            for given in node.keywords:
                value = given.value.value if isinstance(given.value, ast.Constant) else None
                if isinstance(value, str) and re.search(r"\d", value):
                    yield f"number typed in say({given.arg}={value!r}): format the variable"


def _output(output):
    if output.output_type == "error":
        yield f"stored error {output.ename}: repair the cell and {RUN}"
        return
    if output.output_type == "stream":
        if output.name == "stderr":
            yield f"output on stderr {output.text.splitlines()[0][:60]!r}: remove its cause"
        texts = [output.text]
    else:
        data = output.get("data", {})
        images = [kind for kind in data if "image/" in kind]
        if images and "scrapbook" in output.get("metadata", {}):
            yield "a glued figure is compared byte by byte: show it where its cell is"
        elif images and not str(data.get("text/plain", "")).startswith("figure"):
            yield "figure without fingerprint: call setup() in the first code cell"
        for kind in data:
            if kind in UNCOMPARED:
                yield f"output of kind {kind} is not compared: show text or a PNG figure"
        glued = output.get("metadata", {}).get("scrapbook")
        told = {"name": data.get(GLUE + "text/x-name"), "mime_prefix": GLUE}
        if glued and not images and glued != told:
            yield f"number glued as {glued.get('name')!r} but said as {told['name']!r}: {RUN}"
        texts = [value for value in data.values() if isinstance(value, str)]
        texts = [text for text, kind in zip(texts, data) if "image/png" not in kind]
    for text in texts:
        for name, pattern in VOLATILE.items():
            match = re.search(pattern, text)
            if match:
                yield f"{name} {match.group(0)!r} in an output: print what stays the same"


def main(arguments: list[str] | None = None) -> int:
    """Command line: prints the findings; exit 1 when there are any."""
    parser = argparse.ArgumentParser(prog="python -m tpbook.book.lint", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".ipynb or .md")
    options = parser.parse_args(arguments)
    found = []
    for path in options.files:
        if not path.is_file():
            print(f"{path}: no such file", file=sys.stderr)
            return 2
        found += findings(path)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
