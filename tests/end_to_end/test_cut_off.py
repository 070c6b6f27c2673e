"""A request to the model that is cut off: what it had written and what it cost stay; what a person sees meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_server import Answer, Begun, ChatServer, Hang
from command_line import Ran, codenav, on_a_terminal, screen, start

import codenav as package
from codenav.core import schemas
from codenav.core.actions import Code, Done
from codenav.core.messages import Completion

Run = Callable[..., Ran]

WRITTEN = "<thought>I measure the field.</thought>\n<type>code</type>\n<content>\nwidth = 20"
REASONED = "Twenty by thirty metres"


def last() -> dict[str, Any]:
    ran = codenav("episodes", "show", "last", "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.document
    jsonschema.validate(document, schemas.load("episode"))
    return document


@pytest.mark.parametrize("begun", [Begun(WRITTEN, REASONED), Begun("", REASONED)], ids=["text", "reasoning alone"])
def test_by_the_time_limit(run: Run, chat_server: ChatServer, library: Path, begun: Begun) -> None:
    chat_server.script = [begun]
    ran = run("Area?", "--on", library, "--max-seconds", "5")
    assert ran.code == 3, ran.err
    record = last()
    assert record["unfinished"] == {"response": begun.text, "reasoning": REASONED}
    usage = record["usage"]
    assert (record["status"], record["steps"], usage["requests"], usage["estimated"]) == ("limit", [], 1, True)
    assert usage["input_tokens"] > 1500 and usage["output_tokens"] > 5
    # The last lines alone: the record has all of it.
    cut = ran.err.partition("The model was cut off while it wrote:\n")[2]
    assert f"   {(begun.text or REASONED).splitlines()[-1]}" in cut.splitlines()[:3]
    assert re.search(r"^0 steps, about [\d,]+ tokens in 1 request, \d+\.\d s$", ran.err, re.MULTILINE)
    assert (WRITTEN.splitlines()[-1] in codenav("episodes", "show", "last").out) == bool(begun.text)


def test_the_event_is_in_the_stream_and_in_the_record(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Begun(WRITTEN)]
    ran = run("Area?", "--on", library, "--max-seconds", "3", "--json", "--stream")
    events = [json.loads(line) for line in ran.out.splitlines()]
    for event in events:
        jsonschema.validate(event, schemas.load("event"))
    assert [event["event"] for event in events] == ["run_started", "unfinished", "run_ended"]
    assert events[1]["response"] == WRITTEN
    assert events[1]["usage"]["requests"] == events[2]["usage"]["requests"] == 1


def test_before_a_word_came_the_request_counts(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Hang()]
    assert run("Area?", "--on", library, "--max-seconds", "2").code == 3
    record = last()
    assert record["unfinished"] is None
    assert record["usage"]["requests"] == 1 and record["usage"]["input_tokens"] > 500
    assert record["usage"]["estimated"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_by_an_interrupt(chat_server: ChatServer, library: Path, number: int) -> None:
    chat_server.script = [Begun(WRITTEN, REASONED)]
    process = start(
        "run", "Area?", "--on", library, "--verbose", "--set=checks.types=no", "--model", "m", "--base-url",
        chat_server.url,
    )  # fmt: skip
    assert process.stderr is not None
    seen = ""
    while "width = 20" not in seen:
        seen += (letter := process.stderr.read(1))
        assert letter, seen
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err and "1 request" in err
    record = last()
    assert record["unfinished"] == {"response": WRITTEN, "reasoning": REASONED}
    assert (record["status"], record["usage"]["requests"]) == ("interrupted", 1)


def test_a_connection_that_breaks_is_asked_again_and_counts(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Begun(WRITTEN, breaks=True), Done("large")]
    ran = run("Area?", "--on", library)
    assert (ran.code, ran.out) == (0, "large\n"), ran.err
    record = last()
    assert (record["unfinished"], record["usage"]["requests"]) == (None, 2)


class TestWhatIsSeen:
    def test_the_last_line_counts(self, run: Run, chat_server: ChatServer, library: Path) -> None:
        usage = {"prompt_tokens": 2000, "completion_tokens": 105}
        chat_server.script = [Answer(Code("x = 1").to_xml(), usage=usage), Answer(Done("1").to_xml(), usage=usage)]
        err = run("One?", "--on", library).err
        assert re.search(r"^2 steps, 4,210 tokens in 2 requests, \d+\.\d s$", err, re.MULTILINE), err

    @pytest.mark.parametrize("quiet", ["--quiet", "--json"])
    def test_a_quiet_run_says_nothing_of_it(self, run: Run, chat_server: ChatServer, library: Path, quiet: str) -> None:
        chat_server.script = [Done("large")]
        assert "request" not in run("Area?", "--on", library, quiet, "--verbose").err

    def test_a_pipe_gets_no_line_that_moves(self, run: Run, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Begun(WRITTEN)]
        assert "waiting for" not in run("Area?", "--on", library, "--max-seconds", "2").err

    def test_a_long_name_leaves_the_line_in_one_row(self, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Begun("word " * 200)]
        _, shown = on_a_terminal(
            "run", "Area?", "--on", library, "--set=checks.types=no", "--model", "m" * 100, "--base-url",
            chat_server.url, "--max-steps", "1", until="tokens", then=chat_server.released.set,
        )  # fmt: skip
        drawn = re.findall(r"\x1b\[K(… waiting for m+…[^\r\x1b]*tokens)", shown)
        assert drawn and all(len(line) < 80 for line in drawn), shown

    def test_the_line_says_how_long_and_how_much(self, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Begun("word " * 200), Done("large")]
        code, shown = on_a_terminal(
            "run", "Area?", "--on", library, "--set=checks.types=no", "--model", "gpt-5", "--base-url",
            chat_server.url, until="tokens", then=chat_server.released.set,
        )  # fmt: skip
        assert re.search(r"… waiting for gpt-5  \d+ s, [1-9]\d* tokens", shown), shown
        left = screen(shown)
        assert not any("waiting for" in line for line in left), left
        assert any(re.match(r"2 steps, .* in 2 requests", line) for line in left), left
        assert code == 0

    def test_nothing_moves_any_more_after_an_interrupt(self, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Begun("word " * 200)]
        code, shown = on_a_terminal(
            "run", "Area?", "--on", library, "--set=checks.types=no", "--model", "gpt-5", "--base-url",
            chat_server.url, until="tokens",
        )  # fmt: skip
        assert code == 130
        assert "waiting for" not in shown[shown.index("0 steps") :], shown
        assert "The model was cut off while it wrote:" in shown

    def test_of_a_long_text_the_end_is_shown_in_lines_that_fit(
        self, run: Run, chat_server: ChatServer, library: Path
    ) -> None:
        lines = [f"{number}. " + "word " * 30 for number in range(20)]
        chat_server.script = [Begun("\n\n".join([*lines, "word " * 30 + "the end"]))]
        err = run("Area?", "--on", library, "--max-seconds", "4", env={"COLUMNS": "60"}).err.splitlines()
        start = err.index("The model was cut off while it wrote:")
        shown = err[start + 1 : start + 4]
        assert shown[0] == "   … 19 lines before"
        assert shown[1].startswith("   19. word") and shown[-1].endswith("word the end")
        assert all(len(line) <= 60 for line in shown)

    def test_verbose_shows_the_text_as_it_streams_and_it_steers_nothing(
        self, chat_server: ChatServer, library: Path
    ) -> None:
        chat_server.script = [Begun("I \x1b[31mthink so"), Done("large")]
        _, shown = on_a_terminal(
            "run", "Area?", "--on", library, "--verbose", "--set=checks.types=no", "--model", "gpt-5", "--base-url",
            chat_server.url, until="so", then=chat_server.released.set,
        )  # fmt: skip
        assert r"I \x1b[31mthink so" in shown


class TestPython:
    def test_a_listener_hears_what_the_model_writes(self, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Done("large")]
        heard: list[package.ModelReply] = []
        result = package.run("Area?", on=library, model="m", base_url=chat_server.url, heard=heard.append)
        assert heard[0].begins
        assert Done("large").to_xml().startswith("".join(item.text for item in heard))
        assert result.unfinished is None

    def test_a_model_of_ones_own_can_tell_what_it_had_written(self, library: Path) -> None:
        def answer(messages: object) -> str:
            error = package.CodeNavError("gone")
            error.partial = Completion(WRITTEN, package.Usage(requests=1, input_tokens=7))
            raise error

        result = package.run("Area?", on=library, model=package.FunctionModel(answer))
        assert (result.status, result.usage.input_tokens) == ("error", 7)
        assert result.unfinished is not None and result.unfinished.response == WRITTEN


class TestAServerWithoutAModel:
    def test_a_variable_for_other_programs_configures_no_model(self, library: Path) -> None:
        env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        ran = codenav("run", "How large is a circular area of radius 2?", "--on", library, env=env)
        assert (ran.code, ran.out) == (4, "")
        said, hint = ran.err.splitlines()
        assert said == "Error: no model is configured, and none is installed"
        assert "codenav models get" in hint and "--model NAME --base-url URL" in hint
        [row] = [row for row in codenav("doctor", "--json", env=env).document if row["name"] == "model"]
        assert (row["ok"], row["detail"]) == (False, "no model is configured, and none is installed")

    def test_with_a_model_the_variable_names_the_server(self, chat_server: ChatServer, library: Path) -> None:
        chat_server.script = [Done("large")]
        ran = codenav(
            "run", "Area?", "--on", library, "--set=checks.types=no", "--model", "m",
            env={"OPENAI_BASE_URL": chat_server.url},
        )  # fmt: skip
        assert (ran.code, ran.out) == (0, "large\n"), ran.err
