"""Checkpoints, sandboxes without snapshots, and the files of the work folder."""

from __future__ import annotations

import time

import pytest

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import MIB, Outcome, Resources

TRIED_ON = ("bubblewrap", "process")
"""One with a work folder of its own, and one with a folder of the machine."""


def test_a_crash_after_going_back_finds_the_state_from_before_it(box):
    box.run("y = 1")
    number = box.checkpoint()
    box.run("y = 2")
    box.restore(number)
    assert box.run("y = 3\nimport os; os._exit(1)").outcome is Outcome.CRASHED
    assert box.run("y").stdout == "1\n"


def test_of_many_checkpoints_the_oldest_go(contained):
    sandbox = contained(resources=Resources(processes=24))
    for value in range(5):
        sandbox.run(f"z = {value}")
        sandbox.checkpoint()
    with pytest.raises(NotFound):
        sandbox.restore(2)
    sandbox.restore(3)
    assert sandbox.run("z").stdout == "2\n"


def test_numbers_do_not_come_twice_when_the_sandbox_had_to_start_again(fresh):
    sandbox = fresh()
    assert sandbox.checkpoint() == 1
    sandbox._launched.end(patience=0.0)
    assert sandbox.run("1").notice.startswith("state lost")
    with pytest.raises(NotFound):
        sandbox.restore(1)
    assert sandbox.checkpoint() == 2


def test_a_checkpoint_whose_process_was_killed_is_rebuilt(contained):
    sandbox = contained()
    sandbox.run("w = 1")
    sandbox.checkpoint()
    sandbox.run("w = 2\nimport os\nos.kill(-1, 9)")
    assert sandbox.restore(1).startswith("state rebuilt")
    assert sandbox.run("w").stdout == "1\n"


def test_a_checkpoint_serves_where_no_snapshot_is(fresh):
    sandbox = fresh(snapshots=False)
    sandbox.run("import os, pathlib\npathlib.Path('runs').open('a').write('a')\nv = [0]")
    sandbox.checkpoint()
    sandbox.run("v.append(1)")
    execution = sandbox.run("v.append(2)\nos._exit(1)")
    assert execution.outcome is Outcome.CRASHED
    assert execution.notice.startswith("state rebuilt: 1 earlier step(s) since checkpoint 1 run again")
    assert sandbox.run("print(v, open('runs').read())").stdout == "[0, 1] a\n"


def test_near_the_memory_limit_the_oldest_checkpoints_give_way(fresh):
    sandbox = fresh(resources=Resources(memory_bytes=256 * MIB))
    sandbox.run(
        "big = bytearray(150 << 20)\ndef write(n):\n    for i in range(0, len(big), 4096): big[i] = n\nwrite(1)"
    )
    sandbox.checkpoint()
    execution = sandbox.run("import time\nwrite(2)\ntime.sleep(0.6)\nwrite(3)\ntime.sleep(0.6)", timeout=60)
    assert execution.outcome is Outcome.OK
    assert sandbox.run("big[0]").stdout == "3\n"
    assert sandbox.restore(1).startswith("state rebuilt")
    assert sandbox.run("big[0]").stdout == "1\n"


def test_a_step_that_pretends_to_be_over_is_undone_before_a_checkpoint(box):
    box.run("honest = 1")
    forge = """
import json, os, struct, time
error = {'type': 'E', 'message': '', 'line': '', 'traceback': '', 'line_number': None}
end = {'op': 'result', 'outcome': 'error', 'changed': [], 'error': error, 'displays': [], 'seconds': 0.0,
       'deleted': False}
bodies = [json.dumps(one).encode() for one in ({'op': 'raised'}, end)]
honest = 2
for name in os.listdir('/proc/self/fd'):
    if int(name) > 2:
        try:
            if os.readlink('/proc/self/fd/' + name).startswith('socket:'):
                os.write(int(name), b''.join(struct.pack('>II', len(body), 0) + body for body in bodies))
        except OSError: pass
while True: time.sleep(1)
"""
    assert box.run(forge, timeout=5).outcome is Outcome.ERROR
    with pytest.raises(SandboxUnavailable, match="an earlier step was still running"):
        box.checkpoint()
    box.restore(box.checkpoint())
    assert box.run("honest").stdout == "1\n"


def test_reading_a_file_does_not_keep_it_from_being_copied_out(fresh, tmp_path):
    tmp_path.chmod(0o777)
    sandbox = fresh(work_dir=tmp_path)
    code = "import threading\nthreading.Timer(0.3, lambda: open('late.txt', 'w').write('x')).start()"
    sandbox.run(code)
    until = time.monotonic() + 20
    while "late.txt" not in sandbox.artifacts() or sandbox.read_file("late.txt") != b"x":
        assert time.monotonic() < until, "the thread did not write"
    assert sandbox.run("1").files == ["late.txt"]
    assert (tmp_path / "late.txt").read_text() == "x"


def test_a_file_that_does_not_fit_is_refused(contained):
    sandbox = contained(resources=Resources(file_bytes=MIB, work_bytes=2 * MIB))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        sandbox.write_file("big", b"x" * (MIB + 1))
    sandbox.write_file("one", b"x" * MIB)
    with pytest.raises(UsageError, match="No space left"):
        sandbox.write_file("two", b"x" * (MIB - 1))
        sandbox.write_file("three", b"x" * MIB)
