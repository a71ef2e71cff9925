"""A model's geometry from a Hugging Face config.json, by family and never by guess.

A file that this module cannot map faithfully is refused, and the refusal says what it is.
"""

import json
from pathlib import Path

from tpbook.geometry import Model
from tpbook.hf_families import FAMILIES, Fields

MIXTURES = "it is a mixture of experts, whose layers are not dense"
LATENT = "its multi-head latent attention has no per-head KV cache"
ENCODER = "it is an encoder-decoder, not a decoder"
QUANTISED = "its weights are quantised: pass the config of the unquantised model"
MULTIMODAL = "it is multimodal: pass its text_config instead"
REFUSED = {
    **dict.fromkeys(
        "mixtral qwen2_moe qwen3_moe dbrx olmoe phimoe gpt_oss llama4 llama4_text jamba".split(),
        MIXTURES,
    ),
    **dict.fromkeys("deepseek_v2 deepseek_v3 minicpm3".split(), LATENT),
    **dict.fromkeys("t5 mt5 bart mbart pegasus whisper marian".split(), ENCODER),
    **dict.fromkeys("gemma3 mllama llava qwen2_vl qwen2_5_vl".split(), MULTIMODAL),
}
# Fields that reveal a refused architecture under any model type.
REVEALING = {
    "num_local_experts": MIXTURES,
    "num_experts": MIXTURES,
    "n_routed_experts": MIXTURES,
    "kv_lora_rank": LATENT,
    "is_encoder_decoder": ENCODER,
    "text_config": MULTIMODAL,
    "quantization_config": QUANTISED,
}


def from_config(source: str | Path | dict) -> Model:
    """The geometry of a decoder from a Hugging Face config.json.

    source: path of the file, or its content as a dict.
    Raises ValueError, naming the file and the field or the model type, when a needed field is
    missing or malformed and when the architecture is not a dense decoder of a known family.
    """
    config, where, id = _load(source)
    read = Fields(config, where)
    kind = read("model_type")
    if not isinstance(kind, str):
        raise ValueError(f"{where}: field 'model_type' must be text, got {kind!r}")
    reason = REFUSED.get(kind) or next(
        (why for name, why in REVEALING.items() if config.get(name)), None
    )
    if reason:
        raise ValueError(f"{where}: model_type {kind!r} is not supported: {reason}")
    if kind not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ValueError(f"{where}: model_type {kind!r} is not supported; supported: {known}")
    try:
        return Model(id=id, **FAMILIES[kind](read))
    except ValueError as error:
        # Model's own message begins with the id; the file says more, and a field's has it already.
        reason = str(error).removeprefix(f"{where}: ").removeprefix(f"{id}: ")
        raise ValueError(f"{where}: {reason}") from None


def _load(source) -> tuple[dict, str, str]:
    if isinstance(source, dict):
        name = source.get("_name_or_path") or source.get("model_type", "config")
        return source, "config", str(name)
    if not isinstance(source, str | Path):
        raise ValueError(f"source must be a path or a dict, got {source!r}")
    path = Path(source)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON ({error})") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path}: must hold a JSON object, got {type(config).__name__}")
    return config, str(path), path.parent.name if path.name == "config.json" else path.stem
