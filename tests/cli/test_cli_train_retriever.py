"""`codenav train-retriever`: from traces to a search that finds what words do not, and what it says of bad input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_server import ChatServer
from command_line import codenav
from pseudo_terminal import INTERRUPT, on_terminal
from retriever.made_examples import TOPICS, requests

from codenav.core import schemas

REQUEST = "An umbrella, because of the rain"


@pytest.fixture
def tools(tmp_path: Path) -> str:
    listed = [{"name": name.removeprefix("set."), "description": said} for name, (said, _) in TOPICS.items()]
    (tmp_path / "set.json").write_text(json.dumps(listed))
    return f"tools:{tmp_path / 'set.json'}"


def traces(path: Path, pairs: list[tuple[str, str]], **more: object) -> Path:
    lines = [
        {"id": str(at), "request": text, "calls": [{"name": name}], **more} for at, (text, name) in enumerate(pairs)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def train(source: str, learn_from: Path | str, out: Path, *more: str):
    return codenav("train-retriever", "--from", learn_from, "--on", source, "--out", out, "--epochs", "3", *more)


def test_a_trained_retriever_finds_what_words_do_not(tools: str, tmp_path: Path) -> None:
    ran = train(
        tools, traces(tmp_path / "t.jsonl", [*requests(), ("Fly me", "set.unheard_of")]), tmp_path / "r", "--json"
    )
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("train-retriever"))
    assert ran.document["requests"] == len(requests()) and ran.document["unknown"] == {"set.unheard_of": 1}
    assert ran.document["before"]["recall@5"] < 50 < ran.document["after"]["recall@5"]
    asked = ("search", "--request", REQUEST, "--on", tools, "--json")
    assert not codenav(*asked).document["hits"]
    found = codenav(*asked, "--embeddings", tmp_path / "r")
    assert found.document["hits"][0]["name"] == "current_forecast", found.err
    assert codenav(*asked, "--embeddings", tmp_path / "r", "--set", "rerank=no").document["hits"] == []


def test_samples_of_a_graph_train_a_retriever(tools: str, tmp_path: Path) -> None:
    pairs = [{"calls": [{"name": one}, {"name": two}]} for one, two in itertools.permutations(TOPICS, 2)]
    taught = tmp_path / "taught.jsonl"
    taught.write_text("".join(f"{json.dumps({'id': str(at), **pair})}\n" for at, pair in enumerate(pairs)))
    assert codenav("graph", "learn", "--on", tools, "--from", taught).code == 0

    def answer(body: dict[str, Any]) -> str:
        rules, shown = (message["content"] for message in body["messages"][:2])
        words = [words for name, (_, words) in TOPICS.items() if name in shown]
        written = {"plausible": True, "request": f"I think of {' and '.join(words)}"}
        rated = {"naturalness": 3, "complexity": 1, "alignment": 4}
        return json.dumps(written if "You write requests" in rules else rated)

    with ChatServer(answer) as server:
        model = ("--model", "test-model", "--base-url", server.url)
        sampled = codenav("graph", "sample", "--on", tools, "-n", "2", "--count", "24", *model)
    samples = tmp_path / "samples.jsonl"
    samples.write_text(sampled.out)
    ran = train(tools, samples, tmp_path / "r", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["requests"] == 24 and ran.document["callables"] == len(TOPICS)
    found = codenav("search", "--request", REQUEST, "--on", tools, "--embeddings", tmp_path / "r", "--json")
    assert found.document["hits"][0]["name"] == "current_forecast", found.err


def test_what_training_says_to_a_person(tools: str, tmp_path: Path) -> None:
    ran = train(tools, traces(tmp_path / "t.jsonl", requests()), tmp_path / "r")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"trained on {len(requests())} requests for {len(TOPICS)} callables, in ")
    assert [line.split()[0] for line in lines[1:5]] == ["recall@5", "ndcg@5", "recall@10", "ndcg@10"]
    assert lines[-2].startswith("weights ") and lines[-1] == f"use it with --embeddings {tmp_path / 'r'}"
    # Interrupted in the middle of the next training, it stays as it is.
    before = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()}
    again = ("train-retriever", "--from", tmp_path / "t.jsonl", "--on", tools, "--out", tmp_path / "r")
    code, shown = on_terminal(*again, "--epochs", "1000", answers={"Training": INTERRUPT})
    assert code == 130, shown
    assert {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()} == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".r")]


def test_bad_input_is_told_in_one_line(tools: str, tmp_path: Path) -> None:
    out = tmp_path / "r"
    one = train(tools, traces(tmp_path / "one.jsonl", requests()[:1]), out)
    assert one.code == 2 and "at least 10 requests" in one.err and "there is 1 request" in one.err
    unknown = train(tools, traces(tmp_path / "u.jsonl", [("Do it", f"x.f{n}") for n in range(20)]), out)
    assert unknown.code == 2 and "20 without a request or a known call, calls of x.f0, x.f1, x.f2, …" in unknown.err
    unverified = train(tools, traces(tmp_path / "v.jsonl", requests(), verified=False), out)
    assert unverified.code == 2 and "there are no requests; left out: 90 not verified" in unverified.err
    assert train(tools, tmp_path / "gone.jsonl", out).code == 2
    assert train(tools, "episodes", out).code == 2
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.py").write_text("x = 1\n")
    empty = train(str(tmp_path / "empty"), tmp_path / "one.jsonl", out)
    assert empty.code == 2 and "there are no callables" in empty.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    assert "holds something else" in train(tools, tmp_path / "one.jsonl", tmp_path / "full").err
    for ran in (one, unknown, unverified, empty):
        assert "Traceback" not in ran.err and len(ran.err.strip().splitlines()) <= 3, ran.err
    assert not out.exists()
