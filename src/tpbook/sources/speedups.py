"""Published end-to-end times at several degrees: a selection from four repositories.

CHECKOUT is a folder with one file for each: gpt-fast and FasterTransformer print their figures
in a document, transcribed by hand to a table; the other two publish a table. Kept are the
settings with at least three degrees whose weights and KV cache fit on one card.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tpbook.sources import number, read_blob, run, write_lines

COLUMNS = (
    "source,commit,licence,model,accelerator,engine,dtype,phase,batch,prompt_tokens,"
    "output_tokens,p,time_s,low_s,high_s,repeats"
).split(",")
DUPLICATE_COLUMNS = [name for name in COLUMNS if name != "time_s"]

# name: (repository, commit, licence, file, blob of the file)
SOURCES = {
    "gpt-fast": (
        "pytorch-labs/gpt-fast",
        "32971d3129541c5bfb4f715abc33d1c5f408d204",
        "BSD-3-Clause",
        "gpt-fast/gpt_fast_tp.csv",
        "b64720bc0074e833a2faba293e4b24e1a78c9963",
    ),
    "fastertransformer": (
        "NVIDIA/FasterTransformer",
        "07fdd2fc6aa46f961f304d5f3791efad016e38a3",
        "Apache-2.0",
        "fastertransformer/gpt20b_tp.csv",
        "1d8240c8b9de3f59ff546f28aa488fd9d0bc2147",
    ),
    "bench": (
        "argonne-lcf/LLM-Inference-Bench",
        "4211f5d4e9bc0145ed541b6d372d5d8223b44235",
        "BSD-3-Clause",
        "argonne/All_results.csv",
        "033e1125cf9545cd982cb8168e5ea5f0b586fb85",
    ),
    "splitwise": (
        "Mutinifni/splitwise-sim",
        "8f99e7dc9b407f4ce2488d03dd44c0b8b946dab0",
        "MIT",
        "splitwise/perf_model.csv",
        "79d4e6880fd81658731d4643df9d5c275a813a6a",
    ),
}
BENCH_CARDS = {"Nvidia A100 GPU": "a100-40gb-sxm4", "Nvidia H100 GPU": "h100-sxm"}
# The A100 is the 40 GB part: batch 32 with 2048 tokens each does not fit on one.
BENCH_BATCHES = {"a100-40gb-sxm4": (1, 16), "h100-sxm": (1, 16, 32)}


def load(checkout: Path, name: str) -> pd.DataFrame:
    """The upstream table of one source, checked against its blob id."""
    *_, file, blob = SOURCES[name]
    return pd.read_csv(read_blob(checkout, blob, [file]))


def line(name: str, setting: tuple, times: pd.Series, central: bool = True) -> str:
    """One CSV line; times: the repeats of one cell in seconds. central: write their median."""
    middle = [number(times.median())] if central else []
    spread = [number(times.min()), number(times.max()), str(len(times))]
    return ",".join([*SOURCES[name][:3], *map(str, setting), *middle, *spread])


def gpt_fast(table: pd.DataFrame) -> Iterator[str]:
    """Lines of both Llama models in bf16, one decode step at batch one."""
    for model, upstream in (("llama-2-7b", "Llama-2-7B"), ("llama-3.1-8b", "Llama-3.1-8B")):
        rows = table[(table["model"] == upstream) & (table["dtype"] == "bf16")]
        for row in rows.sort_values("tp").itertuples():
            # The table does not say how many tokens were generated.
            setting = (model, "a100-80gb-sxm4", "gpt-fast", "bf16", "decode", 1, row.in_len, 0)
            yield line("gpt-fast", (*setting, row.tp), pd.Series([1 / row.tokens_per_s]))


def faster_transformer(table: pd.DataFrame) -> Iterator[str]:
    """Lines of GPT-20B with 200 tokens in and 200 out."""
    rows = table[(table["in_len"] == 200) & (table["out_len"] == 200)]
    for row in rows[rows["batch"].isin([1, 8, 32, 64])].itertuples():
        setting = ("gpt-20b", "a100-80gb-sxm4", "FasterTransformer", "fp16", "end-to-end")
        sizes = (row.batch, row.in_len, row.out_len, row.tp)
        yield line("fastertransformer", (*setting, *sizes), pd.Series([row.latency_ms * 1e-3]))


def bench(table: pd.DataFrame) -> Iterator[str]:
    """Lines of Llama-2-7B with 1024 tokens in and 1024 out, where one card holds the KV cache."""
    rows = table[
        (table["Model"] == "meta-llama/Llama-2-7b-hf")
        & table["Framework"].isin(["vLLM", "TensorRT-LLM"])
        & (table["Input Output Length"] == 1024)
    ]
    for upstream, card in BENCH_CARDS.items():
        for engine in ("TensorRT-LLM", "vLLM"):
            for batch in BENCH_BATCHES[card]:
                chosen = rows[
                    (rows["Hardware"] == upstream)
                    & (rows["Framework"] == engine)
                    & (rows["Batch Size"] == batch)
                ]
                for p, cell in chosen.groupby("Num of Hardware"):
                    setting = ("llama-2-7b", card, engine, "fp16", "end-to-end", batch, 1024, 1024)
                    yield line("bench", (*setting, p), cell["Latency"])


def splitwise(table: pd.DataFrame) -> Iterator[str]:
    """Lines of Llama-2-70B, a prompt of 512 and an output of 128, prefill and decode apart."""
    rows = table[
        (table["model"] == "llama2-70b")
        & (table["prompt_size"] == 512)
        & (table["token_size"] == 128)
        & table["batch_size"].isin([1, 8, 16])
    ]
    cards = {"a100-80gb": "a100-80gb-sxm4", "h100-80gb": "h100-sxm"}
    for upstream, card in cards.items():
        for phase, column in (("prefill", "prompt_time"), ("decode", "token_time")):
            cells = rows[rows["hardware"] == upstream].groupby(["batch_size", "tensor_parallel"])
            for (batch, p), cell in cells:
                setting = ("llama-2-70b", card, "not stated", "fp16", phase, batch, 512, 128, p)
                yield line("splitwise", setting, cell[column] * 1e-3)


def duplicates(table: pd.DataFrame) -> Iterator[str]:
    """The cells that LLM-Inference-Bench holds twice with different times."""
    # The rows of llama.cpp do not agree with their own throughput column.
    key = ["Model", "Hardware", "Framework", "Batch Size", "Input Output Length", "Num of Hardware"]
    for cell, rows in table[table["Framework"] != "llama.cpp"].groupby(key):
        model, card, engine, batch, length, p = cell
        times = rows["Latency"]
        if times.nunique() > 1:
            setting = (model, card, engine, "not stated", "end-to-end", batch, length, length, p)
            yield line("bench", setting, times, central=False)


def build(checkout: Path, output: Path) -> None:
    """Write both tables below output/published."""
    bench_table = load(checkout, "bench")
    lines = [
        *gpt_fast(load(checkout, "gpt-fast")),
        *faster_transformer(load(checkout, "fastertransformer")),
        *bench(bench_table),
        *splitwise(load(checkout, "splitwise")),
    ]
    write_lines(output / "published" / "speedups.csv", COLUMNS, lines)
    write_lines(output / "published" / "duplicates.csv", DUPLICATE_COLUMNS, duplicates(bench_table))


if __name__ == "__main__":
    run(build, "the four published end-to-end tables")
