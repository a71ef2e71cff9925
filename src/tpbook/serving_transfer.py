"""A calibration carried to another accelerator: what is of the engine stays, what is of the chip moves.

Utilisations are shares of a datasheet rate and stay; overheads are the host's seconds and stay.
A latency that a chip spends in its own cycles, the walk along the cache and the handshake of a
collective, is divided by the ratio of the clocks.
"""

from dataclasses import replace

from tpbook.hardware import clock
from tpbook.serving_model import Parameters

DEVICE_CYCLES = ("walk", "alpha")


def clock_ratio(source: str, target: str) -> float:
    """Clock of the target over that of the source; 1 where the catalogue lacks one of them.

    Raises ValueError for an unknown accelerator.
    """
    known = clock(source), clock(target)
    return known[1] / known[0] if all(known) else 1.0


def carried(found: Parameters, source: str, target: str) -> Parameters:
    """The parameters on another accelerator; source, target: catalogue ids."""
    ratio = clock_ratio(source, target)
    return replace(found, **{name: getattr(found, name) / ratio for name in DEVICE_CYCLES})
