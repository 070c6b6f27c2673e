"""Checkouts: the folder of a benchmark, its commit, and files that are not those of the commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codenav.core.errors import CodeNavError, NotFound, UsageError
from codenav.evals.benchmark import UNKNOWN, checkout

NEEDS = ("tasks.py", "data")


def git(folder: Path, *arguments: str) -> str:
    made = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *made, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """The commit of a benchmark in a folder of a repository."""
    folder = tmp_path / "eval" / "bench"
    (folder / "data").mkdir(parents=True)
    (folder / "tasks.py").write_text("TASKS = 1\n")
    (folder / "data" / "ä b.json").write_text("{}\n")
    (folder / "notes.txt").write_text("not needed\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    return git(tmp_path, "rev-parse", "HEAD")


def found(data: Path, commit: str, any_commit: bool = False) -> tuple[Path, str]:
    made = checkout(data, needs=NEEDS, folder="eval/bench", commit=commit, any_commit=any_commit)
    return made.root, made.commit


def test_the_checkout_and_the_folder_in_it(tmp_path: Path, commit: str) -> None:
    folder = tmp_path / "eval" / "bench"
    assert found(tmp_path, commit) == found(folder, commit) == (folder, commit)


def test_another_commit_is_refused_unless_any_will_do(tmp_path: Path, commit: str) -> None:
    with pytest.raises(UsageError, match=f"at commit {commit[:12]}; scores are known for 000000000000") as caught:
        found(tmp_path, "0" * 40)
    assert "--any-commit" in caught.value.hint
    assert found(tmp_path, "0" * 40, any_commit=True)[1] == commit


@pytest.mark.parametrize(
    ("name", "new"), [("tasks.py", "TASKS = 2\n"), ("data/ä b.json", "{} \n"), ("data/ä b.json", None)]
)
def test_a_file_that_was_changed_or_removed_is_named(tmp_path: Path, commit: str, name: str, new: str | None) -> None:
    folder = tmp_path / "eval" / "bench"
    (folder / name).write_text(new) if new else (folder / name).unlink()
    with pytest.raises(UsageError) as caught:
        found(tmp_path, commit)
    assert str(folder / name) in str(caught.value) and commit[:12] in str(caught.value)
    assert name in caught.value.hint
    assert found(tmp_path, commit, any_commit=True)[1] == commit


def test_other_line_ends_other_files_and_new_ones_do_not_matter(tmp_path: Path, commit: str) -> None:
    folder = tmp_path / "eval" / "bench"
    (folder / "tasks.py").write_bytes(b"TASKS = 1\r\n")
    (folder / "notes.txt").write_text("changed\n")
    (folder / "data" / "new.json").write_text("{}")
    assert found(tmp_path, commit)[1] == commit


def test_a_checkouts_own_configuration_runs_nothing(tmp_path: Path, commit: str) -> None:
    ran = tmp_path / "ran"
    git(tmp_path, "config", "core.fsmonitor", f"touch {ran}; false")
    git(tmp_path, "config", "filter.own.clean", f"touch {ran}; cat")
    (tmp_path / ".git" / "info" / "attributes").write_text("* filter=own\n")
    (tmp_path / "eval" / "bench" / "tasks.py").touch()
    assert found(tmp_path, commit)[1] == commit
    assert not ran.exists()


def test_a_folder_that_is_no_benchmark(tmp_path: Path) -> None:
    (tmp_path / "eval" / "bench").mkdir(parents=True)
    (tmp_path / "eval" / "bench" / "tasks.py").touch()
    with pytest.raises(NotFound, match="eval/bench/data"):
        found(tmp_path, "")
    with pytest.raises(CodeNavError, match="no such folder"):
        found(tmp_path / "gone", "")


def test_a_folder_that_is_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "tasks.py").touch()
    (tmp_path / "data").mkdir()
    with pytest.raises(UsageError, match="commit cannot be read"):
        found(tmp_path, "0" * 40)
    assert found(tmp_path, "0" * 40, any_commit=True) == (tmp_path, UNKNOWN)
