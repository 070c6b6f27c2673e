"""An encoder of a sentence-transformers directory: by onnxruntime, or, for a BERT without ONNX, by numpy."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import MissingExtra, Unavailable
from codenav.retrieval.encoders.bert import Bert, Shape
from codenav.retrieval.encoders.directory import AGAIN, WEIGHTS, ModelDirectory
from codenav.retrieval.encoders.weights import read_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 32
"""Texts of one computation, of about the same length."""

Array = npt.NDArray[Any]


class SentenceEncoder:
    """An encoder (`protocols.Encoder`) of a directory. Usable from several threads."""

    def __init__(self, folder: str | Path) -> None:
        """Read the directory and load its tokenizer; the weights are loaded at the first text.

        Raises:
            NotFound: there is no such directory.
            MissingExtra: `tokenizers` or `onnxruntime` is not installed.
            Unavailable: the directory is not whole, or holds a model of another form.
        """
        self.directory = ModelDirectory.read(Path(folder))
        self._tokenizer = tokenizer_of(self.directory)
        self._name = f"{self.directory.folder.resolve().name} {self.directory.digest()}"
        self._states: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the folder with a digest of the weights."""
        return self._name

    def encode(self, texts: Sequence[str], *, query: bool = False) -> npt.NDArray[np.float32]:
        """Return a row of length 1 for each text, zeros for an empty one.

        Raises:
            Unavailable: the model cannot be loaded, or computes no numbers.
        """
        with self._lock:
            self._states = self._states or self._loaded()
        prompt = self.directory.prompts.get("query" if query else "document", "")
        rows: list[tuple[int, Array]] = []
        width = 0
        for places, ids, mask in batches(self._tokenizer, [prompt + text for text in texts]):
            pooled = self._pooled(ids, mask)
            width = pooled.shape[1]
            rows += zip(places, pooled, strict=True)
        found = np.zeros((len(texts), width), np.float32)
        for place, row in rows:
            if texts[place].strip():
                found[place] = row
        if not np.isfinite(found).all():
            raise Unavailable(f"the model in {self.directory.folder} computes no finite numbers", hint=AGAIN)
        sizes = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, sizes, out=found, where=sizes > 0)
        return found

    def _pooled(self, ids: Array, mask: Array) -> Array:
        states = self._states(ids, mask)
        if states.ndim != 3 or states.shape[:2] != ids.shape:
            raise Unavailable(
                f"the model in {self.directory.folder} gives numbers of the shape {states.shape}, not one row a token",
                hint="export it with optimum-cli export onnx --task feature-extraction",
            )
        return pooled(states, mask, self.directory.pooling)

    def _loaded(self) -> Any:
        if self.directory.onnx is not None:
            return _onnx_states(self.directory.onnx)
        return bert_of(self.directory, self._tokenizer).states


def bert_of(directory: ModelDirectory, tokenizer: Tokenizer) -> Bert:
    """Return the model with its weights.

    Raises:
        Unavailable: it is no BERT, or its weights are missing, broken, or for another tokenizer.
    """
    shape = Shape.of(directory.config)
    if directory.weights is None:
        raise Unavailable(f"{directory.folder} has no weights: {WEIGHTS} is missing", hint=AGAIN)
    bert = Bert(shape, read_weights(directory.weights))
    words, places = (len(bert.weights[f"embeddings.{name}_embeddings.weight"]) for name in ("word", "position"))
    if tokenizer.get_vocab_size() > words or directory.longest > places:
        raise Unavailable(
            f"the tokenizer in {directory.folder} has {tokenizer.get_vocab_size()} words, {directory.longest} places, "
            f"where the weights have {words} and {places}",
            hint=AGAIN,
        )
    return bert


def tokenizer_of(directory: ModelDirectory) -> Tokenizer:
    """Return the tokenizer of a model, cutting at its longest text.

    Raises:
        MissingExtra: the package is not installed.
        Unavailable: its file is broken.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizers", "embeddings") from error
    try:
        tokenizer = Tokenizer.from_file(str(directory.model / "tokenizer.json"))
    except Exception as error:  # The package raises no other class.
        raise Unavailable(f"{directory.model / 'tokenizer.json'} cannot be read", hint=AGAIN) from error
    tokenizer.enable_truncation(directory.longest)
    tokenizer.no_padding()
    return tokenizer


def batches(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[tuple[list[int], Array, Array]]:
    """Yield the places, tokens and masks of texts in batches of about the same length."""
    tokens = [item.ids for item in tokenizer.encode_batch(list(texts))]
    order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        yield places, *padded([tokens[place] for place in places])


def padded(tokens: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return tokens as one array, filled up with 0, and its mask."""
    longest = max(1, *map(len, tokens)) if tokens else 1
    ids, mask = np.zeros((len(tokens), longest), np.int64), np.zeros((len(tokens), longest), np.int64)
    for row, item in enumerate(tokens):
        ids[row, : len(item)], mask[row, : len(item)] = item, 1
    return ids, mask


def pooled(states: Array, mask: Array, pooling: str) -> Array:
    """Return one row a text from its states."""
    if pooling == "cls":
        first: Array = states[:, 0]
        return first
    there = mask[:, :, None].astype(states.dtype)
    if pooling == "max":
        most: Array = np.where(there > 0, states, -np.inf).max(1)
        return np.where(np.isfinite(most), most, 0)
    mean: Array = (states * there).sum(1) / np.maximum(there.sum(1), 1)
    return mean


def _onnx_states(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("onnxruntime", "embeddings") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # It writes to stderr; what goes wrong is raised, too.
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # Its classes are private.
        raise Unavailable(f"{path} is no model that onnxruntime can load", hint=AGAIN) from error
    inputs = [item.name for item in session.get_inputs()]
    outputs = [item.name for item in session.get_outputs()]
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if "input_ids" not in inputs or not set(inputs) <= known:
        raise Unavailable(f"{path} takes {', '.join(inputs)}, not the tokens of a text", hint=AGAIN)
    output = next((name for name in ("last_hidden_state", "token_embeddings") if name in outputs), outputs[0])

    def states(ids: Array, mask: Array) -> Array:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            made: Array = session.run([output], {name: given[name] for name in inputs})[0]
        except Exception as error:
            raise Unavailable(f"{path} cannot compute these tokens", hint=AGAIN) from error
        return made

    return states
