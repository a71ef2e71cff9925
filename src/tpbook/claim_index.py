"""Where each row of the claims ledger is: by verdict, and in it by chapter."""

from tpbook.claim_rows import CHAPTERS
from tpbook.claims import chapter_link, count_by_verdict


def claims_index(claims) -> None:
    """Show where each claim's row is: by verdict, and in it by chapter.

    Raises ValueError for no claims.
    """
    from IPython.display import display

    text = index_markdown(claims)
    display({"text/markdown": text, "text/plain": text}, raw=True)


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
