"""Links from blocks to the nodes of a graph: they follow the index, and only what changed is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

import codenav
from codenav.core.traces import callable_name
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph import callables


@pytest.fixture
def place(tmp_path: Path) -> Path:
    root = tmp_path / "code"
    root.mkdir()
    for n in range(30):
        (root / f"part_{n}.py").write_text(f"class Part{n}:\n    def turn(self): pass\n\ndef make_{n}(): pass\n")
    return root


def expected(index: SourceIndex) -> dict[str, str]:
    return {block.id: name for block in index.blocks() if (name := callable_name(block))}


def test_links_name_every_callable_and_follow_the_index(place: Path, tmp_path: Path) -> None:
    with codenav.index(place) as index:
        first = callables.links_of(index, tmp_path)
        assert first == expected(index)
        assert sorted(first.values())[:3] == ["part_0.Part0", "part_0.Part0.turn", "part_0.make_0"]
    (place / "part_3.py").write_text("def made_anew(): pass\n")
    (place / "part_4.py").unlink()
    (place / "sub").mkdir()
    (place / "sub" / "part_3.py").write_text("def below(): pass\n")
    with codenav.index(place) as index:
        second = callables.links_of(index, tmp_path)
        assert second == expected(index)
    assert {"part_3.made_anew", "sub.part_3.below"} <= set(second.values())
    assert not {"part_3.make_3", "part_4.make_4"} & set(second.values())


def test_links_are_read_from_their_file_while_nothing_changes(place: Path, tmp_path: Path) -> None:
    with codenav.index(place) as index:
        first = callables.links_of(index, tmp_path)
        file = tmp_path / callables.FILE
        before = file.stat()
        assert callables.links_of(index, tmp_path) == first
        assert file.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 2, "files": {}}', b'{"format": 1, "files": {"a": 1}}']
)
def test_a_file_of_links_that_cannot_be_read_is_made_anew(place: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / callables.FILE).write_bytes(content)
    with codenav.index(place) as index:
        assert callables.links_of(index, tmp_path) == expected(index)
