"""The wiring's share of a line rate."""

import pytest

from tpbook.hardware import accelerator
from tpbook.topology import line_rate


def test_a_switch_gives_everything_to_any_number():
    network = accelerator("h100-sxm").network
    assert {line_rate(network, p) for p in (2, 4, 8)} == {network.per_direction}


def test_a_mesh_gives_a_link_per_peer_and_all_of_them_at_the_end():
    network = accelerator("mi300x").network
    assert line_rate(network, 2) == network.rate_per_link
    assert line_rate(network, 8) == network.per_direction
    with pytest.raises(ValueError, match="^p must be at most 8"):
        line_rate(network, 9)


def test_a_bridge_joins_two():
    network = accelerator("a40").network
    assert line_rate(network, 2) == network.per_direction
    assert line_rate(network, 4) is None


def test_a_ring_on_a_torus_has_two_links():
    network = accelerator("tpu-v5e").network
    assert line_rate(network, 4) == 2 * network.rate_per_link < network.per_direction
    assert line_rate(network, 2) == network.rate_per_link


def test_the_host_is_shared_by_nobody_else():
    network = accelerator("l40s").network
    assert line_rate(network, 8) == network.per_direction


def test_one_device_has_no_network():
    with pytest.raises(ValueError, match="^p must be above 1"):
        line_rate(accelerator("h100-sxm").network, 1)


def test_a_fraction_of_a_device_is_refused():
    with pytest.raises(ValueError, match="^p must be whole, got 2.5"):
        line_rate(accelerator("a100-80gb-sxm4").network, 2.5)
