"""Checks of the claims ledger that take more than one line: counts and closed forms.

Each returns what it finds; whether a claim holds is decided in data/claims.yml. The model is
Llama-2-7B and the accelerator the H100 SXM unless a check names another, as in the record.
"""

import re
from dataclasses import replace

from tpbook import (
    amdahl,
    collectives,
    crossover,
    intensity,
    kernels,
    messages,
    modified_amdahl,
    rooflines,
    serial_fraction,
)
from tpbook.hardware import accelerator
from tpbook.models import layer_parameters, model, models
from tpbook.paths import DATA

HIDDEN, LAYERS, LAYER_PARAMETERS = 4096, 32, 202_375_168
H100 = 3350e9


def crossover_7b(p, beta, allreduces_per_layer=2, alpha=0, memory_bandwidth=H100):
    """Crossover batch of the Llama-2-7B layer; beta and memory_bandwidth in B/s, alpha in s."""
    return crossover.crossover_batch(
        p, LAYER_PARAMETERS, HIDDEN, 2, allreduces_per_layer, memory_bandwidth, alpha, beta
    )


def token_communication(p, batch, beta, alpha=0):
    """Seconds of all 64 all-reduces of one Llama-2-7B decode step."""
    return LAYERS * crossover.layer_communication_time(p, batch, HIDDEN, 2, 2, alpha, beta)


def gemm_time(p, batch, chip="h100-sxm"):
    """Roofline seconds of one layer's weight GEMMs in decode, weights the only traffic."""
    card = accelerator(chip)
    parameters = LAYER_PARAMETERS / p
    return float(
        rooflines.ideal_time(
            2 * batch * parameters, 2 * parameters, card.peak_flops, card.memory_bandwidth
        )
    )


def gemm_intensity(tokens):
    """FLOP/B of the 7B's up projection with so many tokens in the pass."""
    return intensity.gemm_intensity(tokens, HIDDEN, 11008, 2)


def pass_over_kernels(batch, context):
    """Roofline of a decode step's totals over the sum of its kernels' rooflines."""
    card = accelerator("h100-sxm")
    roofs = (card.peak_flops, card.memory_bandwidth)
    ledger = kernels.kernels(model("llama-2-7b"), 1, batch, 1, context)
    parts = sum(rooflines.ideal_time(k.pass_flops, k.pass_traffic, *roofs) for k in ledger)
    flops, traffic = sum(k.pass_flops for k in ledger), sum(k.pass_traffic for k in ledger)
    return float(rooflines.ideal_time(flops, traffic, *roofs) / parts)


def decode_kernel(name, p=1, batch=1):
    """A kernel of a decode step on one of p ranks, with 1024 tokens cached per sequence."""
    ledger = kernels.kernels(model("llama-2-7b"), p, batch, 1, 1024)
    return next(kernel for kernel in ledger if kernel.name == name)


def parameters_per_width(id):
    """P/d of a catalogue model."""
    return layer_parameters(model(id)) / model(id).hidden


def width_span():
    """The largest P/d of the catalogue's models over the smallest."""
    ratios = [parameters_per_width(id) for id in models()]
    return max(ratios) / min(ratios)


def count_collectives(id, kind, p=4, tokens=1, **options):
    """Collectives of a kind in one forward pass of a catalogue model."""
    passed = messages.forward_collectives(model(id), p, 1, tokens, **options)
    return sum(each.count for each in passed if each.kind == kind)


def side_by_side_collectives():
    """All-reduces per layer of a model whose attention and MLP run side by side."""
    joined = replace(model("llama-2-7b"), allreduces_per_layer=1)
    return sum(each.count for each in messages.forward_collectives(joined, 4, 1, 1)) / LAYERS


def message_sizes(**options):
    """Different message sizes among the collectives of one Llama-2-7B decode step."""
    passed = messages.forward_collectives(model("llama-2-7b"), 4, 1, 1, **options)
    return len({each.message for each in passed})


def count_crossovers(ids):
    """Different crossover batches of accelerators that differ in their memory only."""
    bandwidths = [accelerator(id).memory_bandwidth for id in ids]
    return len({crossover_7b(2, 450e9, memory_bandwidth=each) for each in bandwidths})


def arxiv_number(key):
    """The arXiv number of an entry of the bibliography, or "none"."""
    text = (DATA.parent / "book" / "references.bib").read_text(encoding="utf-8")
    entry = re.search(rf"@\w+{{{key},.*?(?=\n@|\Z)", text, re.DOTALL)
    number = entry and re.search(r"eprint\s*=\s*{([\d.]+)}", entry[0])
    return f"arXiv {number[1]}" if number else "none"


def amdahl_extrapolation_error(alpha, beta, p=2, q=4):
    """Error in s at q of Amdahl's law fitted at 1 and p to the outline's extended law.

    64 all-reduces of 8 KiB beside 4 ms of compute; alpha in s per collective, beta in B/s.
    """
    extended = modified_amdahl.modified_amdahl_time
    times = [extended(k, 4e-3, 1, 64, 8192, alpha, beta) for k in (1, p, q)]
    fraction = amdahl.karp_flatt(p, times[0] / times[1])
    return float(amdahl.amdahl_time(q, times[0], fraction) - times[2])


def outline_time(p, work_time, eta, collectives, message, alpha, beta):
    """The outline's extended law exactly as it is printed, also at p = 1."""
    return work_time / (p * eta) + collectives * (alpha + 2 * (p - 1) * message / (p * beta))


def fractions_agree(convention):
    """Whether the outline's f + 2Kp alpha/T1 + 2KV/(T1 beta) follows from its time on p ranks.

    convention: "hop" pays alpha at each ring step, "collective" once per all-reduce.
    """
    laws = {
        "hop": modified_amdahl.communication_time_per_hop,
        "collective": modified_amdahl.communication_time,
    }
    network = (64, 8192, 2e-6, 25e9)
    printed = serial_fraction.effective_serial_fraction_per_hop(4, 1.0, 0.1, *network)
    spoken = laws[convention](4, *network)
    derived = serial_fraction.effective_serial_fraction(4, 1.0, 0.1, spoken)
    return bool(abs(printed / derived - 1) < 1e-12)


def bandwidth_share(tokens, alpha_hop, beta, p=4):
    """Bandwidth term over the time of one prefill all-reduce of the 7B."""
    message = messages.allreduce_message(1, tokens, HIDDEN, 2)
    whole = collectives.ring_allreduce_time_per_hop(p, message, alpha_hop, beta)
    return float(collectives.ring_traffic(p, message) / beta / whole)
