"""Whether a run's weights and KV cache fit in the memory of its ranks."""

from tpbook.checks import degree, nonnegative, positive
from tpbook.geometry import Model
from tpbook.models import total_parameters
from tpbook.sharding import kv_bytes_per_token

# The share of a card's memory that engines plan with (vLLM's and TensorRT-LLM's default).
USABLE_SHARE = 0.9


def bytes_needed(model: Model, p: int, batch: int, tokens: int, element_bytes: float = 2) -> float:
    """Bytes of weights and KV cache on one of p ranks when every sequence is complete.

    P_total b / p + B T 2 L H_kv d_h b / p: the even share, in which nothing is padded or copied.

    tokens: prompt and output tokens of one sequence.
    """
    degree(p=p)
    positive(batch=batch, element_bytes=element_bytes)
    nonnegative(tokens=tokens)
    weights = total_parameters(model) * element_bytes
    cache = batch * tokens * kv_bytes_per_token(model, 1, element_bytes)
    return (weights + cache) / p


def fits(
    model: Model, p: int, batch: int, tokens: int, memory_bytes: float, element_bytes: float = 2
) -> bool:
    """Whether bytes_needed stays below 0.9 of the memory_bytes of one rank's card."""
    positive(memory_bytes=memory_bytes)
    return bytes_needed(model, p, batch, tokens, element_bytes) < USABLE_SHARE * memory_bytes
