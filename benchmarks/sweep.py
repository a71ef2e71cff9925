"""How fast the sweep is, beside one published analytical model in the same process.

    python benchmarks/sweep.py

Nothing of the book depends on it, and no test runs it: rates belong to the machine. The peer is
llm-analysis (Apache-2.0), which is not among the book's dependencies. Without it only the sweep is
timed. It needs an environment of its own beside the book's, since it pins old packages:

    python -m venv PEER && PEER/bin/pip install llm-analysis numpy scipy pandas sympy pyyaml
    PYTHONPATH=src PEER/bin/python benchmarks/sweep.py

Both sides predict times of Llama-2-7B on an A100 for p, batch, prompt and output lengths, on one
core and with everything prepared that does not depend on a configuration. The peer takes one
configuration a call. Its calls include its memory report, which it cannot leave out.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported

import contextlib
import importlib.metadata
import io
import logging
import resource
import sys
import time

import numpy as np

from tpbook.models import model
from tpbook.serving_fit import PRIOR, TYPICAL
from tpbook.serving_model import Parameters
from tpbook.serving_work import machine
from tpbook.sweep import sweep

PEER = "llm-analysis"
ROUNDS = 3
PEER_CALLS = 3000
DEGREES = [1, 2, 4, 8]
# 10 million configurations each: many lengths, many batches, and one output length only.
GRIDS = {
    "50 batches x 224 prompts x 224 outputs": (50, 224, 224),
    "2500 batches x 100 prompts x 10 outputs": (2500, 100, 10),
    "25000 batches x 100 prompts x 1 output": (25000, 100, 1),
}


def main() -> None:
    """Print the rates, the peer's version and rate, and the ratio, round by round interleaved."""
    found = Parameters(**{name: mean for name, (mean, _) in PRIOR.items()}, **TYPICAL)
    axes = {name: _axes(shape) for name, shape in GRIDS.items()}
    call = _peer()
    best = dict.fromkeys([*axes, PEER], 0.0)
    for _ in range(ROUNDS):
        for name, grid in axes.items():
            best[name] = max(best[name], _sweep_rate(found, grid))
        if call:
            best[PEER] = max(best[PEER], _peer_rate(call))
    for name in axes:
        ratio = f", {best[name] / best[PEER]:,.0f} times the peer" if call else ""
        print(f"sweep, {name}: {best[name] / 1e6:.1f} million/s{ratio}")
    if call:
        version = importlib.metadata.version(PEER)
        print(f"{PEER} {version}: {best[PEER]:,.0f}/s, one configuration a call")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(f"peak memory of the whole process: {peak / 1e6:.0f} MB")


def _axes(shape):
    return [np.arange(1, n + 1) + (axis == 2) for axis, n in enumerate(shape)]


def _sweep_rate(found, grid) -> float:
    """Configurations per second, each reduced to the fastest degree and the best throughput."""
    geometry, device = model("llama-2-7b"), machine("a100-80gb-sxm4")
    count, most, chosen = 0, 0.0, 0
    start = time.perf_counter()
    for chunk in sweep(found, geometry, device, DEGREES, *grid):
        count += chunk.latency.size
        most = max(most, chunk.throughput.max())
        chosen += int(chunk.fastest_degree().sum())
    return count / (time.perf_counter() - start)


def _peer():
    """A function of one configuration by the peer, or None where it is not installed."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            from llm_analysis import analysis, config
    except ImportError:
        print(f"{PEER} is not installed: only the sweep is timed (see the top of this file)")
        return None
    logging.disable(logging.CRITICAL)
    geometry = config.get_model_config_by_name("NousResearch_Llama-2-7b-hf")
    card = config.get_gpu_config_by_name("a100-sxm-80gb")
    dtype = config.get_dtype_config_by_name("w16a16e16")
    prepared = {
        p: analysis.LLMAnalysis(
            geometry,
            card,
            dtype,
            config.ParallelismConfig(tp_size=p, sp_size=p),
            flops_efficiency=0.6,
            hbm_memory_efficiency=0.75,
        )
        for p in DEGREES
    }
    return lambda p, batch, prompt, output: prepared[p].inference(
        batch_size_per_gpu=batch, seq_len=prompt, num_tokens_to_generate=output
    )


def _peer_rate(call) -> float:
    random = np.random.default_rng(1)
    # Small batches and lengths, so that every configuration fits its memory check.
    places = [
        (DEGREES[i], int(b), int(n), int(o))
        for i, b, n, o in zip(
            random.integers(0, 4, PEER_CALLS),
            random.integers(1, 9, PEER_CALLS),
            random.integers(16, 225, PEER_CALLS),
            random.integers(2, 225, PEER_CALLS),
        )
    ]
    start = time.perf_counter()
    for place in places:
        call(*place)
    return PEER_CALLS / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
