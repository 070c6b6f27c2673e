"""The stages between reading and calling: words, docstrings, the survey, ranking."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up import function, meaning, needs

from codenav.planner.language import language, likeness, segmented
from codenav.planner.relevance import Described, queries
from codenav.retrieval.query import parse
from codenav.signatures.callables import Answers, answers, asking
from codenav.signatures.docstrings import described_parameters, described_return
from codenav.signatures.inside import MARK
from codenav.signatures.names import parts


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("encode", "encoding", 1.0), ("pluralize", "plural", 1.0), ("cities", "city", 1.0), ("box", "boxes", 1.0),
        ("distance", "dist", 0.7), ("area", "arena", 0.0), ("is", "island", 0.0), ("describe", "description", 0.6),
        ("internal", "international", 0.6), ("position", "possible", 0.0), ("payment", "pmt", 0.7),
        ("fmt", "format", 0.7), ("cnt", "can", 0.0), ("setting", "set", 0.0), ("settings", "setting", 1.0),
    ],
)  # fmt: skip
def test_words_that_mean_the_same(one: str, other: str, expected: float) -> None:
    assert likeness(one, other) == likeness(other, one) == expected


def test_the_words_of_an_identifier() -> None:
    assert parts("loadHTTPModel_v2") == ["load", "http", "model", "v", "2"]


def test_words_of_one_family() -> None:
    known = language()
    assert known.likeness("load", "read") == known.likeness("wide", "width") == 0.8
    assert known.likeness("load", "width") == 0.0
    assert known.likeness("reading", "read") == 1.0


def test_a_part_of_a_name_that_begins_or_ends_with_a_word() -> None:
    known = language()
    assert known.within("filled", "fillchar") == known.within("format", "tablefmt") == 0.7
    assert known.within("fill", "file") == 0.0


@pytest.mark.parametrize(
    ("name", "words", "pieces"),
    [
        ("fromcsv", ["load", "csv"], ["from", "csv"]),
        ("xl_rowcol_to_cell", ["row", "column"], ["xl", "row", "col", "to", "cell"]),
        ("mergeoverlaps", ["merge", "overlap"], ["merge", "overlaps"]),
        ("category", ["cat"], ["category"]),
        ("hexdigest", ["hash", "hex"], ["hex", "digest"]),
        ("formation", ["form"], ["formation"]),
    ],
)
def test_names_written_as_one_word_are_cut_where_the_request_has_the_pieces(
    name: str, words: list[str], pieces: list[str]
) -> None:
    assert list(segmented(name, tuple(words))) == pieces


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
    space = {"tree": xml.etree.ElementTree.ElementTree(), "numbers": iter([1, 2]),
             "nested": {"a.b": 1, 2: 3, "inner": {"deep": 4}}, "one": [{"city": "Oslo"}], "two": [{}, {}],
             "half": functools.partial(int, base=2), "plain": len}  # fmt: skip
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


def test_what_a_dict_offers_are_its_keys_and_those_of_the_dicts_in_it() -> None:
    told = ask(members="nested").items
    assert [(item.name, item.kind, item.owner, item.expression) for item in told] == [
        ("a.b", "value", "nested", "nested['a.b']"),
        ("inner", "value", "nested", "nested['inner']"),
        ("deep", "value", "nested", "nested['inner']['deep']"),
        ("get", "member", "nested", "nested.get"),
    ]


def test_what_a_list_offers_is_what_the_one_thing_in_it_does() -> None:
    city, get = ask(members="one").items
    assert get.expression == "one[0].get", "a literal may be looked up there"
    assert (city.name, city.kind, city.owner, city.expression) == ("city", "value", "one", "one[0]['city']")
    assert ask(members="two").items == (), "of two nobody says which"


def test_an_object_that_is_called_itself() -> None:
    called, *_ = ask(members="half").items
    assert (called.kind, called.owner, called.expression) == ("member", "half", "half.__call__")
    (plain,) = ask(members="plain").items
    assert plain.expression == "plain.__call__"
    assert Described.item(called).name == "", "its name says nothing"


def test_a_module_that_is_loaded_takes_no_name_from_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "juicer"
    package.mkdir()
    (package / "__init__.py").write_text("def juicer(fruit):\n    return fruit[0]\n")
    (package / "juicer.py").write_text("def press(fruit):\n    return fruit\n")
    monkeypatch.syspath_prepend(tmp_path)
    line = "from juicer import juicer"
    ask(items=[("from juicer.juicer import press", "press")])
    (item,) = ask(items=[(line, "juicer")]).items
    assert item.kind == "function"
    for name in [name for name in sys.modules if name.startswith("juicer")]:
        del sys.modules[name]


def test_what_else_makes_the_objects_of_a_class() -> None:
    told = ask(constructors=("from fractions import Fraction", "Fraction"))
    assert {"Fraction.from_float", "Fraction.from_decimal"} <= {item.expression for item in told.items}
    told = ask(constructors=("from datetime import date", "date"))
    assert "date.fromisoformat" in {item.expression for item in told.items}, "compiled ones too"


@pytest.mark.parametrize(
    ("doc", "kinds"),
    [
        ("bits(initial=0, /, endian='big', *, buffer=None) -> bits", ["POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD",
                                                                      "KEYWORD_ONLY"]),
        ("bits(self, /)", []),
    ],
)  # fmt: skip
def test_signatures_in_docstrings(doc: str, kinds: list[str]) -> None:
    item = {"kind": "method", "parameters": [], "known": False, "doc": doc, "returns": "", "module": "", "bases": []}
    told = answers(MARK + json.dumps({"answers": [["from m import C", "C.bits", item]]}))
    assert [one.kind for one in told.items[0].parameters] == kinds


def test_keywords_that_only_the_docstring_tells() -> None:
    doc = "Draw a line.\n\nParameters\n----------\nwidth : float\n    How thick it is.\n"
    item = {"kind": "function", "parameters": [["kwargs", "VAR_KEYWORD", False, "", ""]], "known": True, "doc": doc}
    told = answers(MARK + json.dumps({"answers": [["", "line", {**item, "returns": "", "module": "", "bases": []}]]}))
    assert [(one.name, one.kind, one.type) for one in told.items[0].parameters] == [
        ("width", "KEYWORD_ONLY", "float"), ("kwargs", "VAR_KEYWORD", ""),
    ]  # fmt: skip


def test_what_a_package_offers_for_words_and_how_common_they_are() -> None:
    told = ask(package=["difflib"], words={"close": 1.0, "match": 0.5, "diff": 0.5})
    names = [item.expression for item in told.items]
    assert names[0] == "get_close_matches" and "SequenceMatcher.find_longest_match" in names
    assert told.counts["close"] == 1 < told.counts["diff"]


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of 300 functions with long docstrings, and things that raise whatever they are asked."""
    lines = [
        "__all__ = [len, 'worn_out'] + [f'plough_{number}' for number in range(300)] + ['Broken', 'broken', 'rake']",
        "class Meta(type):",
        "    def __getattribute__(self, name):",
        "        raise RuntimeError('gone')",
        "class Broken(metaclass=Meta): pass",
        "class Odd:",
        "    def __getattribute__(self, name):",
        "        raise RuntimeError('gone')",
        "broken = Odd()",
        *(f"def plough_{number}(field):\n    {'Plough a field. ' * 60!r}" for number in range(300)),
        "def rake(leaves):\n    'Put leaves on a heap.'",
    ]
    (tmp_path / "large_farm.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    yield "large_farm"
    sys.modules.pop("large_farm", None)


def test_the_answer_for_a_large_package_is_whole(large: str) -> None:
    text = printed(package=[large], words={"plough": 1.0})
    assert 10_000 < len(text) < 64 * 1024, "what is longer is cut off by the sandbox"
    told = answers(text)
    assert len(told.items) >= 50 and told.counts["plough"] == 300
    names = [f"plough_{number}" for number in range(300)]
    line = f"from {large} import "
    text = printed(items=[(line + name, name) for name in names])
    assert len(text) < 64 * 1024 and len(answers(text).items) >= 100, "docstrings are cut before answers are left out"


def test_what_raises_hides_nothing_else_of_its_package(large: str) -> None:
    names = {item.name for item in ask(package=[large], words={"leaves": 1.0}).items}
    assert "rake" in names
    assert not ask(items=[(f"from {large} import broken", "broken")]).items


def test_a_package_is_forgotten_so_that_it_is_loaded_anew(large: str) -> None:
    ask(package=[large], words={"rake": 1.0})
    assert large in sys.modules
    ask(forget=[large])
    assert large not in sys.modules and "textwrap" in sys.modules


def test_what_an_import_prints_is_no_answer() -> None:
    text = printed(items=[("from textwrap import dedent", "dedent")])
    assert [one.name for one in answers(f"codenav-survey:[broken\nhello\n{text}").items] == ["dedent"]
    assert answers("hello") == Answers()


def test_what_explains_more_comes_first() -> None:
    asked = meaning("diameter", "cycle", "graph")
    diameter = function("diameter", doc="Returns the diameter of the graph G.")
    cycle, chordal = function("cycle_graph"), function("chordal_cycle_graph")
    assert asked.left([diameter]) == ["cycle"] and asked.left([cycle]) == ["diameter"]
    assert asked.share([diameter, cycle]) > asked.share([cycle])
    assert asked.score(cycle) > asked.score(chordal) > asked.score(function("_cycle_graph"))
    assert meaning("json", "path").left([function("jsonpath")]) == []


def test_a_name_that_is_a_word_abbreviates_no_others() -> None:
    asked = meaning("date", "easter")
    assert asked.in_name(function("date")) == {"date": 1.0, "easter": 0.0}


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
    told = queries(("compute", "area", "box"))
    assert told[0].startswith("(compute area box) AND type:") and told[1].startswith("(area box) AND type:")
    assert queries(()) == queries(("and", "or")) == []


def test_no_word_of_a_request_is_an_operator_or_a_definition_in_a_search() -> None:
    words = ("def", "area", "and", "from", "box", "import", "lines", "class", "not", "near", "or", "type")
    read = [parse(query) for query in queries(words)]
    assert [one.repairs for one in read] == [()] * len(read)
    assert "name:" not in read[0].read_as
