"""A BERT encoder in numpy: its states for a batch of texts, and the gradients of its weights.

Devlin et al. 2018; names of weights and their shapes as in the `model.safetensors` of a `BertModel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import Unavailable

Array = npt.NDArray[Any]
Weights = dict[str, npt.NDArray[np.float32]]
Tape = list[dict[str, Array]]
"""For each layer what its gradients need; the embeddings come first."""

MOST_LAYERS = 1_000
"""Layers of a model; the largest BERT has 24."""
_MASKED = -1e9


@dataclass(frozen=True)
class Shape:
    """The numbers of a model's `config.json` that its computation needs."""

    layers: int
    heads: int
    epsilon: float
    """Added to the variance in a layer norm."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        """Read a configuration.

        Raises:
            Unavailable: it is not of a BERT whose computation is written here.
        """
        kind, activation = config.get("model_type"), config.get("hidden_act", "gelu")
        if kind != "bert" or activation != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
            raise Unavailable(
                f"a model of the kind {kind!r} with {activation!r} needs a model.onnx beside its weights",
                hint="export it with optimum-cli export onnx, or name a BERT such as all-MiniLM-L6-v2",
            )
        layers, heads = config.get("num_hidden_layers"), config.get("num_attention_heads")
        epsilon = config.get("layer_norm_eps", 1e-12)
        if (
            not (type(layers) is int and 0 < layers <= MOST_LAYERS)
            or not (type(heads) is int and heads > 0)
            or not (type(epsilon) in (int, float) and 0 <= epsilon < 1)
        ):
            raise Unavailable(
                "config.json has no sound numbers of layers and heads", hint="copy the model's directory again"
            )
        return cls(layers, heads, float(epsilon))


class Bert:
    """The computation, with the weights that it works on."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        """Check that the weights are there and fit each other.

        Raises:
            Unavailable: some are missing or have another shape.
        """
        self.shape = shape
        self.weights = {name.removeprefix("bert."): array for name, array in weights.items()}
        self._check()

    def states(self, ids: Array, mask: Array, tape: Tape | None = None) -> Array:
        """Return the last states of a batch, texts × places × width; what the gradients need goes to the `tape`.

        `ids` and `mask` are whole numbers, texts × places; places where the mask is 0 are not looked at.
        """
        w, (texts, places) = self.weights, ids.shape
        dtype = w["embeddings.word_embeddings.weight"].dtype
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:places]
        x = (x + w["embeddings.token_type_embeddings.weight"][0]).reshape(texts * places, -1)
        kept: dict[str, Array] = {}
        x = self._norm(x, "embeddings.LayerNorm", kept)
        bias = np.where(mask[:, None, None, :] > 0, 0, _MASKED).astype(dtype)
        if tape is not None:
            tape.append(kept)
        for number in range(self.shape.layers):
            kept = {}
            x = self._layer(x, f"encoder.layer.{number}", bias, kept)
            if tape is not None:
                tape.append(kept)
        return x.reshape(texts, places, -1)

    def gradients(self, tape: Tape, grown: Array) -> Weights:
        """Return the gradients of all weights but the vectors of words, for that of the states that wrote the tape."""
        found: Weights = {}
        texts, places = grown.shape[:2]
        g = grown.reshape(texts * places, -1)
        for number in reversed(range(self.shape.layers)):
            g = self._layer_back(g, f"encoder.layer.{number}", tape[number + 1], (texts, places), found)
        g = self._norm_back(g, "embeddings.LayerNorm", tape[0], found)
        positions = np.zeros_like(self.weights["embeddings.position_embeddings.weight"])
        positions[:places] = g.reshape(texts, places, -1).sum(0)
        found["embeddings.position_embeddings.weight"] = positions
        types = np.zeros_like(self.weights["embeddings.token_type_embeddings.weight"])
        types[0] = g.sum(0)
        found["embeddings.token_type_embeddings.weight"] = types
        return found

    def _layer(self, x: Array, name: str, bias: Array, kept: dict[str, Array]) -> Array:
        texts, places = bias.shape[0], bias.shape[3]
        heads = self.shape.heads
        kept["x"] = x
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}").reshape(texts, places, heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) * query.shape[-1] ** -0.5 + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        context = (scores @ value).transpose(0, 2, 1, 3).reshape(texts * places, -1)
        kept.update(query=query, key=key, value=value, scores=scores, context=context)
        x = self._norm(
            x + self._linear(context, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm", kept
        )
        inner = self._linear(x, f"{name}.intermediate.dense")
        share = _normal_share(inner)
        active = inner * share
        kept.update(middle=x, inner=inner, share=share, active=active)
        return self._norm(x + self._linear(active, f"{name}.output.dense"), f"{name}.output.LayerNorm", kept)

    def _layer_back(self, g: Array, name: str, kept: dict[str, Array], size: tuple[int, int], found: Weights) -> Array:
        texts, places = size
        g = self._norm_back(g, f"{name}.output.LayerNorm", kept, found)
        inner = kept["inner"]
        slope = kept["share"] + inner * np.exp(-0.5 * inner**2) * (2 * np.pi) ** -0.5
        active = self._linear_back(g, f"{name}.output.dense", kept["active"], found) * slope
        g = g + self._linear_back(active, f"{name}.intermediate.dense", kept["middle"], found)
        g = self._norm_back(g, f"{name}.attention.output.LayerNorm", kept, found)
        context = self._linear_back(g, f"{name}.attention.output.dense", kept["context"], found)
        context = context.reshape(texts, places, self.shape.heads, -1).transpose(0, 2, 1, 3)
        scores, scale = kept["scores"], kept["query"].shape[-1] ** -0.5
        parts = {"value": scores.transpose(0, 1, 3, 2) @ context}
        grown = context @ kept["value"].transpose(0, 1, 3, 2)
        grown = scores * (grown - (grown * scores).sum(-1, keepdims=True)) * scale
        parts["query"], parts["key"] = grown @ kept["key"], grown.transpose(0, 1, 3, 2) @ kept["query"]
        for part, array in parts.items():
            flat = array.transpose(0, 2, 1, 3).reshape(texts * places, -1)
            g = g + self._linear_back(flat, f"{name}.attention.self.{part}", kept["x"], found)
        return g

    def _linear(self, x: Array, name: str) -> Array:
        made: Array = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return made

    def _linear_back(self, g: Array, name: str, x: Array, found: Weights) -> Array:
        found[f"{name}.weight"], found[f"{name}.bias"] = g.T @ x, g.sum(0)
        made: Array = g @ self.weights[f"{name}.weight"]
        return made

    def _norm(self, x: Array, name: str, kept: dict[str, Array]) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + self.shape.epsilon)
        kept[f"{name}.unit"] = unit = centred * inverse
        kept[f"{name}.inverse"] = inverse
        made: Array = unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return made

    def _norm_back(self, g: Array, name: str, kept: dict[str, Array], found: Weights) -> Array:
        unit, inverse = kept[f"{name}.unit"], kept[f"{name}.inverse"]
        found[f"{name}.weight"], found[f"{name}.bias"] = (g * unit).sum(0), g.sum(0)
        g = g * self.weights[f"{name}.weight"]
        made: Array = inverse * (g - g.mean(-1, keepdims=True) - unit * (g * unit).mean(-1, keepdims=True))
        return made

    def _check(self) -> None:
        """Compute the states of one word: that takes every weight."""
        word = np.zeros((1, 1), np.int64)
        try:
            self.states(word, word + 1)
        except (KeyError, ValueError, IndexError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error).partition("\n")[0]
            raise Unavailable(
                f"the weights do not fit config.json: {what}", hint="copy the model's directory again"
            ) from error


def _normal_share(x: Array) -> Array:
    """The normal distribution at x, within 1e-7: Abramowitz and Stegun 7.1.26, as numpy has no erf."""
    size = np.abs(x) * 0.5**0.5
    t = 1 / (1 + 0.3275911 * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-size * size)
    made: Array = np.where(x >= 0, 1 - tail, tail).astype(x.dtype)
    return made
