"""Confusion of who speaks for a step: a thread in place of the frozen twin, a process of steps that is patched."""

from __future__ import annotations

import textwrap

from codenav.execution import Outcome
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.forging import FORGE, PROMPT_SECONDS, next_is_true
from codenav.sandboxes.conformance.lab import Lab, ensure, told

_IMPOSTOR = """
import array, socket, sys, threading, time
sys.setswitchinterval(1e-6)
def listen(line):
    data = line.recv(16)
    while data and b'g' not in data: data = line.recv(16)
    line.send(b'w')
    while True:
        data, ancillary, _, _ = line.recvmsg(1 << 16, 1 << 10)
        if not data: return
        for _, _, attached in ancillary:
            taken = array.array('i'); taken.frombytes(attached[:len(attached) // 4 * 4])
            os.write(taken[0], frame({'op': 'begun'}) + result(1))
def speak():
    until, known = time.monotonic() + 20, set(channels())
    while time.monotonic() < until:
        for number in set(channels()) - known:
            try:
                line = socket.socket(fileno=os.dup(number))
                line.send(b't')
                threading.Thread(target=listen, args=(line,), daemon=True).start()
            except OSError: pass
threading.Thread(target=speak, daemon=True).start()
"""


@case("C19", "a thread does not answer in place of the frozen twin")
def _impostor(lab: Lab) -> None:
    for _ in range(2):
        lab.run("kept = 'kept'")
        lab.run(FORGE + _IMPOSTOR, within=PROMPT_SECONDS)
        hang = (
            "kept = 'spoilt'\nn = 0\nwhile n < 1:\n    try:\n        while n < 1: pass\n    except BaseException: pass"
        )
        done = lab.run(hang, timeout=0.5)
        ensure(done.outcome is not Outcome.OK, f"a loop without an end: {told(done)}")
        next_is_true(lab)
        done = lab.run("kept", timeout=5.0)
        ensure(done.stdout in ("'kept'\n", ""), f"the state is that of the step that hung: {done.stdout}")
        lab.renew()


_PATCHES = (
    """
    for one in gc.get_objects():
        if isinstance(one, type) and one.__module__.startswith('guest_') and 'result' in vars(one):
            told = one.result
            one.result = lambda *args: (dict(told(*args)[0], outcome='ok', error=None), b'')
    """,
    """
    def nothing(error, filename): return None
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__name__ in ('describe_error', 'compile'):
            one.__code__ = nothing.__code__
    """,
    """
    builtins.exec = builtins.eval = builtins.compile = lambda *args, **named: None
    builtins.BaseException = ValueError
    """,
    """
    ast.Assert.test = property(lambda self: ast.Constant(True))
    sys.excepthook = lambda *args: os._exit(0)
    sys.settrace(lambda *args: None)
    """,
)


@case("C20", "code that patches the process of the steps does not make a later failure look well")
def _patched_worker(lab: Lab) -> None:
    start = "import ast, builtins, gc, os, sys, types\n"
    for patch in _PATCHES:
        lab.says("before = 1")
        number = lab.box.checkpoint()
        lab.run(start + textwrap.dedent(patch))
        for failing in ("assert before == 2", "before\nassert False\nbefore"):
            done = lab.run(failing)
            ensure(done.outcome is not Outcome.OK, f"a failing step was told as well after {patch!r}")
        lab.box.restore(number)
        next_is_true(lab)
