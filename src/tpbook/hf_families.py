"""The decoder families of Hugging Face transformers: which config fields give which sizes.

A family is here only where every parameter is known from its fields. A field that may be left
out takes the default of that family's configuration class in transformers.
"""

REQUIRED = object()
# No size of a model comes near; beyond it, products of sizes would overflow.
LARGEST = 10**12


class Fields:
    """Reads fields of one config, with errors that name file and field."""

    def __init__(self, config: dict, where: str):
        self.config, self.where = config, where

    def __call__(self, name: str, default=REQUIRED):
        # An explicit null means "the default" in these files.
        value = self.config.get(name)
        if value is not None:
            return value
        if default is REQUIRED:
            raise ValueError(f"{self.where}: field {name!r} is missing")
        return default

    def size(self, name: str, default=REQUIRED) -> int:
        value = self(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(
                f"{self.where}: field {name!r} must be a positive integer, got {value!r}"
            )
        if value > LARGEST:
            raise ValueError(f"{self.where}: field {name!r} must be at most {LARGEST:g}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self(name, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.where}: field {name!r} must be true or false, got {value!r}")
        return value

    def refuse(self, name: str, value, why: str):
        raise ValueError(f"{self.where}: field {name!r} = {value!r} is not supported: {why}")

    def head_dim(self, hidden: int, heads: int) -> int:
        if self.config.get("head_dim") is None and hidden % heads:
            raise ValueError(
                f"{self.where}: field 'head_dim' is missing, and {heads} heads do not divide the "
                f"hidden size {hidden}"
            )
        return self.size("head_dim", hidden // heads)


def _common(read, kv_heads=REQUIRED, tied=False) -> dict:
    hidden, heads = read.size("hidden_size"), read.size("num_attention_heads")
    default = heads if kv_heads == "heads" else kv_heads
    return dict(
        hidden=hidden,
        intermediate=read.size("intermediate_size"),
        layers=read.size("num_hidden_layers"),
        heads=heads,
        kv_heads=read.size("num_key_value_heads", default),
        head_dim=read.head_dim(hidden, heads),
        vocab=read.size("vocab_size"),
        tie_embeddings=read.flag("tie_word_embeddings", tied),
        sliding_window=_window(read),
    )


def _window(read) -> int | None:
    # Null and 0 both mean that attention looks back without a limit.
    if not read.flag("use_sliding_window", True) or read("sliding_window", 0) == 0:
        return None
    return read.size("sliding_window")


def _llama(read) -> dict:
    bias = read.flag("attention_bias", False)
    return _common(read, kv_heads="heads") | dict(
        qkv_bias=bias, output_bias=bias, mlp_bias=read.flag("mlp_bias", False)
    )


def _mistral(read) -> dict:
    return _common(read)


def _qwen2(read) -> dict:
    # The family adds a bias to queries, keys and values without a field that says so. Its
    # sliding window is off unless use_sliding_window says otherwise.
    window = {} if read.flag("use_sliding_window", False) else dict(sliding_window=None)
    return _common(read) | dict(qkv_bias=True) | window


def _qwen3(read) -> dict:
    bias = read.flag("attention_bias", False)
    window = {} if read.flag("use_sliding_window", False) else dict(sliding_window=None)
    read.size("head_dim")
    return _common(read) | dict(qkv_bias=bias, output_bias=bias, qk_norm=True) | window


def _gemma(read) -> dict:
    bias = read.flag("attention_bias", False)
    read.size("head_dim")
    return _common(read, tied=True) | dict(qkv_bias=bias, output_bias=bias)


def _gemma2(read) -> dict:
    return _gemma(read) | dict(layer_norms=4)


def _gemma3(read) -> dict:
    return _gemma2(read) | dict(qk_norm=True)


def _phi3(read) -> dict:
    return _common(read, kv_heads="heads")


def _biased(read, hidden_field: str, heads_field: str) -> dict:
    """The old style: multi-head attention, one up projection, LayerNorm, biases everywhere."""
    hidden, heads = read.size(hidden_field), read.size(heads_field)
    if hidden % heads:
        read.refuse(heads_field, heads, f"it does not divide the hidden size {hidden}")
    return dict(
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        vocab=read.size("vocab_size"),
        gated_mlp=False,
        norm_bias=True,
        qkv_bias=True,
        output_bias=True,
        mlp_bias=True,
    )


def _gpt2(read) -> dict:
    return _biased(read, "n_embd", "n_head") | dict(
        intermediate=read.size("n_inner", 4 * read.size("n_embd")),
        layers=read.size("n_layer"),
        positions=read.size("n_positions"),
        tie_embeddings=read.flag("tie_word_embeddings", True),
    )


def _opt(read) -> dict:
    hidden = read.size("hidden_size")
    if read.size("word_embed_proj_dim", hidden) != hidden:
        read.refuse("word_embed_proj_dim", read("word_embed_proj_dim"), "embeddings are projected")
    if not read.flag("do_layer_norm_before", True):
        read.refuse("do_layer_norm_before", False, "norms after the block are not modelled")
    bias = read.flag("enable_bias", True)
    return _biased(read, "hidden_size", "num_attention_heads") | dict(
        intermediate=read.size("ffn_dim"),
        layers=read.size("num_hidden_layers"),
        # OPT keeps two extra rows in front of its position table.
        positions=read.size("max_position_embeddings") + 2,
        tie_embeddings=read.flag("tie_word_embeddings", True),
        qkv_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
    )


def _gpt_neox(read) -> dict:
    bias = read.flag("attention_bias", True)
    return _biased(read, "hidden_size", "num_attention_heads") | dict(
        intermediate=read.size("intermediate_size"),
        layers=read.size("num_hidden_layers"),
        tie_embeddings=read.flag("tie_word_embeddings", False),
        qkv_bias=bias,
        output_bias=bias,
    )


def _falcon(read) -> dict:
    # Attention and MLP read the same input and are summed before one all-reduce, except in the
    # oldest variant (parallel_attn false).
    if read.flag("alibi", False):
        read.refuse("alibi", True, "position biases are not modelled")
    heads = read.size("num_attention_heads")
    new = read.flag("new_decoder_architecture", False)
    parallel = new or read.flag("parallel_attn", True)
    bias = read.flag("bias", False)
    if new:
        kv_heads = read.size("num_kv_heads", heads)
        norms = read.size("num_ln_in_parallel_attn", 2)
        if norms > 2:
            read.refuse("num_ln_in_parallel_attn", norms, "a layer has one norm or two")
    else:
        kv_heads = 1 if read.flag("multi_query", True) else heads
        norms = 1 if parallel else 2
    return _biased(read, "hidden_size", "num_attention_heads") | dict(
        intermediate=read.size("ffn_hidden_size", 4 * read.size("hidden_size")),
        layers=read.size("num_hidden_layers"),
        kv_heads=kv_heads,
        tie_embeddings=read.flag("tie_word_embeddings", True),
        qkv_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
        layer_norms=norms,
        allreduces_per_layer=1 if parallel else 2,
    )


FAMILIES = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "phi3": _phi3,
    "gpt2": _gpt2,
    "opt": _opt,
    "gpt_neox": _gpt_neox,
    "falcon": _falcon,
}
