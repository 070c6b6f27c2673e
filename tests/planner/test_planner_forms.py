"""What stands in a request in another form than in the code: choices, units, initials, times, signs in words."""

from __future__ import annotations

import pytest
from made_up import function, meaning, needs, takes, values

from codenav.execution import Execution, ExecutionError, Outcome
from codenav.planner.argument_repair import repaired
from codenav.planner.binding_search import bindings
from codenav.planner.calls import Fit, Result
from codenav.planner.features import features, meets_criterion
from codenav.planner.goal import Goal
from codenav.planner.reading import read
from codenav.planner.values import Value, fit, is_in_name
from codenav.signatures.callables import CallableSignature, Parameter


def everything(text: str, *files: str) -> list[Value]:
    """All that may be a value in a request of one clause."""
    (clause,) = read(text, files=files)
    told = (*clause.literals, *clause.spoken, *clause.loose)
    return [*(Value.of(literal) for literal in told), *(Value.group(group) for group in clause.groups)]


def goal(request: str, *files: str) -> Goal:
    (clause,) = read(request, files=files)
    told = everything(request, *files)
    return Goal(clause, meaning(*clause.words), told, frozenset(value for value in told if not value.is_word))


def result(
    of: CallableSignature, asked: Goal, shown: str, type_: str = "str", used: frozenset[Value] | None = None
) -> Result:
    return Result("result_1", type_, shown, Fit((of,), asked.wanted if used is None else used, ("result_1 = …",)))


def codes(item: CallableSignature, request: str, *files: str) -> list[str]:
    return [way.arguments() for way in bindings(item, everything(request, *files)) if not way.missing]


def test_dates_in_a_row_are_a_list_of_date_objects_where_the_message_asks_for_dates() -> None:
    item = function("workday", needs("start_date"), needs("days"), takes("holidays", "[]"))
    request = "the date 5 working days after 2024-12-20 when 2024-12-25 and 2024-12-26 are holidays"
    told = values(request)
    filled = next(
        one
        for one in bindings(item, told)
        if one.arguments() == "'2024-12-20', 5, holidays=['2024-12-25', '2024-12-26']"
    )
    failed = Execution(Outcome.ERROR, error=ExecutionError("TypeError", "unsupported operand: 'str' and 'int'"))
    dates = [f"date.fromisoformat('2024-12-{day}')" for day in (20, 25, 26)]
    assert f"{dates[0]}, 5, holidays=[{dates[1]}, {dates[2]}]" in [one.arguments() for one in repaired(filled, failed)]


@pytest.mark.parametrize(
    ("name", "words", "stands"),
    [
        ("dmetaphone", ("double", "metaphone"), 1.0),
        ("dmetaphone", ("quick", "metaphone"), 0.0),
    ],
)
def test_a_name_that_shortens_the_first_of_two_words(name: str, words: tuple[str, ...], stands: float) -> None:
    assert meaning(*words).in_name(function(name))[words[0]] == stands


def test_a_number_may_be_in_the_name_of_the_module() -> None:
    bits, *_ = values("Compute the 64-bit CRC of 'hello'")
    assert is_in_name(bits, function("xz", needs("data"), module="fastcrc.crc64"))
    assert not is_in_name(bits, function("xz", needs("data"), module="fastcrc.crc32"))


def test_how_many_of_the_most_is_no_text() -> None:
    three, _ = values("List the 3 most common words of 'a b'")
    assert fit(three, needs("text", "str")) == 0 < fit(three, needs("n", "int"))


def test_what_python_keeps_for_itself_names_no_parameter() -> None:
    soup = function("Soup", takes("markup", "''"), Parameter("kwargs", "VAR_KEYWORD", False))
    assert not any("with=" in code for code in codes(soup, "Parse '<p>a</p>' with 'html.parser'"))


def test_a_type_variable_takes_anything() -> None:
    (name,) = values("Clean up the file name 'a:b'")
    assert fit(name, needs("filename", "~PathType")) > 0
    assert fit(name, takes("key", "<class 'bool'>")) == 0, "what is called is no text"


def test_the_bytes_of_a_file_are_no_answer() -> None:
    asked = goal("Get the text of minutes.docx", "minutes.docx")
    text = function("text", needs("value"))
    raw = result(text, asked, "TextNode(b'PK\\x03\\x04\\x14\\x00\\x08')", "TextNode")
    assert features(raw, asked)["echo"] == 1.0
    assert features(result(text, asked, "'Present: Ann'"), asked)["echo"] == 0.0


def test_counting_what_went_in_answers_nothing() -> None:
    asked = goal("How many working days are there from 2024-03-01 to 2024-03-31?")
    same = result(function("workday", needs("days")), asked, "['2024-03-01', '2024-03-31']", "list")
    assert same.echo and meets_criterion(same, asked) == -1


@pytest.mark.parametrize(
    ("shown", "nothing"), [("('', '', '')", True), ("ValueError('no')", True), ("('', 'a')", False)]
)
def test_what_is_nothing(shown: str, nothing: bool) -> None:
    asked = goal("Cut 'a b'")
    assert result(function("cut", needs("text")), asked, shown, "tuple").nothing is nothing


def test_names_are_values_and_other_words_may_be_none() -> None:
    borders = function("borders", needs("country", "str"))
    for request, words in (("Which borders does Austria have?", 0), ("Which borders does it have in autumn?", 1)):
        asked = goal(request)
        spoken = frozenset(
            value
            for value in asked.values
            if value.is_word and value.code in ("'Austria'", "'autumn'") and value.is_loose
        )
        assert features(result(borders, asked, "['CHE']", "list", spoken), asked)["words"] == words


def test_bytes_go_where_a_byte_string_is_asked_for() -> None:
    pad = function("pad", needs("data_to_pad", "byte string"), needs("block_size", "integer"))
    assert codes(pad, "Pad b'hello' to a block size of 16")[0] == "b'hello', 16"
