"""The common parts of benchmarks: checkouts, the code base on the disk, descriptions from files, and known names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codenav.core.errors import CodeNavError, NotFound, StorageFull, UsageError
from codenav.evals.benchmark import UNKNOWN, checkout, make, write_files
from codenav.evals.task import Mode

DATA = Path(__file__).parents[1] / "data" / "evals"
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


@pytest.mark.parametrize("name", ["m3tooleval", "api-bank", "mnms"])
def test_a_description_and_guidelines_of_a_person(tmp_path: Path, name: str) -> None:
    own = tmp_path / "own.txt"
    own.write_text("Five files.\n")
    data = DATA / {"mnms": "mnms/checkout"}.get(name, name.replace("-", "_"))
    more = {"tasks": str(DATA / "mnms" / "plans.json"), "stub_tools": True} if name == "mnms" else {}
    task = make(name, data, {"any_commit": True, "description": str(own), "guidelines": str(own), **more})
    assert {task.setting(mode, tmp_path / "out").description for mode in Mode} == {"Five files.\n\nFive files."}
    for option in ("description", "guidelines"):
        with pytest.raises(NotFound, match=f"--{option} libary: No such file"):
            make(name, data, {"any_commit": True, option: "libary", **more})
    with pytest.raises(UsageError, match="scores are known for"):
        make(name, data, more)


def test_a_code_base_is_written_once_and_nothing_else_is_left(tmp_path: Path) -> None:
    files = {"a/one.py": b"1\n", "two.py": b"2\n"}
    assert write_files(files, tmp_path / "code") == tmp_path / "code"
    before = (tmp_path / "code" / "a" / "one.py").stat().st_mtime_ns
    (tmp_path / "code" / "two.py").write_text("broken")
    (tmp_path / "code" / "left.py").write_text("old = 1\n")
    write_files(files, tmp_path / "code")
    found = {str(path.relative_to(tmp_path / "code")): path for path in (tmp_path / "code").rglob("*.py")}
    assert {name: path.read_bytes() for name, path in found.items()} == files
    assert found["a/one.py"].stat().st_mtime_ns == before
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFull, match="cannot write the code base"):
        write_files(files, tmp_path / "file")


def test_an_unknown_benchmark_and_an_unknown_option_are_refused() -> None:
    with pytest.raises(UsageError, match="m3tooleval has no option --sample"):
        make("m3tooleval", DATA / "m3tooleval", {"any_commit": True, "sample": 3})
    with pytest.raises(UsageError, match="no benchmark 'm3'"):
        make("m3", DATA)
