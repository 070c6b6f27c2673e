"""Actions as native calls of tools: the same run as with text, on every kind of server."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, Fault, Reply, Script, stream
from command_line import ROOT, Ran, codenav

from codenav import ModelOptions, ScriptedModel, Session
from codenav.core.actions import Code, CodeSummary, Done, Search

SUMMARY = "from farm.fields import Field\n\narea = Field(3, 4).area()\nprint(area)"
STORY = [
    Search("name: Field", "What is there?"),
    Code(SUMMARY, "I try it."),
    CodeSummary(SUMMARY, "It works."),
    Done("12", "That is it."),
]
TOOLS = ["search", "code", "code_summary", "ask", "done"]


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    with ChatServer(calls=True) as server:
        yield server


def ask(server: ChatServer, library: Path, script: Script, *more: str, form: str = "tools") -> Ran:
    server.script, server._played = script, {}
    at = ("--model", "test-model", "--base-url", server.url, "--action-format", form, "--set=checks.types=no")
    return codenav("run", "Which area has a field of 3 by 4 metres?", "--on", library, *at, *more)


def actions() -> list[dict[str, Any]]:
    """The actions of the last run."""
    return [step["action"] for step in codenav("episodes", "show", "last", "--json").document["steps"]]


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
def test_a_run_is_that_of_text(chat_server: ChatServer, library: Path, *, streams: bool) -> None:
    chat_server.streams = streams
    ran = ask(chat_server, library, STORY)
    assert ran.code == 0 and ran.out.startswith("12\nsummary: reproduced"), ran.err
    called, sent = actions(), chat_server.chats[:]
    assert ask(chat_server, library, STORY, form="text").code == 0
    assert actions() == called == [action.to_dict() for action in STORY]
    assert not any({"tools", "tool_choice", "parallel_tool_calls"} & set(body) for body in chat_server.chats[4:])
    for body in sent:
        offered = [tool["function"] for tool in body["tools"]]
        assert [tool["name"] for tool in offered] == TOOLS
        assert all(list(tool["parameters"]["properties"]) == ["thought", "content"] for tool in offered)
        assert offered[1]["description"].startswith("Runs Python 3.")
        assert (body["tool_choice"], body["parallel_tool_calls"], "stop" in body) == ("required", False, True)
    # What a server has cached of a prompt, it can use for the next one.
    for body, following in itertools.pairwise(sent):
        assert following["tools"] == body["tools"]
        assert following["messages"][: len(body["messages"])] == body["messages"]
    assert {message["role"] for body in sent for message in body["messages"]} == {"system", "user", "assistant"}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (500, "tools param requires --jinja flag"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, 'No endpoints found that support tool use. Try disabling "code".'),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (422, "Extra inputs are not permitted: tools"),
        (400, "deepseek-reasoner does not support Function Calling"),
        (501, "Function calling is not supported yet"),
    ],
)
def test_a_server_that_refuses_tools_is_asked_for_text(
    chat_server: ChatServer, library: Path, status: int, message: str
) -> None:
    acts = iter(STORY)
    ran = ask(chat_server, library, lambda body: Fault(status, message) if "tools" in body else next(acts))
    assert ran.code == 0 and ran.err.count("takes no tools: its actions are read as text") == 1, ran.err
    assert actions() == [action.to_dict() for action in STORY]
    assert ["tools" in body for body in chat_server.chats] == [True, False, False, False, False]


def test_a_model_that_fails_to_write_a_call_is_asked_for_text(chat_server: ChatServer, library: Path) -> None:
    failed = Fault(400, "Failed to call a function. Please adjust your prompt.", "tool_use_failed")
    ran = ask(chat_server, library, [STORY[0], failed, *STORY[1:]])
    assert ran.code == 0 and ran.err.count("takes no tools") == 1, ran.err


def test_what_else_is_refused_is_left_out(chat_server: ChatServer, library: Path) -> None:
    chat_server.refuses = ["parallel_tool_calls", "tool_choice"]
    ran = ask(chat_server, library, STORY)
    assert ran.code == 0 and "refuses tool_choice" in ran.err and "refuses parallel_tool_calls" in ran.err
    assert set(chat_server.chats[-1]) & {"tools", "tool_choice", "parallel_tool_calls"} == {"tools"}


def test_answers_without_a_call_are_read_as_text_and_no_more_are_asked_for(
    chat_server: ChatServer, library: Path
) -> None:
    texts = [action.to_xml() for action in STORY]
    ran = ask(chat_server, library, [texts[0], STORY[1], *texts[1:]])
    assert ran.code == 0 and ran.err.count("answers without calling a tool") == 1, ran.err
    assert ["tools" in body for body in chat_server.chats] == [True, True, True, True, False]


def test_the_end_of_a_call_without_the_call_is_an_answer_without_one(chat_server: ChatServer, library: Path) -> None:
    ran = ask(chat_server, library, [Answer(None, "tool_calls"), Answer("", "tool_calls", {"tool_calls": []}), *STORY])
    assert ran.code == 0 and ran.err.count("answers without calling a tool") == 1, ran.err
    assert [action["type"] for action in actions()][:2] == ["invalid", "invalid"]


def calls(*given: tuple[str, object], **message: object) -> Reply:
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": a, "arguments": b}} for n, (a, b) in enumerate(given)
    ]
    return Answer(None, "tool_calls", {"tool_calls": made, **message})


def piece(**function: str) -> dict[str, object]:
    return {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]}


TAGS = "text = '''\n</content>\n'''\nprint(len(text))"
ARGUMENTS = '{"content": "print(1)"}'
HALVES = ARGUMENTS[:9], ARGUMENTS[9:]
CODE = piece(name="code", arguments=ARGUMENTS)
LENGTH = {"choices": [{"delta": {}, "finish_reason": "length"}]}
END = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (calls(("code", json.dumps({"content": "print(1)"})), ("done", '{"content": "1"}')), Code("print(1)")),
        (calls(("python", '{"code": "print(1)"}')), Code("print(1)")),
        (calls(("code", json.dumps({"content": TAGS, "thought": "t"}))), Code(TAGS)),
        (calls(("code", '{"content": "print(1)"}'), reasoning_content="<type>done</type>"), Code("print(1)")),
        # A proxy that numbers both calls 0, and one that repeats the name.
        (stream(CODE, piece(name="done", arguments=ARGUMENTS), END), Code("print(1)")),
        (stream(piece(name="code"), *(piece(name="code", arguments=half) for half in HALVES), END), Code("print(1)")),
    ],
)  # fmt: skip
def test_an_odd_call_is_understood(chat_server: ChatServer, library: Path, answer: Reply, action: Code) -> None:
    ran = ask(chat_server, library, [answer, Done("1")])
    assert ran.code == 0, ran.err
    assert actions()[0] == action.to_dict()


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (calls(("get_weather", '{"city": "Rome"}')), "unknown_type"),
        (calls(("code", '{"thought": "t"}')), "empty_content"),
        (calls(("code", '{"content": "print(1')), "no_action"),
        (stream(piece(name="code", arguments=HALVES[0]), LENGTH), "truncated"),
    ],
)  # fmt: skip
def test_a_call_that_is_no_action_is_told(chat_server: ChatServer, library: Path, answer: Reply, rule: str) -> None:
    assert ask(chat_server, library, [answer, Done("done")]).code == 0
    [first, _] = codenav("episodes", "show", "last", "--json").document["steps"]
    assert (first["action"]["type"], first["observation"]) == ("invalid", {"rule": rule})
    assert "tools" in chat_server.chats[-1]


def test_an_environment_of_ones_own_is_a_tool(
    chat_server: ChatServer, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples")])
    from bash_environment import Bash, with_bash

    chat_server.script = [Bash("echo $((6 * 7))", "I count."), Done("42")]
    model = ModelOptions("test-model", base_url=chat_server.url, action_format="tools")
    with Session(on=library, model=model, environments=with_bash) as session:
        result = session.run("How much is six times seven?")
    assert result.steps[0].observation.text.startswith("exit code 0\n42\n")
    offered = {tool["function"]["name"]: tool["function"]["description"] for tool in chat_server.chats[0]["tools"]}
    assert offered["bash"] == "Runs one shell command in the folder where code runs."


def test_who_has_no_tools_says_so(chat_server: ChatServer, library: Path) -> None:
    ran = ask(chat_server, library, lambda body: "ANSWER: 12", "--profile", "small", "--max-steps", "1")
    assert "actions stay text: the small profile has no native tools" in ran.err
    told: list[str] = []
    model = ModelOptions(ScriptedModel([Done("42")]), action_format="tools")
    with Session(on=library, model=model, notice=told.append) as session:
        assert session.run("How much is six times seven?").answer == "42"
    assert told == ["actions stay text: scripted has no native tools"]


def test_a_table_of_the_configuration_may_say_so(chat_server: ChatServer, library: Path, codenav_home: Path) -> None:
    codenav_home.mkdir(exist_ok=True)
    table = f'[models.big]\nmodel = "gpt-5"\nbase_url = "{chat_server.url}"\naction_format = "tools"\n'
    (codenav_home / "config.toml").write_text(table)
    chat_server.script = [Done("42")]
    assert codenav("run", "How much?", "--on", library, "--model", "big").code == 0
    assert [tool["function"]["name"] for tool in chat_server.chats[0]["tools"]] == TOOLS
