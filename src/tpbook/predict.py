"""A prediction: what a user of a served model will see, with interval, shares and warnings."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpbook import checks
from tpbook.capacity import USABLE_SHARE, bytes_needed
from tpbook.geometry import Model
from tpbook.serving_amounts import amounts, times
from tpbook.serving_calibration import Calibration
from tpbook.serving_metrics import throughput
from tpbook.serving_model import Parameters, request_terms
from tpbook.serving_transfer import carried
from tpbook.serving_uncertainty import growth_ambiguity, spread
from tpbook.serving_work import Machine, model_work
from tpbook.sharding import shard

# 90 % quantile of |error| when a calibration is carried to another accelerator, as accuracy finds
# it for A100 to H100 (test cross-hardware); the only such pair that public tables allow.
CARRIED = 0.16
PARTS = ("prefill", "decode", "end-to-end")
NORMAL_90 = 1.645


@dataclass(frozen=True)
class Estimate:
    """A value with its 90 % interval, in s or 1/s; low and high are None where nothing backs them."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Prediction:
    """What was asked, what comes out.

    basis: the calibration's name. shares: of each term in the latency. slower: why the degree is
    slower than one device, "" when it is not. warnings: one sentence each. notes: of the sharding,
    and of what the shares rest on.
    """

    model: str
    accelerator: str
    p: int
    batch: int
    prompt_tokens: int
    output_tokens: int
    basis: str
    ttft: Estimate
    tpot: Estimate
    latency: Estimate
    throughput: Estimate
    shares: dict[str, float]
    slower: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def predict(
    calibration: Calibration,
    geometry: Model,
    device: Machine,
    card: str,
    p: int,
    batch: int,
    prompt: int,
    output: int,
) -> Prediction:
    """Predict one configuration.

    device: the machine; card: its accelerator id. Where it is not the calibration's, the
    parameters are carried over (serving_transfer). prompt, output: tokens of each sequence.
    Raises ValueError for a degree that the model or the network refuses, and for counts that are
    not whole numbers from one up (output from two, since one token has no TPOT).
    """
    checks.whole(p=p, batch=batch, prompt=prompt, output=output)
    checks.degree(p=p, batch=batch, prompt=prompt)
    checks.several(output=output)
    part = shard(geometry, int(p))
    found = calibration.parameters
    moved = card != calibration.accelerator
    if moved and calibration.basis != "assumed":
        found = carried(found, calibration.accelerator, card)
    work = model_work(geometry)
    table = pd.DataFrame({"phase": PARTS})
    table["p"], table["batch"] = p, batch
    table["prompt_tokens"], table["output_tokens"] = prompt, output
    known = amounts(table, work, device)
    ttft, tpot, latency = times(known, found)
    widths = _half_widths(calibration, known, found, table, moved)
    rate = Estimate(
        float(throughput(batch, output, latency)),
        *(
            float(throughput(batch, output, edge)) if edge is not None else None
            for edge in _edges(latency, widths[2])[::-1]
        ),
    )
    terms = _terms(work, device, found, p, batch, prompt, output)
    warnings = _domain(calibration, work, geometry, p, batch, prompt, output, moved)
    return Prediction(
        model=geometry.id,
        accelerator=card,
        p=int(p),
        batch=int(batch),
        prompt_tokens=int(prompt),
        output_tokens=int(output),
        basis=calibration.name,
        ttft=Estimate(float(ttft), *_edges(ttft, widths[0])),
        tpot=Estimate(float(tpot), *_edges(tpot, widths[1])),
        latency=Estimate(float(latency), *_edges(latency, widths[2])),
        throughput=rate,
        shares={name: seconds / sum(terms.values()) for name, seconds in terms.items()},
        slower=_slower(work, device, found, terms, batch, prompt, output) if p > 1 else "",
        warnings=warnings + _memory(geometry, device, p, batch, prompt + output),
        notes=part.notes + _split(calibration),
    )


def _half_widths(calibration, known, found, table, moved) -> list[float | None]:
    """Relative half-widths of TTFT, TPOT and latency, None where nothing was measured.

    Independent parts add as squares: the noise of rows left out, the law of growth, another
    accelerator; and for the two phases, which whole requests tell apart only roughly, the
    parameters' own spread.
    """
    if calibration.basis == "assumed":
        return [None] * 3
    growth = growth_ambiguity(known, found, table["p"])
    parameters = NORMAL_90 * spread(known, found, calibration.covariance)
    parameters[2] = 0.0
    carried_over = CARRIED if moved else 0.0
    parts = np.array([calibration.noise**2 + growth**2 + parameters**2 + carried_over**2])
    return np.sqrt(parts[0]).tolist()


def _edges(value: float, width: float | None) -> tuple[float | None, float | None]:
    if width is None:
        return None, None
    return float(value * max(0.0, 1 - width)), float(value * (1 + width))


def _terms(work, device, found: Parameters, p, batch, prompt, output) -> dict[str, float]:
    """Seconds of each term in the whole latency."""
    first, mean = request_terms(work, device, found, p, batch, prompt, output)
    names = dict.fromkeys([*first, *mean])
    return {n: float(first.get(n, 0) + (output - 1) * mean.get(n, 0)) for n in names}


def _slower(work, device, found, terms, batch, prompt, output) -> str:
    """The term that grows most from one device to p when the whole got no faster."""
    alone = _terms(work, device, found, 1, batch, prompt, output)
    if sum(terms.values()) <= sum(alone.values()):
        return ""
    worst = max(terms, key=lambda name: terms[name] - alone[name])
    return f"slower than one device: {worst} adds {terms[worst] - alone[worst]:.3g} s"


def _split(calibration: Calibration) -> tuple[str, ...]:
    """What shares of a calibration on whole requests rest on."""
    if calibration.basis != "serving rows":
        return ()
    return (
        "Whole requests hardly tell weights, per step and collective latency apart: how they share "
        "a step rests on the range assumed for eta_weights.",
    )


def _memory(geometry: Model, device: Machine, p, batch, tokens) -> tuple[str, ...]:
    need = bytes_needed(geometry, int(p), batch, tokens)
    have = USABLE_SHARE * device.memory_bytes
    if need < have:
        return ()
    sizes = f"weights and KV cache need {need / 1e9:.3g} GB of {have / 1e9:.3g} GB per device"
    return (f"does not fit: {sizes}; engines would queue or preempt sequences",)


def _domain(calibration, work, geometry, p, batch, prompt, output, moved) -> tuple[str, ...]:
    """One sentence for each way in which the question lies outside the calibration."""
    if calibration.basis == "assumed":
        return ("nothing was calibrated: utilisations and overheads are assumed, no interval",)
    found = []
    for name, value, (low, high) in (
        ("p", p, calibration.degrees),
        ("batch", batch, calibration.batches),
        ("prompt", prompt, calibration.prompts),
        ("context", prompt + output, _total(calibration)),
    ):
        if not low <= value <= high:
            found.append(f"{name} = {value} lies outside the calibrated {low:g} to {high:g}")
    message = batch * work.hidden * work.element_bytes
    low, high = calibration.messages
    if p > 1 and not (low <= message and message * prompt <= high):
        found.append(
            f"messages of {message:.3g} to {message * prompt:.3g} B leave the calibrated "
            f"{low:.3g} to {high:.3g} B"
        )
    if moved:
        found.append(f"carried over from {calibration.accelerator}: interval widened")
    if geometry.id != calibration.model:
        found.append(f"calibrated on another model, {calibration.model}")
    return tuple(found)


def _total(calibration: Calibration) -> tuple[float, float]:
    ranges = calibration.prompts, calibration.outputs
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)
