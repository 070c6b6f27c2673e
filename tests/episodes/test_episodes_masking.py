"""Secrets in what comes out of a sandbox: as written, escaped, encoded, cut, in pieces."""

from __future__ import annotations

import base64
import html
import json
import random
import unicodedata
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import pytest

from codenav.core.secrets.masking import StreamMasker, masker

PLAIN = "hunter2-Zq81xv"
ODD = "p'ä\"ss\\w/o <r>&d\n\U0001f511=1%z"
NAMES = {"PLAIN": PLAIN, "ODD": ODD}
mask = masker({"TOKEN": PLAIN, "ODD": ODD})
WRITERS = {
    "as it is": str,
    "repr": lambda text: repr(text)[1:-1],
    "ascii": lambda text: ascii(text)[1:-1],
    "repr of a repr": lambda text: repr(repr(text)),
    "bytes": lambda text: repr(text.encode()),
    "JSON": json.dumps,
    "JSON with signs": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"key": text})),
    "JSON with capitals": lambda text: json.dumps(text).replace("\\ud83d\\udd11", "\\uD83D\\uDD11"),
    "JSON for a script": lambda text: json.dumps(text).replace("<", "\\u003c").replace("&", "\\u0026"),
    "HTML": html.escape,
    "HTML without quotes": lambda text: html.escape(text, quote=False),
    "HTML twice": lambda text: html.escape(html.escape(text)),
    "HTML with numbers": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace").decode(),
    "Jinja": lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "XML": escape,
    "an attribute of XML": lambda text: quoteattr(text, {"'": "&apos;"}),
    "URL": lambda text: quote(text, safe=""),
    "URL with slashes": quote,
    "a form": quote_plus,
    "URL in small letters": lambda text: quote(text).lower() if text is ODD else text,
    "URL in a URL": lambda text: quote(quote(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 with a name": lambda text: base64.b64encode(b"user:" + text.encode()).decode(),
    "base64 with a long name": lambda text: base64.b64encode(b"user12:" + text.encode() + b"zz").decode(),
    "base64 for a URL": lambda text: base64.urlsafe_b64encode(b"1" + text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex().upper(),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("value", [PLAIN, ODD], ids=["plain", "odd"])
def test_each_way_to_write_a_secret_is_masked_and_no_more(writer, value):
    written = WRITERS[writer](value)
    name = "TOKEN" if value is PLAIN else "ODD"
    found = mask(f"before {written} after")
    assert f"[secret {name}]" in found
    assert found.startswith("before ") and found.endswith(" after")
    left = found.replace(f"[secret {name}]", "").removeprefix("before ").removesuffix(" after")
    assert len(left) <= 24, left
    assert not any(part in left for part in ("hunter", "Zq81", "ss\\", "dXNlcjpodW"[-4:] if value is PLAIN else "ss\\"))


def test_text_without_a_secret_stays():
    for text in ("", "hunter", "a … b", "…", "x...", '{"a": "\\u00e4"}', "100 % & <b>"):
        assert mask(text) == text


@pytest.mark.parametrize("kept", range(4, len(PLAIN)))
def test_what_is_left_of_a_cut_secret_is_masked(kept):
    for text in (
        f"x {PLAIN[:kept]}\n… 99 bytes left out …\ny",
        f"x\n… 99 bytes left out …\n{PLAIN[-kept:]} y",
        f"'{PLAIN[:kept]} … {PLAIN[-3:]}'",
        f"b'{PLAIN[:kept]}'…",
        f"['{PLAIN[:kept]}...', 1]",
        f"x {PLAIN[:kept]}…",
    ):
        found = mask(text)
        assert "[secret TOKEN]" in found
        assert PLAIN[:4] not in found and PLAIN[-4:] not in found


def test_an_escape_that_a_cut_went_through_is_masked_with_it():
    for text in ("p'ä\"ss\\", "p'ä&quot;ss&#", "p'\\u00e4\\\"ss\\\\w/o \\u0", "p%27%C3%A4%22ss%5"):
        assert mask(f"x {text} … y") == "x [secret ODD] … y"
    assert mask(f"… {json.dumps(ODD)[8:-1]}") == "… [secret ODD]"


def test_names_types_and_displays_are_masked_and_the_words_of_the_format_are_not():
    page = f"<p>{html.escape(ODD)}</p>".encode()
    data = {
        "outcome": "ok",
        "error": {"type": f"Bad{PLAIN}", "message": "", "traceback": ""},
        "changed": [{"name": f"x{PLAIN}", "type": PLAIN, "repr": "1"}],
        f"key {PLAIN}": {"type": "text", "seconds": 1.0},
        "displays": [
            {"mime": "text/html", "data": base64.b64encode(page).decode()},
            {"mime": "image/png", "data": base64.b64encode(PLAIN.encode() * 3).decode()},
        ],
    }
    found = mask(data)
    pictures = found.pop("displays")
    assert PLAIN not in repr(found) and found["outcome"] == "ok"
    assert found["key [secret TOKEN]"] == {"type": "text", "seconds": 1.0}
    assert base64.b64decode(pictures[0]["data"]) == b"<p>[secret ODD]</p>"
    assert pictures[1] == data["displays"][1]
    assert masker({"WORD": "outcome", "TYPE": "ok"})({"outcome": "ok"}) == {"outcome": "ok"}


def test_a_line_of_a_key_is_masked_by_itself():
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEA1234\n-----END PRIVATE KEY-----\n"
    found = masker({"KEY": key})
    assert found(f"x {key}") == "x [secret KEY]"
    assert found("2: AQEFAASCBKcwggSjAgEA1234") == "2: [secret KEY]"


@pytest.mark.parametrize("writer", WRITERS)
def test_in_pieces_a_stream_is_masked_as_in_one(writer):
    text = f"start {WRITERS[writer](ODD)} hunter2 {WRITERS[writer](PLAIN)}{PLAIN}. hunter2-"
    dice = random.Random(writer)
    for _ in range(20):
        stream, shown, at = StreamMasker({"TOKEN": PLAIN, "ODD": ODD}), "", 0
        while at < len(text):
            size = dice.randint(1, 12)
            shown += stream.feed(text[at : at + size])
            at += size
        assert shown + stream.end() == mask(text)


def test_a_stream_without_a_secret_does_not_wait():
    stream = StreamMasker({"TOKEN": PLAIN})
    assert [stream.feed(piece) for piece in ("one\n", "tax.", f"{PLAIN}\n", "hun", "t!")] == [
        "one\n", "tax.", "[secret TOKEN]\n", "", "hunt!",
    ]  # fmt: skip
    assert StreamMasker({}).feed("anything") == "anything"


@pytest.mark.parametrize("value", ["pässwörd-Ünï-ß", "ключ-от-двери", "clé-€uro-à-moi"])
def test_a_secret_beyond_ascii_is_found_in_each_encoding_that_it_comes_back_in(value: str) -> None:
    data = value.encode()
    read = data.decode("latin-1")
    shown = {
        value, unicodedata.normalize("NFD", value), json.dumps(value), quote(value), repr(data), read, json.dumps(read),
        repr(read), read.encode().decode("latin-1"), data.decode("cp1252", "ignore") if "ß" in value else read,
        value.encode("ascii", "replace").decode(), value.encode("ascii", "xmlcharrefreplace").decode(), data.hex(),
    }  # fmt: skip
    if "ß" in value:
        shown |= {
            quote(value.encode("latin-1")),
            repr(value.encode("latin-1")),
            value.encode("latin-1").decode("utf-8", "replace"),
        }
    mask = masker({"KEY": value})
    assert {text: mask(text).strip("b'\"") for text in shown} == dict.fromkeys(shown, "[secret KEY]")
