"""Table from pytorch-labs/gpt-fast (BSD-3-Clause): decode rates at batch one, prompts of 5 tokens.

Upstream prints tokens per second in its README; CHECKOUT holds them transcribed by hand. The
printed table does not say how many tokens were generated.
"""

from pathlib import Path

import pandas as pd

from tpbook.hardware import accelerator
from tpbook.sources import read_blob, run
from tpbook.sources.published_tables import fits, row, write_table

SOURCE = "gpt-fast"
BLOB = "b64720bc0074e833a2faba293e4b24e1a78c9963"
PATHS = ["gpt_fast_tp.csv", "gpt-fast/gpt_fast_tp.csv"]
CARD = "a100-80gb-sxm4"
MODELS = {
    "Llama-2-7B": "llama-2-7b",
    "Llama-2-70B": "llama-2-70b",
    "Llama-3.1-8B": "llama-3.1-8b",
    "Llama-3.1-70B": "llama-3.1-70b",
    "Mixtral-8x7B": "mixtral-8x7b-v0.1",
}


def rows(table: pd.DataFrame):
    """One decode row per printed rate."""
    memory = (accelerator(CARD).memory_bytes,) * 2
    for cell in table.itertuples():
        model = MODELS[cell.model]
        setting = {
            "model": model,
            "accelerator": CARD,
            "engine": "gpt-fast",
            "dtype": cell.dtype,
            "phase": "decode",
            "batch": cell.batch,
            "prompt_tokens": cell.in_len,
            "output_tokens": 0,
            "p": cell.tp,
        }
        # The weights alone decide: one sequence's cache is small beside the tenth left free.
        width = 1 if cell.dtype == "int8" else 2
        room = fits(model, cell.tp, cell.batch, cell.in_len, memory, width)
        yield row(setting, [1 / cell.tokens_per_s], room)


def build(checkout: Path, output: Path) -> None:
    """Write this source's table below output/published."""
    write_table(output, SOURCE, rows(pd.read_csv(read_blob(checkout, BLOB, PATHS))))


if __name__ == "__main__":
    run(build, "pytorch-labs/gpt-fast")
