"""The geometry of a decoder-only transformer: the sizes that all counts follow from."""

from dataclasses import dataclass, fields

COUNTS = "hidden intermediate layers heads kv_heads head_dim vocab".split()


@dataclass(frozen=True)
class Model:
    """Sizes of a dense decoder-only transformer; all are counts of elements.

    hidden: width of the residual stream. intermediate: width of the MLP.
    kv_heads: heads of keys and values, each shared by heads / kv_heads query heads.
    gated_mlp: two up projections (gate and up) instead of one.
    qkv_bias, output_bias, mlp_bias, lm_head_bias: whether those projections add a bias.
    norm_bias: LayerNorm (weight and bias) instead of RMSNorm (weight).
    layer_norms: norms of width `hidden` per layer. qk_norm: RMSNorm on each query and key head.
    positions: rows of a learned position table, 0 with rotary embeddings.
    allreduces_per_layer: 2, or 1 where attention and MLP run side by side and are summed once.
    sliding_window: the most tokens that attention looks back, None for all.

    Raises ValueError on a size that is not a positive integer (positions may be zero, the window
    None), on a flag that is not true or false and on heads that kv_heads does not divide.
    """

    id: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    gated_mlp: bool = True
    tie_embeddings: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    lm_head_bias: bool = False
    norm_bias: bool = False
    layer_norms: int = 2
    qk_norm: bool = False
    positions: int = 0
    allreduces_per_layer: int = 2
    sliding_window: int | None = None

    def __post_init__(self):
        sizes = [*COUNTS, "layer_norms", "allreduces_per_layer"]
        sizes += ["positions"] * (self.positions != 0)
        sizes += ["sliding_window"] * (self.sliding_window is not None)
        for name in sizes:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{self.id}: {name} must be a positive integer, got {value!r}")
        for field in fields(self):
            if field.type is bool and not isinstance(getattr(self, field.name), bool):
                value = getattr(self, field.name)
                raise ValueError(f"{self.id}: {field.name} must be true or false, got {value!r}")
        if self.allreduces_per_layer > 2:
            raise ValueError(
                f"{self.id}: allreduces_per_layer must be 1 or 2, got {self.allreduces_per_layer}"
            )
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.id}: kv_heads {self.kv_heads} does not divide heads {self.heads}"
            )

    @property
    def group(self) -> int:
        """Query heads that share one key-value head (1 for multi-head attention)."""
        return self.heads // self.kv_heads
