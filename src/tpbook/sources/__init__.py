"""Builders of the measured tables under data/: one module for each upstream repository.

A builder reads an upstream checkout, checks every file against its git blob id, converts to SI
units and writes our own tidy CSV. The same checkout always gives the same bytes.
"""

import argparse
import hashlib
import io
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

ALLREDUCE_COLUMNS = ("p", "message_bytes", "time_s", "statistic", "samples", "method")


def blob_id(content: bytes) -> str:
    """The id that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def read_blob(checkout: Path, blob: str, paths: Iterable[str]) -> io.BytesIO:
    """The upstream file with this git blob id, from the working tree or from git's history.

    checkout: a git clone, or a plain folder with the same files.
    paths: where the file may lie inside the checkout.

    Raises ValueError when the checkout holds the content nowhere.
    """
    for path in paths:
        file = checkout / path
        if file.is_file() and blob_id(content := file.read_bytes()) == blob:
            return io.BytesIO(content)
    shown = subprocess.run(
        ["git", "-C", str(checkout), "cat-file", "blob", blob], capture_output=True, check=False
    )
    if shown.returncode == 0 and blob_id(shown.stdout) == blob:
        return io.BytesIO(shown.stdout)
    raise ValueError(
        f"checkout {checkout}: no file with blob id {blob} (looked at {', '.join(paths)} and in "
        "the git history); clone the upstream repository with its full history"
    )


def number(value: float) -> str:
    """A float with six significant digits, the precision of every committed table."""
    return f"{value:.6g}"


def write_allreduce(folder: Path, rows: list[tuple], owned: set[str]) -> None:
    """Write a system's allreduce.csv, replacing the rows of the methods that this source owns.

    rows: (p, message in B, time in s, statistic, samples, method).
    owned: the methods of this source; rows of other methods already in the file are kept.
    """
    file = folder / "allreduce.csv"
    lines = {
        (row[5], row[3], int(row[0]), int(row[1])): ",".join(
            (str(row[0]), str(row[1]), number(row[2]), row[3], str(row[4]), row[5])
        )
        for row in rows
    }
    if len(lines) != len(rows):
        raise ValueError(f"{file}: two rows for one p, message, statistic and method")
    if file.exists():
        for line in file.read_text().splitlines()[1:]:
            p, message, _, statistic, _, method = line.split(",")
            if method not in owned:
                lines[method, statistic, int(p), int(message)] = line
    write_lines(file, ALLREDUCE_COLUMNS, [lines[key] for key in sorted(lines)])


def write_lines(file: Path, columns: Iterable[str], lines: Iterable[str]) -> None:
    """Write a CSV file of ready lines, with "\\n" line ends on every platform."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes("\n".join([",".join(columns), *lines, ""]).encode())


def run(build: Callable[[Path, Path], None], upstream: str) -> None:
    """The command line that every builder shares: CHECKOUT [--output data]."""
    parser = argparse.ArgumentParser(
        description=f"Rebuild the tables of {upstream} from an upstream checkout."
    )
    parser.add_argument("checkout", type=Path, help="folder of the upstream checkout")
    parser.add_argument("--output", type=Path, default=Path("data"), help="data folder to write")
    arguments = parser.parse_args()
    try:
        build(arguments.checkout, arguments.output)
    except ValueError as error:
        parser.exit(2, f"{error}\n")
