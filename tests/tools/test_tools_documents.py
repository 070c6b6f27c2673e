"""YAML and JSON from text that nobody vouches for."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

from codenav.core.errors import NotFound, UsageError
from codenav.core.system.collecting import uncollected
from codenav.tools import documents
from codenav.tools.documents import DEEPEST, parse, read_file


def test_yaml_is_read_by_version_1_2() -> None:
    text = b"""
country: NO
answer: yes
on: 1
date: 2020-01-02
time: 12:30
stamp: 2001-12-14t21:59:43.10-05:00
octal: 0o17
zero: 010
hex: 0x1F
whole: -12
real: 1.5e3
point: .5
none: ~
empty:
quoted: "12"
true: false
200: {description: fine}
1.10: version
block: |
  two
  lines
set: !!str 12
binary: !!binary aGk=
python: !!python/object/apply:os.system ["exit 1"]
"""
    assert parse(text, "f") == {
        "country": "NO", "answer": "yes", "on": 1, "date": "2020-01-02", "time": "12:30",
        "stamp": "2001-12-14t21:59:43.10-05:00", "octal": 15, "zero": 10, "hex": 31, "whole": -12, "real": 1500.0,
        "point": 0.5, "none": None, "empty": None, "quoted": "12", "true": False, "200": {"description": "fine"},
        "1.10": "version", "block": "two\nlines\n", "set": "12", "binary": "aGk=", "python": ["exit 1"],
    }  # fmt: skip


def test_aliases_and_merges() -> None:
    text = b"base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}\nboth: {<<: [{a: 7}, *base]}\nagain: *base\n"
    assert parse(text, "f") == {
        "base": {"a": 1, "b": 2}, "own": {"a": 1, "b": 3}, "both": {"a": 7, "b": 2}, "again": {"a": 1, "b": 2},
    }  # fmt: skip


def bomb(last: str) -> bytes:
    lines = ["a0: &a0 {x: [y, y, y, y, y, y, y, y, y]}"]
    lines += [last.replace("N", str(number)).replace("M", str(number - 1)) for number in range(1, 40)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"hello there", "is a plain text"),
        (b"null", "is a plain text"),
        (b"<!DOCTYPE html><html></html>", "is an HTML page, not a document"),
        (b"\n  <HTML lang=en>", "is an HTML page, not a document"),
        (b"<?xml version='1.0'?><a/>", "is XML"),
        (b'{"a": 1,\n "b": tru}x', "is not valid JSON: line 2"),
        (b'{"a": [1, 2}', "is not valid JSON: line 1"),
        (b"a: [1, 2\nb: 3", "is not valid YAML: line 2"),
        (b"a: 1\n\tb: 2", "is not valid YAML: line 2"),
        (b"a: *nobody", "is not valid YAML: line 1: found undefined alias"),
        (b"a: &x 1\nb: &x 2\n", "is not valid YAML: line 2: second occurrence"),
        (b"---\na: 1\n---\nb: 2\n", "is not valid YAML: line 3"),
        (b"a: 1\nb: 2\na: 3\n", "has the key 'a' twice in one place: line 3"),
        (b"? [a, b]\n: c", "has a key that is no text: line 1"),
        (b"a: {<<: [1]}", "merges something without keys: line 1"),
        (b"a: &a [*a]", "has an alias inside of what it stands for: line 1"),
        (bomb("aN: &aN [" + ", ".join(["*aM"] * 9) + "]"), "grows to over 1,000,000 values by its aliases"),
        (bomb("aN: &aN {<<: [" + ", ".join(["*aM"] * 9) + "]}"), "grows to over 1,000,000 values by its aliases"),
        (b"[" * 300 + b"]" * 300, f"is nested deeper than {DEEPEST} levels"),
        (b'{"a":' * 201 + b"1" + b"}" * 201, f"is nested deeper than {DEEPEST} levels"),
        (b"a: " + b"[" * 100_000, f"is nested deeper than {DEEPEST} levels"),
        (b"a: " + b"{a: " * 500 + b"}" * 500, f"is nested deeper than {DEEPEST} levels"),
        (b"- " * 100_000, f"is nested deeper than {DEEPEST} levels"),
        (b"\n".join(b" " * level + b"a:" for level in range(2_000)), f"is nested deeper than {DEEPEST} levels"),
        (b"caf\xe9: 1", "is not UTF-8 text: line 1"),
        (b"a: 1\nb: \xff", "is not UTF-8 text: line 2"),
        (b"a: \x00", "is no text: it has zero bytes"),
        (b"PK\x03\x04\x00\x00", "is no text: it has zero bytes"),
        (b"\xff\xfea", "is not UTF-16 text"),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else "",
)
def test_what_cannot_be_read(text: bytes, message: str) -> None:
    with pytest.raises(UsageError, match="^shop.yaml " + re.escape(message)) as caught:
        parse(text, "shop.yaml")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_depth_within_the_bound() -> None:
    value = parse(b"[" * DEEPEST + b"]" * DEEPEST, "f")
    for _ in range(DEEPEST - 1):
        (value,) = value
    assert value == []


def test_encodings_and_json_with_comments() -> None:
    assert parse("\ufeffa: größe".encode(), "f") == {"a": "größe"}
    assert parse('{"a": "größe"}'.encode("utf-16"), "f") == {"a": "größe"}
    assert parse(b'{"a": 1, # why\n}', "f") == {"a": 1}


def test_a_document_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST", 1 << 20)
    with pytest.raises(UsageError, match="f is larger than 1 MiB"):
        parse(b"a: 1\n" + b"#" * (1 << 20), "f")


def test_files(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_file(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="is a folder"):
        read_file(tmp_path)
    (tmp_path / "a.yaml").write_text("a: 1")
    assert read_file(tmp_path / "a.yaml") == {"a": 1}
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "a.yaml" / "b.yaml")


def test_collection_goes_on_afterwards() -> None:
    with pytest.raises(ValueError, match="inside"), uncollected():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
