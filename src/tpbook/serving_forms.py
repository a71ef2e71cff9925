"""Every form of the serving model that was tried, judged alike: the record behind the choice.

A form is a change of the amounts: a term left out, other norms, another law of growth with the
degree, another wiring. The terms were chosen on one engine and accelerator (CHOSEN_ON) by leaving
lengths out at p = 1 and 2; what those degrees cannot tell apart had to be decided otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tpbook.accuracy import PEER_BATCHES, PEER_LENGTHS
from tpbook.accuracy_sets import (
    BENCH,
    MAIN_MODEL,
    PAIRS,
    select,
    setting,
    transfer_sets,
)
from tpbook.serving_amounts import CACHE, GEMM, NAMES, Amounts, amounts, times
from tpbook.serving_calibration import groups
from tpbook.serving_fit import fit, left_out

CHOSEN_ON = PAIRS[0]
# Latency of one step of NCCL's ring, s: the growth from p = 2 to 4 of an 8 KiB all-reduce by
# nccl-tests on A100 and H100, over the four steps between.
RING_STEP = 0.9e-6
SHARES = np.geomspace(0.05, 1, 7)

Change = Callable[[Amounts, np.ndarray], Amounts]


@dataclass(frozen=True)
class Form:
    """A form: its name, the question it answers, the change, and the wiring it assumes.

    fitted_share: the share of the line rate is fitted too, and not the catalogue's.
    """

    name: str
    question: str
    change: Change
    wiring: str | None = None
    fitted_share: bool = False


def without(*names: str) -> Change:
    """A form without some parameters' terms."""

    def change(known: Amounts, p: np.ndarray) -> Amounts:
        linear, gemm, cache = known.linear.copy(), known.gemm.copy(), known.cache.copy()
        for name in names:
            column = NAMES.index(name)
            linear[:, column] = 0
            for parts, columns in ((gemm, GEMM), (cache, CACHE)):
                if column in columns:
                    parts[:, columns.index(column)] = 0
        return replace(known, linear=linear, gemm=gemm, cache=cache)

    return change


def norm(exponent: float) -> Change:
    """A form whose two norms have another exponent."""
    return lambda known, p: replace(known, exponent=exponent)


def growing(latency: Callable, gather: Callable, ring_step: float = 0.0) -> Change:
    """A form whose latency and gathering grow by other laws of p; all laws are one at p = 2.

    ring_step: seconds added for each of the 2(p-1) steps of every ring, known and not fitted.
    """

    def change(known: Amounts, p: np.ndarray) -> Amounts:
        linear = known.linear.copy()
        several = np.maximum(p, 2)
        alpha = NAMES.index("alpha")
        collectives = linear[:, alpha] / (2 * (several - 1) / several)
        for name, law in (("gather", gather), ("alpha", latency)):
            linear[:, NAMES.index(name)] *= law(several) / (2 * (several - 1) / several)
        fixed = known.fixed + collectives * 2 * (several - 1) * ring_step
        return replace(known, linear=linear, fixed=fixed)

    return change


def _same(known: Amounts, p: np.ndarray) -> Amounts:
    return known


TERMS, NORMS = "which terms?", "how do two roofs join?"
GROWTH, WIRING = "what grows with p, and how?", "how are the devices joined?"
NETWORK = "is the network's rate fitted?"
FORMS = (
    Form("the form", "", _same),
    Form("five terms", TERMS, without("eta_compute", "walk", "several", "gather")),
    Form("without the walk along the cache", TERMS, without("walk")),
    Form("without the overhead above one sequence", TERMS, without("several")),
    Form("without gathering", TERMS, without("gather")),
    Form("without overhead per sequence", TERMS, without("per_sequence")),
    Form("without latency", TERMS, without("alpha")),
    Form("norms with exponent 1: sums", NORMS, norm(1.0)),
    Form("norms with exponent 1.5", NORMS, norm(1.5)),
    Form("norms with exponent 4", NORMS, norm(4.0)),
    Form("norms with exponent 30: hard maxima", NORMS, norm(30.0)),
    Form("both constant from p = 2 on", GROWTH, growing(np.ones_like, np.ones_like)),
    Form("both constant, and NCCL's step", GROWTH, growing(np.ones_like, np.ones_like, RING_STEP)),
    Form("latency as log2 p, gathering constant", GROWTH, growing(np.log2, np.ones_like)),
    Form("both as log2 p", GROWTH, growing(np.log2, np.log2)),
    Form("both as p - 1", GROWTH, growing(lambda p: p - 1, lambda p: p - 1)),
    Form("a switch everywhere", WIRING, _same, "switch"),
    Form("rate fitted", NETWORK, _same, fitted_share=True),
    Form("rate fitted, no gathering", NETWORK, without("gather"), fitted_share=True),
)


def judge_form(form: Form) -> dict:
    """The figures of a form: where it was chosen, then on the main sets' cells at p = 4.

    left_out, chosen: mean |error| of lengths left out at p = 1, 2, and at p = 4, both on
    CHOSEN_ON. main, bias: all four sets at p = 4. rest: the three others. peers: the peer cells.
    """
    found = []
    for card, engine in PAIRS:
        table = select(BENCH, MAIN_MODEL, card, engine)
        known = amounts(table, *setting(BENCH, MAIN_MODEL, card, form.wiring))
        known = form.change(known, table["p"].to_numpy(float))
        found.append(_judge(form, known, table, (card, engine) == CHOSEN_ON))
    error = [each["error"] for each in found]
    everywhere = np.concatenate(error)
    return {
        "name": form.name,
        "question": form.question,
        "left_out": found[0]["left_out"],
        "chosen": float(np.abs(error[0]).mean()),
        "rest": float(np.abs(np.concatenate(error[1:])).mean()),
        "main": float(np.abs(everywhere).mean()),
        "bias": float(everywhere.mean()),
        "peers": float(np.abs(np.concatenate([each["peers"] for each in found])).mean()),
    }


def transfer_error(form: Form) -> float:
    """Mean |error| of a form on the held-out cells of the other published sets."""
    judged, _ = transfer_sets()
    error = []
    for each in judged:
        rows = each.rows
        known = amounts(rows, *setting(each.source, each.model, each.accelerator, form.wiring))
        known = form.change(known, rows["p"].to_numpy(float))
        held = rows["held_out"].to_numpy()
        time = rows["time_s"].to_numpy(float)
        parameters = fit(known[~held], time[~held])
        error.append(times(known[held], parameters) / time[held] - 1)
    return float(np.abs(np.concatenate(error)).mean())


def _judge(form: Form, known: Amounts, table: pd.DataFrame, chosen: bool) -> dict:
    inside, time = (table["p"] <= 2).to_numpy(), table["time_s"].to_numpy(float)
    if form.fitted_share:
        known = _best_share(known, time, inside)
    parameters = fit(known[inside], time[inside])
    error = times(known, parameters) / time - 1
    prompt, output = PEER_LENGTHS
    peers = (table["prompt_tokens"] == prompt) & (table["output_tokens"] == output)
    peers &= table["batch"].isin(PEER_BATCHES) & ~inside
    left = None
    if chosen:
        out = left_out(known[inside], time[inside], groups(table[inside]))
        left = float(np.abs(out).mean())
    return {"error": error[~inside], "peers": error[peers.to_numpy()], "left_out": left}


def _best_share(known: Amounts, time: np.ndarray, inside: np.ndarray) -> Amounts:
    """The amounts at the share of the catalogue's rate that fits the calibrated rows best."""
    tried = []
    for share in SHARES:
        scaled = replace(known, fixed=known.fixed / share)
        found = fit(scaled[inside], time[inside])
        residual = times(scaled[inside], found) / time[inside] - 1
        tried.append((float((residual**2).sum()), share))
    return replace(known, fixed=known.fixed / min(tried)[1])
