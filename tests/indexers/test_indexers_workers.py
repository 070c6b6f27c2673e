"""Processes that read files: same answers, none left, no file stops the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from codenav.indexers.place import Place
from codenav.indexers.read import Task, read
from codenav.indexers.walk import Found, walk
from codenav.indexers.workers import readings

Tree = Callable[[Mapping[str, str | bytes]], Path]


def tasks_of(root: Path) -> list[Task]:
    return [Task(found, Place("s", found.path)) for found in walk(root) if isinstance(found, Found)]


def children(pid: int) -> list[int]:
    """The processes that a process has started, also those that nobody has waited for."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def many(tree: Tree) -> list[Task]:
    files = {f"d{number % 7}/m{number}.py": f"def f{number}(): return {number}\n" * 20 for number in range(100)}
    return tasks_of(tree({**files, "broken.py": b"\0", "doc.md": "# A\n"}))


def test_the_answers_and_their_order_are_those_of_one_process(many: list[Task]) -> None:
    before = children(os.getpid())
    with readings(many, jobs=3) as stream:
        assert list(stream) == [read(task) for task in many]
    assert children(os.getpid()) == before


def test_a_stream_that_is_left_early_leaves_no_process(many: list[Task]) -> None:
    before = children(os.getpid())
    with pytest.raises(KeyError), readings(many, jobs=2) as stream:
        next(stream)
        raise KeyError
    assert children(os.getpid()) == before


def test_one_file_needs_no_process(many: list[Task]) -> None:
    before = children(os.getpid())
    with readings(many[:1], jobs=4) as stream:
        assert children(os.getpid()) == before
        assert len(list(stream)) == 1
    with readings([], jobs=4) as stream:
        assert list(stream) == []


def test_a_process_that_is_killed_is_replaced(many: list[Task]) -> None:
    before = children(os.getpid())
    with readings(many, jobs=2) as stream:
        answers = [next(stream)]
        # Not the guards of servers, which are children of the test process too.
        for pid in set(children(os.getpid())) - set(before):
            os.kill(pid, signal.SIGKILL)
        answers += stream
    assert answers == [read(task) for task in many]


def test_a_file_that_kills_its_process_is_left_out(many: list[Task]) -> None:
    """A crash of the parser as it looks from outside: here unpickling the task ends the process."""
    deadly = Task(many[10].found, Deadly(many[10].place.path))  # type: ignore[arg-type]
    with readings([*many[:10], deadly, *many[11:]], jobs=2) as stream:
        answers = list(stream)
    assert answers[10].reason == "the parser crashed" and answers[10].state is None
    assert [answer for answer in answers if answer.path != deadly.found.path] == [
        read(task) for task in many if task.found.path != deadly.found.path
    ]


class Deadly:
    """Ends the process that unpickles it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (os._exit, (1,))


BUILD = """
import sys
from codenav.indexers.place import Place
from codenav.indexers.read import Task
from codenav.indexers.walk import walk
from codenav.indexers.workers import readings
tasks = [Task(found, Place("s", found.path)) for found in walk(sys.argv[1])]
{before}
with readings(tasks, jobs=2) as stream:
    first = next(stream)
    print("ready", flush=True)
    {then}
print(len(tasks), 1 + len(rest), flush=True)
"""


def script(root: Path, then: str, before: str = "", **options: object) -> subprocess.Popen[str]:
    code = BUILD.format(then=then, before=before)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )


def test_a_script_without_a_main_guard_runs_once(many: list[Task]) -> None:
    root = Path(many[0].found.location).parent
    done = script(root, "rest = list(stream)")
    out, err = done.communicate(timeout=60)
    assert (out.split()[0], err, done.returncode) == ("ready", "", 0)
    assert out.count("ready") == 1


def test_a_file_named_like_a_module_in_the_working_directory_is_not_imported(many: list[Task], tmp_path: Path) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "codenav").mkdir()
    code = "import sys, os; from codenav.indexers import workers; os.chdir(sys.argv[2])\n" + BUILD.format(
        then="rest = list(stream)", before=""
    )
    root = Path(many[0].found.location).parent
    done = subprocess.run([sys.executable, "-c", code, str(root), str(tmp_path)], capture_output=True, text=True)
    assert (done.stdout.split()[1:], done.stderr) == (["102", "102"], "")


def test_where_no_process_starts_the_files_are_read_here(many: list[Task]) -> None:
    root = Path(many[0].found.location).parent
    done = script(root, "rest = list(stream)", before="sys.executable = '/bin/false'")
    out, err = done.communicate(timeout=60)
    assert (out.split(), err) == (["ready", "102", "102"], "")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_an_interrupted_build(many: list[Task], ending: signal.Signals) -> None:
    root = Path(many[0].found.location).parent
    builder = script(root, "sys.stdin.read(); rest = []", start_new_session=True)
    assert builder.stdout and builder.stdout.readline() == "ready\n"
    workers = children(builder.pid)
    assert len(workers) == 2
    os.killpg(builder.pid, ending)
    _, err = builder.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        os.sched_yield()
    assert not any(alive(pid) for pid in workers)
    assert err.count("Traceback") == (1 if ending == signal.SIGINT else 0)
    assert "workers.py" not in err.split("KeyboardInterrupt")[-1]


def alive(pid: int) -> bool:
    """True if a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
