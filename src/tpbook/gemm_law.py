"""A GEMM law fitted at p = 1 and 2 that is judged at p = 4 and 8, with the shards' own deviations.

The law adds two things to a start-up time and the norm of the two roofs. The loop over the inner
width has a latency of its own. And a shard of one kernel tends to deviate from a smooth law in the
same direction at the next degree, since the library's choice of tiles goes with the kernel and the
rows; how much of the deviation stays is read off the two degrees of the fit.
The form was chosen on the A100 with Llama-2-7B alone: see gemm_choice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from tpbook import checks
from tpbook.equation import equation
from tpbook.hardware import accelerator
from tpbook.kernel_fit import DIGITS, TOLERANCE, gemm_work
from tpbook.models import model
from tpbook.rooflines import norm_kernel_time
from tpbook.sharding import rank_model

# The smooth forms settle earlier; a form that jumps from tile to tile may never settle.
EVALUATIONS = 150
# Bounds, first guess and the unit that keeps the scales of a fit alike.
BOUNDS = {
    "eta_compute": (0.05, 2.0, 0.75, 1.0),
    "eta_memory": (0.05, 2.0, 0.85, 1.0),
    "startup": (0.0, 50.0, 4.0, 1e-6),
    "loop": (0.0, 10.0, 0.5, 1e-9),
    "exponent": (1.0, 20.0, 1.6, 1.0),
}


@equation("eq-gemm-kernel", symbol="kernel_time")
def gemm_kernel_time(flops, traffic, inner, peak, memory_bandwidth, startup, loop, exponent):
    """GEMM time t0 + k t_k + ((F/pi)^nu + (Q/beta_m)^nu)^(1/nu): the norm law and a loop.

    inner: inner width k of the shard. loop: t_k (s). Other arguments as in
    rooflines.norm_kernel_time. Raises ValueError as it does, and for a negative width or time.
    """
    checks.nonnegative(inner=inner, loop=loop)
    roofs = norm_kernel_time(flops, traffic, peak, memory_bandwidth, startup, exponent)
    return roofs + inner * loop


@equation("eq-carried-time", symbol="carried_time")
def carried_time(kernel_time, deviation, carried):
    """GEMM time T_kernel delta^lambda: a law's time with part of an earlier deviation.

    kernel_time: the law's time (s) at this degree. deviation: measured time over the law's for
    the same kernel and tokens at a smaller degree. carried: 0 (nothing stays) to 1 (all of it).
    Raises ValueError for a time or deviation that is not positive and a share outside 0 to 1.
    """
    checks.positive(kernel_time=kernel_time, deviation=deviation)
    checks.fraction(carried=carried)
    return kernel_time * deviation**carried


@dataclass(frozen=True)
class GemmLaw:
    """The law of one accelerator.

    parameters: utilisations of the datasheet rates (1), startup and loop (s), exponent (1).
    deviations: measured over law time at the largest fitted degree, by kernel and tokens.
    carried: share of a deviation (in its logarithm) that larger degrees keep.
    """

    accelerator: str
    parameters: dict[str, float]
    carried: float
    deviations: pd.Series
    fit_on: tuple[int, ...]

    def time(self, flops, traffic, inner):
        """The law's time (s) of any GEMM: flops (FLOP), traffic (B), inner width."""
        return law_time(self.accelerator, flops, traffic, inner, **self.parameters)

    def carried_times(self, work: pd.DataFrame) -> np.ndarray:
        """Times (s) of the rows of a table of shards at degrees beyond the fit, deviations carried.

        Rows at a fitted degree get the law alone, and so do kernels and tokens without deviation.
        """
        base = self.time(*_work(work))
        keys = pd.MultiIndex.from_frame(work[["kernel", "tokens"]])
        deviation = self.deviations.reindex(keys).fillna(1.0).to_numpy()
        deviation = np.where(work["p"].isin(self.fit_on), 1.0, deviation)
        return carried_time(base, deviation, self.carried)


def law_time(card: str, flops, traffic, inner, eta_compute, eta_memory, startup, loop, exponent):
    """The law's time (s) at utilisations of an accelerator's datasheet rates."""
    spec = accelerator(card)
    rates = eta_compute * spec.peak_flops, eta_memory * spec.memory_bandwidth
    return gemm_kernel_time(flops, traffic, inner, *rates, startup, loop, exponent)


def _work(rows: pd.DataFrame) -> list[np.ndarray]:
    return [rows[name].to_numpy() for name in ("flops", "traffic", "inner")]


@cache
def _gemm_shards(model_id: str) -> pd.DataFrame:
    table = gemm_work(model_id)
    geometry = model(model_id)
    widths = {}
    for p in table["p"].unique():
        local = rank_model(geometry, int(p))
        widths |= {(p, name): geometry.hidden for name in ("qkv", "mlp_up")}
        widths[p, "attention_out"] = local.heads * local.head_dim
        widths[p, "mlp_down"] = local.intermediate
    table["inner"] = [widths[key] for key in zip(table["p"], table["kernel"])]
    table["columns"] = table["flops"] / (2 * table["tokens"] * table["inner"])
    return table


def gemm_shards(model_id: str) -> pd.DataFrame:
    """kernel_fit.gemm_work with the inner width and the columns of each shard.

    Raises ValueError for a model without a table of times.
    """
    return _gemm_shards(model_id).copy()


def fit_gemm_law(work: pd.DataFrame, card: str, fit_on: tuple[int, ...] = (1, 2)) -> GemmLaw:
    """Fit the law to an accelerator's rows at the degrees fit_on, by least squares of T_law/T - 1.

    work: a table as gemm_shards returns it. The carried share is the correlation, about zero, of
    the logarithms of the deviations at the two largest fitted degrees, at least 0.
    Raises ValueError when fewer than two of the degrees are in the table.
    """
    rows = work[(work["accelerator"] == card) & work["p"].isin(fit_on)]
    found = sorted(int(p) for p in rows["p"].unique())
    if len(found) < 2:
        raise ValueError(f"fit_on must name two measured degrees of {card!r}, got {fit_on}")

    def time(rows, **parameters):
        return law_time(card, *_work(rows), **parameters)

    parameters = fit_parameters(time, BOUNDS, rows)
    deviation = rows.assign(deviation=rows["time_s"] / time(rows, **parameters)).pivot_table(
        index=["kernel", "tokens"], columns="p", values="deviation"
    )
    before, last = (np.log(deviation.dropna()[p].to_numpy()) for p in found[-2:])
    spread = np.sqrt(before @ before * (last @ last))
    carried = round(float(np.clip(before @ last / spread, 0, 1)), DIGITS) if spread else 0.0
    return GemmLaw(card, parameters, carried, deviation[found[-1]].dropna(), tuple(found))


def fit_parameters(time: Callable, bounds: dict[str, tuple], rows: pd.DataFrame) -> dict:
    """Parameters that minimise the sum of (time/T - 1)^2 over a table's rows, to four digits.

    time: of (rows, **parameters), s. bounds: (low, high, guess, unit) by parameter.
    """
    low, high, guess, unit = (np.array(x, float) for x in zip(*bounds.values()))
    measured = rows["time_s"].to_numpy()

    def named(values):
        return dict(zip(bounds, values * unit))

    stop = dict.fromkeys(("xtol", "ftol", "gtol"), TOLERANCE) | {"max_nfev": EVALUATIONS}
    found = least_squares(
        lambda x: time(rows, **named(x)) / measured - 1, guess, bounds=(low, high), **stop
    )
    # A parameter on its lower bound comes back as the solver's last tiny step above it.
    settled = np.where(found.x - low < 1e-6, low, found.x)
    return {name: float(f"{value:.{DIGITS}g}") for name, value in named(settled).items()}


@cache
def gemm_law(card: str) -> GemmLaw:
    """The law of an accelerator for predictions: fitted to every measured degree of every model.

    Raises ValueError for an accelerator without GEMM times.
    """
    work = pd.concat([gemm_shards(id) for id in ("llama-2-7b", "llama-2-70b")], ignore_index=True)
    known = sorted(work["accelerator"].unique())
    if card not in known:
        raise ValueError(f"no GEMM times of {card!r}; measured: {', '.join(known)}")
    rows = work[work["accelerator"] == card]
    return fit_gemm_law(rows, card, tuple(int(p) for p in sorted(rows["p"].unique())))
