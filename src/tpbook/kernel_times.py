"""Measured GPU times of the kernels of one layer: data/kernels, read by one loader."""

import math

import pandas as pd

from tpbook.catalogue import lookup
from tpbook.hardware import all_accelerators
from tpbook.paths import DATA, data_path
from tpbook.tables import Column, read_csv

GEMMS = ("qkv", "attention_out", "mlp_up", "mlp_down")
OTHERS = ("embedding", "attention_norm", "rope", "mlp_norm", "activation", "add")
COLUMNS = (
    Column("accelerator"),
    Column("p", low=1, whole=True),
    Column("tokens", low=1, whole=True),
    Column("kernel", allowed=GEMMS + OTHERS),
    Column("time_s", above=0),
    Column("low_s", low=0),
    Column("high_s", above=0),
    Column("samples", low=1, whole=True),
)
ATTENTION = (
    Column("accelerator"),
    Column("p", low=1, whole=True),
    Column("phase", allowed=("prefill", "decode")),
    Column("batch", low=1, whole=True),
    Column("tokens", low=1, whole=True),
    Column("context", low=0, whole=True),
    Column("time_s", above=0),
    Column("low_s", above=0, default=math.nan),
    Column("high_s", above=0, default=math.nan),
    Column("samples", low=1, whole=True),
    Column("statistic", allowed=("median", "mean")),
    Column("source"),
)
SHAPES = (
    Column("accelerator"),
    Column("rows", low=1, whole=True),
    Column("inner", low=1, whole=True),
    Column("columns", low=1, whole=True),
    Column("time_s", above=0),
    Column("samples", low=1, whole=True),
    Column("source"),
)

# The columns whose values together occur once.
GEMM_KEY = ("accelerator", "p", "tokens", "kernel")
ATTENTION_KEY = ("source", "accelerator", "p", "phase", "batch", "tokens", "context")
SHAPE_KEY = ("source", "accelerator", "rows", "inner", "columns")


def gemm_times(model: str) -> pd.DataFrame:
    """Median, minimum and maximum times of a model's layer kernels, on one of p ranks.

    model: "llama-2-7b" or "llama-2-70b". Columns: accelerator, p, tokens, kernel, time_s, low_s,
    high_s, samples; the GEMMs are those in GEMMS. Sources and limits: data/kernels/sources.yml.
    Raises ValueError for a model without a table or a table that breaks the contract.
    """
    return _model_table(model, "gemm", COLUMNS, GEMM_KEY)


def attention_times(model: str) -> pd.DataFrame:
    """Times of the attention of one layer, on one of p ranks.

    Columns: accelerator, p, phase, batch, tokens (new, of each sequence), context (cached, of
    each), time_s, low_s, high_s (NaN where no spread is published), samples, statistic, source.
    Raises ValueError as gemm_times does.
    """
    return _model_table(model, "attention", ATTENTION, ATTENTION_KEY)


def shape_times() -> pd.DataFrame:
    """Times of products (rows x inner) (inner x columns) that belong to no model.

    Columns: accelerator, rows, inner, columns, time_s, samples, source.
    """
    table = read_csv(data_path("kernels", "gemm-shapes.csv"), SHAPES, SHAPE_KEY)
    return _checked(table, "gemm-shapes.csv")


def _model_table(
    model: str, kind: str, columns: tuple[Column, ...], key: tuple[str, ...]
) -> pd.DataFrame:
    files = sorted((DATA / "kernels").glob(f"*-{kind}.csv"))
    named = {file.name.removesuffix(f"-{kind}.csv"): file for file in files}
    what = "kernel" if kind == "gemm" else kind
    table = read_csv(lookup(named, model, f"model with {what} times"), columns, key)
    return _checked(table, f"{model}-{kind}.csv")


def _checked(table: pd.DataFrame, name: str) -> pd.DataFrame:
    for card in table["accelerator"].unique():
        lookup(all_accelerators(), card, f"accelerator in {name}:")
    return table
