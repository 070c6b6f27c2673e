"""The tuning of a tiny random encoder: right gradients, a better order, and a directory that onnxruntime reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from encoder_models import tiny_model

from codenav.core.errors import Unavailable, UsageError
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.encoders.directory import ModelDirectory
from codenav.retrieval.encoders.tuning import Pair, TuningSettings, _Tuner, tune

ACTS = ["order", "list", "delete", "update", "rate", "share"]
SAID = ["buy", "show", "drop", "change", "review", "send"]
THINGS = ["mug", "user", "song", "book", "city", "team"]
TEXTS = [f"{act} {thing}" for act in ACTS for thing in THINGS]
GROUPS = [text.split()[1] for text in TEXTS]
PAIRS = [
    Pair(f"please {said} my {thing}", (TEXTS.index(f"{act} {thing}"),), (TEXTS.index(f"{ACTS[place - 1]} {thing}"),))
    for place, (act, said) in enumerate(zip(ACTS, SAID, strict=True))
    for thing in THINGS
]
WORDS = [*ACTS, *SAID, *THINGS, "please", "my"]
HELD_OUT = range(3, len(PAIRS), 5)
SETTINGS = TuningSettings(epochs=40, batch=12, rate=3e-3)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_model(tmp_path / "base", WORDS)


@pytest.mark.parametrize(("pooling", "count"), [("mean", 2), ("cls", 2), ("mean", 20)])
def test_the_gradients_are_those_of_the_loss(tmp_path: Path, pooling: str, count: int) -> None:
    folder = tiny_model(tmp_path / "model", WORDS, pooling=pooling)
    settings = replace(SETTINGS, temperature=0.5)
    tuner = _Tuner(ModelDirectory.read(folder), settings)
    weights = tuner.bert.weights
    for name in weights:
        weights[name] = weights[name].astype(np.float64)
    requests = ["please buy my mug", "drop my song now", *(f"{text} please" for text in TEXTS)][:count]
    columns = ["order mug", "delete song user book", *TEXTS[:count]][: count + 1]
    right, barred = np.arange(count), np.zeros((count, count + 1), bool)
    barred[0, count] = True

    def loss() -> float:
        rows = tuner_vectors(tuner, [*requests, *columns])
        logits = np.where(barred, -np.inf, rows[:count] @ rows[count:].T / settings.temperature)
        shares = np.exp(logits - logits.max(1, keepdims=True))
        return float(-np.log(shares[right, right] / shares.sum(1)).mean())

    found = tuner.gradients(requests, columns, right, barred)
    assert weights.keys() - found.keys() == {"embeddings.word_embeddings.weight"}
    draw = np.random.default_rng(0)
    for name, gradient in found.items():
        # The steepest number of each array, and one that is drawn.
        for flat in (int(np.abs(gradient).argmax()), int(draw.integers(gradient.size))):
            place = np.unravel_index(flat, gradient.shape)
            kept, step = weights[name][place], 1e-4
            weights[name][place] = kept + step
            more = loss()
            weights[name][place] = kept - step
            slope = (more - loss()) / (2 * step)
            weights[name][place] = kept
            assert gradient[place] == pytest.approx(slope, rel=5e-3, abs=5e-5), (name, place)


def tuner_vectors(tuner: _Tuner, texts: list[str]) -> np.ndarray:
    from codenav.retrieval.encoders.sentence import padded, pooled

    ids, mask = padded([item.ids for item in tuner._tokenizer.encode_batch(texts)])
    rows = pooled(tuner.bert.states(ids, mask), mask, tuner._directory.pooling)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def judged(cosines: list[np.ndarray]) -> Callable[[np.ndarray, np.ndarray], dict[str, int]]:
    def judge(before: np.ndarray, after: np.ndarray) -> dict[str, int]:
        cosines.extend((before, after))
        return {"judged": 1}

    return judge


def right(cosines: np.ndarray) -> int:
    return sum(int(row.argmax()) in PAIRS[place].gold for place, row in zip(HELD_OUT, cosines, strict=True))


def test_training_finds_more_and_the_directory_is_read_by_onnxruntime(model: Path, tmp_path: Path) -> None:
    shares, cosines = list[float](), list[np.ndarray]()
    out = tmp_path / "tuned"
    tune(
        model, out, PAIRS, TEXTS, groups=GROUPS, held_out=HELD_OUT, judge=judged(cosines), settings=SETTINGS,
        progress=shares.append,
    )  # fmt: skip
    before, after = cosines
    assert right(after) >= right(before) + 3
    assert shares == sorted(shares) and shares[-1] == 1
    assert (out / "onnx" / "model.onnx").is_file() and not list(tmp_path.glob(".*"))
    assert json.loads((out / "codenav.json").read_text())["judged"] == 1
    tuned = open_encoder(str(out))
    similar = tuned.encode([PAIRS[place].request for place in HELD_OUT], query=True) @ tuned.encode(TEXTS).T
    assert np.abs(similar - after).max() < 1e-5
    (out / "onnx" / "model.onnx").unlink()
    again = open_encoder(str(out))
    assert np.abs(again.encode(TEXTS) - tuned.encode(TEXTS)).max() < 1e-5


def test_the_same_seed_gives_the_same_weights(model: Path) -> None:
    found = []
    for _ in range(2):
        tuner = _Tuner(ModelDirectory.read(model), replace(SETTINGS, epochs=1))
        tuner.train(PAIRS, TEXTS, GROUPS, lambda done: None)
        found.append(tuner.bert.weights)
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def test_nothing_is_written_where_the_judge_says_so(model: Path, tmp_path: Path) -> None:
    def judge(before: np.ndarray, after: np.ndarray) -> dict[str, int]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tune(
            model, tmp_path / "out", PAIRS, TEXTS, held_out=HELD_OUT, judge=judge, settings=replace(SETTINGS, epochs=1)
        )
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def test_too_few_pairs_and_a_full_directory(model: Path, tmp_path: Path) -> None:
    def tuned(base: Path, out: str, held_out: Collection[int] = HELD_OUT) -> None:
        tune(base, tmp_path / out, PAIRS, TEXTS, held_out=held_out, judge=judged([]))

    for held_out in ((), range(len(PAIRS))):
        with pytest.raises(UsageError, match="the requests are of one task"):
            tuned(model, "out", held_out)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(UsageError, match="holds something already"):
        tuned(model, "out")
    other = tiny_model(tmp_path / "max", WORDS, pooling="pooling_mode_max_tokens")
    with pytest.raises(Unavailable, match="pools by max"):
        tuned(other, "new")
