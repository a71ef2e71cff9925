"""The forms of GEMM law that were tried, each a time of a table's rows under its parameters.

Dots stand for the form "norm, start-up, loop over the inner width", which the others alter.
Which one was taken, and why, is in gemm_choice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tpbook.gemm_law import BOUNDS, law_time
from tpbook.hardware import accelerator

# Multiprocessors of the card, from the vendor's architecture papers.
MULTIPROCESSORS = {"a40": 84, "a100-80gb-pcie": 108, "h100-sxm": 132}
L2_BYTES = {"a40": 6e6, "a100-80gb-pcie": 40e6, "h100-sxm": 50e6}
ONE_TILE = 64  # rows up to which one tile covers them all
TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
BOUNDS_OF_ALL = BOUNDS | {
    "strength": (0.0, 3.0, 0.3, 1.0),
    "tile_loss": (0.0, 1.0, 0.1, 1.0),
    "tail": (0.0, 20.0, 1.0, 1.0),
    "tile_startup": (0.0, 50.0, 1.0, 1e-6),
    "exponent_few": (1.0, 20.0, 1.6, 1.0),
    "throttle": (-0.5, 0.5, 0.0, 1.0),
    "cached": (0.0, 1.0, 0.2, 1.0),
    "wave_startup": (0.0, 20.0, 0.5, 1e-6),
    "split_cost": (0.0, 20.0, 1.0, 1.0),
}


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


def _two_startups(rows, tile_startup, **parameters):
    return _loop(rows, **parameters) + tile_startup * (rows["tokens"].to_numpy() > ONE_TILE)


def _two_exponents(rows, exponent, exponent_few, **parameters):
    few = (rows["tokens"] <= ONE_TILE).to_numpy()
    return _loop(rows, **parameters, exponent=np.where(few, exponent_few, exponent))


def _throttled(rows, eta_compute, eta_memory, startup, loop, exponent, throttle):
    compute, memory = _roofs(rows, eta_compute, eta_memory)
    slower = (rows["flops"].to_numpy() / 1e11) ** throttle
    return startup + rows["inner"].to_numpy() * loop + _norm(exponent, compute * slower, memory)


def _cached(rows, eta_compute, eta_memory, startup, loop, exponent, cached):
    """A share of the bytes that fit into the L2 cache is still there from the repeat before."""
    compute, memory = _roofs(rows, eta_compute, eta_memory)
    fits = np.minimum(1, L2_BYTES[rows["accelerator"].iloc[0]] / rows["traffic"].to_numpy())
    roofs = _norm(exponent, compute, memory * (1 - cached * fits))
    return startup + rows["inner"].to_numpy() * loop + roofs


def _menu(rows, splits, eta_compute, eta_memory, startup, loop, exponent, tile_loss, **more):
    """The fastest of a menu of tiles and of parts that the inner width is split into.

    Every wave runs a whole tile on each multiprocessor; split_cost weighs the partial sums' bytes.
    """
    card = accelerator(rows["accelerator"].iloc[0])
    units = MULTIPROCESSORS[card.id]
    tokens, columns, inner, traffic = (
        rows[name].to_numpy() for name in ("tokens", "columns", "inner", "traffic")
    )
    fastest = np.inf
    for height, width in TILES:
        area = height * width
        rate = eta_compute * card.peak_flops / units * (area / 256 / 128) ** tile_loss
        tiles = np.ceil(tokens / height) * np.ceil(columns / width)
        for split in splits:
            waves = np.ceil(tiles * split / units)
            sums = more.get("split_cost", 0) * 4 * split * tokens * columns * (split > 1)
            memory = (traffic + sums) / (eta_memory * card.memory_bandwidth)
            roofs = _norm(exponent, waves * 2 * area * inner / split / rate, memory)
            latency = waves * (inner / split * loop + more.get("wave_startup", 0))
            fastest = np.minimum(fastest, roofs + latency)
    return startup + fastest


RATES = ("eta_compute", "eta_memory", "startup")
CHOSEN = (*RATES, "loop", "exponent")
MENU = (*CHOSEN, "tile_loss")
LOOP = Form("norm, start-up, loop over the inner width", CHOSEN, _loop)
TWO_EXPONENTS = Form(
    "... one exponent up to 64 rows, one above", (*CHOSEN, "exponent_few"), _two_exponents
)
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
    Form("... longer start-up above 64 rows", (*CHOSEN, "tile_startup"), _two_startups),
    Form("... compute rate a power of the work", (*CHOSEN, "throttle"), _throttled),
    TWO_EXPONENTS,
    Form("... bytes that fit into the L2 cache partly kept there", (*CHOSEN, "cached"), _cached),
    Form("the fastest of six tiles, whole waves, loop in each", MENU, partial(_menu, splits=(1,))),
    Form(
        "the fastest of six tiles, a start-up in each wave",
        (*MENU, "wave_startup"),
        partial(_menu, splits=(1,)),
    ),
    Form(
        "the fastest of six tiles, inner width split by up to 8",
        (*MENU, "split_cost"),
        partial(_menu, splits=(1, 2, 4, 8)),
    ),
)
