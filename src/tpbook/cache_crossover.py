"""The crossover batch when a decode step reads the KV cache besides the weights."""

from tpbook import checks
from tpbook.equation import equation


@equation("eq-cache-time", symbol="cache_time")
def cache_time(p, batch, context, kv_heads, head_dim, element_bytes, memory_bandwidth):
    """Time 2 B C H_kv d_h b / (p beta_m) to read one rank's share of a layer's KV cache.

    The ranks share the key-value heads evenly, so p is at most H_kv.
    p: degree. batch: B. context: C tokens per sequence. kv_heads: H_kv. head_dim: d_h.
    element_bytes: B. memory_bandwidth: B/s.
    Raises ValueError for a value out of range.
    """
    checks.degree(p=p)
    checks.nonnegative(batch=batch, context=context)
    checks.positive(
        kv_heads=kv_heads,
        head_dim=head_dim,
        element_bytes=element_bytes,
        memory_bandwidth=memory_bandwidth,
    )
    return 2 * batch * context * kv_heads * head_dim * element_bytes / (p * memory_bandwidth)


@equation("eq-context-limit", symbol="context_limit")
def context_limit(p, hidden, kv_heads, head_dim, allreduces_per_layer, memory_bandwidth, beta):
    """Context n (p-1) d beta_m / (H_kv d_h beta) where a sequence's cache read equals its traffic.

    Beyond it the cache read grows faster with the batch than communication does.
    p: degree above 1. hidden: d. kv_heads: H_kv. head_dim: d_h. allreduces_per_layer: n.
    memory_bandwidth: B/s. beta: B/s per direction.
    Raises ValueError for a value out of range.
    """
    checks.several(p=p)
    checks.positive(
        hidden=hidden,
        kv_heads=kv_heads,
        head_dim=head_dim,
        allreduces_per_layer=allreduces_per_layer,
        memory_bandwidth=memory_bandwidth,
        beta=beta,
    )
    traffic = allreduces_per_layer * (p - 1) * hidden * memory_bandwidth
    return traffic / (kv_heads * head_dim * beta)


@equation("eq-crossover-cache", symbol="cache_crossover")
def crossover_batch_with_cache(crossover_batch, context, context_limit):
    """Crossover batch B* / (1 - C/C_max) against weights and cache together.

    crossover_batch: B*, that against the weights alone; zero or negative as there.
    context: C tokens per sequence. context_limit: C_max.
    Raises ValueError for a context that is not below its limit, where no crossover exists.
    """
    checks.number(crossover_batch=crossover_batch)
    checks.nonnegative(context=context)
    checks.positive(context_limit=context_limit)
    checks.below_one(**{"context / context_limit": context / context_limit})
    return crossover_batch / (1 - context / context_limit)
