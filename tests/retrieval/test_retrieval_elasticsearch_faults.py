"""What can be wrong with a cluster, and what a user is told: one sentence and a hint; the old index stays."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from elasticsearch_server import Server

from codenav.core.blocks import FileChange
from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable, NotFound, StorageFull, UsageError
from codenav.core.system.interpreter import find_interpreter
from codenav.retrieval.elastic.store import ElasticsearchStore
from codenav.retrieval.source_index import open_index
from retrieval.elastic import many, one, store_of


@pytest.fixture(scope="module")
def secured() -> Iterator[Server]:
    """A server with TLS, where the users have roles; the password of all is `secured.password`."""
    roles = {
        "reader": {"indices": [{"names": ["codenav-*"], "privileges": ["read", "view_index_metadata"]}]},
        "writer": {"indices": [{"names": ["codenav-*"], "privileges": ["all"]}]},
        "only": {
            "indices": [{"names": ["codenav-path*", "codenav-*-*"], "privileges": ["read", "view_index_metadata"]}]
        },
        "nobody": {"indices": [{"names": ["other-*"], "privileges": ["read"]}]},
    }
    with Server(tls=True, roles=roles) as server:
        yield server


def ca(server: Server) -> dict[str, str]:
    return {"elasticsearch_ca_file": str(server.ca_file)}


def at(url: str, **given: Any) -> ElasticsearchStore:
    return ElasticsearchStore(StoreOptions(store="elasticsearch", elasticsearch_url=url, **given), patience=0.5)


@contextlib.contextmanager
def web_server(status: int, body: bytes, *, kind: str = "text/html", product: str = "") -> Iterator[str]:
    """Any server that answers everything with the same."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if product:
                self.send_header("x-elastic-product", product)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = respond

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def told(store: ElasticsearchStore) -> IndexUnavailable:
    """The error of opening an index: one line, a hint, exit code 4."""
    try:
        with pytest.raises(IndexUnavailable) as caught:
            store.open("any", source="s")
    finally:
        store.close()
    error = caught.value
    assert error.exit_code == 4 and error.hint and "\n" not in str(error) and len(str(error)) < 500
    return error


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "no Elasticsearch is configured"),
        ("localhost:9200", "must begin with http"),
        ("htp://localhost:9200", "must begin with http"),
        ("ftp://localhost:9200", "must begin with http"),
        ("http://localhost", "names no port"),
        ("http://:9200", "not the base URL"),
        ("http://local host:9200", "not the base URL"),
        ("http://localhost:92000", "is not a URL"),
        ("http://localhost:port", "is not a URL"),
        ("http://[::1:9200", "is not a URL"),
        ("http://localhost:9200/?pretty", "not the base URL"),
        ("http://localhost:9200,localhost:9201", "must begin with http"),
        ("elastic:secret@localhost:9200", "must begin with http"),
        ("http://elastic:secret@localhost", "names no port"),
        ("http://elastic:secret@local host:9200", "not the base URL"),
        ("http://elastic:secret@localhost:port", "is not a URL"),
    ],
)
def test_a_typo_in_the_url_is_wrong_usage(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        at(url)
    assert caught.value.exit_code == 2 and "secret" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"elasticsearch_user": "u", "elasticsearch_api_key": "k"}, "an API key and a user"),
        ({"elasticsearch_password": "p"}, "no user"),
        ({"elasticsearch_api_key": "id: key\n"}, "not in its encoded form"),
        ({"elasticsearch_replicas": -1}, "elasticsearch_replicas must be"),
        ({"elasticsearch_shards": 0}, "elasticsearch_shards must be"),
    ],
)
def test_options_that_cannot_be_right_are_wrong_usage(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        at("http://localhost:9200", **given)


def test_a_ca_file_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        at("https://localhost:9200", elasticsearch_ca_file=str(tmp_path / "none.pem"))
    (tmp_path / "ca.pem").write_text("this is no certificate")
    with pytest.raises(UsageError, match="no certificate that can be read"):
        at("https://localhost:9200", elasticsearch_ca_file=str(tmp_path / "ca.pem"))
    with pytest.raises(UsageError, match="no certificate that can be read"):
        at("https://localhost:9200", elasticsearch_ca_file=str(tmp_path))


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "nothing listens" in str(told(at(f"http://127.0.0.1:{port}")))
    error = told(at(f"http://elastic:secret@127.0.0.1:{port}"))
    assert "secret" not in str(error) + error.hint + repr(error)


def test_there_is_no_such_host() -> None:
    assert "no host of the name" in str(told(at("http://no-such-host.invalid:9200")))


def test_a_server_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        error = told(at(f"http://127.0.0.1:{server.getsockname()[1]}"))
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert "broke" in str(error) and "https://" in error.hint


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>welcome</html>", "text/html"),
        (200, b'{"version": {"distribution": "opensearch", "number": "2.11.0"}}', "application/json"),
        (200, b"", "text/plain"),
        (200, b"\x89PNG", "image/png"),
        (404, b"<html>not found</html>", "text/html"),
        (404, b'{"detail": "Not Found"}', "application/json"),
        (401, b"who are you?", "text/plain"),
        (403, b'{"error": "forbidden"}', "application/json"),
        (301, b"", "text/html"),
        (500, b"oops", "text/plain"),
    ],
)
def test_what_is_no_elasticsearch_is_told(status: int, body: bytes, kind: str) -> None:
    with web_server(status, body, kind=kind) as url:
        assert "is no Elasticsearch" in str(told(at(url)))


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_its_server_is_told(status: int) -> None:
    with web_server(status, b"<html>bad gateway</html>") as url:
        assert f"a proxy answers at {url}" in str(told(at(url)))


@pytest.mark.parametrize(
    ("version", "says"), [("7.17.9", "too old: 8 or 9"), ("1.0", "too old"), ("10.2.0", "newer than what is known")]
)
def test_versions_that_are_not_known(version: str, says: str) -> None:
    body = json.dumps({"nodes": {"a": {"version": version}}}).encode()
    with web_server(200, body, kind="application/json", product="Elasticsearch") as url:
        assert says in str(told(at(url)))


def test_an_answer_that_is_cut(elasticsearch: Server) -> None:
    with web_server(200, b'{"nodes": {"a"', kind="application/json", product="Elasticsearch") as url:
        assert "cannot be read" in str(told(at(url)))


def test_a_wrong_password(secured: Server) -> None:
    wrong = {"elasticsearch_user": "elastic", "elasticsearch_password": "wrong-secret"}
    error = told(at(secured.url, **wrong, **ca(secured)))
    assert "does not accept the password of elastic" in str(error) and "PASSWORD" in error.hint
    assert "wrong-secret" not in str(error) + error.hint
    assert "asks for a user and a password" in str(told(at(secured.url, **ca(secured))))
    assert "the API key" in str(told(at(secured.url, elasticsearch_api_key="aWQ6a2V5", **ca(secured))))
    host = secured.url.removeprefix("https://")
    told(at(f"https://elastic:wrong-secret@{host}", **ca(secured)))
    inside = at(f"https://elastic:{secured.password}@{host}", **ca(secured))
    index = inside.open("secured", source="s")
    index.apply([one("inside")])
    assert [hit.name for hit in index.search("inside")] == ["inside"]
    assert secured.password not in repr(inside) + repr(index)
    inside.close()


def test_a_certificate_that_nobody_knows(secured: Server) -> None:
    error = told(at(secured.url))
    assert "is not signed by" in str(error) and "--set elasticsearch.ca_file" in error.hint
    assert "https://" in told(at(secured.url.replace("https://", "http://"))).hint


def test_rights_that_are_missing(secured: Server) -> None:
    with store_of(secured, **ca(secured), elasticsearch_user="writer") as store:
        store.open("roles", source="s").apply([one("first")])
        assert [hit.name for hit in store.open("roles", source="s").search("first")] == ["first"]
    with store_of(secured, **ca(secured), elasticsearch_user="reader") as store:
        index = store.open("roles", source="s")
        assert [hit.name for hit in index.search("first")] == ["first"]
        with pytest.raises(StorageFull, match="does not let reader do that") as caught:
            index.apply([one("second")])
        assert caught.value.exit_code == 4 and "the role needs" in caught.value.hint
        assert [hit.name for hit in index.search("*")] == ["first"]
        assert "roles" in [item.key for item in store.list()]
    refused = pytest.raises(IndexUnavailable, match="does not let nobody do that")
    with store_of(secured, **ca(secured), elasticsearch_user="nobody") as store, refused:
        store.open("roles", source="s")


def test_a_reader_is_answered_from_the_state_before(secured: Server, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def first(): ...\n")
    python, notes = find_interpreter(), list[str]()
    with store_of(secured, **ca(secured), elasticsearch_user="writer") as store:
        open_index(tmp_path, python=python, store=store).close()
    (tmp_path / "a.py").write_text("def second(): return 2\n")
    for user in ("reader", "only"):
        with store_of(secured, **ca(secured), elasticsearch_user=user) as store:
            index = open_index(tmp_path, python=python, store=store, notice=notes.append)
            assert [hit.name for hit in index.search("name:*")] == ["first"]
            with pytest.raises(StorageFull, match=f"does not let {user} do that"):
                open_index(tmp_path, python=python, store=store, wait=True)
            index.close()
            (tmp_path / "b").mkdir(exist_ok=True)
            (tmp_path / "b" / "b.py").write_text("b = 1\n")
            with pytest.raises(StorageFull, match=f"does not let {user} do that"):
                open_index(tmp_path / "b", python=python, store=store)
    assert len(notes) == 2 and all("answering from the state before it" in note for note in notes)


def test_tls_to_a_port_without(elasticsearch: Server) -> None:
    error = told(at(elasticsearch.url.replace("http://", "https://")))
    assert "does not speak TLS" in str(error) and "http://" in error.hint


def blocked(server: Server, setting: str, index: str = "") -> contextlib.AbstractContextManager[None]:
    """A block of the whole cluster or of an index."""

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        path = f"{index}/_settings" if index else "_cluster/settings"
        server.request("PUT", path, {setting: True} if index else {"persistent": {setting: True}})
        try:
            yield
        finally:
            server.request("PUT", path, {setting: None} if index else {"persistent": {setting: None}})

    return block()


@pytest.mark.parametrize("setting", ["cluster.blocks.read_only", "cluster.blocks.read_only_allow_delete"])
def test_a_read_only_cluster_keeps_the_old_index(elasticsearch: Server, setting: str) -> None:
    with store_of(elasticsearch, patience=0.5) as store:
        index = store.open("readonly", source="s")
        index.apply([one("old")])
        with blocked(elasticsearch, setting):
            with pytest.raises((IndexUnavailable, StorageFull), match=r"read-only|lets nobody write") as caught:
                index.apply([one("new")])
            assert caught.value.exit_code == 4
            assert str(caught.value)[-1] not in ";:, "
            assert [hit.name for hit in store.open("readonly", source="s").search("*")] == ["old"]
        index.apply([one("new")])
        assert [hit.name for hit in index.search("*")] == ["new"]


def test_a_full_disk_in_the_middle_of_a_build(elasticsearch: Server) -> None:
    with store_of(elasticsearch, patience=0.5) as store:
        index = store.open("full", source="s")
        index.apply([one("old")])

        def changes() -> Iterator[FileChange]:
            yield one("new")
            # What a node does by itself where its disk passes the flood stage.
            path = "codenav-full-2/_settings"
            elasticsearch.request("PUT", path, {"index.blocks.read_only_allow_delete": True})
            yield from many(100)()

        with pytest.raises(StorageFull, match="nearly full") as caught:
            index.apply(changes())
        assert "watermark" in caught.value.hint
        again = store.open("full", source="s")
        assert [hit.name for hit in again.search("*")] == ["old"]
        again.apply([one("new")])
        assert [hit.name for hit in again.search("*")] == ["new"]


def test_an_index_that_is_removed_while_it_is_written(elasticsearch: Server) -> None:
    with store_of(elasticsearch, patience=0.5) as store:
        index = store.open("removed", source="s")

        def changes() -> Iterator[FileChange]:
            yield one("new")
            elasticsearch.request("DELETE", "codenav-removed-1")
            yield from many(100)()

        with pytest.raises(IndexUnavailable, match="something else removed it"):
            index.apply(changes())
        left = elasticsearch.request("GET", "codenav-removed*?expand_wildcards=all")
        assert left == {}, "no index of the server's own making stays"


def test_a_closed_index_says_so(elasticsearch: Server) -> None:
    with store_of(elasticsearch) as store:
        index = store.open("closed", source="s")
        index.apply([one("old")])
        index.close()
        index.close()
        with pytest.raises(IndexUnavailable, match="was closed"):
            index.search("old")


@pytest.mark.nightly
def test_the_cluster_goes_away_in_a_build_and_comes_back(secured: Server) -> None:
    with store_of(secured, **ca(secured), patience=0.5) as store:
        index = store.open("away", source="s")
        index.apply([one("old")])

        def changes() -> Iterator[FileChange]:
            yield one("new")
            secured.kill()
            yield from many(100)()

        with pytest.raises(IndexUnavailable, match="nothing listens") as caught:
            index.apply(changes())
        assert caught.value.exit_code == 4
        with pytest.raises(IndexUnavailable, match="nothing listens"):
            index.search("old")
    secured.restart()
    with store_of(secured, **ca(secured)) as store:
        index = store.open("away", source="s")
        assert [hit.name for hit in index.search("*")] == ["old"]
        index.apply([one("new")])
        assert [hit.name for hit in index.search("*")] == ["new"]
        left = secured.request("GET", "codenav-away-*?expand_wildcards=all")
        assert len(left) == 2, "the half one is gone"


def test_importing_the_store_imports_no_client() -> None:
    clients = "{'elasticsearch', 'elastic_transport'}"
    program = f"import sys, codenav.retrieval.elastic.store; print({clients} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
