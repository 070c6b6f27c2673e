"""An index in memory, and small trees of files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import pytest

from codenav.core.blocks import (
    BlockKind,
    Change,
    CodeBlock,
    FileChange,
    FileRemoval,
    FileSkip,
    FileState,
    IndexStats,
    SearchResult,
)
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.indexers.build import TICK_SECONDS
from codenav.indexers.place import Place
from codenav.indexers.python_blocks import python_blocks


class MemoryIndex:
    """A `WritableIndex` that keeps everything in dictionaries and counts its calls."""

    pack = None

    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}
        self.by_path: dict[str, list[CodeBlock]] = {}
        self.skipped: tuple[FileSkip, ...] = ()
        self.applied: list[list[Change]] = []
        self.versions: Mapping[str, str] = {}
        self.seconds = 0.0
        self.changed = 0
        """Files whose blocks were replaced or removed."""

    @property
    def blocks(self) -> list[CodeBlock]:
        return [block for blocks in self.by_path.values() for block in blocks]

    def files(self) -> Mapping[str, FileState]:
        return dict(self.states)

    def stats(self) -> IndexStats:
        return IndexStats("memory", "memory", skipped=self.skipped, seconds=self.seconds)

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        states, by_path = dict(self.states), dict(self.by_path)
        taken = list(changes)
        for change in taken:
            if isinstance(change, FileRemoval):
                del states[change.path], by_path[change.path]
                self.changed += 1
            elif isinstance(change, FileChange):
                states[change.path] = change.state
                if change.blocks is not None:
                    by_path[change.path] = list(change.blocks)
                    self.changed += 1
        self.states, self.by_path = states, by_path
        self.skipped = tuple(change for change in taken if isinstance(change, FileSkip))
        self.versions = versions or {}
        self.applied.append(taken)
        self.seconds = time.monotonic() - started if started else 0.0

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        return SearchResult(query)

    def get(self, id: str) -> CodeBlock | None:
        return next((block for block in self.blocks if block.id == id), None)

    def close(self) -> None:
        self.applied = []


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of the packages of an environment of Python 3.9, empty."""
    folder = tmp_path / "env" / "lib" / "python3.9" / "site-packages"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def index() -> MemoryIndex:
    return MemoryIndex()


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Writes files below one folder and returns the folder. They bear a time of ten seconds ago."""
    root = tmp_path / "tree"
    root.mkdir()

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            settled = path.stat().st_mtime - 10
            os.utime(path, (settled, settled))
        # The time that the kernel sets cannot be moved back.
        time.sleep(TICK_SECONDS)
        return root

    return write


@pytest.fixture(scope="session")
def interpreter() -> Interpreter:
    return find_interpreter()


@pytest.fixture
def parsed() -> Callable[[str], dict[str, CodeBlock]]:
    """The blocks of a Python source by their qualified name, of a module that is imported as `pkg.mod`."""

    def parse(source: str) -> dict[str, CodeBlock]:
        blocks = python_blocks(source, Place("/somewhere", "pkg/mod.py", "pkg.mod"))
        assert len({block.id for block in blocks}) == len(blocks)
        return {block.qualname: block for block in blocks}

    return parse
