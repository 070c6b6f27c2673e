"""What is alive between steps stays alive; what a crash takes with it is told; no process is forgotten."""

from __future__ import annotations

import pytest

from codenav.core.execution import Outcome

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""


def test_the_other_end_of_a_closed_pipe_is_seen(box):
    code = "import os\nreader, writer = os.pipe()\nos.write(writer, b'x')"
    box.run(code)
    box.run("os.close(writer)")
    assert box.run("os.read(reader, 10), os.read(reader, 10)", timeout=10).stdout == "(b'x', b'')\n"


def test_a_loop_in_a_woken_twin_can_be_ended(box):
    box.run("kept = 5\nimport os")
    for _ in range(2):
        crashed = box.run("os._exit(1)")
        assert crashed.outcome is Outcome.CRASHED
        assert crashed.notice.startswith("state kept")
        execution = box.run("import signal\nsignal.pthread_sigmask(0, range(1, 32))\nwhile True: pass", timeout=0.3)
        assert execution.outcome is Outcome.TIMEOUT
        assert execution.notice.startswith("state kept")
    assert box.run("kept").stdout == "5\n"


def test_no_process_is_left_after_steps_that_crash(contained):
    sandbox = contained()
    sandbox.run("import os")
    for _ in range(3):
        sandbox.run("os._exit(1)")
    sandbox.checkpoint()
    sandbox.restore(1)
    sandbox.run("1")
    listed = sandbox.run("sorted(int(p) for p in os.listdir('/proc') if p.isdigit())").stdout
    # The supervisor, the worker, the checkpoint, the snapshot of this step, perhaps still that of the step before.
    assert 4 <= len(listed.split(",")) <= 5


@pytest.mark.parametrize("number", [1, 2, 10, 12, 14, 15])
def test_a_twin_blocks_signals(contained, number):
    sandbox = contained()
    sandbox.run(f"import os, signal\nkept = 1\nsignal.signal({number}, signal.SIG_IGN)")
    sandbox.checkpoint()
    assert sandbox.run(f"os.kill(-1, {number})\nkept = 2").outcome is Outcome.OK
    assert sandbox.run("os._exit(1)").notice.startswith("state kept")
    assert sandbox.run("kept").stdout == "2\n"
    assert sandbox.restore(1).startswith("state kept")


def test_an_alarm_that_was_set_does_not_go_off_in_a_twin(box):
    box.run("import os, signal\nfired = []\nsignal.signal(signal.SIGALRM, lambda *_: fired.append(1))")
    box.run("signal.setitimer(signal.ITIMER_REAL, 0.1)\nos._exit(1)")
    assert box.run("import time; time.sleep(0.3); fired").stdout == "[]\n"


@pytest.mark.parametrize(
    "hook", ["before=held.acquire", "after_in_child=held.acquire", "after_in_child=lambda: os.kill(os.getpid(), 19)"]
)
def test_a_library_that_waits_at_every_fork_takes_the_snapshots_only(fresh, hook):
    sandbox = fresh()
    sandbox.run(f"import os, threading\nheld = threading.Lock()\nheld.acquire()\nos.register_at_fork({hook})\nv = 1")
    execution = sandbox.run("v += 1\nv", timeout=20)
    assert (execution.outcome, execution.stdout) == (Outcome.OK, "2\n")
    assert sandbox.run("v += 1\nv", timeout=20).stdout == "3\n"


def test_children_that_nobody_waits_for_do_not_trouble_the_snapshot(box):
    box.run("import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nkept = 3")
    assert box.run("kept").stdout == "3\n"
    assert box.run("os._exit(1)").notice.startswith("state kept")
    assert box.run("kept").stdout == "3\n"
    box.run("signal.signal(signal.SIGCHLD, signal.SIG_DFL)")
