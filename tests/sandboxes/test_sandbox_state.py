"""The state after steps that end their process, hang it, or lie about it."""

from __future__ import annotations

import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from codenav.core.execution import MIB, Outcome, Resources, SandboxSpec
from codenav.core.protocols import Sandbox
from codenav.sandboxes import start
from codenav.sandboxes.conformance.lab import crowding

TRIED_ON = ("bubblewrap", "process")
"""One where all processes of a namespace are seen, and one where they are found by their parents."""

KEPT = ("state kept", "state rebuilt")
"""Rebuilt where forks were slow, so that the last snapshot is older than the step."""

DEADLY = {
    "os._exit": ("import os; os._exit(3)", Outcome.CRASHED),
    "segfault": ("import ctypes; ctypes.string_at(0)", Outcome.CRASHED),
    "abort": ("import os; os.abort()", Outcome.CRASHED),
    "kill -9": ("import os; os.kill(os.getpid(), 9)", Outcome.CRASHED),
    "all descriptors closed": ("import os; os.closerange(0, 256)", Outcome.CRASHED),
    "signals ignored": (
        "import signal\nfor s in (2, 14, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
        Outcome.TIMEOUT,
    ),
    "C loop": ("sum(range(10 ** 12))", Outcome.TIMEOUT),
    "children hold the pipes": (
        "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nos._exit(1)",
        Outcome.CRASHED,
    ),
}


@pytest.mark.parametrize("name", DEADLY)
def test_the_state_from_before_survives(box, name):
    code, outcome = DEADLY[name]
    box.run("kept = {'a': 1}\nimport random; random.seed(7); first = random.random()")
    started = time.monotonic()
    execution = box.run("kept['b'] = 2\n" + code, timeout=0.5)
    assert time.monotonic() - started < 0.5 + crowding()
    assert outcome is None or execution.outcome is outcome
    if execution.outcome is not Outcome.OK:
        assert execution.notice.startswith(KEPT) or execution.outcome is Outcome.ERROR
    after = box.run("print(kept)")
    assert after.outcome is Outcome.OK
    if execution.outcome is Outcome.CRASHED:
        assert after.stdout == "{'a': 1}\n"
        assert execution.error is not None
    assert after.notice == ""


def test_the_random_state_is_carried_over(box):
    box.run("import random; random.seed(7)")
    expected = box.run("random.seed(7); random.random()").stdout
    box.run("random.seed(7)")
    box.run("import os; os._exit(1)")
    assert box.run("random.random()").stdout == expected


def test_a_soft_timeout_keeps_the_process_and_says_where_it_was(box):
    execution = box.run("import time\nreached = True\ntime.sleep(60)\n", timeout=0.3)
    assert (execution.outcome, execution.error.type, execution.error.line_number) == (
        Outcome.TIMEOUT,
        "TimeoutError",
        3,
    )
    assert execution.notice.startswith("state kept")
    assert box.run("reached").stdout == "True\n"


def test_several_crashes_in_a_row(box):
    box.run("tally = 0")
    for _ in range(3):
        box.run("tally += 1")
        assert box.run("import os; os._exit(1)").outcome is Outcome.CRASHED
        assert box.run("import os; os._exit(1)").outcome is Outcome.CRASHED
    assert box.run("tally").stdout == "3\n"


def test_a_worker_that_dies_between_two_steps_is_rebuilt(box):
    box.run("runs = 0")
    box.run("runs += 1\nimport threading, os\nthreading.Timer(0.05, lambda: os._exit(9)).start()")
    box.run("import time; time.sleep(0.3)")
    after = box.run("runs")
    assert after.stdout == "1\n"


def test_threads_that_held_a_lock_do_not_hang_the_state(box):
    code = """
    import threading, logging
    lock = threading.Lock(); entered = threading.Event()
    def hold():
        with lock:
            entered.set()
            threading.Event().wait()
    threading.Thread(target=hold, daemon=True).start(); entered.wait()
    """
    box.run(textwrap.dedent(code))
    execution = box.run("import os; os._exit(1)")
    assert (
        "threads that earlier steps had opened are gone; a lock that one of them held stays locked" in execution.notice
    )
    assert box.run("1 + 1").stdout == "2\n"


def test_without_a_snapshot_the_steps_run_again(contained):
    sandbox = contained()
    sandbox.run("numbers = []")
    sandbox.run("numbers.append(1)")
    execution = sandbox.run("import os\nos.kill(-1, 9)\nos._exit(1)")
    assert execution.outcome is Outcome.CRASHED
    assert execution.notice.startswith("state rebuilt")
    assert sandbox.run("numbers").stdout == "[1]\n"


def test_steps_that_do_not_run_again_are_reported_as_lost(contained):
    sandbox = contained()
    sandbox.run("import os, pathlib\nvalue = 1")
    sandbox.run("if os.path.exists('mark'): os._exit(1)\npathlib.Path('mark').touch()")
    notice = sandbox.run("os.kill(-1, 9)\nos._exit(1)").notice
    assert notice == "state lost: step 2 did not run again to its end; all variables are gone."
    after = sandbox.run("value")
    assert (after.error.type, after.notice) == ("NameError", "")
    assert sandbox.run("value = 2\nvalue").stdout == "2\n"


def test_a_fork_of_user_code_does_not_serve_requests(box):
    execution = box.run(
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('child' if pid == 0 else 'parent')"
    )
    assert sorted(execution.stdout.splitlines()) == ["child", "parent"]
    assert box.run("print('once')").stdout == "once\n"
    execution = box.run(
        "pid = os.fork()\nif pid == 0: sys_exit = 1/0\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
    )
    assert execution.stdout == "1\n"
    assert "ZeroDivisionError" in execution.stderr


def test_no_unknown_child_appears_in_user_code(box):
    assert box.run("import os\nos.waitpid(-1, os.WNOHANG)").error.type == "ChildProcessError"


SMALL = Resources(memory_bytes=256 * MIB)


def test_a_large_state_is_not_taken_for_two(fresh):
    sandbox = fresh(resources=SMALL)
    assert (
        sandbox.run("big = bytearray(150 << 20)\nfor i in range(0, len(big), 4096): big[i] = 1").outcome is Outcome.OK
    )
    execution = sandbox.run("import time; time.sleep(0.3); len(big)")
    assert (execution.outcome, execution.stdout) == (Outcome.OK, f"{150 << 20}\n")
    assert sandbox.run("for i in range(0, len(big), 4096): big[i] = 1\ntime.sleep(0.3)").outcome is Outcome.OK
    assert sandbox.run("import os; os._exit(1)").notice.startswith("state ")
    assert sandbox.run("len(big)").stdout == f"{150 << 20}\n"


def test_a_set_of_strings_is_printed_in_the_same_order_by_every_sandbox(fresh: Callable[..., Sandbox]) -> None:
    code = "print({str(n) for n in range(50)}, hash('x'))"
    assert len({fresh().run(code).stdout for _ in range(3)}) == 1


def test_a_step_that_was_interrupted_never_runs_again(backend: str, basis: SandboxSpec) -> None:
    with start(backend, replace(basis, snapshots=False)) as sandbox:
        sandbox.run("x = 1")
        threading.Timer(0.5, sandbox.interrupt).start()
        stopped = sandbox.run("while True: pass", timeout=60)
        assert stopped.error and stopped.error.type == "KeyboardInterrupt"
        crashed = sandbox.run("import os; os._exit(3)")
        assert crashed.outcome is Outcome.CRASHED
        assert crashed.notice.startswith("state lost: step 2 cannot run again, because it was interrupted")
        after = sandbox.run("print('x' in globals())", timeout=60)
        assert (after.outcome, after.stdout, after.notice) == (Outcome.OK, "False\n", "")
