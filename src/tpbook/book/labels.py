"""The equation labels that the chapters show, in the order of the book."""

import json
import re
from pathlib import Path

LABEL = re.compile(r"^\$\$ \((eq-[a-z0-9-]+)\)$", re.MULTILINE)


def shown_labels(folder: Path) -> list[str]:
    """Every label in the stored outputs of a folder's notebooks, in order, repetitions kept.

    Raises ValueError when the folder holds no notebook.
    """
    notebooks = sorted(Path(folder).glob("*.ipynb"))
    if not notebooks:
        raise ValueError(f"folder {folder} holds no notebook to read labels from")
    labels = []
    for path in notebooks:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                text = output.get("data", {}).get("text/markdown", "")
                labels += LABEL.findall("".join(text))
    return labels
