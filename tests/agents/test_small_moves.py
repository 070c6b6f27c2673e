"""The moves of a small model: read from any text, held by a grammar where the server has one."""

from __future__ import annotations

import time

import pytest

from codenav.agents.small.moves import ANSWER, CODE, SEARCH, Move, grammar, read


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("```python\nprint(1)\n```", Move(CODE, "print(1)")),
        ("Here it is:\n```py\n  x = 1\n  print(x)\n```\nDone.", Move(CODE, "x = 1\nprint(x)")),
        ("```\nprint(1)\n```", Move(CODE, "print(1)")),
        ("```python\nprint(1)", Move(CODE, "print(1)")),
        ("```python\nprint(1)\n`` ```", Move(CODE, "print(1)")),
        ("```python\nprint('`')\n```", Move(CODE, "print('`')")),
        ("```python\nprint(1)```", Move(CODE, "print(1)")),
        ("```python\nprint('```')\n```\nDone.", Move(CODE, "print('```')")),
        ("SEARCH: sort a list", Move(SEARCH, "sort a list")),
        ("**SEARCH:** sort\na list", Move(SEARCH, "sort")),
        ("ANSWER: 42\nit is", Move(ANSWER, "42\nit is")),
        ("answer: 42", Move(ANSWER, "42")),
        ("ANSWER: 42\n```python\nprint(42)\n```", Move(ANSWER, "42")),
        ("```python\nprint('''\nANSWER: 1\n''')\n```", Move(CODE, "print('''\nANSWER: 1\n''')")),
    ],
)
def test_the_first_move_is_read(text: str, move: Move) -> None:
    assert read(text) == move


def test_lines_of_backticks_are_read_at_once() -> None:
    began = time.thread_time()
    assert read("```python\nx = 1\n" + "`\n" * 18 + "x\n```") == Move(CODE, "x = 1\n" + "`\n" * 18 + "x")
    assert time.thread_time() - began < 1


@pytest.mark.parametrize("text", ["", "\n\n \n", "I do not know.", "```python\n\n```", "ANSWER:", "SEARCH:  \n"])
def test_other_text_is_no_move(text: str) -> None:
    assert read(text) is None


def test_a_move_that_is_not_allowed_is_passed_over() -> None:
    text = "ANSWER: 42\n```python\nprint(42)\n```"
    assert read(text, allowed=(CODE, SEARCH)) == Move(CODE, "print(42)")
    assert read("ANSWER: 42", allowed=(CODE, SEARCH)) is None


def test_a_grammar_has_the_allowed_moves_alone() -> None:
    first = grammar(CODE, SEARCH)
    assert "root ::= code | search" in first and "answer" not in first
