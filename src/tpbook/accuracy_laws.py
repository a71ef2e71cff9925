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


def _judged(error: np.ndarray, bar: float) -> dict:
    median = float(np.median(np.abs(error)))
    return {
        "n": len(error),
        "median": median,
        "bias": float(error.mean()),
        "bar": bar,
        "met": median <= bar,
    }


def median_interval(error: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median size of errors, from draws of whole clusters of equal length."""
    order = np.argsort(cluster, kind="stable")
    groups = np.abs(error)[order].reshape(len(np.unique(cluster)), -1)
    draws = np.random.default_rng(SEED).integers(len(groups), size=(REPLICATES, len(groups)))
    medians = np.median(groups[draws].reshape(REPLICATES, -1), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(low), float(high)
