"""Which values go to which parameters, and how they are written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from codenav.planner.filling import fillings
from codenav.planner.giving import said_flags
from codenav.planner.mending import mended
from codenav.planner.writing import Value
from made_up import function, meaning, needs, takes, values

from codenav.execution import Execution, ExecutionError, Outcome
from codenav.planner.reading import read
from codenav.signatures.callables import CallableSignature, Parameter


def first(item: CallableSignature, text: str, *files: str) -> str:
    filled = fillings(item, values(text, *files))[0]
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


def test_keywords_one_after_the_other() -> None:
    expand = function("expand", needs("uri", "str"), Parameter("given", "VAR_KEYWORD", False))
    assert first(expand, "Expand 'a{id}' with id 42, page 3 and per 20") == "'a{id}', id=42, page=3, per=20"


def test_a_name_beside_what_a_parameter_is_called_is_a_value() -> None:
    dwt = function("dwt", needs("data", "list"), needs("wavelet"))
    for request, arguments in (
        ("Do a Haar wavelet transform of [3, 7]", "[3, 7], 'Haar'"),
        ("Do a plain wavelet transform of [3, 7]", "[3, 7], x"),
    ):
        (clause,) = read(request)
        given = [Value.of(literal) for literal in (*clause.literals, *clause.loose)]
        assert fillings(dwt, given)[0].arguments({"wavelet": "x"}) == arguments


def test_the_ending_of_a_new_file_may_be_its_format() -> None:
    export = function("export", takes("out_f", "None", "str"), takes("format", "'mp3'", "str"))
    ways = [one.arguments() for one in fillings(export, values("Export it as back.wav"))]
    assert "out_f='back.wav', format='wav'" in ways
    there = [one.arguments() for one in fillings(export, values("Export back.wav", "back.wav"))]
    assert not any("'wav'" in one for one in there), "nothing is to be made"


def test_a_number_is_a_number_where_the_name_says_so() -> None:
    dumps = function("dumps", needs("data", "dict"), takes("indent", "None", "string"))
    assert first(dumps, "Dump {'a': 1} with an indent of 4") == "{'a': 1}, indent=4"


def test_one_text_may_be_a_list_of_one() -> None:
    convert = function("convert", needs("text", "str"), takes("extras", "None", "list[str]"))
    assert first(convert, "Convert 'a' with the extra 'tables'") == "'a', extras=['tables']"


def test_values_are_written_as_the_parameter_takes_them() -> None:
    assert first(function("parse", needs("number", "str")), "parse +442083661177") == "'+442083661177'"
    assert first(function("check", needs("number", "int")), "check '7894'") == "7894"
    (filled, *_) = fillings(function("day", needs("when", "datetime.date")), values("the day of 2024-07-04"))
    assert (filled.arguments(), filled.imports) == ("date.fromisoformat('2024-07-04')", ("from datetime import date",))
    (filled, *_) = fillings(function("load", needs("fp", "IO[str]")), values("load a.toml"))
    assert filled.arguments() == "Path('a.toml').open()"
    (filled, *_) = fillings(function("load", needs("fp", "IO[bytes]")), values("load a.png"))
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
        ("digest of [1, 2]", "AttributeError: 'list' object has no attribute 'shape'", "np.array([1, 2])"),
        ("digest of 'a,b'", "AttributeError: 'str' object has no attribute 'read'", "StringIO('a,b')"),
    ],
)  # fmt: skip
def test_a_message_says_how_an_argument_is_written(call: str, error: str, other: str) -> None:
    (filled, *_) = fillings(function("digest", needs("data")), values(call))
    kind, _, text = error.partition(": ")
    failed = Execution(Outcome.ERROR, error=ExecutionError(kind, text))
    assert other in [one.arguments() for one in mended(filled, failed)]


@pytest.mark.parametrize(
    ("call", "files", "modes"),
    [
        ("Dump 7 to a.bin", (), {"'w'", "'wb'"}),
        ("Load a.bin", (), set()),
        ("Load a.bin", ("a.bin",), set()),
        ("Dump 7 to a.bin", ("a.bin",), set()),
    ],
)
@pytest.mark.parametrize(
    "error", ["TypeError: a bytes-like object is required, not 'str'", "FileNotFoundError: No such file: 'a.bin'"]
)
def test_only_what_is_to_be_made_is_opened_for_writing(
    call: str, files: tuple[str, ...], modes: set[str], error: str
) -> None:
    (filled, *_) = fillings(function("dump", needs("fp", "IO[str]"), takes("number", "0")), values(call, *files))
    kind, _, text = error.partition(": ")
    failed = Execution(Outcome.ERROR, error=ExecutionError(kind, text))
    ways = [one.arguments() for one in (filled, *mended(filled, failed)) if ".open('w" in one.arguments()]
    assert {way.partition(".open(")[2].partition(")")[0] for way in ways} == modes


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


def test_what_a_file_holds_goes_where_a_text_is_asked_for() -> None:
    convert = function("convert", needs("text", "str"))
    assert first(convert, "Convert notes.md", "notes.md") == "Path('notes.md').read_text()"
    assert first(convert, "Convert notes.md") == "'notes.md'", "what is not there cannot be read"
    assert first(function("convert", needs("path", "str")), "Convert notes.md", "notes.md") == "'notes.md'"
    unpack = function("unpack", needs("data", "bytes"))
    ways = [one.arguments() for one in fillings(unpack, values("Unpack a.bin", "a.bin")) if not one.missing]
    assert "Path('a.bin').read_bytes()" in ways


def test_what_a_json_file_holds_may_be_a_value() -> None:
    ways = fillings(function("find", needs("data")), values("Find a.json", "a.json"))
    told = [one.arguments() for one in ways if not one.missing]
    assert {"'a.json'", "json.loads(Path('a.json').read_text())"} <= set(told)


def test_bytes_are_read_from_a_file() -> None:
    (filled, *_) = fillings(function("parse", needs("game", "bytes | list")), values("Parse a.sgf", "a.sgf"))
    failed = Execution(Outcome.ERROR, error=ExecutionError("TypeError", "cannot use a bytes pattern on a string"))
    plain = replace(filled, given=((filled.given[0][0], "'a.sgf'"),))
    assert next(mended(plain, failed)).arguments() == "Path('a.sgf').read_bytes()"
    given = replace(filled, given=((filled.given[0][0], "Path('a.sgf').read_bytes()"),))
    failed = Execution(Outcome.ERROR, error=ExecutionError("TypeError", "expected string, given bytes"))
    assert "Path('a.sgf').read_text()" in [one.arguments() for one in mended(given, failed)]


def test_a_file_is_no_title_and_no_comment() -> None:
    point = function("point", takes("comment", "None", "str"), takes("symbol", "None", "str"))
    assert all(not one.used for one in fillings(point, values("Read ridge.gpx", "ridge.gpx")))


def test_literals_in_a_row_may_be_one_list() -> None:
    slug = function(
        "slug", needs("text", "str"), takes("separator", "'-'", "str"), takes("stopwords", "()", "Iterable[str]")
    )
    told = "Make a slug of 'The way to go' and leave out the words 'the' and 'to'"
    assert first(slug, told) == "'The way to go', stopwords=['the', 'to']"


def test_numbers_in_a_row_go_in_one_by_one() -> None:
    rgb = function("rgb", needs("r"), needs("g"), needs("b"))
    best = fillings(rgb, values("Which colour do the values 255, 136 and 0 give?"))[0]
    assert (best.arguments(), len(best.used), best.packed) == ("255, 136, 0", 3, False)


def test_two_pairs_may_be_two_lists() -> None:
    far = function("far", needs("one", "list"), needs("other", "list"))
    told = "How far is the line from (0, 0) to (5, 5) from the line from (0, 4) to (4, 0)?"
    assert first(far, told) == "[(0, 0), (5, 5)], [(0, 4), (4, 0)]"
    (clause,) = read("Draw a box from (0, 0) to (5, 5)")
    assert clause.groups == (), "one pair alone may be two corners"


def test_of_an_object_only_what_is_sure_is_tried_as_well() -> None:
    album = CallableSignature(
        "from m import Album", "Album", "class",
        parameters=(takes("path", "None", "str"), takes("title", "''", "str"), takes("artist", "''", "str")),
    )  # fmt: skip
    told = [one.arguments() for one in fillings(album, values("Find 'x' in 'a.mp3'"))]
    assert "path='x'" in told or "path='a.mp3'" in told


def test_what_is_taken_by_its_place_alone() -> None:
    (filled, *_) = fillings(function("bits", takes("initial", "0", "str")), values("Bits of '101'"))
    error = ExecutionError("TypeError", "bits() takes no keyword arguments")
    failed = Execution(Outcome.ERROR, error=error)
    assert filled.arguments() == "initial='101'"
    assert next(mended(filled, failed)).arguments() == "'101'"


def test_characters_and_numbers_that_are_spelled_out() -> None:
    slug = function("slug", needs("text", "str"), takes("separator", "'-'", "str"), takes("length", "0", "int"))
    (clause,) = read("Make a slug of 'a b' with underscores and a length of eight")
    loose = [Value.of(literal) for literal in clause.loose]
    told = [Value.of(literal) for literal in clause.literals]
    assert fillings(slug, [*told, *loose])[0].arguments() == "'a b', separator='_', length=8"


def test_a_spelled_number_goes_where_a_number_may_be_left_out() -> None:
    chunk = function("chunk", needs("array", "list"), takes("size", "1", "int"))
    for request, tried in (
        ("Split [1, 2, 3] into groups of two", ["[1, 2, 3], size=2", "[1, 2, 3]"]),
        ("Split the two in [1, 2]", ["[1, 2]"]),
    ):
        (clause,) = read(request)
        given = [Value.of(literal) for literal in (*clause.literals, *clause.loose)]
        assert [one.arguments() for one in fillings(chunk, given) if not one.missing] == tried


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
    told = [one.arguments() for one in fillings(convert, values("Convert app.conf", "app.conf"))]
    assert not any("output_file" in one for one in told)
    assert "output_file='new.json'" in first(convert, "Convert app.conf to new.json", "app.conf")


@pytest.mark.parametrize(
    ("request_", "flags"),
    [
        ("Show 3 in binary units", [("binary", "True")]),
        ("Show 3 without the sign", [("sign", "False")]),
        ("Show 3 with the sign", []),
        ("Show 3", []),
        ("Show 3 without its comments", [("skip_comments", "True")]),
        ("Show 3 with its comments", []),
    ],
)
def test_what_a_clause_says_of_what_is_true_or_false(request_: str, flags: list[tuple[str, str]]) -> None:
    told = [takes("binary", "False"), takes("sign", "True"), takes("skip_comments", "False")]
    show = function("show", needs("value"), *told)
    (clause,) = read(request_)
    said = said_flags(show, clause, meaning(*clause.words))
    assert [(parameter.name, value.code) for parameter, value in said] == flags
    if flags:
        best = fillings(show, values(request_), flags=said)[0]
        assert best.arguments() == f"3, {flags[0][0]}={flags[0][1]}"


def test_a_date_goes_where_year_month_and_day_are_asked_for() -> None:
    date = function("date", needs("year", "int"), needs("month", "int"), needs("day", "int"))
    assert first(date, "Convert 1399-12-30") == "1399, 12, 30"
    assert first(date, "Convert 4 October 1957") == "1957, 10, 4"
    epoch = function("epoch", Parameter("args", "VAR_POSITIONAL", False))
    ways = [one.arguments() for one in fillings(epoch, values("The epoch of 4 October 1957"))]
    assert {"1957, 10, 4", "'1957-10-04'"} <= set(ways)


def test_that_something_has_to_be_made_is_never_left_out() -> None:
    area = function("area", needs("geometry", "str | list"))
    assert any(one.missing for one in fillings(area, values("the area from (0, 0) to (2, 3)")))


def test_an_object_is_made_rather_than_replaced_by_a_text() -> None:
    rise = function("rise", needs("observer", "Observer"), takes("date", "None", "datetime.date"))
    best = fillings(rise, values("When does the sun rise on 2024-07-04?"), {"observer"})[0]
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
