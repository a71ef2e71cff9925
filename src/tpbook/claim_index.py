"""Finding a row of the claims ledger: an index by verdict and chapter, and sections that unfold.

A section is a <details> element, which a browser opens by itself when a link leads to a row in it.
"""

from tpbook.claim_rows import CHAPTERS, VERDICTS
from tpbook.claims import chapter_link, claims_markdown, count_by_verdict


def claims_index(claims) -> None:
    """Show where each claim's row is: by verdict, and in it by chapter.

    Raises ValueError for no claims.
    """
    _show(index_markdown(claims))


def folded_claims(claims) -> None:
    """Show the full table of claims, folded under how many have each verdict.

    Raises ValueError for no claims.
    """
    _show(folded_markdown(claims))


def folded_markdown(claims) -> str:
    """The full table of claims as MyST Markdown, folded under how many have each verdict.

    Raises ValueError for no claims.
    """
    table = claims_markdown(claims, full=True)
    counts = ", ".join(
        f'<span class="verdict-{VERDICTS[verdict]}">{count} {verdict}</span>'
        for verdict, count in count_by_verdict(claims).items()
        if count
    )
    title = f"{len(claims)} claim{'s' if len(claims) > 1 else ''}: {counts}"
    return f'<details class="claims"><summary>{title}</summary>\n\n{table}\n\n</details>'


def index_markdown(claims) -> str:
    """For each verdict a folded table of the chapters, with links to the rows of the full tables.

    Raises ValueError for no claims.
    """
    if not claims:
        raise ValueError("claims must not be empty: there is nothing to list")
    parts = []
    for verdict, count in count_by_verdict(claims).items():
        lines = ["| Section | Claims | Rows |", "| :-- | --: | :-- |"]
        for chapter in CHAPTERS:
            ids = [c.id for c in claims if (c.verdict, c.chapter) == (verdict, chapter)]
            links = ", ".join(f'<a href="#{id.lower()}">{id}</a>' for id in ids)
            if ids:
                lines.append(f"| {chapter_link(chapter)} | {len(ids)} | {links} |")
        title = f"{verdict.capitalize()}: {count} claims"
        table = ":::{table}\n:class: claims-index\n\n" + "\n".join(lines) + "\n:::"
        if count:
            parts.append(f"::::{{admonition}} {title}\n:class: dropdown\n\n{table}\n::::")
    return "\n\n".join(parts)


def _show(text: str) -> None:
    from IPython.display import display

    display({"text/markdown": text, "text/plain": text}, raw=True)
