"""What a collective of p devices gets of a network's line rate: wiring decides."""

from tpbook import checks
from tpbook.hardware import Fabric


def line_rate(network: Fabric, p: int) -> float | None:
    """Line rate of one device per direction towards p - 1 peers of its network, in B/s.

    A switch gives each device all its links to any peers. A full mesh has one share of links for
    each peer, so p - 1 of them. A pair bridge reaches one peer and no more: None beyond p = 2,
    where traffic leaves the bridge for the host. A ring on a torus gives each device two
    neighbours, one link each; two devices share a single link. Through the host, one slot
    carries everything.
    network: from tpbook.hardware. p: degree above 1. Raises ValueError for p <= 1 or not
    whole, and for more devices than a mesh joins.
    """
    checks.several(p=p)
    checks.whole(p=p)
    if network.topology == "mesh":
        if p - 1 > network.links:
            raise ValueError(f"p must be at most {network.links + 1} on {network.title}, got {p}")
        return (p - 1) * network.rate_per_link
    if network.topology == "pairs":
        return network.per_direction if p == 2 else None
    if network.topology == "torus":
        return min(p - 1, 2, network.links) * network.rate_per_link
    return network.per_direction
