"""Which collectives a tensor-parallel forward pass has, and how large they are.

Each layer ends its attention and its MLP with a row-parallel product, whose partial sums are
all-reduced: two all-reduces per layer (Shoeybi et al. 2019, section 3). The message does not
depend on p.
"""

from dataclasses import dataclass

from tpbook.checks import positive
from tpbook.equation import equation
from tpbook.geometry import Model
from tpbook.sharding import shard


@dataclass(frozen=True)
class Collective:
    """One kind of collective of a pass.

    kind: all_reduce or all_gather. count: how often it occurs in the pass. message: bytes of the
    all-reduced buffer, or of the gathered result (all ranks' parts together).
    """

    name: str
    kind: str
    count: int
    message: float


@equation("eq-allreduce-message", symbol="message")
def allreduce_message(batch, tokens, hidden, element_bytes):
    """Bytes B T d b that each all-reduce of a layer sums.

    batch, tokens, hidden: counts. element_bytes: B.
    Raises ValueError for a size that is not positive. Source: Shoeybi et al. 2019, section 3.
    """
    positive(batch=batch, tokens=tokens, hidden=hidden, element_bytes=element_bytes)
    return batch * tokens * hidden * element_bytes


def forward_collectives(
    model: Model,
    p: int,
    batch,
    tokens,
    element_bytes=2,
    embedding: bool = False,
    lm_head: bool = False,
) -> list[Collective]:
    """The collectives of one forward pass on p ranks; none when p = 1.

    batch: sequences. tokens: new tokens per sequence (the prompt in prefill, 1 in decode).
    embedding: add the all-reduce of a vocabulary-parallel embedding.
    lm_head: add the all-gather of the split logits, for the last token of each sequence only.
    A model whose attention and MLP run side by side has one all-reduce per layer.
    Raises ValueError as sharding.shard does.
    """
    part = shard(model, p)
    message = allreduce_message(batch, tokens, model.hidden, element_bytes)
    if p == 1:
        return []
    if model.allreduces_per_layer == 1:
        names = ["attention_and_mlp"]
    else:
        names = ["attention_out", "mlp_down"]
    collectives = [Collective(name, "all_reduce", model.layers, message) for name in names]
    if embedding:
        collectives.insert(0, Collective("embedding", "all_reduce", 1, message))
    if lm_head:
        logits = batch * p * part.vocab * element_bytes
        collectives.append(Collective("lm_head", "all_gather", 1, logits))
    return collectives
