"""Looking up measured kernels for the composition, and the straight lines between them."""

from functools import cache

import numpy as np
import pandas as pd

from tpbook.geometry import Model
from tpbook.hardware import accelerator
from tpbook.intensity import gemm_bytes
from tpbook.kernel_times import attention_times, gemm_times, shape_times
from tpbook.sharding import rank_model

ELEMENT_BYTES = 2


@cache
def _kernel_table(model: str) -> pd.DataFrame:
    return gemm_times(model).set_index(["accelerator", "p", "tokens", "kernel"]).sort_index()


def kernel_row(model: str, card: str, p: int, rows: int, kernel: str) -> pd.Series:
    """The measured time of one kernel of a layer on rows tokens: time_s, low_s, high_s, samples."""
    return _kernel_table(model).loc[(card, p, rows, kernel)]


@cache
def _attention_table(model: str) -> pd.DataFrame:
    return attention_times(model)


@cache
def attention_rows(model: str, card: str, source: str, p: int, phase: str) -> pd.DataFrame:
    """The measured attention of one rank's heads, by batch, tokens and context."""
    table = _attention_table(model)
    return table[
        (table["accelerator"] == card)
        & (table["source"] == source)
        & (table["p"] == p)
        & (table["phase"] == phase)
    ]


def reading_products(model: Model, card: str, rows: int) -> tuple[list, list, int]:
    """Columns and times of the measured products of inner width hidden, and their samples."""
    table = _kernel_table(model.id).loc[card]
    found = {}
    for p in table.index.get_level_values("p").unique():
        local = rank_model(model, int(p))
        widths = {
            "qkv": (local.heads + 2 * local.kv_heads) * local.head_dim,
            "mlp_up": (2 if model.gated_mlp else 1) * local.intermediate,
        }
        for kernel, columns in widths.items():
            found[columns] = table.loc[(p, rows, kernel)]
    widths = sorted(found)
    times = [float(found[width].time_s) for width in widths]
    return widths, times, int(min(row.samples for row in found.values()))


def line_through(widths, times, at: float) -> float:
    """A straight line through the two points around, or beyond, the value at."""
    upper = int(np.clip(np.searchsorted(widths, at), 1, len(widths) - 1))
    (x, y), (u, v) = ((widths[i], times[i]) for i in (upper - 1, upper))
    return y + (v - y) * (at - x) / (u - x)


@cache
def _shapes(card: str) -> pd.DataFrame:
    table = shape_times()
    table = table[table["accelerator"] == card]
    return table.set_index(["rows", "inner", "columns"]).sort_index()


def shape_time(card: str, rows: int, inner: int, columns: int) -> tuple[float, bool, int]:
    """Time of a product, whether it is an estimate, and the samples behind it.

    A width that was not measured lies on the line between its two neighbours; where these are more
    than a factor of two apart, that is an estimate. So is the memory time of a product that was
    timed faster than that: its weights stayed in the on-chip cache from one repeat to the next.
    """
    table = _shapes(card).loc[rows]
    if inner in table.index.get_level_values("inner"):
        known, at = table.loc[inner], columns
    else:
        known, at = table.xs(columns, level="columns"), inner
    widths, samples = known.index.to_numpy(), int(known["samples"].min())
    time, wide = known["time_s"].get(at), False
    if time is None:
        above = int(np.clip(np.searchsorted(widths, at), 1, len(widths) - 1))
        wide = bool(widths[above] > 2 * widths[above - 1])
        time = line_through(widths, known["time_s"].to_numpy(), at)
    moved = gemm_bytes(rows, inner, columns, ELEMENT_BYTES)
    floor = moved / accelerator(card).memory_bandwidth
    return max(float(time), floor), wide or bool(time < floor), samples
