"""Bringing an index up to date: files that are read, reused, and reported as skipped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codenav.core.blocks import Change, FileChange, FileRemoval, FileSkip
from codenav.core.errors import StorageFull, UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers.build import TICK_SECONDS, UNSETTLED, BuildReport, Progress, build
from codenav.indexers.code_blocks import CUT
from codenav.indexers.sources import resolve

Tree = Callable[[Mapping[str, str | bytes]], Path]
Build = Callable[[Path], BuildReport]
FILES = {"a.py": "def a(): pass\n", "sub/b.py": "class B:\n    def m(self): pass\n", "README.md": "# Title\n\nText.\n"}


@pytest.fixture
def built(index: Any, interpreter: Interpreter) -> Build:
    """Builds the index of a folder."""

    def run(root: Path) -> BuildReport:
        index.changed = 0
        return build(resolve(str(root), interpreter), index)

    return run


def touch(path: Path, seconds: float) -> None:
    """Move the time of a file."""
    then = path.stat().st_mtime + seconds
    os.utime(path, (then, then))
    time.sleep(TICK_SECONDS)


def test_a_first_build_and_one_with_nothing_to_do(tree: Tree, index: Any, built: Build) -> None:
    root = tree(FILES)
    report = built(root)
    assert (report.files, report.reused_files, report.skipped, index.changed) == (3, 0, (), 3)
    assert {block.qualname for block in index.blocks} == {"a", "B", "B.m", "Title"}
    assert {block.source for block in index.blocks} == {str(root)}
    assert len({block.id for block in index.blocks}) == len(index.blocks)
    state = index.states["a.py"]
    assert (state.size, state.mtime_ns) == (14, (root / "a.py").stat().st_mtime_ns)
    assert len(index.applied) == 1
    report = built(root)
    assert (report.files, report.reused_files, index.changed, len(index.applied)) == (3, 3, 0, 1)


def written_over(path: Path, text: str) -> None:
    path.write_text(text)


def moved_over(path: Path, text: str) -> None:
    other = path.with_name("other")
    other.write_text(text)
    then = path.stat().st_mtime_ns
    os.utime(other, ns=(then, then))
    other.rename(path)


def linked_over(path: Path, text: str) -> None:
    other = path.with_name("other")
    other.write_text(text)
    path.unlink()
    path.hardlink_to(other)


@pytest.mark.parametrize("over", [written_over, moved_over, linked_over])
def test_a_file_replaced_by_one_of_the_same_size_and_time_is_read(
    tree: Tree, index: Any, built: Build, over: Callable[[Path, str], None]
) -> None:
    root = tree(FILES)
    built(root)
    before = (root / "a.py").stat()
    over(root / "a.py", "def z(): pass\n")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    built(root)
    assert [block.name for block in index.by_path["a.py"]] == ["z"]


def test_a_rebuild_reads_what_looks_the_same(tree: Tree, index: Any, interpreter: Interpreter) -> None:
    root = tree(FILES)
    source = resolve(str(root), interpreter)
    build(source, index)
    index.by_path["a.py"] = []
    report = build(source, index, rebuild=True)
    assert (report.files, report.reused_files) == (3, 0)
    assert [block.name for block in index.by_path["a.py"]] == ["a"]


def test_a_file_that_is_imported_by_another_name_now_is_parsed_again(tree: Tree, index: Any, built: Build) -> None:
    root = tree(FILES)
    built(root)
    (root / "__init__.py").touch()
    assert built(root).reused_files == 1
    lines = {block.name: block.import_line for block in index.blocks}
    assert lines["a"] == f"from {root.name}.a import a"
    (root / "__init__.py").unlink()
    built(root)
    assert {block.name: block.import_line for block in index.blocks}["a"] == "from a import a"


@pytest.mark.parametrize(
    "attempt",
    [lambda path: path.chmod(0o600), lambda path: path.with_name("b").hardlink_to(path), lambda path: touch(path, -5)],
    ids=["mode", "inode", "time"],
)
def test_a_file_of_the_same_content_is_not_parsed(
    tree: Tree, index: Any, built: Build, attempt: Callable[[Path], None]
) -> None:
    root = tree(FILES)
    built(root)
    blocks = index.by_path["a.py"]
    attempt(root / "a.py")
    time.sleep(TICK_SECONDS)
    assert built(root).reused_files == 3
    assert index.by_path["a.py"] is blocks
    assert index.applied[-1] == [FileChange("a.py", index.states["a.py"], None)]
    assert index.states["a.py"].mtime_ns == (root / "a.py").stat().st_mtime_ns
    built(root)
    assert len(index.applied) == 2


def test_a_file_written_about_when_it_was_built_is_compared_by_content(tree: Tree, index: Any, built: Build) -> None:
    root = tree(FILES)
    (root / "a.py").write_text("def a(): pass\n")
    moment = (root / "a.py").stat()
    built(root)
    (root / "a.py").write_text("def z(): pass\n")
    os.utime(root / "a.py", ns=(moment.st_atime_ns, moment.st_mtime_ns))
    built(root)
    assert index.changed == 1
    assert {block.name for block in index.by_path["a.py"]} == {"z"}
    writes = len(index.applied)
    built(root)
    assert index.changed == 0
    assert len(index.applied) == writes


def test_a_file_written_while_a_long_build_went_on(tree: Tree, index: Any, built: Build) -> None:
    root = tree(FILES)
    touch(root / "a.py", 10 + 60)
    moment = (root / "a.py").stat()
    built(root)
    assert index.states["a.py"].mtime_ns == UNSETTLED
    (root / "a.py").write_text("def z(): pass\n")
    os.utime(root / "a.py", ns=(moment.st_atime_ns, moment.st_mtime_ns))
    built(root)
    assert {block.name for block in index.by_path["a.py"]} == {"z"}
    touch(root / "a.py", -120)
    assert built(root).reused_files == 3
    assert index.changed == 0
    assert index.states["a.py"].mtime_ns == (root / "a.py").stat().st_mtime_ns
    writes = len(index.applied)
    assert built(root).reused_files == 3
    assert len(index.applied) == writes


def test_a_changed_a_new_and_a_removed_file(tree: Tree, index: Any, built: Build) -> None:
    root = tree(FILES)
    built(root)
    (root / "a.py").write_text("def a(): pass\ndef more(): pass\n")
    (root / "new.rst").write_text("New\n===\n")
    (root / "sub" / "b.py").unlink()
    report = built(root)
    assert (report.files, report.reused_files, index.changed) == (3, 1, 3)
    assert {type(change).__name__ + change.path for change in index.applied[-1]} == {
        "FileRemovalsub/b.py",
        "FileChangea.py",
        "FileChangenew.rst",
    }
    assert {block.name for block in index.blocks} == {"a", "more", "New", "Title"}


def test_what_is_left_out_is_told_each_time(tree: Tree, index: Any, built: Build) -> None:
    root = tree(
        {
            "good.py": "x = 1\n",
            "binary.py": b"\x7fELF\0\0",
            "asked.md": "<!-- index: false -->\n# Not me\n",
            "large.py": b"#" * 1_000_001,
            "data.json": "{}",
        }
    )
    expected = {
        FileSkip("binary.py", "binary"),
        FileSkip("asked.md", "index: false"),
        FileSkip("large.py", "larger than 1 MB"),
    }
    assert set(built(root).skipped) == set(index.skipped) == expected
    assert set(built(root).skipped) == expected
    assert len(index.applied) == 1
    (root / "asked.md").unlink()
    assert len(built(root).skipped) == len(index.skipped) == 2
    assert len(index.applied) == 2


def test_a_file_that_becomes_unfit_leaves_the_index(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"a.py": "def a(): pass\n", "b.py": "def b(): pass\n", "c.py": "def c(): pass\n"})
    built(root)
    (root / "a.py").write_text("# index: false\ndef a(): pass\n")
    (root / "b.py").unlink()
    os.mkfifo(root / "b.py")
    report = built(root)
    assert (report.files, index.changed) == (1, 2)
    assert {skip.path: skip.reason for skip in report.skipped} == {
        "a.py": "index: false",
        "b.py": "not a regular file",
    }
    assert FileRemoval("a.py") in index.applied[-1]


def test_a_cut_file_stays_told_while_it_is_reused(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"a.py": "def a(): pass\n", "b.py": "def b(): pass\n"})
    built(root)
    index.skipped = (FileSkip("a.py", CUT),)
    assert built(root).skipped == (FileSkip("a.py", CUT),)
    touch(root / "a.py", -5)
    assert built(root).skipped == index.skipped == (FileSkip("a.py", CUT),)
    (root / "a.py").write_text("def other(): pass\n")
    assert built(root).skipped == index.skipped == ()


def test_an_empty_file_is_in_the_index(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"__init__.py": ""})
    assert built(root).files == 1
    assert index.by_path == {"__init__.py": []}


@pytest.mark.parametrize(
    ("files", "more"),
    [
        ({}, ""),
        ({"data.csv": b"1,2\n"}, ""),
        ({".gitignore": b"*\n", "a.py": b"x = 1\n"}, ""),
        ({"a.py": b"\0", "b.py": b"\0"}, " (2 left out, the first: a.py: binary)"),
    ],
)
def test_a_source_with_nothing_to_index(
    tree: Tree, index: Any, built: Build, files: dict[str, bytes], more: str
) -> None:
    root = tree(files)
    with pytest.raises(UsageError) as caught:
        built(root)
    assert str(caught.value) == f"nothing to index in {root}: it holds no source code and no document{more}"
    assert caught.value.exit_code == 2 and caught.value.hint
    assert index.applied == []


def test_a_source_that_lost_all_its_files_empties_its_index(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"a.py": "x = 1\n"})
    built(root)
    (root / "a.py").unlink()
    report = built(root)
    assert (report.files, index.changed, index.blocks) == (0, 1, [])
    with pytest.raises(UsageError):
        built(root)


def test_progress_counts_every_file_once(tree: Tree, index: Any, interpreter: Interpreter) -> None:
    root = tree(FILES)
    source = resolve(str(root), interpreter)
    steps: list[Progress] = []
    build(source, index, progress=steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert {step.path for step in steps} == {"", *FILES}
    (root / "a.py").write_text("x = 2\n")
    steps.clear()
    build(source, index, progress=steps.append)
    assert steps == [Progress(2, 3, ""), Progress(3, 3, "a.py")]


class FullIndex:
    """An index whose disk is full after some changes."""

    def __init__(self, inner: Any, after: int) -> None:
        self.inner, self.after, self.taken, self.pack = inner, after, 0, None
        self.files, self.stats = inner.files, inner.stats

    def apply(self, changes: Iterable[Change], **options: Any) -> None:
        for self.taken, _ in enumerate(changes, 1):
            if self.taken == self.after:
                raise StorageFull("no space")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_index_that_cannot_be_written(tree: Tree, index: Any, interpreter: Interpreter, jobs: int) -> None:
    root = tree({f"m{number}.py": "x = 1\n" for number in range(40)})
    full = FullIndex(index, 5)
    with pytest.raises(StorageFull):
        build(resolve(str(root), interpreter), full, jobs=jobs)  # type: ignore[arg-type]
    assert full.taken == 5


def test_the_order_of_changes_is_the_same_with_and_without_processes(
    tree: Tree, index: Any, interpreter: Interpreter
) -> None:
    source = resolve("pkg:rich", interpreter)
    build(source, index, jobs=1)
    assert index.versions == source.versions
    alone = index.applied[-1]
    index.__init__()
    build(source, index, jobs=3)
    assert index.applied[-1] == alone
