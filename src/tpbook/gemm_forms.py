"""Every form of GEMM law that was tried, judged on one accelerator: the list behind the choice.

All forms are fitted to p = 1 and 2 by least squares of T_law/T - 1. On the A100 with Llama-2-7B
the smooth part was chosen first (of forms whose medians at p = 4 and 8 lie within a tenth of a
point of each other, a plain sum of as few terms as possible), then what to do with the deviations
(the smallest median). The result went to the other accelerators and to Llama-2-70B as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tpbook.gemm_law import (
    BOUNDS,
    GemmLaw,
    fit_gemm_law,
    fit_parameters,
    gemm_shards,
    law_time,
)
from tpbook.hardware import accelerator

CARRIED = "what two degrees share"
CHOSEN_ON = ("llama-2-7b", "a100-80gb-pcie")
# Multiprocessors of the card, from the vendor's architecture papers.
MULTIPROCESSORS = {"a40": 84, "a100-80gb-pcie": 108, "h100-sxm": 132}
TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
# Megatron's two ways to cut a weight: across its columns, or across the width summed over.
CUT = {"qkv": "columns", "mlp_up": "columns", "attention_out": "inner", "mlp_down": "inner"}
MORE = {
    "strength": (0.0, 3.0, 0.3, 1.0),
    "tile_loss": (0.0, 1.0, 0.1, 1.0),
    "tail": (0.0, 20.0, 1.0, 1.0),
}
# Length scales of the kriging, by maximum likelihood on the fitted degrees of CHOSEN_ON.
KRIGING = {"rows": 0.16, "inner": 1.2, "spread": 0.072, "noise": 0.054}


@dataclass(frozen=True)
class Form:
    """A form: its name, its parameters with bounds, and the time (s) of a table's rows."""

    name: str
    parameters: tuple[str, ...]
    time: Callable


def _roofs(rows, eta_compute, eta_memory):
    card = accelerator(rows["accelerator"].iloc[0])
    compute = rows["flops"].to_numpy() / (eta_compute * card.peak_flops)
    return compute, rows["traffic"].to_numpy() / (eta_memory * card.memory_bandwidth)


def _norm(exponent, *parts):
    largest = np.maximum.reduce(parts)
    return largest * sum((part / largest) ** exponent for part in parts) ** (1 / exponent)


def _waves(rows, height=128, width=128):
    """Tiles of one output over the multiprocessors: waves that run, and waves counted whole."""
    tiles = np.ceil(rows["tokens"] / height) * np.ceil(rows["columns"] / width)
    waves = (tiles / MULTIPROCESSORS[rows["accelerator"].iloc[0]]).to_numpy()
    return waves, np.ceil(waves)


def _hard(rows, eta_compute, eta_memory, startup):
    return startup + np.maximum(*_roofs(rows, eta_compute, eta_memory))


def _one(rows, eta_compute):
    return np.maximum(*_roofs(rows, eta_compute, eta_compute))


def _sum(rows, eta_compute, eta_memory, startup):
    return startup + sum(_roofs(rows, eta_compute, eta_memory))


def _plain(rows, eta_compute, eta_memory, startup, exponent):
    return startup + _norm(exponent, *_roofs(rows, eta_compute, eta_memory))


def _loop(rows, **parameters):
    card = rows["accelerator"].iloc[0]
    work = (rows[name].to_numpy() for name in ("flops", "traffic", "inner"))
    return law_time(card, *work, **parameters)


def _loop_inside(rows, eta_compute, eta_memory, startup, loop, exponent):
    roofs = _roofs(rows, eta_compute, eta_memory)
    return startup + _norm(exponent, *roofs, np.maximum(rows["inner"].to_numpy() * loop, 1e-12))


def _whole_waves(rows, eta_compute, eta_memory, startup, loop, exponent, strength):
    compute, memory = _roofs(rows, eta_compute, eta_memory)
    waves, whole = _waves(rows)
    slower = 1 + strength * (whole / waves - 1)
    return startup + rows["inner"].to_numpy() * loop + _norm(exponent, compute * slower, memory)


def _best_tile(rows, eta_compute, eta_memory, startup, loop, exponent, tile_loss, strength):
    compute, memory = _roofs(rows, eta_compute, eta_memory)
    outputs = (rows["tokens"] * rows["columns"]).to_numpy()
    units = MULTIPROCESSORS[rows["accelerator"].iloc[0]]
    costs = []
    for height, width in TILES:
        _, whole = _waves(rows, height, width)
        area = height * width
        costs.append(whole * units * area / outputs / (area / 256 / 128) ** tile_loss)
    slower = 1 + strength * (np.minimum.reduce(costs) - 1)
    return startup + rows["inner"].to_numpy() * loop + _norm(exponent, compute * slower, memory)


def _padded_rows(rows, eta_compute, eta_memory, startup, loop, exponent, strength):
    compute, memory = _roofs(rows, eta_compute, eta_memory)
    tokens = rows["tokens"].to_numpy()
    slower = 1 + strength * (np.ceil(tokens / 128) * 128 / tokens - 1)
    return startup + rows["inner"].to_numpy() * loop + _norm(exponent, compute * slower, memory)


def _last_wave(rows, eta_compute, eta_memory, startup, loop, exponent, tail):
    card = accelerator(rows["accelerator"].iloc[0])
    units = MULTIPROCESSORS[card.id]
    outputs = np.minimum((rows["tokens"] * rows["columns"]).to_numpy(), units * 128 * 128)
    parameters = {"eta_compute": eta_compute, "eta_memory": eta_memory, "startup": startup}
    base = _loop(rows, **parameters, loop=loop, exponent=exponent)
    return base + tail * 2 * outputs / card.memory_bandwidth


def _overlap(rows, eta_compute, eta_memory, startup, loop, strength):
    waves, _ = _waves(rows)
    exponent = 1 + strength * waves / (1 + waves)
    roofs = _roofs(rows, eta_compute, eta_memory)
    return startup + rows["inner"].to_numpy() * loop + _norm(exponent, *roofs)


RATES = ("eta_compute", "eta_memory", "startup")
CHOSEN = (*RATES, "loop", "exponent")
LOOP = Form("norm, start-up, loop over the inner width", CHOSEN, _loop)
FORMS = (
    Form("hard roof, one utilisation", ("eta_compute",), _one),
    Form("hard roof and start-up", RATES, _hard),
    Form("smooth roof and start-up", RATES, _sum),
    Form("norm and start-up", (*RATES, "exponent"), _plain),
    LOOP,
    Form("... loop as a third roof", CHOSEN, _loop_inside),
    Form("... compute in whole waves of 128 x 128 tiles", (*CHOSEN, "strength"), _whole_waves),
    Form(
        "... whole waves of the best of six tiles", (*CHOSEN, "tile_loss", "strength"), _best_tile
    ),
    Form("... rows padded to 128", (*CHOSEN, "strength"), _padded_rows),
    Form("... output of the last wave not hidden", (*CHOSEN, "tail"), _last_wave),
    Form("... roofs overlap only over several waves", (*RATES, "loop", "strength"), _overlap),
)


def judged_forms(model: str = CHOSEN_ON[0], card: str = CHOSEN_ON[1]) -> pd.DataFrame:
    """Every form's median and mean error beyond the fit, in the order they were tried.

    Columns: form, parameters (how many), median_4, median_8, median (p = 4 and 8 together), bias.
    Raises ValueError for a model or accelerator without GEMM times.
    """
    work = gemm_shards(model)
    work = work[work["accelerator"] == card].reset_index(drop=True)
    bounds = BOUNDS | MORE
    fitted = work[work["p"] <= 2]
    judged = []
    for form in FORMS:
        found = fit_parameters(form.time, {x: bounds[x] for x in form.parameters}, fitted)
        judged.append((form.name, len(found), form.time(work, **found)))
    law = fit_gemm_law(work, card)
    for name, times in _carries(law, work).items():
        judged.append((f"... deviation carried: {name}", len(CHOSEN) + 1, times))
    judged.append(("... deviations by kriging in rows and inner width", 9, _kriging(law, work)))
    rows = []
    for name, count, times in judged:
        error = pd.Series(times / work["time_s"].to_numpy() - 1)
        size, p = error.abs(), work["p"]
        rows.append(
            {
                "form": name,
                "parameters": count,
                "median_4": size[p == 4].median(),
                "median_8": size[p == 8].median(),
                "median": size[p > 2].median(),
                "bias": error[p > 2].mean(),
            }
        )
    return pd.DataFrame(rows)


def _carries(law: GemmLaw, work: pd.DataFrame) -> dict[str, np.ndarray]:
    """Times with other shares of the deviations, by what the share is."""
    base = _loop(work, **law.parameters)
    deviations = pd.Series(np.log(work["time_s"].to_numpy() / base)).groupby(
        [work["kernel"], work["tokens"], work["p"]]
    )
    table = deviations.first().unstack()[list(law.fit_on)]
    keys = pd.MultiIndex.from_frame(work[["kernel", "tokens"]])
    before, last = (table[p].reindex(keys).to_numpy() for p in law.fit_on)
    inner = (work["kernel"].map(CUT) == "inner").to_numpy()
    shares = {
        cut: np.sum((before * last)[rows])
        / np.sqrt(np.sum(before[rows] ** 2) * np.sum(last[rows] ** 2))
        for cut, rows in (("inner", inner), ("columns", ~inner))
    }
    by_cut = np.where(inner, shares["inner"], max(shares["columns"], 0.0))
    doublings = np.log2(work["p"].to_numpy() / law.fit_on[-1])
    carried = {
        "all of it": last,
        "all of it, inner width cut": np.where(inner, last, 0),
        "what two degrees share, inner width cut": np.where(inner, shares["inner"] * last, 0),
        "what two degrees share, by cut": by_cut * last,
        "what two degrees share, by cut, at every doubling": by_cut**doublings * last,
        "what two degrees share, at every doubling": law.carried**doublings * last,
        "mean of both degrees, shrunk": law.carried / (1 + law.carried) * (before + last),
    }
    times = {name: base * np.exp(deviation) for name, deviation in carried.items()}
    return times | {CARRIED: law.carried_times(work)}


def _kriging(law: GemmLaw, work: pd.DataFrame) -> np.ndarray:
    base = _loop(work, **law.parameters)
    residual = np.log(work["time_s"].to_numpy() / base)
    rows, inner = (np.log(work[name].to_numpy()) for name in ("tokens", "inner"))
    columns = work["columns"].to_numpy()
    distance = np.sqrt(
        3 * ((rows[:, None] - rows) / KRIGING["rows"]) ** 2
        + 3 * ((inner[:, None] - inner) / KRIGING["inner"]) ** 2
    )
    # Shards of different width are taken to deviate independently; so maximum likelihood says.
    same = columns[:, None] == columns
    covariance = KRIGING["spread"] ** 2 * (1 + distance) * np.exp(-distance) * same
    known = (work["p"] <= law.fit_on[-1]).to_numpy()
    noise = KRIGING["noise"] ** 2 * np.eye(known.sum())
    weights = np.linalg.solve(covariance[np.ix_(known, known)] + noise, residual[known])
    return base * np.exp(covariance[:, known] @ weights)
