"""Small notebooks for the tests, and the repository they are tried in."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURE = Path(__file__).parent / "fixtures" / "chapter.ipynb"


def write(path: Path, *cells) -> Path:
    """Write a notebook of code cells (text) and any other cells (dicts) that lacks outputs."""
    full = []
    for cell in cells:
        cell = {"cell_type": "code", "source": cell} if isinstance(cell, str) else dict(cell)
        cell.setdefault("metadata", {})
        if cell["cell_type"] == "code":
            cell = {"outputs": [], "execution_count": None, **cell}
        full.append(cell)
    raw = {"cells": full, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(raw))
    return path


def markdown(source: str) -> dict:
    """A Markdown cell."""
    return {"cell_type": "markdown", "source": source}


def copied(folder: Path, chapter: Path) -> Path:
    """Copy the package, its data and one chapter; return the chapter in the copy."""
    skip = shutil.ignore_patterns("__pycache__")
    for part in ("src", "data"):
        shutil.copytree(REPOSITORY / part, folder / part, ignore=skip)
    (folder / "book").mkdir()
    return Path(shutil.copy(chapter, folder / "book" / chapter.name))


def recheck(chapter: Path) -> subprocess.CompletedProcess:
    """Run nbval on a chapter of a copy, with the copy's package, up to the first difference."""
    root = chapter.parents[1]
    command = [sys.executable, "-m", "pytest", "-x", "--nbval", "--nbval-current-env", "-p",
               "no:cacheprovider", "-p", "no:xdist", str(chapter)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTEST_ADDOPTS": ""}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
