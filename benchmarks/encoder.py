"""The sentence encoder all-MiniLM-L6-v2 in numpy: its WordPiece vocabulary, and the vectors of short texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

WIDTH, HEADS, LAYERS = 384, 12, 6
_TYPES = {"F32": np.float32, "I64": np.int64}


class Encoder:
    """An encoder read from a folder with `model.safetensors` and `tokenizer.json`."""

    def __init__(self, folder: Path) -> None:
        self.ids: dict[str, int] = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        self._read((folder / "model.safetensors").read_bytes())

    def _read(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little")
        self.weights = {}
        for name, entry in json.loads(data[8 : 8 + size]).items():
            if name != "__metadata__":
                first, last = (8 + size + place for place in entry["data_offsets"])
                values = np.frombuffer(data[first:last], dtype=_TYPES[entry["dtype"]])
                self.weights[name] = values.reshape(entry["shape"])

    def pieces(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary from left to right; none if a character is in no piece."""
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self.ids)
            end = next(ends, None)
            if end is None:
                return []
            found.append(self.ids[mark + word[start:end]])
            start = end
        return found

    def states(self, tokens: np.ndarray) -> np.ndarray:
        """The last layer's states of texts of equal length: (texts, places, WIDTH)."""
        count, length = tokens.shape
        where = "embeddings."
        states = self._of(where + "word_embeddings")[tokens] + self._of(where + "position_embeddings")[:length]
        states = self._normed(states + self._of(where + "token_type_embeddings")[0], where + "LayerNorm")
        states = states.reshape(count * length, WIDTH)
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}."
            heads = (count, length, HEADS, WIDTH // HEADS)
            query, key, value = (
                self._linear(states, f"{layer}attention.self.{part}").reshape(heads).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(WIDTH // HEADS, dtype=np.float32)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            seen = (scores / scores.sum(-1, keepdims=True) @ value).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
            states = self._normed(
                states + self._linear(seen, layer + "attention.output.dense"), layer + "attention.output.LayerNorm"
            )
            inner = _gelu(self._linear(states, layer + "intermediate.dense"))
            states = self._normed(states + self._linear(inner, layer + "output.dense"), layer + "output.LayerNorm")
        return states.reshape(count, length, WIDTH)

    def _of(self, name: str) -> np.ndarray:
        return self.weights[name + ".weight"]

    def _linear(self, states: np.ndarray, name: str) -> np.ndarray:
        return states @ self._of(name).T + self.weights[name + ".bias"]

    def _normed(self, states: np.ndarray, name: str) -> np.ndarray:
        centred = states - states.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-12))
        return centred / spread * self._of(name) + self.weights[name + ".bias"]


def _gelu(values: np.ndarray) -> np.ndarray:
    """x Φ(x), by formula 7.1.26 of Abramowitz and Stegun, which is right to 1.5e-7."""
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = series * np.exp(-size * size) / 2
    return values * np.where(values > 0, 1 - tail, tail)
