"""Measured GPU times of the kernels of one layer: data/kernels, read by one loader."""

import pandas as pd

from tpbook.catalogue import lookup
from tpbook.hardware import accelerators
from tpbook.paths import DATA
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


def gemm_times(model: str) -> pd.DataFrame:
    """Median, minimum and maximum times of a model's layer kernels, on one of p ranks.

    model: "llama-2-7b" or "llama-2-70b". Columns: accelerator, p, tokens, kernel, time_s, low_s,
    high_s, samples; the GEMMs are those in GEMMS. Sources and limits: data/kernels/sources.yml.
    Raises ValueError for a model without a table or a table that breaks the contract.
    """
    files = {file.name.removesuffix("-gemm.csv"): file for file in _files()}
    table = read_csv(lookup(files, model, "model with kernel times"), COLUMNS)
    for card in table["accelerator"].unique():
        lookup(accelerators(), card, f"accelerator in {model}-gemm.csv:")
    return table


def _files():
    return sorted((DATA / "kernels").glob("*-gemm.csv"))
