"""The embedded index on disk: the contract, kills, full disks, damage, other versions, other processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind, Change, CodeBlock, FileChange, FileRemoval, FileSkip, FileState
from codenav.core.errors import IndexUnavailable, QueryTooLarge, StorageFull
from codenav.retrieval import builds
from codenav.retrieval.embedded import engine, generations
from codenav.retrieval.embedded.generations import build_lock
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import CHECKS, CheckRow, block, change, run_checks


def opened(folder: Path) -> EmbeddedIndex:
    return EmbeddedIndex(folder, source="check")


def names(index: EmbeddedIndex, query: str = "*") -> list[str]:
    return [hit.name for hit in index.search(query)]


@pytest.fixture
def index(tmp_path: Path) -> EmbeddedIndex:
    index = opened(tmp_path / "index")
    index.apply([change("a.py", block("first")), change("b.py", block("second", "b.py"))])
    return index


def test_the_contract_of_a_store_tells_what_is_broken(tmp_path: Path) -> None:
    class Forgetful(EmbeddedIndex):
        def get(self, id: str) -> CodeBlock | None:
            return None

    rows = {row.name: row for row in run_checks(lambda name: Forgetful(tmp_path / name, source="check"))}
    assert len(rows) == len(CHECKS) == 14
    broken = rows.pop("blocks come back whole")
    assert isinstance(broken, CheckRow) and not broken.ok and "get: expected" in broken.detail
    assert [row for row in rows.values() if not row.ok] == []


def test_an_index_that_is_not_there_is_empty_and_makes_no_folder(tmp_path: Path) -> None:
    index = opened(tmp_path / "none")
    assert not index.exists
    assert index.notice == ""
    assert (index.search("x").total, index.get("0"), index.stats().blocks) == (0, None, 0)
    assert not (tmp_path / "none").exists()


def test_stats_and_files(index: EmbeddedIndex) -> None:
    index.apply(
        [change("c.py", block("Third", "c.py", kind="CLASS")), FileSkip("d.bin", "binary")],
        versions={"check": "2.0"},
        started=time.monotonic() - 60,
    )
    stats = opened(index.folder).stats()
    assert (stats.source, stats.store, stats.files, stats.blocks) == ("check", "embedded", 3, 3)
    assert dict(stats.kinds) == {"CLASS": 1, "FUNCTION": 2}
    assert dict(stats.languages) == {"python": 3}
    assert dict(stats.versions) == {"check": "2.0"}
    assert list(stats.skipped) == [FileSkip("d.bin", "binary")]
    assert stats.reused_files == 2 and stats.seconds >= 60
    assert stats.built.endswith("+00:00")
    assert index.files() == {path: FileState(1, 0, "1") for path in ("a.py", "b.py", "c.py")}


def test_a_build_without_changes_writes_nothing_and_is_told(index: EmbeddedIndex) -> None:
    before = {path: path.stat().st_mtime_ns for path in index.folder.rglob("*") if path.is_file()}
    index.apply([], started=time.monotonic() - 60)
    after = {path: path.stat().st_mtime_ns for path in index.folder.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {index.folder / ".write.lock"}
    assert index.stats().reused_files == 2 and index.stats().seconds >= 60
    assert index.stats().built == opened(index.folder).stats().built


def test_a_manifest_without_inodes_is_read(index: EmbeddedIndex) -> None:
    manifest = generations.current(index.folder)[1]  # type: ignore[index]
    rows = json.loads(manifest.to_json())["files"]
    _change_manifest(index.folder, "files", {path: row[:6] for path, row in rows.items()})
    assert opened(index.folder).files() == index.files() != {}


def test_the_skips_of_a_build_replace_earlier_ones(index: EmbeddedIndex) -> None:
    index.apply([FileSkip("d.bin", "binary")])
    index.apply([FileSkip("d.bin", "binary"), FileRemoval("a.py")])
    assert list(opened(index.folder).stats().skipped) == [FileSkip("d.bin", "binary")]
    index.apply([])
    assert list(opened(index.folder).stats().skipped) == []


def test_an_open_reader_keeps_its_state_through_many_builds(index: EmbeddedIndex) -> None:
    reader = opened(index.folder)
    hits = reader.search("first")
    for number in range(4):
        index.apply([change("a.py", block(f"changed_{number}"))])
    assert names(reader) == ["first", "second"]
    assert hits[0].text.startswith("def first")
    assert names(opened(index.folder)) == ["changed_3", "second"]


def test_a_reader_that_opens_late_takes_the_current_state(index: EmbeddedIndex) -> None:
    reader = opened(index.folder)
    for number in range(4):
        index.apply([change("a.py", block(f"changed_{number}"))])
    assert names(reader) == ["changed_3", "second"]


def test_only_the_last_two_generations_stay(index: EmbeddedIndex) -> None:
    for number in range(4):
        index.apply([change("a.py", block(f"changed_{number}"))])
    assert len(generations.generations(index.folder)) == 2
    alone = sum(file.stat().st_size for file in generations.generations(index.folder)[-1][1].iterdir())
    assert alone <= generations.size_of(index.folder) < 40 * alone


def test_a_closed_index_says_so_and_found_hits_still_load(index: EmbeddedIndex) -> None:
    hits = index.search("first")
    index.close()
    index.close()
    assert hits[0].name == "first"
    with pytest.raises(IndexUnavailable, match="closed"):
        index.search("first")


WRITER = """
import sys
from pathlib import Path
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change

def changes():
    for number in range(10**9):
        yield change(f"new_{number}.py", *(block(f"new_{number}_{n}", f"new_{number}.py", line=n) for n in range(50)))
        if number == 40:
            print("writing", flush=True)

EmbeddedIndex(Path(sys.argv[1]), source="check").apply(changes())
"""


def test_small_builds_are_gathered_before_the_engine_merges_them(index: EmbeddedIndex) -> None:
    index.apply([change(f"lib/{at}.py", block(f"lib_{at}", f"lib/{at}.py")) for at in range(200)])
    index.apply([FileRemoval("b.py")])
    places = ["c.py", "d.py", "c.py", "e.py", "d.py", "c.py", "f.py", "g.py", "h.py", "i.py", "j.py"]
    most = 0
    for turn, path in enumerate(places):
        index.apply([change(path, block(f"turn_{turn}", path))])
        sizes, deleted = engine.sizes(max(index.folder.glob("gen-*"), key=lambda place: int(place.name[4:])))
        most = max(most, len(sizes))
        assert sum(sizes) == index.stats().blocks == index.search("*", limit=0).total
        assert not builds.crowded(sizes) and deleted <= builds.MAX_DELETED * (sum(sizes) + deleted)
    assert most == builds.MAX_SMALL - 1
    assert names(index, "name:turn*") == [f"turn_{turn}" for turn in (5, 4, 3, 6, 7, 8, 9, 10)]


def test_a_killed_build_leaves_the_old_state_and_its_leftovers_are_removed(index: EmbeddedIndex) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, index.folder], stdout=subprocess.PIPE) as writer:
        assert writer.stdout and writer.stdout.readline() == b"writing\n"
        assert names(opened(index.folder)) == ["first", "second"]
        writer.send_signal(signal.SIGKILL)
    assert len(generations.generations(index.folder)) == 2
    assert names(opened(index.folder)) == ["first", "second"]
    index.apply([])
    assert len(generations.generations(index.folder)) == 1
    index.apply([change("a.py", block("after"))])
    assert names(opened(index.folder)) == ["after", "second"]


KILLED = """
import os, sys
from pathlib import Path
from codenav.retrieval.embedded import generations
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change

line = int(sys.argv[2])
seen = 0

def trace(frame, event, arg):
    global seen
    if frame.f_code.co_filename != generations.__file__:
        return None
    seen += event == "line"
    if seen == line:
        os.kill(os.getpid(), 9)
    return trace

index = EmbeddedIndex(Path(sys.argv[1]), source="check")
sys.settrace(trace)
index.apply([change("a.py", block("changed"))])
sys.settrace(None)
print(seen)
"""


def test_a_kill_at_any_line_of_the_swap_leaves_the_old_state_or_the_new_one(
    index: EmbeddedIndex, tmp_path: Path
) -> None:
    """The process is killed at lines spread over all that touches generations, from the lock to the last clean-up."""
    whole = tmp_path / "whole"
    shutil.copytree(index.folder, whole)
    done = subprocess.run([sys.executable, "-c", KILLED, whole, "-1"], capture_output=True, text=True, check=True)
    lines = int(done.stdout)
    assert lines > 100
    states = set()
    for line in (*range(1, lines, lines // 6), lines - 5):
        folder = tmp_path / f"killed-{line}"
        shutil.copytree(index.folder, folder)
        killed = subprocess.run([sys.executable, "-c", KILLED, folder, str(line)], capture_output=True)
        assert killed.returncode == -signal.SIGKILL
        state = tuple(names(opened(folder)))
        assert state in {("first", "second"), ("changed", "second")}
        states.add(state)
        again = opened(folder)
        again.apply([change("b.py", block("later", "b.py"))])
        assert names(opened(folder)) == [state[0], "later"]
        assert len(generations.generations(folder)) <= 2
    assert len(states) == 2


FULL = """
import resource, signal, sys
from pathlib import Path
from codenav.core.errors import StorageFull
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
index = EmbeddedIndex(Path(sys.argv[1]), source="check")
text = " ".join(f"word_{n}" for n in range(2000))
try:
    index.apply(change(f"n{n}.py", block(f"new_{n}", f"n{n}.py", text=text + str(n))) for n in range(300))
except StorageFull as error:
    print(error, "|", error.hint)
print([hit.name for hit in index.search("*")])
"""


@pytest.mark.parametrize("limit", [0, 100, 2_000, 50_000, 300_000])
def test_a_disk_that_fills_up_leaves_the_old_state(index: EmbeddedIndex, limit: int) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, index.folder, str(limit)], capture_output=True, text=True)
    told, state = done.stdout.splitlines()
    assert told.startswith("the index cannot be written"), done.stderr
    assert "CODENAV_HOME" in told
    assert state == "['first', 'second']"
    assert done.stderr == ""
    assert names(opened(index.folder)) == ["first", "second"]
    index.apply([change("a.py", block("changed"))])
    assert names(opened(index.folder)) == ["changed", "second"]
    assert len(generations.generations(index.folder)) == 2


@pytest.mark.parametrize("name", ["file", "loop", "long" * 100])
def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises((StorageFull, IndexUnavailable)) as error:
        opened(tmp_path / name / "index").apply([])
    assert error.value.exit_code == 4


def test_an_index_that_vanishes_while_it_is_written_is_told(index: EmbeddedIndex) -> None:
    def changes() -> Iterator[Change]:
        yield change("a.py", block("changed"))
        while index.folder.exists():
            # Threads of the engine may be writing into it.
            shutil.rmtree(index.folder, ignore_errors=True)
        yield change("b.py", block("more"))

    with pytest.raises(StorageFull, match="No such file"):
        index.apply(changes())


def _change_manifest(folder: Path, key: str, value: object) -> None:
    path = _last(folder) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))


def _last(folder: Path) -> Path:
    return generations.generations(folder)[-1][1]


def _cut_segment(folder: Path) -> None:
    store = next(_last(folder).glob("*.store"))
    os.truncate(store, store.stat().st_size // 2)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a segment cut short": (_cut_segment, "damaged"),
    "no segment": (lambda folder: next(_last(folder).glob("*.term")).unlink(), "damaged"),
    "no generation": (lambda folder: shutil.rmtree(_last(folder)), "damaged"),
    "no manifest": (lambda folder: (_last(folder) / "manifest.json").write_bytes(b"\xff\x00{"), "damaged"),
    "another manifest": (lambda folder: _change_manifest(folder, "files", 3), "damaged"),
    "no pointer": (lambda folder: (folder / "current").write_text("../../etc"), "damaged"),
    "an older format": (lambda folder: _change_manifest(folder, "format", 0), "another version of codenav"),
    "another engine": (
        lambda folder: _change_manifest(folder, "engine", "index_format v1"), "another version of the search engine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGES)
def test_what_cannot_be_used_counts_as_absent_and_is_built_anew(index: EmbeddedIndex, case: str) -> None:
    damage, told = DAMAGES[case]
    damage(index.folder)
    found = opened(index.folder)
    assert not found.exists and told in found.notice
    assert dict(found.files()) == {} and found.search("first").total == 0
    found.apply([change("a.py", block("anew"))])
    assert (found.exists, found.notice, names(found)) == (True, "", ["anew"])
    assert names(opened(index.folder)) == ["anew"]
    assert len(generations.generations(index.folder)) <= 2


def test_damage_that_shows_only_while_reading_is_told(index: EmbeddedIndex) -> None:
    place = generations.generations(index.folder)[-1][1]
    for file in place.iterdir():
        if file.suffix in {".term", ".idx", ".fast", ".store", ".pos"}:
            file.write_bytes(b"\xaa" * file.stat().st_size)
    broken = opened(index.folder)
    assert broken.exists
    with pytest.raises(IndexUnavailable) as error:
        broken.search("first")
    assert "sources remove" in error.value.hint


def test_the_build_lock(tmp_path: Path) -> None:
    with build_lock(tmp_path / "index", wait=False) as got:
        assert got
        with build_lock(tmp_path / "index", wait=False) as second:
            assert not second
        order: list[str] = []

        def wait() -> None:
            with build_lock(tmp_path / "index", wait=True) as third:
                order.append(f"got {third}")

        thread = threading.Thread(target=wait)
        thread.start()
        order.append("released")
    thread.join()
    assert order == ["released", "got True"]
    with build_lock(tmp_path / "index", wait=False) as got:
        assert got


LOCKER = """
import sys
from pathlib import Path
from codenav.retrieval.embedded.generations import build_lock
with build_lock(Path(sys.argv[1]), wait=True) as got:
    print(got, flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, tmp_path], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as owner:
        assert owner.stdout and owner.stdout.readline() == b"True\n"
        with build_lock(tmp_path, wait=False) as got:
            assert not got
        owner.kill()
    with build_lock(tmp_path, wait=False) as got:
        assert got


def test_two_processes_that_apply_at_once_lose_nothing(index: EmbeddedIndex) -> None:
    script = """
import sys
from pathlib import Path
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.self_check import block, change
index = EmbeddedIndex(Path(sys.argv[1]), source="check")
for number in range(5):
    path = f"{sys.argv[2]}_{number}.py"
    index.apply([change(path, block(f"{sys.argv[2]}_{number}", path))])
"""
    writers = [subprocess.Popen([sys.executable, "-c", script, index.folder, name]) for name in ("x", "y")]
    assert [writer.wait() for writer in writers] == [0, 0]
    wanted = {"first", "second", *(f"{name}_{number}" for name in ("x", "y") for number in range(5))}
    assert set(names(opened(index.folder))) == wanted


def test_paths_of_any_form(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    odd = "dir with blank/\udcff \u4eba.py"
    blocks = [
        CodeBlock(id, BlockKind.FUNCTION, "same", "same", odd, block("same").lines, "x", source="s")
        for id in ("f" * 16, "0" * 16, "0" * 15 + "1")
    ]
    index.apply([FileChange(odd, FileState(1, 1, "d"), blocks)])
    assert [hit.id for hit in index.search("name:same")] == sorted(block.id for block in blocks)
    assert [index.get(block.id) for block in blocks] == blocks and index.get("\ud800 z") is None
    assert index.search('file_path:"dir with blank"').total == 3
    wrong = CodeBlock("z", BlockKind.FUNCTION, "same", "same", odd, block("same").lines, "x", source="s")
    with pytest.raises(ValueError, match="'z' is no id of a block"):
        index.apply([FileChange(odd, FileState(1, 1, "d"), [wrong])])
    index.apply([FileRemoval(odd)])
    assert index.search("same").total == 0


def test_a_query_of_over_64_kilobytes(index: EmbeddedIndex) -> None:
    with pytest.raises(QueryTooLarge):
        index.search("x" * 1_000_000)


def test_a_pattern_that_is_too_big_for_the_engine_is_told(index: EmbeddedIndex) -> None:
    result = index.search("first OR /.*a.{40}b/")
    assert [hit.name for hit in result] == ["first"]
    assert "is too big for this index" in result.repairs[0]
