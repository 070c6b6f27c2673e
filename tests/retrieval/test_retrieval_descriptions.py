"""Plain words that describe what is looked for, in a code base that is made after what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.retrieval.source_index import SourceIndex

FILES = {
    "shop/passwords.py": '''
        from typing import overload

        class TimeFormat:
            def a(self):
                """Lower case "a.m." or "p.m.": hash it, if you must."""
                return "a.m."

        def make_password(password, salt=None):
            """Turn a plain-text password into a hash for storage in the database.

            The salt is random where it is left out.
            """
            return password

        def _make_password_hash(password):
            """Turn a plain-text password into a hash for storage."""
            return password

        @overload
        def shelf_label(number: int) -> str: ...
        @overload
        def shelf_label(number: str) -> str: ...
        def shelf_label(number):
            """The label on a shelf of the store room."""
            return str(number)
        ''',
    "shop/files.py": '''
        def remove_directory(path, keep_root=False):
            """Delete all that is below a directory."""

        def split_rows_columns_rows_rows(table):
            return table

        def split_table(table, rows):
            """Cut a table into parts with so many rows each."""

        def weigh(parcel, tolerance_grams):
            """Put it onto the scales.

            :param tolerance_grams: how far off the scales may be, whichever city they are in
            """
        ''',
    "shop/vendor/tables.py": '''
        def split_table(table, rows):
            """Cut a table into parts with so many rows each."""
            return [table]
        ''',
    "shop/orders.py": '''
        class Daily:
            def total(self):
                """Sum up what all customers owe."""
                return 1

        class Weekly:
            def total(self):
                """Sum up what all customers owe.

                For seven days.
                """
                return 7

            def total_before_tax(self):
                """Sum up what all customers owe."""
        ''',
    "shop/copy/files.py": '''
        def split_table(table, rows):
            """Cut a table into parts with so many rows each."""
        ''',
    "shop/replacements.py": '''
        """What is done about broken parcels.

        Customers send them back and get others; who pays for that is decided in the office.
        """

        def get_other(parcel, paid_by=None):
            """Return what to send to the customer for a broken parcel, None if nothing is left.

            It keeps the number of the first.
            """
        ''',
    "tests/test_passwords.py": '''
        def test_make_password_turns_a_plain_text_password_into_a_hash():
            """Turn a plain-text password into a hash for storage in the database."""
        ''',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("described")
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(line[8:] for line in text.split("\n")), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def shop(folder: Path) -> Iterator[SourceIndex]:
    with codenav.index(folder) as index:
        yield index


def names(index: SourceIndex, query: str, limit: int = 10) -> list[str]:
    return [hit.qualname for hit in index.search(query, limit=limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("hash a password", "make_password"),
        ("how do I hash a password?", "make_password"),
        ("(type: FUNCTION) AND (text: hash a password)", "make_password"),
        ("hashes of passwords", "make_password"),
        ("labels on shelves of the store room", "shelf_label"),
        ("password make", "make_password"),
        ("tolerance in grams", "weigh"),
        ("cut tables", "split_table"),
    ],
)
def test_what_is_described_comes_first(shop: SourceIndex, query: str, first: str) -> None:
    assert names(shop, query)[0] == first


@pytest.mark.parametrize(
    ("query", "found"),
    [("one sunny day", "Weekly.total"), ("cities by night", "weigh"), ("city by night", "weigh"), ("offs", "weigh")],
)
def test_the_rest_of_a_docstring_is_compared_in_both_numbers(folder: Path, query: str, found: str) -> None:
    with codenav.index(folder, vectors=False) as index:
        assert names(index, query) == [found]


def test_stop_words_find_nothing_beside_other_words(shop: SourceIndex) -> None:
    assert "TimeFormat.a" not in names(shop, "cut a table")
    assert names(shop, "a")[0] == "TimeFormat.a"


def test_public_code_comes_before_private_code_and_both_before_tests(shop: SourceIndex) -> None:
    found = names(shop, "turn a plain-text password into a hash for storage")
    assert found[0] == "make_password"
    assert found.index("_make_password_hash") < found.index(
        "test_make_password_turns_a_plain_text_password_into_a_hash"
    )


def test_what_a_module_says_of_itself_comes_after_what_is_in_it(shop: SourceIndex) -> None:
    assert names(shop, "replace a broken parcel", limit=2) == ["get_other", "shop.replacements"]
    assert names(shop, "shop replacements")[0] == "shop.replacements"  # the words of its name


def test_a_name_that_the_words_cover_comes_before_one_that_repeats_a_word(shop: SourceIndex) -> None:
    found = names(shop, "split table rows")
    assert found.index("split_table") < found.index("split_rows_columns_rows_rows")


def test_overloads_and_copies_come_once_in_plain_words_and_each_with_a_field(shop: SourceIndex) -> None:
    assert names(shop, "shelf label").count("shelf_label") == names(shop, "shelf_label").count("shelf_label") == 1
    assert shop.search("shelf label")[0].docstring
    assert names(shop, "name:shelf_label").count("shelf_label") == 3
    plain = [hit.path for hit in shop.search("cut table parts rows") if hit.name == "split_table"]
    assert plain == ["shop/copy/files.py"]
    assert names(shop, "name:split_table").count("split_table") == 3


def test_a_name_comes_once_where_it_is_said_to_do_the_same(shop: SourceIndex) -> None:
    found = names(shop, "what customers owe")
    assert sum(name.endswith(".total") for name in found) == 1
    assert "Weekly.total_before_tax" in found


def test_near_words_find_what_no_word_of_the_query_is_in(shop: SourceIndex) -> None:
    hit = shop.search("erase folder")[0]
    assert (hit.qualname, hit.why) == ("remove_directory", "meaning")
    assert shop.search("folder")[0].qualname == "remove_directory"


@pytest.mark.parametrize(
    "query",
    [
        "type:FUNCTION AND folder",
        '"erase folder"',
        "+folder erase",
        "folder OR eraser",
        "folde*",
        "name:folder",
        "folder AND erase",
    ],
)
def test_what_must_match_must_match(shop: SourceIndex, query: str) -> None:
    assert names(shop, query) == []


def test_without_vectors_the_words_alone_count(folder: Path) -> None:
    with codenav.index(folder, vectors=False) as index:
        assert names(index, "erase folder") == []
        hit = index.search("hash a password")[0]
        assert (hit.qualname, hit.why) == ("make_password", "name: part")


def test_the_reading_of_plain_words_is_words(shop: SourceIndex) -> None:
    result = shop.search("hash a password")
    again = shop.search(result.read_as)
    assert (result.read_as, result.repairs) == ("hash a password", ())
    assert [hit.id for hit in again] == [hit.id for hit in result]
    assert shop.search("hash OR password").read_as == "hash OR password"


def test_fewer_hits_are_the_first_of_more(shop: SourceIndex) -> None:
    every = names(shop, "turn password into hash table", 100)
    assert len(every) > 4
    for limit in (0, 1, 3, 4):
        assert names(shop, "turn password into hash table", limit) == every[:limit]
