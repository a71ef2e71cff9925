"""Bad system folders: each fault gets one line with file, line, column, reason and remedy."""

import pytest
import yaml

from tpbook.paths import DATA
from tpbook.systems import load_system

HEADERS = {
    "allreduce": "p,message_bytes,time_s,statistic,samples,method",
    "steps": "p,batch,context,phase,rank,category,time_s,calls,statistic,samples",
    "serving": (
        "p,batch,prompt_tokens,output_tokens,ttft_s,tpot_s,latency_s,tokens_per_s,repeats,low,high"
    ),
    "gpu_metrics": "p,batch,phase,rank,metric,value,unit,samples",
}
METHOD = "nccl-kernel-graph"


@pytest.fixture
def folder(tmp_path):
    """A valid system: four A40 by bridges, Llama-2-7B in float16, all-reduces at p = 2."""
    made = tmp_path / "mine"
    made.mkdir()
    entry = yaml.safe_load((DATA / "systems" / "quad-a40-bridge" / "system.yml").read_text())
    entry["composed"] = False
    (made / "system.yml").write_text(yaml.safe_dump(entry))
    write(made, "allreduce", f"2,8192,8e-6,median,5,{METHOD}", f"2,65536,9e-6,median,5,{METHOD}")
    return made


def write(folder, name, *rows, header=None):
    lines = (header or HEADERS[name], *rows, "")
    (folder / f"{name}.csv").write_text("\n".join(lines))


def refused(folder, start, *parts):
    with pytest.raises(ValueError) as caught:
        load_system(folder)
    message = str(caught.value)
    assert message.startswith(f"mine/{start}"), message
    assert "\n" not in message
    for part in parts:
        assert part in message, message
    return message


def step(p=1, batch=1, context=512, phase="decode", category="weight_gemm", time=0.0237):
    return f"{p},{batch},{context},{phase},0,{category},{time},128,median,20"


def test_a_good_folder_of_every_table_loads(folder):
    write(folder, "steps", step(), step(p=2, time=0.0121), step(p=2, category="kv_copy", time=0))
    write(folder, "serving", "2,8,512,128,0.1,0.02,2.64,387.9,3,2.6,2.7")
    write(folder, "gpu_metrics", "2,8,decode,0,dram_read,5e11,B/s,100")
    system = load_system(folder)
    assert system.steps["estimated_s"].tolist() == [0, 0, 0]
    assert system.serving["high"].tolist() == [2.7]
    assert system.gpu_metrics["metric"].tolist() == ["dram_read"]


def test_a_single_serving_run_needs_no_interval(folder):
    write(folder, "serving", "2,8,512,128,0.1,0.02,2.64,387.9,1,,")
    assert load_system(folder).serving[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    "row, column, reason",
    [
        (step(time=-0.01), "time_s", "must be at least 0, got '-0.01'"),
        (step(time="nan"), "time_s", "must be a number, got 'nan'"),
        (step(time=""), "time_s", "must be a number, got ''"),
        (step(category="gemm"), "category", "must be one of weight_gemm, attention, comm"),
        (step(phase="warmup"), "phase", "must be one of prefill, decode, mixed"),
        (step(p=4), "p", "p = 4 is absent from allreduce.csv"),
        (step(phase="prefill", context=0), "context", "a prefill of no tokens"),
        (step().replace("decode,0", "decode,1"), "rank", "rank 1 of p = 1; count ranks from 0"),
        (step(p=8), "p", "p = 8 needs 8 devices and system.yml counts 4"),
        (step(category="communication"), "category", "one rank does not communicate"),
        # 12.95 GB of weights at 696 GB/s take 18.6 ms on the A40.
        (step(time=0.0165), "time_s", "0.0165 s is faster than the roof of a40 allows (0.018"),
        (step(time=23.7), "time_s", "23.7 s looks like ms"),
        # 64 all-reduces of 8 KiB at 56.25 GB/s.
        (step(p=2, category="communication", time=5e-6), "time_s", "faster than the line rate"),
    ],
)
def test_a_bad_step_is_refused(folder, row, column, reason):
    write(folder, "steps", step(batch=32, time=0.0262), row)
    message = refused(folder, f"steps.csv line 3, column {column}: ", reason)
    assert "; " in message


def test_a_degree_that_the_model_does_not_split_into_is_refused(folder):
    write(folder, "allreduce", f"3,8192,8e-6,median,5,{METHOD}")
    write(folder, "steps", step(), step(p=3, time=0.008))
    refused(folder, "steps.csv line 3, column p: llama-2-7b: p = 3", "possible degrees: 1, 2, 4")


@pytest.mark.parametrize("name", HEADERS)
def test_a_table_without_rows_is_refused(folder, name):
    write(folder, name)
    refused(folder, f"{name}.csv: holds no rows; add them or drop the file")


def test_a_prefill_step_is_held_to_the_compute_roof(folder):
    # 2 x 6.476e9 x 1024 FLOP at 149.7 TFLOP/s take 88.6 ms, far longer than reading the weights.
    write(folder, "steps", step(phase="prefill", context=1024, time=0.05))
    refused(folder, "steps.csv line 2, column time_s: 0.05 s is faster than the roof")
    write(folder, "steps", step(phase="prefill", context=1024, time=0.127))
    load_system(folder)


def test_eight_bit_weights_are_not_held_to_the_roof_of_two_byte_ones(folder):
    write(folder, "steps", step(time=0.0125))
    refused(folder, "steps.csv line 2, column time_s")
    file = folder / "system.yml"
    file.write_text(file.read_text().replace("dtype: float16", "dtype: int8"))
    assert load_system(folder).steps["time_s"].tolist() == [0.0125]


def test_the_second_row_of_a_step_is_refused(folder):
    write(folder, "steps", step(), step(time=0.024))
    refused(folder, "steps.csv line 3, column p: a second row for p 1, batch 1, context 512")


def test_more_estimated_than_there_is_is_refused(folder):
    write(folder, "steps", step() + ",0.03", header=HEADERS["steps"] + ",estimated_s")
    refused(folder, "steps.csv line 2, column estimated_s: 0.03 s is more than time_s")


@pytest.mark.parametrize("factor, reason", [(1e-3, "faster than the line rate"), (1e3, "like ms")])
def test_all_reduces_in_another_unit_are_refused(folder, factor, reason):
    rows = [(8192, 8e-6), (2**20, 35e-6), (2**26, 1.7e-3)]
    write(folder, "allreduce", *(f"2,{m},{t * factor},median,5,{METHOD}" for m, t in rows))
    refused(folder, "allreduce.csv line 2, column time_s: ", reason)
    write(folder, "allreduce", *(f"2,{m},{t},median,5,{METHOD}" for m, t in rows))
    load_system(folder)


def test_one_slow_all_reduce_alone_is_no_wrong_unit(folder):
    rows = f"2,8192,8e-6,median,5,{METHOD}", f"2,65536,1,median,5,{METHOD}"
    write(folder, "allreduce", *rows)
    load_system(folder)


ONE = "2,1,512,128,0.1,0.02,2.64,48.48,3,,"


def serving(ttft=0.1, tpot=0.02, latency=2.64, rate=387.9, low="", high="", p=2):
    return f"{p},8,512,128,{ttft},{tpot},{latency},{rate},3,{low},{high}"


@pytest.mark.parametrize(
    "row, column, reason",
    [
        (serving(rate=1939), "tokens_per_s", "1939 is not batch x output_tokens / latency_s (387"),
        (serving(ttft=2.7), "latency_s", "2.64 s is less than ttft_s"),
        (serving(tpot=20), "tpot_s", "looks like ms"),
        (serving(tpot=0.004), "tpot_s", "faster than the memory bandwidth of a40"),
        (serving(ttft=0.02), "ttft_s", "faster than the roof of a40 allows (0.02"),
        (serving(low=2.65, high=2.7), "low", "2.65 s leaves latency_s outside its interval"),
        (serving(low=2.5, high=2.6), "high", "2.6 s leaves latency_s outside its interval"),
        (serving(ttft=0), "ttft_s", "must be above 0"),
        (serving(latency="nan"), "latency_s", "must be a number"),
        (serving(p=8), "p", "needs 8 devices"),
        (ONE, "p", "a second row for p 2, batch 1, prompt_tokens 512, output_tokens 128"),
    ],
)
def test_a_bad_serving_row_is_refused(folder, row, column, reason):
    write(folder, "serving", ONE, row)
    refused(folder, f"serving.csv line 3, column {column}: ", reason)


def test_serving_times_all_in_milliseconds_are_refused(folder):
    write(folder, "serving", serving(ttft=100, tpot=20, latency=2640))
    refused(folder, "serving.csv line 2, column tokens_per_s")
    write(folder, "serving", serving(ttft=100, tpot=20, latency=2640, rate=0.3879))
    refused(folder, "serving.csv line 2, column tpot_s: 20 s looks like ms")


@pytest.mark.parametrize(
    "row, column, reason",
    [
        ("2,8,decode,0,sm_active,85,fraction,9", "value", "85 is no fraction (looks like percent)"),
        ("2,8,decode,0,tensor_active,1e9,B/s,9", "unit", "tensor_active is a fraction, got 'B/s'"),
        ("2,8,decode,0,power,300,W,9", "metric", "must be one of tensor_active, sm_active"),
        ("2,8,decode,0,pcie_tx,-1,B/s,9", "value", "must be at least 0"),
        ("2,8,decode,0,pcie_rx,1e9,GB/s,9", "unit", "must be one of fraction, B/s"),
        ("2,8,decode,0,dram_write,8e11,B/s,9", "value", "more than the memory of a40 delivers"),
        ("2,8,decode,2,dram_read,1,B/s,9", "rank", "rank 2 of p = 2"),
        ("2,8,decode,0,dram_read,1,B/s,9", "p", "a second row for"),
    ],
)
def test_a_bad_counter_is_refused(folder, row, column, reason):
    write(folder, "gpu_metrics", "2,8,decode,0,dram_read,5e11,B/s,100", row)
    refused(folder, f"gpu_metrics.csv line 3, column {column}: ", reason)


def test_a_model_that_the_catalogue_lacks_is_refused(folder):
    file = folder / "system.yml"
    file.write_text(file.read_text().replace("model: llama-2-7b", "model: llama-9"))
    with pytest.raises(ValueError, match="model in mine/system.yml: 'llama-9'; known: llama-2-7b"):
        load_system(folder)
