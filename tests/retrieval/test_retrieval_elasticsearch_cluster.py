"""Three nodes: one may be lost in a build, another one in a search, and one may hang."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from elasticsearch_server import Cluster

from codenav.core.blocks import FileChange
from codenav.retrieval.elastic.store import ElasticsearchStore
from retrieval.elastic import indexes, many, one, options, store_of

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=3) as cluster:
        yield cluster


def primaries(cluster: Cluster, index: str, node: int) -> list[int]:
    """The nodes that hold a first copy of a shard of an index."""
    rows = cluster.request("GET", f"_cat/shards/{index}?format=json&h=prirep,node", node=node)
    return [int(row["node"].removeprefix("node")) for row in rows if row["prirep"] == "p"]


def master(cluster: Cluster, node: int) -> int:
    return int(cluster.request("GET", "_cat/master?format=json", node=node)[0]["node"].removeprefix("node"))


def test_a_build_has_its_copies_from_the_first_document(cluster: Cluster) -> None:
    with store_of(cluster, elasticsearch_replicas=2) as store:
        index = store.open("copies", source="s")
        seen: list[str] = []

        def changes() -> Iterator[FileChange]:
            for change in many(2)():
                yield change
                current = indexes(cluster, "copies")[-1]
                rows = cluster.request("GET", f"_cat/shards/{current}?format=json&h=prirep,state")
                seen.append(" ".join(sorted(row["state"] for row in rows)))

        index.apply(changes())
        assert seen == ["STARTED STARTED STARTED"] * 2
        index.apply([one("more")])
        assert index.search("*").total == 21


def test_more_copies_than_nodes_are_not_waited_for(cluster: Cluster) -> None:
    with store_of(cluster, elasticsearch_replicas=5) as store:
        index = store.open("yellow", source="s")
        index.apply([one("first")])
        health = cluster.request("GET", "_cluster/health/codenav-yellow")
        assert (health["status"], health["active_shards"]) == ("yellow", 3)
        assert [hit.name for hit in index.search("*")] == ["first"]


def test_a_node_is_killed_in_a_build_and_in_a_search(cluster: Cluster) -> None:
    """The last test, since it leaves two nodes."""
    with store_of(cluster, elasticsearch_replicas=1, elasticsearch_shards=2) as store:
        index = store.open("three", source="s")
        index.apply([one("old")])
        assert indexes(cluster, "three") == ["codenav-three-1"]
        killed: list[int] = []

        def changes() -> Iterator[FileChange]:
            for number, change in enumerate(many(300)()):
                yield change
                if number == 150:
                    victim = primaries(cluster, "codenav-three-2", 0)[0]
                    killed.append(victim)
                    cluster.kill(victim)

        index.apply(changes())
        assert index.stats().blocks == 3_001
        assert index.search("thing", limit=1).total == 3_000
        assert sorted({hit.name for hit in index.search("thing_5_* OR thing_299_*", limit=1_000)}) == sorted(
            f"thing_{file}_{at}" for file in (5, 299) for at in range(10)
        )
        cluster.restart(killed[0])
        cluster.request("GET", "_cluster/health/codenav-three*?wait_for_status=green&timeout=60s", timeout=90)

        # The master this time: requests find none for a moment.
        victim = master(cluster, 0)
        failed: list[BaseException] = []
        totals: set[int] = set()
        ended = threading.Event()

        def search() -> None:
            reader = ElasticsearchStore(options(cluster))
            found = reader.open("three", source="s")
            try:
                while not ended.is_set():
                    result = found.search("thing", limit=20)
                    totals.add(result.total)
                    assert len({hit.text for hit in result}) == 20
            except BaseException as error:
                failed.append(error)
            finally:
                reader.close()

        threads = [threading.Thread(target=search) for _ in range(2)]
        for thread in threads:
            thread.start()
        cluster.kill(victim)
        fresh = store.open("three", source="s")
        fresh.apply([one("new")])
        ended.set()
        for thread in threads:
            thread.join()
        assert (failed, totals) == ([], {3_000})
        assert [hit.name for hit in fresh.search("new")] == ["new"]
