"""The composed step tables: python -m tpbook.sources.compose [--output data].

Every pass of Llama-2-7B is the sum of its kernels as our own tables hold them; nothing else is
read. Prompts of more than 4096 tokens together run in several passes.
"""

import argparse
from pathlib import Path

from tpbook.models import model
from tpbook.paths import DATA
from tpbook.sources import number, write_lines
from tpbook.sources.composition import (
    Part,
    Recipe,
    allreduces,
    decode_attention,
    head,
    layer_gemms,
    others,
    prefill_attention,
)
from tpbook.system_tables import CATEGORIES, STEPS
from tpbook.systems import System, load_system

MODEL = "llama-2-7b"
BATCHES = (1, 8, 32)
PROMPTS = (512, 1024)
CONTEXT = 512
PASS_TOKENS = 4096

RECIPES = {
    "quad-a40-hoststaged": Recipe("a40", ("a40", "vidur"), "nccl-kernel-eager", rope=True),
    "quad-a40-bridge": Recipe("a40", ("a40", "vidur"), "nccl-kernel-graph", rope=True),
    "quad-a100-sxm": Recipe(
        "a100-80gb-pcie", ("a100-80gb-sxm4", "trtllm-1.0.0"), "vllm-graph", rope=False
    ),
    "octo-h100-sxm": Recipe("h100-sxm", ("h100-sxm", "trtllm-1.2.0rc5"), "vllm-graph", rope=False),
    "quad-l40s-pcie": Recipe(None, ("l40s", "trtllm-1.0.0"), "vllm-graph", rope=False),
}
DEGREES = (1, 2, 4, 8)


def passes(batch: int, prompt: int, limit: int = PASS_TOKENS) -> list[int]:
    """How many prompts run in each pass when one pass holds at most limit tokens.

    Raises ValueError for a prompt longer than a pass.
    """
    if prompt > limit:
        raise ValueError(f"prompt must fit into one pass of {limit} tokens, got {prompt}")
    whole, rest = divmod(batch, limit // prompt)
    return [limit // prompt] * whole + [rest] * (rest > 0)


def decode_step(recipe: Recipe, system: System, p: int, batch: int, context: int) -> list[Part]:
    """The parts of one decode step: one token of each sequence."""
    llama = model(MODEL)
    return [
        *layer_gemms(recipe, llama, p, batch),
        head(recipe, llama, p, batch),
        decode_attention(recipe, llama, p, batch, context),
        *allreduces(recipe, system, llama, p, batch),
        *others(recipe, llama, p, batch),
    ]


def prefill_step(recipe: Recipe, system: System, p: int, batch: int, prompt: int) -> list[Part]:
    """The parts of the passes that read all prompts of a batch."""
    llama = model(MODEL)
    parts = []
    for prompts in passes(batch, prompt):
        rows = prompts * prompt
        parts += [
            *layer_gemms(recipe, llama, p, rows),
            head(recipe, llama, p, prompts),
            prefill_attention(recipe, llama, p, prompts, prompt),
            *allreduces(recipe, system, llama, p, rows),
            *others(recipe, llama, p, rows),
        ]
    return parts


def lines(system: System, recipe: Recipe) -> list[str]:
    """The lines of a system's steps.csv."""
    rows = []
    for p in (p for p in DEGREES if p <= system.device_count):
        for batch in BATCHES:
            steps = [("decode", CONTEXT, decode_step(recipe, system, p, batch, CONTEXT))]
            for prompt in PROMPTS:
                steps.append(("prefill", prompt, prefill_step(recipe, system, p, batch, prompt)))
            for phase, context, parts in steps:
                rows += _rows(p, batch, context, phase, parts)
    return rows


def _rows(p: int, batch: int, context: int, phase: str, parts: list[Part]) -> list[str]:
    rows = []
    for category in CATEGORIES:
        own = [part for part in parts if part.category == category]
        if own:
            values = (
                *(p, batch, context, phase, 0, category),
                number(sum(part.time for part in own)),
                sum(part.calls for part in own),
                own[0].statistic,
                min(part.samples for part in own),
                number(sum(part.estimated for part in own)),
            )
            rows.append(",".join(map(str, values)))
    return rows


def build(output: Path) -> None:
    """Write the steps.csv of every composed system below output."""
    columns = [column.name for column in STEPS]
    for id, recipe in RECIPES.items():
        rows = lines(load_system(id, tables=["allreduce"]), recipe)
        write_lines(output / "systems" / id / "steps.csv", columns, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=DATA, help="data folder to write")
    build(parser.parse_args().output)
