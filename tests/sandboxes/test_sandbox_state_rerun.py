"""Earlier steps that run again: in a time of their own, done when it is said to be done, and compared with before."""

from __future__ import annotations

import dataclasses
import math
import time

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import Outcome
from codenav.sandboxes import start

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""

DIES = "import os\nos._exit(1)"


@pytest.fixture(scope="module")
def bare(backend, basis):
    """One that makes no snapshots: after a crash all steps run again."""
    with start(backend, dataclasses.replace(basis, snapshots=False)) as opened:
        yield opened


def test_a_short_timeout_does_not_end_what_runs_again(contained):
    box = contained(snapshots=False)
    box.run("import time\nx = 0")
    for _ in range(3):
        box.run("time.sleep(0.4)\nx += 1")
    done = box.run(DIES, timeout=1.0)
    assert done.outcome is Outcome.CRASHED
    assert done.notice == "state rebuilt: all 4 earlier step(s) run again: steps 1 to 4."
    after = box.run("x", timeout=1.0)
    assert (after.outcome, after.stdout, after.notice) == (Outcome.OK, "3\n", "")
    assert box.run(DIES, timeout=1.0).notice.startswith("state rebuilt")
    assert box.variables()["x"].repr == "3"
    box.run("import threading, os\nthreading.Timer(0.1, lambda: os._exit(9)).start()", timeout=1.0)
    time.sleep(0.4)
    found = box.variables()
    assert found["x"].repr == "3"


def test_what_runs_again_says_what_is_different(bare):
    bare.run("import random, threading, time\nx, same = random.random(), object()\ny = {'n': time.time_ns()}")
    bare.run("with open('log', 'a') as file: file.write('one\\n')\nz = 1")
    bare.run("stop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()")
    bare.run("x = len(open('log').read())\nw = x")
    told = bare.run(DIES).notice
    assert told == "state rebuilt: all 4 earlier step(s) run again: steps 1 to 4; y, w and x differ from before."
    assert bare.run("w, threading.active_count(), z").stdout == "(8, 2, 1)\n"
    bare.run("many = [random.random() for _ in range(3)]\na, b, c, d = many[0], many[1], many[2], many\nstop.set()")
    told = bare.run(DIES).notice
    assert told.endswith("; y, w, x, a, b and 3 more differ from before."), told


def test_a_step_that_ends_differently_is_named(fresh):
    box = fresh(snapshots=False)
    box.run("import os\nkept = 1\nos.mkdir('made')")
    assert box.run(DIES).notice.startswith(
        "state rebuilt: all 1 earlier step(s) run again: step 1; step 1 ended differently from before"
    )


def test_a_timeout_is_over_nothing(box):
    for seconds in (0, -1, math.nan, math.inf):
        with pytest.raises(UsageError, match="over 0 seconds"):
            box.run("1", timeout=seconds)


def test_a_step_that_has_left_what_broke_the_protocol_is_undone(fresh):
    box = fresh(snapshots=False)
    box.run("import os, threading, time\nruns = 1")
    leave = """
with open('ran', 'a') as file: file.write('x')
def garble():
    while not os.path.exists('enough'):
        for name in os.listdir('/proc/self/fd'):
            try:
                if int(name) > 2 and os.readlink('/proc/self/fd/' + name).startswith(('pipe:', 'socket:')):
                    os.write(int(name), b'xxxxyyyyzzzz')
            except OSError: pass
        time.sleep(0.01)
threading.Timer(0.3, garble).start()
"""
    assert box.run(leave).outcome is Outcome.OK
    done = box.run("time.sleep(5)")
    assert done.outcome is Outcome.PROTOCOL_VIOLATION, done
    assert done.notice == "state rebuilt: step 2 was undone; all 1 earlier step(s) run again: step 1."
    assert box.run("runs, open('ran').read()").stdout == "(1, 'x')\n"
