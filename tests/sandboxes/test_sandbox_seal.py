"""What a step puts into the place of the worker's own parts does not make a later failing step look well."""

from __future__ import annotations

import pytest

from codenav.core.execution import Held, Outcome
from codenav.episodes.compared import Left
from codenav.episodes.verify import verify

OWN = "import gc, sys, types\nours = lambda one: getattr(one, '__module__', '').startswith('guest_')\n"

ATTACKS = {
    "classes": OWN
    + """
def harmless(self, *args, **kwargs):
    return None
for kind in [one for one in gc.get_objects() if isinstance(one, type) and ours(one)]:
    if 'result' in vars(kind):
        told = kind.result
        kind.result = lambda *args: (dict(told(*args)[0], outcome='ok', error=None), b'')
    for name in ('run', 'look', 'enter', 'show'):
        if kind.__name__ in ('Step', 'Compiler') and name in vars(kind):
            setattr(kind, name, harmless)
""",
    "code of functions": OWN
    + """
def described(error, filename):
    return None
for one in gc.get_objects():
    if isinstance(one, types.FunctionType) and ours(one) and one.__name__ in ('describe_error', 'compile'):
        one.__code__ = described.__code__.replace(co_freevars=())
""",
    "builtins": """
import builtins
made, ran = builtins.compile, builtins.exec
def compile(source, *args, **kwargs):
    return made('pass' if isinstance(source, str) else source, *args, **kwargs)
builtins.compile = compile
builtins.exec = builtins.eval = lambda *args: None
builtins.isinstance = lambda *args: False
builtins.BaseException = builtins.AssertionError = ValueError
del compile
""",
    "nodes of ast": """
import ast
ast.Module.body = property(lambda self: [])
ast.Assert.test = property(lambda self: ast.Constant(True, lineno=1, col_offset=0, end_lineno=1, end_col_offset=1))
""",
    "modules": """
import sys, json, os, traceback, linecache, io, socket, struct
for name in ('traceback', 'linecache', 'io', 'socket', 'ast', 'json'):
    sys.modules[name] = None
json.JSONEncoder.encode = lambda self, value: '{"op": "result", "outcome": "ok"}'
written = os.write
os.write = lambda number, data: written(number, data.replace(b'"error"', b'"ok"').replace(b'raised', b'ended'))
os.getpid = lambda: 1
""",
    "hooks": """
import atexit, os, signal, sys, threading
sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *args: os._exit(0)
sys.displayhook = lambda value: None
atexit.register(os._exit, 0)
sys.settrace(lambda *args: None)
sys.setprofile(lambda *args: None)
threading.settrace(lambda *args: None)
signal.signal(signal.SIGINT, lambda *args: None)
""",
    "frames": """
import sys
def skip(frame, event, arg):
    if event == 'exception':
        frame.f_lineno = frame.f_lineno
    return skip
frame = sys._getframe()
while frame.f_back:
    frame = frame.f_back
    frame.f_trace = skip
    for name in ('error', 'raised', 'worker'):
        if name in frame.f_locals:
            frame.f_locals[name] = frame.f_locals.get('ended')
sys.settrace(skip)
del frame
""",
}


@pytest.mark.parametrize("attack", list(ATTACKS))
def test_a_later_failure_is_never_well(contained, attack):
    box = contained()
    box.run("before = 1")
    box.run(ATTACKS[attack], timeout=10)
    for code in (
        "assert before == 2",
        "before\nassert False\nbefore",
        "import asyncio\nawait asyncio.sleep(0, 1 / 0)",
    ):
        assert box.run(code, timeout=10).outcome is not Outcome.OK
    assert box.run("raise SystemExit", timeout=10).outcome is not Outcome.OK


def test_a_script_that_patches_and_fails_is_not_verified(contained):
    for attack, code in ATTACKS.items():
        script = f"{code}\nfound = 41\nassert found == 42, 'the answer'\nprint(found)\n"
        held = Left(Held(), {}, (), "what was found?")
        verdict = verify(script, start=lambda _: contained(), inputs=None, left=held, timeout=10)
        assert not verdict.verified and not verdict.compared, attack


def test_an_end_that_is_told_twice_or_without_its_token_is_a_violation(contained):
    box = contained()
    box.run("kept = 1")
    forge = """
import json, os, socket, stat, struct
def frame(message, blob=b''):
    body = json.dumps(message, separators=(',', ':')).encode()
    return struct.pack('>II', len(body), len(blob)) + body + blob
lines = [int(n) for n in os.listdir('/proc/self/fd') if int(n) > 2]
lines = [n for n in lines if os.path.exists(f'/proc/self/fd/{n}') and stat.S_ISSOCK(os.fstat(n).st_mode)]
"""
    for lie in (
        "frame({'op': 'ended'}, b'x' * 16)",
        "frame({'op': 'ended'})",
        "frame({'op': 'raised'})",
        "frame({'op': 'raised'}) * 2",
        "frame({'op': 'result', 'outcome': 'ok', 'changed': [], 'error': None, 'displays': [], 'seconds': 0.1,"
        " 'deleted': False})",
    ):
        done = box.run(forge + f"for line in lines:\n    os.write(line, {lie})\n", timeout=10)
        assert done.outcome is Outcome.PROTOCOL_VIOLATION, lie
        assert box.run("kept").stdout == "1\n"
    done = box.run(forge + "import fcntl\nfor line in lines: os.write(line, frame({'op': 'raised'}))\n1 / 0")
    assert done.outcome is Outcome.PROTOCOL_VIOLATION
