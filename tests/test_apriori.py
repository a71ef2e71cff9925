"""The a-priori step: closed form, limits, the bound of its compute, the border of a bridge."""

import numpy as np
import pytest

from tpbook import apriori, steps
from tpbook.hardware import accelerator, fabric
from tpbook.models import model, parameters
from tpbook.modified_amdahl import modified_amdahl_time
from tpbook.notation import symbols
from tpbook.symbolic import same
from tpbook.systems import load_system, systems

LLAMA = model("llama-2-7b")
SYSTEMS = {id: load_system(id) for id in systems()}
every_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
A40 = SYSTEMS["quad-a40-hoststaged"]


def alpha(p):
    return sum(apriori.budget(A40, p).values())


def test_with_perfectly_shared_work_it_is_the_modified_law_at_full_utilisation():
    p, work, write, count, size, latency, beta = symbols(
        "p work_time write_time collectives message alpha beta"
    )
    step = apriori.apriori_step_time(p, work / p, write / p, count, size, latency, beta)
    law = modified_amdahl_time(p, work + write, 1, count, size, latency, beta)
    assert same(step, law)


@every_system
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_predicted_compute_is_a_lower_bound(system, phase):
    """No measured or estimated category of any step is faster than its roof."""
    for context in steps.contexts(system, phase):
        predicted = apriori.predict_steps(system, LLAMA, phase, context, alpha)
        observed = steps.phase_times(system, phase, context)
        for name in ("weight_gemm", "attention", "other"):
            if name in observed:
                # The tables keep six digits, and some of their entries are the roof itself.
                assert (predicted[name] <= observed[name] * (1 + 1e-5)).all()


def test_terms_add_up_and_one_rank_does_not_communicate():
    predicted = apriori.predict_steps(A40, LLAMA, "decode", 512, alpha)
    terms = predicted[[*apriori.COMPUTE, *apriori.NETWORK]]
    np.testing.assert_allclose(terms.sum(axis=1), predicted["total"], rtol=1e-12)
    alone = predicted.loc[1]
    assert (alone[list(apriori.NETWORK)] == 0).all(axis=None)


def test_weights_of_a_decode_step_are_read_once():
    """At batch 1 the products take their bytes over the memory bandwidth, split evenly."""
    predicted = apriori.predict_steps(A40, LLAMA, "decode", 512, alpha)["weight_gemm"]
    card = accelerator("a40")

    ledger = parameters(LLAMA)
    read = 2 * (ledger["layers"] + ledger["lm_head"]) / card.memory_bandwidth
    assert predicted[1, 1] == pytest.approx(read, rel=2e-3)
    assert predicted[4, 1] == pytest.approx(read / 4, rel=5e-3)


def test_a_ring_that_leaves_its_bridge_runs_at_the_slot():
    bridge = SYSTEMS["quad-a40-bridge"]
    assert [apriori.link(bridge, p) for p in (2, 4)] == ["nvlink", "pcie"]
    assert apriori.line_rate(bridge, 2) == bridge.bandwidth.value
    assert apriori.line_rate(bridge, 4) == fabric("pcie4-x16").per_direction
    assert apriori.link(SYSTEMS["quad-a100-sxm"], 4) == "nvlink"
    assert apriori.line_rate(A40, 4) == A40.bandwidth.value


def test_only_pcie_crosses_the_host():
    assert apriori.budget(SYSTEMS["octo-h100-sxm"], 8)["crossing"] == 0
    assert apriori.budget(A40, 4)["crossing"] == 3 * apriori.budget(A40, 2)["crossing"] > 0
    assert set(apriori.budget(A40, 1, launch=5e-6).values()) == {0}


def test_a_split_keeps_the_time_and_follows_the_law():
    latency, bandwidth = apriori.split_communication(3.0, 4, 6.0, 2.0, 3.0)
    # The law takes 2 + 2 * 3 * 6 / (4 * 3) = 5 s, two fifths of them latency.
    assert (latency, bandwidth) == (pytest.approx(1.2), pytest.approx(1.8))
    both = apriori.split_communication(
        np.array([1.0, 4.0]), np.array([1, 2]), np.array([8.0, 8.0]), 1.0, 8 / 3
    )
    np.testing.assert_allclose(both, [[0, 1], [0, 3]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: apriori.apriori_step_time(2, -1, 0, 1, 1, 0, 1), "rank_time must be zero or"),
        (lambda: apriori.split_communication(-1.0, 2, 1, 1, 1), "time must be zero or positive"),
        (lambda: apriori.split_communication(1.0, 2, 0, 0, 1), "alpha and message must not both"),
        (lambda: apriori.budget(A40, 0), "p must be at least 1"),
        (lambda: apriori.predict_steps(A40, LLAMA, "decode", 7, alpha), "no decode steps at cont"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
