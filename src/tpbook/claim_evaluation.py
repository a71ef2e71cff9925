"""Checks of the claims ledger on the steps of a system: sections 3 and 4 of the outline.

The step tables are composed: sums of kernels and all-reduces that were timed one by one. The
outline's own machine, four A40 without a bridge, is stood in for by the host-staged system.
"""

from functools import cache
from statistics import median

from tpbook import amdahl_errors, steps
from tpbook.category_utilisation import category_work
from tpbook.hardware import accelerator
from tpbook.kernels import kernels
from tpbook.kv_copy import cache_copy_time
from tpbook.messages import forward_collectives
from tpbook.models import model
from tpbook.roof_distance import lost_time
from tpbook.rooflines import ideal_time
from tpbook.step_collectives import step_collectives
from tpbook.systems import load_system

A40, A40_BRIDGE, A100 = "quad-a40-hoststaged", "quad-a40-bridge", "quad-a100-sxm"
BATCHES, DEGREES, CONTEXT, PROMPT = (1, 8, 32), (1, 2, 4), 512, 1024
COMPUTE = ["weight_gemm", "attention", "other"]

read_system = cache(load_system)


@cache
def times(system, phase, context=None):
    """Seconds by category of every configuration; decode at 512 cached tokens, prompts of 1024."""
    return steps.phase_times(read_system(system), phase, context).fillna(0.0)


def configurations(system=A40):
    """How many pairs of degree and batch a system's step table holds."""
    return len(steps.configurations(read_system(system)))


def speedup(phase, p, batch, system=A40):
    """Speed-up of a step on p ranks."""
    total = times(system, phase).sum(axis=1)
    return float(total[1, batch] / total[p, batch])


def share(phase, p, batch, system=A40):
    """Share of communication in a step."""
    row = times(system, phase).loc[(p, batch)]
    return float(row["communication"] / row.sum())


def shares_grow_with_degree(system=A40):
    """Whether four ranks communicate a larger share than two, at every batch and in both phases."""
    return all(
        share(phase, 4, batch, system) > share(phase, 2, batch, system)
        for phase in ("prefill", "decode")
        for batch in BATCHES
    )


def rank_division(phase, batch, p=4, system=A40):
    """Roofline time of one of p ranks' kernels, times p, over that of the whole model's."""
    known = read_system(system)
    card, geometry = accelerator(known.accelerator), model(known.model)
    tokens, cached = (PROMPT, 0) if phase == "prefill" else (1, CONTEXT)
    one, several = (
        category_work(geometry, card, k, batch, tokens, cached)["ideal_s"].sum() for k in (1, p)
    )
    return float(p * several / one)


def utilisation(category, phase, p, batch, system=A40):
    """Roofline time over table time of a category of kernels."""
    known = read_system(system)
    card, geometry = accelerator(known.accelerator), model(known.model)
    context = steps.contexts(known, phase)[-1]
    passes = step_collectives(known, geometry, phase, context)["passes"]
    work = (context, 0) if phase == "prefill" else (1, context)
    ideal = category_work(geometry, card, p, batch, *work, int(passes[p, batch]))["ideal_s"]
    return float(ideal[category] / times(system, phase).loc[(p, batch), category])


def extreme_utilisation(which, categories=("weight_gemm", "attention"), system=A40):
    """The lowest (which = min) or highest utilisation over categories, phases and configurations."""
    return which(
        utilisation(category, phase, p, batch, system)
        for category in categories
        for phase in ("prefill", "decode")
        for p in DEGREES
        for batch in BATCHES
    )


def median_distance(category, system=A40):
    """Median of table time over roofline time of a category, all phases and configurations."""
    return median(
        1 / utilisation(category, phase, p, batch, system)
        for phase in ("prefill", "decode")
        for p in DEGREES
        for batch in BATCHES
    )


def largest_error_part(phase, batch, system=A40):
    """The category that adds most, up or down, to Amdahl's error at four ranks from one and two."""
    context = steps.contexts(read_system(system), phase)[-1]
    parts = amdahl_errors.errors_by_category(read_system(system), phase, context, batch)
    return str(parts.abs().idxmax())


def weight_operations(batch, tokens):
    """FLOP of the weight products inside the layers of a Llama-2-7B pass on one rank."""
    ledger = kernels(model("llama-2-7b"), 1, batch, tokens, 0)
    return sum(k.pass_flops for k in ledger if k.category == "weight_gemm" and k.name != "lm_head")


def lost(phase, p, batch, part_of="communication", system=A40):
    """Seconds beyond an even division of the one-rank step, lost to communication or to compute."""
    table = times(system, phase)
    columns = ["communication"] if part_of == "communication" else COMPUTE
    one, several = (float(table.loc[(k, batch), columns].sum()) for k in (1, p))
    return float(lost_time(p, several, one))


def copy_share(batch, context, system=A40):
    """Share of a decode step on one rank that copies of the cache at full bandwidth would take.

    The rest is that of the step table, attention in proportion to the context.
    """
    known = read_system(system)
    geometry, card = model(known.model), accelerator(known.accelerator)
    row = times(system, "decode").loc[(1, batch)]
    copied = geometry.layers * cache_copy_time(
        1, batch, context, 1, geometry.kv_heads, geometry.head_dim, 2, card.memory_bandwidth
    )
    attention = row["attention"] * (context + 1) / (CONTEXT + 1)
    return float(copied / (row.sum() - row["attention"] + attention + copied))


def kinds_of_kernel(p):
    """How many kinds of kernel a pass on p ranks has, all-reduces counted as one kind."""
    geometry = model("llama-2-7b")
    local = {kernel.category for kernel in kernels(geometry, p, 1, 1, CONTEXT)}
    return len(local) + bool(forward_collectives(geometry, p, 1, 1))


def eager_attention_intensity(tokens, head_dim=128):
    """Intensity (FLOP/B) of a prompt's attention whose scores pass through memory at two bytes.

    Three kernels: scores, 2 T^2 d_h; softmax; values, 2 T^2 d_h. The T x T scores are written,
    read, written and read again; queries, keys, values and results move once.
    """
    scores, vectors = tokens**2, tokens * head_dim
    return 4 * scores * head_dim / (2 * (4 * scores + 4 * vectors))


def slower_clock(name, batch, tokens, context, factor=0.99, system=A40):
    """Roofline time of a kernel on a card whose peak is smaller by a factor, over that at full."""
    known = read_system(system)
    card = accelerator(known.accelerator)
    ledger = kernels(model(known.model), 2, batch, tokens, context)
    kernel = next(each for each in ledger if each.name == name)
    work = (kernel.flops, kernel.traffic)
    slow, full = (
        ideal_time(*work, peak, card.memory_bandwidth)
        for peak in (factor * card.peak_flops, card.peak_flops)
    )
    return float(slow / full)


def same_products(prompt, batch):
    """Whether a prompt and a decode step have weight GEMMs of the same sizes."""
    pair = (
        [
            (k.name, k.flops, k.traffic)
            for k in kernels(model("llama-2-7b"), 1, *sizes)
            if k.category == "weight_gemm" and k.name != "lm_head"
        ]
        for sizes in ((1, prompt, 0), (batch, 1, CONTEXT))
    )
    first, second = pair
    return bool(first == second)
