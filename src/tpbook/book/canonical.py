"""The one form in which chapters are stored, so that a change in a file is a change in content."""

import hashlib
import json
from pathlib import Path

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python"}
# What editors and executors leave behind: times, window states, trust.
VOLATILE = ("collapsed", "execution", "ExecuteTime", "jupyter", "scrolled", "trusted", "vscode")


def read(path: str | Path):
    """A notebook, with an id in every cell that comes from its source, not from chance.

    Raises ValueError when the file is no notebook of format 4.
    """
    import nbformat

    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a notebook: {error}") from None
    if not isinstance(raw, dict) or raw.get("nbformat") != 4:
        raise ValueError(f"{path}: not a notebook of format 4: save it again with Jupyter")
    raw["nbformat_minor"] = 5
    taken = set()
    for cell in _cells(raw, path):
        source = "".join(cell["source"])
        identity, salt = cell.get("id"), 0
        while not identity or identity in taken:
            identity = hashlib.sha256(f"{salt}{source}".encode()).hexdigest()[:8]
            salt += 1
        cell["id"] = identity
        taken.add(identity)
    raw.setdefault("metadata", {})
    try:
        # The notebook's own metadata are replaced by text(), so they may be anything.
        nbformat.validate(raw | {"metadata": {}})
    except nbformat.ValidationError as error:
        reason = " ".join(str(error.message).split())[:100]
        raise ValueError(f"{path}: not a notebook: {reason}: save it again with Jupyter") from None
    return nbformat.reads(json.dumps(raw), as_version=4)


def text(notebook) -> str:
    """The canonical text of a notebook: fixed kernel, sorted keys, no times, a last newline.

    The notebook is changed in place.
    """
    import nbformat

    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = dict(LANGUAGE)
    count = 0
    for cell in notebook.cells:
        for key in VOLATILE:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            if cell.execution_count is not None:
                count += 1
                cell.execution_count = count
            for output in cell.outputs:
                output.pop("transient", None)
                if "execution_count" in output:
                    output["execution_count"] = cell.execution_count
            cell.outputs = _merged(cell.outputs)
    for key in VOLATILE:
        notebook.metadata.pop(key, None)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def faults(path: str | Path) -> list[str]:
    """What keeps a stored notebook from being executed and canonical: empty when nothing does."""
    try:
        notebook = read(path)
    except ValueError as error:
        return [str(error).removeprefix(f"{path}: ")]
    unexecuted = [
        f"cell {index}: not executed"
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None
    ]
    if unexecuted:
        return unexecuted
    stored = Path(path).read_text(encoding="utf-8")
    return [] if text(notebook) == stored else ["not in canonical form"]


def _cells(raw: dict, path) -> list[dict]:
    """The cells of a notebook's JSON, once each is known to hold a source."""
    cells = raw.get("cells")
    if not isinstance(cells, list):
        raise ValueError(f"{path}: not a notebook: cells must be a list, got {cells!r}")
    for index, cell in enumerate(cells):
        source = cell.get("source") if isinstance(cell, dict) else None
        lines = source if isinstance(source, list) else [source]
        if not all(isinstance(line, str) for line in lines):
            raise ValueError(f"{path}: not a notebook: cell {index} has no source")
    return cells


def _merged(outputs: list) -> list:
    """Outputs with the pieces of one stream joined, as the kernel may cut them anywhere."""
    merged = []
    for output in outputs:
        previous = merged[-1] if merged else None
        if previous and output.output_type == "stream" == previous.output_type:
            if output.name == previous.name:
                previous.text += output.text
                continue
        merged.append(output)
    return merged
