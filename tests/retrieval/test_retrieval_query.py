"""The query language: what messy queries are read as, its limits, and that no text is refused."""

from __future__ import annotations

import pytest

from codenav.core.errors import QueryTooLarge
from codenav.retrieval.planning import plan
from codenav.retrieval.query.literals import MAX_CLAUSES, MAX_LEADING, MAX_PATTERNS
from codenav.retrieval.query.parser import MAX_HEIGHT, parse
from codenav.retrieval.query.tree import And, Fuzzy, Lines, Not, Or, Phrase, Prefer, Regex, Value, Wildcard, Words
from retrieval.queries import ALL


@pytest.mark.parametrize(("query", "read_as", "told"), ALL)
def test_queries_are_read_as_a_person_would_mean_them(query: str, read_as: str, told: str) -> None:
    found = parse(query)
    assert found.read_as == read_as
    assert any(sentence.startswith(told) for sentence in found.repairs) if told else not found.repairs, found.repairs
    again = parse(found.read_as)
    assert again.tree == found.tree, "a reading is read the same way, without repairs"
    assert not again.repairs or not found.read_as
    plan(found.tree)


def _word(word: str) -> Words:
    return Words("text", (word,))


def test_the_tree() -> None:
    assert parse("a AND b OR NOT c").tree == Or((And((_word("a"), _word("b"))), Not(_word("c"))))
    assert parse("+a b").tree == Prefer(_word("a"), _word("b"))
    assert parse("name:(load 'to disk') OR type:class").tree == Or(
        (Words("name", ("load",)), Phrase("name", ("to", "disk")), Value("type", "CLASS"))
    )
    assert parse("lines:[10 TO *]").tree == Lines(10, None)
    assert parse("NOT NOT (a)").tree == _word("a")
    assert parse("calls:np.mean").tree == Value("calls", "np.mean")
    assert parse("calls:resiz*").tree == Wildcard("calls", "resiz*")
    assert parse("/load_[a-f]+/").tree == Regex("text", "load_[a-f]+")
    assert parse("modle~").tree == Fuzzy("text", "modle", 2)


def test_what_narrows_is_read_with_and_and_words_with_or() -> None:
    assert parse("a b").tree == Or((_word("a"), _word("b")))
    assert parse("type:CLASS a b").read_as == "type:CLASS AND (a OR b)"
    assert parse("type:CLASS type:FUNCTION").read_as == "type:CLASS OR type:FUNCTION"
    assert parse("type:CLASS file_path:x.py").read_as == "type:CLASS AND file_path:x.py"
    assert parse("type:CLASS OR a").read_as == "type:CLASS OR a"
    assert parse("+a type:CLASS").read_as == "+a type:CLASS"


def test_too_many_clauses_are_cut_and_told() -> None:
    many = parse(" ".join(f"w{number}" for number in range(3000)))
    assert isinstance(many.tree, Or)
    assert len(many.tree.children) == MAX_CLAUSES == 1024
    assert many.repairs == ("only the first 1,024 words were used",)
    exactly = parse(" ".join(f"w{number}" for number in range(1024)))
    assert not exactly.repairs


def test_expensive_clauses_are_bounded_and_told() -> None:
    patterns = f"only the first {MAX_PATTERNS} wildcards, regular expressions and fuzzy words were used"
    leading = f"only the first {MAX_LEADING} patterns that begin with a wildcard were used: each is slow"
    for kept, told, clauses in (
        (MAX_PATTERNS, patterns, ("w{}*", "word{}~", "/w{}.+/", "file_path:a{}*")),
        (MAX_LEADING, leading, ("*a{}*", "?a{}", "/.*a{}/")),
    ):
        for one in clauses:
            found = parse(" ".join(one.format(number) for number in range(300)))
            assert isinstance(found.tree, Or), one
            assert len(found.tree.children) == kept, one
            assert told in found.repairs, one


def test_a_star_many_times_is_one() -> None:
    assert parse("* " * 300).read_as == "*"


def test_deep_nesting_is_cut_and_told() -> None:
    deep = "w0"
    for number in range(1, 40):
        deep = f"(w{number} {'AND' if number % 2 else 'OR'} {deep})"
    found = parse(deep)
    assert f"operators nested over {MAX_HEIGHT} deep were read as a list of words" in found.repairs
    assert parse(found.read_as).tree == found.tree
    assert parse("(" * 500 + "a" + ")" * 500).tree == _word("a")
    assert parse("(" * 30_000).read_as == ""
    assert parse("NOT " * 15_000 + "a").tree == _word("a")
    assert len(parse("x" * 5000).read_as) == 255


def test_a_query_of_over_64_kilobytes_is_refused_at_once() -> None:
    assert parse("é" * 32 * 1024).read_as
    for query in ("é" * 32 * 1024 + "x", "(a* " * 25_000, "a " * 500_000):
        with pytest.raises(QueryTooLarge) as error:
            parse(query)
        assert error.value.exit_code == 2
        assert error.value.hint


SPECIAL = [*"\"'`()[]{}<>+-!&|*?~^:/\\.,;=@#$% \n\x00é人"]
UNITS = [
    *SPECIAL, "AND ", "NOT ", "&&", "type:", "type=", "text:(", "file_path:", "lines:[1 TO ", "calls:", 'name:"',
    "and (", "def f(", "class A", "class: ", "a/", "a.", "a::", "a[", "a<", "a.b(", 'f("', "*a", "a*b", "/a/ ", "/(",
    "a~ ", "a^2 ", 'File "', "from a import b,", "\\b", "\\w+", "NEAR ", "type: a OR ", "file_path: a.py OR ", "../",
    "https://a.b/", "``` \n", '{"a":',
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_large_repetitive_queries_are_read_in_linear_time(unit: str) -> None:
    """Quadratic reading of 64 KB would take minutes and be killed by whoever runs the tests."""
    found = parse(unit * (65_000 // len(unit.encode())))
    assert parse(found.read_as).tree == found.tree
