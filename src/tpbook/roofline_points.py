"""The points of the two rooflines of a system: kernels of its steps, and all-reduces.

The work of a kernel comes from the ledger, its time from a table. Distances are times over the
time at a roof: the hard one, or the smooth one at the same rates.
"""

import pandas as pd

from tpbook.collectives import ring_traffic
from tpbook.hardware import Accelerator
from tpbook.kernels import kernels
from tpbook.models import Model, model
from tpbook.network_fit import HockneyFit, fit_hockney
from tpbook.rooflines import ideal_time, smooth_kernel_time
from tpbook.step_collectives import step_collectives
from tpbook.steps import contexts, phase_times
from tpbook.systems import System, allreduce_times, degrees

# Messages of decode at batch one up to prefill of a few thousand tokens. Larger ones follow no
# single law: libraries change their algorithm.
FIT_RANGE = (8 * 2**10, 64 * 2**20)
# The kernels on the tensor cores, whose peak is the roof; other operations run elsewhere.
TENSOR_CATEGORIES = ("weight_gemm", "attention")


def category_amounts(
    geometry: Model,
    card: Accelerator,
    p: int,
    batch: int,
    tokens: int,
    context: int,
    passes: int = 1,
) -> pd.DataFrame:
    """Work of a step on one of p ranks by category: flops (FLOP), traffic (B), calls, hard_s, smooth_s.

    hard_s, smooth_s: seconds under the hard and the smooth roof at datasheet rates, kernel by
    kernel. tokens, context: as in kernels.kernels. passes: equal parts in which the batch runs.
    Raises ValueError for passes that do not divide the batch, and as kernels.
    """
    if passes < 1 or batch % passes:
        raise ValueError(f"passes must divide the batch of {batch}, got {passes}")
    rates = card.peak_flops, card.memory_bandwidth
    rows = [
        (
            k.category,
            k.pass_flops,
            k.pass_traffic,
            k.calls,
            k.calls * ideal_time(k.flops, k.traffic, *rates),
            k.calls * smooth_kernel_time(k.flops, k.traffic, *rates, startup=0),
        )
        for k in kernels(geometry, p, batch // passes, tokens, context)
    ]
    columns = ["category", "flops", "traffic", "calls", "hard_s", "smooth_s"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], float))
    return passes * table.groupby("category").sum()


def kernel_points(system: System, card: Accelerator, phase: str, context: int | None = None):
    """One row for each category of kernels, batch and degree of a phase of the step table.

    Columns: phase, p, batch, category, flops, traffic, calls (of the ledger), hard_s, smooth_s,
    time_s, intensity (FLOP/B), rate (FLOP/s). Communication is left out, and so is a category
    without a time. context: tokens, the longest measured by default.
    Raises ValueError as steps.phase_times.
    """
    times = phase_times(system, phase, context)
    context = contexts(system, phase)[-1] if context is None else context
    geometry = model(system.model)
    passes = step_collectives(system, geometry, phase, context)["passes"]
    length = (context, 0) if phase == "prefill" else (1, context)
    tables = []
    for p, batch in times.index:
        work = category_amounts(geometry, card, p, batch, *length, passes=int(passes[p, batch]))
        work["time_s"] = times.loc[(p, batch)]
        tables.append(work.reset_index().assign(phase=phase, p=p, batch=batch))
    table = pd.concat(tables, ignore_index=True).dropna(subset="time_s")
    table = table[table["time_s"] > 0].reset_index(drop=True)
    return table.assign(
        intensity=table["flops"] / table["traffic"], rate=table["flops"] / table["time_s"]
    )


def message_points(system: System, method: str) -> pd.DataFrame:
    """One row for each timed all-reduce: p, message (B), traffic (B per rank), time_s, line_s.

    line_s: traffic over the line rate. Raises ValueError as systems.allreduce_times.
    """
    tables = []
    for p in degrees(system, method):
        message, time = allreduce_times(system, p, method)
        tables.append(pd.DataFrame({"p": p, "message": message, "time_s": time}))
    return _with_line(pd.concat(tables, ignore_index=True), system)


def step_message_points(system: System, phase: str, context: int | None = None) -> pd.DataFrame:
    """The all-reduces of the steps, one row for each configuration above p = 1.

    Columns: phase, p, batch, message, traffic, time_s (mean of one), line_s, as message_points.
    Raises ValueError as steps.phase_times.
    """
    context = contexts(system, phase)[-1:][0] if context is None else context
    steps = step_collectives(system, model(system.model), phase, context).reset_index()
    steps = steps.query("p > 1 and time_s > 0")
    time = steps["time_s"] / steps["collectives"]
    table = steps[["p", "batch", "message"]].assign(phase=phase, time_s=time)
    return _with_line(table.reset_index(drop=True), system)


def network_fits(points: pd.DataFrame) -> dict[int, HockneyFit]:
    """Latency and bandwidth by degree, fitted to the messages in FIT_RANGE.

    points: of message_points or step_message_points. A degree with fewer than three such sizes is
    left out. Raises ValueError as network_fit.fit_hockney.
    """
    inside = points[points["message"].between(*FIT_RANGE)]
    return {
        int(p): fit_hockney(rows["message"], rows["time_s"], int(p))
        for p, rows in inside.groupby("p")
        if rows["message"].nunique() >= 3
    }


def _with_line(table: pd.DataFrame, system: System) -> pd.DataFrame:
    traffic = ring_traffic(table["p"], table["message"])
    return table.assign(traffic=traffic, line_s=traffic / system.bandwidth.value)
