"""The net holds: a change of one datum, constant, digit or point makes nbval fail.

Each change is made in a copy of the package, the data and one chapter; the untouched copy passes.
"""

import json
import re
from pathlib import Path

import pytest
from notebooks import FIXTURE, REPOSITORY, copied, recheck

DATUM = Path("data/systems/quad-a100-sxm/allreduce.csv")
CONSTANT = Path("src/tpbook/collectives.py")
RING = "return 2 * (p - 1) * message / p"
MOVE_ONE_POINT = """
import numpy, matplotlib.pyplot
_line = matplotlib.pyplot.gcf().axes[0].lines[0]
_y = numpy.array(_line.get_ydata(), dtype=float)
_y[0] *= 1 + 1e-5
_line.set_ydata(_y)
"""
CHAPTERS = [FIXTURE, REPOSITORY / "book" / "2-2-tensor-parallelism.ipynb"]


def change_datum(chapter: Path) -> None:
    """Make one measured time, of 1 MiB on four ranks, three percent longer."""
    path = chapter.parents[1] / DATUM
    head, *rows = path.read_text().splitlines()
    names = head.split(",")
    cells = [dict(zip(names, row.split(","))) for row in rows]
    wanted = {"p": "4", "message_bytes": "1048576", "method": "nccl-tests"}
    (number,) = (i for i, row in enumerate(cells) if wanted.items() <= row.items())
    changed = cells[number] | {"time_s": repr(float(cells[number]["time_s"]) * 1.03)}
    rows[number] = ",".join(changed.values())
    path.write_text("\n".join([head, *rows]) + "\n")


def change_constant(chapter: Path) -> None:
    """Make the ring's factor 2 a little larger."""
    path = chapter.parents[1] / CONSTANT
    text = path.read_text()
    assert text.count(RING) == 1
    path.write_text(text.replace(RING, RING.replace("2 *", "2.01 *")))


def change_digit(chapter: Path) -> None:
    """Change the last digit of the first stored number of the prose."""
    text = chapter.read_text(encoding="utf-8")
    stored = re.compile(r'("application/papermill.record/text/plain": "\'[^\']*?)(\d)([^\d\']*\'")')
    changed = stored.sub(lambda m: f"{m[1]}{(int(m[2]) + 1) % 10}{m[3]}", text, count=1)
    assert changed != text
    chapter.write_text(changed, encoding="utf-8")


def change_point(chapter: Path) -> None:
    """Move one point of the first line that is plotted by 1e-5 of its value."""
    raw = json.loads(chapter.read_text(encoding="utf-8"))
    drawing = next(cell for cell in raw["cells"] if " line" in fingerprint_of(cell))
    drawing["source"].append(MOVE_ONE_POINT)
    chapter.write_text(json.dumps(raw), encoding="utf-8")


def fingerprint_of(cell: dict) -> str:
    """The stored fingerprint of a cell's figure, "" where it has none."""
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            return "".join(output["data"]["text/plain"])
    return ""


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
@pytest.mark.parametrize("change", [change_datum, change_constant, change_digit, change_point])
def test_a_change_is_caught(tmp_path, chapter, change):
    if not chapter.exists():
        pytest.skip(f"{chapter.name} is not written yet")
    copy = copied(tmp_path, chapter)
    change(copy)
    result = recheck(copy)
    assert result.returncode == 1, result.stdout
    assert re.search(r"\d+ failed", result.stdout), result.stdout


def test_the_untouched_copy_passes(tmp_path):
    # The chapters of the book themselves are the other untouched copies: nbval runs them all.
    result = recheck(copied(tmp_path, FIXTURE))
    assert result.returncode == 0, result.stdout
    assert re.search(r"\d+ passed", result.stdout) and "failed" not in result.stdout


def test_a_moved_point_is_caught_where_it_is_drawn(tmp_path):
    copy = copied(tmp_path, FIXTURE)
    change_point(copy)
    result = recheck(copy)
    assert "1 failed" in result.stdout and "Cell 4" in result.stdout, result.stdout
