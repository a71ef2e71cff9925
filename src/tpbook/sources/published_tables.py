"""What the builders of data/published/*.csv share: the columns, the memory filter, the writing."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from tpbook import capacity
from tpbook.models import all_models, model
from tpbook.published import COLUMNS
from tpbook.sources import number, write_lines

NAMES = [column.name for column in COLUMNS]
Memory = tuple[float, float] | None


@cache
def known_models() -> set[str]:
    """The ids whose geometry is in a catalogue."""
    return set(all_models())


def fits(id: str, p: int, batch: int, tokens: int, memory: Memory, element_bytes=2.0) -> str:
    """yes, no or unknown: whether weights and KV cache stay below 0.9 of one device's memory.

    memory: the least and the most bytes that a device may have, None where nothing is known.
    tokens: prompt and output of one sequence. Unknown models and doubtful memories give unknown.
    """
    if memory is None or id not in known_models():
        return "unknown"
    run = (model(id), p, batch, tokens)
    least, most = (capacity.fits(*run, bytes, element_bytes) for bytes in memory)
    return "unknown" if least != most else "yes" if least else "no"


def row(setting: dict, times: Iterable[float], fits: str, flag: str = "") -> dict:
    """One row of a published table; times: the repeats of one cell in seconds."""
    times = list(times)
    return setting | {
        "time_s": float(np.median(times)),
        "low_s": float(min(times)),
        "high_s": float(max(times)),
        "repeats": len(times),
        "fits": fits,
        "flag": flag,
    }


def write_table(output: Path, source: str, rows: Iterable[dict]) -> None:
    """Write output/published/<source>.csv; times get six significant digits."""
    lines = []
    for each in rows:
        each = {"source": source} | each
        cells = [each[name] for name in NAMES]
        texts = [number(cell) if isinstance(cell, float) else str(cell) for cell in cells]
        if any("," in text for text in texts):
            raise ValueError(f"{source}: a cell of {texts} holds a comma")
        lines.append(",".join(texts))
    write_lines(output / "published" / f"{source}.csv", NAMES, lines)
