"""Checks of the claims ledger on simulated ranks that launch kernels and wait for one another.

Kernel times are those of four A40 (composed); launches are assumed: 20 us each with a log-normal
jitter of half their mean, as in section 4.4. Nothing here is measured.
"""

from functools import cache

import numpy as np

from tpbook.claim_evaluation import A40, COMPUTE, CONTEXT, read_system, times
from tpbook.kernels import kernels
from tpbook.launch_simulation import jittered, simulate, spread
from tpbook.models import model
from tpbook.step_collectives import step_collectives

RANKS, LAUNCH, JITTER = 4, 20e-6, 0.5
SLOW_CPU, SLOW_CLOCK = 1.05, 1.01
SEEDS, PASSES, TOKENS = range(8), 16, 512
BATCH = {"prefill": 32, "decode": 1}


@cache
def run(phase, launch=LAUNCH, slow_cpu=1.0, slow_clock=1.0, synchronise=True):
    """Sixteen passes at p = 4 for each of eight seeds; one rank may have a slower CPU or clock."""
    system = read_system(A40)
    geometry, batch = model(system.model), BATCH[phase]
    context = CONTEXT if phase == "decode" else 512
    row = times(A40, phase, context).loc[(RANKS, batch)]
    collectives = step_collectives(system, geometry, phase, context).collectives[RANKS, batch]
    segments = geometry.allreduces_per_layer * geometry.layers
    calls = sum(k.calls for k in kernels(geometry, RANKS, 1, 1, CONTEXT) if k.category in COMPUTE)
    each = max(1, round(calls / segments))
    shape = (PASSES * segments, each + 1, RANKS)
    launches = np.stack([jittered(launch, JITTER, shape, seed) for seed in SEEDS])
    work = row[COMPUTE].sum() / collectives / each
    return simulate(
        launches * _one(slow_cpu, 2),
        work * _one(slow_clock, 1),
        row["communication"] / collectives,
        PASSES,
        synchronise,
    )


def active_spread(phase, **options):
    """The largest spread of active times over the ranks, relative to the run, of all seeds."""
    found = run(phase, **options)
    return float((spread(found.active) / found.elapsed).max())


def seconds_apart(**options):
    """The least spread (s) of active times over the ranks after 512 decode steps, of all seeds.

    Scaled up from the passes simulated: right for a rank that is late in every step, and too large
    where chance decides, whose spread grows with the root of the steps.
    """
    return float(spread(run("decode", **options).active).min() / PASSES * TOKENS)


def idle_share(phase, **options):
    """Mean share of a run in which a stream has no kernel, waiting inside an all-reduce left out."""
    found = run(phase, **options)
    return float((found.idle / found.elapsed[..., None]).mean())


def least_active_communicates_least(phase, **options):
    """Whether the least active rank is the one that communicates least, in every seed."""
    found = run(phase, **options)
    return bool((found.active.argmin(-1) == found.communication.argmin(-1)).all())


def overstated(phase, **options):
    """Communication of the rank that has least of it, over that of the all-reduces alone, mean."""
    found = run(phase, **options)
    return float((found.communication.min(-1) / found.shortest).mean())


def _one(factor, rank):
    """The factor for one rank, one for all others."""
    return np.where(np.arange(RANKS) == rank, factor, 1.0)
