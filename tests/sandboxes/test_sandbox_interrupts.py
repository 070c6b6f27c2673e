"""Interrupts: the first raises in the step, a second one ends what does not answer."""

from __future__ import annotations

import signal
import threading

import pytest

from codenav.core.execution import Outcome

TRIED_ON = ("bubblewrap", "docker")
"""A pipe, and the stream of an engine."""


def interrupted(sandbox, code, *, gaps):
    """The result of a step that is interrupted after each of these seconds."""
    results = []
    thread = threading.Thread(target=lambda: results.append(sandbox.run(code, timeout=60)))
    thread.start()
    for seconds in gaps:
        thread.join(seconds)
        sandbox.interrupt()
    thread.join()
    return results[0]


def test_an_interrupt_that_does_not_end_a_system_call_is_heeded(fresh):
    # It reaches another thread, as one that comes just before the call reaches none that waits.
    code = """
import signal, threading, time
other = threading.Thread(target=time.sleep, args=(30,), daemon=True)
other.start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
kept = 2
time.sleep(30)
"""
    sandbox = fresh()
    done = interrupted(sandbox, code, gaps=[1])
    assert (done.outcome, done.error.type, done.notice) == (Outcome.ERROR, "KeyboardInterrupt", "")
    assert done.seconds < 30
    assert sandbox.run("kept").stdout == "2\n"


def test_an_interrupt_is_raised_once(fresh):
    code = """
import signal, time
try:
    time.sleep(30)
except KeyboardInterrupt:
    time.sleep(2)
    caught = True
"""
    sandbox = fresh()
    assert interrupted(sandbox, code, gaps=[1]).outcome is Outcome.OK
    assert sandbox.run("caught").stdout == "True\n"


@pytest.mark.parametrize(
    "code",
    [
        "sum(range(10 ** 13))",
        "import itertools; 'x' in itertools.repeat('y')",
        "while True:\n    try: time.sleep(1)\n    except KeyboardInterrupt: pass",
    ],
)
def test_a_second_interrupt_ends_a_step_that_does_not_answer(fresh, code):
    sandbox = fresh()
    sandbox.run("import time\nkept = 1")
    done = interrupted(sandbox, f"kept = 2\n{code}", gaps=[1, 0.5])
    assert (done.outcome, done.error.type) == (Outcome.CRASHED, "KeyboardInterrupt")
    assert "second time" in done.error.message
    assert done.seconds < 30
    assert done.notice.startswith("state kept: the variables are those from before this step")
    assert sandbox.run("kept").stdout == "1\n"


def test_two_interrupts_at_once_let_a_step_answer(fresh):
    sandbox = fresh()
    sandbox.run("import time\nkept = 1")
    done = interrupted(sandbox, "kept = 2\nwhile True: time.sleep(0.001)", gaps=[1, 0])
    assert (done.outcome, done.error.type) == (Outcome.ERROR, "KeyboardInterrupt")
    assert interrupted(sandbox, "kept", gaps=[0, 0.1, 0.1]).outcome in (Outcome.OK, Outcome.ERROR)
    assert sandbox.run("kept").stdout == "2\n"


def test_a_caller_who_is_interrupted_in_a_loop_in_c_keeps_the_state(fresh):
    sandbox = fresh()
    sandbox.run("kept = 1")
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.run("kept = 2\nsum(range(10 ** 13))")
    timer.join()
    execution = sandbox.run("kept")
    assert (execution.stdout, execution.outcome, execution.notice) == ("1\n", Outcome.OK, "")


def test_an_interrupt_does_not_reach_steps_that_run_again(contained):
    sandbox = contained(snapshots=False)
    sandbox.run("import os, time\ntime.sleep(1.5)\nkept = 1")
    assert sandbox.run("os._exit(1)").notice.startswith("state rebuilt")
    done = interrupted(sandbox, "time.sleep(60)", gaps=[0.5])
    assert (done.outcome, done.error.type) == (Outcome.ERROR, "KeyboardInterrupt")
    assert sandbox.run("kept").stdout == "1\n"


def test_what_an_ended_step_leaves_behind_is_told(box):
    earlier = "import os, subprocess, tempfile, time\nearlier = tempfile.mkdtemp(); subprocess.Popen(['sleep', '98'])"
    assert box.run(f"{earlier}\ntime.sleep(0.1)").notice == ""
    starts = "child = subprocess.Popen(['sleep', '99']); print(child.pid, tempfile.mkdtemp(), flush=True)"
    left = box.run(f"{starts}\ntime.sleep(60)", on_output=lambda piece: box.interrupt())
    pid, folder = left.stdout.split()
    assert left.notice == f"left behind by the step: process {pid} (sleep 99) and {folder}."
    ended = box.run("print(tempfile.mkdtemp(), flush=True); os._exit(1)")
    assert ended.notice.endswith(f" left behind by the step: {ended.stdout.strip()}.")
    tidy = "with tempfile.TemporaryDirectory():\n    print(1, flush=True)\n    time.sleep(60)"
    stopped = box.run(tidy, on_output=lambda piece: box.interrupt())
    assert (stopped.error.type, stopped.notice) == ("KeyboardInterrupt", "")
    assert "left behind" not in box.run("tempfile.mkdtemp(); 1 / 0").notice
