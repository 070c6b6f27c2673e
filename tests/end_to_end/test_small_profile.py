"""Runs of the small profile against a chat server that plays a small model; real index, real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, Fault
from command_line import Ran, codenav

import codenav as api

Run = Callable[..., Ran]

AREA = "```python\nprint(Field(20, 30).area())\n```"
SMALL = ("--profile", "small", "--tries", "1")


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def said(server: ChatServer) -> list[list[dict[str, str]]]:
    return [request.body["messages"] for request in server.requests if "messages" in request.body]


def test_the_host_searches_imports_and_makes_the_summary(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [AREA, "ANSWER: 600 square metres"]
    ran = run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL)
    assert ran.out.splitlines()[0] == "600 square metres" and "summary: reproduced" in ran.out, ran.err
    (system, *_, asked), _ = said(chat_server)
    assert len(" ".join(message["content"] for message in said(chat_server)[0]).split()) < 400
    assert "SEARCH:" in system["content"]
    assert "from farm.fields import Field\n# Field(width: float, length: float)" in asked["content"]
    document = codenav("episodes", "show", "last", "--json").document
    assert [step["action"]["type"] for step in document["steps"]] == ["search", "code", "done"]
    assert document["steps"][1]["thought"] == "Mended by rule: from farm.fields import Field."
    assert "from farm.fields import Field" in document["summary"]["code"]


def test_the_first_move_is_held_by_a_grammar(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [AREA, "ANSWER: 600"]
    run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL)
    first, second = (request.body["grammar"] for request in chat_server.requests if "grammar" in request.body)
    assert first.startswith("root ::= code | search\n") and second.startswith("root ::= code | search | answer\n")


def test_a_server_that_refuses_the_grammar_is_asked_without(run: Run, chat_server: ChatServer, library: Path) -> None:
    refused = Fault(400, "Unrecognized request argument supplied: grammar", param="grammar")
    chat_server.script = [refused, f"Sure!\n{AREA}\nThis prints it.", "ANSWER: 600"]
    ran = run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL)
    assert ran.code == 0 and ran.err.count("refuses the grammar") == 1, ran.err
    assert "grammar" not in chat_server.requests[-1].body


def test_an_answer_that_was_not_printed_is_replaced_by_what_was(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [AREA, "ANSWER: 612.5"]
    assert run("How large is a field of 20 by 30?", "--on", library, *SMALL).out.splitlines()[0] == "600"


@pytest.mark.parametrize(
    ("others", "answer", "agreement"),
    [
        (["print(Field(20, 30).area())", "print(20 * 31)"], "600", "agreement: 2 of 3"),
        (["print(20 * 31)", "f = Field(20, 31)\nprint(f.area())"], "620", "agreement: 2 of 3"),
        (["print(1)", "1 / 0"], "600", "agreement: 1 of 3: check it"),
    ],
)
def test_three_scripts_are_run_and_what_most_give_counts(
    run: Run, chat_server: ChatServer, library: Path, others: list[str], answer: str, agreement: str
) -> None:
    chat_server.script = [AREA, *map(block, others), "ANSWER: it"]
    ran = run("How large is a field of 20 by 30?", "--on", library, *SMALL, "--tries", 3)
    assert ran.out.splitlines()[:2] == [answer, agreement], ran.err
    document = codenav("episodes", "show", "last", "--json").document
    assert document["agreement"] == agreement.split(": ")[1]
    drafts = document["steps"][1]["observation"]["drafts"]
    assert len(drafts) == 3 and drafts[0]["shown"] == "600"
    assert agreement.removeprefix("agreement: ") in codenav("episodes", "show", "last").out
    bodies = [request.body for request in chat_server.requests if "seed" in request.body]
    assert [body["temperature"] for body in bodies] == [0.8, 0.8] and len({body["seed"] for body in bodies}) == 2
    # A further script is not much longer than the first.
    assert max(body["max_tokens"] for body in bodies) < 100


def test_nothing_is_run_twice_that_writes_a_file(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    chat_server.script = [block("open('a.txt', 'a').write('x')\nprint('written')"), "ANSWER: written"]
    ran = run("Write it.", "--on", library, *SMALL, "--tries", 3, "--work-dir", work)
    assert ran.code == 0 and (work / "a.txt").read_text() == "x" and "agreement: 1 of 1: check it" in ran.out, ran.err


def test_nothing_is_run_twice_that_calls_the_host(library: Path) -> None:
    script = [block("from codenav_host import call_host\nprint(call_host('order'))"), "ANSWER: sent"]
    asked: list[str] = []

    def order(name: str, arguments: dict[str, Any]) -> str:
        asked.append(name)
        return "sent"

    result = api.run(
        "Order it.", on=library, model=api.ScriptedModel(script), profile="small", tries=3, calls=order,
    )  # fmt: skip
    assert (result.answer, asked) == ("sent", ["order"]), result.reason


def test_a_draft_leaves_nothing_for_the_next_step(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [
        block("x = 1\nprint(x)"), block("x = 2\ny = 3\nprint(x)"), block("x = 1; print(x)"),
        block("print(x, 'y' in globals())"), block("print(x, 'y' in globals())"), block("print(x, 'y' in dir())"),
        "ANSWER: 1 False",
    ]  # fmt: skip
    ran = run("What is x?", "--on", library, *SMALL, "--tries", 3)
    assert ran.out.splitlines()[:2] == ["1 False", "agreement: 3 of 3"], ran.err


def test_a_failed_step_is_told_with_what_is_there(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [block("print(Field(20, 30).aera())"), AREA, "ANSWER: 600"]
    assert run("How large is a field of 20 by 30?", "--on", library, *SMALL).code == 0
    told = said(chat_server)[1][-1]["content"]
    assert "print(Field(20, 30).aera())\nAttributeError: 'Field' object has no attribute 'aera'" in told
    assert "Hint: there is" in told and ".area() -> float" in told


def test_an_import_from_a_made_up_module_is_mended_without_the_model(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [block("from farm.area import Field\nprint(Field(20, 30).area())"), "ANSWER: 600"]
    ran = run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL)
    assert ran.code == 0, ran.err
    steps = codenav("episodes", "show", "last", "--json").document["steps"]
    assert [step["action"]["type"] for step in steps] == ["search", "code", "code", "done"]
    assert steps[2]["thought"] == "Mended by rule: imported as offered."


def test_the_other_drafts_are_mended_with_the_first(run: Run, chat_server: ChatServer, library: Path) -> None:
    wrong = "from farm.area import Field\nprint(Field({}).area())"
    chat_server.script = [*(block(wrong.format(sides)) for sides in ("20, 30", "20, 31", "30, 20")), "ANSWER: 600"]
    ran = run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL, "--tries", 3)
    assert ran.out.splitlines()[:2] == ["600", "agreement: 2 of 3"], ran.err


def test_the_same_block_again_is_drawn_anew_and_then_the_search_goes_on(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    wrong = block("print(Field(20).area())")
    chat_server.script = [wrong, wrong, wrong, AREA, "ANSWER: 600"]
    assert run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL).code == 0
    steps = codenav("episodes", "show", "last", "--json").document["steps"]
    assert [step["action"]["type"] for step in steps] == ["search", "code", "search", "code", "done"]


def test_a_model_that_meets_the_same_error_three_times_is_stuck(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [block(f"area = {number}\nmissing.area()") for number in range(6)]
    ran = run("What is the area of a field of 20 by 30 metres?", "--on", library, *SMALL)
    assert ran.code == 1 and "the model is stuck: the same error 3 times with nothing new" in ran.err, ran.err
    assert "This is the second time: the same error" in said(chat_server)[-1][-1]["content"]


def test_an_object_without_content_is_no_answer(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [block("f = Field(20, 30)\nprint(f)"), "ANSWER: it", AREA, "ANSWER: 600"]
    ran = run("How large is a field of 20 by 30?", "--on", library, *SMALL)
    assert ran.out.splitlines()[0] == "600", ran.err
    assert "Hint: print what it holds; it has: area, length, width" in said(chat_server)[1][-1]["content"]


def test_a_server_that_fails_after_the_first_script_costs_the_others_alone(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [AREA, Fault(400, "no more of this"), "ANSWER: 600"]
    ran = run("How large is a field of 20 by 30?", "--on", library, *SMALL, "--tries", 3)
    assert ran.code == 0 and ran.out.splitlines()[0] == "600", ran.err


def test_a_conversation_that_no_longer_fits_goes_on_with_the_newest_steps(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    full = Fault(400, "the request exceeds the available context size", type="exceed_context_size_error")
    chat_server.script = [block("print(1)"), block("print(2)"), block("print(3)"), full, AREA, "ANSWER: 600"]
    ran = run("How large is a field of 20 by 30?", "--on", library, *SMALL)
    assert ran.code == 0 and ran.out.splitlines()[0] == "600", ran.err
    last = said(chat_server)[-1]
    assert len(last) == len(said(chat_server)[0]) + 4 and "Printed:\n1" not in str(last)


@pytest.mark.parametrize("text", ["", "\n\n\n", "I cannot do that."])
def test_a_model_without_moves_ends_with_one_sentence(
    run: Run, chat_server: ChatServer, library: Path, text: str
) -> None:
    chat_server.script = lambda body: text
    ran = run("How large is a field?", "--on", library, *SMALL)
    assert ran.code == 1 and "answers in a row without a valid action" in ran.err and "Traceback" not in ran.err


def test_the_turns_end_and_the_last_printed_value_is_the_answer(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    numbers = iter(range(100))
    chat_server.script = lambda body: block(f"print({next(numbers)})")
    assert run("Count.", "--on", library, *SMALL).out.splitlines()[0] == "5"


def test_a_block_that_is_cut_off_is_not_run(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Answer("```python\nprint(1)\nprint(", "length"), AREA, "ANSWER: 600"]
    assert run("How large is a field of 20 by 30?", "--on", library, *SMALL).code == 0
    assert "cut off" in said(chat_server)[1][-1]["content"]


def test_a_request_in_chinese_and_files_and_earlier_variables(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "fields.csv").write_text("width,length\n20,30\n")
    chat_server.script = [AREA, "ANSWER: 600"]
    ran = run("一块 20 乘 30 米的田地 Field area 有多大?", "--on", library, *SMALL, "--work-dir", tmp_path / "work")
    assert ran.code == 0, ran.err
    assert "fields.csv: width,length" in said(chat_server)[0][-1]["content"]


def test_prompt_files_are_for_the_full_profile(run: Run, library: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    ran = run("How large is a field?", "--on", library, *SMALL, "--prompts", tmp_path / "mine")
    assert (ran.code, ran.out) == (2, "") and "the small profile has no prompt files" in ran.err


def test_a_large_model_gets_the_full_prompt_and_plain_blocks_are_code(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    def answer(body: dict[str, Any]) -> str:
        if len(body["messages"]) > 2:
            return "<type>done</type>\n<content>\n600\n</content>"
        return block("from farm.fields import Field\nprint(Field(20, 30).area())")

    chat_server.script = answer
    ran = run("How large is a field of 20 by 30?", "--on", library)
    assert ran.out.splitlines()[0] == "600" and "<content>" in said(chat_server)[0][0]["content"], ran.err
