"""The claims ledger: what the two source documents state, recomputed row by row.

A row's check is a Python expression over the package's own functions. The verdict follows from
what the check finds; nothing in a row is taken on trust.
"""

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

from tpbook.catalogue import read_table, typed_field
from tpbook.claim_rows import VERDICTS, Claim, Value, read_row
from tpbook.paths import data_path

FILE = "claims.yml"
# What a check may name. Each is imported when a check first asks for it.
MODULES = (
    "amdahl",
    "claim_checks",
    "claim_evaluation",
    "claim_jitter",
    "claim_measurements",
    "claim_network",
    "claim_published",
    "claim_simulations",
    "collectives",
    "crossover",
    "difference_method",
    "hardware",
    "intensity",
    "kv_copy",
    "latency_budget",
    "messages",
    "models",
    "modified_amdahl",
    "rooflines",
    "serial_fraction",
    "sharding",
    "topology",
)
BUILTINS = {"abs": abs, "max": max, "min": min}


def load_claims(path: Path | None = None) -> tuple[Claim, ...]:
    """Every row of data/claims.yml, or of another file of the same form, in order.

    Raises ValueError, naming the file, the row and the field, for a row that breaks the form.
    """
    path = Path(path) if path else data_path(FILE)
    table = read_table(path)
    sources = typed_field(table, "sources", dict, path.name)
    claims = []
    for position, row in enumerate(typed_field(table, "claims", list, path.name), start=1):
        claims.append(read_row(row, sources, path.name, position))
    known = Counter(claim.id for claim in claims)
    for claim in claims:
        if known[claim.id] > 1:
            raise ValueError(f"{path.name}: {claim.id}: id occurs twice: give each row its own")
        for id in claim.follows_from:
            if id not in known or id == claim.id:
                raise ValueError(f"{path.name}: {claim.id}: follows_from names no other row: {id}")
    return tuple(claims)


def claim_sources() -> dict[str, dict]:
    """Title and description of each source document by id."""
    return read_table(data_path(FILE))["sources"]


def recompute(claim: Claim) -> Value | None:
    """The value that the row's check finds now; None for a row without a check.

    Raises ValueError, naming the row, when the check cannot be evaluated.
    """
    return _evaluate(claim, claim.check)


def recompute_without(claim: Claim) -> Value | None:
    """What the check finds with the assumption dropped; None for a row without one."""
    return _evaluate(claim, claim.without)


def recompute_figures(claim: Claim) -> dict[str, Value]:
    """The numbers that the row's reason prints besides, each as its expression finds it now."""
    return {number: _evaluate(claim, expression) for number, expression in claim.figures}


def agrees(claim: Claim, value: Value) -> bool:
    """Whether a value is the claimed one, within the row's tolerance."""
    if isinstance(claim.value, bool | str):
        return value == claim.value
    reach = claim.tolerance * abs(claim.value) if claim.relative else claim.tolerance
    return abs(value - claim.value) <= reach


def expected_verdict(claim: Claim) -> str:
    """The verdict that the numbers force, from the checks alone."""
    if claim.check is None:
        return "needs hardware"
    if not agrees(claim, recompute(claim)):
        return "corrected"
    if claim.without is not None and not agrees(claim, recompute_without(claim)):
        return "reproduced under an assumption"
    return "implied" if claim.follows_from else "reproduced"


def count_by_verdict(claims) -> dict[str, int]:
    """How many claims have each verdict, in the order of VERDICTS."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def claims_table(claims, chapter: str | None = None, full: bool = False) -> None:
    """Show claims as a table: those of a chapter such as "2.5", or all that are given.

    A chapter's plainly reproduced claims are folded in below the others. full: as claims_markdown.
    Raises ValueError when no claim is left to show.
    """
    from IPython.display import display

    if chapter is None:
        text = claims_markdown(claims, full)
    else:
        text = chapter_markdown([claim for claim in claims if claim.chapter == chapter])
    display({"text/markdown": text, "text/plain": text}, raw=True)


def chapter_markdown(claims) -> str:
    """The claims of a chapter: first what needs a reason, then, folded, what holds as stated."""
    plain = [claim for claim in claims if claim.verdict == "reproduced"]
    others = [claim for claim in claims if claim.verdict != "reproduced"]
    if not plain or not others:
        return claims_markdown(claims)
    title = f"Reproduced as stated: {len(plain)} claims"
    folded = f"::::{{admonition}} {title}\n:class: dropdown\n\n{claims_markdown(plain)}\n::::"
    return f"{claims_markdown(others)}\n\n{folded}"


def claims_markdown(claims, full: bool = False) -> str:
    """The table of claims as MyST Markdown.

    full: name each claim's section as a link, give the row an address, and fold its check in.
    Raises ValueError for no claims.
    """
    if not claims:
        raise ValueError("claims must not be empty: no row of the ledger belongs here")
    lines = ["| Claim | Stated | Found | Verdict and reason |", "| :-- | :-- | :-- | :-- |"]
    for claim in claims:
        badge = f'<span class="verdict-{VERDICTS[claim.verdict]}">{claim.verdict}</span>'
        cells = [
            f"**{claim.id}**<br>{claim.claim}",
            _number(claim, claim.value),
            _found(claim),
            f"{badge}<br>{claim.reason}",
        ]
        if full:
            cells[0] = f'<span id="{claim.id.lower()}"></span>{cells[0]}'
            cells[-1] += f" {chapter_link(claim.chapter)}{_folded_check(claim)}"
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return ":::{table}\n:class: claims\n\n" + "\n".join(lines) + "\n:::"


def chapter_link(chapter: str) -> str:
    """The section of the book that treats a chapter's claims, as a link: "§2.5"."""
    return f"{{ref}}`§{chapter} <sec-{chapter.replace('.', '-')}>`"


def _folded_check(claim: Claim) -> str:
    if claim.check is None:
        return ""
    checks = [claim.check] + ([claim.without] if claim.without else [])
    code = "<br>".join(f"`{check}`" for check in checks)
    return f"<details><summary>check</summary>{code}{_reach(claim)}</details>"


def _reach(claim: Claim) -> str:
    if not claim.tolerance:
        return ""
    reach = f"{claim.tolerance:.0%}" if claim.relative else f"{claim.tolerance:g}"
    return f"<br>within {reach}"


def _found(claim: Claim) -> str:
    if claim.found is None:
        return "–"
    found = _number(claim, claim.found)
    if claim.found_without is None:
        return found
    return f"{found}<br>in general: {_number(claim, claim.found_without)}"


def _number(claim: Claim, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
    return text if claim.unit == "1" else f"{text} {claim.unit}"


def _evaluate(claim: Claim, expression: str | None) -> Value | None:
    if expression is None:
        return None
    words = set(re.findall(r"\b[a-z]\w*\b", expression))
    modules = {word: import_module(f"tpbook.{word}") for word in MODULES if word in words}
    try:
        value = eval(expression, {"__builtins__": BUILTINS} | modules)
    except Exception as error:
        raise ValueError(f"{FILE}: {claim.id}: cannot evaluate {expression!r}: {error}") from error
    # NumPy's scalars are turned into Python's, so that they compare and print alike.
    return value.item() if hasattr(value, "item") else value
