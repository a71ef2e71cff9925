"""The utilisation of each kernel category: ideal time from the ledger over the time in a table."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpbook import checks
from tpbook.geometry import Model
from tpbook.hardware import Accelerator
from tpbook.kernels import kernels
from tpbook.rooflines import ideal_time

REPLICATES = 500
SEED = 45
DIGITS = 4


@dataclass(frozen=True)
class CategoryUtilisation:
    """One constant utilisation of a category and what it is worth.

    eta: ideal over measured time (1), to four digits. interval: 95 % of a bootstrap that draws
    configurations. lowest, highest: eta of single configurations. error: mean
    |ideal/(eta T) - 1| over the configurations. count: their number.
    """

    eta: float
    interval: tuple[float, float]
    lowest: float
    highest: float
    error: float
    count: int


def ideal_times(
    model: Model, card: Accelerator, p: int, batch: int, tokens: int, context: int, passes: int = 1
) -> pd.Series:
    """Ideal times (s) by category of the kernels of a step on one of p ranks.

    Each kernel takes max(F/pi, Q/beta_m), equation eq-ideal-time, at the card's datasheet rates.
    batch, tokens, context: as in kernels.kernels. passes: the batch runs in so many equal parts,
    one after another. Raises ValueError for passes that do not divide the batch, and as kernels.
    """
    checks.positive(passes=passes)
    if batch % passes:
        raise ValueError(f"passes must divide the batch of {batch}, got {passes}")
    rates = card.peak_flops, card.memory_bandwidth
    times: dict[str, float] = {}
    for kernel in kernels(model, p, batch // passes, tokens, context):
        one = kernel.calls * ideal_time(kernel.flops, kernel.traffic, *rates)
        times[kernel.category] = times.get(kernel.category, 0.0) + passes * float(one)
    return pd.Series(times)


def fit_utilisation(ideal, measured) -> CategoryUtilisation:
    """The constant eta for which ideal/eta is closest to the measured times, in relative error.

    ideal, measured: s, one value per configuration. Least squares of ideal/(eta T) - 1 gives
    eta = sum(r^2)/sum(r) with r = ideal/T.
    Raises ValueError for times that are not positive and for unequal lengths.
    """
    ideal, measured = np.atleast_1d(np.asarray(ideal, float), np.asarray(measured, float))
    checks.positive(ideal=ideal, measured=measured)
    if ideal.shape != measured.shape or ideal.ndim != 1:
        raise ValueError(f"ideal and measured must match, got {ideal.shape} and {measured.shape}")
    ratio = ideal / measured
    draws = np.random.default_rng(SEED).integers(len(ratio), size=(REPLICATES, len(ratio)))
    drawn = (ratio[draws] ** 2).sum(axis=1) / ratio[draws].sum(axis=1)
    eta = float(f"{(ratio**2).sum() / ratio.sum():.{DIGITS}g}")
    low, high = np.percentile(drawn, [2.5, 97.5], method="nearest")
    return CategoryUtilisation(
        eta,
        (float(low), float(high)),
        float(ratio.min()),
        float(ratio.max()),
        float(np.mean(np.abs(ratio / eta - 1))),
        len(ratio),
    )
