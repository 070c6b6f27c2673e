"""The Elasticsearch store against a real server: builds, what it leaves, what it never touches, the order of hits.

The contract of a store is checked by `codenav doctor --store embedded` in tests/cli/test_cli_indexing.py.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from elasticsearch_server import Server

from codenav.core.blocks import BlockKind, FileChange, FileRemoval, FileSkip, FileState
from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable, NotFound
from codenav.core.protocols import WritableIndex
from codenav.retrieval.builds import FileEntry
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.elastic import locks
from codenav.retrieval.elastic.lines import ROLE, file_lines, read_files
from codenav.retrieval.elastic.store import ElasticsearchStore
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.requests import search
from codenav.retrieval.self_check import block
from retrieval.comparison import compare, queries_of
from retrieval.conftest import changes_of, shop_tools
from retrieval.elastic import file, indexes, many, one, options, store_of


@pytest.fixture(scope="module")
def store(elasticsearch: Server) -> Iterator[ElasticsearchStore]:
    with store_of(elasticsearch) as store:
        yield store


def found(index: WritableIndex, query: str = "*") -> list[str]:
    return [hit.name for hit in index.search(query)]


def test_an_update_replaces_the_index_behind_the_alias(elasticsearch: Server, store: ElasticsearchStore) -> None:
    index = store.open("update", source="s")
    index.apply([one("first"), one("second", "b.py")])
    assert indexes(elasticsearch, "update") == ["codenav-update-1"]
    reader = store.open("update", source="s")
    index.apply([one("third")])
    assert found(index) == ["third", "second"]
    assert found(reader) == ["first", "second"], "a reader keeps what it has opened"
    index.apply([FileRemoval("b.py")])
    assert found(index) == ["third"]
    assert found(reader) == ["third"], "after the second build the newest state answers"
    assert indexes(elasticsearch, "update") == ["codenav-update-2", "codenav-update-3"]
    behind = elasticsearch.request("GET", "_alias/codenav-update")
    assert list(behind) == ["codenav-update-3"]


def test_a_hit_that_was_found_before_two_builds_says_so(store: ElasticsearchStore) -> None:
    index = store.open("late", source="s")
    index.apply([one("first"), one("second", "b.py")])
    hits = store.open("late", source="s").search("name:first OR name:second")
    index.apply([one("third")])
    index.apply([one("fourth")])
    with pytest.raises(IndexUnavailable, match="rebuilt meanwhile"):
        hits[0].text  # noqa: B018
    assert hits[1].name == "second", "a block that is still there is read from the new state"


def test_nothing_changed_writes_nothing(elasticsearch: Server, store: ElasticsearchStore) -> None:
    index = store.open("same", source="s")
    index.apply([one("first"), FileSkip("b.bin", "binary")], versions={"s": "1"})
    built = index.stats().built
    index.apply([FileSkip("b.bin", "binary")], versions={"s": "1"})
    assert indexes(elasticsearch, "same") == ["codenav-same-1"]
    assert index.stats().reused_files == 1
    index.apply([FileChange("a.py", FileState(1, 5, "new"), None), FileSkip("b.bin", "binary")])
    again = store.open("same", source="s")
    assert again.files() == {"a.py": FileState(1, 5, "new")}
    assert (again.stats().built, again.stats().versions) == (built, {"s": "1"})
    assert again.stats().skipped == (FileSkip("b.bin", "binary"),)


def test_many_files_and_skips_are_remembered(store: ElasticsearchStore) -> None:
    skips = [FileSkip(f"x/{number}.bin", "binary") for number in range(5_000)]
    index = store.open("states", source="s")
    index.apply([*many(600, each=1)(), FileChange("empty.py", FileState(0, 0, "-"), []), *skips])
    again = store.open("states", source="s")
    assert len(again.files()) == 601 and again.files() == index.files()
    assert list(again.stats().skipped) == skips
    assert (again.stats().files, again.stats().blocks) == (601, 600)
    index.apply([*skips[:10], FileRemoval("lib/f00007.py")])
    last = store.open("states", source="s")
    assert list(last.stats().skipped) == skips[:10]
    assert set(again.files()) - set(last.files()) == {"lib/f00007.py"}


def test_a_file_told_twice_is_as_told_last(store: ElasticsearchStore) -> None:
    index = store.open("twice", source="s")
    three = [block(name, line=line) for line, name in enumerate(("first", "second", "third"), start=1)]
    index.apply([file("a.py", *three), one("last")])
    assert found(index) == ["last"]
    index.apply([FileRemoval("a.py"), file("a.py", *three), FileRemoval("a.py"), one("again")])
    assert found(index) == ["again"]


def test_deleted_blocks_are_merged_away_beyond_a_tenth(elasticsearch: Server, store: ElasticsearchStore) -> None:
    index = store.open("deleted", source="s")
    index.apply(many(40)())
    index.apply(many(20, word="other")())
    current = indexes(elasticsearch, "deleted")[-1]
    docs = elasticsearch.request("GET", f"{current}/_stats/docs")["_all"]["primaries"]["docs"]
    assert docs["deleted"] < 0.1 * docs["count"]
    assert index.stats().blocks == 400 and index.search("other").total == 200


def test_every_key_has_a_legal_name_of_its_own(store: ElasticsearchStore) -> None:
    keys = ["locks", "UPPER-case with space / and ümläut", "a" * 300]
    for key in keys:
        store.open(key, source=f"source of {key}").apply([one("only")])
        assert found(store.open(key, source="s")) == ["only"]
    assert set(keys) <= {item.key for item in store.list()}
    for key in keys:
        store.remove(key)
        assert not store.open(key, source="s").exists


def test_the_catalogue(store: ElasticsearchStore) -> None:
    index = store.open("listed", source="pkg:listed@1")
    index.apply([one("first")], versions={"listed": "1"})
    entry = next(item for item in store.list() if item.key == "listed")
    assert (entry.source, entry.store, entry.blocks, entry.notice) == ("pkg:listed@1", "elasticsearch", 1, "")
    assert entry.size_bytes > 0 and entry.versions == {"listed": "1"}
    with pytest.raises(NotFound) as caught:
        store.remove("lister")
    assert "listed" in caught.value.hint
    with store.build_lock("listed", wait=False) as got:
        assert got
        with pytest.raises(IndexUnavailable, match="being built"):
            store.remove("listed")
    store.remove("listed")
    assert "listed" not in [item.key for item in store.list()]


def test_an_index_that_is_not_ours_is_never_touched(elasticsearch: Server, store: ElasticsearchStore) -> None:
    elasticsearch.request("PUT", "codenav-taken", {"mappings": {"properties": {"mine": {"type": "keyword"}}}})
    elasticsearch.request("PUT", "somebodys")
    elasticsearch.request(
        "POST", "_aliases", {"actions": [{"add": {"index": "somebodys", "alias": "codenav-pointed"}}]}
    )
    for key in ("taken", "pointed"):
        with pytest.raises(IndexUnavailable, match="is taken by an index that is not codenav's") as caught:
            store.open(key, source="s")
        assert caught.value.exit_code == 4
        with pytest.raises(IndexUnavailable):
            store.remove(key)
    elasticsearch.request("PUT", "codenav-numbered-7")
    index = store.open("numbered", source="s")
    index.apply([one("first")])
    index.apply([one("second")])
    assert indexes(elasticsearch, "numbered") == ["codenav-numbered-7", "codenav-numbered-8", "codenav-numbered-9"]
    store.remove("numbered")
    assert indexes(elasticsearch, "numbered") == ["codenav-numbered-7"]


def test_another_format_is_built_anew(elasticsearch: Server, store: ElasticsearchStore) -> None:
    store.open("format", source="s").apply([one("old")])
    mark = {"_meta": {"codenav": {"format": "0-old", "key": "format", "source": "s"}}}
    elasticsearch.request("PUT", "codenav-format-1/_settings", {"index.blocks.write": False})
    elasticsearch.request("PUT", "codenav-format-1/_mapping", mark)
    index = store.open("format", source="s")
    assert not index.exists and "built anew" in index.notice and index.files() == {}
    assert "another version" in next(item.notice for item in store.list() if item.key == "format")
    index.apply([one("new")])
    assert index.notice == "" and found(store.open("format", source="s")) == ["new"]


def test_an_index_whose_memory_is_gone_says_so(elasticsearch: Server, store: ElasticsearchStore) -> None:
    store.open("damaged", source="s").apply([one("old")])
    elasticsearch.request("PUT", "codenav-damaged-1/_settings", {"index.blocks.write": False})
    elasticsearch.request("DELETE", "codenav-damaged-1/_doc/header?refresh=true")
    with pytest.raises(IndexUnavailable, match="damaged"):
        store.open("damaged", source="s")
    assert "damaged" in next(item.notice for item in store.list() if item.key == "damaged")
    store.remove("damaged")


def test_a_build_that_is_killed_leaves_the_old_state(elasticsearch: Server, store: ElasticsearchStore) -> None:
    store.open("killed", source="s").apply([one("old")])
    program = f"""
import time
from codenav.core.config import StoreOptions
from codenav.retrieval.elastic.store import ElasticsearchStore
from codenav.retrieval.self_check import block, change
store = ElasticsearchStore({options(elasticsearch)!r})
def changes():
    for number in range(400):
        yield change(f"f{{number}}.py", *(block(f"n{{at}}", f"f{{number}}.py", text="x " * 2000) for at in range(10)))
    print("half", flush=True)
    time.sleep(60)
with store.build_lock("killed", wait=False) as got:
    store.open("killed", source="s").apply(changes())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "half\n"
        with store.build_lock("killed", wait=False) as got:
            assert not got, "another process builds it"
        assert found(store.open("killed", source="s")) == ["old"]
        assert indexes(elasticsearch, "killed") == ["codenav-killed-1", "codenav-killed-2"]
        process.send_signal(signal.SIGKILL)
    index = store.open("killed", source="s")
    assert found(index) == ["old"]
    with store.build_lock("killed", wait=False) as got:
        assert got, "the lock of a process that is gone is free at once"
        index.apply([one("new")])
    assert found(store.open("killed", source="s")) == ["new"]
    assert indexes(elasticsearch, "killed") == ["codenav-killed-1", "codenav-killed-2"], "the half one is gone"
    assert elasticsearch.request("GET", "codenav-killed-2/_count")["count"] < 20


def test_an_owner_on_another_machine_counts_as_dead_when_it_gives_no_sign(
    elasticsearch: Server, store: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "SILENT_SECONDS", 1.0)
    with store.build_lock("first", wait=False):
        pass
    foreign = {"host": "elsewhere", "boot": "b", "pids": "p", "pid": 1, "started": 1, "token": "t", "what": "far"}
    elasticsearch.request("PUT", "codenav-locks/_doc/codenav-far", {**foreign, "beat": time.time()})
    with store.build_lock("far", wait=False) as got:
        assert not got
    elasticsearch.request("PUT", "codenav-locks/_doc/codenav-far", {**foreign, "beat": time.time() - 3600})
    begun = time.monotonic()
    with store.build_lock("far", wait=False) as got:
        assert got and time.monotonic() - begun > 1, "it was watched before it was taken"


def test_one_lock_at_a_time(elasticsearch: Server, store: ElasticsearchStore) -> None:
    with store_of(elasticsearch) as other, store.build_lock("turn", wait=True) as mine:
        assert mine
        with other.build_lock("turn", wait=False) as theirs:
            assert not theirs
        with other.build_lock("another", wait=False) as theirs:
            assert theirs
    with store.build_lock("turn", wait=False) as mine:
        assert mine


def test_a_build_that_lost_its_lock_does_not_publish(elasticsearch: Server, store: ElasticsearchStore) -> None:
    index = store.open("lost", source="s")
    index.apply([one("old")])

    def changes() -> Iterator[FileChange]:
        yield one("new")
        elasticsearch.request("POST", "codenav-locks/_refresh")
        for lock in elasticsearch.request("GET", "codenav-locks/_search?size=100")["hits"]["hits"]:
            elasticsearch.request("DELETE", f"codenav-locks/_doc/{lock['_id']}")

    with pytest.raises(IndexUnavailable, match="taken over"):
        index.apply(changes())
    assert found(store.open("lost", source="s")) == ["old"]


def test_what_the_server_refuses_is_told(store: ElasticsearchStore) -> None:
    index = store.open("refused", source="s")
    index.apply([one("detect"), one("load_model", "b.py")])
    words = " OR ".join(f"w{number}" for number in range(1_000))
    result = index.search(f"detect OR {words}")
    assert [hit.name for hit in result] == ["detect"]
    assert any("clauses" in text for text in result.repairs)
    big = "/(a|b|c){50}(a|b|c){50}(d.*e.*f.*g.*){9}/"
    result = index.search(f"detect OR {big}")
    assert [hit.name for hit in result] == ["detect"]


def test_more_hits_than_a_page(store: ElasticsearchStore) -> None:
    index = store.open("pages", source="s")
    index.apply(many(120, each=10)())
    assert index.search("type:function", limit=5_000).total == 1_200
    hits = index.search("type:function", limit=1_000)
    assert [hit.id for hit in hits] == [each.id for each in index.blocks()][:1_000]
    assert index.get(hits[999].id) == hits[999].block
    assert hits[0].kind is BlockKind.FUNCTION


def test_both_stores_order_alike(elasticsearch: Server, tmp_path: Path) -> None:
    changes = changes_of("networkx")[::3]
    embedded = EmbeddedIndex(tmp_path, source="pkg:networkx")
    with store_of(elasticsearch) as store:
        elastic = store.open("parity", source="pkg:networkx")
        for index in (embedded, elastic):
            index.apply(changes)
            index.apply([*changes[::40], *(FileRemoval(change.path) for change in changes[5::40])])
        blocks = list(embedded.blocks())
        assert blocks == list(elastic.blocks())
        rows = list(compare(embedded, elastic, queries_of(blocks, each=5)))
    assert len(rows) * 5 >= 100
    assert [f"{row.name}: {row.detail}" for row in rows if not row.ok] == []


@pytest.mark.nightly
def test_both_stores_forget_alike(elasticsearch: Server, tmp_path: Path) -> None:
    """Edits of the same file, edits after a rename, removals: deleted blocks count in both for equally long."""
    rng = random.Random(7)
    now = {change.path: change for change in many(40, each=5)()}
    embedded = EmbeddedIndex(tmp_path, source="s")
    with store_of(elasticsearch) as store:
        elastic = store.open("forgetting", source="s")
        for index in (embedded, elastic):
            index.apply(now.values())
        last = "lib/f00003.py"
        for turn in range(9):
            kind, path = rng.choice(("edit", "edit the last", "rename", "remove")), rng.choice(sorted(now))
            gone = [] if kind.startswith("edit") else [FileRemoval(path)]
            if gone:
                del now[path]
            if kind != "remove":
                last = last if kind == "edit the last" and last in now else path if not gone else f"lib/r{turn}.py"
                names = [f"thing_{rng.randrange(40)}_{at}" for at in range(rng.randrange(1, 8))]
                text = " ".join(f"value_{rng.randrange(900)}" for _ in range(turn * 5))
                made = [block(name, last, line=at, text=f"{name} {text}") for at, name in enumerate(names, start=1)]
                now[last] = file(last, *made)
            for index in (embedded, elastic):
                index.apply([*gone, *([now[last]] if kind != "remove" else [])])
        blocks = list(embedded.blocks())
        assert blocks == list(elastic.blocks())
        rows = list(compare(embedded, elastic, queries_of(blocks, each=3)))
    assert [f"{row.name}: {row.detail}" for row in rows if not row.ok] == []


def test_options_are_kept_out_of_sight() -> None:
    shown = repr(StoreOptions(elasticsearch_password="secret", elasticsearch_api_key="secret"))
    assert "secret" not in shown


REQUESTS = (
    "convert currencies",
    "List the orders of a customer. Create a customer account. Convert 40 euros into dollars.",
    "A customer wants brown shoes, so look which can be ordered; then order them for the customer: type: TOOL AND x!",
    "What is the weather like in the city of the customer, and which orders did the customer make there?",
)


def test_both_stores_answer_requests_alike(elasticsearch: Server, tmp_path: Path) -> None:
    embedded = EmbeddedIndex(tmp_path / "shop", source="tools:shop.json")
    with store_of(elasticsearch) as store:
        elastic = store.open("requests-shop", source="tools:shop.json")
        for index in (embedded, elastic):
            index.apply(shop_tools())
        for request in REQUESTS:
            one, other = search(embedded, request), search(elastic, request)
            assert len(one) > 0
            assert [hit.name for hit in one] == [hit.name for hit in other]
            assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], rel=1e-4)


SIZES = {"requests": 3, "comm": 1, "tiny": 2}
"""Sources, and the shards of the index of each."""


def test_both_stores_merge_alike(elasticsearch: Server, tmp_path: Path) -> None:
    embedded: list[WritableIndex] = []
    elastic: list[WritableIndex] = []
    with ExitStack() as opening:
        for base, shards in SIZES.items():
            store = opening.enter_context(store_of(elasticsearch, elasticsearch_shards=shards))
            embedded.append(EmbeddedIndex(tmp_path / base, source=base))
            elastic.append(store.open(f"merged-{base}", source=base))
            changes = changes_of(base) if base != "tiny" else [one("request", "tiny/a.py"), one("merge", "tiny/b.py")]
            for index in (embedded[-1], elastic[-1]):
                index.apply(changes)
                index.apply([*changes[::7], FileRemoval(changes[-1].path)])
        both, mixed = CombinedIndex(embedded), CombinedIndex([elastic[0], *embedded[1:]])
        queries = queries_of(list(both.blocks()), each=1)
        rows = [
            *compare(both, CombinedIndex(elastic), queries),
            *compare(both, mixed, {"one name": queries["one name"]}),
        ]
    assert [f"{row.name}: {row.detail}" for row in rows if not row.ok] == []


def test_states_are_read_back_also_those_without_inodes() -> None:
    files = {"a.py": FileEntry(FileState(1, 99, "d", 98, 97, "a"), {"FUNCTION": 2}, {"python": 2})}
    [lines] = file_lines(files, files)
    document = json.loads(lines.split(b"\n")[1])
    [content] = [json.loads(text) for key, text in document.items() if key != ROLE]
    assert read_files([content]) == files
    without = {path: row[:5] for path, row in content.items()}
    assert read_files([without])["a.py"].state == FileState(1, 99, "d")
