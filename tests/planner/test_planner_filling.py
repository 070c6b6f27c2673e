"""Which values go to which parameters, and how they are written."""

from __future__ import annotations

import pytest
from made_up import function, needs, takes, values

from codenav.execution import Execution, ExecutionError, Outcome
from codenav.planner.argument_repair import repaired
from codenav.planner.binding_search import bindings
from codenav.planner.reading import read
from codenav.planner.values import Value
from codenav.signatures.callables import CallableSignature, Parameter


def first(item: CallableSignature, text: str, *files: str) -> str:
    filled = bindings(item, values(text, *files))[0]
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
    (filled,) = bindings(area, values("the area of 'x'"))
    assert [one.name for one in filled.missing] == ["geometry"]
    assert filled.arguments({"geometry": "result_1"}) == "result_1"


def test_a_word_beside_a_value_names_an_optional_parameter() -> None:
    dumps = function("dumps", needs("data", "dict"), takes("indent", "None", "int"), takes("sort", "False", "bool"))
    assert first(dumps, "Dump {'a': 1} with indent 4") == "{'a': 1}, indent=4"


def test_what_is_left_goes_into_optional_parameters_in_order() -> None:
    path = function("shortest_path", needs("graph", "Graph"), takes("source", "None"), takes("target", "None"))
    filled = bindings(path, values("from 0 to 33"), {"graph"})[0]
    assert filled.arguments({"graph": "g"}) == "g, source=0, target=33"


def test_keywords_one_after_the_other() -> None:
    expand = function("expand", needs("uri", "str"), Parameter("given", "VAR_KEYWORD", False))
    assert first(expand, "Expand 'a{id}' with id 42, page 3 and per 20") == "'a{id}', id=42, page=3, per=20"


def test_a_number_is_a_number_where_the_name_says_so() -> None:
    dumps = function("dumps", needs("data", "dict"), takes("indent", "None", "string"))
    assert first(dumps, "Dump {'a': 1} with an indent of 4") == "{'a': 1}, indent=4"


def test_one_text_may_be_a_list_of_one() -> None:
    convert = function("convert", needs("text", "str"), takes("extras", "None", "list[str]"))
    assert first(convert, "Convert 'a' with the extra 'tables'") == "'a', extras=['tables']"


def test_values_are_written_as_the_parameter_takes_them() -> None:
    assert first(function("parse", needs("number", "str")), "parse +442083661177") == "'+442083661177'"
    assert first(function("check", needs("number", "int")), "check '7894'") == "7894"
    (filled, *_) = bindings(function("day", needs("when", "datetime.date")), values("the day of 2024-07-04"))
    assert (filled.arguments(), filled.imports) == ("date.fromisoformat('2024-07-04')", ("from datetime import date",))
    (filled, *_) = bindings(function("load", needs("fp", "IO[str]")), values("load a.toml"))
    assert filled.arguments() == "Path('a.toml').open()"
    (filled, *_) = bindings(function("load", needs("fp", "IO[bytes]")), values("load a.png"))
    assert (filled.arguments(), filled.imports) == ("Path('a.png').open('rb')", ("from pathlib import Path",))
    box = CallableSignature(
        "from m import Box", "Box", "class", parameters=(Parameter("arg", "POSITIONAL_ONLY", False),)
    )
    assert first(box, "{'a': 1}") == "{'a': 1}"


@pytest.mark.parametrize(
    ("call", "error", "other"),
    [
        ("digest of 'abc'", "TypeError: a bytes-like object is required, not 'str'", "'abc'.encode()"),
        ("digest of 'abc'", "TypeError: argument 'password': 'str' object cannot be converted to 'PyBytes'",
         "'abc'.encode()"),
        ("digest of 12", "TypeError: expected string or bytes-like object, got 'int'", "'12'"),
        ("digest of '12'", "TypeError: '<' not supported between instances of 'str' and 'int'", "12"),
        ("digest of 2024-01-02", "AttributeError: 'str' object has no attribute 'strftime'",
         "date.fromisoformat('2024-01-02')"),
        ("digest of 2024-01-02", "AttributeError: 'str' object has no attribute 'timetuple'",
         "datetime.fromisoformat('2024-01-02')"),
        ("digest of a.csv", "AttributeError: 'str' object has no attribute 'read'", "Path('a.csv').open()"),
        ("digest of 'a,b'", "AttributeError: 'str' object has no attribute 'read'", "StringIO('a,b')"),
    ],
)  # fmt: skip
def test_a_message_says_how_an_argument_is_written(call: str, error: str, other: str) -> None:
    (filled, *_) = bindings(function("digest", needs("data")), values(call))
    kind, _, text = error.partition(": ")
    failed = Execution(Outcome.ERROR, error=ExecutionError(kind, text))
    assert other in [one.arguments() for one in repaired(filled, failed)]


def test_a_literal_that_is_given_to_a_name_goes_there() -> None:
    render = function("render", needs("template", "str"), Parameter("data", "VAR_KEYWORD", False))
    assert first(render, "Render 'Hello {{ you }}' with you='Bo'") == "'Hello {{ you }}', you='Bo'"


def test_a_word_goes_where_it_is_a_choice() -> None:
    mode = Parameter("mode", "POSITIONAL_OR_KEYWORD", False, "str", "'minor'", "Either 'major' or 'minor'.")
    key = function("key", needs("tonic", "str"), mode)
    for request, arguments in (("The key of 'G' major", "'G', mode='major'"), ("The key of 'G' flat", "'G'")):
        loose = [Value.of(literal) for clause in read(request) for literal in clause.loose]
        assert bindings(key, [*values(request), *loose])[0].arguments() == arguments


def test_a_word_of_the_request_is_a_value_only_where_no_literal_fits() -> None:
    parse = function("parse", needs("text", "str"))
    assert first(parse, "Parse the HTML '<p>'") == "'<p>'"
    assert first(parse, "Parse HTML") == "'HTML'"


def test_an_order_that_nobody_said_counts_against_a_filling() -> None:
    pay = function("pay", needs("rate", "float"), needs("count", "int"))
    assert first(pay, "pay 3 of 4") == "3, 4"
    assert first(pay, "pay the count 3 at the rate 4") == "4, 3"


def test_what_a_file_holds_goes_where_a_text_is_asked_for() -> None:
    convert = function("convert", needs("text", "str"))
    assert first(convert, "Convert notes.md", "notes.md") == "Path('notes.md').read_text()"
    assert first(convert, "Convert notes.md") == "'notes.md'", "what is not there cannot be read"
    assert first(function("convert", needs("path", "str")), "Convert notes.md", "notes.md") == "'notes.md'"
    unpack = function("unpack", needs("data", "bytes"))
    ways = [one.arguments() for one in bindings(unpack, values("Unpack a.bin", "a.bin")) if not one.missing]
    assert "Path('a.bin').read_bytes()" in ways


def test_a_file_is_no_title_and_no_comment() -> None:
    point = function("point", takes("comment", "None", "str"), takes("symbol", "None", "str"))
    assert all(not one.used for one in bindings(point, values("Read ridge.gpx", "ridge.gpx")))


def test_literals_in_a_row_may_be_one_list() -> None:
    slug = function(
        "slug", needs("text", "str"), takes("separator", "'-'", "str"), takes("stopwords", "()", "Iterable[str]")
    )
    told = "Make a slug of 'The way to go' and leave out the words 'the' and 'to'"
    assert first(slug, told) == "'The way to go', stopwords=['the', 'to']"


def test_numbers_in_a_row_go_in_one_by_one() -> None:
    rgb = function("rgb", needs("r"), needs("g"), needs("b"))
    best = bindings(rgb, values("Which colour do the values 255, 136 and 0 give?"))[0]
    assert (best.arguments(), len(best.used), best.packed) == ("255, 136, 0", 3, False)


def test_of_an_object_only_what_is_sure_is_tried_as_well() -> None:
    album = CallableSignature(
        "from m import Album", "Album", "class",
        parameters=(takes("path", "None", "str"), takes("title", "''", "str"), takes("artist", "''", "str")),
    )  # fmt: skip
    told = [one.arguments() for one in bindings(album, values("Find 'x' in 'a.mp3'"))]
    assert "path='x'" in told or "path='a.mp3'" in told


def test_what_is_taken_by_its_place_alone() -> None:
    (filled, *_) = bindings(function("bits", takes("initial", "0", "str")), values("Bits of '101'"))
    error = ExecutionError("TypeError", "bits() takes no keyword arguments")
    failed = Execution(Outcome.ERROR, error=error)
    assert filled.arguments() == "initial='101'"
    assert next(repaired(filled, failed)).arguments() == "'101'"


def test_units_in_brackets_and_bounds_name_a_parameter() -> None:
    water = function(
        "water",
        Parameter("h", "KEYWORD_ONLY", False, "float", "0.0", "Enthalpy, [kJ/kg]"),
        Parameter("P", "KEYWORD_ONLY", False, "float", "0.0", "Pressure, [MPa]"),
        Parameter("T", "KEYWORD_ONLY", False, "float", "0.0", "Temperature, [K]"),
    )
    assert first(water, "What is the density of water at 300 K and 3 MPa?") in ("P=3, T=300", "T=300, P=3")
    ids = function("ids", needs("numbers", "list"), takes("alphabet", "''", "str"), takes("min_length", "0", "int"))
    assert first(ids, "Make an id of [4, 8] of at least 12 characters") == "[4, 8], min_length=12"


def test_what_is_there_is_not_written_over() -> None:
    convert = function("convert", takes("output_file", "None", "str"), takes("input_file", "None", "str"))
    assert first(convert, "Convert app.conf", "app.conf") == "input_file='app.conf'"
    told = [one.arguments() for one in bindings(convert, values("Convert app.conf", "app.conf"))]
    assert not any("output_file" in one for one in told)
    assert "output_file='new.json'" in first(convert, "Convert app.conf to new.json", "app.conf")


def test_that_something_has_to_be_made_is_never_left_out() -> None:
    area = function("area", needs("geometry", "str | list"))
    assert any(one.missing for one in bindings(area, values("the area from (0, 0) to (2, 3)")))


def test_an_object_is_made_rather_than_replaced_by_a_text() -> None:
    rise = function("rise", needs("observer", "Observer"), takes("date", "None", "datetime.date"))
    best = bindings(rise, values("When does the sun rise on 2024-07-04?"), {"observer"})[0]
    assert best.arguments({"observer": "here"}) == "here, date=date.fromisoformat('2024-07-04')"


def test_what_the_docstring_says_of_a_parameter_names_it() -> None:
    flow = function(
        "flow",
        Parameter("rho", "POSITIONAL_OR_KEYWORD", False, "float", "None", "Density of the fluid"),
        Parameter("mu", "POSITIONAL_OR_KEYWORD", False, "float", "None", "Viscosity of the fluid"),
    )
    assert first(flow, "The flow at viscosity 0.001 and density 1000") in ("rho=1000, mu=0.001", "mu=0.001, rho=1000")


def test_a_number_in_a_name_is_not_given_again() -> None:
    assert first(function("xxh32", needs("data")), "What is the 32 bit hash of b'hello'?") == "b'hello'"
