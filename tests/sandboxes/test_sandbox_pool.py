"""Warm sandboxes: one per call, all alike, none of them left behind."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
import threading

import pytest
from command_line import children, left_behind
from command_line import codenav as codenav_command

import codenav
from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import Resources
from codenav.sandboxes.pool import pools, start_warm


@pytest.fixture
def warm(backend, basis):
    """Starts warm sandboxes; they are closed at the end."""
    opened = []

    def make(size=1, **changes):
        opened.append(start_warm(backend, dataclasses.replace(basis, **changes), size))
        return opened[-1]

    yield make
    for box in opened:
        box.close()
    assert pools() == []


def test_the_second_one_was_waiting(warm):
    first = warm()
    [pool] = pools()
    assert pool.wait(60)
    [waiting] = pool._waiting
    second = warm()
    assert second is waiting
    first.run("x = 1")
    assert second.run("x").error.type == "NameError"
    assert pool.wait(60)
    assert warm().run("1 + 1").stdout == "2\n"


def test_other_specifications_have_pools_of_their_own(warm):
    warm()
    warm(resources=Resources(output_bytes=1000))
    assert len(pools()) == 2


def test_a_work_folder_is_filled_when_a_sandbox_is_taken(warm, tmp_path):
    warm()
    assert pools()[0].wait(60)
    (tmp_path / "in.txt").write_text("late")
    box = warm(work_dir=tmp_path)
    assert box.run("print(open('in.txt').read()); f = open('out.txt', 'w').write('x')").stdout == "late\n"
    assert (tmp_path / "out.txt").read_text() == "x"
    assert len(pools()) == 1
    with pytest.raises(UsageError):
        warm(work_dir=tmp_path / "missing")


def test_one_that_ended_while_it_waited_is_not_handed_out(warm):
    warm()
    [pool] = pools()
    assert pool.wait(60)
    [waiting] = pool._waiting
    waiting._launched.end(patience=0.0)
    box = warm()
    assert box is not waiting
    done = box.run("1 + 1")
    assert (done.stdout, done.notice) == ("2\n", "")


def test_the_pool_is_empty_once_all_its_sandboxes_are_closed(warm):
    first, second = warm(2), warm(2)
    [pool] = pools()
    assert pool.wait(60)
    waiting = list(pool._waiting)
    first.close()
    first.close()
    assert pools() == [pool]
    second.close()
    assert pools() == []
    for box in waiting:
        with pytest.raises(SandboxUnavailable, match="closed"):
            box.run("1")


def test_closing_while_one_is_being_started_leaves_none(warm):
    for _ in range(3):
        before = threading.active_count()
        warm(3).close()
        assert pools() == []
        assert threading.active_count() <= before


OWNER = """
    import os, sys, codenav
    from codenav.sandboxes.pool import pools
    box = codenav.sandbox("bubblewrap", warm=2)
    assert pools()[0].wait(60)
    pid = os.fork()
    if pid == 0:
        assert pools() == []
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    print(box.run("1 + 1").stdout, end="", flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("end", ["killed", "left"])
def test_it_ends_with_its_process(end, tmp_path):
    """`left`: nobody has closed anything when the interpreter exits."""
    before = children()
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(OWNER), end], capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert done.returncode == (-9 if end == "killed" else 0)
    assert left_behind(before) == []
    if end == "killed":
        assert codenav_command("schema", env={"TMPDIR": str(tmp_path)}).code == 0
    assert list(tmp_path.rglob("*.owner")) == []


def test_the_api_takes_warm():
    with codenav.sandbox("bubblewrap", warm=1) as box:
        [pool] = pools()
        assert pool.wait(60)
        with codenav.sandbox("bubblewrap", warm=1, env={"KEY": "secret-value"}):
            assert len(pools()) == 2
        assert pools() == [pool]
        assert box.run("1 + 1").stdout == "2\n"
    assert pools() == []
    with pytest.raises(UsageError):
        codenav.sandbox("bubblewrap", warm=-1)
