"""The steps of a system, divided into the terms of the a-priori prediction."""

import pandas as pd

from tpbook.apriori import COMPUTE, split_communication
from tpbook.geometry import Model
from tpbook.network_fit import HockneyFit, fit_hockney
from tpbook.step_collectives import closest_method, step_collectives
from tpbook.steps import contexts, phase_times
from tpbook.systems import System, allreduce_times, load_system

PHASES = ("decode", "prefill")
# From one sequence's decode of a 7B model to a long prefill.
LOWEST, HIGHEST = 8 * 2**10, 64 * 2**20


def phases(system: System) -> dict[str, int]:
    """The longest context (tokens) of each phase that the system's step table has."""
    return {phase: contexts(system, phase)[-1] for phase in PHASES if contexts(system, phase)}


def with_steps(system: System, instead: str) -> System:
    """The system itself if it has steps of decode or prefill, else the system of another id."""
    return system if phases(system) else load_system(instead)


def communication_method(system: System, model: Model) -> str | None:
    """The method of the all-reduce table behind the steps' communication, None without one."""
    tables = [step_collectives(system, model, *item) for item in phases(system).items()]
    try:
        return closest_method(system, tables)[0]
    except ValueError:
        return None


def network_laws(system: System, model: Model) -> dict[int, HockneyFit]:
    """The fitted law by degree of all-reduces from 8 KiB to 64 MiB, by the method behind the steps.

    Degrees that the steps lack or the table cannot fit are left out.
    """
    method = communication_method(system, model)
    wanted = sorted({int(p) for p in system.steps["p"]} - {1})
    laws = {}
    for p in wanted if method else ():
        try:
            message, time = allreduce_times(system, p, method)
            inside = (message >= LOWEST) & (message <= HIGHEST)
            laws[p] = fit_hockney(message[inside], time[inside], p)
        except ValueError:
            continue
    return laws


def observed_terms(
    system: System, model: Model, phase: str, context: int, laws: dict[int, HockneyFit]
) -> pd.DataFrame:
    """Seconds of every configuration by term, and their sum total; index (p, batch).

    Columns: the categories of compute that the step table has, then latency and bandwidth. The
    communication is divided as the law of its degree divides its own time; where a degree has no
    law, it stands undivided in one column communication. Raises ValueError as phase_times.
    """
    times = phase_times(system, phase, context)
    terms = times[[name for name in COMPUTE if name in times]].fillna(0.0)
    said = step_collectives(system, model, phase, context)["time_s"].fillna(0.0)
    degrees = times.index.get_level_values("p")
    if set(degrees) - {1} <= set(laws):
        message = step_collectives(system, model, phase, context)["message"]
        pairs = []
        for p, time, size in zip(degrees, said, message):
            law = laws.get(p)
            alpha, beta = (law.alpha, law.beta) if law else (1.0, 1.0)  # p = 1: no time to divide
            pairs.append(split_communication(time, p, size, alpha, beta))
        split = pd.DataFrame(pairs, times.index, ["latency", "bandwidth"], dtype=float)
    else:
        split = said.to_frame("communication")
    terms = pd.concat([terms, split], axis=1)
    return terms.assign(total=terms.sum(axis=1))


def same_terms(predicted: pd.DataFrame, observed: pd.DataFrame) -> pd.DataFrame:
    """The prediction with the columns of the observation, and the total of those.

    A term that nobody observed is left out on both sides; communication that could not be divided
    is added up. predicted: of apriori.predict_steps. observed: of observed_terms.
    """
    if "communication" in observed:
        together = predicted["latency"] + predicted["bandwidth"]
        predicted = predicted.assign(communication=together)
    terms = predicted[[name for name in observed if name != "total"]]
    return terms.assign(total=terms.sum(axis=1))
