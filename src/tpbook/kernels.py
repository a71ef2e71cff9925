"""The compute ledger of one forward pass on one of p ranks: operations, bytes, intensity.

Left out: biases, softmax, and the re-reading of keys and values by query blocks, which caches
absorb. Norms and additions to the residual stream are counted apart, so engines that fuse them
move fewer bytes. Rotary embeddings are taken to cover the whole head.
"""

from dataclasses import dataclass

import numpy as np

from tpbook.checks import nonnegative, positive, whole
from tpbook.geometry import Model
from tpbook.intensity import attention_bytes, attention_flops, gemm_bytes, gemm_flops
from tpbook.sharding import rank_model
from tpbook.symbolic import is_symbolic

# Operations per element of the kernels that multiply no matrix: a convention, with every
# elementary function counted as one. Their time follows from their bytes.
RMS_NORM_FLOPS, LAYER_NORM_FLOPS = 4, 7
ROPE_FLOPS = 3
SILU_GATE_FLOPS, GELU_FLOPS = 5, 8


@dataclass(frozen=True)
class Kernel:
    """One kernel of a pass: calls per pass, and FLOP and B of one call."""

    name: str
    category: str
    calls: int
    flops: float
    traffic: float

    @property
    def intensity(self) -> float:
        """FLOP/B."""
        return self.flops / self.traffic

    @property
    def pass_flops(self) -> float:
        """FLOP of all calls in the pass."""
        return self.calls * self.flops

    @property
    def pass_traffic(self) -> float:
        """Bytes of all calls in the pass."""
        return self.calls * self.traffic


def kernels(
    model: Model, p: int, batch, tokens, context, element_bytes=2, lm_head: bool = True
) -> list[Kernel]:
    """The kernels of one forward pass on one of p ranks, in order of execution.

    batch: sequences. tokens: new tokens per sequence (the prompt in prefill, 1 in decode).
    context: tokens per sequence already cached. All three may be arrays or SymPy symbols.
    element_bytes: bytes of every weight and activation.
    lm_head: count the head too; it runs on the last token of each sequence only.
    Categories are those of a system's steps.csv: weight_gemm, attention, kv_copy, other.
    Raises ValueError as sharding.shard does, for sizes that are not whole, and for a sequence
    beyond the model's sliding window, since full attention is counted.
    """
    _check(model, batch, tokens, context)
    local = rank_model(model, p)
    m, d, b = batch * tokens, model.hidden, element_bytes
    queries, keys = local.heads * local.head_dim, local.kv_heads * local.head_dim
    f, ups = local.intermediate, 2 if model.gated_mlp else 1
    layers = model.layers
    norm = LAYER_NORM_FLOPS if model.norm_bias else RMS_NORM_FLOPS
    activation = SILU_GATE_FLOPS if model.gated_mlp else GELU_FLOPS

    def gemm(name, rows, inner, columns, calls):
        flops = gemm_flops(rows, inner, columns)
        return Kernel(name, "weight_gemm", calls, flops, gemm_bytes(rows, inner, columns, b))

    def elementwise(name, calls, flops, elements, category="other"):
        return Kernel(name, category, calls, flops, b * elements)

    rotary = model.positions == 0
    ledger = [
        elementwise("embedding", 1, 0 if rotary else m * d, m * d * (2 if rotary else 3)),
        # Every norm of a layer, and the last one before the head.
        elementwise("norms", model.layer_norms * layers + 1, norm * m * d, 2 * m * d + d),
        gemm("qkv", m, d, queries + 2 * keys, layers),
    ]
    if model.qk_norm:
        width = queries + keys
        ledger.append(elementwise("qk_norm", layers, RMS_NORM_FLOPS * m * width, 2 * m * width))
    if rotary:
        width = queries + keys
        # Queries and keys are read and written; sine and cosine are one head wide together.
        moved = m * (2 * width + local.head_dim)
        ledger.append(elementwise("rope", layers, ROPE_FLOPS * m * width, moved))
    heads = (local.heads, local.kv_heads, local.head_dim)
    ledger += [
        elementwise("kv_write", layers, 0, 4 * m * keys, "kv_copy"),
        Kernel(
            "attention",
            "attention",
            layers,
            attention_flops(batch, tokens, context, local.heads, local.head_dim),
            attention_bytes(batch, tokens, context, *heads, b),
        ),
        gemm("attention_out", m, queries, d, layers),
        gemm("mlp_up", m, d, ups * f, layers),
        elementwise("activation", layers, activation * m * f, m * f * (ups + 1)),
        gemm("mlp_down", m, f, d, layers),
        elementwise("residual", 2 * layers, m * d, 3 * m * d),
    ]
    if lm_head:
        ledger.append(gemm("lm_head", batch, d, local.vocab, 1))
    return ledger


def _check(model: Model, batch, tokens, context) -> None:
    positive(batch=batch, tokens=tokens)
    nonnegative(context=context)
    whole(batch=batch, tokens=tokens, context=context)
    window = model.sliding_window
    length = context + tokens
    if window and not is_symbolic(length) and np.any(np.asarray(length) > window):
        raise ValueError(
            f"{model.id}: context + tokens must not exceed its sliding window {window}, "
            f"got {np.max(length)}"
        )
