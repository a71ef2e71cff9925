"""The README's table names what is there, and every test of the package."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:-1] for line in README.splitlines() if line.startswith("| [")]
# Tests of what the chapters share, or of the repository itself.
SHARED = {"checks", "symbolic", "tables", "sources", "readme"}


def named(column: int) -> list[str]:
    return [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])]


def missing(names, path: str) -> list[str]:
    return [name for name in names if not (REPOSITORY / path.format(name)).exists()]


def test_every_chapter_has_a_row():
    linked = {Path(re.search(r"\(([^)]+)\)", row[0])[1]) for row in ROWS}
    chapters = {path.relative_to(REPOSITORY) for path in REPOSITORY.glob("book/*.ipynb")}
    assert linked == chapters - {Path("book/index.ipynb")}


def test_what_the_table_names_exists():
    assert not missing(named(1), "src/tpbook/{}.py")
    assert not missing(named(2), "tests/test_{}.py")
    assert not missing(named(3), "data/{}")


def test_every_test_of_the_package_is_named():
    tests = {path.stem.removeprefix("test_") for path in REPOSITORY.glob("tests/test_*.py")}
    assert tests == set(named(2)) | SHARED


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    assert links and not missing(links, "{}")


def test_a_name_that_is_not_there_is_found():
    assert missing(["crossover", "nonsense"], "src/tpbook/{}.py") == ["nonsense"]
