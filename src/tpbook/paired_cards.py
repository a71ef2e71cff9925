"""Measured all-reduces of four cards that NVLink joins in pairs: data/network, one loader."""

import pandas as pd

from tpbook.network_steps import interpolated_time
from tpbook.paths import data_path
from tpbook.tables import Column, read_csv

COLUMNS = (
    Column("card", allowed=("a100-pairs", "h100-pairs")),
    Column("p", low=2, whole=True),
    Column("message_bytes", low=1, whole=True),
    Column("time_s", above=0),
    Column("samples", low=1, whole=True),
)


def pair_allreduces() -> pd.DataFrame:
    """Median times of one all-reduce: card, p, message_bytes, time_s (s), samples.

    Sources and limits: data/network/sources.yml. Raises ValueError for a broken table.
    """
    key = ("card", "p", "message_bytes")
    return read_csv(data_path("network", "pairs-allreduce.csv"), COLUMNS, key)


def pair_allreduce_time(card: str, p: int, message: float) -> float:
    """Time of one all-reduce between measured sizes, by straight lines of the logarithms (s).

    message: B. Raises ValueError for a card, a degree or a message outside the table.
    """
    table = pair_allreduces()
    rows = table[(table["card"] == card) & (table["p"] == p)].sort_values("message_bytes")
    if rows.empty:
        raise ValueError(f"no all-reduces of {card!r} at p = {p} in network/pairs-allreduce.csv")
    sizes = rows["message_bytes"].to_numpy(float)
    if not sizes[0] <= message <= sizes[-1]:
        raise ValueError(
            f"message must lie between {sizes[0]:g} and {sizes[-1]:g} B, got {message:g}"
        )
    return float(interpolated_time(sizes, rows["time_s"].to_numpy(float), message))
