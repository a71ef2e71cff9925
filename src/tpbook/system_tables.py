"""The tables of a system folder: the columns of each, and what makes a row the only one."""

import math

from tpbook.tables import Column

STATISTICS = ("min", "median", "mean", "max")
PHASES = ("prefill", "decode", "mixed")
CATEGORIES = ("weight_gemm", "attention", "communication", "kv_copy", "other")
ACTIVITIES = ("tensor_active", "sm_active")
MEMORY_TRAFFICS = ("dram_read", "dram_write")
TRAFFICS = (*MEMORY_TRAFFICS, "nvlink_tx", "nvlink_rx", "pcie_tx", "pcie_rx")
METRIC_UNITS = ("fraction", "B/s")

ALLREDUCE = (
    Column("p", low=2, whole=True),
    Column("message_bytes", low=1, whole=True),
    Column("time_s", above=0),
    Column("statistic", allowed=STATISTICS),
    Column("samples", low=1, whole=True),
    Column("method"),
)
STEPS = (
    Column("p", low=1, whole=True),
    Column("batch", low=1, whole=True),
    Column("context", low=0, whole=True),
    Column("phase", allowed=PHASES),
    Column("rank", low=0, whole=True),
    Column("category", allowed=CATEGORIES),
    Column("time_s", low=0),
    Column("calls", low=0),
    Column("statistic", allowed=STATISTICS),
    Column("samples", low=1, whole=True),
    Column("estimated_s", low=0, default=0),
)
SERVING = (
    Column("p", low=1, whole=True),
    Column("batch", low=1, whole=True),
    Column("prompt_tokens", low=1, whole=True),
    Column("output_tokens", low=1, whole=True),
    Column("ttft_s", above=0),
    Column("tpot_s", above=0),
    Column("latency_s", above=0),
    Column("tokens_per_s", above=0),
    Column("repeats", low=1, whole=True),
    Column("low", above=0, default=math.nan),
    Column("high", above=0, default=math.nan),
)
GPU_METRICS = (
    Column("p", low=1, whole=True),
    Column("batch", low=1, whole=True),
    Column("phase", allowed=PHASES),
    Column("rank", low=0, whole=True),
    Column("metric", allowed=ACTIVITIES + TRAFFICS),
    Column("value", low=0),
    Column("unit", allowed=METRIC_UNITS),
    Column("samples", low=1, whole=True),
)

# file: (columns, the columns whose values together may occur once)
TABLES = {
    "allreduce": (ALLREDUCE, ("p", "message_bytes", "statistic", "method")),
    "steps": (STEPS, ("p", "batch", "context", "phase", "rank", "category")),
    "serving": (SERVING, ("p", "batch", "prompt_tokens", "output_tokens")),
    "gpu_metrics": (GPU_METRICS, ("p", "batch", "phase", "rank", "metric")),
}
