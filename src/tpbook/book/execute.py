"""Run chapters and store them in canonical form: python -m tpbook.book.execute FILES."""

import argparse
import sys
from pathlib import Path

from tpbook.book import canonical

TIMEOUT = 300


class ChapterError(Exception):
    """A cell of a chapter failed; the message names file, cell and error."""


def executed(path: str | Path) -> str:
    """The canonical text of a chapter after running all its cells in the chapter's folder.

    Raises ChapterError when a cell fails, ValueError when the file is no notebook.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    path = Path(path)
    notebook = canonical.read(path)
    notebook.metadata["kernelspec"] = dict(canonical.KERNEL)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.resolve().parent)}},
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                reason = " ".join(f"{error.ename}: {error.evalue}".split())
            except CellTimeoutError:
                reason = f"took longer than {TIMEOUT} s"
            except DeadKernelError:
                reason = "the kernel died"
            else:
                continue
            raise ChapterError(f"{path}: cell {index}: {reason}")
    return canonical.text(notebook)


def main(arguments: list[str] | None = None) -> int:
    """Command line: executes the files; exit 1 at the first that fails, which stays as it was."""
    parser = argparse.ArgumentParser(prog="python -m tpbook.book.execute", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="chapters (.ipynb)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="store here, not in place")
    options = parser.parse_args(arguments)
    missing = [path for path in options.files if not path.is_file()]
    if missing:
        print(f"{missing[0]}: no such file", file=sys.stderr)
        return 2
    for path in options.files:
        try:
            text = executed(path)
        except (ChapterError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        target = path
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            target = options.output / path.name
        target.write_text(text, encoding="utf-8", newline="\n")
        print(f"{target}: executed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
