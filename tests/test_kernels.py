"""The compute ledger: brute-force counts, closed forms, limits, and what p ranks do together."""

from itertools import product

import numpy as np
import pytest
import sympy

from tpbook import intensity
from tpbook.kernels import kernels
from tpbook.models import (
    Model,
    from_config,
    layer_parameters,
    model,
    models,
    parameters,
    total_parameters,
)
from tpbook.notation import symbols
from tpbook.sharding import degrees, kv_bytes_per_token, shard, shard_parameters

TINY = Model("tiny", 8, 12, 3, 4, 2, 2, 16)


def by_name(*arguments, **options):
    return {kernel.name: kernel for kernel in kernels(*arguments, **options)}


def weight_flops(ledger):
    return sum(kernel.pass_flops for kernel in ledger if kernel.category == "weight_gemm")


def counted_product(a, b):
    """The product by three loops, with the operations that they execute."""
    out, operations = np.zeros((a.shape[0], b.shape[1])), 0
    for i, j, k in product(range(a.shape[0]), range(b.shape[1]), range(a.shape[1])):
        out[i, j] += a[i, k] * b[k, j]
        operations += 2
    return out, operations


def counted_attention(queries, keys, values, past):
    """Causal attention of one head by loops: result, operations of its two products."""
    out, operations = np.zeros_like(queries), 0
    for i, query in enumerate(queries):
        seen = past + i + 1
        scores = np.array([query @ key for key in keys[:seen]])
        weights = np.exp(scores - scores.max())
        out[i] = weights @ values[:seen] / weights.sum()
        operations += seen * 2 * query.size + seen * 2 * query.size
    return out, operations


@pytest.mark.parametrize("rows, inner, columns", [(1, 8, 12), (5, 3, 2), (4, 4, 4)])
def test_gemm_flops_are_those_of_three_loops(rows, inner, columns):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns))
    out, operations = counted_product(a, b)
    np.testing.assert_allclose(out, a @ b)
    assert intensity.gemm_flops(rows, inner, columns) == operations


def test_gemm_bytes_are_those_of_the_arrays():
    arrays = [np.zeros(shape, dtype=np.float16) for shape in [(5, 3), (3, 2), (5, 2)]]
    assert intensity.gemm_bytes(5, 3, 2, 2) == sum(array.nbytes for array in arrays)


@pytest.mark.parametrize("tokens, past", [(1, 0), (1, 9), (6, 0), (4, 5)])
def test_attention_is_that_of_explicit_loops(tokens, past):
    batch, heads, kv_heads, head_dim = 2, 4, 2, 3
    rng = np.random.default_rng(2)
    operations, elements = 0, 0
    for _ in range(batch):
        cache = rng.normal(size=(kv_heads, 2, past + tokens, head_dim))
        elements += cache.size
        for head in range(heads):
            query = rng.normal(size=(tokens, head_dim))
            keys, values = cache[head * kv_heads // heads]
            out, counted = counted_attention(query, keys, values, past)
            operations += counted
            elements += query.size + out.size
    assert intensity.attention_flops(batch, tokens, past, heads, head_dim) == operations
    moved = intensity.attention_bytes(batch, tokens, past, heads, kv_heads, head_dim, 2)
    assert moved == 2 * elements


@pytest.mark.parametrize("tokens", [1, 7, 100])
def test_a_prompt_costs_as_much_at_once_as_token_by_token(tokens):
    steps = [intensity.decode_attention_flops(3, past, 4, 2) for past in range(tokens)]
    assert intensity.prefill_attention_flops(3, tokens, 4, 2) == sum(steps)


def test_a_prompt_cut_in_two_costs_the_same():
    whole = intensity.attention_flops(1, 100, 0, 4, 2)
    first = intensity.attention_flops(1, 30, 0, 4, 2)
    second = intensity.attention_flops(1, 70, 30, 4, 2)
    assert first + second == whole


def test_decode_gemm_intensity_tends_to_the_batch():
    rows, inner, columns = symbols("rows inner columns")
    formula = intensity.gemm_intensity(rows, inner, columns, 2)
    assert sympy.limit(sympy.limit(formula, inner, sympy.oo), columns, sympy.oo) == rows
    assert intensity.gemm_intensity(8, 8192, 8192, 2) == pytest.approx(8, rel=2e-3)


def test_decode_attention_intensity_tends_to_the_head_group():
    context, heads, kv_heads, element_bytes = symbols("context heads kv_heads element_bytes")
    formula = intensity.decode_attention_intensity(context, heads, kv_heads, element_bytes)
    limit = sympy.limit(formula, context, sympy.oo)
    assert sympy.simplify(limit - 2 * heads / (element_bytes * kv_heads)) == 0
    m = model("llama-2-70b")
    assert intensity.decode_attention_intensity(1e6, m.heads, m.kv_heads, 2) == pytest.approx(
        m.group, rel=1e-4
    )


def test_intensities_are_flops_over_bytes():
    flops, moved = intensity.attention_flops, intensity.attention_bytes
    prefill = flops(3, 50, 0, 8, 16) / moved(3, 50, 0, 8, 2, 16, 2)
    decode = flops(3, 1, 50, 8, 16) / moved(3, 1, 50, 8, 2, 16, 2)
    assert intensity.prefill_attention_intensity(50, 8, 2, 2) == pytest.approx(prefill)
    assert intensity.decode_attention_intensity(50, 8, 2, 2) == pytest.approx(decode)


@pytest.mark.parametrize("phase", [(1, 512, 0), (16, 1, 512)], ids=["prefill", "decode"])
@pytest.mark.parametrize("id", ["llama-2-7b", "llama-2-70b", "qwen2.5-7b"])
def test_ranks_together_do_the_work_of_one(id, phase):
    m = model(id)
    for p in degrees(m):
        copied = 2 * m.layers * 2 * m.kv_heads * (shard(m, p).kv_replication - 1)
        copied *= m.head_dim * m.hidden * phase[0] * phase[1]
        padded = 2 * phase[0] * m.hidden * (p * shard(m, p).vocab - m.vocab)
        together = p * weight_flops(kernels(m, p, *phase))
        assert together == weight_flops(kernels(m, 1, *phase)) + copied + padded
        whole, part = by_name(m, 1, *phase), by_name(m, p, *phase)
        assert p * part["attention"].flops == whole["attention"].flops
        assert p * part["activation"].traffic == whole["activation"].traffic
        for name in ("norms", "residual", "embedding"):
            assert part[name] == whole[name]


@pytest.mark.parametrize("id", models())
def test_two_operations_per_weight_and_token(id):
    m = model(id)
    exact = 2 * layer_parameters(m) * m.layers * 3 * 7
    assert weight_flops(kernels(m, 1, 3, 7, 0, lm_head=False)) == exact
    # The rule of thumb 2 x parameters x tokens, less what multiplies nothing.
    rows = parameters(m)
    idle = rows["embedding/token"] + rows["final_norm"]
    idle += m.layers * (rows["layer/norms"] + rows["layer/attention/qkv_bias"])
    assert weight_flops(kernels(m, 1, 1, 1, 0)) == 2 * (total_parameters(m) - idle)
    assert idle < 0.08 * total_parameters(m)


@pytest.mark.parametrize("id", models())
def test_a_decode_step_reads_every_weight_and_the_cache_once(id):
    m, context = model(id), 1000
    for p in degrees(m)[:4]:
        ledger = by_name(m, p, 1, 1, context)
        rows = shard_parameters(m, p)
        names = ["attention/qkv", "attention/output", "mlp/up", "mlp/down"]
        matrices = m.layers * sum(rows[f"layer/{name}"] for name in names)
        gemms = sum(k.pass_traffic for k in ledger.values() if k.category == "weight_gemm")
        assert gemms == pytest.approx(2 * (matrices + rows["lm_head"]), rel=2e-3)
        assert gemms > 2 * (matrices + rows["lm_head"])
        cache = kv_bytes_per_token(m, p) * (context + 1)
        assert ledger["attention"].pass_traffic == pytest.approx(cache, rel=0.02)
        assert ledger["kv_write"].pass_traffic == 2 * kv_bytes_per_token(m, p)


def test_tiny_layer_by_brute_force():
    """Every product of one rank of two, run by loops on arrays of the sharded sizes."""
    p, batch, tokens = 2, 3, 2
    m, d = batch * tokens, TINY.hidden
    part = shard(TINY, p)
    queries, keys = part.heads * TINY.head_dim, part.kv_heads * TINY.head_dim
    shapes = dict(
        qkv=(m, d, queries + 2 * keys),
        attention_out=(m, queries, d),
        mlp_up=(m, d, 2 * part.intermediate),
        mlp_down=(m, part.intermediate, d),
        lm_head=(batch, d, part.vocab),
    )
    ledger = by_name(TINY, p, batch, tokens, 0)
    for name, (rows, inner, columns) in shapes.items():
        _, operations = counted_product(np.ones((rows, inner)), np.ones((inner, columns)))
        assert ledger[name].flops == operations
        assert ledger[name].calls == (1 if name == "lm_head" else TINY.layers)


def test_elementwise_bytes_of_a_tiny_pass():
    m, d, b = 6, 8, 2
    ledger = by_name(TINY, 2, 3, 2, 0)
    assert ledger["norms"].traffic == b * (m * d + m * d + d)
    assert ledger["norms"].calls == 2 * 3 + 1
    assert ledger["residual"].traffic == b * 3 * m * d
    assert ledger["activation"].traffic == b * 3 * m * 6  # gate and up read, product written
    assert ledger["kv_write"].traffic == b * 4 * m * 2  # keys and values read and written
    assert ledger["embedding"].intensity == 0


def test_rotary_embedding_by_loops():
    m, width = 6, 4 + 2  # two query heads and one KV head of width two on each of two ranks
    rows, angle = np.random.default_rng(4).normal(size=(m, width)), np.zeros((m, 2))
    operations = 0
    for row in rows:
        for pair in range(0, width, 2):
            a, b = row[pair : pair + 2]
            row[pair], row[pair + 1] = a * 1 - b * 0, b * 1 + a * 0
            operations += 6
    rope = by_name(TINY, 2, 3, 2, 0)["rope"]
    assert rope.flops == operations
    assert rope.traffic == 2 * (2 * rows.size + angle.size)


def test_kernels_that_a_model_lacks_are_absent():
    gpt2 = from_config(
        dict(model_type="gpt2", n_embd=8, n_layer=2, n_head=2, n_positions=32, vocab_size=64)
    )
    names = set(by_name(gpt2, 1, 1, 4, 0))
    assert "rope" not in names and "qk_norm" not in names
    assert by_name(gpt2, 1, 1, 4, 0)["mlp_up"].flops == 2 * 4 * 8 * 32
    assert "lm_head" not in by_name(TINY, 1, 1, 4, 0, lm_head=False)


def test_the_head_runs_on_the_last_token_only():
    assert by_name(TINY, 1, 3, 1, 0)["lm_head"] == by_name(TINY, 1, 3, 100, 0)["lm_head"]


def test_categories_are_those_of_a_system():
    allowed = {"weight_gemm", "attention", "kv_copy", "other"}
    assert {kernel.category for kernel in kernels(TINY, 1, 1, 1, 0)} == allowed


def test_symbols_and_arrays_go_through_the_ledger():
    batch, context = symbols("batch context")
    formal = by_name(model("llama-2-7b"), 2, batch, 1, context)
    sizes = np.array([1, 8, 64])
    arrays = by_name(model("llama-2-7b"), 2, sizes, 1, 100)
    for name, kernel in by_name(model("llama-2-7b"), 2, 8, 1, 100).items():
        for quantity in ("flops", "traffic"):
            number = getattr(kernel, quantity)
            values = {batch: 8, context: 100}
            assert sympy.sympify(getattr(formal[name], quantity)).subs(values) == number
            assert np.broadcast_to(getattr(arrays[name], quantity), 3)[1] == number


@pytest.mark.parametrize(
    "change, why",
    [
        (dict(batch=0), "batch must be positive"),
        (dict(tokens=-1), "tokens must be positive"),
        (dict(context=-1), "context must be zero or positive"),
        (dict(tokens=1.5), "tokens must be whole, got 1.5"),
        (dict(batch=float("nan")), "batch must be positive, got nan"),
        (dict(element_bytes=0), "element_bytes must be positive"),
        (dict(p=3), "p = 3 does not divide its 4 query heads"),
    ],
)
def test_bad_input_is_refused(change, why):
    with pytest.raises(ValueError, match=why):
        kernels(**dict(model=TINY, p=1, batch=1, tokens=1, context=0) | change)


def test_a_sliding_window_is_not_silently_exceeded():
    m = model("mistral-7b-v0.1")
    kernels(m, 1, 1, 1, 4095)
    with pytest.raises(ValueError, match="must not exceed its sliding window 4096, got 4097"):
        kernels(m, 1, 1, 1, 4096)
