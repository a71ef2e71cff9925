"""Kernel laws fitted to GEMM times at p = 1 and 2, judged by what they predict at p = 4 and 8.

Every law takes the operations and compulsory bytes of one rank's shard and knows nothing of p.
Rates are written as utilisations of the card's datasheet rates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from tpbook.hardware import accelerator
from tpbook.kernel_times import GEMMS, gemm_times
from tpbook.kernels import kernels
from tpbook.models import model
from tpbook.rooflines import (
    hard_kernel_time,
    ideal_time,
    norm_kernel_time,
    smooth_kernel_time,
)

REPLICATES = 200
SEED = 20
TOLERANCE = 1e-12
# Processors that round differently agree on a fit to about eight digits, and the intervals warrant
# two; parameters keep four, so that everything computed from them is the same everywhere.
DIGITS = 4
# Bounds and first guesses: utilisations (1), start-up (us, to keep the scales alike), exponent (1).
BOUNDS = {
    "eta": (0.05, 2.0, 0.7),
    "eta_compute": (0.05, 2.0, 0.7),
    "eta_memory": (0.05, 2.0, 0.7),
    "startup": (0.0, 50.0, 3.0),
    "exponent": (1.0, 20.0, 1.5),
}


@dataclass(frozen=True)
class Law:
    """A kernel law: its name, its parameters, and time(flops, traffic, peak, bandwidth, **them)."""

    name: str
    parameters: tuple[str, ...]
    time: Callable


def _at_rates(time: Callable, **fixed) -> Callable:
    """The law at utilisations of the datasheet rates, with some of its arguments held fixed."""

    def scaled(flops, traffic, peak, memory_bandwidth, eta_compute, eta_memory, **others):
        rates = eta_compute * peak, eta_memory * memory_bandwidth
        return time(flops, traffic, *rates, **fixed, **others)

    return scaled


def _hard_after_start(flops, traffic, peak, memory_bandwidth, startup):
    return startup + ideal_time(flops, traffic, peak, memory_bandwidth)


RATES = ("eta_compute", "eta_memory")
LAWS = (
    Law("hard roof, one utilisation", ("eta",), hard_kernel_time),
    Law("smooth roof, two utilisations", RATES, _at_rates(smooth_kernel_time, startup=0)),
    Law("hard roof and start-up", (*RATES, "startup"), _at_rates(_hard_after_start)),
    Law("smooth roof and start-up", (*RATES, "startup"), _at_rates(smooth_kernel_time)),
    Law(
        "norm of the roofs and start-up",
        (*RATES, "startup", "exponent"),
        _at_rates(norm_kernel_time),
    ),
)


@dataclass(frozen=True)
class Errors:
    """Relative errors T_law / T_measured - 1: mean and median size, the worst, the mean sign."""

    mean: float
    median: float
    worst: float
    bias: float


@dataclass(frozen=True)
class KernelFit:
    """One law on one accelerator.

    parameters: utilisations (1), startup (s), exponent (1), to four digits.
    intervals: 95 %, from a bootstrap that draws whole series (a kernel at one p), since
    neighbouring token counts err alike.
    fitted: errors where the law was fitted. predicted: errors by p where it was not.
    """

    law: str
    accelerator: str
    parameters: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    fitted: Errors
    predicted: dict[int, Errors]


def gemm_work(model_id: str) -> pd.DataFrame:
    """The measured GEMM times of a model with the flops (FLOP) and traffic (B) of each shard.

    Columns: accelerator, p, tokens, kernel, time_s, low_s, high_s, samples, flops, traffic.
    Raises ValueError for a model without a table of times.
    """
    table = gemm_times(model_id)
    table = table[table["kernel"].isin(GEMMS)].reset_index(drop=True)
    geometry = model(model_id)
    work = {}
    for p, tokens in set(zip(table["p"], table["tokens"])):
        for kernel in kernels(geometry, int(p), int(tokens), 1, 0):
            work[p, tokens, kernel.name] = kernel.flops, kernel.traffic
    keys = zip(table["p"], table["tokens"], table["kernel"])
    table[["flops", "traffic"]] = [work[key] for key in keys]
    return table


def predict(law: Law, card: str, parameters: dict[str, float], flops, traffic):
    """The law's time (s) on an accelerator of the catalogue; flops in FLOP, traffic in B."""
    spec = accelerator(card)
    return law.time(flops, traffic, spec.peak_flops, spec.memory_bandwidth, **parameters)


def fit_kernel_law(law: Law, work: pd.DataFrame, card: str, fit_on=(1, 2)) -> KernelFit:
    """Fit a law by least squares of T_law/T - 1 on some degrees and judge it on all others.

    work: a table as gemm_work returns it. card: accelerator id. fit_on: degrees.
    Raises ValueError when the table has no such rows, or no other degree to predict.
    """
    rows = work[work["accelerator"] == card]
    inside = rows["p"].isin(fit_on)
    if not inside.any() or inside.all():
        raise ValueError(
            f"fit_on must leave degrees to fit and to predict on {card!r}, got {fit_on} "
            f"of {sorted(rows['p'].unique().tolist())}"
        )
    train = rows[inside]
    parameters = {
        name: float(f"{value:.{DIGITS}g}")
        for name, value in _least_squares(law, train, card).items()
    }
    return KernelFit(
        law.name,
        card,
        parameters,
        _intervals(law, train, card, parameters),
        _errors(law, train, card, parameters),
        {int(p): _errors(law, rest, card, parameters) for p, rest in rows[~inside].groupby("p")},
    )


def _least_squares(law: Law, rows: pd.DataFrame, card: str, start=None) -> dict[str, float]:
    low, high, guess = zip(*(BOUNDS[name] for name in law.parameters))
    if start is not None:
        guess = [start[name] * (1e6 if name == "startup" else 1) for name in law.parameters]
        guess = np.clip(guess, np.add(low, 1e-6), np.subtract(high, 1e-6))
    flops, traffic, time = (rows[name].to_numpy() for name in ("flops", "traffic", "time_s"))
    spec = accelerator(card)  # here, not in predict: the solver asks for times very often
    roofs = spec.peak_flops, spec.memory_bandwidth

    def residuals(values):
        return law.time(flops, traffic, *roofs, **_named(law, values)) / time - 1

    stop = dict.fromkeys(("xtol", "ftol", "gtol"), TOLERANCE)
    return _named(law, least_squares(residuals, guess, bounds=(low, high), **stop).x)


def _named(law: Law, values) -> dict[str, float]:
    named = dict(zip(law.parameters, (float(value) for value in values)))
    if "startup" in named:
        named["startup"] *= 1e-6
    return named


def _errors(law: Law, rows: pd.DataFrame, card: str, parameters) -> Errors:
    time = predict(law, card, parameters, rows["flops"].to_numpy(), rows["traffic"].to_numpy())
    error = time / rows["time_s"].to_numpy() - 1
    size = np.abs(error)
    return Errors(*(float(x) for x in (size.mean(), np.median(size), size.max(), error.mean())))


def _intervals(law: Law, rows: pd.DataFrame, card: str, best) -> dict[str, tuple[float, float]]:
    rows = rows.reset_index(drop=True)
    series = list(rows.groupby(["kernel", "p"]).indices.values())
    draws = np.random.default_rng(SEED).integers(len(series), size=(REPLICATES, len(series)))
    found = [
        _least_squares(law, rows.iloc[np.concatenate([series[i] for i in draw])], card, best)
        for draw in draws
    ]
    bounds = {
        name: np.percentile([fit[name] for fit in found], [2.5, 97.5]) for name in law.parameters
    }
    return {name: (float(low), float(high)) for name, (low, high) in bounds.items()}
