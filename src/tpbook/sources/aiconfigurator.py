"""Tables from ai-dynamo/aiconfigurator (Apache-2.0): all-reduces and kernels of A100, H100, L40S.

Upstream counts messages in elements (2 bytes each here) and times in milliseconds; each time is
the mean over the repeats of one run.
"""

from pathlib import Path

import pandas as pd

from tpbook.sources import number, read_blob, run, write_allreduce, write_lines
from tpbook.sources.kernel_tables import SHAPE_COLUMNS, write_attention

ELEMENT_BYTES = 2
ROOTS = ("", "aic-core/src/aiconfigurator_core/systems/")

# (system, upstream folder below data/, blob, stem of the method)
NCCL_TESTS = [
    ("quad-a100-sxm", "a100_sxm/comm/nccl/2.27.3", "6b6607a3957096cfdd147d23283e74116dfb9ac3"),
    ("octo-h100-sxm", "h100_sxm/comm/nccl/2.29.2", "5c9b49bbe965fc9db6af0aa4a0527c4827df4e4a"),
    ("quad-l40s-pcie", "l40s/comm/nccl/2.27.3", "094d6c300c531cbc92d01b5901d439dac69b4335"),
]
ENGINES = [
    (
        "quad-a100-sxm",
        "a100_sxm/comm/trtllm/1.0.0",
        "34e7cba25f829ec9eb7ebcfea480ddda8f62fc5a",
        "trtllm",
    ),
    (
        "quad-a100-sxm",
        "a100_sxm/comm/vllm/0.14.0",
        "5686579facdac2374e9242976cd68288a5fc4780",
        "vllm",
    ),
    (
        "octo-h100-sxm",
        "h100_sxm/comm/trtllm/1.2.0rc5",
        "ed00cef5538d961fe2c2b36d9bf6cf13478c521c",
        "trtllm",
    ),
    (
        "octo-h100-sxm",
        "h100_sxm/comm/vllm/0.14.0",
        "d6d0b16a0b4aee9520d746e9019bf0b20f20bfa3",
        "vllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/trtllm/1.0.0",
        "aae1011694ac098cd4906d8262ed3c8e3fc12125",
        "trtllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/vllm/0.14.0",
        "083776d6d45f30a5feac09a84268192788a489e2",
        "vllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.10",
        "37cfb275b9412855ecf3fd967c72e4ee41b4b528",
        "sglang-0.5.10",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.12",
        "f757723fe4b0c61d0f2671988cd128609e948f57",
        "sglang-0.5.12",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.14",
        "b7a8d3e67366ebd7f97cc3c11016a1c64078defc",
        "sglang-0.5.14",
    ),
]
ENGINE_REPEATS = 100

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


def read_table(checkout: Path, folder: str, name: str, blob: str) -> pd.DataFrame:
    """The all-reduce rows of one upstream table, with 2-byte elements."""
    table = _parquet(checkout, folder, name, blob)
    dtype = table["nccl_dtype"] if "nccl_dtype" in table else table["allreduce_dtype"]
    return table[(table["op_name"] == "all_reduce") & dtype.isin(["half", "bfloat16"])]


def _parquet(checkout: Path, folder: str, name: str, blob: str) -> pd.DataFrame:
    paths = [f"{root}data/{folder}/{name}.parquet" for root in ROOTS]
    return pd.read_parquet(read_blob(checkout, blob, paths))


def nccl_repeats(message: int) -> int:
    """The -n that the upstream collector passes to nccl-tests for a message of that many bytes."""
    return 100 if message <= 2**24 else 60


def rows_of(table: pd.DataFrame, stem: str) -> list[tuple]:
    """Rows (p, message, time, statistic, samples, method); stem names the method."""
    rows = []
    for row in table.itertuples():
        message = ELEMENT_BYTES * int(row.message_size)
        if stem == "nccl-tests":
            method, samples = stem, nccl_repeats(message)
        else:
            launch = "eager" if row.kernel_source.endswith("_eager") else "graph"
            method, samples = f"{stem}-{launch}", ENGINE_REPEATS
        rows.append((row.num_gpus, message, row.latency * 1e-3, "mean", samples, method))
    return rows


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


def build(checkout: Path, output: Path) -> None:
    """Write every table of this source below output."""
    systems: dict[str, list[tuple]] = {}
    for system, folder, blob in NCCL_TESTS:
        table = read_table(checkout, folder, "nccl_perf", blob)
        systems.setdefault(system, []).extend(rows_of(table, "nccl-tests"))
    for system, folder, blob, stem in ENGINES:
        table = read_table(checkout, folder, "custom_allreduce_perf", blob)
        systems.setdefault(system, []).extend(rows_of(table, stem))
    for system, rows in systems.items():
        write_allreduce(output / "systems" / system, rows, {row[5] for row in rows})
    rows = []
    for card, folder, *blobs, source in ATTENTION:
        names = "context_attention_perf", "generation_attention_perf"
        tables = [_parquet(checkout, folder, name, blob) for name, blob in zip(names, blobs)]
        rows += attention_rows(*tables, card, source)
    write_attention(output, "llama-2-7b", rows, {row[-1] for row in rows})
    lines = []
    for card, folder, blob, source in GEMMS:
        lines += gemm_lines(_parquet(checkout, folder, "gemm_perf", blob), card, source)
    write_lines(output / "kernels" / "gemm-shapes.csv", SHAPE_COLUMNS, lines)


if __name__ == "__main__":
    run(build, "ai-dynamo/aiconfigurator")
