"""All-reduces of cards that NVLink joins in pairs, from microsoft/vidur (MIT licence).

Upstream times are in milliseconds with a resolution of 1 us, measured on rank 0.
"""

from pathlib import Path

import pandas as pd

from tpbook.sources import number, read_blob, run, write_lines
from tpbook.sources.vidur import allreduce_rows

COLUMNS = ("card", "p", "message_bytes", "time_s", "samples")
# (card, blob, file)
TABLES = [
    ("a100-pairs", "cc3e55024a77899f5510355c766c56f8b4efe301", "a100_pairwise_nvlink"),
    ("h100-pairs", "8d1b79e094a2c0134c929a42e376e585a552231e", "h100_pairwise_nvlink"),
]
REPEATS = 3
# Smaller messages of these eager runs are bimodal: a late rank counts as kernel time.
SMALLEST, LARGEST = 2**20, 2**26


def pair_rows(table: pd.DataFrame, card: str) -> list[tuple]:
    """Rows (card, p, message, median time, samples): the first size at or above each octave."""
    rows = [row for row in allreduce_rows(table, "", REPEATS) if row[3] == "median"]
    chosen = []
    for p in sorted({row[0] for row in rows}):
        of_p = [row for row in rows if row[0] == p]
        point = SMALLEST
        while point <= LARGEST:
            above = [row for row in of_p if row[1] >= point]
            if above and (not chosen or chosen[-1][1:3] != (p, above[0][1])):
                chosen.append((card, p, above[0][1], above[0][2], above[0][4]))
            point *= 2
    return chosen


def build(checkout: Path, output: Path) -> None:
    """Write data/network/pairs-allreduce.csv below output."""
    lines = []
    for card, blob, name in TABLES:
        paths = [f"{name}_all_reduce.csv", f"data/profiling/network/{name}/all_reduce.csv"]
        table = pd.read_csv(read_blob(checkout, blob, paths))
        for _, p, message, time, samples in pair_rows(table, card):
            lines.append(",".join([card, str(p), str(message), number(time), str(samples)]))
    write_lines(output / "network" / "pairs-allreduce.csv", COLUMNS, lines)


if __name__ == "__main__":
    run(build, "microsoft/vidur")
