"""Composing the steps of a model from separately measured kernels: one pass, one rank.

A Part is the time of all calls of one kernel in a pass, with the share of it that no measurement
covers. Parts come from our own tables only.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpbook.geometry import Model
from tpbook.hardware import accelerator
from tpbook.intensity import attention_bytes
from tpbook.kernel_times import GEMMS
from tpbook.network_steps import interpolated_time
from tpbook.sharding import rank_model
from tpbook.sources.kernel_lookup import (
    ELEMENT_BYTES,
    attention_rows,
    kernel_row,
    line_through,
    reading_products,
    shape_time,
)
from tpbook.systems import System, allreduce_times

OTHER_CALLS = {"attention_norm": 1, "mlp_norm": 1, "activation": 1, "rope": 1, "add": 2}


@dataclass(frozen=True)
class Part:
    """Seconds of all calls of a kernel in one pass, of which estimated are not measured."""

    category: str
    time: float
    estimated: float
    calls: int
    statistic: str
    samples: int


@dataclass(frozen=True)
class Recipe:
    """Which measured kernels make up the passes of a system.

    kernels: accelerator of the layer's kernel table, or None where single GEMM shapes are used.
    attention: accelerator and source of the attention rows. method: how all-reduces were timed.
    rope: count the rotary embedding apart; some attention kernels contain it.
    """

    kernels: str | None
    attention: tuple[str, str]
    method: str
    rope: bool


def layer_gemms(recipe: Recipe, model: Model, p: int, rows: int) -> Iterator[Part]:
    """The four weight GEMMs of every layer on rows tokens."""
    if recipe.kernels:
        for kernel in GEMMS:
            row = kernel_row(model.id, recipe.kernels, p, rows, kernel)
            time = model.layers * row.time_s
            yield Part("weight_gemm", time, 0.0, model.layers, "median", int(row.samples))
        return
    local = rank_model(model, p)
    queries, keys = local.heads * local.head_dim, local.kv_heads * local.head_dim
    ups = 2 if model.gated_mlp else 1
    for inner, columns in (
        (model.hidden, queries + 2 * keys),
        (queries, model.hidden),
        (model.hidden, ups * local.intermediate),
        (local.intermediate, model.hidden),
    ):
        time, estimated, samples = shape_time(recipe.attention[0], rows, inner, columns)
        time *= model.layers
        yield Part("weight_gemm", time, time * estimated, model.layers, "mean", samples)


def head(recipe: Recipe, model: Model, p: int, batch: int) -> Part:
    """The output head on the last token of each sequence: never timed, so all of it is estimated.

    Its inner width is that of the products that read the hidden state, so its time is taken from
    those, on as many tokens: a straight line in the number of columns, between the two nearest
    measured ones or beyond the two widest.
    """
    columns = rank_model(model, p).vocab
    if recipe.kernels:
        widths, times, samples = reading_products(model, recipe.kernels, batch)
        time = line_through(widths, times, columns)
    else:
        time, _, samples = shape_time(recipe.attention[0], batch, model.hidden, columns)
    return Part("weight_gemm", time, time, 1, "median" if recipe.kernels else "mean", samples)


def others(recipe: Recipe, model: Model, p: int, rows: int) -> Iterator[Part]:
    """Norms, rotary embedding, activation, the two residual additions, and the embedding."""
    if not recipe.kernels:
        return
    calls = {"embedding": 1} | {name: count * model.layers for name, count in OTHER_CALLS.items()}
    calls["attention_norm"] += 1  # the last norm, before the head
    if not recipe.rope:
        del calls["rope"]
    for kernel, count in calls.items():
        row = kernel_row(model.id, recipe.kernels, p, rows, kernel)
        yield Part("other", count * row.time_s, 0.0, count, "median", int(row.samples))


def decode_attention(recipe: Recipe, model: Model, p: int, batch: int, context: int) -> Part:
    """One new token of each sequence against context cached ones.

    A time below what reading the cache from memory takes came from the on-chip cache, which a
    whole model's weights would have flushed: the memory time replaces it, as an estimate.
    """
    rows = attention_rows(model.id, *recipe.attention, p, "decode")
    rows = rows[rows["batch"] == batch].sort_values("context")
    time = float(np.interp(context, rows["context"], rows["time_s"]))
    local = rank_model(model, p)
    heads = local.heads, local.kv_heads, local.head_dim
    moved = attention_bytes(batch, 1, context, *heads, ELEMENT_BYTES)
    floor = moved / accelerator(recipe.attention[0]).memory_bandwidth
    estimated = time < floor
    time = model.layers * max(time, floor)
    statistic, samples = rows["statistic"].iloc[0], int(rows["samples"].min())
    return Part("attention", time, time * estimated, model.layers, statistic, samples)


def prefill_attention(recipe: Recipe, model: Model, p: int, batch: int, tokens: int) -> Part:
    """All tokens of batch prompts against each other.

    Where only single prompts of another length were timed, the nearest length is scaled by the
    square of the lengths, and several prompts take as long as one after the other: estimates.
    """
    rows = attention_rows(model.id, *recipe.attention, p, "prefill")
    exact = rows[(rows["batch"] == batch) & (rows["tokens"] == tokens)]
    if len(exact):
        row, factor = exact.iloc[0], 1.0
    else:
        single = rows[rows["batch"] == 1]
        row = single.iloc[(single["tokens"] - tokens).abs().argmin()]
        factor = batch * (tokens / row["tokens"]) ** 2
    time = model.layers * factor * float(row["time_s"])
    estimated = 0.0 if len(exact) else time
    samples = int(row["samples"])
    return Part("attention", time, estimated, model.layers, row["statistic"], samples)


def allreduces(recipe: Recipe, system: System, model: Model, p: int, rows: int) -> Iterator[Part]:
    """The all-reduces of every layer: interpolated between measured sizes; beyond them the
    shortest time below and the last bandwidth above, as estimates."""
    if p == 1:
        return
    message, times = allreduce_times(system, p, recipe.method)
    wanted = rows * model.hidden * ELEMENT_BYTES
    inside = float(np.clip(wanted, message[0], message[-1]))
    time = float(interpolated_time(message, times, inside)) * max(wanted / message[-1], 1.0)
    count = model.allreduces_per_layer * model.layers
    total = count * time
    table = system.allreduce
    known = table[(table["p"] == p) & (table["method"] == recipe.method)]
    statistic = system.methods[recipe.method].statistic
    estimated = 0.0 if inside == wanted else total
    yield Part("communication", total, estimated, count, statistic, int(known["samples"].min()))
