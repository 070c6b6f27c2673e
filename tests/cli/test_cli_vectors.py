"""`--set vectors=no`, and what else turns words of similar meaning off."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import codenav

import codenav as package


@pytest.fixture
def files(codenav_home: Path, tmp_path: Path) -> Path:
    """A code base that says `directory` where people say folder."""
    place = tmp_path / "code"
    place.mkdir()
    (place / "places.py").write_text("def erase_directory(place):\n    pass\n\n\ndef count_words(text):\n    pass\n")
    return place


def found(*options: str, place: Path, env: dict[str, str] | None = None) -> bool:
    ran = codenav("search", "wipe folder", "--on", str(place), *options, env=env)
    assert ran.code == 0, ran.err
    return "erase_directory" in ran.out


def test_plain_words_find_words_of_like_meaning_unless_that_is_turned_off(files: Path, codenav_home: Path) -> None:
    off = {"CODENAV_VECTORS": "false"}
    assert found(place=files)
    assert not found("--set", "vectors=no", place=files)
    assert not found(place=files, env=off)
    assert found("--set", "vectors=yes", place=files, env=off)
    (codenav_home / "config.toml").write_text("vectors = false\n")
    assert not found(place=files)
    assert found(place=files, env={"CODENAV_VECTORS": "true"})


def test_the_same_from_python(files: Path) -> None:
    assert [hit.block.name for hit in package.search("wipe folder", on=files)] == ["erase_directory"]
    assert not package.search("wipe folder", on=files, vectors=False)
