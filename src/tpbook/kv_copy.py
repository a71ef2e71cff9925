"""The copy of the whole KV cache that an eager engine makes at every step."""

from tpbook import checks
from tpbook.equation import equation


@equation("eq-copy-time", symbol="copy_time")
def cache_copy_time(p, batch, context, tokens, kv_heads, head_dim, element_bytes, memory_bandwidth):
    """Time 4 B (C + T) H_kv d_h b / (p beta_m) to rebuild one rank's share of a layer's cache.

    A cache that grows by concatenation allocates C + T tokens of keys and of values, reads what
    it keeps and writes all of it again: two tensors, each read once and written once.
    The ranks share the key-value heads evenly, so p is at most H_kv.
    p: degree. batch: B. context: C tokens per sequence already cached. tokens: T new tokens per
    sequence. kv_heads: H_kv. head_dim: d_h. element_bytes: B. memory_bandwidth: B/s.
    Raises ValueError for a value out of range.
    Source: DynamicLayer.update in Hugging Face transformers, src/transformers/cache_utils.py.
    """
    checks.degree(p=p)
    checks.nonnegative(context=context)
    checks.positive(
        batch=batch,
        tokens=tokens,
        kv_heads=kv_heads,
        head_dim=head_dim,
        element_bytes=element_bytes,
        memory_bandwidth=memory_bandwidth,
    )
    length = context + tokens
    return 4 * batch * length * kv_heads * head_dim * element_bytes / (p * memory_bandwidth)
