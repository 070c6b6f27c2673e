"""The folder of a graph: swapped whole, one writer at a time, and clear about a file that is no graph."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from codenav.core.errors import StorageFull, UsageError
from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph.beside import forget_episodes, merge
from codenav.toolgraph.folders import GraphFolder, Learnt, graphs_dir


def trace(id: str, *names: str, verified: bool = True) -> Trace:
    calls = tuple(TracedCall(name) for name in names)
    return Trace(id, calls, request=f"Do {id}", origin="episodes", ended=1e9, verified=verified)


def teach(folder: GraphFolder, *traces: Trace) -> None:
    with folder.changing() as learnt:
        for one in traces:
            learnt.learn(one)


def test_what_was_learnt_is_read_back(tmp_path: Path) -> None:
    folder = GraphFolder(tmp_path / "a")
    assert folder.state == (0, 0, 0) and not folder.read().graph.nodes
    teach(folder, trace("one", "a.f", "a.g"), trace("two", "a.g", "a.h", verified=False))
    before = folder.state
    learnt = folder.read()
    assert set(learnt.graph.nodes) == {"a.f", "a.g", "a.h"}
    assert learnt.traces["episodes:one"] == trace("one", "a.f", "a.g")
    teach(folder, trace("one", "a.f", "a.g"))
    assert folder.read().graph == learnt.graph, "an episode counts once"
    teach(folder, trace("three", "a.f"))
    assert folder.state != before


def test_a_change_that_fails_leaves_the_old_graph(tmp_path: Path) -> None:
    folder = GraphFolder(tmp_path / "a")
    teach(folder, trace("one", "a.f", "a.g"))
    before = folder.file.read_bytes()
    with pytest.raises(ZeroDivisionError), folder.changing() as learnt:
        learnt.graph.remove_node("a.f")
        raise ZeroDivisionError
    assert folder.file.read_bytes() == before


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for n in range(5):
            teach(GraphFolder(tmp_path / "a"), trace(f"{number}-{n}", "a.f", "a.g"))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    learnt = GraphFolder(tmp_path / "a").read()
    assert len(learnt.traces) == 20 == learnt.graph.nodes["a.f"].successes


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is empty"),
        (b'{"format": 1, "nodes": [{"id": "a"', "cut short"),
        (b'{"format": 99}', "newer codenav"),
        (b"<html>", "no tool graph"),
        (b'{"format": 1, "traces": [1]}', "traces are damaged"),
        (b'{"format": 1, "traces": 5}', "traces are damaged"),
        (b'{"format": 1, "traces": [{"id": "t", "calls": [{"name": {}}]}]}', "traces are damaged"),
        (b'{"format": 1, "traces": [{"id": "t", "calls": [{"name": "a", "takes": {"x": 0}}]}]}', "traces are damaged"),
        (b'{"format": 1, "gate": 5}', "votes are damaged"),
        (b'{"format": 1, "measured": 1e300}', "votes are damaged"),
    ],
)
def test_a_file_that_is_no_graph_is_told_and_never_overwritten(tmp_path: Path, content: bytes, told: str) -> None:
    folder = GraphFolder(tmp_path)
    folder.file.write_bytes(content)
    with pytest.raises(UsageError, match=told) as raised:
        folder.read()
    assert "codenav graph learn" in raised.value.hint
    with pytest.raises(UsageError, match=told):
        teach(folder, trace("one", "a.f"))
    assert folder.file.read_bytes() == content


def test_a_graph_that_is_learnt_anew_keeps_the_unreadable_one_aside(tmp_path: Path) -> None:
    folder = GraphFolder(tmp_path)
    folder.file.write_bytes(b'{"format": 1, "nodes": [')
    told: list[str] = []
    with folder.changing(anew=told.append) as learnt:
        learnt.learn(trace("one", "a.f"))
    assert list(folder.read().graph.nodes) == ["a.f"]
    assert (tmp_path / "graph.json.unread").read_bytes() == b'{"format": 1, "nodes": ['
    assert len(told) == 1 and "cut short" in told[0] and "graph.json.unread" in told[0]
    # The next one has a name of its own, even if it is a folder.
    folder.file.unlink()
    folder.file.mkdir()
    with folder.changing(anew=told.append) as learnt:
        learnt.learn(trace("one", "a.f"))
    assert "Is a directory: it is kept as graph.json.unread2" in told[1]


def test_a_graph_to_which_access_is_denied_is_left_where_it_is(tmp_path: Path) -> None:
    folder = GraphFolder(tmp_path)
    teach(folder, trace("one", "a.f"))
    folder.file.chmod(0)
    if os.access(folder.file, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(UsageError, match="Permission denied") as raised, folder.changing(anew=print):
        pass
    assert raised.value.hint == f"ls -l {folder.file}"
    assert not list(tmp_path.glob("*.unread"))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(StorageFull, match="the tool graph cannot be written"):
        teach(GraphFolder(tmp_path / "a"), trace("one", "a.f"))


def test_an_episode_that_taught_two_graphs_counts_once_in_both_together() -> None:
    def learnt(*traces: Trace) -> Learnt:
        found = Learnt()
        for one in traces:
            found.learn(one)
        return found

    both = trace("2", "a.f", "b.g")
    together = merge([learnt(trace("1", "a.f"), both), learnt(both, trace("3", "b.g"))])
    assert together.graph == learnt(trace("1", "a.f"), both, trace("3", "b.g")).graph
    assert list(together.traces) == ["episodes:1", "episodes:2", "episodes:3"]


def test_forgetting_takes_an_episode_out_of_every_graph() -> None:
    folders = [GraphFolder(graphs_dir() / name) for name in ("a", "b", "c")]
    for folder in folders[:2]:
        teach(folder, trace("kept", "a.f", "a.g"))
    before = [folder.read().graph for folder in folders]
    for folder in folders[:2]:
        teach(folder, trace("gone", "a.f", "a.h"))
    folders[2].path.mkdir()
    folders[2].file.write_bytes(b"{")
    forget_episodes(["gone", "unknown"])
    assert [folder.read().graph for folder in folders[:2]] == before[:2]
    assert folders[2].file.read_bytes() == b"{"
