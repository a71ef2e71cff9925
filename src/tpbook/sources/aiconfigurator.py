"""Tables from ai-dynamo/aiconfigurator (Apache-2.0): all-reduces of A100, H100 and L40S.

Running it writes the kernels of aiconfigurator_kernels as well.

Upstream counts messages in elements (2 bytes each here) and times in milliseconds; each time is
the mean over the repeats of one run.
"""

from pathlib import Path

import pandas as pd

from tpbook.sources import run, write_allreduce
from tpbook.sources.aiconfigurator_kernels import build_kernels, read_parquet

ELEMENT_BYTES = 2

# (system, upstream folder below data/, blob, stem of the method)
NCCL_TESTS = [
    ("quad-a100-sxm", "a100_sxm/comm/nccl/2.27.3", "6b6607a3957096cfdd147d23283e74116dfb9ac3"),
    ("octo-h100-sxm", "h100_sxm/comm/nccl/2.29.2", "5c9b49bbe965fc9db6af0aa4a0527c4827df4e4a"),
    ("quad-l40s-pcie", "l40s/comm/nccl/2.27.3", "094d6c300c531cbc92d01b5901d439dac69b4335"),
]
ENGINES = [
    (
        "quad-a100-sxm",
        "a100_sxm/comm/trtllm/1.0.0",
        "34e7cba25f829ec9eb7ebcfea480ddda8f62fc5a",
        "trtllm",
    ),
    (
        "quad-a100-sxm",
        "a100_sxm/comm/vllm/0.14.0",
        "5686579facdac2374e9242976cd68288a5fc4780",
        "vllm",
    ),
    (
        "octo-h100-sxm",
        "h100_sxm/comm/trtllm/1.2.0rc5",
        "ed00cef5538d961fe2c2b36d9bf6cf13478c521c",
        "trtllm",
    ),
    (
        "octo-h100-sxm",
        "h100_sxm/comm/vllm/0.14.0",
        "d6d0b16a0b4aee9520d746e9019bf0b20f20bfa3",
        "vllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/trtllm/1.0.0",
        "aae1011694ac098cd4906d8262ed3c8e3fc12125",
        "trtllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/vllm/0.14.0",
        "083776d6d45f30a5feac09a84268192788a489e2",
        "vllm",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.10",
        "37cfb275b9412855ecf3fd967c72e4ee41b4b528",
        "sglang-0.5.10",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.12",
        "f757723fe4b0c61d0f2671988cd128609e948f57",
        "sglang-0.5.12",
    ),
    (
        "quad-l40s-pcie",
        "l40s/comm/sglang/0.5.14",
        "b7a8d3e67366ebd7f97cc3c11016a1c64078defc",
        "sglang-0.5.14",
    ),
]
ENGINE_REPEATS = 100


def read_table(checkout: Path, folder: str, name: str, blob: str) -> pd.DataFrame:
    """The all-reduce rows of one upstream table, with 2-byte elements."""
    table = read_parquet(checkout, folder, name, blob)
    dtype = table["nccl_dtype"] if "nccl_dtype" in table else table["allreduce_dtype"]
    return table[(table["op_name"] == "all_reduce") & dtype.isin(["half", "bfloat16"])]


def nccl_repeats(message: int) -> int:
    """The -n that the upstream collector passes to nccl-tests for a message of that many bytes."""
    return 100 if message <= 2**24 else 60


def rows_of(table: pd.DataFrame, stem: str) -> list[tuple]:
    """Rows (p, message, time, statistic, samples, method); stem names the method."""
    rows = []
    for row in table.itertuples():
        message = ELEMENT_BYTES * int(row.message_size)
        if stem == "nccl-tests":
            method, samples = stem, nccl_repeats(message)
        else:
            launch = "eager" if row.kernel_source.endswith("_eager") else "graph"
            method, samples = f"{stem}-{launch}", ENGINE_REPEATS
        rows.append((row.num_gpus, message, row.latency * 1e-3, "mean", samples, method))
    return rows


def build(checkout: Path, output: Path) -> None:
    """Write every table of this source below output."""
    systems: dict[str, list[tuple]] = {}
    for system, folder, blob in NCCL_TESTS:
        table = read_table(checkout, folder, "nccl_perf", blob)
        systems.setdefault(system, []).extend(rows_of(table, "nccl-tests"))
    for system, folder, blob, stem in ENGINES:
        table = read_table(checkout, folder, "custom_allreduce_perf", blob)
        systems.setdefault(system, []).extend(rows_of(table, stem))
    for system, rows in systems.items():
        write_allreduce(output / "systems" / system, rows, {row[5] for row in rows})
    build_kernels(checkout, output)


if __name__ == "__main__":
    run(build, "ai-dynamo/aiconfigurator")
