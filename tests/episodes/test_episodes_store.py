"""The store: ids, names, lists, and whether the owner of a record lives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav

from codenav.core import schemas
from codenav.core.errors import CodeNavError, NotFound, UsageError
from codenav.core.events import Event, RunEnded, Status
from codenav.core.execution import ToolCall
from codenav.core.system.process_identity import Owner
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore

Events = Callable[..., list[Event]]
Recorded = Callable[..., EpisodeResult]
WRITER = str(Path(__file__).with_name("writer.py"))


def rewrite(result: EpisodeResult, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the lines of a record."""
    assert result.folder is not None
    path = result.folder / "events.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def with_head(**changes: object) -> Callable[[list[bytes]], list[bytes]]:
    """Replace keys of the first line and drop the last one: a run that has not ended."""

    def change(lines: list[bytes]) -> list[bytes]:
        head = {**json.loads(lines[0]), **changes}
        return [json.dumps(head).encode() + b"\n", *lines[1:-1]]

    return change


def test_ids_are_unique_and_sort_by_time(store: EpisodeStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [id for id, folder in pool.map(lambda _: store.create(), range(400)) if folder.is_dir()]
    assert len(set(made)) == 400
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", id) for id in made)
    one_by_one = [store.create()[0] for _ in range(50)]
    assert [id[:-2] for id in one_by_one] == sorted(id[:-2] for id in one_by_one)
    assert min(one_by_one)[:-2] >= max(made)[:-2]


def test_an_episode_is_found_by_id_beginning_and_last(store: EpisodeStore, recorded: Recorded) -> None:
    first, second = recorded(request="first"), recorded(request="second")
    assert store.load("last").id == second.id
    assert store.load(first.id).request == "first"
    differ = next(at for at, pair in enumerate(zip(first.id, second.id, strict=True)) if pair[0] != pair[1])
    unique = first.id[: differ + 1]
    assert store.load(unique).id == first.id
    with pytest.raises(UsageError, match=f"2 episodes begin with '{first.id[:4]}'.*{first.id}") as caught:
        store.load(first.id[:4])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["", "nope", "../episodes", "/etc/passwd", ".", "*", "\0", "LAST"])
def test_an_unknown_name(store: EpisodeStore, recorded: Recorded, name: str) -> None:
    recorded()
    with pytest.raises(NotFound) as caught:
        store.load(name)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_an_unknown_name_close_to_a_known_one(store: EpisodeStore, recorded: Recorded) -> None:
    id = recorded().id
    with pytest.raises(NotFound) as caught:
        store.load(id[:-1] + "g")
    assert caught.value.hint == f"did you mean {id}?"
    with pytest.raises(NotFound) as caught:
        store.load("lats")
    assert caught.value.hint == "did you mean last?"
    with pytest.raises(NotFound) as caught:
        store.load("zzz")
    assert caught.value.hint == "codenav episodes list"


def test_an_empty_store(store: EpisodeStore) -> None:
    assert len(store.list()) == 0 and not store.list().damaged
    with pytest.raises(NotFound, match="no episode yet"):
        store.load("last")
    assert not store.folder.exists()


def test_the_list_is_newest_first_and_bounded(store: EpisodeStore, recorded: Recorded) -> None:
    made = [recorded(request=f"request {number}") for number in range(5)]
    assert [row.request for row in store.list()] == [f"request {number}" for number in (4, 3, 2, 1, 0)]
    assert [row.id for row in store.list(2)] == [made[4].id, made[3].id]
    row = store.list(1)[0]
    assert (row.status, row.model, row.steps, row.verified) == (Status.DONE, "scripted", 8, True)
    assert row.started == "2026-03-01T12:00:00+00:00"


def test_junk_does_not_break_the_list(store: EpisodeStore, recorded: Recorded) -> None:
    good = recorded()
    ids = [f"2020010{number}-000000-00000{number}" for number in range(1, 8)]
    for id in ids:
        (store.folder / id).mkdir()
    (store.folder / ids[1] / "events.jsonl").touch()
    (store.folder / ids[2] / "events.jsonl").write_bytes(os.urandom(5000))
    (store.folder / ids[3] / "events.jsonl").write_text('{"event":"run_started"}\n')
    (store.folder / ids[4] / "events.jsonl").write_text('["event"]\n' * 3)
    (store.folder / ids[5] / "events.jsonl").mkdir()
    (store.folder / ids[6] / "events.jsonl").write_text('{"event":"run_started","owner":7}\n' + "[" * 100_000)
    (store.folder / "notes.txt").write_text("mine")
    (store.folder / "20200101").mkdir()
    rows = store.list()
    assert [row.id for row in rows] == [good.id]
    assert set(rows.damaged) == {*ids, "notes.txt", "20200101"}
    assert store.load("last").id == good.id
    for id in ids:
        with pytest.raises(CodeNavError) as caught:
            store.load(id)
        assert id in str(caught.value) and caught.value.hint


def test_the_newest_without_a_record_is_not_the_last(store: EpisodeStore, recorded: Recorded) -> None:
    good = recorded()
    store.create()
    assert store.load("last").id == good.id


def test_the_list_reads_only_the_ends_of_a_record(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded()
    rewrite(result, lambda lines: [lines[0], b"\xff\x00 not json" * 100_000 + b"\n", lines[-1]])
    assert store.list()[0].steps == 8 and store.list()[0].verified


def test_a_last_line_of_any_length(store: EpisodeStore, events: Events) -> None:
    for size in (10, 60_000, 64 * 1024, 300_000, 2_000_000):
        id, _ = store.create()
        with store.recorder(id) as record:
            for event in events(id, upto=2):
                record(event)
            record(RunEnded(Status.FAILED, reason="x" * size, exit_code=1))
        row = store.list(1)[0]
        assert (row.id, row.status, row.steps) == (id, Status.FAILED, 2)
        assert len(store.load(id).reason) == size


def test_a_damaged_line_in_the_middle_costs_that_line_only(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded()
    rewrite(
        result,
        lambda lines: [*lines[:3], b'{"event":"obser\n', *lines[4:5], b'{"event":"observed","step":{}}\n', *lines[6:]],
    )
    again = store.load(result.id)
    assert [step.number for step in again.steps] == [3, 4, 5, 6, 7, 8]
    assert "line 4 of the record is damaged and left out" in again.notices
    assert any("(observed) is damaged" in notice for notice in again.notices)
    assert again.status is Status.DONE


def test_a_record_of_a_newer_codenav(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded()
    rewrite(result, with_head(format=3))
    with pytest.raises(CodeNavError, match="format 3; this codenav reads formats 1 and 2") as caught:
        store.load(result.id)
    assert "a newer one" in caught.value.hint


FORMAT_1 = Path(__file__).parents[1] / "data" / "episodes" / "format-1.jsonl"


def test_a_record_of_format_1_is_read_without_its_tries_and_its_guess(codenav_home: Path, tmp_path: Path) -> None:
    lines = FORMAT_1.read_text().splitlines()
    call = ToolCall("shop.list_products", {}, effect="read", outcome="ok").to_dict()
    lines.insert(-4, json.dumps({"event": "called", "number": 2, "by": "try", **call}))
    events = [json.loads(line) for line in lines]
    assert {"acted", "tried"} == {one["event"] for one in events if one.get("action", {}).get("type") == "try"}
    assert events[-1]["guess"] and any(one.get("action", {}).get("type") == "question" for one in events)
    folder = codenav_home / "episodes" / events[0]["id"]
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    assert [row["steps"] for row in codenav("episodes", "list", "--json").document] == [3]
    document = codenav("episodes", "show", "last", "--json").document
    jsonschema.validate(document, schemas.load("episode"))
    assert (document["format"], document["answer"], document["calls"], document["notices"]) == (2, "12", [], [])
    assert [step["action"]["type"] for step in document["steps"]] == ["search", "code_summary", "done"]
    assert "Answer   12" in codenav("episodes", "show", "last", "--all").out
    script = tmp_path / "run.py"
    ran = codenav("episodes", "show", "last", "--script", script, "--notebook", tmp_path / "run.ipynb")
    assert ran.code == 0 and "circular_area(2)" in script.read_text(), ran.err
    killed = next(number for number, event in enumerate(events) if event["event"] == "tried")
    (folder / "events.jsonl").write_text("\n".join(lines[:killed]) + "\n")
    assert EpisodeStore(codenav_home / "episodes").load("last").under_way is None


def test_events_of_a_later_version_are_passed_over(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded()
    rewrite(result, lambda lines: [*lines[:1], b'{"event":"checkpointed","number":1}\n', *lines[1:]])
    again = store.load(result.id)
    assert again.to_dict() == result.to_dict()


def test_running_while_the_owner_lives_and_interrupted_after(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path)
    child = subprocess.Popen([sys.executable, WRITER, "endless", str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    said = [json.loads(child.stdout.readline()) for _ in range(4)]
    id = said[0]["id"]
    result = store.load(id)
    assert (result.status, result.reason) == (Status.RUNNING, "")
    assert len(result.steps) >= said[-1]["step"]
    assert store.list()[0].status is Status.RUNNING
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert store.load(id).status is Status.INTERRUPTED, "a zombie does not run"
    child.communicate()
    result = store.load(id)
    assert result.status is Status.INTERRUPTED
    assert result.reason.startswith("the process that ran it is gone")
    row = store.list()[0]
    assert (row.status, row.steps) == (Status.INTERRUPTED, len(result.steps))


@pytest.mark.parametrize(
    "change",
    [
        {"host": "elsewhere"},
        {"boot": "another"},
        {"pids": "1"},
        {"started": 1},
        {"pid": 0},
        {"pid": None},
        {"pid": "self"},
    ],
)
def test_a_process_that_is_not_the_owner_does_not_count(
    store: EpisodeStore, recorded: Recorded, change: dict[str, object]
) -> None:
    result = recorded()
    mine = Owner.this_process().to_dict()
    rewrite(result, with_head(owner=mine))
    assert store.load(result.id).status is Status.RUNNING
    rewrite(result, with_head(owner={**mine, **change}))
    assert store.load(result.id).status is Status.INTERRUPTED
    assert store.list()[0].status is Status.INTERRUPTED


def test_a_run_that_did_not_end_is_told_as_far_as_it_went(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded(upto=5)
    rewrite(
        result,
        lambda lines: [*lines, b'{"event":"acted","number":6,"thought":"","action":{"type":"ask","content":"?"}}\n'],
    )
    rewrite(result, lambda lines: [json.dumps({**json.loads(lines[0]), "owner": {}}).encode() + b"\n", *lines[1:]])
    again = store.load(result.id)
    assert again.reason == "the process that ran it is gone; step 6 was under way"
    assert again.summary.code == "best = 0\nprint('node', best)\n"
    assert not again.summary.verified
    assert again.usage.requests == 5 and again.seconds == 2.5
    with_summary = recorded(upto=7)
    assert with_summary.summary.verified and with_summary.summary.code.startswith("import networkx")


def test_importing_the_parts_is_cheap() -> None:
    heavy = ["nbformat", "pandas", "jsonschema", "networkx", "IPython"]
    code = (
        f"import sys, codenav.episodes.store, codenav.core.schemas; print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_reprs(store: EpisodeStore, recorded: Recorded) -> None:
    result = recorded(request="a long request " * 20)
    assert repr(result).startswith(f"<EpisodeResult {result.id} done, 8 steps, reproduced: 'a long request a")
    assert len(repr(result)) < 160
    assert repr(store) == f"<EpisodeStore {store.folder}>"
