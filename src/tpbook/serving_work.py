"""What a serving prediction needs to know of a model and of a machine: amounts and rates."""

from dataclasses import dataclass

import numpy as np

from tpbook import checks
from tpbook.geometry import Model
from tpbook.hardware import Accelerator, Fabric, accelerator, fabric
from tpbook.models import layer_parameters
from tpbook.topology import line_rate

# Share of the line rate that a ring attains where no source says: the mean of the catalogue's
# A100 (230 of 300 GB/s) and H100 (370 of 450 GB/s), rounded down.
ASSUMED_SHARE = 0.75


@dataclass(frozen=True)
class Work:
    """The amounts of a dense decoder that the terms scale, all ranks together.

    weight_bytes: read by one pass (layers and output head), B. token_flops: of one token, FLOP.
    prompt_flops: per squared prompt token, in causal attention, FLOP. cache_bytes: of one cached
    token, B; kv_heads: no rank holds less than one of them. collectives: all-reduces of one pass.
    hidden: width. element_bytes: B. window: the most tokens that attention looks back, or None.
    """

    weight_bytes: float
    token_flops: float
    head_flops: float
    prompt_flops: float
    cache_bytes: float
    kv_heads: int
    layers: int
    collectives: int
    hidden: int
    element_bytes: float
    window: int | None = None


@dataclass(frozen=True)
class Machine:
    """The rates of one device and of its network.

    peak: dense FLOP/s. memory_bandwidth: B/s. memory_bytes: B. share: what collectives attain of
    the line rate. network: its wiring gives the line rate at each degree, None for a single
    device. across: B/s per direction beyond a pair, where the network joins pairs only.
    measured: B/s by degree where an all-reduce table was timed; it goes before the line rate.
    """

    title: str
    peak: float
    memory_bandwidth: float
    memory_bytes: float
    network: Fabric | None
    share: float
    across: float | None = None
    measured: tuple[tuple[int, float], ...] = ()

    def bandwidth(self, p):
        """Network rate in B/s per direction that p ranks attain; p is a number or an array.

        Raises ValueError for a degree that the network does not join.
        """
        degrees, place = np.unique(np.asarray(p), return_inverse=True)
        rates = np.array([self._rate(int(each)) for each in degrees])
        return rates[place].reshape(np.shape(p))[()]

    def _rate(self, p: int) -> float:
        known = dict(self.measured)
        if p == 1:
            return np.inf
        if p in known:
            return known[p]
        if self.network is None:
            raise ValueError(f"{self.title} has no network, so p must be 1, got {p}")
        rate = line_rate(self.network, p)
        if rate is None:
            rate = self.across
        if rate is None:
            raise ValueError(
                f"{self.network.title} joins two devices, got p = {p}: name the fabric beyond them"
            )
        return rate * self.share


def model_work(model: Model, element_bytes: float = 2) -> Work:
    """The amounts of a model; element_bytes: bytes of one weight and of one cached value."""
    checks.positive(element_bytes=element_bytes)
    matrices = model.layers * layer_parameters(model)
    head = model.vocab * model.hidden
    return Work(
        weight_bytes=element_bytes * (matrices + head),
        token_flops=2.0 * (matrices + head),
        head_flops=2.0 * head,
        prompt_flops=2.0 * model.layers * model.heads * model.head_dim,
        cache_bytes=2.0 * element_bytes * model.layers * model.kv_heads * model.head_dim,
        kv_heads=model.kv_heads,
        layers=model.layers,
        collectives=model.layers * model.allreduces_per_layer,
        hidden=model.hidden,
        element_bytes=element_bytes,
        window=model.sliding_window,
    )


def machine(card: str, network: str | None = None) -> Machine:
    """The machine of a catalogue accelerator, with its own network or a fabric of the catalogue.

    Raises ValueError that lists the known ids.
    """
    found = accelerator(card)
    return machine_of(found, fabric(network) if network else found.network)


def machine_of(card: Accelerator, network: Fabric) -> Machine:
    """The machine of an accelerator record and a fabric record."""
    share = ASSUMED_SHARE
    if network.effective:
        share = network.effective / network.per_direction
    return Machine(
        card.title, card.peak_flops, card.memory_bandwidth, card.memory_bytes, network, share
    )
