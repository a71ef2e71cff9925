"""The notation of the book: one row for each symbol, named as the functions' arguments are.

The rows feed the notation page, the axis labels and the dimension check of every equation.
Units are products of s (second), B (byte) and FLOP; 1 marks a pure number or a count.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A symbol: how it is typeset, what it means, its unit."""

    latex: str
    meaning: str
    unit: str


NOTATION: dict[str, Row] = {
    # Parallel run
    "p": Row("p", "tensor-parallel degree: the ranks that share one layer", "1"),
    "q": Row("q", "a second tensor-parallel degree, to which a law is extrapolated", "1"),
    "batch": Row("B", "batch: sequences that advance together", "1"),
    "tokens": Row("T", "tokens per sequence in this pass: the prompt in prefill, 1 in decode", "1"),
    "context": Row("C", "tokens per sequence already in the KV cache", "1"),
    # Model
    "hidden": Row("d", "hidden width", "1"),
    "layer_parameters": Row("P", "weight-matrix parameters of one layer", "1"),
    "element_bytes": Row("b", "bytes of one element (2 for bf16)", "B"),
    "heads": Row("H", "query heads", "1"),
    "kv_heads": Row(r"H_{\mathrm{kv}}", "key-value heads", "1"),
    "head_dim": Row(r"d_h", "width of one head", "1"),
    "rows": Row("m", "rows of a GEMM: the tokens of the pass", "1"),
    "inner": Row("k", "inner width of a GEMM", "1"),
    "columns": Row("N", "columns of a GEMM", "1"),
    # Compute roofline
    "flops": Row("F", "floating-point operations of a kernel or a pass", "FLOP"),
    "traffic": Row("Q", "bytes that a kernel moves to and from memory", "B"),
    "intensity": Row("I", "arithmetic intensity", "FLOP/B"),
    "peak": Row(r"\pi", "peak dense rate of one accelerator", "FLOP/s"),
    "memory_bandwidth": Row(r"\beta_m", "memory bandwidth of one accelerator", "B/s"),
    "rate": Row("R", "attained or attainable compute rate", "FLOP/s"),
    "eta": Row(r"\eta", "utilisation: ideal time over measured time", "1"),
    "startup": Row("t_0", "start-up time of a kernel", "s"),
    "exponent": Row(r"\nu", "exponent of the norm that joins the two roofs", "1"),
    "loop": Row("t_k", "time that one element of the inner width adds to a GEMM", "s"),
    "deviation": Row(
        r"\delta", "measured time of a shard over its law's, at a smaller degree", "1"
    ),
    "carried": Row(r"\lambda", "share of a deviation that is carried to a larger degree", "1"),
    "carried_time": Row(r"T_{\mathrm{GEMM}}", "time of one GEMM, with its deviation carried", "s"),
    "kernel_time": Row(r"T_{\mathrm{kernel}}", "time of one kernel", "s"),
    "ideal_time": Row(r"T_{\mathrm{ideal}}", "roofline time at full utilisation", "s"),
    "ridge_intensity": Row(r"I^{*}", "ridge: intensity where the two roofs meet", "FLOP/B"),
    "ridge_batch": Row(
        r"B_{\mathrm{ridge}}", "batch at which a decode GEMM reaches the ridge", "1"
    ),
    "half_traffic": Row(r"Q_{1/2}", "bytes at which a kernel reaches half the bandwidth", "B"),
    # Collectives
    "message": Row("M", "bytes of the buffer that each rank contributes to a collective", "B"),
    "alpha": Row(r"\alpha", "latency of one collective", "s"),
    "alpha_hop": Row(r"\alpha_h", "latency of one hop (one step of the ring)", "s"),
    "beta": Row(r"\beta", "network bandwidth of one rank, per direction", "B/s"),
    "message_time": Row(r"T_{\mathrm{msg}}", "time of one point-to-point message", "s"),
    "allreduce_time": Row(r"T_{\mathrm{AR}}", "time of one all-reduce", "s"),
    "half_collective_time": Row(
        r"T_{\mathrm{RS}}", "time of one reduce-scatter or one all-gather", "s"
    ),
    "bandwidth": Row(r"\mathrm{BW}", "bytes of message per second", "B/s"),
    "bus_bandwidth": Row(
        r"\mathrm{BW}_{\mathrm{bus}}", "ring traffic of one rank per second", "B/s"
    ),
    "half_message": Row(r"n_{1/2}", "message at which half the bandwidth is reached", "B"),
    "rank_traffic": Row("W", "bytes that one rank sends in one collective", "B"),
    # Scaling
    "time": Row("T_p", "time of a pass on p ranks", "s"),
    "time_one": Row("T_1", "time of the same pass on one rank", "s"),
    "work_time": Row("T_c", "ideal compute time of the pass on one rank", "s"),
    "speedup": Row("S", "speed-up over one rank", "1"),
    "efficiency": Row("E", "speed-up divided by the degree", "1"),
    "serial_fraction": Row("f", "serial fraction of the one-rank time", "1"),
    "effective_fraction": Row(r"\tilde f", "effective serial fraction: what Amdahl would fit", "1"),
    "contention": Row(r"\sigma", "contention coefficient of the universal scalability law", "1"),
    "coherency": Row(r"\kappa", "coherency coefficient of the universal scalability law", "1"),
    "collectives": Row("K", "all-reduces in one pass", "1"),
    "communication_time": Row(r"T_{\mathrm{comm}}", "communication time of one pass", "s"),
    "extrapolation_error": Row(
        r"\Delta", "Amdahl's prediction minus the true time at a larger degree", "s"
    ),
    "optimum_degree": Row("p^{*}", "degree with the shortest time", "1"),
    "maximum_speedup": Row("S^{*}", "speed-up at the optimum degree", "1"),
    # Serving
    "prompt_tokens": Row(r"n_{\mathrm{in}}", "prompt tokens of one sequence", "1"),
    "output_tokens": Row(r"n_{\mathrm{out}}", "tokens generated for one sequence", "1"),
    "ttft": Row(r"\mathrm{TTFT}", "time to first token: from the request to the first token", "s"),
    "tpot": Row(r"\mathrm{TPOT}", "time per output token after the first", "s"),
    "ttft_one": Row(r"\mathrm{TTFT}_1", "time to first token on one rank", "s"),
    "tpot_one": Row(r"\mathrm{TPOT}_1", "time per output token on one rank", "s"),
    "break_even_output": Row(
        r"n^{*}", "answer length from which more ranks shorten the latency", "1"
    ),
    "latency": Row(r"T_{\mathrm{req}}", "latency of a request: to its last output token", "s"),
    "throughput": Row(r"X", "throughput: output tokens of all sequences per second", "s^-1"),
    "total_throughput": Row(
        r"X_{\mathrm{all}}", "prompt and output tokens of all sequences per second", "s^-1"
    ),
    # Crossover
    "allreduces_per_layer": Row("n", "all-reduces per layer in the forward pass", "1"),
    "weight_time": Row(r"T_w", "time to read one rank's share of a layer's weights", "s"),
    "layer_communication_time": Row(r"T_{\ell}", "communication time of one layer", "s"),
    "crossover_batch": Row("B^{*}", "batch where communication takes as long as the weights", "1"),
    "latency_limit": Row(r"\alpha_{\max}", "latency at which the crossover batch is zero", "s"),
    "compute_ratio": Row(
        r"\rho", "communication over compute time above the ridge batch, without latency", "1"
    ),
    "return_batch": Row(
        r"B_{\mathrm{ret}}", "batch where compute takes as long as communication again", "1"
    ),
    "cache_time": Row(
        r"T_{\mathrm{kv}}", "time to read one rank's share of a layer's KV cache", "s"
    ),
    "context_limit": Row(
        r"C_{\max}", "context where a sequence's cache read takes as long as its messages", "1"
    ),
    "cache_crossover": Row(
        r"B^{*}_{\mathrm{kv}}", "crossover batch against weights and KV cache together", "1"
    ),
    # Distance to a roof
    "distance": Row(r"\gamma", "distance to a roof: time over the time at the roof", "1"),
    "share": Row(r"\theta", "share of one kind of work in the time of a pass", "1"),
    "bandwidth_part": Row(r"\theta_{\beta}", "share of the bandwidth term in a collective", "1"),
    "lost_time": Row(r"T_{\mathrm{lost}}", "time above an even division of the one-rank time", "s"),
    "compute_time": Row(
        r"T_{\mathrm{comp}}", "time of everything but communication in a pass on p ranks", "s"
    ),
    # A-priori prediction
    "launch": Row(r"t_{\mathrm{launch}}", "time to launch the kernel of one collective", "s"),
    "base": Row(r"\alpha_0", "what the protocol of a collective pays once", "s"),
    "crossing": Row(r"t_{\mathrm{host}}", "what one step of a ring through the host adds", "s"),
    "rank_time": Row(
        r"T_{\mathrm{rank}}", "roofline time of a pass's kernels on one of p ranks", "s"
    ),
    "write_time": Row(
        r"T_{\mathrm{write}}", "roofline time to write one rank's new keys and values", "s"
    ),
    # Calibration
    "copy_time": Row(
        r"T_{\mathrm{copy}}", "time to copy one rank's share of a layer's KV cache", "s"
    ),
    "communication_p": Row(r"T_{\mathrm{comm},p}", "communication time of a pass on p ranks", "s"),
    "communication_q": Row(
        r"T_{\mathrm{comm},q}", "communication time of the same pass on q ranks", "s"
    ),
    # Serving model
    "growth": Row("g", "growth with the degree of what only several ranks pay", "1"),
    "weight_bytes": Row("W_b", "bytes of the weights that one pass reads, all ranks", "B"),
    "token_flops": Row("F_1", "matrix-multiply operations of one token", "FLOP"),
    "token_cache": Row(r"k_p", "bytes that one token holds in one rank's KV cache", "B"),
    "layers": Row("L", "layers", "1"),
    "walk": Row(r"\tau", "time of one block of threads per cached token and layer", "s"),
    "eta_weights": Row(r"\eta_w", "utilisation of memory while weights are read", "1"),
    "eta_compute": Row(r"\eta_c", "utilisation of the peak in the GEMMs of decode", "1"),
    "eta_cache": Row(r"\eta_k", "utilisation of memory while the KV cache is read", "1"),
    "eta_prefill": Row(r"\eta_p", "utilisation of the peak in prefill", "1"),
    "per_step": Row("c_0", "overhead of every pass", "s"),
    "several": Row("c_{+}", "overhead of a step with more than one sequence", "s"),
    "per_sequence": Row("c_1", "overhead of every sequence in a step", "s"),
    "gather": Row("c_g", "overhead per sequence of gathering its result from two ranks", "s"),
    "gemm_time": Row(r"T_{\mathrm{gemm}}", "time of the GEMMs of a decode step", "s"),
    "cache_step_time": Row(
        r"T_{\mathrm{cache}}", "time of reading the cache in a decode step", "s"
    ),
    "overhead_time": Row(r"T_{\mathrm{over}}", "overhead of a decode step", "s"),
}


def row(name: str) -> Row:
    """The notation row of a symbol; raises ValueError for a name that has none."""
    if name not in NOTATION:
        raise ValueError(f"no symbol {name!r} in the notation table")
    return NOTATION[name]


def symbol(name: str):
    """The positive SymPy symbol of a notation name."""
    import sympy

    return sympy.Symbol(row(name).latex, positive=True)


def symbols(names: str) -> tuple:
    """The positive SymPy symbols of space-separated notation names."""
    return tuple(symbol(name) for name in names.split())
