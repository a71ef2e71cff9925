"""Checks of the claims ledger on published runs, and on a calibration carried to another card."""

from functools import cache

import pandas as pd

from tpbook import amdahl_errors, published
from tpbook.accuracy_sets import judge
from tpbook.claim_evaluation import A40, A100, read_system
from tpbook.hardware import accelerator
from tpbook.roofline_points import kernel_points
from tpbook.serving_metrics import scaling
from tpbook.transfer import fit_terms, transferred_times


@cache
def error_table():
    """Amdahl's relative errors at four ranks, from one and two, of every usable published setting."""
    table = published.usable(published.published())
    spreads = amdahl_errors.time_spreads(table)
    setting = list(published.SETTING)
    return amdahl_errors.extrapolations(table, setting, ((1, 2, 4),), spreads)


def share_with_sign(sign):
    """Share of those errors that are pessimistic, optimistic or open (within the noise)."""
    return float((error_table()["sign"] == sign).mean())


def mean_error():
    """Mean size of those errors."""
    return float(error_table()["error"].abs().mean())


@cache
def composed_signs(system=A40):
    """How many of a system's composed steps have an error of each sign, as error_table's.

    Decode, and prefill of the longest prompts.
    """
    totals = amdahl_errors.step_totals(read_system(system))
    totals = totals[totals["context"] == totals.groupby("phase")["context"].transform("max")]
    setting = ["system", "phase", "context", "batch"]
    return amdahl_errors.extrapolations(totals, setting, ((1, 2, 4),))["sign"].value_counts()


def steps_with_sign(sign, system=A40):
    """How many of those composed steps have a sign."""
    return int(composed_signs(system).get(sign, 0))


@cache
def larger_degrees(source):
    """Rows of a source's sets at degrees that neither law was fitted to, both laws' times beside.

    A set is calibrated on its two smallest degrees, as in section 4.7; Amdahl's law is fitted to
    the same two in each cell.
    """
    table = published.usable(published.published(source))
    sets = table.groupby(["model", "accelerator", "engine"])["p"].nunique()
    rows = pd.concat(judge(source, *name).held_out for name in sets.index[sets > 2])
    return rows[rows["amdahl_s"].notna()]


def law_error(source, law):
    """Mean size of a law's relative errors there; law: "amdahl" or "predicted"."""
    rows = larger_degrees(source)
    return float((rows[f"{law}_s"] / rows["time_s"] - 1).abs().mean())


@cache
def single_sequence(word=None):
    """Usable settings with one sequence, timed on one rank and on four: how many scale as a word.

    word: of serving_metrics.scaling, such as "regresses"; None counts them all.
    """
    table = published.usable(published.published())
    runs = [run for _, run in published.settings(table[table["batch"] == 1])]
    gains = [run[1] / run[4] for run in runs if {1, 4} <= set(run.index)]
    words = [scaling(gain, 4, amdahl_errors.SINGLE_RUN) for gain in gains]
    return words.count(word) if word else len(words)


@cache
def transfer_errors(source=A40, target=A100):
    """Relative errors of a target's steps without communication, by laws fitted to a source's."""
    points = {
        id: pd.concat(
            (
                kernel_points(read_system(id), accelerator(read_system(id).accelerator), phase)
                for phase in ("prefill", "decode")
            ),
            ignore_index=True,
        )
        for id in (source, target)
    }
    cards = {id: accelerator(read_system(id).accelerator) for id in points}
    laws = fit_terms(points[source], cards[source])
    found = points[target]
    found = found.assign(law_s=transferred_times(laws, found, cards[target]))
    totals = found.groupby(["phase", "p", "batch"])[["time_s", "law_s"]].sum()
    return totals["law_s"] / totals["time_s"] - 1


def transfer_error(source=A40, target=A100):
    """Mean size of those errors."""
    return float(transfer_errors(source, target).abs().mean())


def worst_transfer_error(source=A40, target=A100):
    """The one of those errors that is farthest from zero."""
    errors = transfer_errors(source, target)
    return float(errors[errors.abs().idxmax()])
