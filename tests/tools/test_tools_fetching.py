"""Documents by HTTP, from a real server: each failure is one sentence, and private addresses need leave."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from document_server import DocumentServer, Page, endless, trickle

from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError
from codenav.tools import addresses, fetching
from codenav.tools.addresses import is_private, is_same, origin, shown
from codenav.tools.fetching import fetch

UNSIGNED = Path(__file__).parents[1] / "models" / "unsigned.pem"


def typed(url: str) -> tuple[bytes, str]:
    """Fetch an address as if a person had typed it."""
    return fetch(url, trusted=origin(url))


def test_a_document() -> None:
    with DocumentServer({"/openapi.json": {"a": 1}}) as server:
        assert typed(server.url() + "?x=1") == (b'{"a": 1}', server.url() + "?x=1")
        assert server.seen == [("/openapi.json?x=1", f"127.0.0.1:{server.port}")]


@pytest.mark.parametrize(
    ("page", "kind", "message", "hint"),
    [
        (Page(status=401), Unavailable, "is for those who sign in: the server says 401", "download"),
        (Page(status=403), Unavailable, "is denied: the server says 403", "download"),
        (Page(status=404), NotFound, "does not exist: the server says 404", "check the address"),
        (Page(status=410), NotFound, "does not exist: the server says 410", "check the address"),
        (Page(status=429, headers={"Retry-After": "70"}), Unavailable, "the server says 429", "wait for 70 seconds"),
        (Page(status=503), Unavailable, "was not read: the server says 503", "try again"),
        (Page(status=204), Unavailable, "was not read: the server says 204", "download"),
        (Page(status=302), Unavailable, "was not read: the server says 302", "download"),
        (Page(headers={"Content-Encoding": "br"}), Unavailable, "packed as br, which nobody asked for", ""),
        (Page(headers={"Content-Encoding": "gzip"}, body="no"), Unavailable, "it is packed, and is not", ""),
        (Page(status=302, headers={"Location": "/"}), Unavailable, "more than 5 redirects", "download"),
        (Page(status=302, headers={"Location": "ftp://a.example/"}), UsageError, "is no address of HTTP", ""),
        (Page(status=302, headers={"Location": "file:///etc/passwd"}), UsageError, "is no address of HTTP", ""),
    ],
)
def test_answers_without_a_document(page: Page, kind: type[CodeNavError], message: str, hint: str) -> None:
    with DocumentServer({"/": page}) as server, pytest.raises(kind, match=message) as caught:
        typed(server.url("/"))
    assert hint in caught.value.hint and "\n" not in str(caught.value)
    assert len(server.seen) <= 6


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable, match=rf":{port}/a was not read: cannot reach .* refused"):
        typed(f"http://127.0.0.1:{port}/a")


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 1 << 20)
    monkeypatch.setattr(fetching, "SECONDS", 0.3)
    with DocumentServer({"/large": Page(dawdle=endless), "/slow": Page(dawdle=trickle)}) as server:
        with pytest.raises(Unavailable, match=r"no whole answer from .* within the time of the call"):
            typed(server.url("/slow"))
        monkeypatch.setattr(fetching, "SECONDS", 60.0)
        with pytest.raises(Unavailable, match="has over 1 MiB and was cut off"):
            typed(server.url("/large"))


def test_a_certificate_that_nobody_signed() -> None:
    with DocumentServer({"/": "a: 1"}, UNSIGNED) as server:
        with pytest.raises(Unavailable, match=r"https://localhost:.* its certificate is not trusted") as caught:
            typed(server.url("/", "localhost"))
        assert "SSL_CERT_FILE" in caught.value.hint
        with pytest.raises(Unavailable, match="was not read"):
            typed(f"http://localhost:{server.port}/")
    with DocumentServer({"/": "a: 1"}) as plain, pytest.raises(Unavailable, match=r"https://localhost.*TLS failed"):
        typed(f"https://localhost:{plain.port}/")


def test_a_name_is_verified_though_its_checked_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
               "-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "cert"]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "cert").read_text() + (tmp_path / "key").read_text())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    # As if it were a public address, which no test can have.
    monkeypatch.setattr(addresses, "is_private", lambda address: False)
    monkeypatch.setattr(addresses, "addresses", lambda host, port: ["127.0.0.1"])
    with DocumentServer({"/": "a: 1"}, both) as server:
        assert fetch(server.url("/", "localhost"))[0] == b"a: 1"
        assert server.seen == [("/", f"localhost:{server.port}")]
        with pytest.raises(Unavailable, match=r"https://other.example.* its certificate is not trusted"):
            fetch(server.url("/", "other.example"))


def test_private_addresses_need_leave() -> None:
    with DocumentServer({"/": "a: 1"}) as server:
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(UsageError, match="is in a private network: refused") as caught:
                fetch(server.url("/", host))
            assert "--set allow_private=yes" in caught.value.hint
        assert server.seen == []
        assert fetch(server.url("/"), allow_private=True)[0] == b"a: 1"


def test_redirects_do_not_lead_into_the_private_network() -> None:
    with DocumentServer({"/": "secret: 1"}) as inside:
        elsewhere = Page(status=307, headers={"Location": inside.url("/")})
        own = Page(status=301, headers={"Location": "/found"})
        with DocumentServer({"/": elsewhere, "/own": own, "/found": "a: 1"}) as server:
            with pytest.raises(UsageError, match=r"leads there: .* is in a private network: refused"):
                typed(server.url("/"))
            assert inside.seen == []
            assert typed(server.url("/own")) == (b"a: 1", server.url("/found"))
            assert fetch(server.url("/"), allow_private=True)[0] == b"secret: 1"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
     "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
     "ff02::1", "nonsense"],
)  # fmt: skip
def test_private(address: str) -> None:
    assert is_private(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public(address: str) -> None:
    assert not is_private(address)


@pytest.mark.parametrize(
    "url",
    ["http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/",
     "http://localhost./", "http://user:pw@127.0.0.1/"],
)  # fmt: skip
def test_other_ways_to_write_a_private_address(url: str) -> None:
    with pytest.raises((UsageError, Unavailable), match=r"private network: refused|is not known") as caught:
        fetch(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://", "http:///a", "http://[::1", "http://a:b/", "http://a b/", "http://a\r\nb/"])
def test_no_addresses(url: str) -> None:
    with pytest.raises(UsageError, match="is no address") as caught:
        fetch(url)
    assert "\n" not in str(caught.value)


def test_what_is_the_same_origin() -> None:
    plain, encrypted = origin("http://shop.example"), origin("https://shop.example")
    assert is_same(plain, plain) and is_same(encrypted, plain) and is_same(origin("HTTP://SHOP.example:80/a"), plain)
    assert not is_same(plain, encrypted) and not is_same(origin("https://other.example"), plain)
    assert not is_same(origin("http://shop.example:81"), plain) and not is_same(plain, None)


def test_no_password_is_shown() -> None:
    assert shown("https://me:secret@shop.example/a@b") == "https://shop.example/a@b"
