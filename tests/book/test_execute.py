"""Executing a chapter: one canonical form, the same bytes twice, one clear line on failure."""

import json
import re
import shutil

import pytest
from notebooks import FIXTURE, markdown, write

from tpbook.book import canonical
from tpbook.book.execute import executed, main


def without_pictures(text: str) -> str:
    return re.sub(r'"image/png": "[^"]*"', '"image/png": ""', text)


def test_two_runs_give_the_same_bytes():
    first = executed(FIXTURE)
    assert executed(FIXTURE) == first
    # Another processor may draw a pixel differently, but it stores the same text.
    assert without_pictures(first) == without_pictures(FIXTURE.read_text(encoding="utf-8"))
    assert '"image/png": "iVBOR' in first


def test_the_form_is_a_fixed_point(tmp_path):
    copy = tmp_path / "copy.ipynb"
    copy.write_text(canonical.text(canonical.read(FIXTURE)), encoding="utf-8")
    assert copy.read_text(encoding="utf-8") == FIXTURE.read_text(encoding="utf-8")
    assert canonical.faults(copy) == []


def test_a_run_in_the_chapters_folder_is_stored_in_canonical_form(tmp_path, capsys):
    (tmp_path / "beside.txt").write_text("42")
    chapter = write(
        tmp_path / "c.ipynb",
        markdown("# Title"),
        "print('a')\nprint('b', flush=True)\nprint('c')",
        {"cell_type": "code", "source": "open('beside.txt').read()", "execution_count": 17},
        "",
    )
    assert main([str(chapter), "--output", str(tmp_path / "out")]) == 0
    raw = json.loads((tmp_path / "out" / "c.ipynb").read_text())
    title, first, second, empty = raw["cells"]
    assert [output["text"] for output in first["outputs"]] == [["a\n", "b\n", "c\n"]]
    assert second["outputs"][0]["data"]["text/plain"] == ["'42'"]
    assert (first["execution_count"], second["execution_count"]) == (1, 2)
    assert second["outputs"][0]["execution_count"] == 2
    assert empty["execution_count"] is None
    assert raw["metadata"] == {"kernelspec": canonical.KERNEL, "language_info": canonical.LANGUAGE}
    assert all(cell["metadata"] == {} for cell in raw["cells"])
    assert json.loads(chapter.read_text())["cells"][2]["execution_count"] == 17
    assert canonical.faults(tmp_path / "out" / "c.ipynb") == []


def test_cell_ids_come_from_the_source_and_stay(tmp_path):
    cells = ["x = 1", "x = 1", {"cell_type": "code", "source": "y = 2", "id": "mine"}]
    first = canonical.read(write(tmp_path / "a.ipynb", *cells))
    again = canonical.read(write(tmp_path / "b.ipynb", *cells))
    names = [cell.id for cell in first.cells]
    assert names == [cell.id for cell in again.cells]
    assert len(set(names)) == 3 and names[2] == "mine"


def test_a_failing_cell_is_one_line_and_changes_nothing(tmp_path, capsys):
    failing = "raise OSError('a\\nb')"
    chapter = write(tmp_path / "c.ipynb", "x = 1", markdown("text"), failing, "print('after')")
    before = chapter.read_bytes()
    assert main([str(chapter)]) == 1
    message = capsys.readouterr().err.strip()
    assert message == f"{chapter}: cell 2: OSError: a b"
    assert chapter.read_bytes() == before


@pytest.mark.parametrize(
    "change, fault",
    [
        (lambda raw: raw["cells"][1].update(execution_count=None), "cell 1: not executed"),
        (lambda raw: raw["cells"][1].update(execution_count=7), "not in canonical form"),
        (lambda raw: raw["metadata"].update(kernelspec={"name": "mine"}), "not in canonical form"),
        (lambda raw: raw["cells"][1]["metadata"].update(scrolled=True), "not in canonical form"),
    ],
)
def test_faults_name_what_is_stale(tmp_path, change, fault):
    raw = json.loads(FIXTURE.read_text(encoding="utf-8"))
    change(raw)
    chapter = tmp_path / "c.ipynb"
    chapter.write_text(
        json.dumps(raw, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    assert canonical.faults(chapter) == [fault]


def test_what_is_no_notebook_is_refused(tmp_path, capsys):
    text = tmp_path / "text.ipynb"
    text.write_text("no json")
    old = tmp_path / "old.ipynb"
    old.write_text('{"nbformat": 3, "worksheets": []}')
    assert main([str(text)]) == 1 and "not a notebook" in capsys.readouterr().err
    assert main([str(old)]) == 1 and "format 4" in capsys.readouterr().err
    assert main([str(tmp_path / "none.ipynb")]) == 2 and "no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"nbformat": 4}',
        b'{"nbformat": 4, "cells": {}}',
        b'{"nbformat": 4, "cells": [3]}',
        b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}',
        b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [3]}]}',
        b'{"nbformat": 4, "cells": [{"cell_type": "tale", "source": "", "metadata": {}}]}',
        b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "outputs": [{}]}]}',
    ],
    ids=lambda content: repr(content[-30:]),
)
def test_a_broken_notebook_is_one_line(tmp_path, capsys, content):
    chapter = tmp_path / "c.ipynb"
    chapter.write_bytes(content)
    assert main([str(chapter)]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"{chapter}: not a notebook") and message.count("\n") == 1
    assert canonical.faults(chapter) == [message.removeprefix(f"{chapter}: ").strip()]


def test_in_place(tmp_path):
    chapter = shutil.copy(write(tmp_path / "c.ipynb", "print(1)"), tmp_path / "d.ipynb")
    assert main([str(chapter)]) == 0
    assert canonical.faults(chapter) == []
