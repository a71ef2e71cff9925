"""Table from b4rtaz/distributed-llama (MIT): decode on CPU boards and machines over Ethernet.

Upstream printed milliseconds per token in past versions of its README; CHECKOUT holds them
transcribed by hand. The network is a star around one root and not a ring.
"""

from pathlib import Path

import pandas as pd

from tpbook.sources import read_blob, run
from tpbook.sources.published_tables import fits, row, write_table

SOURCE = "distributed-llama"
BLOB = "194c0da90ca323c786858a449396adce8cecf259"
PATHS = ["dllama_tp.csv", "distributed-llama/dllama_tp.csv"]
BOARDS = {
    "Raspberry Pi 4B 8GB": "raspberry-pi-4b",
    "Raspberry Pi 5 8GB": "raspberry-pi-5",
    "GCP c3d-highcpu-30 VM": "c3d-highcpu-30",
}
# Both boards have 8 GB. The tenth that engines leave free is left free here as well.
MEMORY = {"raspberry-pi-4b": (8e9, 8e9), "raspberry-pi-5": (8e9, 8e9)}
MODELS = {
    "Llama-2-7B": "llama-2-7b",
    "Llama-2-13B": "llama-2-13b",
    "Llama-2-70B": "llama-2-70b",
    "Llama-3-8B": "llama-3-8b",
}
# q40: 32 weights of four bits share one 16-bit scale.
WEIGHT_BYTES = (32 * 4 + 16) / 32 / 8


def rows(table: pd.DataFrame):
    """One decode row per printed time of a token, computing and transfer together."""
    for cell in table.itertuples():
        model, board = MODELS[cell.model], BOARDS[cell.hardware]
        setting = {
            "model": model,
            "accelerator": board,
            "engine": cell.framework,
            "dtype": "q40",
            "phase": "decode",
            "batch": cell.batch,
            "prompt_tokens": 0,
            "output_tokens": 0,
            "p": cell.tp,
        }
        room = fits(model, cell.tp, cell.batch, 0, MEMORY.get(board), WEIGHT_BYTES)
        yield row(setting, [cell.gen_ms_per_token * 1e-3], room)


def build(checkout: Path, output: Path) -> None:
    """Write this source's table below output/published."""
    write_table(output, SOURCE, rows(pd.read_csv(read_blob(checkout, BLOB, PATHS))))


if __name__ == "__main__":
    run(build, "b4rtaz/distributed-llama")
