"""The site, built from a fixture chapter: numbers, labels, captions, nothing from other hosts."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from notebooks import FIXTURE, REPOSITORY

TOC = """
format: jb-book
root: book/index
parts:
  - caption: Part
    numbered: true
    chapters:
      - file: book/chapter
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of a built site with one fixture chapter."""
    root = tmp_path_factory.mktemp("site")
    book = root / "book"
    shutil.copytree(REPOSITORY / "book" / "_static", book / "_static")
    shutil.copy(REPOSITORY / "book" / "references.bib", book)
    shutil.copy(REPOSITORY / "_config.yml", root)
    shutil.copy(FIXTURE, book / "chapter.ipynb")
    (book / "index.md").write_text("# A book\n\n{prf:ref}`thm-fixture`\n")
    (root / "_toc.yml").write_text(TOC)
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(root), "--all",
               "-W", "-n", "--keep-going", "-q"]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return root / "_build" / "html"


@pytest.fixture(scope="module")
def page(site) -> str:
    """The HTML of the fixture chapter."""
    return (site / "book" / "chapter.html").read_text(encoding="utf-8")


def test_the_index_exists(site):
    assert (site / "index.html").stat().st_size > 0


def test_equation_figure_table_and_theorem_are_numbered_and_linked(page):
    assert re.search(r'href="#equation-eq-ring-lumped">\(1\.1\)</a>', page)
    assert re.search(r'href="#fig-fixture"><span class="std std-numref">Fig\. 1\.1', page)
    assert re.search(r'href="#tab-fixture"><span class="std std-numref">Table 1\.1', page)
    assert "Theorem 1.1" in page


def test_numbers_of_the_prose_have_no_quotes(page):
    words = re.search(r"<p>The (.*?) measurements end at (.*?), the ring at", page)
    for word in words.groups():
        assert re.fullmatch(r'<span class="pasted-text">\d[^"\']*</span>', word)


def test_figures_have_captions_and_alternative_text(page):
    figure = re.search(r"<figure.*?</figure>", page, re.DOTALL).group(0)
    assert 'alt="Time against message size' in figure
    assert re.search(r"<figcaption>.*on <span.*?>\d+</span> messages", figure, re.DOTALL)


def test_a_page_loads_nothing_from_other_hosts(site, page):
    loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*?(?:src|href)="(https?:[^"]+)"', page)
    assert loaded == []
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert not [script for script in scripts if "http" in script]
    source = re.search(r'src="\.\./(_static/mathjax/[^"?]+)', page).group(1)
    assert (site / source).is_file()
