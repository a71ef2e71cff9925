"""Operations, compulsory bytes and intensity of the two kernels that matter: GEMM and attention.

Compulsory bytes count every operand read once and every result written once. Attention is
counted as a fused kernel does it: no score matrix reaches memory, softmax is left out.
"""

from tpbook.checks import nonnegative, positive
from tpbook.equation import equation


@equation("eq-gemm-flops", symbol="flops", carries="FLOP")
def gemm_flops(rows, inner, columns):
    """Operations 2 m k n of a (rows x inner) by (inner x columns) product, in FLOP.

    rows, inner, columns: counts; rows are the tokens of the pass.
    Raises ValueError for a size that is not positive.
    """
    positive(rows=rows, inner=inner, columns=columns)
    return 2 * rows * inner * columns


@equation("eq-gemm-bytes", symbol="traffic")
def gemm_bytes(rows, inner, columns, element_bytes):
    """Compulsory bytes b (m k + k n + m n) of that product.

    rows, inner, columns: counts. element_bytes: B.
    Raises ValueError for a size that is not positive.
    """
    positive(rows=rows, inner=inner, columns=columns, element_bytes=element_bytes)
    return element_bytes * (rows * inner + inner * columns + rows * columns)


@equation("eq-gemm-intensity", symbol="intensity", carries="FLOP")
def gemm_intensity(rows, inner, columns, element_bytes):
    """Intensity 2 m k n / (b (m k + k n + m n)) of that product, in FLOP/B.

    It tends to 2 m / b for a large matrix: the number of tokens, at two bytes.
    Arguments and errors as gemm_bytes. Raises ValueError for a size that is not positive.
    """
    return gemm_flops(rows, inner, columns) / gemm_bytes(rows, inner, columns, element_bytes)


@equation("eq-attention-flops", symbol="flops", carries="FLOP")
def attention_flops(batch, tokens, context, heads, head_dim):
    """Operations 2 B H d_h T (2 C + T + 1) of one layer's causal attention, in FLOP.

    The i-th of T new tokens meets C + i keys, T C + T (T + 1) / 2 in all; each meeting costs
    2 d_h for the score and 2 d_h for the sum of values. All arguments are counts.
    Raises ValueError for a size that is not positive or a negative context.
    """
    positive(batch=batch, tokens=tokens, heads=heads, head_dim=head_dim)
    nonnegative(context=context)
    return 2 * batch * heads * head_dim * tokens * (2 * context + tokens + 1)


@equation("eq-attention-bytes", symbol="traffic")
def attention_bytes(batch, tokens, context, heads, kv_heads, head_dim, element_bytes):
    """Compulsory bytes 2 b B d_h (H_kv (C + T) + H T) of one layer's attention.

    Keys and values of all C + T tokens and the queries of T tokens are read, T results written.
    All arguments are counts but element_bytes, in B.
    Raises ValueError for a size that is not positive or a negative context.
    """
    positive(batch=batch, tokens=tokens, heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    positive(element_bytes=element_bytes)
    nonnegative(context=context)
    cache = kv_heads * (context + tokens)
    return 2 * element_bytes * batch * head_dim * (cache + heads * tokens)


@equation("eq-prefill-attention-flops", symbol="flops", carries="FLOP")
def prefill_attention_flops(batch, tokens, heads, head_dim):
    """Operations 2 B H d_h T (T + 1) of a prompt's attention on an empty cache, in FLOP.

    All arguments are counts. Raises ValueError for a size that is not positive.
    """
    return attention_flops(batch, tokens, 0, heads, head_dim)


@equation("eq-prefill-attention-intensity", symbol="intensity", carries="FLOP")
def prefill_attention_intensity(tokens, heads, kv_heads, element_bytes):
    """Intensity H (T + 1) / (b (H + H_kv)) of a prompt's attention, in FLOP/B, for any batch.

    Counts, and element_bytes in B. Raises ValueError for a size that is not positive.
    """
    flops = attention_flops(1, tokens, 0, heads, 1)
    return flops / attention_bytes(1, tokens, 0, heads, kv_heads, 1, element_bytes)


@equation("eq-decode-attention-flops", symbol="flops", carries="FLOP")
def decode_attention_flops(batch, context, heads, head_dim):
    """Operations 4 B H d_h (C + 1) of one new token per sequence, in FLOP.

    All arguments are counts. Raises ValueError for a size that is not positive or a negative
    context.
    """
    return attention_flops(batch, 1, context, heads, head_dim)


@equation("eq-decode-attention-bytes", symbol="traffic")
def decode_attention_bytes(batch, context, heads, kv_heads, head_dim, element_bytes):
    """Compulsory bytes 2 b B d_h (H_kv (C + 1) + H) of one new token per sequence.

    Counts, and element_bytes in B. Raises ValueError for a size that is not positive or a
    negative context.
    """
    return attention_bytes(batch, 1, context, heads, kv_heads, head_dim, element_bytes)


@equation("eq-decode-attention-intensity", symbol="intensity", carries="FLOP")
def decode_attention_intensity(context, heads, kv_heads, element_bytes):
    """Intensity 2 H (C + 1) / (b (H_kv (C + 1) + H)) of one new token, in FLOP/B, for any batch.

    It tends to 2 H / (b H_kv) for a long context: the size of a head group, at two bytes.
    Counts, and element_bytes in B. Raises ValueError for a size that is not positive or a
    negative context.
    """
    flops = attention_flops(1, 1, context, heads, 1)
    return flops / attention_bytes(1, 1, context, heads, kv_heads, 1, element_bytes)
