"""Table from argonne-lcf/LLM-Inference-Bench (BSD-3-Clause): end-to-end times of whole batches.

Upstream has as many tokens out as in, and times in seconds; its first-token tables are prefill
rows. One timed run per cell; where a cell is there twice, the row has both.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tpbook import published
from tpbook.hardware import accelerator, all_accelerators
from tpbook.models import model, total_parameters
from tpbook.sources import read_blob, run
from tpbook.sources.published_tables import fits, known_models, row, write_table

SOURCE = "llm-inference-bench"
RESULTS = (
    "033e1125cf9545cd982cb8168e5ea5f0b586fb85",
    ["Plots/All_results.csv", "argonne/All_results.csv"],
)
# The two figures' tables repeat each other; the second has more columns, the first more rows.
FIRST_TOKEN = (
    "af8f8bff56b11f841749a501ade7f63f65077698",
    ["Plots/Fig_21/all_results_TTFT.csv", "argonne/Fig_21_TTFT.csv"],
)
COLUMNS = {
    "Hardware": "accelerator",
    "Num of Hardware": "p",
    "Framework": "engine",
    "Model": "model",
    "Input Output Length": "tokens",
    "Input Length": "tokens",
    "Batch Size": "batch",
    "Latency": "time",
    "Throughput": "throughput",
}
CARDS = {
    "Nvidia A100 GPU": "a100-40gb-sxm4",
    "Nvidia H100 GPU": "h100-sxm",
    "Nvidia GH200 GPU": "gh200",
    "AMD MI250 GPU": "mi250",
    "AMD MI300X GPU": "mi300x",
    "Habana Gaudi2": "gaudi2",
    "Intel Max 1550": "max-1550",
    "Intel PVC GPU": "intel-pvc",
    "SambaNova SN40L": "sn40l",
}
# Least and most memory, in bytes, where what upstream counts as one device is in doubt. An MI250
# and a Max 1550 are two devices to the software, and upstream does not say which it counts:
# Llama-2-70B runs on two MI250, which only two whole cards can hold.
DOUBTFUL = {"mi250": (64e9, 128e9), "max-1550": (64e9, 128e9), "intel-pvc": (64e9, 128e9)}
# An SN40L computes from three tiers of memory, the largest of them outside the chip.
TIERED = {"sn40l"}
ENGINES = {"Deepspeed": "DeepSpeed", "Deepspeed-MII": "DeepSpeed-MII", "sambaflow": "SambaFlow"}
DTYPES = {"vLLM": "fp16", "TensorRT-LLM": "fp16", "DeepSpeed-MII": "fp16", "llama.cpp": "fp16"}
MODELS = {
    "BAAI/Aquila-7B": "aquila-7b",
    "Deci/DeciLM-7B": "decilm-7b",
    "EleutherAI/gpt-j-6b": "gpt-j-6b",
    "Qwen/Qwen1.5-7B": "qwen1.5-7b",
    "Qwen/Qwen2-72B": "qwen2-72b",
    "Qwen/Qwen2-7B": "qwen2-7b",
    "bigscience/bloom-7b1": "bloom-7b1",
    "facebook/opt-6.7b": "opt-6.7b",
    "huggyllama/llama-7b": "llama-7b",
    "meta-llama/Llama-2-70b-hf": "llama-2-70b",
    "meta-llama/Llama-2-7b-hf": "llama-2-7b",
    "meta-llama/Meta-Llama-3-70B": "llama-3-70b",
    "meta-llama/Meta-Llama-3-8B": "llama-3-8b",
    "mistralai/Mistral-7B-v0.1": "mistral-7b-v0.1",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral-8x7b-v0.1",
}
CATALOGUE = set(all_accelerators())
CELL = ["model", "accelerator", "engine", "tokens", "batch", "p"]
# Two runs of one cell differ by 3 % at most.
RUNS_DIFFER = 1.05


def read(checkout: Path, blob: str, paths: list[str]) -> pd.DataFrame:
    """One upstream table with the project's names."""
    table = pd.read_csv(read_blob(checkout, blob, paths)).rename(columns=COLUMNS)
    return table.replace({"model": MODELS, "accelerator": CARDS, "engine": ENGINES})


@cache
def memory_of(card: str) -> tuple[float, float] | None:
    """Least and most bytes of one device, None where no figure decides."""
    if card in TIERED:
        return None
    return DOUBTFUL[card] if card in DOUBTFUL else (accelerator(card).memory_bytes,) * 2


def shortest_time(cell) -> float:
    """Seconds to read the weights once for each output token at the datasheet's rate.

    0 where the model or the accelerator is in no catalogue.
    """
    if cell.model not in known_models() or cell.accelerator not in CATALOGUE:
        return 0.0
    rate = accelerator(cell.accelerator).memory_bandwidth
    return cell.tokens * 2 * total_parameters(model(cell.model)) / (cell.p * rate)


def flags(cells: pd.DataFrame) -> pd.Series:
    """The reason why each cell is broken, "" for none; cells: one row per cell, median times.

    A measured time can hold more than the run (compilation, warm-up) but never less. So of two
    times in the wrong order the slower is wrong when it should be the faster, and the faster is
    wrong when it beats half the work.
    """
    flag = pd.Series("", cells.index)

    def mark(where, reason):
        flag[where & (flag == "")] = reason

    llama_cpp = cells["engine"] == "llama.cpp"
    mark(llama_cpp & (cells["batch"] > 1), published.PROMPT_CHUNK)
    mark(llama_cpp & (cells["p"] > 1), published.LAYER_SPLIT)
    mark(cells["time"] < [shortest_time(cell) for cell in cells.itertuples()], published.TOO_FAST)

    order = cells[flag == ""].sort_values("tokens")
    shorter = order.groupby(["model", "accelerator", "engine", "batch", "p"])["time"].cummax()
    mark(cells["time"] < 0.5 * shorter.reindex(cells.index), published.SHORTER_THAN_HALF)

    order = cells[flag == ""].sort_values("batch", ascending=False)
    larger = order.groupby(["model", "accelerator", "engine", "tokens", "p"])["time"].cummin()
    mark(cells["time"] > RUNS_DIFFER * larger.reindex(cells.index), published.SLOWER_THAN_LARGER)

    good = cells[flag == ""]
    twice = good.assign(tokens=good["tokens"] // 2).set_index(CELL)["time"]
    longer = twice.reindex(pd.MultiIndex.from_frame(cells[CELL])).to_numpy()
    mark((longer < 1.5 * cells["time"]) & np.isfinite(longer), published.FIXED_TIME)
    return flag


def rows(table: pd.DataFrame, phase: str, output: int | None):
    """Rows of one phase; output: tokens generated, None for as many as the prompt has."""
    cells = table.groupby(CELL, as_index=False, sort=False)["time"].median()
    cells["flag"] = flags(cells) if phase == "end-to-end" else ""
    repeats = table.groupby(CELL)["time"].unique()
    for cell in cells.sort_values(CELL).itertuples():
        made = cell.tokens if output is None else output
        size = (cell.p, cell.batch, cell.tokens + made)
        setting = {
            "model": cell.model,
            "accelerator": cell.accelerator,
            "engine": cell.engine,
            "dtype": DTYPES.get(cell.engine, "not stated"),
            "phase": phase,
            "batch": cell.batch,
            "prompt_tokens": cell.tokens,
            "output_tokens": made,
            "p": cell.p,
        }
        times = repeats[tuple(getattr(cell, name) for name in CELL)]
        yield row(setting, times, fits(cell.model, *size, memory_of(cell.accelerator)), cell.flag)


def build(checkout: Path, output: Path) -> None:
    """Write this source's table below output/published."""
    results, first = read(checkout, *RESULTS), read(checkout, *FIRST_TOKEN)
    write_table(output, SOURCE, [*rows(results, "end-to-end", None), *rows(first, "prefill", 1)])


if __name__ == "__main__":
    run(build, "argonne-lcf/LLM-Inference-Bench")
