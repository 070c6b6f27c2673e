"""The query language: what messy queries are read as, and that no text is refused."""

from __future__ import annotations

import random

import pytest

from codenav.errors import QueryTooLarge
from codenav.retrieval.query import parse
from codenav.retrieval.query_tree import And, Lines, Not, Or, Phrase, Prefer, Value, Words
from codenav.retrieval.query_values import plain_regex

MESSY = [
    ("(type: FUNCTION) AND (text: detect*)", "type:FUNCTION AND detect*", ""),
    ("(type:FUNCTION) AND (text:def foo()", "type:FUNCTION AND (def OR foo)", "an opening parenthesis"),
    ("text: def foo(", "def OR foo", ""),
    ("file_path: src/a/b.py", "file_path:src/a/b.py", ""),
    ("file_path: *models/bert/*.py AND text: forward", "file_path:*models/bert/*.py AND forward", ""),
    (r"file_path: *models\/bert\/modeling_bert.py", "file_path:*models/bert/modeling_bert.py", ""),
    ('text: "unclosed phrase', '"unclosed phrase"', "a quote was not closed"),
    ('text: "load_model("', '"load_model"', ""),
    ("text: self.model(input_ids=x)", "self.model.input_ids.x", ""),
    ("text: x[0:3]", "x.0.3", ""),
    ("text: Dict[str, Any]", "Dict.str OR Any", ""),
    ('text: {"role": "user"}', '"role" OR "user"', "punctuation was left out"),
    ("text: /detect_.*s/", "/detect_.*s/", ""),
    ("text: *detection*", "*detection*", ""),
    ("text: detect_faces AND", "detect_faces", "AND without a word"),
    ("(text: detect) AND ((type: CLASS)", "detect AND type:CLASS", "an opening parenthesis"),
    ("text: foo:bar:baz", "foo.bar.baz", ""),
    ("text: http://localhost:9200/index", "http.localhost.9200.index", ""),
    ("text: C++ OR a && b || !c", "C OR a AND b OR NOT c", ""),
    ("text: model~ OR text: modle~1", "model~2 OR modle~1", ""),
    ("text: lines: [10 TO 50]", "lines:[10 TO 50]", "text: without a value"),
    ("type: (FUNCTION OR CLASS) AND text: (load AND model)", "(type:FUNCTION OR type:CLASS) AND load AND model", ""),
    ("text: ->  Tensor", "Tensor", "punctuation was left out: ->"),
    ("text: @property", "property", ""),
    ("text: 'single quoted phrase'", '"single quoted phrase"', ""),
    ("`text: detect`", "detect", "backticks"),
    ("text: a^2.5 OR b^x", "a^2.5 OR b.x", ""),
    ("NOT text: test", "NOT test", ""),
    ("def detect(image: np.ndarray) -> List[Box]:", "def OR detect.image OR np.ndarray OR List.Box", "left out: ->"),
    ("type: function AND text: detect", "type:FUNCTION AND detect", ""),
]
"""Thirty queries as language models write them: as asked, as read, and the beginning of what is told."""

MORE = [
    ("a AND b OR c", "a AND b OR c", ""),
    ("a OR b AND NOT c", "a OR b AND NOT c", ""),
    ("(type: FUNCTION) AND shortest path", "type:FUNCTION AND (shortest OR path)", ""),
    ("+a b -c", "+(a AND NOT c) b", ""),
    ("load -test", "load AND NOT test", ""),
    ("x = -1", "x OR 1", "punctuation was left out: ="),
    ("f(*args, **kwargs)", "f.args OR kwargs", ""),
    ("np.mean*", "np AND mean*", ""),
    ("x**2", "x.2", ""),
    ("type: FUNCTON", "type:FUNCTION", "type FUNCTON was read as FUNCTION"),
    ("kind: classes", "type:CLASS", "type CLASSES was read as CLASS"),
    ("type: FUNCTION,CLASS", "type:FUNCTION OR type:CLASS", ""),
    ("type: str", "str", "there is no type STR"),
    ("type: *", "*", ""),
    ("path: C:\\src\\a.py", "file_path:C:/src/a.py", "a backslash in a path"),
    ('file_path: "my dir/a b.py"', 'file_path:"my dir/a b.py"', ""),
    ("file_path: ./src/a.py", "file_path:src/a.py", ""),
    ("source: pkg:stripe@12.1.0", "source:pkg:stripe@12.1.0", ""),
    ("how do I load a model?", "how OR do OR I OR load OR a OR model", "the closing question mark"),
    ("model?", "model?", ""),
    ('(text: "load model) AND (type: CLASS)', '"load model" AND type:CLASS', "a quote was not closed"),
    ("(type: CLASS) and (text: x)", "type:CLASS AND x", "and was read as AND"),
    ("lines: 10-20", "lines:[10 TO 20]", ""),
    ("lines: {10 TO *}", "lines:[11 TO *]", ""),
    ("lines: >=5", "lines:[5 TO *]", ""),
    ("lines: [9 TO 1]", "lines:[1 TO 9]", "lines:[9 TO 1] was read backwards"),
    ("lines: all", "all", "lines: wants a range"),
    ("/(?=foo)bar/", "foo.bar", "/(?=foo)bar/ is beyond"),
    ("/(?i)^Load\\w+?$/", "/load[a-z0-9_]+/", ""),
    ('"a b"~3', '"a b"~3', ""),
    ("(x^2 y)^3", "(x^2 OR y)^3", ""),
    ("TYPE：class ＡＮＤ “load model”", 'type:CLASS AND "load model"', ""),
    ("人脸检测", "人脸检测", ""),
    ("a b a b", "a OR b", ""),
    ("\\AND \\not", "\\AND OR \\not", ""),
    ("()", "", "the query holds nothing"),
    ("", "", "the query holds nothing"),
]


@pytest.mark.parametrize(("query", "read_as", "told"), MESSY + MORE)
def test_messy_queries(query: str, read_as: str, told: str) -> None:
    found = parse(query)
    assert found.read_as == read_as
    assert bool(told) == bool(found.repairs), found.repairs
    assert any(sentence.startswith(told) or told in sentence for sentence in found.repairs) or not told
    again = parse(found.read_as)
    assert again.tree == found.tree


def test_the_tree() -> None:
    assert parse("a AND b OR NOT c").tree == Or((And((_word("a"), _word("b"))), Not(_word("c"))))
    assert parse("+a b").tree == Prefer(_word("a"), _word("b"))
    assert parse("name:(load 'to disk') type:class").tree == Or(
        (Words("name", ("load",)), Phrase("name", ("to", "disk")), Value("type", "CLASS"))
    )
    assert parse("lines:[10 TO *]").tree == Lines(10, None)
    assert parse("NOT NOT (a)").tree == _word("a")


def _word(word: str) -> Words:
    return Words("text", (word,))


def test_limits_are_told() -> None:
    many = parse(" ".join(f"w{number}" for number in range(3000)))
    assert isinstance(many.tree, Or)
    assert len(many.tree.children) == 1024
    assert many.repairs == ("only the first 1,024 words were used",)
    patterns = parse(" ".join(f"w{number}*" for number in range(40)))
    assert isinstance(patterns.tree, Or)
    assert len(patterns.tree.children) == 16
    assert "only the first 16 wildcards" in patterns.repairs[0]
    deep = "w0"
    for number in range(1, 40):
        deep = f"(w{number} {'AND' if number % 2 else 'OR'} {deep})"
    found = parse(deep)
    assert any("nested over 12 deep" in sentence for sentence in found.repairs)
    assert parse(found.read_as).tree == found.tree
    assert parse("(" * 500 + "a" + ")" * 500).tree == _word("a")
    assert len(parse("x" * 5000).read_as) == 255


def test_a_query_of_over_64_kilobytes_is_refused() -> None:
    assert parse("é" * 32 * 1024).read_as
    for query in ("é" * 32 * 1024 + "x", "a " * 500_000):
        with pytest.raises(QueryTooLarge) as error:
            parse(query)
        assert error.value.exit_code == 2
        assert error.value.hint


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        '\\"',
        "-",
        "+-",
        "/ ",
        "(",
        ")",
        "f(",
        "a~",
        "^1",
        "type:",
        "text:(",
        "*a",
        "lines:",
        "[1 TO ",
        "and (",
        "` ",
    ],
)
def test_large_repetitive_queries_are_read_in_linear_time(query: str) -> None:
    """Quadratic reading of 60 KB would take minutes and be killed by whoever runs the tests."""
    text = query * (60_000 // len(query))
    found = parse(text)
    assert parse(found.read_as).tree == found.tree


TEXT = """a load AND OR NOT and not ( ) " ' * ? ~ ^ / \\ : + - ! && || [ ] { } type: kind: text: name: file_path: path:
lines: language: source: doc: signature: FUNCTION functon [10§TO§20] {1§TO§*} 5-9 >=3 ~1 ^2 ^0.5 x* *y* a?b np.mean f(x
load_model( self.x[0] /a.*b/ /(x|y)+/ "a§b" 'q§r' 人脸 é Å ﬁ İ ` “ -> == **kw a/b.py src\\x @p # 0 1.5 a^2 b~0.7 TO
pkg:x@1 , ; . _ __init__ ٣ ² ⅓ a&&b C++ \ud800 \x00 \u2028 \u00a0"""
ATOMS = TEXT.split()


def _random_query(rng: random.Random) -> str:
    way = rng.random()
    if way < 0.7:
        picked = [rng.choice(ATOMS).replace("§", " ") + rng.choice(["", "", " "]) for _ in range(rng.randint(1, 14))]
        return "".join(picked)
    if way < 0.85:
        top = rng.choice([0x7F, 0x2FF, 0x10FFFF])
        return "".join(chr(rng.randint(1, top)) for _ in range(rng.randint(1, 20)))
    query = list(rng.choice(MESSY + MORE)[0])
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(query))
        query[at : at + rng.randint(0, 2)] = rng.choice(["", rng.choice(ATOMS).replace("§", " ")])
    return "".join(query)


def test_any_text_is_a_query_and_its_reading_is_read_the_same_way() -> None:
    rng = random.Random(20240611)
    for _ in range(25_000):
        query = _random_query(rng)
        found = parse(query)
        again = parse(found.read_as)
        assert again.tree == found.tree, ascii((query, found.read_as, again.read_as))
        assert again.read_as == found.read_as


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("Load.*", "load.*"),
        ("^get_\\w+$", "get_[a-z0-9_]+"),
        ("(?:get|set)_x{2,3}", "(get|set)_x{2,3}"),
        ("[A-F\\d]+?", "[a-f0-9]+"),
        ("a\\.b", "a\\.b"),
        ("a$b", None),
        ("(?<!x)y", None),
        ("(a)\\1", None),
        ("\\bx", None),
        ("[[:alpha:]]", None),
        ("a{51}", None),
        ("(a{9}){9}", None),
        ("a**", None),
        ("(", None),
        ("[z-a]", None),
        ("*a", None),
        ("a b", None),
        ("", None),
    ],
)
def test_regular_expressions_are_reduced_to_what_every_store_has(pattern: str, plain: str | None) -> None:
    assert plain_regex(pattern) == plain
    if plain:
        assert plain_regex(plain) == plain
