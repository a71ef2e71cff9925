"""What a system folder must keep beyond its columns: degrees and ranks that exist, columns that
agree. Every error is one line: file, line, column, reason, remedy."""

import numpy as np
import pandas as pd

from tpbook import catalogue, system_physics
from tpbook.hardware import accelerator
from tpbook.models import all_models
from tpbook.serving_metrics import throughput
from tpbook.system_tables import ACTIVITIES, TABLES
from tpbook.tables import first, refuse

RATE_TOLERANCE = 0.05
TWO_BYTE_TYPES = ("float16", "fp16", "bf16", "half")


def check(system, folder: str) -> None:
    """Refuse a System whose tables contradict its description, each other or physics.

    folder: the name that error lines start with.
    """
    tables = {name: getattr(system, name) for name in TABLES}
    tables = {name: table for name, table in tables.items() if table is not None}
    if not tables.keys() & {"allreduce", "steps", "serving"}:
        raise ValueError(
            f"{folder}: allreduce.csv, steps.csv and serving.csv are missing: add at least one"
        )
    if system.device_count > system.machine_device_count:
        raise ValueError(
            f"{folder}/system.yml: device_count {system.device_count} is more than "
            f"machine_device_count {system.machine_device_count}; correct one of them"
        )
    where = {name: f"{folder}/{name}.csv" for name in tables}
    for name, table in tables.items():
        if table.empty:
            raise ValueError(f"{where[name]}: holds no rows; add them or drop the file")
        whole = name == "allreduce"
        devices = system.machine_device_count if whole else system.device_count
        _degrees_exist(where[name], table, devices)
    if "allreduce" in tables:
        _methods_described(where["allreduce"], tables["allreduce"], system.methods)
        _methods_measured(where["allreduce"], tables["allreduce"], system.methods)
        bandwidth = system.bandwidth.value
        system_physics.check_allreduces(where["allreduce"], tables["allreduce"], bandwidth)
    if "steps" in tables:
        _steps(where["steps"], tables["steps"], tables.get("allreduce"))
    if "serving" in tables:
        _serving(where["serving"], tables["serving"])
    if "gpu_metrics" in tables:
        _gpu_metrics(where["gpu_metrics"], tables["gpu_metrics"])
        card = accelerator(system.accelerator)
        system_physics.check_gpu_metrics(where["gpu_metrics"], tables["gpu_metrics"], card)
    _physics_of_the_model(system, folder, tables, where)


def _physics_of_the_model(system, folder: str, tables: dict, where: dict) -> None:
    if system.model is None:
        return
    model = catalogue.lookup(all_models(), system.model, f"model in {folder}/system.yml:")
    if not any(name in system.dtype for name in TWO_BYTE_TYPES):
        return
    card = accelerator(system.accelerator)
    if "steps" in tables:
        bandwidth = system.bandwidth.value
        system_physics.check_steps(where["steps"], tables["steps"], model, card, bandwidth)
    if "serving" in tables:
        system_physics.check_serving(where["serving"], tables["serving"], model, card)


def _degrees_exist(where: str, table: pd.DataFrame, devices: int) -> None:
    row = first(table["p"] > devices)
    if row is not None:
        p = table["p"].iloc[row]
        reason = f"p = {p} needs {p} devices and system.yml counts {devices}"
        refuse(where, row, "p", reason, "correct p or the device count")


def _methods_described(where: str, table: pd.DataFrame, methods: dict) -> None:
    row = first(~table["method"].isin(list(methods)))
    if row is not None:
        reason = f"{table['method'].iloc[row]!r} is not described under methods in system.yml"
        refuse(where, row, "method", reason, "describe it there")


def _methods_measured(where: str, table: pd.DataFrame, methods: dict) -> None:
    found = set(zip(table["method"], table["statistic"]))
    for method in methods.values():
        if (method.id, method.statistic) not in found:
            raise ValueError(
                f"{where}: no row has statistic {method.statistic} by {method.id}, as system.yml "
                "promises under methods; add such rows or correct the method there"
            )


def _ranks_exist(where: str, table: pd.DataFrame) -> None:
    row = first(table["rank"] >= table["p"])
    if row is not None:
        reason = f"rank {table['rank'].iloc[row]} of p = {table['p'].iloc[row]}"
        refuse(where, row, "rank", reason, "count ranks from 0 to p - 1")


def _steps(where: str, table: pd.DataFrame, allreduce: pd.DataFrame | None) -> None:
    if allreduce is not None:
        row = first((table["p"] > 1) & ~table["p"].isin(allreduce["p"]))
        if row is not None:
            reason = f"p = {table['p'].iloc[row]} is absent from allreduce.csv"
            refuse(where, row, "p", reason, "add its all-reduce times there, or drop these rows")
    _ranks_exist(where, table)
    row = first((table["phase"] == "prefill") & (table["context"] == 0))
    if row is not None:
        refuse(where, row, "context", "a prefill of no tokens", "give the length of the prompt")
    row = first(table["estimated_s"] > table["time_s"])
    if row is not None:
        reason = f"{table['estimated_s'].iloc[row]:g} s is more than time_s"
        refuse(where, row, "estimated_s", reason, "give the estimated part of the time")
    row = first((table["category"] == "communication") & (table["p"] == 1) & (table["time_s"] > 0))
    if row is not None:
        refuse(where, row, "category", "one rank does not communicate", "correct p or the category")


def _serving(where: str, table: pd.DataFrame) -> None:
    rate = throughput(table["batch"], table["output_tokens"], table["latency_s"])
    row = first(np.abs(table["tokens_per_s"] / rate - 1) > RATE_TOLERANCE)
    if row is not None:
        reason = f"{table['tokens_per_s'].iloc[row]:g} is not batch x output_tokens / latency_s"
        remedy = "count output tokens only, of all sequences, over the whole latency in s"
        refuse(where, row, "tokens_per_s", f"{reason} ({rate.iloc[row]:.4g})", remedy)
    row = first(table["latency_s"] < table["ttft_s"])
    if row is not None:
        reason = f"{table['latency_s'].iloc[row]:g} s is less than ttft_s"
        refuse(where, row, "latency_s", reason, "count from the request to the last token")
    row = first((table["output_tokens"] - 1) * table["tpot_s"] > 1.2 * table["latency_s"])
    if row is not None:
        reason = f"{table['tpot_s'].iloc[row]:g} s a token adds up to more than latency_s"
        refuse(where, row, "tpot_s", f"{reason} (looks like ms)", "give seconds")
    for name, outside in (
        ("low", table["low"] > table["latency_s"]),
        ("high", table["high"] < table["latency_s"]),
    ):
        row = first(outside)
        if row is not None:
            reason = f"{table[name].iloc[row]:g} s leaves latency_s outside its interval"
            refuse(where, row, name, reason, "low and high enclose latency_s")


def _gpu_metrics(where: str, table: pd.DataFrame) -> None:
    _ranks_exist(where, table)
    row = first(table["metric"].isin(ACTIVITIES) & (table["unit"] != "fraction"))
    if row is not None:
        reason = f"{table['metric'].iloc[row]} is a fraction, got {table['unit'].iloc[row]!r}"
        refuse(where, row, "unit", reason, "give the fraction of the time")
    row = first((table["unit"] == "fraction") & (table["value"] > 1))
    if row is not None:
        reason = f"{table['value'].iloc[row]:g} is no fraction (looks like percent)"
        refuse(where, row, "value", reason, "divide by 100")
