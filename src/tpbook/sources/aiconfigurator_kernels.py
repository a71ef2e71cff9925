"""Kernel tables from ai-dynamo/aiconfigurator (Apache-2.0): attention of A100, H100 and L40S, and
single products on the L40S.

Upstream times are in milliseconds, each the mean over the repeats of one run.
"""

from pathlib import Path

import pandas as pd

from tpbook.sources import number, read_blob, write_lines
from tpbook.sources.kernel_tables import SHAPE_COLUMNS, write_attention

ROOTS = ("", "aic-core/src/aiconfigurator_core/systems/")

# (accelerator, upstream folder, blobs of the prefill and the decode table, name of the source).
# vLLM's tables lack decode with as many KV heads as query heads beyond 8.
ATTENTION = [
    (
        "a100-80gb-sxm4",
        "a100_sxm/attention/trtllm/1.0.0",
        "510b6006d5f74108bfa2d7c9b007293f5912ede9",
        "4bce07ad8c56faab541bbf5bea08d29c4629420a",
        "trtllm-1.0.0",
    ),
    (
        "h100-sxm",
        "h100_sxm/attention/trtllm/1.2.0rc5",
        "e1278959a4c0341883a6d845c6bbaf54e976ece0",
        "231962ff30abff2638c222e4dd6f68b452cb07f6",
        "trtllm-1.2.0rc5",
    ),
    (
        "l40s",
        "l40s/attention/trtllm/1.0.0",
        "e86ba2098712218a67c9a450ba2bd36fd3ee81a5",
        "2f04e7f5983d88c03c8c6e0e85416221af89e05a",
        "trtllm-1.0.0",
    ),
]
ATTENTION_REPEATS = 6
HEADS, HEAD_DIM = 32, 128
BATCHES = (1, 2, 4, 8, 16, 32, 64)
PROMPTS = (256, 512, 1024, 2048, 4096)
CONTEXTS = (255, 511, 1023, 2047, 4095)

GEMMS = [
    (
        "l40s",
        "l40s/gemm/vllm/0.14.0",
        "7953696bba622d709018aaaf4a1e692942a1c8ed",
        "vllm-0.14.0",
    ),
]
# Six copies of the weights in turn, in a CUDA graph replayed six times.
GEMM_REPEATS = 36
# The shapes (inner, columns) next to those of a 7B layer and its head at p = 1, 2, 4.
WIDTHS = (1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384, 65536)


def read_parquet(checkout: Path, folder: str, name: str, blob: str) -> pd.DataFrame:
    """One upstream table, checked against its blob id; folder and name below upstream's data/."""
    paths = [f"{root}data/{folder}/{name}.parquet" for root in ROOTS]
    return pd.read_parquet(read_blob(checkout, blob, paths))


def attention_rows(prefill: pd.DataFrame, decode: pd.DataFrame, card: str, source: str) -> list:
    """Rows of the attention table: multi-head attention in bfloat16, one rank's heads at each p.

    In decode, upstream's step counts the tokens in the cache before the new one.
    """
    rows = []
    for phase, table in (("prefill", prefill), ("decode", decode)):
        table = table[
            (table["head_dim"] == HEAD_DIM)
            & (table["num_key_value_heads"] == table["num_heads"])
            & (table["attn_dtype"] == "bfloat16")
            & (table["kv_cache_dtype"] == "bfloat16")
            & (table["window_size"] == 0)
            & table["batch_size"].isin(BATCHES)
            & (table["isl"].isin(PROMPTS) if phase == "prefill" else table["step"].isin(CONTEXTS))
        ]
        for row in table.itertuples():
            p, rest = divmod(HEADS, row.num_heads)
            if rest or p not in (1, 2, 4, 8):
                continue
            sizes = row.batch_size, row.isl, row.step
            time = row.latency * 1e-3, None, None
            rows.append((card, p, phase, *sizes, *time, ATTENTION_REPEATS, "mean", source))
    return rows


def gemm_lines(table: pd.DataFrame, card: str, source: str) -> list[str]:
    """Lines of data/kernels/gemm-shapes.csv: the widths next to those of a 7B model."""
    table = table[table["gemm_dtype"] == "bfloat16"]
    wide = (table["k"] == 4096) & table["n"].isin(WIDTHS)
    tall = (table["n"] == 4096) & table["k"].isin((1024, *WIDTHS[:-2]))
    table = table[(wide | tall) & (table["m"] <= 4096)].sort_values(["k", "n", "m"])
    return [
        f"{card},{row.m},{row.k},{row.n},{number(row.latency * 1e-3)},{GEMM_REPEATS},{source}"
        for row in table.itertuples()
    ]


def build_kernels(checkout: Path, output: Path) -> None:
    """Write the kernel tables of this source below output."""
    rows = []
    for card, folder, *blobs, source in ATTENTION:
        names = "context_attention_perf", "generation_attention_perf"
        tables = [read_parquet(checkout, folder, name, blob) for name, blob in zip(names, blobs)]
        rows += attention_rows(*tables, card, source)
    write_attention(output, "llama-2-7b", rows, {row[-1] for row in rows})
    lines = []
    for card, folder, blob, source in GEMMS:
        lines += gemm_lines(read_parquet(checkout, folder, "gemm_perf", blob), card, source)
    write_lines(output / "kernels" / "gemm-shapes.csv", SHAPE_COLUMNS, lines)
