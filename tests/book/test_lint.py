"""The lint refuses each of nbval's blind spots, and lets an honest chapter pass."""

import json

import pytest
from notebooks import FIXTURE, REPOSITORY

from tpbook.book.lint import findings, main
from tpbook.book.prose import bare_numbers

PAGES = sorted((REPOSITORY / "book").glob("*.ipynb")) + sorted((REPOSITORY / "book").glob("*.md"))
FIGURE_CELL, IMPORT_CELL, SAYING_CELL = 6, 1, 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_of_the_book_passes(page):
    assert findings(page) == []


def test_the_fixture_passes():
    assert findings(FIXTURE) == []


def output(cell):
    return next(output for output in cell["outputs"] if "image/png" in output.get("data", {}))


def stream(name, text):
    return {"output_type": "stream", "name": name, "text": [text]}


def error():
    return {"output_type": "error", "ename": "KeyError", "evalue": "x", "traceback": []}


def renamed(cell):
    said = next(output for output in cell["outputs"] if "scrapbook" in output["metadata"])
    said["metadata"]["scrapbook"]["name"] = "other"


def foreign_kind(kind):
    return lambda cell: output(cell)["data"].update({kind: "AAAA"})


def glued(cell):
    output(cell)["metadata"] = {"scrapbook": {"name": "figure", "mime_prefix": ""}}


FAULTS = {
    "not executed": (IMPORT_CELL, lambda cell: cell.update(execution_count=None)),
    "nbval-skip": (IMPORT_CELL, lambda cell: cell["metadata"].update(tags=["nbval-skip"])),
    "nbval-ignore-output": (
        IMPORT_CELL,
        lambda cell: cell["source"].append("\n# NBVAL_IGNORE_OUTPUT"),
    ),
    "raises-exception": (
        IMPORT_CELL,
        lambda cell: cell["metadata"].update(tags=["raises-exception"]),
    ),
    "number typed in say": (
        IMPORT_CELL,
        lambda cell: cell["source"].append('\nsay(prompt="1,024")'),
    ),
    "trailing ;": (FIGURE_CELL, lambda cell: cell["source"].append(";  # hidden")),
    "on stderr": (IMPORT_CELL, lambda cell: cell["outputs"].append(stream("stderr", "Warning!"))),
    "stored error KeyError": (IMPORT_CELL, lambda cell: cell["outputs"].append(error())),
    "memory address": (
        IMPORT_CELL,
        lambda cell: cell["outputs"].append(stream("stdout", "<f at 0x7f9f3b51f380>")),
    ),
    "timestamp": (
        IMPORT_CELL,
        lambda cell: cell["outputs"].append(stream("stdout", "2026-01-02 03:04:05")),
    ),
    "absolute path": (
        IMPORT_CELL,
        lambda cell: cell["outputs"].append(stream("stdout", "in /home/me/book")),
    ),
    "glued figure": (FIGURE_CELL, glued),
    "without fingerprint": (
        FIGURE_CELL,
        lambda cell: output(cell)["data"].update({"text/plain": ["<Figure size 780x510>"]}),
    ),
    "image/jpeg is not compared": (FIGURE_CELL, foreign_kind("image/jpeg")),
    "widget-view+json is not compared": (
        FIGURE_CELL,
        foreign_kind("application/vnd.jupyter.widget-view+json"),
    ),
    "number glued as 'other'": (SAYING_CELL, renamed),
    "nbval-ignore-output keeps": (
        IMPORT_CELL,
        lambda cell: cell["source"].append("\nx = 1\f# NBVAL_IGNORE_OUTPUT"),
    ),
    "shown twice": (FIGURE_CELL, lambda cell: cell["outputs"].append(output(cell))),
    "alternative text": (FIGURE_CELL, lambda cell: cell["metadata"]["mystnb"].pop("image")),
    "bare number '3318' in prose": (0, lambda cell: cell["source"].append("\nIt is 3318.")),
    "bare number '12' in prose": (
        FIGURE_CELL,
        lambda cell: cell["metadata"]["mystnb"]["figure"].update(caption="All 12 points."),
    ),
    "not in canonical form": (0, lambda cell: cell.update(id="Z" * 8, metadata={"trusted": True})),
}


@pytest.mark.parametrize("reason", FAULTS)
def test_each_blind_spot_is_refused(tmp_path, reason):
    index, change = FAULTS[reason]
    raw = json.loads(FIXTURE.read_text(encoding="utf-8"))
    change(raw["cells"][index])
    chapter = tmp_path / "chapter.ipynb"
    chapter.write_text(
        json.dumps(raw, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    found = findings(chapter)
    assert any(reason in line for line in found), found
    for line in found:
        file, cell, _, remedy = line.split(": ", 3)
        assert (file, remedy != "") == (str(chapter), True)
        assert cell in (f"cell {index}", "cell -")


def test_the_command_line(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("It is 43 % off.")
    assert main([str(FIXTURE)]) == 0 and capsys.readouterr().out == ""
    assert main([str(page)]) == 1 and "bare number '43'" in capsys.readouterr().out
    assert main([str(tmp_path / "none.md")]) == 2
    page.write_bytes(b"\xff")
    assert main([str(page)]) == 1 and "page.md: not UTF-8" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([])  # nothing checked must not look like nothing found


@pytest.mark.parametrize(
    "source",
    [
        "See {glue:text}`b1`, {eq}`eq-1`, {cite:t}`Amdahl1967`, {prf:ref}`thm-2` and `p = 12`.",
        "A100-40GB, H100, RTX A6000, 70B, 8x7B, bf16, int4, GQA-8, Qwen2.5-7B, 2D, MI300X",
        "NVLink 4, PCIe 5, PCIe 4.0 x16, Llama 2 7B, Llama-2-7B, NCCL 2.18, CUDA 12.1, Python 3.11",
        "As §2.2 and §§3–4 say, in Section 2.1, Fig. 2, equation 3.1 and step 4 of Table 2",
        "# 2.2 The ring\n\n1. first\n2. second",
        "$2(p-1)M/p$ for $p = 2$, from $p = 2 \\to 4$, tends to $2$",
        "$$\nT = 2 \\frac{p-1}{p}\n$$ (eq-ring-1)",
        "\\begin{align}\na_1 &= 2 b\n\\end{align}",
        "[the paper](https://example.org/1234) and [here](2-1-x.ipynb#sec-2) <https://a.org/12>",
        "```python\nx = 3318\n```",
        "```{bibliography}\n:filter: 3\n```",
        "```{code-block} python\nx = 3318\n```",
        ":::{prf:theorem} The ring\n:label: thm-2\nWords.\n:::",
        ":::{figure} ring-2.png\n:name: fig-2\n:::",
        "````{note}\n```{code} python\nx = 12\n```\nWords.\n````",
        "{ref}`the ring <sec-2>`, {math}`p = 2`, `x[12]`, `p = 16`, `1`",
        "$\\beta_{\\mathrm{A100}}$",
        "(sec-2-1)=\n## Heading",
        "% a comment of 12 words\n<!-- 3318 -->",
        '<span class="w-12">word</span>',
        "Amdahl (1967), and in 1990 others",
        "B\\*, note[^1]",
    ],
)
def test_digits_that_are_no_numbers_pass(source):
    assert bare_numbers(source) == []


@pytest.mark.parametrize(
    "source, numbers",
    [
        ("The batch is 3318.", ["3318"]),
        ("**118,784** and 3.35 TB/s.", ["118,784", "3.35"]),
        ("$3318$", ["3318"]),
        ("$3{,}318$", ["3{,}318"]),
        ("$\\approx 0.5$", ["\\approx 0.5"]),
        ("$B^* = 3{,}318$ at $\\alpha = 20.5$", ["3{,}318", "20.5"]),
        ("about 2x faster, 43 % off", ["2", "43"]),
        ("80GB, 300GB/s", ["80", "300"]),
        ("A100 has 80 GB, NVLink 4 gives 25 GB/s", ["80", "25"]),
        ("2048 tokens of 4096", ["2048", "4096"]),
        (":::{admonition} Takeaway\nIt is 12.\n:::", ["12"]),
        ("| a | 12 |", ["12"]),
        ("## The 17 layers", ["17"]),
        ("[12 layers](x.md)", ["12"]),
        ("`a` 3 `b`", ["3"]),
        ("```{note}\nWords.\n```\nIt is 34.\n```{note}\nMore.\n```", ["34"]),
        ("```{admonition} 12 ms win\nWords.\n```", ["12"]),
        (":::{table} All 12 points\n:name: tab-2\n\n:::", ["12"]),
        (":::{figure} ring-2.png\n:alt: 12 ranks\n:::", ["12"]),
        (":speed: 12 GB/s", ["12"]),
        ("```{raw} html\n12 GB/s\n```", ["12"]),
        ("{math}`T = 12.5`, {abbr}`13 ms`, {ref}`14 ms <sec-2>`", ["12.5", "13", "14"]),
        ("`12.5 µs` and `≈ 43 %`", ["12.5", "43"]),
        ("p <12 and q> 3", ["12", "3"]),
        ("512B/s", ["512"]),
        ("$T = 125\\,\\mathrm{ms}$ or $\\text{12 ms}$", ["125", "12"]),
        ("in 199 ms, of 1990 tokens, counterparts 12, A100/80", ["199", "1990", "12", "80"]),
    ],
)
def test_typed_numbers_are_found(source, numbers):
    assert bare_numbers(source) == numbers
