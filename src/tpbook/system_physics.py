"""What physics allows the tables of a system: wrong units stand out against the roofs.

No pass is faster than its roof and none is a hundred times slower; no all-reduce beats the line
rate. Every error is one line: file, line, column, reason, remedy.
"""

import numpy as np
import pandas as pd

from tpbook.hardware import Accelerator
from tpbook.kernels import kernels
from tpbook.messages import forward_collectives
from tpbook.models import Model
from tpbook.system_tables import MEMORY_TRAFFICS
from tpbook.tables import first, refuse

# Datasheet rates and clocks are nominal; a real time may beat them by this much.
TOLERANCE = 0.05
# Milliseconds read as seconds are a thousand times too long. Real steps stay within a hundred
# roofs even where launches dominate, and no fabric of the catalogue needs a hundred times this
# start-up for a small message.
TOO_SLOW = 100
START_UP = 1e-5


def check_allreduces(where: str, table: pd.DataFrame, bandwidth: float) -> None:
    """Refuse times below M / bandwidth, and tables of which every time is far too long.

    bandwidth: line rate of one device, B/s per direction. Every rank sends at least M bytes
    whatever the algorithm: M (p-1)/p of partial sums and M/p of its own result.
    """
    floor = table["message_bytes"] / bandwidth
    _not_faster(where, table["time_s"], floor, "the line rate in system.yml")
    if (table["time_s"] > TOO_SLOW * (START_UP + 2 * floor)).all():
        _looks_like_ms(where, 0, "time_s", table["time_s"].iloc[0], "every time")


def check_steps(
    where: str, table: pd.DataFrame, model: Model, card: Accelerator, bandwidth: float
) -> None:
    """Refuse weight GEMMs off their roof and communication faster than the line rate.

    Weights and activations of two bytes are assumed; the caller leaves other formats out.
    Mixed steps are not judged: the table does not say how many tokens they hold.
    """
    keys = list(zip(table["p"], table["batch"], table["context"], table["phase"]))
    floors = _every_floor(where, keys, model, card, bandwidth)
    roofs = ("weight_gemm", f"the roof of {card.id}"), ("communication", "the line rate")
    for number, (category, what) in enumerate(roofs):
        own = (table["category"] == category).to_numpy()
        floor = np.array([floors[key][number] for key in keys]) * own
        _not_faster(where, table["time_s"], floor, what)
        row = first((table["time_s"] > TOO_SLOW * floor) & (floor > 0))
        if row is not None and category == "weight_gemm":
            _looks_like_ms(where, row, "time_s", table["time_s"].iloc[row], "it")


def check_serving(where: str, table: pd.DataFrame, model: Model, card: Accelerator) -> None:
    """Refuse times of a token below or far beyond what reading the weights once takes, and first
    tokens before the pass over one prompt can end."""
    keys = [(p, 1, prompt, "prefill") for p, prompt in zip(table["p"], table["prompt_tokens"])]
    floors = _every_floor(where, keys, model, card, np.inf)
    floor = [floors[key][0] for key in keys]
    _not_faster(where, table["ttft_s"], floor, f"the roof of {card.id}", "ttft_s")
    keys = [(p, 1, 1, "decode") for p in table["p"]]
    floors = _every_floor(where, keys, model, card, np.inf)
    floor = np.array([floors[key][0] for key in keys])
    _not_faster(where, table["tpot_s"], floor, f"the memory bandwidth of {card.id}", "tpot_s")
    row = first(table["tpot_s"] > TOO_SLOW * floor * table["batch"])
    if row is not None:
        _looks_like_ms(where, row, "tpot_s", table["tpot_s"].iloc[row], "it")


def check_gpu_metrics(where: str, table: pd.DataFrame, card: Accelerator) -> None:
    """Refuse memory traffic beyond the memory bandwidth of the card."""
    row = first(
        table["metric"].isin(MEMORY_TRAFFICS)
        & (table["unit"] == "B/s")
        & (table["value"] > (1 + TOLERANCE) * card.memory_bandwidth)
    )
    if row is not None:
        reason = f"{table['value'].iloc[row]:g} B/s is more than the memory of {card.id} delivers"
        refuse(where, row, "value", f"{reason} ({card.memory_bandwidth:g} B/s)", "check its unit")


def _every_floor(where: str, keys: list, model, card, bandwidth) -> dict:
    """The floors of every (p, batch, context, phase); refuses what the model cannot do."""
    floors = {}
    for row, key in enumerate(keys):
        if key not in floors:
            try:
                floors[key] = _floors(model, card, bandwidth, *key)
            except ValueError as error:
                refuse(where, row, "p", str(error), "correct the row or the model in system.yml")
    return floors


def _floors(model, card, bandwidth, p, batch, context, phase) -> tuple[float, float]:
    """The shortest times (s) of a pass's weight GEMMs, without the head, and of its all-reduces."""
    if phase == "mixed":
        return 0.0, 0.0
    tokens, cached = (context, 0) if phase == "prefill" else (1, context)
    ledger = kernels(model, int(p), int(batch), int(tokens), int(cached), lm_head=False)
    gemms = [kernel for kernel in ledger if kernel.category == "weight_gemm"]
    flops = sum(kernel.pass_flops for kernel in gemms)
    traffic = sum(kernel.pass_traffic for kernel in gemms)
    sent = sum(c.count * c.message for c in forward_collectives(model, p, batch, tokens))
    return max(flops / card.peak_flops, traffic / card.memory_bandwidth), sent / bandwidth


def _not_faster(where: str, time: pd.Series, floor, what: str, column: str = "time_s") -> None:
    floor = np.asarray(floor, float)
    row = first(time < (1 - TOLERANCE) * floor)
    if row is not None:
        reason = f"{time.iloc[row]:g} s is faster than {what} allows ({floor[row]:.3g} s)"
        refuse(where, row, column, reason, "check its unit, and p, batch and context of the row")


def _looks_like_ms(where: str, row: int, column: str, time: float, subject: str) -> None:
    reason = f"{time:g} s looks like ms: {subject} is over {TOO_SLOW} times what physics needs"
    refuse(where, row, column, reason, "give seconds")
