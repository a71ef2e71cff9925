"""How tensor parallelism cuts a model: what one of p ranks holds.

Query heads, the MLP's width and the vocabulary are split; norms, position tables and the biases
that follow an all-reduce are copied to every rank. The rules are those of Megatron-LM
(Shoeybi et al. 2019, section 3) and of vLLM's parallel layers.
"""

from dataclasses import dataclass, replace

import numpy as np

from tpbook.checks import degree, positive, whole
from tpbook.geometry import Model
from tpbook.models import parameters
from tpbook.symbolic import is_symbolic

# vLLM rounds a vocabulary up to this before it splits it.
VOCABULARY_GRANULE = 64


@dataclass(frozen=True)
class Shard:
    """One rank's part: heads, KV heads, MLP width and vocabulary rows.

    kv_replication: the ranks that hold a copy of the same KV head (1 when none does).
    notes: plain sentences that say what was copied or padded.
    """

    p: int
    heads: int
    kv_heads: int
    kv_replication: int
    intermediate: int
    vocab: int
    notes: tuple[str, ...]


def shard(model: Model, p: int) -> Shard:
    """What one of p ranks holds.

    p ranks share the query heads evenly. Where p exceeds the KV heads, each rank keeps one and
    p / kv_heads ranks keep the same one. The vocabulary is padded to a multiple of 64 rows, or of
    64 p where p does not divide that; a single rank pads nothing.
    Raises ValueError where an engine refuses: p must divide the query heads and the MLP's width,
    and one of p and the KV heads must divide the other.
    """
    problem = _problem(model, p)
    if problem:
        allowed = ", ".join(map(str, degrees(model)))
        raise ValueError(f"{model.id}: {problem}; possible degrees: {allowed}")
    replication = max(1, p // model.kv_heads)
    rows, padding = _padded_vocabulary(model.vocab, p)
    return Shard(
        p=p,
        heads=model.heads // p,
        kv_heads=max(1, model.kv_heads // p),
        kv_replication=replication,
        intermediate=model.intermediate // p,
        vocab=rows // p,
        notes=_replication_notes(model, p, replication) + padding,
    )


def degrees(model: Model) -> tuple[int, ...]:
    """The tensor-parallel degrees that the model allows."""
    return tuple(p for p in range(1, model.heads + 1) if not _problem(model, p))


def rank_model(model: Model, p: int) -> Model:
    """One rank's part as a model of its own: the same width, fewer heads, a narrower MLP.

    Raises ValueError as shard does.
    """
    part = shard(model, p)
    sizes = ("heads", "kv_heads", "intermediate", "vocab")
    return replace(model, **{name: getattr(part, name) for name in sizes})


def shard_parameters(model: Model, p: int) -> dict[str, int]:
    """The parameter ledger of one of p ranks, copied and padded weights counted."""
    return parameters(rank_model(model, p))


def weight_bytes(model: Model, p: int, element_bytes: float = 2) -> float:
    """Bytes of weights on one of p ranks."""
    positive(element_bytes=element_bytes)
    return shard_parameters(model, p)["total"] * element_bytes


def kv_bytes_per_token(model: Model, p: int, element_bytes: float = 2) -> float:
    """Bytes that one token of one sequence adds to the KV cache of one of p ranks.

    2 L H_kv d_h b with the rank's own KV heads, so copies are counted.
    """
    positive(element_bytes=element_bytes)
    return 2 * model.layers * shard(model, p).kv_heads * model.head_dim * element_bytes


def _problem(model: Model, p: int) -> str | None:
    degree(p=p)
    whole(p=p)
    if is_symbolic(p) or np.ndim(p):
        raise ValueError(f"p must be one number, got {p}")
    if model.heads % p:
        return f"p = {p} does not divide its {model.heads} query heads"
    if model.kv_heads % p and p % model.kv_heads:
        return f"p = {p} neither divides its {model.kv_heads} KV heads nor is a multiple of them"
    if model.intermediate % p:
        return f"p = {p} does not divide its MLP width {model.intermediate}"
    return None


def _padded_vocabulary(vocab: int, p: int) -> tuple[int, tuple[str, ...]]:
    """All ranks' rows together, and the notes that say why they exceed the vocabulary."""
    if p == 1:
        return vocab, ()
    rows = _round_up(vocab, VOCABULARY_GRANULE)
    notes = ()
    if rows % p:
        rows = _round_up(vocab, VOCABULARY_GRANULE * p)
        notes += (
            f"vLLM stops here, since p = {p} does not divide the vocabulary rounded up to "
            f"{VOCABULARY_GRANULE}; Megatron-LM pads further, and so does this count.",
        )
    if rows > vocab:
        notes = (f"The vocabulary is padded from {vocab} to {rows} rows.", *notes)
    return rows, notes


def _round_up(count: int, granule: int) -> int:
    return -(-count // granule) * granule


def _replication_notes(model: Model, p: int, replication: int) -> tuple[str, ...]:
    notes = ()
    if p > 1:
        notes += ("Norms and the residual stream are whole on every rank.",)
    if replication > 1:
        notes += (
            f"Each of the {model.kv_heads} KV heads is on {replication} ranks, "
            "with its weights and its cache.",
        )
    return notes
