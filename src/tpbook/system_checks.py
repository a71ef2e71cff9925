"""What a system folder must keep beyond its columns: each row once, degrees that exist, physics.

Physics finds wrong units: no pass is faster than its roof and none is a hundred times slower; no
all-reduce beats the line rate. Every error is one line: file, line, column, reason, remedy.
"""

import numpy as np
import pandas as pd

from tpbook.hardware import Accelerator
from tpbook.kernels import kernels
from tpbook.messages import forward_collectives
from tpbook.models import Model
from tpbook.system_tables import ACTIVITIES, TABLES

# Datasheet rates and clocks are nominal; a real time may beat them by this much.
TOLERANCE = 0.05
# Milliseconds read as seconds are a thousand times too long. Real steps stay within a hundred
# roofs even where launches dominate; a hundred times this start-up is longer than any all-reduce
# of a small message takes on a fabric of the catalogue.
TOO_SLOW = 100
START_UP = 1e-5
RATE_TOLERANCE = 0.05


def refuse(where: str, row: int, column: str, reason: str, remedy: str) -> None:
    """Raise the one line; row counts from zero below the header, which is line 1 of the file."""
    raise ValueError(f"{where} line {row + 2}, column {column}: {reason}; {remedy}")


def first(bad) -> int | None:
    """The position of the first true entry, or None."""
    bad = np.asarray(bad)
    return int(np.argmax(bad)) if bad.any() else None


def once(where: str, table: pd.DataFrame, name: str) -> None:
    """Refuse a second row for the same thing."""
    keys = list(TABLES[name][1])
    row = first(table.duplicated(keys))
    if row is not None:
        what = ", ".join(f"{key} {table[key].iloc[row]}" for key in keys)
        what = f"a second row for {what}"
        refuse(where, row, keys[0], what, "keep one row, its statistic taken over all repeats")


def degrees_exist(where: str, table: pd.DataFrame, devices: int, allreduce) -> None:
    """Refuse a degree beyond the devices, or one whose all-reduces are missing.

    devices: how many there are. allreduce: the all-reduce table, or None where it does not apply.
    """
    row = first(table["p"] > devices)
    if row is not None:
        p = table["p"].iloc[row]
        reason = f"p = {p} needs {p} devices and system.yml counts {devices}"
        refuse(where, row, "p", reason, "correct p or the device count")
    if allreduce is not None:
        row = first((table["p"] > 1) & ~table["p"].isin(allreduce["p"]))
        if row is not None:
            reason = f"p = {table['p'].iloc[row]} is absent from allreduce.csv"
            refuse(where, row, "p", reason, "add its all-reduce times, or drop these rows")


def methods_described(where: str, table: pd.DataFrame, methods: dict) -> None:
    """Refuse a method that system.yml does not describe."""
    row = first(~table["method"].isin(list(methods)))
    if row is not None:
        reason = f"{table['method'].iloc[row]!r} is not described under methods in system.yml"
        refuse(where, row, "method", reason, "describe it there")


def allreduce_physics(where: str, table: pd.DataFrame, bandwidth: float) -> None:
    """Refuse times below M / bandwidth, and tables of which every time is far too long.

    bandwidth: line rate of one device, B/s per direction. Every rank sends at least M bytes
    whatever the algorithm: M (p-1)/p of partial sums and M/p of its own result.
    """
    floor = table["message_bytes"] / bandwidth
    _not_faster(where, table["time_s"], floor, "the line rate of system.yml")
    slow = table["time_s"] > TOO_SLOW * (START_UP + 2 * floor)
    if len(table) and slow.all():
        _looks_like_ms(where, 0, "time_s", table["time_s"].iloc[0], "every time")


def steps_physics(
    where: str, table: pd.DataFrame, model: Model, card: Accelerator, bandwidth: float
) -> None:
    """Refuse weight GEMMs off their roof and communication faster than the line rate.

    Two bytes per weight and activation are assumed; the caller leaves other formats out.
    """
    row = first(table["estimated_s"] > table["time_s"])
    if row is not None:
        refuse(where, row, "estimated_s", "is more than time_s", "it is the estimated part of it")
    passes = {}
    keys = list(zip(table["p"], table["batch"], table["context"], table["phase"]))
    for key in set(keys):
        passes[key] = _floors(model, card, bandwidth, *map(int, key[:3]), key[3])
    for number, category in enumerate(("weight_gemm", "communication")):
        own = (table["category"] == category).to_numpy()
        floor = np.array([passes[key][number] for key in keys]) * own
        what = "the roof of the accelerator" if number == 0 else "the line rate of system.yml"
        _not_faster(where, table["time_s"].where(own, 1.0), floor, what)
        if number == 0:
            row = first(own & (table["time_s"] > TOO_SLOW * floor) & (floor > 0))
            if row is not None:
                _looks_like_ms(where, row, "time_s", table["time_s"].iloc[row], "it")


def serving_rows(where: str, table: pd.DataFrame) -> None:
    """Refuse rows whose columns contradict each other."""
    rate = table["batch"] * table["output_tokens"] / table["latency_s"]
    row = first(np.abs(table["tokens_per_s"] / rate - 1) > RATE_TOLERANCE)
    if row is not None:
        reason = f"got {table['tokens_per_s'].iloc[row]:g}, but batch x output tokens / latency is "
        remedy = "count the output tokens of all sequences over the whole latency"
        refuse(where, row, "tokens_per_s", f"{reason}{rate.iloc[row]:.4g}", remedy)
    row = first(table["latency_s"] < table["ttft_s"])
    if row is not None:
        reason = f"{table['latency_s'].iloc[row]:g} s is less than ttft_s"
        refuse(where, row, "latency_s", reason, "it runs from the request to the last token")
    steps = (table["output_tokens"] - 1) * table["tpot_s"]
    row = first(steps > 1.2 * table["latency_s"])
    if row is not None:
        reason = f"{table['tpot_s'].iloc[row]:g} s for each token makes more than the latency"
        refuse(where, row, "tpot_s", f"{reason} (looks like ms)", "give seconds")
    for name, bad in (
        ("low", table["low"] > table["latency_s"]),
        ("high", table["high"] < table["latency_s"]),
    ):
        row = first(bad)
        if row is not None:
            reason = f"{table[name].iloc[row]:g} s leaves latency_s outside its interval"
            refuse(where, row, name, reason, "low and high enclose the latency, in s")


def gpu_metric_rows(where: str, table: pd.DataFrame) -> None:
    """Refuse fractions above one and activities that are no fraction."""
    row = first(table["metric"].isin(ACTIVITIES) & (table["unit"] != "fraction"))
    if row is not None:
        refuse(where, row, "unit", f"{table['metric'].iloc[row]} is a fraction", "write fraction")
    row = first((table["unit"] == "fraction") & (table["value"] > 1))
    if row is not None:
        reason = f"a fraction of {table['value'].iloc[row]:g} (looks like percent)"
        refuse(where, row, "value", reason, "divide by 100")


def _floors(model, card, bandwidth, p, batch, context, phase) -> tuple[float, float]:
    """The shortest times (s) of a pass's weight GEMMs, without the head, and of its all-reduces."""
    if phase == "mixed":
        return 0.0, 0.0
    tokens, cached = (context, 0) if phase == "prefill" else (1, context)
    ledger = kernels(model, p, batch, max(tokens, 1), cached, lm_head=False)
    gemms = [kernel for kernel in ledger if kernel.category == "weight_gemm"]
    flops = sum(kernel.pass_flops for kernel in gemms)
    traffic = sum(kernel.pass_traffic for kernel in gemms)
    sent = sum(c.count * c.message for c in forward_collectives(model, p, batch, max(tokens, 1)))
    return max(flops / card.peak_flops, traffic / card.memory_bandwidth), sent / bandwidth


def _not_faster(where: str, time: pd.Series, floor, what: str) -> None:
    floor = pd.Series(np.asarray(floor, float), time.index)
    row = first(time < (1 - TOLERANCE) * floor)
    if row is not None:
        reason = f"{time.iloc[row]:g} s is faster than {what} allows ({floor.iloc[row]:.3g} s)"
        refuse(where, row, "time_s", reason, "check its unit and what the row leaves out")


def _looks_like_ms(where: str, row: int, column: str, time: float, subject: str) -> None:
    reason = f"{time:g} s looks like ms: {subject} is over {TOO_SLOW} times what physics needs"
    refuse(where, row, column, reason, "give seconds")
