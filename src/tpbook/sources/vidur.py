"""Tables from microsoft/vidur (MIT licence): all-reduces of A40, A100, H100; layer kernels.

Upstream times are in milliseconds with a resolution of 1 us, measured on rank 0. The A40
all-reduce tables exist only in the git history of the repository. The attention rows were
transcribed by hand from a copy of the repository, since upstream stores that table elsewhere.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tpbook.sources import number, read_blob, run, write_allreduce, write_lines
from tpbook.sources.kernel_tables import write_attention

# (system, method, blob, paths, repeats behind each row's statistics)
ALLREDUCE = [
    (
        "quad-a40-hoststaged",
        "nccl-kernel-eager",
        "c6bc73bfad4d9c83287fa442acff9c00192803bc",
        ["a40_all_reduce_c6bc73b.csv", "data/profiling/a40/all_reduce.csv"],
        3,
    ),
    (
        "quad-a40-bridge",
        "nccl-kernel-graph",
        "081347e9b969226d5566565ddf2a09d5a427895b",
        ["a40_all_reduce_081347e.csv", "data/profiling/a40/all_reduce.csv"],
        5,
    ),
    (
        "quad-a100-sxm",
        "nccl-kernel-eager",
        "730776436cbd9e3e40aae50768e2b64921dd0379",
        ["a100_dgx_all_reduce.csv", "data/profiling/network/a100_dgx/all_reduce.csv"],
        3,
    ),
    (
        "octo-h100-sxm",
        "nccl-kernel-eager",
        "a7a2470393d9ad8786e2423f081d01f8997b4bdb",
        ["h100_dgx_all_reduce.csv", "data/profiling/network/h100_dgx/all_reduce.csv"],
        3,
    ),
]

# (model, accelerator, blob, paths)
KERNELS = [
    (
        model,
        accelerator,
        blob,
        [f"mlp_{short}_{card}.csv", f"data/profiling/compute/{card}/{upstream}/mlp.csv"],
    )
    for model, short, upstream, blobs in (
        (
            "llama-2-7b",
            "llama2_7b",
            "meta-llama/Llama-2-7b-hf",
            (
                "bd8dbc6cbca472e9e82078b2e4f417b9849fe216",
                "479ed2f6ed22049ac444bca9fa44578532cbf28a",
                "661ea954e9508d67f37d3b24f0e07eb96f83ca46",
            ),
        ),
        (
            "llama-2-70b",
            "llama2_70b",
            "meta-llama/Llama-2-70b-hf",
            (
                "04b7d23492b232d3f826abaec10b2ff4277696a7",
                "6f53232adc5acdae0e06226720bcc948a466f954",
                "7f469cdea36cca4e571f50854a4e9b61654b91e0",
            ),
        ),
    )
    for (accelerator, card), blob in zip(
        (("a40", "a40"), ("a100-80gb-pcie", "a100"), ("h100-sxm", "h100")), blobs
    )
]
KERNEL_NAMES = {
    "emb": "embedding",
    "input_layernorm": "attention_norm",
    "attn_pre_proj": "qkv",
    "attn_rope": "rope",
    "attn_post_proj": "attention_out",
    "post_attention_layernorm": "mlp_norm",
    "mlp_up_proj": "mlp_up",
    "mlp_act": "activation",
    "mlp_down_proj": "mlp_down",
    "add": "add",
}
KERNEL_REPEATS = 20
KERNEL_COLUMNS = ("accelerator", "p", "tokens", "kernel", "time_s", "low_s", "high_s", "samples")

ATTENTION = ("ac36850401df30d53b0328ba8005a44116549ba8", ["attention_llama2_7b_excerpt.csv"])
ATTENTION_CARDS = {"a40": "a40", "a100": "a100-80gb-pcie"}
ATTENTION_REPEATS = 5

EVERY_MESSAGE_UP_TO = 2**20
EVERY_TOKEN_COUNT_UP_TO = 64


def thin(values: np.ndarray, dense: int, steps: int) -> np.ndarray:
    """Of sorted distinct values, all up to dense, then a geometric selection.

    Above dense, the first value at or above each point dense 2^(k/steps), k = 1, 2, ...
    """
    points = dense * 2.0 ** (np.arange(1, 20 * steps) / steps)
    above = np.searchsorted(values, points, side="left")
    chosen = values[np.unique(above[above < len(values)])]
    return np.union1d(values[values <= dense], chosen)


def allreduce_rows(table: pd.DataFrame, method: str, repeats: int) -> list[tuple]:
    """Rows (p, message, time, statistic, samples, method) of one upstream table.

    Kept: one node, non-empty messages, minimum and median over the repeats. A message that was
    measured several times (as different tokens x width) has its repeats pooled.
    """
    table = table.rename(columns=lambda name: name.replace("time_stats.all_reduce.", ""))
    if "devices_per_node" in table:
        table = table[table["num_workers"] == table["devices_per_node"]]
    else:
        table = table.assign(size=2 * table["n_embd"] * table["num_tokens"])
    table = table[table["size"] > 0]
    rows = []
    for p, ranks in table.groupby("num_workers"):
        pooled = ranks.groupby("size").agg({"min": ["min", "size"], "median": "median"})
        for message in thin(pooled.index.to_numpy(), EVERY_MESSAGE_UP_TO, 16):
            low, count, median = pooled.loc[message]
            samples = repeats * int(count)
            rows.append((p, int(message), low * 1e-3, "min", samples, method))
            rows.append((p, int(message), median * 1e-3, "median", samples, method))
    return rows


def kernel_lines(table: pd.DataFrame, accelerator: str) -> Iterator[str]:
    """CSV lines of one card's kernel table; token counts measured twice are pooled."""
    statistics = ("median", "min", "max")
    cells = table.groupby(["num_tensor_parallel_workers", "num_tokens"])
    pooled = cells.agg(
        {f"time_stats.{name}.{each}": each for name in KERNEL_NAMES for each in statistics}
    )
    samples, times = (KERNEL_REPEATS * cells.size()).to_dict(), pooled.to_dict("index")
    for p, rows in pooled.groupby(level=0):
        for tokens in thin(rows.index.get_level_values(1).to_numpy(), EVERY_TOKEN_COUNT_UP_TO, 4):
            for name, kernel in KERNEL_NAMES.items():
                own = [times[p, tokens][f"time_stats.{name}.{each}"] for each in statistics]
                texts = [number(time * 1e-3) for time in own]
                yield ",".join(
                    [accelerator, str(p), str(tokens), kernel, *texts, str(samples[p, tokens])]
                )


def attention_rows(table: pd.DataFrame) -> list[tuple]:
    """Rows of data/kernels/llama-2-7b-attention.csv; a decode row has one new token."""
    return [
        (
            *(ATTENTION_CARDS[row.device], row.num_tensor_parallel_workers, row.phase),
            *(row.batch_size, row.prefill_chunk_size or 1, row.kv_cache_size),
            *(row.attn_median_ms * 1e-3, row.attn_min_ms * 1e-3, row.attn_max_ms * 1e-3),
            *(ATTENTION_REPEATS, "median", "vidur"),
        )
        for row in table.itertuples()
    ]


def build(checkout: Path, output: Path) -> None:
    """Write every table of this source below output."""
    for system, method, blob, paths, repeats in ALLREDUCE:
        table = pd.read_csv(read_blob(checkout, blob, paths))
        write_allreduce(
            output / "systems" / system, allreduce_rows(table, method, repeats), {method}
        )
    lines: dict[str, list[str]] = {}
    for model, accelerator, blob, paths in KERNELS:
        table = pd.read_csv(read_blob(checkout, blob, paths))
        lines.setdefault(model, []).extend(kernel_lines(table, accelerator))
    for model, rows in lines.items():
        write_lines(output / "kernels" / f"{model}-gemm.csv", KERNEL_COLUMNS, rows)
    table = pd.read_csv(read_blob(checkout, *ATTENTION))
    write_attention(output, "llama-2-7b", attention_rows(table), {"vidur"})


if __name__ == "__main__":
    run(build, "microsoft/vidur")
