"""A prediction: what a user of a served model will see, with interval, shares and warnings."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpbook import checks
from tpbook.geometry import Model
from tpbook.prediction_warnings import outside
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
    """A value with its 90 % interval, in s or 1/s; low and high are None where there is none."""

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
    warnings = outside(calibration, geometry, device, card, int(p), batch, prompt, output)
    if any(width is not None and width >= 1 for width in widths):
        warnings += ("an error as large as the value itself is possible, so no interval is given",)
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
        warnings=warnings,
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
    if width is None or width >= 1:
        return None, None
    return float(value * (1 - width)), float(value * (1 + width))


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
