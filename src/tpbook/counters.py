"""Rates that hardware counters report, beside the same rates from the ledger and the step times.

The two share no measurement: counters sample the units of the chip and its links, the others
divide counted work by measured time.
"""

import pandas as pd

from tpbook.collectives import ring_traffic
from tpbook.hardware import Accelerator
from tpbook.models import model
from tpbook.roofline_points import TENSOR_CATEGORIES, kernel_points
from tpbook.step_collectives import step_collectives
from tpbook.steps import contexts, phase_times
from tpbook.systems import System

LINKS = ("nvlink", "pcie")


def counter_rates(
    system: System, card: Accelerator, phase: str, context: int | None = None
) -> pd.DataFrame:
    """Mean rates over a phase, from counters and from times: p, batch, quantity, counted, timed.

    quantity compute (FLOP/s): the activity of the tensor cores times the peak, beside the FLOP of
    GEMMs and attention over the step. nvlink or pcie (B/s per direction): the mean of sent and
    received, beside the ring traffic of all all-reduces over the step; the link is the busier
    one. Ranks are averaged. Empty for a system without counters.
    Raises ValueError as steps.phase_times.
    """
    columns = ["p", "batch", "quantity", "counted", "timed"]
    if system.gpu_metrics is None:
        return pd.DataFrame(columns=columns)
    context = contexts(system, phase)[-1:][0] if context is None else context
    step = phase_times(system, phase, context).sum(axis=1)
    work = kernel_points(system, card, phase, context)
    work = work[work["category"].isin(TENSOR_CATEGORIES)]
    flops = work.groupby(["p", "batch"])["flops"].sum()
    messages = step_collectives(system, model(system.model), phase, context)
    rows = []
    counted = system.gpu_metrics.query("phase == @phase")
    for key, table in counted.groupby(["p", "batch"]):
        if key not in step.index:
            continue
        mean = table.groupby("metric")["value"].mean()
        if "tensor_active" in mean and key in flops.index:
            tensor = mean["tensor_active"] * card.peak_flops
            rows.append((*key, "compute", tensor, flops[key] / step[key]))
        links = {link: _both_ways(mean, link) for link in LINKS}
        links = {link: rate for link, rate in links.items() if rate is not None}
        if key[0] > 1 and links:
            busier = max(links, key=links.get)
            sent = messages.loc[key, "collectives"] * ring_traffic(
                key[0], messages.loc[key, "message"]
            )
            rows.append((*key, busier, links[busier], sent / step[key]))
    return pd.DataFrame(rows, columns=columns)


def _both_ways(mean: pd.Series, link: str) -> float | None:
    known = [mean[name] for name in (f"{link}_tx", f"{link}_rx") if name in mean]
    return sum(known) / len(known) if known else None
