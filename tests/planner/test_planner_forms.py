"""What stands in a request in another form than in the code: choices, units, initials, times, signs in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from codenav.planner.evidence import direction, evidence, is_looked_up, is_raw, meets_criterion, misses_aim, tells
from codenav.planner.examples import Examples
from codenav.planner.filling import fillings
from codenav.planner.goals import Goal
from codenav.planner.judging import certainty
from codenav.planner.mending import mended
from codenav.planner.words import language
from codenav.planner.writing import Value, fit, is_in_name
from made_up import function, meaning, needs, takes, values

from codenav.execution import Execution, ExecutionError, Outcome
from codenav.planner.calls import Result
from codenav.planner.literals import Kind
from codenav.planner.reading import read
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
    return Result("result_1", type_, shown, (of,), asked.wanted if used is None else used, ("result_1 = …",))


def codes(item: CallableSignature, request: str, *files: str) -> list[str]:
    return [way.arguments() for way in fillings(item, everything(request, *files)) if not way.missing]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("the Julian date of 1 January 2000 at 12:00", "'2000-01-01T12:00:00'"),
        ("the sun on 2024-03-20 at 09:30 UTC", "'2024-03-20T09:30:00+00:00'"),
        ("the sun on March 20, 2024, 21:05:30", "'2024-03-20T21:05:30'"),
        ("the sun on 20 March 2024 at 9:30 am", "'2024-03-20'"),
        ("the sun on 20 March 2024 at 25:30", "'2024-03-20'"),
        ("the days after 2024-12-25", "'2024-12-25'"),
    ],
)
def test_a_time_after_a_date_belongs_to_it(request_: str, code: str) -> None:
    (clause,) = read(request_)
    assert [one.code for one in clause.literals if one.kind is Kind.DATE] == [code]
    assert all(one.text in request_ for one in clause.literals)


def test_the_parts_of_a_moment_go_where_each_is_asked_for() -> None:
    told = function("from_gregorian", *(needs(name) for name in "YMD"), takes("H", "0"), takes("m", "0"))
    assert "2024, 2, 29, H=12, m=0" in codes(told, "the Julian date of 29 February 2024 at 12:00")


def test_dates_in_a_row_are_a_list_of_date_objects_where_the_message_asks_for_dates() -> None:
    item = function("workday", needs("start_date"), needs("days"), takes("holidays", "[]"))
    request = "the date 5 working days after 2024-12-20 when 2024-12-25 and 2024-12-26 are holidays"
    told = values(request)
    filled = next(
        one
        for one in fillings(item, told)
        if one.arguments() == "'2024-12-20', 5, holidays=['2024-12-25', '2024-12-26']"
    )
    failed = Execution(Outcome.ERROR, error=ExecutionError("TypeError", "unsupported operand: 'str' and 'int'"))
    dates = [f"date.fromisoformat('2024-12-{day}')" for day in (20, 25, 26)]
    assert f"{dates[0]}, 5, holidays=[{dates[1]}, {dates[2]}]" in [one.arguments() for one in mended(filled, failed)]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("Indent 'a' with four spaces", "'    '"),
        ("Join 'a' with two underscores", "'__'"),
        ("Show 'a' at 25 frames per second", None),
        ("Show 'a' as zeros and ones", None),
        ("Split 'a' into groups of three", "3"),
    ],
)
def test_what_is_spelled_out(request_: str, code: str | None) -> None:
    (clause,) = read(request_)
    assert [one.code for one in clause.loose if one.kind is Kind.SPELLED] == ([code] if code else [])


def test_a_number_in_words_is_no_word_after_a_preposition() -> None:
    (clause,) = read("Show 'a' with four columns")
    assert [one.text for one in clause.spoken] == []


def test_a_choice_in_another_form() -> None:
    told = Parameter("reducer", "KEYWORD_ONLY", False, "{'tuple', 'dot', Callable}", "'tuple'", "'dot': Use dots.")
    flatten = function("flatten", needs("d", "dict"), told)
    assert codes(flatten, "Flatten {'a': 1} with dots between the keys")[0] == "{'a': 1}, reducer='dot'"


def test_the_name_of_a_country_for_what_is_called_country() -> None:
    gender = function("get_gender", needs("name", "str"), takes("country", "None"))
    best = fillings(gender, everything("What gender does the name 'Andrea' have in Italy?"))[0]
    assert best.arguments() == "'Andrea', country='Italy'"
    failed = Execution(Outcome.ERROR, error=ExecutionError("NoCountryError", "No such country: Italy"))
    assert "'Andrea', country='italy'" in [one.arguments() for one in mended(best, failed)]


def test_the_language_of_a_class_whose_parameters_nobody_knows() -> None:
    star = Parameter("args", "VAR_POSITIONAL", False)
    stemmer = replace(function("Stemmer", star), kind="class")
    assert "'french'" in codes(stemmer, "What is the stem of the French word 'continuellement'?")
    assert "'french'" not in codes(replace(stemmer, kind="function"), "the stem of the French word 'continuellement'")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "SCSS is unsupported output_style; choose one of nested, expanded and compressed",
            "output_style='compressed'",
        ),
        ("output_style must be one of nested or compressed; received SCSS", "output_style='compressed'"),
        ("output_style must be one of nested or expanded; received SCSS", None),
        ("no such style: SCSS", None),
    ],
)
def test_a_message_that_names_the_choices(said: str, expected: str | None) -> None:
    compile_ = function("compile", needs("string", "str"), takes("output_style", "'nested'", "str"))
    given = everything("Turn the SCSS 'a { b: c }' into compressed CSS")
    filled = next(one for one in fillings(compile_, given) if "output_style='SCSS'" in one.arguments())
    failed = Execution(Outcome.ERROR, error=ExecutionError("CompileError", said))
    found = [one for one in mended(filled, failed, given) if "compressed" in one.arguments()]
    assert [one.arguments() for one in found] == ([f"'a {{ b: c }}', {expected}"] if expected else [])
    assert all(one.named == filled.named + 1 for one in found)


@pytest.mark.parametrize(
    ("name", "worth"), [("hrp", True), ("hr", False), ("h", False), ("part", True), ("witver", False)]
)
def test_a_parameter_that_is_named_by_initials(name: str, worth: bool) -> None:
    (value,) = values("Encode it with the human readable part 'test'")
    assert (fit(value, takes(name, "None")) > 1) is worth


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


@pytest.mark.parametrize(
    ("name", "request_", "way"),
    [
        ("rgb2hsl", "Turn the RGB colour (0.0, 0.5, 1.0) into HSL", 2),
        ("hsl2rgb", "Turn the RGB colour (0.0, 0.5, 1.0) into HSL", -2),
        ("kanji2number", "Which number does '三' mean?", 1),
        ("number2kanji", "Which number does '三' mean?", -1),
        ("bech32_encode", "Encode [0, 1] as a bech32 text", 0),
        ("hex_to_web", "What is the web name of '#ff6347'?", 1),
        ("web_to_yiq", "What is the web name of '#ff6347'?", -1),
    ],
)
def test_names_that_say_from_what_to_what(name: str, request_: str, way: int) -> None:
    asked = goal(request_)
    assert direction(name, asked.wanted, asked.clause) == way


def test_an_object_that_shows_nothing_but_what_went_in() -> None:
    asked = goal("What is the vendor of '9c:35:eb:12:fe:07'?")
    address = replace(function("MAC", needs("address")), kind="class")
    assert not tells(result(address, asked, "EUI48('9C-35-EB-12-FE-07')", "EUI48"))
    assert tells(result(address, asked, "EUI48('9C-35-EB-12-FE-08')", "EUI48"))


def test_the_bytes_of_a_file_are_no_answer() -> None:
    asked = goal("Get the text of minutes.docx", "minutes.docx")
    text = function("text", needs("value"))
    raw = result(text, asked, "TextNode(b'PK\\x03\\x04\\x14\\x00\\x08')", "TextNode")
    assert is_raw(raw) and evidence(raw, asked, language())["echo"] == 1.0
    assert not is_raw(result(text, asked, "'Present: Ann'"))


def test_counting_what_went_in_answers_nothing() -> None:
    asked = goal("How many working days are there from 2024-03-01 to 2024-03-31?")
    same = result(function("workday", needs("days")), asked, "['2024-03-01', '2024-03-31']", "list")
    assert same.echo and meets_criterion(same, asked, language()) == -1


@pytest.mark.parametrize(
    ("shown", "nothing"), [("('', '', '')", True), ("ValueError('no')", True), ("('', 'a')", False)]
)
def test_what_is_nothing(shown: str, nothing: bool) -> None:
    asked = goal("Cut 'a b'")
    assert result(function("cut", needs("text")), asked, shown, "tuple").nothing is nothing


def test_what_is_found_under_a_literal() -> None:
    asked = goal("Look up the airport 'OSL'")
    get = CallableSignature("", "table.get", "member", "table", (needs("key"),), module="builtins")
    load = function("load")
    found = replace(result(get, asked, "{'city': 'Oslo'}", "dict"), calls=(load, get))
    told = evidence(found, asked, language())
    assert is_looked_up(found) and (told["exact"], told["calls"], told["inherited"]) == (1.0, 0, 0.0)
    missing = evidence(replace(found, repr="None"), asked, language())
    assert (missing["calls"], missing["none"]) == (1, 1.0)
    given = goal("Take 'OSL' from {'OSL': 1}")
    assert not is_looked_up(replace(result(get, given, "1", "int"), calls=(load, get))), "it was in the request"


def test_names_are_values_and_other_words_may_be_none() -> None:
    borders = function("borders", needs("country", "str"))
    for request, words in (("Which borders does Austria have?", 0), ("Which borders does it have in autumn?", 1)):
        asked = goal(request)
        spoken = frozenset(
            value
            for value in asked.values
            if value.is_word and value.code in ("'Austria'", "'autumn'") and value.is_loose
        )
        assert evidence(result(borders, asked, "['CHE']", "list", spoken), asked, language())["words"] == words


README = """
```python
import phones
number = phones.parse("+44 20")
length = 3
```

Then format it:

```python
phones.format_number(number, length)
```
"""


def test_examples_go_on_from_one_piece_of_code_to_the_next() -> None:
    told = Examples([README])
    assert told.arguments_made_by("format_number") == {"parse"}
    (shown,) = told.of("format_number")
    assert shown.arguments == ("", "int"), "of a name the type of what it was bound to"


def test_bytes_go_where_a_byte_string_is_asked_for() -> None:
    pad = function("pad", needs("data_to_pad", "byte string"), needs("block_size", "integer"))
    assert codes(pad, "Pad b'hello' to a block size of 16")[0] == "b'hello', 16"


def test_the_form_that_is_asked_for_has_to_be_met() -> None:
    asked = goal("Turn the Markdown text '# Plan' into LaTeX")
    plain = function("markdown", needs("text", "str"), doc="Render Markdown as HTML.", module="mistle")
    assert misses_aim(result(plain, asked, "'<h1>Plan</h1>'"), asked)
    assert certainty(result(plain, asked, "'<h1>Plan</h1>'"), 0.99, asked) == 0.0
    for other in (replace(plain, doc="Render Markdown as LaTeX."), replace(plain, module="mistle.latex")):
        assert not misses_aim(result(other, asked, "'\\\\section{Plan}'"), asked)
    form = frozenset(value for value in asked.values if value.code in ("'# Plan'", "'LaTeX'"))
    assert not misses_aim(result(plain, asked, "''", used=form), asked), "it went in"


def test_how_long_something_is_may_be_told_by_a_span_of_time() -> None:
    asked = goal("How long is the duration 'P1D'?")
    parse = function("parse_duration", needs("text", "str"))
    span = evidence(result(parse, asked, "datetime.timedelta(days=1)", "timedelta"), asked, language())
    text = evidence(result(parse, asked, "'a day'"), asked, language())
    assert (span["amount"], span["no_amount"], text["no_amount"]) == (1.0, 0.0, 1.0)
