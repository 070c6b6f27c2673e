"""The parts of a session that can be handed in, and the options that its keywords become."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

import codenav
from codenav.core.actions import Action, Observation, Step, Turn
from codenav.core.errors import UsageError
from codenav.core.execution import Resources, SandboxSettings
from codenav.core.options import (
    CheckOptions,
    SandboxOptions,
    StoreOptions,
)
from codenav.core.protocols import Environment
from codenav.environments import CodeEnvironment
from codenav.session.sandbox_factory import SandboxFactory

NO_CHECKS = CheckOptions(lint=False, types=False)


class Counting:
    """An agent that is no model: it counts in the sandbox, and says how often it was briefed."""

    name = "counting"

    def __init__(self) -> None:
        self.briefs: list[tuple[str, list[str]]] = []

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        self.briefs.append((request, [environment.action.type for environment in environments]))
        return "Count."

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        if not steps:
            return Turn(codenav.Code("n = globals().get('n', 0) + 1\nprint(n)"))
        return Turn(codenav.Done(steps[-1].observation.execution.stdout.strip()))  # type: ignore[attr-defined]


def test_an_agent_of_ones_own_serves_every_request(library: Path) -> None:
    agent = Counting()
    with codenav.Session(on=library, agent=agent, checks=NO_CHECKS) as session:
        answers = [session.run("Count."), session.run("Count on.")]
    assert [one.answer for one in answers] == ["1", "2"]
    assert all(one.summary.verified for one in answers), answers[1].summary.reason
    assert [request for request, _ in agent.briefs] == ["Count.", "Count on."]
    assert agent.briefs[0][1] == ["search", "code", "code_summary", "ask", "done"]
    assert (codenav.load_episode().model, codenav.load_episode().prompt) == ("counting", "Count.")


def test_an_agent_and_a_model_do_not_go_together(library: Path) -> None:
    with pytest.raises(UsageError, match="both an agent and a model"):
        codenav.Session(on=library, agent=Counting(), model="gpt-5")
    with pytest.raises(UsageError, match="both an agent and a model"):
        codenav.run("?", on=library, agent=Counting(), model="gpt-5")


@dataclass(frozen=True)
class Count(Action):
    """Count the words of a text."""

    type: str = "count"


class CountEnvironment:
    """A kind of action that codenav does not have."""

    action: type[Action] = Count

    def facts(self) -> dict[str, str]:
        return {}

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        return Observation(f"{len(action.content.split())} words")


def test_environments_are_added_and_left_out(library: Path, tmp_path: Path) -> None:
    given: list[codenav.EpisodeParts] = []

    def mine(parts: codenav.EpisodeParts) -> list[Environment]:
        given.append(parts)
        without = [one for one in codenav.standard_environments(parts) if one.action is not codenav.Search]
        return [*without, CountEnvironment()]

    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "count.md").write_text("# Action: count\n\nCounts the words of a text.")
    model = codenav.ScriptedModel([Count("one two three"), codenav.Search("area"), codenav.Done("3")])
    sandbox = SandboxOptions(resources=Resources(step_seconds=7.5))
    result = codenav.run(
        "How many words?",
        on=library,
        model=model,
        prompts=prompts,
        environments=mine,
        resources=sandbox.resources,
        checks_lint=False,
        checks_types=False,
    )
    assert result.steps[0].observation.text == "3 words"
    assert not result.steps[1].observation.ok, "search was left out"
    assert "Counts the words of a text." in result.prompt and "# Action: search" not in result.prompt
    assert (given[0].timeout, given[0].checker, given[0].several_sources) == (7.5, None, False)
    assert "farm" in given[0].imports


def test_a_listener_hears_what_the_record_holds(library: Path) -> None:
    heard: list[codenav.Event] = []
    model = codenav.ScriptedModel([codenav.Code("x = 1"), codenav.Done("1")])
    with codenav.Session(on=library, model=model, listeners=[heard.append], checks=NO_CHECKS) as session:
        result = session.run("Go.")
    assert result.folder
    lines = (result.folder / "events.jsonl").read_text().splitlines()
    assert [event.name for event in heard] == [json.loads(line)["event"] for line in lines]
    assert {"run_started", "acted", "observed", "run_ended"} == {event.name for event in heard}


def test_a_listener_that_raises_ends_the_run_and_leaves_a_whole_record(library: Path) -> None:
    def faulty(event: codenav.Event) -> None:
        if isinstance(event, codenav.StepEnded):
            raise ValueError("of the caller's own")

    model = codenav.ScriptedModel([codenav.Code("x = 1"), codenav.Done("1")])
    session = codenav.Session(on=library, model=model, listeners=[faulty], checks=NO_CHECKS)
    with session, pytest.raises(ValueError, match="of the caller's own"):
        session.run("Go.")
    record = codenav.load_episode()
    assert (record.status, len(record.steps)) == ("error", 1)
    assert "of the caller's own" in record.reason


def test_a_session_that_cannot_make_its_episode_leaves_no_record(library: Path) -> None:
    def twice(parts: codenav.EpisodeParts) -> list[Environment]:
        return [CodeEnvironment(parts.sandbox), CodeEnvironment(parts.sandbox)]

    model = codenav.ScriptedModel([codenav.Done("1")])
    with codenav.Session(on=library, model=model, environments=twice, sandbox="process", checks=NO_CHECKS) as session:
        with pytest.raises(UsageError, match="two environments"):
            session.run("Go.")
        with pytest.raises(UsageError, match="request is empty"):
            session.run(" ")
    with pytest.raises(codenav.CodeNavError):
        codenav.load_episode()


def test_options_of_a_sandbox_and_keywords_are_the_same(library: Path) -> None:
    options = SandboxOptions("bubblewrap", env={"FARM": "green-acres"}, resources=Resources(step_seconds=30))
    for box in (
        codenav.sandbox(options, on=library),
        codenav.sandbox("bubblewrap", env={"FARM": "green-acres"}, on=library),
    ):
        with box:
            ran = box.run("import farm.fields, os\nprint(os.environ['FARM'] == 'green-acres')")
            assert ran.stdout == "True\n", ran.stderr
            assert "green-acres" not in box.run("print(os.environ['FARM'])").stdout


def test_every_setting_of_a_sandbox_reaches_its_specification() -> None:
    values: dict[str, Any] = {
        "network": "bridge", "image": "i", "runtime": "runsc", "gpus": "all", "snapshots": False
    }  # fmt: skip
    assert set(values) == {item.name for item in fields(SandboxSettings)}
    spec = SandboxFactory.of(SandboxOptions("docker", **values)).spec(None)
    assert {name: getattr(spec, name) for name in values} == values


def test_what_is_configured_holds_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SANDBOX": "process", "MEMORY": "512m", "CODE_TIMEOUT": "5", "RUNTIME": "runsc"}.items():
        monkeypatch.setenv(f"CODENAV_{name}", value)
    factory = SandboxFactory.of(SandboxOptions())
    assert factory.backend == "process"
    assert factory.template.runtime == "", "a runtime is Docker's"
    assert factory.template.resources == Resources(memory_bytes=512 << 20, step_seconds=5.0)
    named = SandboxFactory.of(SandboxOptions("docker", image="i"))
    assert (named.backend, named.template.runtime) == ("docker", "runsc")
    with codenav.sandbox() as box:
        assert box.info.backend == "process"


def test_a_store_is_checked_as_its_keywords_are(library: Path) -> None:
    for options in (StoreOptions("nowhere"), StoreOptions("elasticsearch", elasticsearch_shards=0)):
        with pytest.raises(UsageError):
            codenav.Session(on=library, store=options, model=codenav.ScriptedModel([]))


class Leaving(Counting):
    """An agent that leaves a child process behind, and is done after that has printed."""

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        if not steps:
            return Turn(codenav.Code("import subprocess\nsubprocess.Popen('sleep 0.3; echo late', shell=True);"))
        time.sleep(0.6)
        return Turn(codenav.Done("done"))


def test_what_comes_after_the_last_step_is_told(library: Path) -> None:
    with codenav.Session(on=library, agent=Leaving(), checks=NO_CHECKS) as session:
        told = [event.text for event in session.stream("Leave.") if isinstance(event, codenav.Notice)]
    assert told[-1:] == ["output after the last step, from threads or child processes: late"]
