"""Table from Mutinifni/splitwise-sim (MIT): prompt and token times of two large models.

Upstream times are in milliseconds, with five repeats or more in each cell.
"""

from pathlib import Path

import pandas as pd

from tpbook import published
from tpbook.hardware import accelerator
from tpbook.sources import read_blob, run
from tpbook.sources.published_tables import fits, row, write_table

SOURCE = "splitwise"
BLOB = "79d4e6880fd81658731d4643df9d5c275a813a6a"
PATHS = ["data/perf_model.csv", "splitwise/perf_model.csv"]
MODELS = {"llama2-70b": "llama-2-70b", "bloom-176b": "bloom-176b"}
CAPPED = "h100-80gb-pcap"
CARDS = {"a100-80gb": "a100-80gb-sxm4", "h100-80gb": "h100-sxm", CAPPED: "h100-sxm-power-cap"}
PHASES = (("prefill", "prompt_time"), ("decode", "token_time"))
CELL = ["model", "hardware", "prompt_size", "token_size", "batch_size", "tensor_parallel"]


def flag(cell: pd.DataFrame, phase: str, hardware: str, tokens: int) -> str:
    """The reason why a cell is broken, "" for none; cell: its repeats.

    One prompt pass and tokens - 1 steps make the whole run, within 3 %.
    """
    if hardware == CAPPED:
        return published.NOT_MEASURED
    prompt, token, whole = (
        cell[name].median() for name in ("prompt_time", "token_time", "e2e_time")
    )
    ratio = whole / (prompt + (tokens - 1) * token)
    if ratio > 1.03:
        return published.PART_OF_BATCH
    return published.ENDED_EARLY if ratio < 0.97 and phase == "decode" else ""


def rows(table: pd.DataFrame):
    """Rows of every model and card, first the prompts and then the tokens."""
    for (name, hardware), runs in table.groupby(CELL[:2]):
        card = CARDS[hardware]
        memory = (accelerator(card.removesuffix("-power-cap")).memory_bytes,) * 2
        for phase, column in PHASES:
            for (prompt, tokens, batch, p), cell in runs.groupby(CELL[2:]):
                setting = {
                    "model": MODELS[name],
                    "accelerator": card,
                    "engine": "not stated",
                    "dtype": "fp16",
                    "phase": phase,
                    "batch": batch,
                    "prompt_tokens": prompt,
                    "output_tokens": tokens,
                    "p": p,
                }
                room = fits(MODELS[name], p, batch, prompt + tokens, memory)
                reason = flag(cell, phase, hardware, tokens)
                yield row(setting, cell[column] * 1e-3, room, reason)


def build(checkout: Path, output: Path) -> None:
    """Write this source's table below output/published."""
    write_table(output, SOURCE, rows(pd.read_csv(read_blob(checkout, BLOB, PATHS))))


if __name__ == "__main__":
    run(build, "Mutinifni/splitwise-sim")
