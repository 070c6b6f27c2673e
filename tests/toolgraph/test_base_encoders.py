"""`codenav train-retriever --base`: a tiny encoder tuned on traces of a small code base, and searches with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import codenav
from encoder_models import tiny_model

import codenav as package
from codenav.core.errors import NotFound, Unavailable, UsageError
from codenav.core.tool_selection import ToolSelection
from codenav.retrieval.dense.fitting import Weights
from codenav.retrieval.dense.making import NoBetter
from codenav.retrieval.encoders.directory import DESCRIPTION
from codenav.retrieval.encoders.tuning import TuningSettings
from codenav.session.services import Services
from codenav.toolgraph.base_encoders import tuned_weights
from codenav.toolgraph.retrievers import train_retriever

ACTS = {"order": "purchase", "list": "present", "drop": "vanish", "rate": "judge", "share": "spread"}
THINGS = ["mug", "song", "book", "city", "team", "lamp"]
SAYINGS = ["{} one {} now", "could you {} that {}", "we want to {} a {} today"]


@pytest.fixture
def shop(tmp_path: Path, codenav_home: Path) -> Path:
    """A code base of thirty functions, and traces that call each in three wordings that name no act."""
    folder = tmp_path / "shop"
    folder.mkdir()
    lines, traces = [], []
    for act, said in ACTS.items():
        for thing in THINGS:
            lines.append(f"def {act}_{thing}(count):\n    return count\n")
            for number, saying in enumerate(SAYINGS):
                call = {"name": f"actions.{act}_{thing}"}
                request = saying.format(said, thing)
                traces.append({"id": f"{act}-{thing}-{number}", "request": request, "calls": [call]})
    (folder / "actions.py").write_text("\n\n".join(lines))
    (tmp_path / "traces.jsonl").write_text("".join(f"{json.dumps(trace)}\n" for trace in traces))
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    said = " ".join(SAYINGS).replace("{}", "").split()
    words = ["actions", "def", "count", *ACTS, *ACTS.values(), *THINGS, *said, "_", "(", ")", ":", "."]
    return tiny_model(tmp_path / "base", list(dict.fromkeys(words)))


def test_a_tuned_encoder_finds_what_its_words_do_not(shop: Path, base: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    # A random encoder of 16 numbers learns at another pace than one of millions that has read a lot.
    pace = TuningSettings(epochs=40, rate=6e-3)
    done = train_retriever(shop, tmp_path / "traces.jsonl", out, base=base, tuning=pace)
    assert done.requests == 90 and done.callables == 30 and done.held_out
    assert done.after["ndcg@5"] > done.before["ndcg@5"] and done.after["recall@5"] > done.before["recall@5"]
    assert (out / "onnx" / "model.onnx").is_file()
    weights = tuned_weights(out)
    assert weights and done.weights == vars(weights) and weights.memory == 0

    def places(**keywords: Any) -> list[int]:
        found = []
        for act, said in ACTS.items():
            hits = package.search(request=f"{said} one song", on=shop, limit=30, vectors=False, **keywords)
            found.append([hit.name for hit in hits].index(f"{act}_song"))
        return found

    assert sum(places(embeddings=str(out))) < sum(places())


def test_what_does_not_help_is_not_written(shop: Path, base: Path, tmp_path: Path) -> None:
    with pytest.raises(NoBetter, match=r"training does not help on \d+ held-out requests"):
        train_retriever(
            shop, tmp_path / "traces.jsonl", tmp_path / "tuned", base=base, tuning=TuningSettings(rate=1e-12, epochs=1)
        )
    assert not (tmp_path / "tuned").exists()


def test_bad_input_is_told_before_anything_is_indexed(shop: Path, base: Path, tmp_path: Path) -> None:
    traces = tmp_path / "traces.jsonl"
    with pytest.raises(NotFound, match="no such directory"):
        train_retriever("nowhere", traces, tmp_path / "out", base=tmp_path / "none")
    with pytest.raises(UsageError, match="holds something already"):
        train_retriever("nowhere", traces, shop, base=base)
    (base / "tokenizer.json").unlink()
    with pytest.raises(Unavailable, match="has no tokenizer"):
        train_retriever("nowhere", traces, tmp_path / "out", base=base)
    ran = codenav("train-retriever", "--from", str(traces), "--on", str(shop), "--out", "out", "--base", str(base))
    assert ran.code == 4 and ran.err.splitlines()[0].startswith("Error: ") and "has no tokenizer" in ran.err


@pytest.mark.parametrize("text", ["{}", "{", "[]", '{"weights": {"words": 1}}', '{"weights": null}'])
def test_weights_that_make_no_sense_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / DESCRIPTION).write_text(text)
    assert tuned_weights(tmp_path) is None and tuned_weights(tmp_path / "none") is None
    whole = {"weights": {"words": 1, "meaning": 0.5, "memory": 0}}
    (tmp_path / DESCRIPTION).write_text(json.dumps(whole))
    assert tuned_weights(tmp_path) == Weights(1, 0.5, 0)


def test_services_open_each_kind_of_directory(base: Path) -> None:
    with Services(ToolSelection(embeddings=str(base))) as services:
        assert services.encoder and services.encoder.name.startswith("base ")
