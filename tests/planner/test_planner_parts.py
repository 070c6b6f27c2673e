"""The stages between reading and calling: words, docstrings, the survey, ranking, filling."""

from __future__ import annotations

import contextlib
import io
import xml.etree.ElementTree

import pytest

from codenav.execution import Execution, ExecutionError, Outcome
from codenav.planner.docstrings import described_parameters, described_return
from codenav.planner.filling import fillings
from codenav.planner.finding import Described, Meaning, queries
from codenav.planner.mending import mended
from codenav.planner.reading import read
from codenav.planner.survey import Answers, Callable_, Parameter, answers, asking
from codenav.planner.words import abbreviates, language, likeness, parts, segmented
from codenav.planner.writing import Value


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("encode", "encoding", 1.0), ("pluralize", "plural", 1.0), ("cities", "city", 1.0), ("box", "boxes", 1.0),
        ("distance", "dist", 0.7), ("area", "arena", 0.0), ("is", "island", 0.0), ("describe", "description", 0.6),
        ("internal", "international", 0.6), ("position", "possible", 0.0), ("payment", "pmt", 0.7),
        ("fmt", "format", 0.7), ("cnt", "can", 0.0),
    ],
)  # fmt: skip
def test_words_that_mean_the_same(one: str, other: str, expected: float) -> None:
    assert likeness(one, other) == likeness(other, one) == expected


@pytest.mark.parametrize(
    ("short", "words", "expected"),
    [
        ("isqrt", ("integer", "square", "root"), True), ("stdev", ("standard", "deviation"), True),
        ("irr", ("internal", "rate", "return"), True), ("gcd", ("greatest", "common", "divisor"), True),
        ("sort", ("shortest", "path"), False), ("irr", ("internal", "rate"), True), ("i", ("internal", "rate"), False),
    ],
)  # fmt: skip
def test_a_word_that_abbreviates_several(short: str, words: tuple[str, ...], expected: bool) -> None:
    assert abbreviates(short, words) is expected


def test_the_words_of_an_identifier() -> None:
    assert parts("loadHTTPModel_v2") == ["load", "http", "model", "v", "2"]


def test_words_of_one_family() -> None:
    known = language()
    assert known.likeness("load", "read") == known.likeness("wide", "width") == 0.8
    assert known.likeness("load", "width") == 0.0
    assert known.likeness("reading", "read") == 1.0


@pytest.mark.parametrize(
    ("name", "words", "pieces"),
    [
        ("fromcsv", ["load", "csv"], ["from", "csv"]),
        ("xl_rowcol_to_cell", ["row", "column"], ["xl", "row", "col", "to", "cell"]),
        ("mergeoverlaps", ["merge", "overlap"], ["merge", "overlaps"]),
        ("category", ["cat"], ["category"]),
    ],
)
def test_names_written_as_one_word_are_cut_where_the_request_has_the_pieces(
    name: str, words: list[str], pieces: list[str]
) -> None:
    assert segmented(name, words) == pieces


REST = ":param int width: in pixels\n:param path: where\n:type path: str\n:rtype: bytes"
GOOGLE = """Do.

Args:
    width (int): in pixels
        (more of it: yes)
    path: where

Returns:
    bytes: all of it
"""
NUMPY = """Do.

Parameters
----------
width, height : int
    in pixels
path : str or Path, optional

Returns
-------
data : bytes
    all of it
"""
DASHES = """Do.

Arguments:
number -- The PhoneNumber object
          to be formatted
form -- how

Returns a PhoneNumber object.
"""


@pytest.mark.parametrize(
    ("doc", "found"),
    [
        (REST, {"width": ("int", "in pixels"), "path": ("str", "where")}),
        (GOOGLE, {"width": ("int", "in pixels"), "path": ("", "where")}),
        (NUMPY, {"width": ("int", "in pixels"), "height": ("int", "in pixels"), "path": ("str or Path, optional", "")}),
        (DASHES, {"number": ("PhoneNumber", "The PhoneNumber object to be formatted"), "form": ("", "how")}),
        ("Nothing.", {}),
    ],
)
def test_styles_of_docstrings(doc: str, found: dict[str, tuple[str, str]]) -> None:
    assert described_parameters(doc) == found
    assert described_return(doc) == ("" if not found else "PhoneNumber" if doc is DASHES else "bytes")


def ask(**question: object) -> Answers:
    """What the interpreter says; it is asked here, as the question holds nothing but the standard library."""
    return answers(printed(**question))


def printed(**question: object) -> str:
    out = io.StringIO()
    space = {"tree": xml.etree.ElementTree.ElementTree(), "numbers": iter([1, 2])}
    with contextlib.redirect_stdout(out):
        exec(asking(question, first=True), space)
    return out.getvalue()


def test_the_interpreter_says_what_callables_take() -> None:
    told = ask(
        items=[
            ("from textwrap import shorten", "shorten"),
            ("from collections import OrderedDict", "OrderedDict.move_to_end"),
            ("from fractions import Fraction", "Fraction.numerator"),
            ("from datetime import date", "date.fromisoformat"),
            ("from pathlib import PurePosixPath", "PurePosixPath"),
            ("import os", "os.sep"),
            ("from numbers import Number", "Number"),
            ("from collections.abc import Sized", "Sized"),
            ("from nowhere_at_all import x", "x"),
            ("import os", "os.nothing_like_it"),
        ]
    )
    shorten, move, numerator, iso, path, sep, number = told.items
    assert (shorten.kind, [(one.name, one.required) for one in shorten.parameters]) == (
        "function", [("text", True), ("width", True), ("kwargs", False)],
    )  # fmt: skip
    assert (move.kind, move.owner, [one.name for one in move.parameters]) == ("method", "OrderedDict", ["key", "last"])
    assert (numerator.kind, iso.kind, path.kind, sep.kind) == ("property", "function", "class", "object")
    assert path.returns == "PurePosixPath" and "PurePath" in path.bases
    assert number.name == "Number", "an abstract class cannot be made, and is left out"
    assert told.failures == (
        "ModuleNotFoundError: No module named 'nowhere_at_all'",
        "AttributeError: module 'os' has no attribute 'nothing_like_it'",
    )


def test_what_an_object_offers() -> None:
    told = ask(members="tree")
    members = {item.name: item for item in told.items}
    assert (members["find"].kind, members["find"].owner) == ("member", "tree")
    assert [one.name for one in members["find"].parameters] == ["path", "namespaces"]
    assert not told.iterator and ask(members="numbers").iterator


def test_what_a_package_offers_for_words_and_how_common_they_are() -> None:
    told = ask(package=["difflib"], words={"close": 1.0, "match": 0.5, "diff": 0.5})
    names = [item.expression for item in told.items]
    assert names[0] == "get_close_matches" and "SequenceMatcher.find_longest_match" in names
    assert told.counts["close"] == 1 < told.counts["diff"]


def test_what_an_import_prints_is_no_answer() -> None:
    text = printed(items=[("from textwrap import dedent", "dedent")])
    assert [one.name for one in answers(f"codenav-survey:[broken\nhello\n{text}").items] == ["dedent"]
    assert answers("hello") == Answers()


def function(name: str, *parameters: Parameter, doc: str = "", module: str = "m") -> Callable_:
    return Callable_(f"from {module} import {name}", name, "function", parameters=parameters, doc=doc, module=module)


def needs(name: str, type_: str = "") -> Parameter:
    return Parameter(name, "POSITIONAL_OR_KEYWORD", True, type_)


def takes(name: str, default: str, type_: str = "") -> Parameter:
    return Parameter(name, "POSITIONAL_OR_KEYWORD", False, type_, default)


def meaning(*words: str, whether: bool = False, **counts: int) -> Meaning:
    return Meaning(words, language(), counts=counts, whether=whether)


def test_what_explains_more_comes_first() -> None:
    asked = meaning("diameter", "cycle", "graph")
    diameter = function("diameter", doc="Returns the diameter of the graph G.")
    cycle, chordal = function("cycle_graph"), function("chordal_cycle_graph")
    assert asked.left([diameter]) == ["cycle"] and asked.left([cycle]) == ["diameter"]
    assert asked.share([diameter, cycle]) > asked.share([cycle])
    assert asked.score(cycle) > asked.score(chordal) > asked.score(function("_cycle_graph"))
    assert meaning("json", "path").left([function("jsonpath")]) == []


def test_a_yes_or_no_question_prefers_what_answers_one() -> None:
    asked = meaning("prime", whether=True)
    assert asked.score(function("isprime")) > asked.score(function("prime"))


def test_words_that_many_names_have_say_less() -> None:
    plain, counted = meaning("node", "degree"), meaning("node", "degree", nod=200, degre=2)
    assert counted.weights["node"] < plain.weights["node"] / 2
    assert counted.weights["degree"] == plain.weights["degree"]


def test_what_is_named_and_not_called_costs() -> None:
    asked = meaning("diameter", "graph")
    diameter, graph = function("diameter"), function("graph")
    asked.score(graph)
    before = asked.share([graph])
    asked.score(diameter)
    assert asked.share([graph]) < before


def test_a_block_and_the_callable_that_it_defines_are_compared_alike() -> None:
    item = function("area", needs("geometry"), doc="The area of a shape.", module="shapes.measure")
    described = Described("area", "", "shapes.measure", ["geometry"], "The area of a shape.")
    asked = meaning("area", "shape")
    assert asked.score(item) == asked.score(described)


def test_queries_go_from_all_words_to_names() -> None:
    told = queries(("compute", "area", "box"), language())
    assert told[0].endswith("AND (compute area box)") and told[1].endswith("AND (area box)")
    assert queries((), language()) == []


def values(text: str) -> list[Value]:
    return [Value.of(literal) for clause in read(text) for literal in clause.literals]


def first(item: Callable_, text: str) -> str:
    filled = fillings(item, values(text))[0]
    assert not filled.missing
    return filled.arguments()


def test_values_go_where_they_fit() -> None:
    resize = function("resize", needs("path", "str"), needs("width", "int"), needs("height", "int"))
    assert first(resize, "Resize photo.jpg to 200 by 100") == "'photo.jpg', 200, 100"
    assert first(resize, "Resize to height 100, width 200 the file a.png") == "'a.png', 200, 100"
    box = function("box", needs("xmin"), needs("ymin"), needs("xmax"), needs("ymax"))
    assert first(box, "the box from (0, 0) to (2, 3)") == "0, 0, 2, 3"
    line = function("line", takes("points", "None", "sequence of tuples"))
    assert first(line, "the line from (0, 0) to (3, 4)") == "points=[(0, 0), (3, 4)]"
    join = function("join", Parameter("names", "VAR_POSITIONAL", False))
    assert first(join, "join 'a' and 'b'") == "'a', 'b'"


def test_what_nothing_fills_is_missing() -> None:
    area = function("area", needs("geometry", "shapely.Geometry"))
    (filled,) = fillings(area, values("the area of 'x'"))
    assert [one.name for one in filled.missing] == ["geometry"]
    assert filled.arguments({"geometry": "result_1"}) == "result_1"


def test_a_word_beside_a_value_names_an_optional_parameter() -> None:
    dumps = function("dumps", needs("data", "dict"), takes("indent", "None", "int"), takes("sort", "False", "bool"))
    assert first(dumps, "Dump {'a': 1} with indent 4") == "{'a': 1}, indent=4"


def test_what_is_left_goes_into_optional_parameters_in_order() -> None:
    path = function("shortest_path", needs("graph", "Graph"), takes("source", "None"), takes("target", "None"))
    filled = fillings(path, values("from 0 to 33"), {"graph"})[0]
    assert filled.arguments({"graph": "g"}) == "g, source=0, target=33"


def test_keywords_of_any_name_are_named_by_the_words_before_a_literal() -> None:
    shown = function("format", needs("sql", "str"), Parameter("options", "VAR_KEYWORD", False))
    assert first(shown, "Format 'select 1' with the keyword case 'upper'") == "'select 1', keyword_case='upper'"
    assert first(shown, "Format 'select 1' of Kim 'upper'") in ("'select 1'", "'upper'")


def test_values_are_written_as_the_parameter_takes_them() -> None:
    assert first(function("parse", needs("number", "str")), "parse +442083661177") == "'+442083661177'"
    assert first(function("check", needs("number", "int")), "check '7894'") == "7894"
    (filled, *_) = fillings(function("day", needs("when", "datetime.date")), values("the day of 2024-07-04"))
    assert (filled.arguments(), filled.imports) == ("date.fromisoformat('2024-07-04')", ("from datetime import date",))
    (filled, *_) = fillings(function("load", needs("fp", "IO[str]")), values("load a.toml"))
    assert filled.arguments() == "Path('a.toml').open()"
    (filled, *_) = fillings(function("load", needs("fp", "IO[bytes]")), values("load a.png"))
    assert (filled.arguments(), filled.imports) == ("Path('a.png').open('rb')", ("from pathlib import Path",))
    box = Callable_("from m import Box", "Box", "class", parameters=(Parameter("arg", "POSITIONAL_ONLY", False),))
    assert first(box, "{'a': 1}") == "{'a': 1}"


@pytest.mark.parametrize(
    ("call", "error", "other"),
    [
        ("digest of 'abc'", "TypeError: a bytes-like object is required, not 'str'", "'abc'.encode()"),
        ("digest of 12", "TypeError: expected string or bytes-like object, got 'int'", "'12'"),
        ("digest of '12'", "TypeError: '<' not supported between instances of 'str' and 'int'", "12"),
        ("digest of 2024-01-02", "AttributeError: 'str' object has no attribute 'strftime'",
         "date.fromisoformat('2024-01-02')"),
        ("digest of a.csv", "AttributeError: 'str' object has no attribute 'read'", "Path('a.csv').open()"),
        ("digest of 'a,b'", "AttributeError: 'str' object has no attribute 'read'", "StringIO('a,b')"),
    ],
)  # fmt: skip
def test_a_message_says_how_an_argument_is_written(call: str, error: str, other: str) -> None:
    (filled, *_) = fillings(function("digest", needs("data")), values(call))
    kind, _, text = error.partition(": ")
    failed = Execution(Outcome.ERROR, error=ExecutionError(kind, text))
    assert other in [one.arguments() for one in mended(filled, failed)]


def test_a_literal_that_is_given_to_a_name_goes_there() -> None:
    render = function("render", needs("template", "str"), Parameter("data", "VAR_KEYWORD", False))
    assert first(render, "Render 'Hello {{ you }}' with you='Bo'") == "'Hello {{ you }}', you='Bo'"


def test_a_word_goes_where_it_is_a_choice() -> None:
    mode = Parameter("mode", "POSITIONAL_OR_KEYWORD", False, "str", "'minor'", "Either 'major' or 'minor'.")
    key = function("key", needs("tonic", "str"), mode)
    for request, arguments in (("The key of 'G' major", "'G', mode='major'"), ("The key of 'G' flat", "'G'")):
        loose = [Value.of(literal) for clause in read(request) for literal in clause.loose]
        assert fillings(key, [*values(request), *loose])[0].arguments() == arguments


def test_a_word_of_the_request_is_a_value_only_where_no_literal_fits() -> None:
    parse = function("parse", needs("text", "str"))
    assert first(parse, "Parse the HTML '<p>'") == "'<p>'"
    assert first(parse, "Parse HTML") == "'HTML'"


def test_an_order_that_nobody_said_counts_against_a_filling() -> None:
    pay = function("pay", needs("rate", "float"), needs("count", "int"))
    found = {one.arguments(): one.swapped for one in fillings(pay, values("pay 3 of 4")) if not one.missing}
    assert found["3, 4"] == 0 and found["4, 3"] == 1
    (named, *_) = fillings(pay, values("pay the count 3 at the rate 4"))
    assert (named.arguments(), named.swapped) == ("4, 3", 0)
