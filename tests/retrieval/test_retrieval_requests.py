"""Requests as queries: whatever a request holds, its words are plain words, and nothing is repaired."""

from __future__ import annotations

import pytest
from drawn import drawn
from hypothesis import example, given
from hypothesis import strategies as st

from codenav.core.blocks import BlockKind, SearchResult
from codenav.retrieval import stems
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.query.parser import MAX_BYTES, parse
from codenav.retrieval.requests import MOST_PARTS, MOST_WORDS, as_words, parts, search
from retrieval.conftest import shop_tools
from retrieval.queries import ALL
from retrieval.test_retrieval_query_any_text import ODD, any_text, damaged, odd, pasted, paths


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedIndex:
    index = EmbeddedIndex(tmp_path_factory.mktemp("shop") / "index", source="tools:shop.json")
    index.apply(shop_tools())
    return index


def names(found: SearchResult) -> list[str]:
    return [hit.name for hit in found]


prose = st.lists(st.one_of(st.sampled_from(sorted(stems.STOP)), any_text, pasted), max_size=12).map(" ".join)


@drawn(1000)
@example("def resize(image): return AND crop")
@example("class Loader")
@example("from a import b")
@example("import x as y")
@example("(?i)type: FUNCTION AND name:/x.*/")
@example("NOT x NEAR/3 y and z or w")
@example("\U0001d400ND \u200bO\u200bR x")
@given(st.one_of(pasted, damaged(), any_text, paths, odd, prose, st.text(st.sampled_from(ODD), max_size=6)))
def test_the_words_of_any_request_are_plain_and_need_no_repair(request: str) -> None:
    words = as_words(request)
    read = parse(words)
    assert read.plain == bool(words)
    assert not words or not read.repairs
    assert as_words(words) == words


@pytest.mark.parametrize("query", [query for query, _, repairs in ALL if repairs])
def test_what_a_query_is_repaired_for_means_nothing_in_a_request(query: str) -> None:
    assert not as_words(query) or not parse(as_words(query)).repairs


def test_operators_quotes_and_fields_of_a_request_are_words() -> None:
    assert as_words('find "red mugs" NOT in type: CLASS, name:x* (or lines:3-5)') == (
        "find red mugs not in type CLASS name x lines 3 5"
    )
    assert parse("class Loader").read_as == "name:Loader"
    assert parse(as_words("class Loader")).read_as == "CLASS Loader"


def test_identifiers_keep_the_capitals_that_part_them() -> None:
    assert as_words("call loadModel() and np.mean") == "call loadModel np mean"


def test_a_request_of_any_length_is_a_query() -> None:
    many = as_words("order " * 100_000)
    assert len(many.split()) == MOST_WORDS
    assert parse(many).plain
    assert parse(as_words("x" * 10 * MAX_BYTES)).plain
    assert parse(as_words("検索" * MAX_BYTES)).plain


@pytest.mark.parametrize("request_", ["", " \n", "?!", "and or", "\u200b", "\ud800"])
def test_a_request_without_a_word_is_no_query(request_: str) -> None:
    assert as_words(request_) == ""


def test_the_parts_of_a_request_are_its_sentences_and_what_commas_divide() -> None:
    asked = "Book a table for two in Rome, then mail the address to my boss. Also convert 40 euros into dollars!"
    assert parts(asked) == [
        "Book a table for two in Rome",
        "then mail the address to my boss",
        "Also convert 40 euros into dollars",
    ]
    assert parts("Book a table, please.") == [], "what says little belongs to what comes before it"
    assert parts("version 1.2.3 of a.b.c: is it newer?") == []
    assert parts("") == parts("!!\n?") == []
    many = parts("Order a mug and pay for it at once. " * 40)
    assert len(many) == MOST_PARTS
    assert sum(len(part.split()) for part in many) == 40 * 8, "no word is lost"


def test_a_part_is_not_drowned_by_the_words_of_another(shop: EmbeddedIndex) -> None:
    asked = (
        "List the orders of a customer, with the account of the customer. Find customers who may create an order or an "
        "account, by the account name of the customer. Tell the weather in Rome."
    )
    for found, is_before in ((shop.search(as_words(asked)), False), (search(shop, asked), True)):
        assert (names(found).index("get_weather") < names(found).index("create_order")) is is_before


def test_a_request_of_one_part_is_a_search_for_its_words(shop: EmbeddedIndex) -> None:
    one, plain = search(shop, 'type: "convert" AND currency'), shop.search("type convert currency")
    assert [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in plain]
    assert one.query == "type convert currency"
    assert not one.repairs


def test_hits_of_a_request_are_in_the_order_of_their_scores_and_within_the_limit(shop: EmbeddedIndex) -> None:
    asked = "List the orders of a customer. Create a customer account. Convert 40 euros into dollars."
    scores = [hit.score for hit in search(shop, asked)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len({hit.id for hit in search(shop, asked)}) > 3
    assert names(search(shop, asked, limit=2)) == names(search(shop, asked))[:2]
    assert len(search(shop, asked, limit=0)) == 0
    assert len(search(shop, "?!")) == 0
    assert {hit.name for hit in search(shop, asked, kinds=[BlockKind.FUNCTION])} == set()
