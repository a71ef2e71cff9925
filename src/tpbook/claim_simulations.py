"""Brute force behind the claims ledger: rings, cut products, dependencies, rotating blocks."""

import numpy as np

from tpbook.collectives import ring_traffic
from tpbook.ring import run_ring_allreduce


def ring_sends_the_least():
    """Whether the simulated ring sends 2(p-1)/p of the buffer from every rank, p = 2 to 16."""
    return all(
        (run.sent == ring_traffic(p, 8 * 5 * p)).all()
        for p in range(2, 17)
        for run in [run_ring_allreduce(np.arange(p * 5 * p).reshape(p, 5 * p))]
    )


def ring_sums(p):
    """Whether the simulated ring leaves the sum on every rank, after 2(p-1) steps."""
    buffers = np.arange(p * 3 * p, dtype=float).reshape(p, 3 * p) ** 2
    run = run_ring_allreduce(buffers)
    return bool((run.results == buffers.sum(axis=0)).all() and run.steps == 2 * (p - 1))


def product_needs_sum(p, cut):
    """Whether p ranks, each with one part of a matrix cut by "row" or "column", must add.

    They need not when each rank's product is already a block of the full one.
    """
    inputs, weights = np.arange(24).reshape(2, 12) % 7, np.arange(12 * 12).reshape(12, 12) % 5
    full = inputs @ weights
    part = 12 // p
    blocks = [slice(rank * part, (rank + 1) * part) for rank in range(p)]
    if cut == "column":
        return not all((inputs @ weights[:, b] == full[:, b]).all() for b in blocks)
    partial = [inputs[:, b] @ weights[b] for b in blocks]
    return bool((sum(partial) == full).all() and not any((x == full).all() for x in partial))


def sums_between_the_cuts(p):
    """All-reduces that a column-cut matrix, a nonlinearity and a row-cut matrix take together."""
    inputs, up = np.arange(24).reshape(2, 12) % 7 - 3, np.arange(12 * 12).reshape(12, 12) % 5 - 2
    down = up.T + 1
    part = 12 // p
    blocks = [slice(rank * part, (rank + 1) * part) for rank in range(p)]
    # Nothing is exchanged between the two products; the one sum is the last step.
    partial = [np.maximum(inputs @ up[:, b], 0) @ down[b] for b in blocks]
    return 1 if (sum(partial) == np.maximum(inputs @ up, 0) @ down).all() else 2


# What each kernel of a layer waits for. The sum into the residual stream closes each half.
WAITS = {
    "attention_norm": ["previous_layer"],
    "qkv": ["attention_norm"],
    "attention": ["qkv"],
    "attention_out": ["attention"],
    "attention_allreduce": ["attention_out"],
    "attention_residual": ["attention_allreduce", "previous_layer"],
    "mlp_norm": ["attention_residual"],
    "mlp_up": ["mlp_norm"],
    "activation": ["mlp_up"],
    "mlp_down": ["activation"],
    "mlp_allreduce": ["mlp_down"],
    "mlp_residual": ["mlp_allreduce", "attention_residual"],
}


def kernels_beside(collective):
    """Kernels of the layer that neither feed a collective nor wait for it."""
    before, after = _upstream(collective), {k for k in WAITS if collective in _upstream(k)}
    return len(set(WAITS) - before - after - {collective})


def independent(first, second):
    """Whether two kernels could run side by side: neither feeds the other."""
    return first not in _upstream(second) and second not in _upstream(first)


def _upstream(kernel):
    found = set()
    for needed in WAITS.get(kernel, []):
        found |= {needed} | _upstream(needed)
    return found


def ring_attention_error(blocks, length):
    """Largest error of attention computed from key-value blocks that pass one by one.

    Each rank merges a block into a running maximum, sum and weighted value, on its own.
    """
    wave = np.sin(np.arange(3 * length * 8, dtype=float)).reshape(3, length, 8)
    queries, keys, values = wave
    top = np.full(length, -np.inf)
    total, mixed = np.zeros(length), np.zeros((length, 8))
    for k, v in zip(np.split(keys, blocks), np.split(values, blocks), strict=True):
        scores = queries @ k.T
        higher = np.maximum(top, scores.max(axis=1))
        shrink, weights = np.exp(top - higher), np.exp(scores - higher[:, None])
        total = total * shrink + weights.sum(axis=1)
        mixed = mixed * shrink[:, None] + weights @ v
        top = higher
    scores = np.exp(queries @ keys.T)
    exact = scores @ values / scores.sum(axis=1, keepdims=True)
    return float(np.abs(mixed / total[:, None] - exact).max())
