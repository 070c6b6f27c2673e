"""Regular expressions and wildcards: the dialect of every store, checked against tantivy and Python's own engine."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codenav.retrieval.query.regex import MAX_LENGTH, Beyond, patterns, wildcard_regex

READ = [
    ("Load.*", [["load.*"]]),
    (r"^get_\w+$", [["get_.+"]]),
    ("(?:get|set)_x{2,3}", [["(get|set)_x{2,3}"]]),
    (r"[A-F\d]+?", [["[0-9a-f]+"]]),
    (r"\bfoo\b", [["foo"]]),
    ("^foo$|^bar$", [["foo|bar"]]),
    ("[[:alpha:]]+", [["[a-z]+"]]),
    (r"[\w.]+x", [[".+x"]]),
    ("[^)]*x", [[".*x"]]),
    (r"[^\W\d_]+", [["[^0-9_]+"]]),
    ("[A-Za-z_]x", [["[_a-z]x"]]),
    (r"(?P<verb>get|set)_\d+", [["(get|set)_[0-9]+"]]),
    (r"a\.b", [["a", "b"]]),
    (r"def\s+get_\w+\(", [["def", "get_.+"]]),
    ("foo bar|baz", [["foo", "bar"], ["baz"]]),
    ("foo@bar", [["foo", "bar"]]),
    ('"x"', [["x"]]),
    (".*", [[".*"]]),
    ("(a{9}){9}", [["(a{9}){9}"]]),
    ("[é]+", [["é+"]]),
    ("[一-龥]+", [["[一-龥]+"]]),
    ("[^éa]", [["[^aé]"]]),
    ("", []),
]


@pytest.mark.parametrize(("written", "read"), READ)
def test_regular_expressions_are_reduced_to_what_every_store_has(written: str, read: list[list[str]]) -> None:
    assert patterns(written) == read
    for pattern in (piece for pieces in read for piece in pieces):
        assert patterns(pattern) == [[pattern]]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("(?<!x)y", "look-around"),
        ("(?=x)y", "look-around"),
        (r"(a)\1", "back references"),
        ("a$b", "anchor"),
        ("(^|_)foo", "anchor"),
        ("(a b)+", "white space or punctuation in a group"),
        ("a**", "repeats a repetition"),
        ("*a", "repeats nothing"),
        ("(", "not well formed"),
        ("a|", "not well formed"),
        ("[a", "not well formed"),
        ("[z-a]", "bad character range z-a"),
        (r"\p{L}", "not understood"),
        ("a{1000}", "repeats over 100 times"),
        ("a" * (MAX_LENGTH + 1), "over 300 characters"),
    ],
)
def test_what_is_beyond_the_dialect_says_why(written: str, why: str) -> None:
    with pytest.raises(Beyond, match=re.escape(why)):
        patterns(written)


Count = Callable[[str], int]


@pytest.fixture(scope="module")
def tokens() -> list[str]:
    package = importlib.util.find_spec("networkx")
    assert package and package.origin
    text = "\n".join(path.read_text() for path in sorted((Path(package.origin).parent / "classes").glob("*.py")))
    return sorted({word.lower() for word in re.findall(r"\w+", text)} | {"é", "aé", "龥一", "x1"})


@pytest.fixture(scope="module")
def count(tokens: list[str]) -> Count:
    """How many tokens the engine finds for a regular expression."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("token", tokenizer_name="raw")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer: Any = index.writer(15_000_000, 1)
    for token in tokens:
        writer.add_document(tantivy.Document(token=token))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def counted(regex: str) -> int:
        found = searcher.search(tantivy.Query.regex_query(schema, "token", regex), 1, count=True)
        return int(found.count or 0)

    return counted


@pytest.mark.parametrize("regex", [piece for _, read in READ for pieces in read for piece in pieces])
def test_the_engine_matches_what_the_dialect_says(regex: str, tokens: list[str], count: Count) -> None:
    assert count(regex) == sum(bool(re.fullmatch(regex, token)) for token in tokens)


@pytest.mark.parametrize("pattern", ["*graph*", "gr?ph", "*_?", "a*e", "*", "?", "*a?????b"])
def test_wildcards_match_what_they_say(pattern: str, tokens: list[str], count: Count) -> None:
    import fnmatch

    assert count(wildcard_regex(pattern)) == len(fnmatch.filter(tokens, pattern))


def test_the_engine_refuses_what_is_far_too_large(count: Count) -> None:
    with pytest.raises(ValueError, match="exceeds size limit"):
        count(".*a.{20}")
