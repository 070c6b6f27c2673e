"""Runs with a real small language model. What it writes is nonsense: nothing here rests on that."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav, on_a_terminal, screen, start
from local_model import LocalModel

import codenav as package
from codenav.agents.models import ChatModel
from codenav.core import schemas
from codenav.core.actions import Code, Done
from codenav.core.errors import ContextOverflow
from codenav.core.messages import Completion, Message, Sampling

STORY = "Write a long story about a farm and everybody who lives there."

PROMPTS = {
    "overview": "Write an action in this form:\n<type>TYPE</type>\n<content>\nwhat it needs\n</content>\n${actions}\n",
    "search": "search: a query.\n",
    "code": "code: Python.\n",
    "code_summary": "code_summary: a script.\n",
    "ask": "ask: a question.\n",
    "done": "done: the answer.\n",
}
"""A tenth of ours: a small model on a busy machine reads some dozen tokens a second."""


@pytest.fixture
def asked(library: Path, tmp_path: Path) -> list[str | Path]:
    """Arguments of a run whose prompt is short."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    for name, text in PROMPTS.items():
        (folder / f"{name}.md").write_text(text)
    return [
        STORY, "--on", library, "--prompts", folder, "--description", "Fields.", "--set=checks.lint=no",
        "--set=checks.types=no",
    ]  # fmt: skip


def at(model: LocalModel) -> list[str]:
    return ["--model", model.name, "--base-url", model.url]


def opened(model: LocalModel, max_tokens: int, **options: Any) -> ChatModel:
    """A client of it, for answers of so many tokens."""
    return ChatModel(model.name, base_url=model.url, max_tokens=max_tokens, **options)


def keywords(asked: list[str | Path]) -> dict[str, Any]:
    """The arguments as keywords of `codenav.run`."""
    return {"on": asked[2], "prompts": asked[4], "description": "Fields.", "checks_lint": False, "checks_types": False}


def last() -> dict[str, Any]:
    document: dict[str, Any] = codenav("episodes", "show", "last", "--json").document
    jsonschema.validate(document, schemas.load("episode"))
    return document


def tokens(model: LocalModel, text: str) -> int:
    """As the model's own tokenizer counts them."""
    body = json.dumps({"content": text}).encode()
    request = urllib.request.Request(model.url.replace("/v1", "/tokenize"), body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return len(json.load(response)["tokens"])


def test_the_doctor_finds_it_by_its_file_and_no_other_name(cramped_model: LocalModel) -> None:
    rows = {row["name"]: row for row in codenav("doctor", *at(cramped_model), "--json").document}
    assert rows["model"]["ok"], rows["model"]
    rows = {
        row["name"]: row for row in codenav("doctor", *at(LocalModel(cramped_model.url, "gpt-5")), "--json").document
    }
    assert not rows["model"]["ok"] and cramped_model.name in rows["model"]["hint"], rows["model"]


def test_a_run_to_its_step_limit(cramped_model: LocalModel, asked: list[str | Path]) -> None:
    heard: list[package.ModelReply] = []
    with closing(opened(cramped_model, 24, heard=heard.append)) as model:
        result = package.run(STORY, model=model, limits=package.Limits(steps=2, seconds=0), **keywords(asked))
    assert (result.status, len(result.steps), result.unfinished) == ("limit", 2, None), result.reason
    # An empty answer, which a model this small may give, is asked for again.
    assert result.usage.requests >= 2 and not result.usage.estimated
    assert all(0 < step.usage.output_tokens <= 24 for step in result.steps)
    assert [item.begins for item in heard].count(True) == result.usage.requests
    assert len([item for item in heard if item.text]) > 10


class Steered:
    """Asks the real model, so that tokens and overflows are real, and takes the actions of a script."""

    def __init__(self, model: ChatModel, script: Sequence[package.Action]) -> None:
        self.model, self.script, self.overflows, self.requests = model, list(script), 0, 0

    @property
    def name(self) -> str:
        return self.model.name

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        try:
            answer = self.model.complete(messages, timeout=timeout, sampling=sampling)
        except ContextOverflow as error:
            self.overflows += 1
            self.requests += 1
            assert error.limit == 768 and error.prompt_tokens and error.prompt_tokens >= 768
            raise
        # More than one where the answer was empty, which one of a model this small may be.
        self.requests += answer.usage.requests
        # What goes beside a ledger is no action.
        return answer if sampling else Completion(self.script.pop(0).to_xml(), answer.usage)

    def close(self) -> None:
        self.model.close()


def test_a_run_that_overflows_its_context_goes_on_and_does_so_once(
    cramped_model: LocalModel, asked: list[str | Path]
) -> None:
    told: list[str] = []
    steps = 5
    printed = [Code(f"print('The field has {number} corners and a fence. ' * 9)") for number in range(steps)]
    with closing(opened(cramped_model, 4)) as client:
        model = Steered(client, [*printed, Done("enough")])
        limits = package.Limits(seconds=0)
        result = package.run(STORY, model=model, notice=told.append, limits=limits, **keywords(asked))
    assert (result.status, result.answer, len(result.steps)) == ("done", "enough", steps + 1), result.reason
    assert model.overflows == 1
    assert result.usage.requests == model.requests
    assert len([text for text in told if "too long" in text]) == 1
    assert all(step.usage.input_tokens <= 768 * (1 + bool(step.handover)) for step in result.steps)


def test_an_interrupted_run_keeps_what_was_written(endless_model: LocalModel, asked: list[str | Path]) -> None:
    process = start("run", *asked, *at(endless_model), "--verbose", "--max-seconds", "0")
    assert process.stderr is not None
    head = ""
    while len(head.partition("in bubblewrap")[2].split()) < 12:
        head += (letter := process.stderr.read(1))
        assert letter, head
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    record = last()
    assert (record["status"], record["usage"]["requests"]) == ("interrupted", 1)
    assert len(record["unfinished"]["response"].split()) > 3
    assert record["usage"]["output_tokens"] > 3


def test_a_run_to_its_time_limit_counts_and_keeps_what_was_written(
    endless_model: LocalModel, asked: list[str | Path]
) -> None:
    """On a terminal, with the line that moves."""
    code, shown = on_a_terminal("run", *asked, *at(endless_model), "--max-seconds", "12")
    assert code == 3, shown
    assert f"waiting for {endless_model.name}" in shown
    record = last()
    assert record["status"] == "limit"
    assert record["usage"]["requests"] >= 1 and record["usage"]["input_tokens"] > 30
    left = screen(shown)
    assert not any("waiting for" in line for line in left), left
    assert any("1 request" in line for line in left), left
    if record["unfinished"]:
        assert any("The model was cut off while it wrote" in line for line in left), left


def test_the_pages_figures_for_our_prompt_are_right(cramped_model: LocalModel, library: Path) -> None:
    """docs/models.md says how many tokens the prompt has: measured with a tokenizer of 49,152 words."""
    model = package.FunctionModel(lambda messages: Done("600"))
    result = package.run("Area?", on=library, model=model, description="Fields.")
    assert 1500 < tokens(cramped_model, result.prompt) < 2500
