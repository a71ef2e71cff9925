"""The latency budget: its closed form, its table, and what it refuses."""

import pytest
import sympy

from tpbook import latency_budget as lb
from tpbook.collectives import ring_allreduce_time, ring_allreduce_time_per_hop
from tpbook.notation import symbols
from tpbook.symbolic import same


def test_the_budget_holds_both_conventions_of_latency():
    """Without hops it is one latency per collective, without the rest one per hop."""
    p, launch, base, hop, alpha, beta = symbols("p launch base alpha_hop alpha beta")
    lumped = lb.latency_budget(p, alpha, 0, 0, 0)
    assert same(lumped, ring_allreduce_time(p, 0, alpha, beta))
    assert same(lb.latency_budget(p, 0, 0, hop, 0), ring_allreduce_time_per_hop(p, 0, hop, beta))
    both = lb.latency_budget(p, launch, base, hop, 0)
    assert sympy.diff(both, p) == 2 * hop


def test_one_rank_pays_nothing():
    assert lb.latency_budget(1, 5e-6, 6e-6, 1e-6, 1e-6) == 0


@pytest.mark.parametrize(
    ("link", "p", "ll", "ll128", "simple"),
    [
        # Latencies that NCCL's formula gives for its ring, as tabulated from the source.
        ("nvlink", 2, 7.8, 17.8, 15.2),
        ("nvlink", 8, 15.0, 40.6, 56.0),
        ("pcie", 2, 8.6, 19.0, 19.8),
        ("pcie", 4, 12.6, 29.0, 42.6),
    ],
)
def test_the_ring_of_nccl_comes_out(link, p, ll, ll128, simple):
    for protocol, microseconds in (("LL", ll), ("LL128", ll128), ("Simple", simple)):
        base, hop = lb.nccl_latency(link, "ring", protocol)
        assert lb.latency_budget(p, 0, base, hop, 0) == pytest.approx(microseconds * 1e-6)


def test_the_short_message_protocol_is_the_fastest_everywhere():
    for link in ("nvlink", "pcie"):
        for algorithm in ("ring", "tree"):
            times = [
                lb.latency_budget(8, 0, *lb.nccl_latency(link, algorithm, protocol), 0)
                for protocol in ("LL", "LL128", "Simple")
            ]
            assert min(times) == times[0]


def test_every_part_says_how_it_is_known():
    for name in ("kernel_launch", "framework_launch", "host_read", "numa_crossing"):
        part = lb.part(name)
        assert part.status in lb.STATUSES and part.source
        if part.low is not None:
            assert part.low <= part.value <= part.high
    assert "BSD-3-Clause" in lb.nccl_source()["licence"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lb.latency_budget(0, 0, 1, 1, 0), "p must be at least 1"),
        (lambda: lb.latency_budget(2, 0, -1, 1, 0), "base must be zero or positive"),
        (lambda: lb.nccl_latency("token ring"), "unknown link 'token ring'; known: nvlink, pcie"),
        (lambda: lb.nccl_latency("pcie", protocol="LL64"), "unknown protocol 'LL64'"),
        (lambda: lb.part("luck"), "unknown part of the latency 'luck'"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
