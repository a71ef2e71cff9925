"""The crossover batch: where a layer's all-reduces take as long as reading its weights."""

from tpbook import checks
from tpbook.collectives import ring_allreduce_time
from tpbook.equation import equation
from tpbook.messages import allreduce_message


@equation("eq-weight-time", symbol="weight_time")
def weight_time(p, layer_parameters, element_bytes, memory_bandwidth):
    """Time P b / (p beta_m) to read one rank's share of a layer's weights.

    p: degree. layer_parameters: P. element_bytes: B. memory_bandwidth: B/s.
    Raises ValueError for a value out of range.
    """
    checks.degree(p=p)
    checks.positive(
        layer_parameters=layer_parameters,
        element_bytes=element_bytes,
        memory_bandwidth=memory_bandwidth,
    )
    return layer_parameters * element_bytes / (p * memory_bandwidth)


@equation("eq-layer-communication", symbol="layer_communication_time")
def layer_communication_time(p, batch, hidden, element_bytes, allreduces_per_layer, alpha, beta):
    """Time n [alpha + 2(p-1) B d b/(p beta)] of one layer's all-reduces in decode.

    p: degree. batch: B. hidden: d. element_bytes: B. allreduces_per_layer: n, 2 for Megatron.
    alpha: s per collective. beta: B/s per direction.
    Raises ValueError for a value out of range.
    """
    checks.positive(allreduces_per_layer=allreduces_per_layer)
    message = allreduce_message(batch, 1, hidden, element_bytes)
    return allreduces_per_layer * ring_allreduce_time(p, message, alpha, beta)


@equation("eq-crossover-record", symbol="crossover_batch")
def crossover_batch_record(layer_parameters, hidden, memory_bandwidth, beta):
    """The record's crossover batch P beta / (2 d beta_m).

    It rounds 2(p-1)/p to 2, leaves the weights unsharded and counts one all-reduce per layer;
    it is exact for p = 2 with one all-reduce per layer and no latency.
    layer_parameters: P. hidden: d. memory_bandwidth, beta: B/s.
    Raises ValueError for a value that is not positive.
    """
    checks.positive(
        layer_parameters=layer_parameters,
        hidden=hidden,
        memory_bandwidth=memory_bandwidth,
        beta=beta,
    )
    return layer_parameters * beta / (2 * hidden * memory_bandwidth)


@equation("eq-crossover-bandwidth", symbol="crossover_batch")
def crossover_batch_bandwidth(
    p, layer_parameters, hidden, allreduces_per_layer, memory_bandwidth, beta
):
    """Crossover batch P beta / (2 n (p-1) d beta_m) without latency.

    The element size cancels. p: degree above 1. Other arguments as crossover_batch.
    Raises ValueError for a value out of range.
    """
    checks.several(p=p)
    checks.positive(allreduces_per_layer=allreduces_per_layer)
    record = crossover_batch_record(layer_parameters, hidden, memory_bandwidth, beta)
    return record / (allreduces_per_layer * (p - 1))


@equation("eq-crossover", symbol="crossover_batch")
def crossover_batch(
    p, layer_parameters, hidden, element_bytes, allreduces_per_layer, memory_bandwidth, alpha, beta
):
    """Crossover batch beta (P b - n p alpha beta_m) / (2 n (p-1) d b beta_m).

    Zero or negative when the latency alone takes as long as the weights: then communication
    is the larger part from the first sequence on, and never overtakes. A value beyond the ridge
    batch is no crossover either: there the weight read is no longer the rival.
    p: degree above 1. layer_parameters: P. hidden: d. element_bytes: B.
    allreduces_per_layer: n. memory_bandwidth: B/s. alpha: s per collective. beta: B/s per
    direction. Raises ValueError for a value out of range.
    """
    checks.several(p=p)
    checks.nonnegative(alpha=alpha)
    checks.positive(
        layer_parameters=layer_parameters,
        hidden=hidden,
        element_bytes=element_bytes,
        allreduces_per_layer=allreduces_per_layer,
        memory_bandwidth=memory_bandwidth,
        beta=beta,
    )
    spare = layer_parameters * element_bytes - allreduces_per_layer * p * alpha * memory_bandwidth
    per_sequence = 2 * allreduces_per_layer * (p - 1) * hidden * element_bytes * memory_bandwidth
    return beta * spare / per_sequence


@equation("eq-latency-limit", symbol="latency_limit")
def latency_limit(p, layer_parameters, element_bytes, allreduces_per_layer, memory_bandwidth):
    """Latency P b / (n p beta_m) at which the crossover batch falls to zero.

    Arguments and errors as crossover_batch.
    """
    checks.several(p=p)
    checks.positive(allreduces_per_layer=allreduces_per_layer)
    read = weight_time(p, layer_parameters, element_bytes, memory_bandwidth)
    return read / allreduces_per_layer


@equation("eq-compute-ratio", symbol="compute_ratio", carries="FLOP^-1")
def compute_bound_ratio(
    p, layer_parameters, hidden, element_bytes, allreduces_per_layer, peak, beta
):
    """Communication over compute n (p-1) d b pi / (P beta) above the ridge batch.

    Both grow with the batch there, so without latency their ratio no longer depends on it.
    p: degree above 1. peak: dense FLOP/s. Other arguments and errors as crossover_batch.
    """
    checks.several(p=p)
    checks.positive(
        layer_parameters=layer_parameters,
        hidden=hidden,
        element_bytes=element_bytes,
        allreduces_per_layer=allreduces_per_layer,
        peak=peak,
        beta=beta,
    )
    traffic = allreduces_per_layer * (p - 1) * hidden * element_bytes
    return traffic * peak / (layer_parameters * beta)


@equation("eq-return-batch", symbol="return_batch")
def return_batch(alpha, latency_limit, ridge_batch, compute_ratio):
    """Batch alpha/alpha_max B_ridge/(1 - rho) at which compute-bound GEMMs take the lead again.

    A value below the ridge batch is no such event: communication is the smaller part throughout.
    alpha, latency_limit: s. ridge_batch: B_ridge. compute_ratio: rho, below 1; from 1 on the
    GEMMs never catch up. Raises ValueError for a value out of range.
    """
    checks.nonnegative(alpha=alpha, compute_ratio=compute_ratio)
    checks.positive(latency_limit=latency_limit, ridge_batch=ridge_batch)
    checks.below_one(compute_ratio=compute_ratio)
    return alpha / latency_limit * ridge_batch / (1 - compute_ratio)
