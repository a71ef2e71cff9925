"""The parameter ledger: published totals, and every config.json family or its refusal."""

import json
from dataclasses import replace

import pytest

from tpbook import catalogue, models
from tpbook.hf_families import FAMILIES
from tpbook.models import (
    Model,
    from_config,
    layer_parameters,
    model,
    model_sources,
    parameters,
    total_parameters,
)

LLAMA = dict(
    model_type="llama",
    hidden_size=4096,
    intermediate_size=11008,
    num_hidden_layers=32,
    num_attention_heads=32,
    vocab_size=32000,
    tie_word_embeddings=False,
)

# Each config as its publisher keeps it, and the total that the publisher or the Hub prints.
PUBLISHED = {
    "llama-2-7b, before num_key_value_heads": (LLAMA, 6_738_415_616),
    "mistral-nemo-12b, head_dim below hidden / heads": (
        dict(
            model_type="mistral",
            hidden_size=5120,
            intermediate_size=14336,
            num_hidden_layers=40,
            num_attention_heads=32,
            num_key_value_heads=8,
            head_dim=128,
            vocab_size=131072,
            tie_word_embeddings=False,
            sliding_window=None,
        ),
        12_247_782_400,
    ),
    "qwen2.5-7b": (
        dict(
            model_type="qwen2",
            hidden_size=3584,
            intermediate_size=18944,
            num_hidden_layers=28,
            num_attention_heads=28,
            num_key_value_heads=4,
            vocab_size=152064,
            tie_word_embeddings=False,
            use_sliding_window=False,
            sliding_window=131072,
        ),
        7_615_616_512,
    ),
    "qwen3-0.6b, qk norm and tied": (
        dict(
            model_type="qwen3",
            hidden_size=1024,
            intermediate_size=3072,
            num_hidden_layers=28,
            num_attention_heads=16,
            num_key_value_heads=8,
            head_dim=128,
            vocab_size=151936,
            attention_bias=False,
            tie_word_embeddings=True,
        ),
        596_049_920,
    ),
    "gemma-2b": (
        dict(
            model_type="gemma",
            hidden_size=2048,
            intermediate_size=16384,
            num_hidden_layers=18,
            num_attention_heads=8,
            num_key_value_heads=1,
            head_dim=256,
            vocab_size=256000,
        ),
        2_506_172_416,
    ),
    "gemma-2-9b, four norms": (
        dict(
            model_type="gemma2",
            hidden_size=3584,
            intermediate_size=14336,
            num_hidden_layers=42,
            num_attention_heads=16,
            num_key_value_heads=8,
            head_dim=256,
            vocab_size=256000,
        ),
        9_241_705_984,
    ),
    "gemma-3-1b": (
        dict(
            model_type="gemma3_text",
            hidden_size=1152,
            intermediate_size=6912,
            num_hidden_layers=26,
            num_attention_heads=4,
            num_key_value_heads=1,
            head_dim=256,
            vocab_size=262144,
        ),
        999_885_952,
    ),
    "phi-3-mini, fused projections": (
        dict(
            model_type="phi3",
            hidden_size=3072,
            intermediate_size=8192,
            num_hidden_layers=32,
            num_attention_heads=32,
            num_key_value_heads=32,
            vocab_size=32064,
            tie_word_embeddings=False,
        ),
        3_821_079_552,
    ),
    "gpt2": (
        dict(
            model_type="gpt2",
            n_embd=768,
            n_layer=12,
            n_head=12,
            n_inner=None,
            n_positions=1024,
            vocab_size=50257,
        ),
        124_439_808,
    ),
    "opt-6.7b": (
        dict(
            model_type="opt",
            hidden_size=4096,
            ffn_dim=16384,
            num_hidden_layers=32,
            num_attention_heads=32,
            max_position_embeddings=2048,
            word_embed_proj_dim=4096,
            do_layer_norm_before=True,
            vocab_size=50272,
        ),
        6_658_473_984,
    ),
    "pythia-6.9b": (
        dict(
            model_type="gpt_neox",
            hidden_size=4096,
            intermediate_size=16384,
            num_hidden_layers=32,
            num_attention_heads=32,
            vocab_size=50432,
            tie_word_embeddings=False,
        ),
        6_857_302_016,
    ),
    "falcon-7b, one norm, one KV head": (
        dict(
            model_type="falcon",
            hidden_size=4544,
            num_hidden_layers=32,
            num_attention_heads=71,
            multi_query=True,
            parallel_attn=True,
            bias=False,
            alibi=False,
            vocab_size=65024,
        ),
        6_921_720_704,
    ),
}


ALL = [*models.models(), *models.published_models()]
PRINTED = [id for id in ALL if model_sources(id)["published_parameters"]]


@pytest.mark.parametrize("id", PRINTED)
def test_catalogue_totals_equal_the_published_ones(id):
    sources = model_sources(id)
    uncounted = sources.get("uncounted_parameters", 0)
    assert total_parameters(model(id)) + uncounted == sources["published_parameters"]


@pytest.mark.parametrize("id, billions", [("gpt-20b", 20), ("megatron-530b", 530)])
def test_models_without_a_printed_total_have_the_size_of_their_name(id, billions):
    assert round(total_parameters(model(id)) / 1e9) == billions


@pytest.mark.parametrize("id", models.published_models())
def test_heads_of_the_published_models_make_the_width(id):
    m = model(id)
    assert m.heads * m.head_dim == m.hidden
    assert {"title", "published_source", "config", "read"} <= set(model_sources(id))


def test_the_two_catalogues_share_no_id_and_one_lookup():
    assert not set(models.models()) & set(models.published_models())
    with pytest.raises(ValueError, match="llama-2-7b.*megatron-530b"):
        model("gpt-5")


@pytest.mark.parametrize("id", ["llama-2-7b", "llama-2-13b", "llama-2-70b"])
def test_buffers_of_llama_2_are_its_rotary_frequencies(id):
    m = model(id)
    assert model_sources(id)["published_buffers"] == m.layers * m.head_dim // 2


def test_nine_models_and_their_sources():
    assert len(models.models()) == 9
    for id in models.models():
        assert {"title", "published_source", "config", "read"} <= set(model_sources(id))


@pytest.mark.parametrize("config, total", PUBLISHED.values(), ids=PUBLISHED)
def test_config_totals_equal_the_published_ones(config, total):
    assert total_parameters(from_config(config)) == total


def test_every_family_has_a_published_total():
    assert {config["model_type"] for config, _ in PUBLISHED.values()} == set(FAMILIES)


@pytest.mark.parametrize(
    "id, expected", [("llama-2-7b", 202_375_168), ("llama-2-70b", 855_638_016)]
)
def test_layer_parameters(id, expected):
    assert layer_parameters(model(id)) == expected


def test_grouped_queries_alone_explain_the_70b_layer():
    full = replace(model("llama-2-70b"), kv_heads=64)
    assert layer_parameters(full) == 973_078_528
    assert layer_parameters(full) / full.hidden == 118_784
    assert layer_parameters(model("llama-2-70b")) / 8192 == 104_448


def test_ledger_rows_add_up():
    for m in models.models().values():
        rows = parameters(m)
        layer = sum(value for name, value in rows.items() if name.startswith("layer/"))
        outside = ("embedding/token", "embedding/position", "final_norm", "lm_head", "lm_head_bias")
        assert rows["layer"] == layer
        assert rows["total"] == m.layers * layer + sum(rows[name] for name in outside)


def test_ledger_counts_the_arrays_of_a_tiny_model():
    m = Model("tiny", 8, 12, 3, 4, 2, 2, 16, qkv_bias=True, mlp_bias=True, norm_bias=True)
    arrays = [(8, 8), (8, 4), (8, 4), (8,), (4,), (4,), (8, 8)]  # q k v, biases, output
    arrays += [(8, 12), (8, 12), (12,), (12,), (12, 8), (8,)]  # gate up, biases, down, bias
    arrays += [(8,)] * 4  # two LayerNorms
    layer = sum(shape[0] * (shape[1] if len(shape) == 2 else 1) for shape in arrays)
    assert total_parameters(m) == 3 * layer + 2 * 16 * 8 + 2 * 8


def test_tying_saves_exactly_one_vocabulary_matrix():
    m = model("llama-3.1-8b")
    tied = replace(m, tie_embeddings=True)
    assert total_parameters(m) - total_parameters(tied) == m.vocab * m.hidden


@pytest.mark.parametrize("id", models.models())
def test_catalogue_and_config_agree(id):
    m = model(id)
    kind = {"llama": "llama", "mistral": "mistral", "qwen2.5": "qwen2"}
    config = dict(
        model_type=next(t for prefix, t in kind.items() if id.startswith(prefix)),
        hidden_size=m.hidden,
        intermediate_size=m.intermediate,
        num_hidden_layers=m.layers,
        num_attention_heads=m.heads,
        num_key_value_heads=m.kv_heads,
        vocab_size=m.vocab,
        tie_word_embeddings=False,
        sliding_window=m.sliding_window,
        _name_or_path=id,
    )
    assert from_config(config) == m


def test_a_file_is_read_and_named_by_its_folder(tmp_path):
    path = tmp_path / "my-model" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(LLAMA))
    assert from_config(path).id == "my-model"
    assert from_config(str(path)) == from_config(path)


def test_switches_of_a_family():
    assert from_config(LLAMA | dict(attention_bias=True)).output_bias
    assert from_config(PUBLISHED["falcon-7b, one norm, one KV head"][0]).allreduces_per_layer == 1
    neox = PUBLISHED["pythia-6.9b"][0] | dict(attention_bias=False)
    assert not from_config(neox).qkv_bias


@pytest.mark.parametrize("name", [name for name in LLAMA if name != "tie_word_embeddings"])
def test_a_missing_field_is_named_with_its_file(tmp_path, name):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: value for key, value in LLAMA.items() if key != name}))
    with pytest.raises(ValueError, match=f"config.json: field '{name}' is missing"):
        from_config(path)


def test_families_with_another_default_ask_for_kv_heads():
    config = LLAMA | dict(model_type="mistral")
    with pytest.raises(ValueError, match="'num_key_value_heads' is missing"):
        from_config(config)


@pytest.mark.parametrize("value", ["4096", 4096.0, float("nan"), 0, -1, True])
def test_a_malformed_size_is_refused(value):
    with pytest.raises(ValueError, match="'hidden_size' must be a positive integer"):
        from_config(LLAMA | dict(hidden_size=value))


def test_a_malformed_switch_is_refused():
    with pytest.raises(ValueError, match="'attention_bias' must be true or false"):
        from_config(LLAMA | dict(attention_bias="yes"))


def test_heads_that_do_not_divide_the_width_need_a_head_dim():
    with pytest.raises(ValueError, match="'head_dim' is missing"):
        from_config(LLAMA | dict(num_attention_heads=33))
    with pytest.raises(ValueError, match="config: kv_heads 5 does not divide heads 32"):
        from_config(LLAMA | dict(num_key_value_heads=5))


@pytest.mark.parametrize(
    "change, why",
    [
        (dict(model_type="mixtral"), "'mixtral' is not supported: it is a mixture of experts"),
        (dict(model_type="deepseek_v3"), "multi-head latent attention"),
        (dict(model_type="t5"), "encoder-decoder"),
        (dict(model_type="mamba"), "'mamba' is not supported; supported: llama, mistral"),
        (dict(quantization_config={"bits": 4}), "its weights are quantised"),
        (dict(hidden_size=10**400), "'hidden_size' must be at most 1e"),
        (dict(num_local_experts=8), "'llama' is not supported: it is a mixture of experts"),
        (dict(kv_lora_rank=512), "latent attention"),
        (dict(is_encoder_decoder=True), "encoder-decoder"),
        (dict(text_config=LLAMA), "pass its text_config"),
    ],
)
def test_other_architectures_are_refused_by_name(change, why):
    with pytest.raises(ValueError, match=why):
        from_config(LLAMA | change)


@pytest.mark.parametrize(
    "name, change, why",
    [
        ("opt-6.7b", dict(word_embed_proj_dim=512), "embeddings are projected"),
        ("opt-6.7b", dict(do_layer_norm_before=False), "norms after the block"),
        ("falcon-7b, one norm, one KV head", dict(alibi=True), "position biases"),
        ("gpt2", dict(n_head=7), "'n_head' = 7 is not supported: it does not divide"),
    ],
)
def test_variants_that_the_fields_cannot_describe_are_refused(name, change, why):
    with pytest.raises(ValueError, match=why):
        from_config(PUBLISHED[name][0] | change)


@pytest.mark.parametrize("value", ["4096", 4096.0, -1, True, [1]])
def test_a_malformed_window_is_refused(value):
    with pytest.raises(ValueError, match="^config: field 'sliding_window' must be a positive"):
        models.from_config(LLAMA | {"sliding_window": value})


def test_a_window_of_zero_is_none():
    assert models.from_config(LLAMA | {"sliding_window": 0}).sliding_window is None


@pytest.mark.parametrize("kind", [3, [], {}])
def test_a_model_type_that_is_no_text_is_refused(kind):
    with pytest.raises(ValueError, match="^config: field 'model_type' must be text"):
        models.from_config(LLAMA | {"model_type": kind})


@pytest.mark.parametrize("source", [None, 3, []])
def test_what_is_neither_path_nor_dict_is_refused(source):
    with pytest.raises(ValueError, match="^source must be a path or a dict"):
        models.from_config(source)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "", "\ufeff{}", "{"])
def test_a_file_that_json_cannot_read_gets_one_line(tmp_path, content):
    file = tmp_path / "config.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"config\.json: is not JSON") as caught:
        models.from_config(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"sliding_window": "4096"},
        {"sliding_window": 0},
        {"positions": -1},
        {"layer_norms": 0},
        {"allreduces_per_layer": 3},
        {"tie_embeddings": "yes"},
        {"gated_mlp": 1},
    ],
)
def test_a_model_refuses_malformed_options(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"^llama-2-7b: {name} must be"):
        replace(models.model("llama-2-7b"), **change)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        from_config(tmp_path / "config.json")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        from_config(tmp_path / "config.json")
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold a JSON object"):
        from_config(tmp_path / "config.json")


def test_an_unknown_id_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown model 'gpt-5'; known: llama-2-7b, "):
        model("gpt-5")


def test_a_model_refuses_impossible_sizes():
    with pytest.raises(ValueError, match="tiny: layers must be a positive integer, got 0"):
        Model("tiny", 8, 12, 0, 4, 2, 2, 16)


def test_catalogue_files_that_are_no_mapping_are_refused(tmp_path):
    path = tmp_path / "models.yml"
    path.write_text("- a\n- b\n")
    with pytest.raises(ValueError, match="models.yml must hold a mapping, got list"):
        catalogue.read_table(path)
    path.write_text("a: [1,\n")
    with pytest.raises(ValueError, match="models.yml is not YAML"):
        catalogue.read_table(path)
