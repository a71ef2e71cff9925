"""How well the two laws predict what they were not fitted to: GEMM times and all-reduce times.

Every figure is recomputed from the tables. Errors are T_law/T_measured - 1, no row is dropped.
"""

import numpy as np
import pandas as pd

from tpbook.gemm_law import fit_gemm_law, gemm_shards
from tpbook.network_law import allreduce_time_model, blocks, chosen, held_out
from tpbook.systems import degrees, load_system, systems

# Where the form of the GEMM law was chosen: gemm_choice.
CHOSEN_ON = ("llama-2-7b", "a100-80gb-pcie")
KERNEL_BAR = 0.05
ALLREDUCE_BAR = 0.08
MODELS = ("llama-2-7b", "llama-2-70b")
TESTED = (4, 8)
REPLICATES = 400
SEED = 47


def accuracy_kernel_law() -> pd.DataFrame:
    """Errors of the GEMM law, fitted at p = 1 and 2, at p = 4, at 8 and at both together.

    Columns: test ("kernel-law"), model, accelerator, p (text), chosen_on (the form was chosen
    there), n, median (of the error's size), low, high (its 95 % interval), bias (mean error),
    bar, met. The interval draws whole token counts, whose four kernels err alike.
    """
    rows = []
    for model in MODELS:
        work = gemm_shards(model)
        for card in sorted(work["accelerator"].unique()):
            law = fit_gemm_law(work, card)
            test = work[(work["accelerator"] == card) & work["p"].isin(TESTED)]
            error = law.carried_times(test) / test["time_s"].to_numpy() - 1
            for degrees_together in ((4,), (8,), TESTED):
                here = test["p"].isin(degrees_together).to_numpy()
                low, high = median_interval(error[here], test["tokens"].to_numpy()[here])
                rows.append(
                    {
                        "test": "kernel-law",
                        "model": model,
                        "accelerator": card,
                        "p": ", ".join(map(str, degrees_together)),
                        "chosen_on": (model, card) == CHOSEN_ON,
                        **_judged(error[here], KERNEL_BAR),
                        "low": low,
                        "high": high,
                    }
                )
    return pd.DataFrame(rows)


def accuracy_allreduce() -> pd.DataFrame:
    """Errors of the all-reduce model at sizes of 8 KiB to 64 MiB that were left out.

    One row for each system, method and degree. Columns: test ("allreduce"), system, method,
    main (the system's main method), p, within (p is a degree of the system under study, not only
    of the whole machine), way, n, median, bias, bar, met, and median_blocks: the median where
    runs of neighbouring sizes are left out together, so that nothing near by is known.
    """
    rows = []
    for id in systems():
        system = load_system(id)
        for method in system.methods:
            for p in degrees(system, method):
                model = allreduce_time_model(system, p, method)
                table = model.message, model.time
                harder = held_out(*table, chosen, blocks(model.message))
                rows.append(
                    {
                        "test": "allreduce",
                        "system": id,
                        "method": method,
                        "main": method == system.main_method,
                        "p": p,
                        "within": p <= system.device_count,
                        "way": model.way,
                        **_judged(model.errors, ALLREDUCE_BAR),
                        "median_blocks": float(np.median(np.abs(harder))),
                    }
                )
    return pd.DataFrame(rows)


def kernel_law() -> dict:
    """The GEMM law from p = 1 and 2, read at 4 and 8: the worst median of all sets."""
    table = accuracy_kernel_law()
    table = table[table["p"].isin(["4", "8"])]
    names = table["model"] + ", " + table["accelerator"] + ", p = " + table["p"]
    return _worst_median(table, names)


def allreduce() -> dict:
    """The all-reduce law at sizes left out: the worst median of every system's main method.

    elsewhere: the tables of other methods, and of degrees beyond the system's own devices.
    """
    table = accuracy_allreduce()
    ours = table["main"] & table["within"]
    result = _worst_median(table[ours], _fabrics(table[ours]))
    names = _fabrics(table[~ours]) + ", " + table["method"][~ours]
    others = _worst_median(table[~ours], names)
    return result | {"elsewhere": others["sets"], "elsewhere_met": others["sets_met"]}


def _judged(error: np.ndarray, bar: float) -> dict:
    median = float(np.median(np.abs(error)))
    return {
        "n": len(error),
        "median": median,
        "bias": float(error.mean()),
        "bar": bar,
        "met": median <= bar,
    }


def mean_interval(size: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """95 % interval of the mean size of errors, from draws of whole clusters."""
    _, place = np.unique(cluster, return_inverse=True)
    count = np.bincount(place)
    total = np.bincount(place, weights=size)
    draws = np.random.default_rng(SEED).integers(len(count), size=(REPLICATES, len(count)))
    means = total[draws].sum(axis=1) / count[draws].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def median_interval(error: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median size of errors, from draws of whole clusters of equal length."""
    order = np.argsort(cluster, kind="stable")
    groups = np.abs(error)[order].reshape(len(np.unique(cluster)), -1)
    draws = np.random.default_rng(SEED).integers(len(groups), size=(REPLICATES, len(groups)))
    medians = np.median(groups[draws].reshape(REPLICATES, -1), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(low), float(high)


def _worst_median(table: pd.DataFrame, names: pd.Series) -> dict:
    keep = ["n", "median", "bias", "bar", "met"]
    sets = [{"name": name, **row} for name, row in zip(names, table[keep].to_dict("records"))]
    worst = max(sets, key=lambda each: each["median"])
    return {
        "n": int(table["n"].sum()),
        "median": worst["median"],
        "bias": worst["bias"],
        "bar": worst["bar"],
        "met": bool(table["met"].all()),
        "worst": worst["name"],
        "sets_met": int(table["met"].sum()),
        "sets": sets,
    }


def _fabrics(table: pd.DataFrame) -> pd.Series:
    return table["system"] + ", p = " + table["p"].astype(str)
