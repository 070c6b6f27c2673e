"""The end of a sandbox: while a step runs, from any thread, and in a process that was forked."""

from __future__ import annotations

import os
import threading
import time

import pytest

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Outcome

STUBBORN = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
started = open('started', 'w').close()
sum(range(10 ** 13))
"""


def run_in_thread(box, code):
    """A step of another thread, and its result when it comes."""
    found = []

    def run():
        try:
            found.append(box.run(code, timeout=60))
        except SandboxUnavailable as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while box._channel is not None and not box._channel._owed:
        time.sleep(0.01)
    time.sleep(0.3)
    return thread, found


@pytest.mark.parametrize("force", [False, True])
def test_a_running_step_ends_with_its_sandbox(fresh, force):
    box = fresh()
    box.run("x = 1")
    thread, found = run_in_thread(box, STUBBORN)
    waiting, queued = run_in_thread(box, "x")
    box.close(force=force)
    thread.join(10)
    waiting.join(10)
    assert (found[0].outcome, found[0].error.type) == (Outcome.CRASHED, "Closed")
    assert found[0].notice == "state lost: the sandbox is closed."
    assert "closed" in str(queued[0])
    with pytest.raises(SandboxUnavailable, match="closed"):
        box.run("x")
    box.close()


def test_a_step_that_answers_to_an_interrupt_says_so_when_its_sandbox_closes(fresh):
    box = fresh()
    thread, found = run_in_thread(box, "while True: pass")
    box.close()
    thread.join(10)
    assert (found[0].outcome, found[0].error.type) == (Outcome.ERROR, "KeyboardInterrupt")


def test_a_forked_process_holds_nothing_of_a_sandbox(fresh):
    box = fresh()
    box.run("x = 1")
    lines = {os.fstat(number).st_ino for number in (box._launched.sink, box._launched.source)}
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = [name for name in os.listdir("/proc/self/fd") if inode(int(name)) in lines]
            try:
                box.run("x")
            except SandboxUnavailable as error:
                told.append(str(error))
            box.close(force=True)
            os.write(write, "; ".join(told).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    told = os.read(read, 1000).decode()
    for end in (read, write):
        os.close(end)
    assert told == "the sandbox belongs to the process that this one was forked from"
    assert box.run("x").stdout == "1\n"


def inode(number):
    try:
        return os.fstat(number).st_ino
    except OSError:
        return None
