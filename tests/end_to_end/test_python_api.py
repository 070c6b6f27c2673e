"""The Python API, as docs/quickstart.md shows it and as the paper composes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import nbformat
import pytest

import codenav
import codenav.session.api
from codenav.agents import CodeNavAgent
from codenav.core.actions import Action, Observation
from codenav.core.config import SETTINGS
from codenav.core.errors import LimitReached, ModelNotConfigured, NotFound, UsageError
from codenav.core.messages import Message
from codenav.environments import (
    AskEnvironment,
    CodeEnvironment,
    CodeSummaryEnvironment,
    DoneEnvironment,
    SearchEnvironment,
)

AREA = "from farm.fields import Field\narea = Field(20, 30).area()\nprint(area)"


def test_a_run_returns_the_whole_episode(library: Path) -> None:
    model = codenav.ScriptedModel([codenav.Search("area"), codenav.Code(AREA), codenav.Done("600")])
    result = codenav.run("How large is 20 by 30?", on=library, model=model)
    assert (result.status, result.answer, result.exit_code) == ("done", "600", 0)
    assert result.summary.verified, result.summary.reason
    assert [step.action.type for step in result.steps] == ["search", "code", "done"]
    assert codenav.load_episode(result.id).to_dict() == result.to_dict()


def test_an_index_is_opened_once_and_used_for_search_and_run(library: Path) -> None:
    with codenav.index(library) as farm:
        hits = farm.search("harvest", limit=3)
        assert hits[0].name == "harvest"
        assert hits[0].import_line == "from farm.fields import harvest"
        assert codenav.search("harvest", on=farm, kinds=["function"])[0].id == hits[0].id
        assert farm.get(hits[0].id) == hits[0].block
        answer = codenav.run("Go.", on=farm, model=codenav.ScriptedModel([codenav.Done("gone")])).answer
    assert answer == "gone"


def test_a_function_can_be_the_model(library: Path) -> None:
    def answer(messages: Sequence[Message]) -> str | Action:
        if len(messages) == 2:
            return codenav.Code("x = 6 * 7\nx")
        return codenav.Done("42" if "42" in messages[-1].content else "I did not see it")

    assert codenav.run("6 times 7?", on=library, model=codenav.FunctionModel(answer)).answer == "42"


def test_a_session_keeps_its_variables_from_request_to_request(library: Path) -> None:
    script = [
        codenav.Code(AREA),
        codenav.Done("600"),
        codenav.Code("doubled = area * 2\nprint(doubled)"),
        codenav.Done("1200"),
    ]
    with codenav.Session(on=library, model=codenav.ScriptedModel(script)) as session:
        first = session.run("Area of 20 by 30?")
        second = session.run("And twice that?")
    assert (first.answer, second.answer) == ("600", "1200")
    assert second.steps[0].observation.ok
    assert second.summary.verified, second.summary.reason
    assert second.summary.code.startswith("from farm.fields import Field")
    assert first.id != second.id
    assert "Area of 20 by 30? → 600" in second.prompt


def test_stream_yields_events_and_can_be_left_early(library: Path) -> None:
    model = codenav.ScriptedModel([codenav.Code("x = 1"), codenav.Code("x = 2"), codenav.Done("2")])
    with codenav.Session(on=library, model=model) as session:
        stream = session.stream("Count.")
        for event in stream:
            if isinstance(event, codenav.StepEnded):
                break
        stream.close()
    record = codenav.load_episode()
    assert (record.status, len(record.steps)) == ("interrupted", 1)


def test_an_episode_composed_by_hand(library: Path, tmp_path: Path) -> None:
    script = [codenav.Search("area"), codenav.Code(AREA), codenav.CodeSummary(AREA), codenav.Done("600")]
    agent = CodeNavAgent(codenav.ScriptedModel(script))
    with (
        codenav.index(library) as farm,
        codenav.sandbox("bubblewrap", on=farm) as box,
    ):
        episode = codenav.Episode(
            "How large is 20 by 30?",
            agent=agent,
            environments=[
                SearchEnvironment(farm),
                CodeEnvironment(box),
                CodeSummaryEnvironment(),
                AskEnvironment(),
                DoneEnvironment(),
            ],
            description="Areas of fields.",
        )
        step = episode.step()
        assert step.action == codenav.Search("area")
        assert "circular_area" in step.observation.text
        while not episode.ended:
            episode.step()
        frame = episode.to_frame()
        episode.to_notebook(tmp_path / "run.ipynb")
    assert list(frame["action"]) == ["search", "code", "code_summary", "done"]
    assert list(frame["outcome"])[1] == "ok"
    assert episode.result.answer == "600"
    nbformat.validate(nbformat.read(tmp_path / "run.ipynb", as_version=4))
    with pytest.raises(UsageError, match="over"):
        episode.step()


@dataclass(frozen=True)
class Count(Action):
    """Count the words of a text."""

    type: str = "count"


class CountEnvironment:
    """A kind of action that codenav does not have."""

    action: type[Action] = Count

    def facts(self) -> Mapping[str, str]:
        return {"language": "any"}

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        return Observation(f"{len(action.content.split())} words")


def test_a_new_environment_is_one_class_and_one_prompt_file(tmp_path: Path) -> None:
    (tmp_path / "count.md").write_text("# Action: count\n\nCounts the words of a text in ${language} language.")
    model = codenav.ScriptedModel([Count("one two three"), codenav.Done("3")])
    episode = codenav.Episode(
        "How many words?",
        agent=CodeNavAgent(model, prompts=tmp_path),
        environments=[CountEnvironment(), DoneEnvironment()],
    )
    result = episode.run()
    assert result.steps[0].observation.text == "3 words"
    assert "in any language" in result.prompt
    assert "# Action: search" not in result.prompt


def test_a_limit_stops_the_loop_that_is_driven_by_hand() -> None:
    episode = codenav.Episode(
        "Go.",
        agent=CodeNavAgent(codenav.FunctionModel(lambda messages: "no action")),
        environments=[DoneEnvironment()],
        limits=codenav.Limits(steps=1),
    )
    assert not episode.step().observation.ok
    with pytest.raises(LimitReached, match="1 of 1 steps"):
        episode.step()


def test_tokens_are_counted_and_limited() -> None:
    episode = codenav.Episode(
        "Go.",
        agent=CodeNavAgent(codenav.FunctionModel(lambda messages: "no action")),
        environments=[DoneEnvironment()],
        limits=codenav.Limits(tokens=100, invalid_actions=0),
    )
    result = episode.run()
    assert (result.status, result.exit_code) == ("limit", 3)
    assert "tokens" in result.reason
    assert result.usage.tokens >= 100


def test_errors_say_what_to_do(library: Path) -> None:
    with pytest.raises(ModelNotConfigured) as missing:
        codenav.run("x", on=library, base_url="http://127.0.0.1:9/v1")
    assert missing.value.exit_code == 4
    with pytest.raises(ModelNotConfigured), codenav.Session(on=library):
        pass
    with pytest.raises(NotFound) as unknown:
        codenav.run("x", on=library / "nowhere", model=codenav.ScriptedModel([]))
    assert unknown.value.exit_code == 2
    with pytest.raises(UsageError):
        codenav.Limits(steps=-1)
    with pytest.raises(UsageError, match="unknown kind"):
        codenav.search("x", on=library, kinds=["gadget"])


def test_a_script_that_runs_out_is_an_error_in_the_result(library: Path) -> None:
    result = codenav.run("x", on=library, model=codenav.ScriptedModel([codenav.Code("y = 1")]))
    assert (result.status, result.exit_code) == ("error", 1)
    assert len(result.steps) == 1
    assert result.summary.code == "y = 1\n"


def test_the_hint_stands_below_the_message_in_a_traceback() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import codenav; codenav.index('no/such/folder')"], capture_output=True, text=True
    )
    *_, message, hint = ran.stderr.splitlines()
    assert message == "codenav.core.errors.NotFound: no such file or folder: no/such/folder"
    assert hint.startswith("Try: ") and ran.stderr.count("Try: ") == 1
    with pytest.raises(NotFound) as caught:
        codenav.index("no/such/folder")
    assert str(caught.value) == "no such file or folder: no/such/folder"


@pytest.mark.parametrize("call", [codenav.run, codenav.index, codenav.search, codenav.Session, codenav.describe])
def test_a_misspelled_keyword_is_named_with_a_near_one(library: Path, call: Callable[..., object]) -> None:
    arguments = ["?"] if call in (codenav.run, codenav.search) else []
    arguments += [library] if call is codenav.index else []
    keywords = {} if call is codenav.index else {"on": library}
    with pytest.raises(UsageError) as caught:
        call(*arguments, **keywords, stoer="embedded")
    assert (str(caught.value), caught.value.hint) == ("there is no keyword 'stoer'", "did you mean 'store'?")


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_step_has_some_time(library: Path, seconds: float) -> None:
    with pytest.raises(UsageError, match="code_timeout must be above 0"):
        codenav.run("?", on=library, sandbox="process", code_timeout=seconds)


def test_a_misspelled_keyword_of_a_session_is_named_by_run(library: Path) -> None:
    with pytest.raises(UsageError) as caught:
        codenav.run("?", on=library, sandbx="process")
    assert caught.value.hint == "did you mean 'sandbox'?"


def test_long_options_are_keywords(library: Path, tmp_path: Path) -> None:
    """Each long option of `codenav run` that a call can have a use for, with underscores."""
    from codenav.cli.run import command

    seen: list[codenav.Session] = []

    def opened(**keywords: object) -> codenav.Session:
        with codenav.session.api.open_session(
            on=library, model=codenav.ScriptedModel([]), sandbox="process", **keywords
        ) as one:
            seen.append(one)
        return one

    names = {param.name for param in command.params if isinstance(param, click.Option)}
    names -= {"stream", "quiet", "verbose", "as_json", "help", "sources", "save_summary", "description", "pairs"}
    names -= {"answer", "answer_as"}
    assert names <= set(SETTINGS)
    session = opened(max_steps=3, max_seconds=5.5, max_tokens=7, memory="1g", cpus=1, pids=64, code_timeout=9)
    assert (session.limits.steps, session.limits.seconds, session.limits.tokens) == (3, 5.5, 7)
    resources = session._factory.template.resources
    assert (resources.memory_bytes, resources.cpus, resources.processes) == (1 << 30, 1, 64)
    assert resources.step_seconds == 9 and resources.work_bytes == 256 << 20
    session = opened(limits=codenav.Limits(steps=4, seconds=1), max_steps=2, mount=tmp_path, checks_lint=False)
    assert (session.limits.steps, session.limits.seconds) == (2, 1)
    assert [mount.path for mount in session._factory.template.mounts] == [tmp_path]
    for keywords, told in (
        ({"max_step": 3}, "did you mean 'max_steps'?"),
        ({"memroy": "1g"}, "did you mean 'memory'?"),
        ({"no_types": True}, "it is checks_types= now"),
        ({"mounts": []}, "it is mount= now"),
        ({"graph_file": "g.yaml"}, "set both, or none"),
    ):
        with pytest.raises(UsageError) as caught:
            opened(**keywords)
        assert told in caught.value.hint
    with pytest.raises(UsageError, match="7 apples"):
        opened(memory="7 apples")
    with codenav.sandbox("process", memory="512m", code_timeout=3) as box:
        assert box.run("1 + 1").ok


def test_a_printed_result_is_the_answer_and_the_verdict(library: Path, tmp_path: Path) -> None:
    actions = [codenav.Code("n = sum(range(10))\nprint(n)"), codenav.Done("45")]
    saved = tmp_path / "saved.py"
    result = codenav.run("?", on=library, model=codenav.ScriptedModel(actions), checks_types=False, save_summary=saved)
    assert str(result) == "45\nsummary: reproduced (compared: n, the last output)"
    assert "n = sum(range(10))" in saved.read_text()
    failed = codenav.run(
        "?", on=library, model=codenav.ScriptedModel([codenav.Code("1")]), max_steps=1, checks_types=False
    )
    assert str(failed).startswith("limit: ") and "summary" not in str(failed)
