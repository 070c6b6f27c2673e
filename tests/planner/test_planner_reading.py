"""Requests read into clauses, words and literals."""

from __future__ import annotations

import ast

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st

from codenav.planner.literals import Kind
from codenav.planner.reading import asked_for, code_in, read

CASES = {
    "Compute the area of the box from (0, 0) to (2, 3)": [
        (("compute", "area", "box"), [(Kind.COLLECTION, "(0, 0)"), (Kind.COLLECTION, "(2, 3)")])
    ],
    "Encode 'héllo' as base58": [
        (("encode", "base", "base58"), [(Kind.TEXT, "'héllo'"), (Kind.CODE, "'base58'")])
    ],
    "Which chords belong to G major?": [(("chords", "belong", "g", "major"), [(Kind.CODE, "'G'")])],
    "Take the result of the game and sort the results": [(("result", "game"), []), (("sort",), [])],
    "Fill it in with name='Ada' and sum=25": [(("fill",), [(Kind.TEXT, "'Ada'"), (Kind.NUMBER, "25")])],
    "Resize photo.jpg to 200 by 100 and save it as small.jpg": [
        (("resize", "jpg"), [(Kind.FILE, "'photo.jpg'"), (Kind.NUMBER, "200"), (Kind.NUMBER, "100")]),
        (("save", "jpg"), [(Kind.FILE, "'small.jpg'")]),
    ],
    "Don't parse “2024-01-02”; it's text.": [(("don't", "parse"), [(Kind.TEXT, "'2024-01-02'")]), (("text",), [])],
    "Add 5 days to 2024-02-27": [(("add", "days"), [(Kind.NUMBER, "5"), (Kind.DATE, "'2024-02-27'")])],
    "Convert #ff0000 to rgb, then reverse [3, -1.5, 2e3]": [
        (("convert", "rgb"), [(Kind.CODE, "'#ff0000'")]),
        (("reverse",), [(Kind.COLLECTION, "[3, -1.5, 2e3]")]),
    ],
    "Is 1,234,567 above 0x1F? Say True": [
        (("above",), [(Kind.NUMBER, "1234567"), (Kind.NUMBER, "0x1F")]),
        ((), [(Kind.CONSTANT, "True")]),
    ],
    "Compare version 1.2.3 with v2.0": [
        (("compare", "version"), [(Kind.CODE, "'1.2.3'"), (Kind.CODE, "'v2.0'")])
    ],
    "Open https://a.org/x?y=1 and mail to me@a.org": [
        (("open", "mail"), [(Kind.CODE, "'https://a.org/x?y=1'"), (Kind.CODE, "'me@a.org'")])
    ],
    "Quote 'a and then b'; count it": [(("quote",), [(Kind.TEXT, "'a and then b'")]), (("count",), [])],
    "Hash b'abc' (see below)": [(("hash", "see", "below"), [(Kind.TEXT, "b'abc'")])],
    "Write 007 to the file": [(("write", "file"), [(Kind.NUMBER, "'007'")])],
    "": [],
    "the of it": [],
}  # fmt: skip


def test_what_a_value_is_given_to() -> None:
    (clause,) = read("Fill it in with name='Ada', sum = 25 and 'x'")
    assert [literal.keyword for literal in clause.literals] == ["name", "sum", ""]


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ("Turn 'a.md' into HTML", [("file", "'a.md'", True), ("code", "'HTML'", False)]),
        ("Save 'it' to \"b.txt\", and don't stop", [("text", "'it'", False), ("file", "'b.txt'", False)]),
        ("Canonicalize 'Foo.Bar' as 'a.b'", [("text", "'Foo.Bar'", False), ("text", "'a.b'", False)]),
        ("Open 'gone.md'", [("text", "'gone.md'", False)]),
    ],
)
def test_files_in_quotes(request_: str, found: list[tuple[str, str, bool]]) -> None:
    told = [literal for clause in read(request_, files=["a.md"]) for literal in clause.literals]
    assert [(str(literal.kind), literal.code, literal.there) for literal in told] == found


@pytest.mark.parametrize(
    ("request_", "file"),
    [
        ("Draw 'x' and save it to 'x.svg'", "x.svg"),
        ("Draw 'x' and write the result to x.txt", "x.txt"),
        ("Draw 'x' and save the picture as x.png", None),
        ("Draw 'x' and save the output to x.txt", "x.txt"),
        ("Draw 'x'. Its content in old.svg", None),
        ("Draw 'x' and save it to old.svg", "old.svg"),
        ("Save 'x' to x.txt", None),
    ],
)
def test_what_only_asks_to_keep_what_came_before(request_: str, file: str | None) -> None:
    last = read(request_, files=["old.svg"])[-1]
    assert (last.saved_to.text if last.saved_to else None) == file


@pytest.mark.parametrize(
    ("request_", "clauses"),
    [
        ("Which place, as latitude and longitude, does 'u4' name?", 1),
        ("By the rules in 'r.txt', may the crawler visit 'u'?", 1),
        ("Read 'a', sort it, and print it", 3),
        ("What is the title of 'a' and how many words has it?", 2),
        ("What is the sum of 'a' and is 'b' ripe?", 2),
        ("Which amount and which currency are in 'EUR 3'?", 1),
    ],
)
def test_where_a_request_is_cut(request_: str, clauses: int) -> None:
    assert len(read(request_)) == clauses


def test_a_word_that_is_said_again_and_again_is_one_value() -> None:
    (clause,) = read("What is this about graphs " * 500)
    assert len(clause.loose) < 10


@pytest.mark.parametrize("request_", CASES)
def test_clauses(request_: str) -> None:
    found = [(clause.words, [(one.kind, one.code) for one in clause.literals]) for clause in read(request_)]
    assert found == CASES[request_]


def test_the_words_around_a_literal() -> None:
    (clause,) = read("Round 3.14159 to 2 digits with width 40")
    assert [(one.code, one.before[0], one.after) for one in clause.literals] == [
        ("3.14159", "round", "to"), ("2", "to", "digits"), ("40", "width", ""),
    ]  # fmt: skip


def test_files_that_exist_are_files_whatever_their_names() -> None:
    (clause,) = read("Show my data file", files=["my data file", "data"])
    assert [(one.kind, one.text) for one in clause.literals] == [(Kind.FILE, "my data file")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("4 October 1957", "'1957-10-04'"),
        ("October 4, 1957", "'1957-10-04'"),
        ("the 3rd of Feb. 2021", "'2021-02-03'"),
        ("31 February 2020", None),
        ("May 2020", None),
        ("1 January 2000 at 12:00", "'2000-01-01T12:00:00'"),
        ("2024-03-20 at 09:30 UTC", "'2024-03-20T09:30:00+00:00'"),
        ("March 20, 2024, 21:05:30", "'2024-03-20T21:05:30'"),
        ("20 March 2024 at 9:30 am", "'2024-03-20'"),
        ("20 March 2024 at 25:30", "'2024-03-20'"),
    ],
)
def test_dates_in_words_and_times_after_them(text: str, code: str | None) -> None:
    found = [literal for clause in read(f"What day was {text}?") for literal in clause.literals]
    assert [literal.code for literal in found if literal.kind is Kind.DATE] == ([code] if code else [])


@pytest.mark.parametrize(
    ("text", "whether"), [("Is 97 prime?", True), ("does it hold?", True), ("Isolate x", False), ("What is it?", False)]
)
def test_questions_of_yes_or_no(text: str, whether: bool) -> None:
    (clause,) = read(text) or read(f"{text} now")
    assert clause.asks_whether is whether


@drawn(300)
@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["'", '"', "(", "1", ", ", "a", " and ", "\\", "[", "}", "3rd", "\n"])).map("".join)
)
def test_any_text_is_read_and_every_literal_is_a_piece_of_it(text: str) -> None:
    for clause in read(text):
        for literal in clause.literals:
            assert text[literal.start : literal.start + len(literal.text)] == literal.text
            ast.literal_eval(literal.code)


def test_a_long_request_is_read_in_linear_time() -> None:
    assert read("(" * 100_000 + "a" * 100_000) is not None
    assert len(read("add 1 and sort 2. " * 5_000)) == 8


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("print(2 + 2)", "print(2 + 2)"),
        ("```python\nx = 1\nx\n```", "x = 1\nx"),
        ("import math\nmath.pi", "import math\nmath.pi"),
        ("area", ""),
        ("(2, 3)", ""),
        ("Compute the area", ""),
        ("print(2 +", ""),
        ("((((" * 5000, ""),
    ],
)
def test_python_is_told_from_words(request_: str, code: str) -> None:
    assert code_in(request_) == code


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("Where is betweenness_centrality defined?", "betweenness_centrality"),
        ("where is the class Graph defined", "Graph"),
        ("Which file defines `walk`?", "walk"),
        ("In which module is Graph.add_node implemented?", "Graph.add_node"),
        ("Where does the area come from?", "area"),
        ("Where is the phone number '+41431234567' from?", ""),
        ("Which node has the highest betweenness?", ""),
    ],
)
def test_questions_about_the_code(request_: str, name: str) -> None:
    assert asked_for(request_) == name
