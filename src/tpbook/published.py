"""Published end-to-end times at several degrees, carried over with source, commit and licence.

All of them are measurements of others. Most are one run per cell, so how far two runs differ is
taken from the cells that one source measured twice.
"""

import numpy as np
import pandas as pd

from tpbook.paths import data_path
from tpbook.tables import Column, read_csv

PHASES = ("prefill", "decode", "end-to-end")
SETTING = ("source", "model", "accelerator", "engine", "phase", "batch", "prompt_tokens")
COLUMNS = (
    Column("source"),
    Column("commit"),
    Column("licence"),
    Column("model"),
    Column("accelerator"),
    Column("engine"),
    Column("dtype"),
    Column("phase", allowed=PHASES),
    Column("batch", low=1, whole=True),
    Column("prompt_tokens", low=1, whole=True),
    Column("output_tokens", low=0, whole=True),  # 0 where the source does not say
    Column("p", low=1, whole=True),
    Column("time_s", above=0),
    Column("low_s", above=0),
    Column("high_s", above=0),
    Column("repeats", low=1, whole=True),
)


def speedups() -> pd.DataFrame:
    """The table data/published/speedups.csv: one row per setting and degree.

    time_s: median over the repeats (s); low_s, high_s: their extremes. A decode time is that of
    one token, a prefill time that of the whole batch's prompts, an end-to-end time that of the
    whole batch. Raises ValueError when the table breaks its contract.
    """
    table = read_csv(data_path("published", "speedups.csv"), COLUMNS)
    if table.duplicated([*SETTING, "p"]).any():
        first = table[table.duplicated([*SETTING, "p"])].iloc[0]
        raise ValueError(
            f"published/speedups.csv: two rows for {first['source']}, {first['model']}, "
            f"batch {first['batch']}, p = {first['p']}; keep one"
        )
    return table


def settings(table: pd.DataFrame) -> list[tuple[dict, pd.Series]]:
    """Every setting of a speedups table, with its times in seconds indexed by degree."""
    found = []
    for key, rows in table.groupby(list(SETTING), sort=False):
        found.append((dict(zip(SETTING, key)), rows.set_index("p")["time_s"].sort_index()))
    return found


def duplicate_spreads() -> np.ndarray:
    """Relative spreads (high - low)/low of the cells that one source measured twice, sorted."""
    columns = (*COLUMNS[:-4], *COLUMNS[-3:])
    table = read_csv(data_path("published", "duplicates.csv"), columns)
    return np.sort((table["high_s"] / table["low_s"] - 1).to_numpy())
