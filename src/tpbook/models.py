"""The models of the book: published geometries, and the parameters each one has.

Nine models are the book's own (data/models.yml); the published tables name further ones
(data/published/models.yml). Both are found by id.
"""

from functools import cache

from tpbook.catalogue import field, lookup, read_table
from tpbook.geometry import COUNTS, Model
from tpbook.hf_config import from_config
from tpbook.paths import data_path

__all__ = [
    "Model",
    "all_models",
    "from_config",
    "layer_parameters",
    "model",
    "model_sources",
    "models",
    "parameters",
    "published_models",
    "total_parameters",
]

OPTIONS = ["tie_embeddings", "qkv_bias", "sliding_window"]
# What an older model has and the nine do not; Model's own default where an entry is silent.
RARE = ["gated_mlp", "output_bias", "mlp_bias", "norm_bias", "positions"]


@cache
def _table() -> dict:
    return read_table(data_path("models.yml"))


@cache
def _published_table() -> dict:
    return read_table(data_path("published", "models.yml"))


def _read(id: str, entry: dict) -> Model:
    where = f"models.yml: {id}"
    sizes = {name: field(entry, name, where) for name in COUNTS + OPTIONS}
    return Model(id=id, **sizes, **{name: entry[name] for name in RARE if name in entry})


def models() -> dict[str, Model]:
    """The book's own models (data/models.yml) by id."""
    return {id: _read(id, entry) for id, entry in _table().items()}


def published_models() -> dict[str, Model]:
    """The further models that the published tables name (data/published/models.yml) by id."""
    return {id: _read(id, entry) for id, entry in _published_table().items()}


def all_models() -> dict[str, Model]:
    """Every model of both catalogues by id, the book's own first."""
    return models() | published_models()


def model(id: str) -> Model:
    """The model of an id such as "llama-2-7b"; raises ValueError that lists the known ids."""
    return _read(id, _entry(id))


def model_sources(id: str) -> dict:
    """Title, published parameter total, sources and notes of a catalogue model."""
    entry = _entry(id)
    return {name: entry[name] for name in entry if name not in COUNTS + OPTIONS + RARE}


def _entry(id: str) -> dict:
    return lookup(_table() | _published_table(), id, "model")


def parameters(model: Model) -> dict[str, int]:
    """The parameter ledger: one row for each term, then the sums.

    Rows "layer/..." count one layer; "layer" is their sum, "layers" is that times the number of
    layers, and "total" adds the rows outside the layers. A tied lm_head counts zero.
    """
    d, f, h = model.hidden, model.intermediate, model.head_dim
    queries, keys = model.heads * h, model.kv_heads * h
    ups = 2 if model.gated_mlp else 1
    norm = d * (2 if model.norm_bias else 1)
    layer = {
        "layer/attention/qkv": d * (queries + 2 * keys),
        "layer/attention/qkv_bias": model.qkv_bias * (queries + 2 * keys),
        "layer/attention/output": queries * d,
        "layer/attention/output_bias": model.output_bias * d,
        "layer/attention/qk_norm": model.qk_norm * 2 * h,
        "layer/mlp/up": ups * d * f,
        "layer/mlp/up_bias": model.mlp_bias * ups * f,
        "layer/mlp/down": f * d,
        "layer/mlp/down_bias": model.mlp_bias * d,
        "layer/norms": model.layer_norms * norm,
    }
    outside = {
        "embedding/token": model.vocab * d,
        "embedding/position": model.positions * d,
        "final_norm": norm,
        "lm_head": 0 if model.tie_embeddings else model.vocab * d,
        "lm_head_bias": model.lm_head_bias * model.vocab,
    }
    sums = {"layer": sum(layer.values()), "layers": model.layers * sum(layer.values())}
    return layer | sums | outside | {"total": sums["layers"] + sum(outside.values())}


def layer_parameters(model: Model) -> int:
    """P, the weight-matrix parameters of one layer: qkv, output, up and down; no norm, no bias.

    P = d (H + 2 H_kv) d_h + H d_h d + (3 or 2) d f.
    """
    rows = parameters(model)
    matrices = ["attention/qkv", "attention/output", "mlp/up", "mlp/down"]
    return sum(rows[f"layer/{matrix}"] for matrix in matrices)


def total_parameters(model: Model) -> int:
    """All parameters of the model, tied embeddings counted once."""
    return parameters(model)["total"]
