"""Bytes to text: any encoding survives."""

from __future__ import annotations

import random

import pytest

from codenav.indexers.decode import asks_to_be_left_out, decode, is_binary

TEXT = "# größe 长\nx = 'é'\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be", "utf-32-be"])
def test_unicode_encodings_with_their_marks(encoding: str) -> None:
    data = (("\ufeff" if encoding.endswith("-be") else "") + TEXT).encode(encoding)
    assert decode(data) == TEXT
    assert not is_binary(data)


@pytest.mark.parametrize(
    ("first", "encoding"),
    [
        ("# -*- coding: latin-1 -*-\n", "latin-1"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n", "cp1252"),
        ("\n# coding: koi8-r\n", "koi8-r"),
        ("# coding: shift_jis\r\n", "shift_jis"),
    ],
)
def test_an_encoding_cookie_counts_in_python_files(first: str, encoding: str) -> None:
    letter = {"latin-1": "é", "cp1252": "€", "koi8-r": "ж", "shift_jis": "日"}[encoding]
    data = (first + f"x = '{letter}'\n").encode(encoding)
    assert f"x = '{letter}'" in decode(data, cookie=True)


@pytest.mark.parametrize(
    "name",
    ["punycode", "PunyCode", "puny_code", "idna", "raw_unicode_escape", "nonsense", "hex", "rot13", "undefined",
     "unicode_escape", "utf-16", "zip", "utf-7", "cp037", "os"],
)  # fmt: skip
def test_a_codec_that_is_no_character_set_is_not_tried(name: str) -> None:
    data = f"# coding: {name}\nx = 'é'\n".encode() + b"-" + b"b9" * 240_000
    assert decode(data, cookie=True) == data.decode()


CHARSETS = [
    "ascii", "big5", "big5hkscs", "cp1125", "cp1250", "cp1251", "cp1252", "cp1255", "cp1256", "cp437", "cp866", "cp874",
    "cp932", "cp949", "euc_jis_2004", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "hp-roman8", "hz", "iso2022_jp",
    "iso2022_jp_2", "iso2022_kr", "iso8859-1", "iso8859-5", "iso8859-15", "johab", "koi8-r", "koi8-t", "koi8-u",
    "kz1048", "mac-cyrillic", "mac-roman", "ptcp154", "shift_jis", "shift_jisx0213", "tis-620", "utf-8", "utf-8-sig",
]  # fmt: skip


@pytest.mark.parametrize("name", CHARSETS)
def test_the_character_sets_of_python(name: str) -> None:
    letters = "".join(letter for letter in "éжก日가شא" if letter.encode(name, "ignore"))
    data = f"# coding: {name}\nx = '{letters}'\n".encode(name)
    assert f"x = '{letters}'" in decode(data, cookie=True)
    assert letters or name == "ascii"


def test_a_cookie_below_code_or_in_the_third_line_does_not_count() -> None:
    assert "é" in decode("x = 1\n# coding: koi8-r\n# é\n".encode(), cookie=True)
    assert "é" in decode("\n\n# coding: koi8-r\n# é\n".encode(), cookie=True)


def test_bytes_that_are_no_unicode_are_read_as_latin_1() -> None:
    assert decode(b"x = '\xe9\xff'\n") == "x = 'éÿ'\n"


def test_line_ends_become_newlines() -> None:
    assert decode(b"a\r\nb\rc\nd") == "a\nb\nc\nd"


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_give_text_that_can_be_stored(seed: int) -> None:
    chance = random.Random(seed)
    marks = [b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"# coding: utf-7\n", b"\xff\xfe\x00\x00"]
    text = decode(chance.choice(marks) + chance.randbytes(500), cookie=True)
    assert text.encode("utf-8") and "\r" not in text


def test_binary() -> None:
    assert is_binary(b"\x7fELF\x02\x01\x01\x00\x00")
    assert is_binary(b"a" * 7999 + b"\0")
    assert not is_binary(b"a" * 8000 + b"\0")
    assert not is_binary("é漢".encode())
    assert is_binary("x = 1".encode("utf-16-le"))


@pytest.mark.parametrize(
    "first",
    [
        "# index: false",
        "#index:false",
        "<!-- index: false -->",
        ".. index: false",
        "// Index: False",
        "  -- index : false",
        '"""index: false"""',
        "/* index: false */",
    ],
)
def test_a_first_line_may_ask_to_be_left_out(first: str) -> None:
    assert asks_to_be_left_out(first + "\nx = 1\n")


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n# index: false\n",
        "# index: true\n",
        "# index: false alarms\n",
        "index: false\n",
        "df.set(index: false)\n",
        "# reindex: false\n",
        "",
    ],
)
def test_other_first_lines_do_not(text: str) -> None:
    assert not asks_to_be_left_out(text)
