"""Another system's evaluation: a copy is run and rendered, the repository stays as it was."""

import html
import os
import re
import shutil

import pytest
import yaml
from notebooks import REPOSITORY, markdown, write

from tpbook.book import rerun as module
from tpbook.book.execute import ChapterError
from tpbook.book.rerun import main, rerun
from tpbook.systems import CHOICE

CONFIG = """title: A book
only_build_toc_files: true
execute: {execute_notebooks: "off"}
"""
TOC = """format: jb-book
root: book/index
chapters:
  - file: book/2-1-before
  - file: book/4-1-after
"""
SHOW = "from tpbook.systems import chosen_system\nprint('The system is', chosen_system().title)"


@pytest.fixture
def root(tmp_path):
    """A repository of three pages; the ones of sections 2 and 4 name the chosen system."""
    book = tmp_path / "repository" / "book"
    book.mkdir(parents=True)
    (book.parent / "_config.yml").write_text(CONFIG)
    (book.parent / "_toc.yml").write_text(TOC)
    (book / "index.md").write_text("# Start\n")
    write(book / "2-1-before.ipynb", markdown("# Before"), SHOW)
    write(book / "4-1-after.ipynb", markdown("# After"), SHOW)
    return book.parent


@pytest.fixture
def mine(tmp_path):
    """A user's own folder, outside data."""
    folder = tmp_path / "mine"
    shutil.copytree(REPOSITORY / "data" / "systems" / "quad-a40-bridge", folder)
    entry = yaml.safe_load((folder / "system.yml").read_text()) | {"title": 'My "own" machine'}
    (folder / "system.yml").write_text(yaml.safe_dump(entry))
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def words(page):
    return html.unescape(re.sub("<[^>]*>", "", page.read_text(encoding="utf-8")))


def test_the_evaluation_of_a_folder_is_rendered_and_nothing_else_changes(
    root, mine, monkeypatch, tmp_path
):
    monkeypatch.setenv(CHOICE, "octo-h100-sxm")
    monkeypatch.chdir(tmp_path)
    before = contents(root)
    page = rerun("mine", root)
    assert page == root / "_build" / "rerun" / "mine" / "html" / "index.html"
    site = page.parent
    assert 'The system is My "own" machine' in words(site / "book" / "4-1-after.html")
    assert "The system is My" not in words(site / "book" / "2-1-before.html")
    assert 'A book: My "own" machine' in words(site / "book" / "index.html")
    assert {path: text for path, text in contents(root).items() if path in before} == before
    assert sorted(path.name for path in page.parents[2].iterdir()) == ["mine"]
    assert os.environ[CHOICE] == "octo-h100-sxm"


def test_an_unknown_system_is_one_line_and_writes_nothing(root, capsys, monkeypatch):
    monkeypatch.setattr(module, "ROOT", root)
    before = contents(root)
    for name in ("quad-a41", ""):
        assert main([name]) == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        assert f"no system or folder {name!r}; known systems: octo-h100-sxm" in message
    assert contents(root) == before and not (root / "_build").exists()


def test_a_broken_folder_is_one_line_and_writes_nothing(mine, capsys):
    (mine / "allreduce.csv").unlink()
    assert main([str(mine)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("mine/allreduce.csv is missing") and message.count("\n") == 1


def test_a_chapter_that_fails_leaves_the_earlier_result(root, mine):
    write(root / "book" / "4-1-after.ipynb", "1 / 0")
    earlier = root / "_build" / "rerun" / "mine" / "html" / "index.html"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("earlier")
    with pytest.raises(ChapterError, match=r"^book.4-1-after.ipynb: cell 0: ZeroDivisionError"):
        rerun(str(mine), root)
    assert earlier.read_text() == "earlier"
    assert [path.name for path in (root / "_build" / "rerun").iterdir()] == ["mine"]
