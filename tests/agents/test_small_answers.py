"""An answer of a small model stands in what was printed, or the printed value takes its place."""

from __future__ import annotations

import pytest

from codenav.agents.small.answers import can_answer, printed_value, stands_in, uses_values, values_in


@pytest.mark.parametrize(
    ("answer", "printed", "request_", "stands"),
    [
        ("42", "42", "How many?", True),
        ("It is 1,106.4 km.", "1106.42", "How far?", True),
        ("43", "42", "How many?", False),
        ("The total of the 3 parcels is 12", "12", "What do the 3 parcels weigh?", True),
        ("'red box'", "red box", "Which?", True),
        ("'blue box'", "red box", "Which?", False),
        ("Yes", "True", "Is it prime?", True),
        ("Yes", "False", "Is it prime?", False),
        ("No", "True", "Is it prime?", False),
        ("No", "False", "Is it prime?", True),
        ("Berlin", "Paris", "What is the capital?", False),
        ("Paris", "Paris", "What is the capital?", True),
        ("the capital", "Paris", "What is the capital?", False),
        ("20", "600", "What is the area of 20 by 30?", False),
        ("30", "30", "Which is larger, 20 or 30?", True),
        ("7", "9" * 400, "What is the power?", False),
        ("9" * 400, "9" * 400, "What is the power?", True),
        ("8" + "9" * 399, "9" * 400, "What is the power?", False),
    ],
)
def test_an_answer_beside_what_was_printed(answer: str, printed: str, request_: str, stands: bool) -> None:
    assert stands_in(answer, printed, request_) == stands


def test_the_printed_value_is_the_last_output_or_its_last_line() -> None:
    assert printed_value(["1\n", "a\nb\n", "  \n"]) == "a\nb"
    assert printed_value(["x" * 400 + "\n7\n"]) == "7"
    assert printed_value([]) == printed_value([" \n"]) == ""


def test_the_values_of_a_request() -> None:
    assert values_in("Turn 'Red Box' of ISO 12.5 and C8H10 into MCM, please, as I say") == [
        "red box", "iso", "12.5", "c8h10", "mcm",
    ]  # fmt: skip
    assert uses_values("print(f('red box'))", "What is 'Red Box'?")
    assert not uses_values("print(f('blue'))", "What is 'Red Box'?")
    assert uses_values("print(f())", "What is it?")


def test_true_answers_a_question_for_yes_or_no_alone() -> None:
    assert can_answer("True", "Is 7 prime?") and can_answer("False", "Tell me whether 7 is prime")
    assert not can_answer("True", "When does it run next?") and not can_answer("[]", "Which prices are there?")
    assert can_answer("7", "When does it run next?")
    assert not can_answer("<mmh3.mmh3_32 object at 0x7f1e>", "Is it there?")
