"""The evaluation for another system: python -m tpbook.book.rerun SYSTEM.

Copies the book to _build/rerun/<id>, runs the chapters of sections 3 and 4 there with the system
chosen, and renders the site. The chapters of the repository stay as they are.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tpbook.book.execute import ChapterError, executed
from tpbook.paths import DATA
from tpbook.systems import CHOICE, System, load_system, system_folder

ROOT = DATA.parent
CHAPTERS = "book/[34]-*.ipynb"
PARTS = ("book", "_config.yml", "_toc.yml")


def rerun(name: str, root: Path = ROOT, output: Path | None = None) -> Path:
    """Render the evaluation for a system; returns the first page of the site.

    name: an id under data/systems, or a folder. root: the repository. output: the folder that gets
    one folder for each system, by default _build/rerun; an earlier result there is replaced only
    by a complete one. Raises ValueError for a system that cannot be loaded, ChapterError for a
    chapter that fails, RuntimeError for a site that cannot be rendered.
    """
    system = load_system(name)
    folder = system_folder(name).resolve()
    output = output or root / "_build" / "rerun"
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".") as scratch:
        work = Path(scratch) / system.id
        _copy(root, work, system)
        with _chosen(folder):
            _execute(work)
        _render(work)
        target = output / system.id
        shutil.rmtree(target, ignore_errors=True)
        work.rename(target)
    return target / "html" / "index.html"


def main(arguments: list[str] | None = None) -> int:
    """Command line: exit 2 and one line for a bad system, exit 1 and one line for a failure."""
    parser = argparse.ArgumentParser(prog="python -m tpbook.book.rerun", description=__doc__)
    parser.add_argument("system", nargs="?", default="", help="an id of data/systems, or a folder")
    options = parser.parse_args(arguments)
    try:
        load_system(options.system)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        print(f"open {rerun(options.system, ROOT)}")
    except (ChapterError, RuntimeError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _copy(root: Path, work: Path, system: System) -> None:
    for part in PARTS:
        if (root / part).is_dir():
            skip = shutil.ignore_patterns(".ipynb_checkpoints")
            shutil.copytree(root / part, work / part, ignore=skip)
        else:
            shutil.copy(root / part, work / part)
    # A page says on top which system it is about.
    config = work / "_config.yml"
    title = json.dumps(f": {system.title}")[1:]
    text = config.read_text(encoding="utf-8")
    text = re.sub(r'^title: "?(.*?)"?$', lambda m: f'title: "{m[1]}{title}', text, flags=re.M)
    config.write_text(text, encoding="utf-8")


def _execute(work: Path) -> None:
    for chapter in sorted(work.glob(CHAPTERS)):
        try:
            text = executed(chapter)
        except ChapterError as error:
            # The copy is about to go; the chapter has the same name in the repository.
            raise ChapterError(str(error).replace(f"{work}{os.sep}", "")) from None
        chapter.write_text(text, encoding="utf-8", newline="\n")
        print(f"{chapter.relative_to(work)}: executed", flush=True)


@contextmanager
def _chosen(folder: Path) -> Iterator[None]:
    """The kernels that are started inside see this system."""
    before = os.environ.get(CHOICE)
    os.environ[CHOICE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CHOICE]
        else:
            os.environ[CHOICE] = before


def _render(work: Path) -> None:
    """The site of a copied book into its folder html."""
    tool = Path(sys.executable).parent / "jupyter-book"
    command = [str(tool), "build", str(work), "--all", "-q", "--path-output", str(work / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    built = work / "site" / "_build" / "html"
    if done.returncode or not (built / "index.html").is_file():
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise RuntimeError(f"{work.name}: the site could not be rendered: {lines[-1]}")
    built.rename(work / "html")
    shutil.rmtree(work / "site")


if __name__ == "__main__":
    sys.exit(main())
