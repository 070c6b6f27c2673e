"""The tuning of a sentence encoder on requests and what they need, with numpy alone.

InfoNCE (van den Oord et al. 2018) over the texts of a batch, with negatives that the caller names; AdamW (Loshchilov
and Hutter 2019) with a linear rise and fall of its rate.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import StorageFull, Unavailable, UsageError
from codenav.core.system.atomic_files import whole_folder
from codenav.retrieval.encoders.bert import Bert, Shape, Tape, Weights
from codenav.retrieval.encoders.directory import AGAIN, DESCRIPTION, ONNX, WEIGHTS, ModelDirectory
from codenav.retrieval.encoders.sentence import batches, bert_of, pooled, tokenizer_of
from codenav.retrieval.encoders.weights import onnx_package, write_onnx, write_weights

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Pair:
    """A request with the texts that it needs, by their place in the list of all texts."""

    request: str
    gold: Sequence[int]
    others: Sequence[int] = ()
    """Texts that look alike and are not needed: hard negatives."""


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a tuning. The defaults suit a small encoder and some thousand pairs."""

    epochs: int = 2
    """Times that each pair is seen."""
    batch: int = 32
    """Pairs of one step; the texts of the others are negatives of each."""
    rate: float = 3e-5
    """The largest learning rate, as in the thesis on tool graphs (BGE-m3, InfoNCE)."""
    temperature: float = 0.05
    """Cosines are divided by it."""
    negatives: int = 2
    """Negatives of a pair beside the texts of its batch: its own `others` first, then texts of other groups."""
    decay: float = 0.01
    """Weight decay of AdamW."""
    longest: int = 128
    """Tokens of a text in training."""
    seed: int = 0


Judge = Callable[[Array, Array], Mapping[str, Any]]
"""A function of the cosines of the pairs held out, pairs × texts, before and after the tuning. What it returns is kept
beside the model; nothing is written if it raises."""


def tune(
    base: Path,
    out: Path,
    pairs: Sequence[Pair],
    texts: Sequence[str],
    *,
    held_out: Collection[int],
    judge: Judge,
    groups: Sequence[str] = (),
    lures: int = 0,
    settings: TuningSettings | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Mapping[str, Any]:
    """Tune the encoder in `base`, write it to `out` with its ONNX form, and return what the judge did.

    Args:
        base: a directory of sentence-transformers with the weights of a BERT.
        out: a directory that does not exist, or is empty. It is made whole or not at all.
        pairs: requests.
        texts: what is looked through.
        held_out: places of the pairs that are not trained on.
        judge: called with the cosines of those, in the order of the pairs.
        groups: the group of each text but the lures; negatives are drawn from other groups than those of the answers.
        lures: the number of texts at the end that are no answers, and only named in `Pair.others`.
        settings: default `TuningSettings()`.
        progress: called after each step with the share that is done.

    Raises:
        UsageError: no pair is held out, or every pair; or `out` holds something.
        StorageFull: it cannot be written.
        NotFound, MissingExtra, Unavailable: for the reasons of `SentenceEncoder`, or the weights are of no BERT.
    """
    train = [pair for place, pair in enumerate(pairs) if place not in held_out]
    held = [pairs[place] for place in sorted(held_out)]
    if not train or not held:
        raise UsageError(
            "the requests are of one task: none is left to train on if it is held out",
            hint="train on requests for several callables; some hundred are worth it",
        )
    check_folders(base, out)
    tuner = _Tuner(ModelDirectory.read(base), settings or TuningSettings())
    answers = texts[: len(texts) - lures]
    before = tuner.cosines(held, answers)
    tuner.train(train, texts, groups, progress)
    judged = judge(before, tuner.cosines(held, answers))
    tuner.write(out, judged)
    return judged


def check_folders(base: Path, out: Path) -> None:
    """Check before any work what `tune` would refuse; no weights are loaded.

    Raises:
        UsageError: `out` holds something.
        NotFound, MissingExtra, Unavailable: for the reasons of `tune`.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} holds something already", hint="name a new directory")
    directory = ModelDirectory.read(base)
    if directory.pooling == "max":
        raise Unavailable(f"{base} pools by max, which is not trained here", hint="mean or cls")
    Shape.of(directory.config)
    onnx_package()


class _Tuner:
    """A model in training."""

    def __init__(self, directory: ModelDirectory, settings: TuningSettings) -> None:
        self._directory, self._settings = directory, settings
        self._tokenizer = tokenizer_of(directory)
        self.bert: Bert = bert_of(directory, self._tokenizer)
        self._prompts = {kind: directory.prompts.get(kind, "") for kind in ("query", "document")}
        self._draw = np.random.default_rng(settings.seed)

    def train(
        self, pairs: Sequence[Pair], texts: Sequence[str], groups: Sequence[str], progress: Callable[[float], None]
    ) -> None:
        """Change the weights by all steps."""
        settings = self._settings
        self._tokenizer.enable_truncation(min(settings.longest, self._directory.longest))
        steps = settings.epochs * math.ceil(len(pairs) / settings.batch)
        rise, optimizer = max(1, steps // 10), _AdamW(self.bert.weights, settings.decay)
        for done, chosen in enumerate(self._steps(pairs), 1):
            rate = settings.rate * min(done / rise, (steps - done + 1) / max(1, steps - rise))
            # Words keep their vectors: half of the weights, and a few requests would move few of them.
            optimizer.step(self.gradients(*self._columns(chosen, texts, groups)), rate)
            progress(done / steps)
        self._tokenizer.enable_truncation(self._directory.longest)

    def cosines(self, pairs: Sequence[Pair], texts: Sequence[str]) -> Array:
        """The cosines of requests and texts."""
        asked = self._vectors([self._prompts["query"] + pair.request for pair in pairs])
        held = self._vectors([self._prompts["document"] + text for text in texts])
        found: Array = asked @ held.T
        return found

    def write(self, out: Path, described: Mapping[str, Any]) -> None:
        """Write the whole directory, or nothing."""
        description = {"base": self._directory.folder.name, "digest": self._directory.digest(), **described}
        try:
            with whole_folder(out) as beside:
                _copied(self._directory, beside)
                (beside / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n")
                model = beside / self._directory.model.relative_to(self._directory.folder)
                write_weights(model / WEIGHTS, self.bert.weights)
                (model / ONNX[0]).parent.mkdir(exist_ok=True)
                write_onnx(model / ONNX[0], self.bert)
        except OSError as error:
            raise StorageFull(
                f"cannot write {out}: {error.strerror or error}",
                hint="free some space, or name another directory with --out",
            ) from error

    def gradients(self, requests: Sequence[str], columns: Sequence[str], right: Array, barred: Array) -> Weights:
        """The gradients of the loss of one step. The vectors of words have none, since they stay as they are.

        `right` is the column of each request; where `barred`, requests × columns, is true, a column is needed as well
        and is no negative.
        """
        asked = [self._prompts["query"] + text for text in requests]
        texts = [*asked, *(self._prompts["document"] + text for text in columns)]
        # In parts of about the same length: what fills up the short ones is computed, too.
        parts: list[tuple[list[int], Array, Tape]] = []
        like = self.bert.weights["embeddings.LayerNorm.bias"]
        rows: Array = np.zeros((len(texts), len(like)), like.dtype)
        for places, ids, mask in batches(self._tokenizer, texts):
            tape: Tape = []
            rows[places] = pooled(self.bert.states(ids, mask, tape), mask, self._directory.pooling)
            parts.append((places, mask, tape))
        sizes = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        unit, count = rows / sizes, len(requests)
        slope = _slope(unit[:count], unit[count:], right, barred, self._settings.temperature)
        grown = np.concatenate([slope @ unit[count:], slope.T @ unit[:count]])
        grown = (grown - unit * (grown * unit).sum(1, keepdims=True)) / sizes
        found: Weights = {}
        while parts:
            places, mask, tape = parts.pop()
            part = _unpooled(grown[places], mask, self._directory.pooling)
            for name, gradient in self.bert.gradients(tape, part).items():
                found[name] = found[name] + gradient if name in found else gradient
        return found

    def _steps(self, pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
        for _ in range(self._settings.epochs):
            order = self._draw.permutation(len(pairs))
            for start in range(0, len(order), self._settings.batch):
                yield [pairs[place] for place in order[start : start + self._settings.batch]]

    def _columns(
        self, pairs: Sequence[Pair], texts: Sequence[str], groups: Sequence[str]
    ) -> tuple[list[str], list[str], Array, Array]:
        """The requests of a step, the texts that they are compared with, which is right, and which are barred."""
        right = [int(self._draw.choice(list(pair.gold))) for pair in pairs]
        columns = list(dict.fromkeys(right))
        for pair in pairs:
            columns += [
                place for place in self._negatives(pair, len(groups) or len(texts), groups) if place not in columns
            ]
        where = {place: column for column, place in enumerate(columns)}
        barred = np.zeros((len(pairs), len(columns)), bool)
        for row, pair in enumerate(pairs):
            barred[row, [where[place] for place in set(pair.gold) & where.keys() - {right[row]}]] = True
        chosen = [texts[place] for place in columns]
        return [pair.request for pair in pairs], chosen, np.array([where[place] for place in right]), barred

    def _negatives(self, pair: Pair, count: int, groups: Sequence[str]) -> list[int]:
        own = {groups[place] for place in pair.gold} if groups else set()
        hard = [place for place in pair.others if place not in pair.gold]
        found = [hard[at] for at in self._draw.permutation(len(hard))[: self._settings.negatives]]
        for _ in range(4 * self._settings.negatives):
            if len(found) >= self._settings.negatives:
                break
            place = int(self._draw.integers(count))
            if place not in pair.gold and not (groups and groups[place] in own):
                found.append(place)
        return found

    def _vectors(self, texts: Sequence[str]) -> Array:
        width = self.bert.weights["embeddings.LayerNorm.bias"].shape[0]
        found = np.zeros((len(texts), width), np.float32)
        for places, ids, mask in batches(self._tokenizer, texts):
            found[places] = pooled(self.bert.states(ids, mask), mask, self._directory.pooling)
        if not np.isfinite(found).all():
            raise Unavailable(f"the model in {self._directory.folder} computes no finite numbers", hint=AGAIN)
        made: Array = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return made


class _AdamW:
    """The optimizer, with a moment of each weight and of its square."""

    def __init__(self, weights: Weights, decay: float) -> None:
        self._weights, self._decay, self._count = weights, decay, 0
        self._mean: Weights = {}
        self._square: Weights = {}

    def step(self, gradients: Weights, rate: float) -> None:
        """Change the weights in place; gradients of a norm above 1 are made shorter."""
        self._count += 1
        size = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
        shorter = min(1.0, 1.0 / max(size, 1e-12))
        for name, gradient in gradients.items():
            g = gradient * shorter
            mean = self._mean.setdefault(name, np.zeros_like(g))
            square = self._square.setdefault(name, np.zeros_like(g))
            mean += 0.1 * (g - mean)
            square += 0.001 * (g * g - square)
            change = mean / (1 - 0.9**self._count) / (np.sqrt(square / (1 - 0.999**self._count)) + 1e-8)
            weight = self._weights[name]
            if weight.ndim > 1:
                change += self._decay * weight
            self._weights[name] = (weight - rate * change).astype(weight.dtype)


def _slope(asked: Array, held: Array, right: Array, barred: Array, temperature: float) -> Array:
    """The gradient of the mean loss by the cosines of requests × columns."""
    logits = np.where(barred, -np.inf, asked @ held.T / temperature)
    share = np.exp(logits - logits.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    share[np.arange(len(right)), right] -= 1
    made: Array = (share / (len(right) * temperature)).astype(asked.dtype)
    return made


def _unpooled(grown: Array, mask: Array, pooling: str) -> Array:
    """The gradient of the states, for that of the row that they were pooled to."""
    if pooling == "cls":
        found = np.zeros((*mask.shape, grown.shape[1]), grown.dtype)
        found[:, 0] = grown
        return found
    there = mask.astype(grown.dtype)
    made: Array = grown[:, None, :] * (there / there.sum(1, keepdims=True))[:, :, None]
    return made


def _copied(directory: ModelDirectory, to: Path) -> None:
    """Copy what describes a model; its weights and its computation are written anew."""
    left_out = {".safetensors", ".onnx", ".bin", ".pt", ".h5", ".ot", ".msgpack"}
    for path in sorted(directory.folder.rglob("*")):
        name = path.relative_to(directory.folder)
        if path.is_file() and path.suffix not in left_out and not any(part.startswith(".") for part in name.parts):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / name)
