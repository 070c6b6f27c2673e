"""Run folders: heads, lines that are torn or damaged, duplicates, shards and merging."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from codenav.core.errors import NotFound, UsageError
from codenav.evals.results import Result, plain
from codenav.evals.runs import HEAD, LOCK, RESULTS, Head, RunFolder, in_shard, merge

HEAD_OF = Head("shop", "code-use", "gpt-5", 2, ["a", "b", "c"], {"shows": "code"}, {"commit": "0" * 40})


def result(id: str, epoch: int = 1, status: str = "done", **more: object) -> Result:
    return replace(Result(id, epoch, status, {"correct": True}, answer=f"{id} {epoch}"), **more)  # type: ignore[arg-type]


def made(path: Path, *results: Result, head: Head = HEAD_OF) -> RunFolder:
    run = RunFolder.make(path, head)
    with run.adding() as add:
        for one in results:
            add(one)
    return run


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = made(tmp_path / "a", result("b"), result("a", 2), result("a"))
    opened = RunFolder.open(tmp_path / "a")
    assert opened.head == run.head
    assert [(one.epoch, one.id) for one in opened.results()] == [(1, "a"), (1, "b"), (2, "a")]
    assert opened.finished() == {("a", 1), ("a", 2), ("b", 1)}


def test_a_torn_last_line_is_cut_off_and_a_whole_one_is_kept(tmp_path: Path) -> None:
    run = made(tmp_path / "a", result("a"))
    whole = (run.path / RESULTS).read_bytes()
    line = result("b").to_line()
    for cut in (*range(0, len(line), 29), len(line) - 2, len(line) - 1):
        (run.path / RESULTS).write_bytes(whole + line[:cut])
        assert [one.id for one in run.results()] == (["a", "b"] if cut == len(line) - 1 else ["a"])
        with run.adding() as add:
            add(result("c"))
        assert [one.id for one in run.results()] == (["a", "b", "c"] if cut == len(line) - 1 else ["a", "c"]), cut
        assert not run.notices


def test_a_damaged_line_in_the_middle_is_told_and_its_attempt_is_missing(tmp_path: Path) -> None:
    run = made(tmp_path / "a", result("a"), result("b"), result("c"))
    lines = (run.path / RESULTS).read_bytes().splitlines(keepends=True)
    (run.path / RESULTS).write_bytes(lines[0] + lines[1][:40] + b"\0\0\n[1]\n" + lines[2])
    assert run.finished() == {("a", 1), ("c", 1)}
    assert run.notices == [f"2 damaged lines of {run.path / RESULTS} are left out"]


def test_a_result_counts_before_an_error_and_the_first_result_before_the_second(tmp_path: Path) -> None:
    run = made(
        tmp_path / "a",
        result("a", status="error"), result("a", answer="first"), result("a", answer="second"),
        result("b"), result("b", status="error"), result("c", status="error"),
    )  # fmt: skip
    assert {one.id: (one.status, one.answer) for one in run.results()} == {
        "a": ("done", "first"), "b": ("done", "b 1"), "c": ("error", "c 1"),
    }  # fmt: skip
    assert run.finished() == {("a", 1), ("b", 1)}


def test_two_runs_do_not_go_into_one_folder(tmp_path: Path) -> None:
    made(tmp_path / "a")
    with pytest.raises(UsageError, match="holds a run already") as caught:
        RunFolder.make(tmp_path / "a", HEAD_OF)
    assert "codenav eval run --resume" in caught.value.hint


def test_two_processes_do_not_add_to_one_run(tmp_path: Path) -> None:
    run = made(tmp_path / "a")
    with (run.path / LOCK).open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process"), run.adding():
            pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"task": 1}', '{"format": 2}'])
def test_a_damaged_head_is_one_clear_error(tmp_path: Path, content: str) -> None:
    made(tmp_path / "a")
    (tmp_path / "a" / HEAD).write_text(content)
    with pytest.raises(UsageError) as caught:
        RunFolder.open(tmp_path / "a")
    assert caught.value.hint


def test_a_folder_without_a_run_names_the_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"head\.json"):
        RunFolder.open(tmp_path)


def test_shards_split_all_samples_and_each_once() -> None:
    ids = [f"sample-{number}" for number in range(500)]
    parts = [[id for id in ids if in_shard(id, f"{part}/8")] for part in range(1, 9)]
    assert sorted(id for part in parts for id in part) == sorted(ids)
    assert all(30 < len(part) < 100 for part in parts)
    assert parts[0] == [id for id in ids if in_shard(id, "1/8")]


@pytest.mark.parametrize("shard", ["0/8", "9/8", "1", "a/b", "1/0", "-1/2", "1/2/3", "²/4", "1/1000000"])
def test_no_shard(shard: str) -> None:
    with pytest.raises(UsageError, match="is no shard"):
        in_shard("a", shard)


def test_shards_are_merged_to_one_run(tmp_path: Path) -> None:
    made(tmp_path / "a.1", result("c", 2), result("a"), head=replace(HEAD_OF, shard="1/2"))
    made(tmp_path / "a.2", result("b"), result("c", status="error"), head=replace(HEAD_OF, shard="2/2"))
    merged = merge([tmp_path / "a.1", tmp_path / "a.2"], tmp_path / "a")
    assert merged.head == replace(HEAD_OF, shard="")
    assert [(one.epoch, one.id, one.status) for one in RunFolder.open(tmp_path / "a").results()] == [
        (1, "a", "done"), (1, "b", "done"), (1, "c", "error"), (2, "c", "done"),
    ]  # fmt: skip


def test_a_merge_takes_overlaps_that_agree_and_refuses_those_that_do_not(tmp_path: Path) -> None:
    made(tmp_path / "1", result("a", seconds=1.0))
    made(tmp_path / "2", result("a", seconds=2.0), result("b", status="error"))
    made(tmp_path / "3", result("b"))
    made(tmp_path / "4", result("a", scores={"correct": False}))
    assert len(merge([tmp_path / "1", tmp_path / "2", tmp_path / "3"], tmp_path / "all").results()) == 2
    with pytest.raises(UsageError, match="disagree on sample a, epoch 1"):
        merge([tmp_path / "1", tmp_path / "4"], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_values_become_json_whatever_they_are() -> None:
    deep: list[object] = []
    for _ in range(80):
        deep = [deep]
    values = {"a": (1, {2}), 3: float("nan"), "b": {"c": b"x"}, "deep": deep, "bad": "\ud800"}
    line = result("a", values=plain(values)).to_line()
    read = Result.from_line(line)
    assert read is not None and read.values["a"] == [1, "{2}"] and read.values["3"] == "nan"
    assert line.count(b"\n") == 1 and json.loads(line)["values"]["bad"] == "\ud800"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    run = made(tmp_path / "a", result("a"))
    before = (run.path / RESULTS).read_bytes()
    import resource
    import signal

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with run.adding() as add:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
            with pytest.raises(Exception, match="cannot add a result") as caught:
                add(result("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    assert getattr(caught.value, "exit_code", 0) == 4
    assert (run.path / RESULTS).read_bytes() == before
    assert os.listdir(run.path)
