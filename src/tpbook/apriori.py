"""A step predicted from specifications alone: roofs at full utilisation, line rates, a latency.

Nothing is fitted to the system. Each rank's kernels take their roofline time, each all-reduce a
latency and its ring traffic at the line rate.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from tpbook import checks
from tpbook.category_utilisation import category_work
from tpbook.equation import equation
from tpbook.geometry import Model
from tpbook.hardware import Accelerator, accelerator, fabrics
from tpbook.latency_budget import latency_budget, nccl_latency, part
from tpbook.modified_amdahl import communication_time
from tpbook.step_collectives import step_collectives
from tpbook.system_record import System

COMPUTE = ("weight_gemm", "attention", "kv_copy", "other")
NETWORK = ("latency", "bandwidth")


@equation("eq-apriori-step", symbol="time")
def apriori_step_time(p, rank_time, write_time, collectives, message, alpha, beta):
    """Time T_rank + T_write + K [alpha + 2(p-1)M/(p beta)] of a step on p ranks, nothing fitted.

    p: degree. rank_time: roofline time of one rank's kernels (s), the sum of eq-ideal-time.
    write_time: roofline time to write the new keys and values (s). collectives: K. message: B.
    alpha: s per collective. beta: B/s per direction. Raises ValueError for a value out of range.
    Source: the outline, section 4.3, with eta = 1.
    """
    checks.nonnegative(rank_time=rank_time, write_time=write_time)
    return rank_time + write_time + communication_time(p, collectives, message, alpha, beta)


def link(system: System, p: int) -> str:
    """The link that a ring of p devices has to cross, by the system's fabric: nvlink or pcie.

    A fabric of both (bridged pairs) leaves NVLink beyond two devices.
    """
    both = "PCIe" in system.fabric
    return "nvlink" if "NVLink" in system.fabric and (p <= 2 or not both) else "pcie"


def line_rate(system: System, p: int) -> float:
    """Line rate (B/s per direction) of the slowest link in a ring of p devices.

    The system's own rate, or that of the card's PCIe slot where the ring leaves NVLink for it.
    """
    rate = system.bandwidth.value
    generation = accelerator(system.accelerator).pcie_generation
    slot = fabrics().get(f"pcie{generation}-x16")
    if link(system, p) == "pcie" and slot is not None:
        return min(rate, slot.per_direction)
    return rate


def budget(system: System, p: int, launch: float = 0.0) -> dict[str, float]:
    """The parts (s) of one all-reduce's latency on p devices: launch, base, hops, crossing.

    launch: s, 0 for times that count the kernel only. NCCL's ring with protocol LL; a step over
    PCIe also crosses the host. Their sum is eq-latency-budget.
    Raises ValueError for p < 1 or a negative launch.
    """
    base, hop = nccl_latency(link(system, p))
    crossing = 0.0
    if link(system, p) == "pcie":
        crossing = part("host_read").value + part("numa_crossing").value
    return {
        "launch": float(latency_budget(p, launch, 0, 0, 0)),
        "base": float(latency_budget(p, 0, base, 0, 0)),
        "hops": float(latency_budget(p, 0, 0, hop, 0)),
        "crossing": float(latency_budget(p, 0, 0, 0, crossing)),
    }


def predict_steps(
    system: System, model: Model, phase: str, context: int, alpha: Callable[[int], float]
) -> pd.DataFrame:
    """The a-priori prediction of every configuration in the system's step table.

    alpha: latency of one all-reduce (s) at a degree. Index (p, batch); columns COMPUTE and
    NETWORK in s, their sum total. The passes into which a large batch is cut are taken from the
    step table's calls, no time is. Raises ValueError as step_collectives.
    """
    card = accelerator(system.accelerator)
    collectives = step_collectives(system, model, phase, context)
    tokens, cached = (context, 0) if phase == "prefill" else (1, context)
    rows = []
    for (p, batch), row in collectives.iterrows():
        work = _roof_times(model, card, p, batch, tokens, cached, int(row["passes"]))
        count, message, rate = row["collectives"], row["message"], line_rate(system, p)
        terms = {name: work.get(name, 0.0) for name in COMPUTE}
        terms["latency"] = float(communication_time(p, count, 0, alpha(p), rate))
        terms["bandwidth"] = float(communication_time(p, count, message, 0, rate))
        rank = sum(terms[name] for name in COMPUTE if name != "kv_copy")
        total = apriori_step_time(p, rank, terms["kv_copy"], count, message, alpha(p), rate)
        rows.append(terms | {"total": float(total)})
    return pd.DataFrame(rows, collectives.index)


def split_communication(time, p, message, alpha, beta) -> tuple:
    """A measured communication time, divided as the law alpha + 2(p-1)M/(p beta) divides its own.

    time: s, any number of equal all-reduces. Returns (latency, bandwidth) in s; both zero at
    p = 1. Raises ValueError for a value out of range or a law without any time at p > 1.
    """
    checks.nonnegative(time=time)
    law = communication_time(p, 1, message, alpha, beta)
    if np.any((np.asarray(p) > 1) & (law == 0)):
        raise ValueError("alpha and message must not both be zero: nothing divides the time")
    share = np.divide(alpha, law, out=np.zeros_like(law * 1.0), where=np.asarray(law) > 0)
    latency = np.where(np.asarray(p) > 1, time * share, 0.0)[()]
    return latency, np.where(np.asarray(p) > 1, time, 0.0)[()] - latency


@cache  # the same steps are predicted with several latencies
def _roof_times(
    model: Model, card: Accelerator, p: int, batch: int, tokens: int, context: int, passes: int
) -> dict[str, float]:
    return category_work(model, card, p, batch, tokens, context, passes)["ideal_s"].to_dict()
