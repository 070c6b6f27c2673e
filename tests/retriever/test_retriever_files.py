"""The directory of a retriever: read as it was written, whole, and clear about what is wrong with it."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retriever.made_examples import examples

from codenav.core.errors import NotFound, StorageFull, Unavailable, UsageError
from codenav.core.system.atomic_files import whole_folder
from codenav.retrieval.dense import files, making
from codenav.retrieval.dense.making import Made


@pytest.fixture(scope="module")
def made() -> Made:
    return making.make([examples(45)], epochs=2)


@pytest.fixture
def folder(made: Made, tmp_path: Path) -> Path:
    files.write(made, tmp_path / "r", trained={"from": "episodes", "sources": ["set"]})
    return tmp_path / "r"


def test_a_retriever_is_read_as_it_was_written(made: Made, folder: Path) -> None:
    found = files.read(folder)
    text = ["umbrella and rain", "", "zzqqx"]
    written = made.vectors.encode([made.vectors.places(one) for one in text])
    assert np.abs(found.encoder.encode(text) - written).max() < 1e-3
    assert found.weights == made.weights
    assert found.memory is not None and made.memory is not None and found.memory.names == made.memory.names
    assert np.abs(found.memory.scores(text[0]) - made.memory.scores(text[0])).max() < 1e-3
    assert found.described["trained"]["requests"] == 45 and found.described["measured"]["after"]["ndcg@5"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["r"], "nothing is left beside it"


def test_other_vectors_have_another_name(folder: Path, tmp_path: Path) -> None:
    files.write(making.make([examples(60)], epochs=1), tmp_path / "s", trained={})
    assert files.read(folder).encoder.name != files.read(tmp_path / "s").encoder.name


def test_an_older_retriever_is_replaced_and_anything_else_is_not(made: Made, folder: Path, tmp_path: Path) -> None:
    (folder / "stray").touch()
    files.write(made, folder, trained={})
    assert not (folder / "stray").exists() and files.read(folder)
    other = tmp_path / "mine"
    other.mkdir()
    (other / "notes.txt").touch()
    for place in (other, other / "notes.txt"):
        with pytest.raises(UsageError, match=r"something else|is a file"):
            files.write(made, place, trained={})
    assert (other / "notes.txt").exists()


def test_a_retriever_that_cannot_be_written_is_told(made: Made, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFull, match="cannot write") as raised:
        files.write(made, tmp_path / "file" / "r", trained={})
    assert "--out" in (raised.value.hint or "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["tokens.txt", "vectors.npy", "memory.npz"])
def test_a_file_that_is_cut_short_or_gone_is_told(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(Unavailable, match="does not fit together") as raised:
        files.read(folder)
    assert "train it again" in raised.value.hint
    path.unlink()
    with pytest.raises(Unavailable, match=f"is not whole: No such file or directory: .*{name}"):
        files.read(folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "written by a newer codenav .format 2"),
        ({"base": "0123"}, "from other vectors of words"),
        ({"dimensions": 128}, "from other vectors of words"),
        ({"kind": "model"}, "describes no retriever"),
        ({"weights": {"words": 1}}, "lacks weights or files"),
        ({"weights": {"words": 1, "meaning": "x", "memory": 0}}, "lacks weights or files"),
        ({"files": {}}, "lacks weights or files"),
        ({"files": {"tokens.txt": 1, "vectors.npy": 2, "../x": 3}}, "lacks weights or files"),
    ],
)
def test_another_description_is_told(folder: Path, change: dict[str, object], told: str) -> None:
    path = folder / files.DESCRIPTION
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(Unavailable, match=told):
        files.read(folder)
    path.write_text(path.read_text()[:40])
    with pytest.raises(Unavailable, match="cut short or is not JSON"):
        files.read(folder)


def saved(save: Callable[..., None], *arrays: Any, **keywords: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **keywords)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("vectors.npy", saved(np.save, np.zeros((3, 256), np.float16)), r"vectors of the shape \(3, 256\)"),
        ("vectors.npy", saved(np.save, np.array([print], object), allow_pickle=True), "allow_pickle=False"),
        ("vectors.npy", b"", ""),
        ("vectors.npy", saved(np.savez, a=np.zeros(3)), ""),
        ("memory.npz", saved(np.savez, terms=np.array([{}], object)), "allow_pickle=False"),
        ("memory.npz", b"PK\x03\x04 nothing", "not a zip file"),
        ("memory.npz", b"", ""),
        ("tokens.txt", b"\xff\n", "can't decode"),
    ],
)
def test_files_of_another_content_are_told(folder: Path, name: str, content: bytes, told: str) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(Unavailable, match=f"does not fit together: .*{told}"):
        files.read(folder)


def test_a_link_to_a_retriever_stays_one(made: Made, folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    files.write(made, link, trained={"from": "link"})
    assert link.is_symlink() and files.read(folder).described["trained"]["from"] == "link"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "r"], "nothing is left beside it"


@pytest.mark.parametrize("early", [True, False])
def test_an_older_retriever_outlasts_one_that_is_not_finished(folder: Path, early: bool) -> None:
    with pytest.raises(KeyboardInterrupt if early else FileNotFoundError), whole_folder(folder) as beside:
        (beside / files.DESCRIPTION).touch()
        if early:
            raise KeyboardInterrupt
        # What cannot take its place any more: the older one has been moved away by then.
        shutil.rmtree(beside)
    assert files.read(folder) and [path.name for path in folder.parent.iterdir()] == ["r"]


def test_a_directory_without_a_retriever_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such directory"):
        files.read(tmp_path / "gone")
    with pytest.raises(UsageError, match=r"holds no retriever: retriever\.json is missing"):
        files.read(tmp_path)
