"""Table from NVIDIA/FasterTransformer (Apache-2.0): GPT with 20 and 530 billion parameters.

Upstream prints the figures in docs/gpt_guide.md, in milliseconds for the whole static batch;
CHECKOUT holds them transcribed by hand. Cells that ran out of memory have no row.
"""

from pathlib import Path

import pandas as pd

from tpbook.hardware import accelerator
from tpbook.sources import read_blob, run
from tpbook.sources.published_tables import fits, row, write_table

SOURCE = "fastertransformer"
CARD = "a100-80gb-sxm4"
# (model, blob of the transcription, file); 530B runs on several nodes of eight cards.
TABLES = [
    ("gpt-20b", "1d8240c8b9de3f59ff546f28aa488fd9d0bc2147", "gpt20b_tp.csv"),
    ("megatron-530b", "f79e7374eade441fc08f64047fc87e13eec81641", "megatron530b_tp16_32.csv"),
]
ORDER = ["in_len", "out_len", "batch", "tp"]


def rows(table: pd.DataFrame, model: str):
    """Rows of one model's table."""
    memory = (accelerator(CARD).memory_bytes,) * 2
    for cell in table.sort_values(ORDER).itertuples():
        setting = {
            "model": model,
            "accelerator": CARD,
            "engine": "FasterTransformer",
            "dtype": "fp16",
            "phase": "end-to-end",
            "batch": cell.batch,
            "prompt_tokens": cell.in_len,
            "output_tokens": cell.out_len,
            "p": cell.tp,
        }
        size = (cell.tp, cell.batch, cell.in_len + cell.out_len)
        yield row(setting, [cell.latency_ms * 1e-3], fits(model, *size, memory))


def build(checkout: Path, output: Path) -> None:
    """Write this source's table below output/published."""
    found = []
    for model, blob, name in TABLES:
        paths = [name, f"fastertransformer/{name}"]
        found += rows(pd.read_csv(read_blob(checkout, blob, paths)), model)
    write_table(output, SOURCE, found)


if __name__ == "__main__":
    run(build, "NVIDIA/FasterTransformer")
