"""Published times at several degrees, measured by others: one tidy table for each source.

Each row is one phase of one setting: a decode time is that of one token step, a prefill or
end-to-end time that of the whole batch. Rows that are broken stay, with the reason in `flag`.
Most cells are one run, so how far two runs differ is taken from the cells measured twice.
"""

import numpy as np
import pandas as pd

from tpbook.paths import data_path
from tpbook.tables import Column, read_csv

SOURCES = (
    "gpt-fast",
    "fastertransformer",
    "llm-inference-bench",
    "splitwise",
    "distributed-llama",
)
PHASES = ("prefill", "decode", "end-to-end")
FITS = ("yes", "no", "unknown")

# Why a row must not be used. The builders decide; data/published/sources.yml has the evidence.
PROMPT_CHUNK = "its batch is the size of a prompt chunk and not a number of sequences"
LAYER_SPLIT = "its engine splits layers and not tensors"
TOO_FAST = "faster than its weights can be read"
SHORTER_THAN_HALF = "faster than half as many tokens"
SLOWER_THAN_LARGER = "slower than a larger batch"
FIXED_TIME = "more than half of the time does not grow with the length"
PART_OF_BATCH = "its time is that of a part of the batch"
ENDED_EARLY = "ended before the stated output"
NOT_MEASURED = "computed from the rows of the uncapped card"
FLAGS = (
    PROMPT_CHUNK,
    LAYER_SPLIT,
    TOO_FAST,
    SHORTER_THAN_HALF,
    SLOWER_THAN_LARGER,
    FIXED_TIME,
    PART_OF_BATCH,
    ENDED_EARLY,
    NOT_MEASURED,
)

SETTING = (
    "source",
    "model",
    "accelerator",
    "engine",
    "dtype",
    "phase",
    "batch",
    "prompt_tokens",
    "output_tokens",
)
COLUMNS = (
    Column("source", allowed=SOURCES),
    Column("model"),
    Column("accelerator"),
    Column("engine"),
    Column("dtype"),
    Column("phase", allowed=PHASES),
    Column("batch", low=1, whole=True),
    Column("prompt_tokens", low=0, whole=True),  # 0 where the source does not say
    Column("output_tokens", low=0, whole=True),  # 0 where the source does not say
    Column("p", low=1, whole=True),
    Column("time_s", above=0),
    Column("low_s", above=0),
    Column("high_s", above=0),
    Column("repeats", low=1, whole=True),
    Column("fits", allowed=FITS),
    Column("flag", allowed=("", *FLAGS)),
)


def published(source: str | None = None) -> pd.DataFrame:
    """The published times of one source, or of all: one row per setting, phase and degree.

    time_s: median over the repeats (s); low_s, high_s: their extremes. fits: whether weights and
    KV cache stay below 0.9 of the memory. flag: why the row is not to be used, "" where it is.
    Raises ValueError for an unknown source and when a table breaks its contract.
    """
    if source is None:
        return pd.concat([published(each) for each in SOURCES], ignore_index=True)
    if source not in SOURCES:
        raise ValueError(f"unknown source {source!r}; known: {', '.join(SOURCES)}")
    return read_csv(data_path("published", f"{source}.csv"), COLUMNS, (*SETTING, "p"))


def usable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that fit in memory, as far as that is known, and carry no flag."""
    return table[(table["fits"] != "no") & (table["flag"] == "")]


def settings(table: pd.DataFrame) -> list[tuple[dict, pd.Series]]:
    """Every setting of a published table, with its times in seconds indexed by degree."""
    found = []
    for key, rows in table.groupby(list(SETTING), sort=False):
        found.append((dict(zip(SETTING, key)), rows.set_index("p")["time_s"].sort_index()))
    return found


def speedups() -> pd.DataFrame:
    """A selection of the usable rows: settings of three degrees or more, few per source.

    gpt-fast's two small models in bf16, GPT-20B with 200 tokens in and out, Llama-2-7B with 1024
    in and out on two engines where one card holds it, Llama-2-70B with 512 in and 128 out.
    """
    bench = usable(published("llm-inference-bench"))
    bench = bench[
        (bench["model"] == "llama-2-7b")
        & (bench["phase"] == "end-to-end")
        & (bench["prompt_tokens"] == 1024)
        & bench["engine"].isin(["TensorRT-LLM", "vLLM"])
        & bench["accelerator"].isin(["a100-40gb-sxm4", "h100-sxm"])
    ]
    alone = [name for name in SETTING if name != "p"]
    bench = bench[bench.groupby(alone)["p"].transform("min") == 1]
    gpt = usable(published("gpt-fast"))
    gpt = gpt[gpt["model"].isin(["llama-2-7b", "llama-3.1-8b"]) & (gpt["dtype"] == "bf16")]
    guide = usable(published("fastertransformer"))
    guide = guide[
        (guide["model"] == "gpt-20b")
        & (guide["prompt_tokens"] == 200)
        & guide["batch"].isin([1, 8, 32, 64])
    ]
    split = usable(published("splitwise"))
    split = split[
        (split["model"] == "llama-2-70b")
        & (split["prompt_tokens"] == 512)
        & (split["output_tokens"] == 128)
        & split["batch"].isin([1, 8, 16])
    ]
    return pd.concat([gpt, guide, bench, split], ignore_index=True)


def duplicate_spreads() -> np.ndarray:
    """Relative spreads (high - low)/low of the cells that one source measured twice, sorted.

    The source is LLM-Inference-Bench, which elsewhere has one run per cell.
    """
    table = published("llm-inference-bench")
    twice = table[table["repeats"] > 1]
    return np.sort((twice["high_s"] / twice["low_s"] - 1).to_numpy())
