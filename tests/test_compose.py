"""The composed steps: sums of measured kernels, with every estimate counted as one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tpbook.hardware import accelerator
from tpbook.kernel_times import attention_times, gemm_times, shape_times
from tpbook.models import model
from tpbook.paths import DATA
from tpbook.sources import compose
from tpbook.sources.compose import RECIPES, decode_step, passes, prefill_step
from tpbook.sources.composition import allreduces, head, layer_gemms
from tpbook.sources.kernel_lookup import line_through, shape_time
from tpbook.sources.kernel_tables import write_attention
from tpbook.systems import allreduce_times, load_system, systems

LLAMA = model("llama-2-7b")


@pytest.fixture(scope="module")
def hosts():
    return load_system("quad-a40-hoststaged", tables=["allreduce"])


def total(parts, category=None, part="time"):
    return sum(getattr(p, part) for p in parts if category in (None, p.category))


def test_composing_again_gives_the_committed_bytes(tmp_path):
    compose.build(tmp_path)
    built = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("**/*.csv"))
    assert [path.parts[1] for path in built] == systems()
    for path in built:
        assert (tmp_path / path).read_bytes() == (DATA / path).read_bytes(), path


def test_a_decode_step_is_the_kernels_of_its_tables_added_by_hand(hosts):
    parts = decode_step(RECIPES[hosts.id], hosts, 4, 8, 512)
    rows = gemm_times("llama-2-7b").query("accelerator == 'a40' and p == 4 and tokens == 8")
    one = rows.set_index("kernel")["time_s"]
    gemms = 32 * (one["qkv"] + one["attention_out"] + one["mlp_up"] + one["mlp_down"])
    measured = total(parts, "weight_gemm") - total(parts, "weight_gemm", "estimated")
    assert measured == pytest.approx(gemms)
    other = one["embedding"] + 33 * one["attention_norm"] + 32 * one["mlp_norm"]
    other += 32 * (one["rope"] + one["activation"] + 2 * one["add"])
    assert total(parts, "other") == pytest.approx(other)
    cell = "accelerator == 'a40' and phase == 'decode' and p == 4 and batch == 8 and context == 512"
    attention = attention_times("llama-2-7b").query(cell)["time_s"]
    assert total(parts, "attention") == pytest.approx(32 * attention.item())
    message, times = allreduce_times(hosts, 4)
    above = int(np.searchsorted(message, 65536))
    share = np.log(65536 / message[above - 1]) / np.log(message[above] / message[above - 1])
    single = times[above - 1] ** (1 - share) * times[above] ** share
    assert total(parts, "communication") == pytest.approx(64 * single)
    assert total(parts, "communication", "estimated") == 0


@pytest.mark.parametrize("batch, prompt", [(1, 512), (8, 512), (8, 1024), (32, 1024), (3, 4096)])
def test_passes_hold_every_prompt_once_and_no_more_than_the_limit(batch, prompt):
    held = passes(batch, prompt)
    assert sum(held) == batch
    assert max(held) * prompt <= 4096
    assert min(held[:-1], default=held[0]) == held[0]


def test_a_remainder_gets_a_pass_of_its_own_and_a_long_prompt_is_refused():
    assert passes(9, 1024) == [4, 4, 1]
    assert passes(3, 3000) == [1, 1, 1]
    with pytest.raises(ValueError, match="prompt must fit into one pass of 4096 tokens, got 4097"):
        passes(1, 4097)


def test_a_batch_in_four_passes_takes_four_times_one_pass(hosts):
    recipe = RECIPES[hosts.id]
    one, four = (prefill_step(recipe, hosts, 2, batch, 512) for batch in (8, 32))
    assert total(four) == pytest.approx(4 * total(one))
    assert total(four, part="calls") == 4 * total(one, part="calls")


def test_prefill_attention_follows_the_square_law_and_says_so(hosts):
    recipe = RECIPES[hosts.id]
    long, short = (prefill_step(recipe, hosts, 1, 1, tokens) for tokens in (1024, 512))
    assert total(long, "attention") == pytest.approx(4 * total(short, "attention"))
    assert total(long, "attention", "estimated") == 0
    assert total(short, "attention", "estimated") == total(short, "attention")
    several = prefill_step(recipe, hosts, 1, 4, 1024)
    assert total(several, "attention") == pytest.approx(4 * total(long, "attention"))
    assert total(several, "attention", "estimated") == total(several, "attention")


def test_messages_beyond_the_table_are_estimated_from_its_ends():
    system = load_system("quad-a40-bridge", tables=["allreduce"])
    table = pd.DataFrame({"p": 2, "message_bytes": [65536, 131072], "time_s": [6e-6, 9e-6]})
    table = table.assign(statistic="median", samples=5, method="nccl-kernel-graph")
    system, recipe = replace(system, allreduce=table), RECIPES["quad-a40-bridge"]
    (below,) = allreduces(recipe, system, LLAMA, 2, 1)
    assert below.time == below.estimated == pytest.approx(64 * 6e-6)
    (inside,) = allreduces(recipe, system, LLAMA, 2, 16)
    assert inside.time == pytest.approx(64 * 9e-6) and inside.estimated == 0
    (above,) = allreduces(recipe, system, LLAMA, 2, 64)
    assert above.time == above.estimated == pytest.approx(64 * 4 * 9e-6)
    assert list(allreduces(recipe, system, LLAMA, 1, 16)) == []


@pytest.mark.parametrize("id", sorted(RECIPES))
def test_the_head_is_estimated_between_its_roof_and_the_rate_of_the_layers(id):
    recipe = RECIPES[id]
    memory = accelerator(load_system(id, tables=["allreduce"]).accelerator).memory_bandwidth
    for p in (1, 2, 4):
        for rows in (1, 8, 32):
            own = head(recipe, LLAMA, p, rows)
            assert own.estimated == own.time
            gemms = sum(part.time for part in layer_gemms(recipe, LLAMA, p, rows))
            # No faster than memory, and no slower per weight than the layers: it is wider.
            assert own.time > 2 * 32000 * 4096 / p / memory
            assert own.time / gemms < 1.25 * 32000 * 4096 / (32 * 202_375_168)


def test_a_line_through_points_passes_them_and_goes_straight_on():
    widths, times = [1.0, 2.0, 4.0], [1.0, 3.0, 4.0]
    assert [line_through(widths, times, at) for at in (1, 2, 3, 4)] == [1, 3, 3.5, 4]
    assert line_through(widths, times, 6) == 5 and line_through(widths, times, 0.5) == 0


def test_a_measured_shape_is_taken_as_it_is_and_a_cached_one_is_not():
    table = shape_times().set_index(["rows", "inner", "columns"])["time_s"]
    assert shape_time("l40s", 8, 4096, 12288)[:2] == (table[8, 4096, 12288], False)
    # 8 MB of weights in 6 us would be 1.4 TB/s on a card of 0.86 TB/s.
    time, estimated, _ = shape_time("l40s", 8, 1024, 4096)
    assert estimated and time > table[8, 1024, 4096]
    assert time == pytest.approx(2 * (8 * 1024 + 1024 * 4096 + 8 * 4096) / 864e9)
    assert shape_time("l40s", 8, 4096, 22016)[1]


def test_decode_attention_is_never_faster_than_memory():
    system = load_system("quad-l40s-pcie", tables=["allreduce"])
    for p in (1, 2, 4):
        for batch in (1, 8, 32):
            parts = decode_step(RECIPES[system.id], system, p, batch, 512)
            cached = 2 * 2 * batch * 512 * 4096 * 32 / p
            assert total(parts, "attention") >= cached / 864e9
            assert total(parts, "other") == 0


def test_more_ranks_take_less_time_for_everything_but_communication():
    for id, recipe in RECIPES.items():
        system = load_system(id, tables=["allreduce"])
        for batch in (1, 8, 32):
            steps = [decode_step(recipe, system, p, batch, 512) for p in (1, 2, 4)]
            own = [total(parts) - total(parts, "communication") for parts in steps]
            assert (np.diff(own) < 0).all()


def test_attention_rows_of_another_source_are_kept(tmp_path):
    row = ("a40", 1, "decode", 8, 1, 512, 1e-4, None, None, 6, "mean", "x")
    write_attention(tmp_path, "m", [row], {"x"})
    write_attention(tmp_path, "m", [(*row[:6], 2e-4, 1e-4, 3e-4, 5, "median", "y")], {"y"})
    lines = (tmp_path / "kernels" / "m-attention.csv").read_text().splitlines()[1:]
    assert lines == [
        "a40,1,decode,8,1,512,0.0001,,,6,mean,x",
        "a40,1,decode,8,1,512,0.0002,0.0001,0.0003,5,median,y",
    ]
    with pytest.raises(ValueError, match="two rows for one accelerator"):
        write_attention(tmp_path, "m", [row, row], {"x"})
