"""One small transformer layer in NumPy, whole and cut among ranks: the layer behind the proofs.

Pre-norm, causal attention with grouped key-value heads, gated MLP, no position encoding: all
that decides where tensor parallelism must communicate, and no more.
"""

from typing import NamedTuple

import numpy as np

from tpbook import checks
from tpbook.ring import run_ring_allreduce


class Weights(NamedTuple):
    """Weights of a layer or of one rank's part (d width, H and K heads, h head width, f inner).

    query (d, H, h), key and value (d, K, h), output (H, h, d), gate and up (d, f), down (f, d).
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray
    gate: np.ndarray
    up: np.ndarray
    down: np.ndarray


def random_weights(
    seed: int, hidden: int = 32, heads: int = 4, kv_heads: int = 2, head_dim: int = 8, inner=48
) -> Weights:
    """Normal weights scaled so that activations keep their size.

    Raises ValueError unless kv_heads divides heads.
    """
    if heads % kv_heads:
        raise ValueError(f"kv_heads must divide heads, got {kv_heads} and {heads}")
    random = np.random.default_rng(seed)
    wide = (hidden, heads, head_dim), (hidden, kv_heads, head_dim), (hidden, kv_heads, head_dim)
    shapes = *wide, (heads, head_dim, hidden), (hidden, inner), (hidden, inner), (inner, hidden)
    return Weights(*(random.normal(size=shape) / np.sqrt(hidden) for shape in shapes))


def rms_norm(x: np.ndarray) -> np.ndarray:
    """Each row over the root of its mean square, along the last axis."""
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True))


def silu(x: np.ndarray) -> np.ndarray:
    """x / (1 + exp(-x)), element by element."""
    return x / (1 + np.exp(-x))


def attention(x: np.ndarray, w: Weights) -> np.ndarray:
    """Causal attention of the heads in w, through the output projection; x is (B, T, d)."""
    group = w.query.shape[1] // w.key.shape[1]
    query = np.einsum("btd,dnh->bnth", x, w.query)
    key, value = (
        np.repeat(np.einsum("btd,dnh->bnth", x, matrix), group, axis=1)
        for matrix in (w.key, w.value)
    )
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    later = np.triu(np.ones(scores.shape[-2:], dtype=bool), 1)
    share = np.exp(np.where(later, -np.inf, scores - scores.max(axis=-1, keepdims=True)))
    share /= share.sum(axis=-1, keepdims=True)
    return np.einsum("bnth,nhd->btd", share @ value, w.output)


def mlp(x: np.ndarray, w: Weights) -> np.ndarray:
    """The gated MLP of the inner columns in w; x is (B, T, d)."""
    return (silu(x @ w.gate) * (x @ w.up)) @ w.down


def whole_layer(x: np.ndarray, w: Weights) -> np.ndarray:
    """The layer on one rank; x is (B, T, d)."""
    x = x + attention(rms_norm(x), w)
    return x + mlp(rms_norm(x), w)


def rank_weights(w: Weights, p: int, rank: int) -> Weights:
    """The part of one of p ranks: its heads, the KV heads they use, its inner columns.

    Raises ValueError where p does not divide the heads and the inner width evenly, and for a rank
    that is not one of the p.
    """
    if p < 1 or rank not in range(p):
        raise ValueError(f"p must be at least 1 and rank one of 0 to p - 1, got {p} and {rank}")
    heads, kv_heads, inner = w.query.shape[1], w.key.shape[1], w.gate.shape[1]
    if heads % p or inner % p or (kv_heads % p and p % kv_heads):
        raise ValueError(f"p = {p} does not cut {heads} heads, {kv_heads} KV heads and {inner}")
    own = np.arange(rank * heads // p, (rank + 1) * heads // p)
    used = np.unique(own // (heads // kv_heads))
    columns = slice(rank * inner // p, (rank + 1) * inner // p)
    return Weights(
        w.query[:, own],
        w.key[:, used],
        w.value[:, used],
        w.output[own],
        w.gate[:, columns],
        w.up[:, columns],
        w.down[columns],
    )


def sharded_layer(x: np.ndarray, w: Weights, p: int) -> tuple[np.ndarray, list[int]]:
    """The layer on p ranks, each with its part of the weights and the whole residual stream.

    x: (B, T, d) with a size that p divides. Returns rank 0's result and the bytes of each
    all-reduced message; the sums run over tpbook.ring. Raises ValueError as rank_weights.
    """
    checks.degree(p=p)
    parts = [rank_weights(w, p, rank) for rank in range(p)]
    streams = np.repeat(x[None], p, axis=0)  # (p, B, T, d): every rank holds the whole stream
    messages = []
    for block in (attention, mlp):
        partial = np.stack([block(rms_norm(s), part) for s, part in zip(streams, parts)])
        if p > 1:
            messages.append(partial[0].nbytes)
            partial = run_ring_allreduce(partial.reshape(p, -1)).results.reshape(streams.shape)
        streams = streams + partial
    return streams[0], messages
