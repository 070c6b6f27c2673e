"""Attacks on the protocol: code that lies to the supervisor, breaks its own process, or sends strange values."""

from __future__ import annotations

import contextlib
import os
import textwrap

from attacks import ATTACKS, case, renew, resident
from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.lab import Broken, Case, Check, Lab, Step, ending, ensure, expect

HOST_BYTES = 96 << 20
"""Maximum bytes of the host's memory that a flood from inside may take: one frame of the largest size, and its text."""


STATED = (Outcome.OK, Outcome.ERROR, Outcome.CRASHED, Outcome.PROTOCOL_VIOLATION)
"""Outcomes that are right for code that plays with the channel; a full timeout is not."""
PROMPT_SECONDS = 5.0

FORGE = """
import json, os, stat, struct
def frame(message, blob=b''):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack('>II', len(body), len(blob)) + body + blob
def channels():
    found = []
    for name in os.listdir('/proc/self/fd'):
        try: mode = os.fstat(int(name)).st_mode
        except OSError: continue
        if int(name) > 2 and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)): found.append(int(name))
    return found
def send(data):
    for channel in channels():
        os.set_blocking(channel, False)
        try: os.write(channel, data)
        except OSError: pass
        os.set_blocking(channel, True)
def result(number, **changes):
    return frame(dict({'op': 'result', 'number': number, 'outcome': 'ok', 'stdout': 'LIE', 'stderr': '',
        'stdout_bytes': 3, 'late_output': 'LIE', 'changed': [['lie', 'int', '1']], 'error': None, 'displays': [],
        'seconds': 0.1, 'notice': 'LIE', 'deleted': False}, **changes))
"""
"""Functions for code that writes frames of its own into every channel that it finds."""


def next_is_true(lab: Lab) -> None:
    """Check that the step after an attack tells the truth: its own output, its own outcome."""
    done = lab.run("print('true'); truth = 6 * 7", timeout=20.0)
    expect("outcome and output of the next step", (done.outcome, done.stdout), (Outcome.OK, "true\n"))
    expect("what it changed", [(one.name, one.repr) for one in done.changed], [("truth", "42")])


def _forged(number: int) -> list[Check]:
    return [Step(FORGE + f"send(result({number}))", STATED, within=PROMPT_SECONDS), next_is_true]


SHORT = (
    Case("C1", "a forged frame with another number is no result", [
        part for number in (0, 1, 999, -1, 1 << 40) for part in _forged(number)
    ]),
    Case("C2", "a forged frame lies about its own step at most", [
        Step("kept = 'kept'"),
        *(Step(FORGE + f"send(result({number}))\nkept = 'kept'", STATED, within=PROMPT_SECONDS)
          for number in range(2, 12)),
        Step(FORGE + "send(frame({'op': 'begun'}) + result(12))\nwhile True: pass", (*STATED, Outcome.TIMEOUT),
             timeout=2.0),
        next_is_true,
        Step("kept", prints="'kept'"),
    ]),
)  # fmt: skip
ATTACKS.update({each.id: each for each in SHORT})


@case("C3", "a frame written ahead for the next step is dropped")
def _ahead(lab: Lab) -> None:
    ahead = "data = b''.join(frame({'op': 'begun'}) + result(n) for n in range(1, 30))\n"
    lab.outcome(FORGE + ahead + "send(data)", *STATED, within=PROMPT_SECONDS)
    next_is_true(lab)
    late = """
    import threading, time
    def again():
        for _ in range(400):
            if os.path.exists('/tmp/enough'): break
            send(data)
            time.sleep(0.002)
    thread = threading.Thread(target=again); thread.start()
    """
    lab.run(FORGE + ahead + "\n".join(line[4:] for line in late.splitlines()))
    # A thread that goes on is code of the session: what it does to a step that runs beside it is its own lie.
    for _ in range(5):
        done = lab.run("print('true')", within=PROMPT_SECONDS)
        ensure(done.outcome in STATED, f"beside a thread that forges: {ending(done)}")
    # The thread ends for certain, also that of a step that runs again, before what is said has to be true.
    for _ in range(2):
        lab.run("open('/tmp/enough', 'w').close()\nimport threading\n"
                "for one in threading.enumerate()[1:]: one.join()", timeout=5.0)  # fmt: skip
    lab.run("pass")
    next_is_true(lab)


@case("C4", "100 MB without an end are cut off")
def _flood(lab: Lab) -> None:
    before = resident()
    flood = """
    import threading
    def pour(channel):
        data = b'x' * (1 << 20)
        for _ in range(100):
            try: os.write(channel, data)
            except OSError: return
    threads = [threading.Thread(target=pour, args=(channel,), daemon=True) for channel in channels()]
    for thread in threads: thread.start()
    for thread in threads: thread.join(1.0)
    """
    lab.outcome(FORGE + textwrap.dedent(flood), *STATED, Outcome.TIMEOUT, timeout=5.0)
    big = FORGE + "send(struct.pack('>II', 1 << 31, 1 << 31)); send(struct.pack('>II', 100 << 20, 0) + b'[' * 1000)"
    lab.outcome(big, *STATED, Outcome.TIMEOUT, timeout=5.0)
    next_is_true(lab)
    grown = resident() - before
    ensure(grown < HOST_BYTES, f"the host's memory grew by {grown >> 20} MiB")


@case("C5", "broken frames are a violation, and no exception of the host")
def _broken_frames(lab: Lab) -> None:
    for payload in (
        "frame(b'not json')",
        "frame(b'[1]')",
        "frame(b'[' * 30000)",
        "frame(b'{\"op\": NaN}')",
        'frame(b\'{"op": "result", "op": 3}\')',
        "frame(b'\\xff\\xfe')",
        "frame({'op': 'result'})",
        "result(1, outcome=['ok'])",
        "result(1, stdout=3)",
        "result(1, changed=[['a']])",
        "result(1, changed=[['\\ud800', '\\x1b[2J', 'c']] * 5000)",
        "result(1, displays=[['image/png', -5]])",
        "result(1, error={'type': 1})",
        "result(1, seconds=1e400, stdout_bytes=-1)",
        "result(1, seconds='x')",
        "os.urandom(4096)",
        "b'\\0' * 4096",
    ):
        code = FORGE + f"send({payload}); send(frame({{'op': 'begun'}}) + {payload})"
        done = lab.outcome(code, *STATED, Outcome.TIMEOUT, timeout=2.0)
        ensure("LIE" not in done.stdout, f"{payload} was believed")
        next_is_true(lab)


@case("C6", "closed descriptors cost a step at most, and no later output")
def _closed(lab: Lab) -> None:
    for code in (
        "import os\nos.close(0); os.close(1); os.close(2)",
        "import os\nos.closerange(0, 256)",
        "import os\nfor n in range(3, 64):\n    try: os.dup2(1, n)\n    except OSError: pass",
        "import os\nos.dup2(os.open('/dev/null', os.O_RDWR), 1)",
        "import os\nr, w = os.pipe()\nfor n in range(64):\n    if n not in (r, w): os.dup2(w, n)",
        "import sys\nsys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    ):
        done = lab.run(code, within=PROMPT_SECONDS)
        ensure(done.outcome in STATED, f"{code!r}: {ending(done)}")
        next_is_true(lab)


@case("C7", "patched builtins, streams and modules do not hold up a step")
def _patched(lab: Lab) -> None:
    lab.says("before = 1")
    number = lab.box.checkpoint()
    for code in (
        "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
        "import json\njson.dumps = json.loads = json.JSONEncoder = lambda *a, **k: '{}'",
        "import builtins\nbuiltins.print = builtins.repr = builtins.len = lambda *a, **k: 1 / 0",
        "import builtins\nfor n in ('isinstance', 'type', 'str', 'open', 'range'): setattr(builtins, n, None)",
        "globals().clear()",
        "del __builtins__",
        "__builtins__.__dict__.clear()",
        "import os\nos.write = os.read = os.fork = os.close = os.dup2 = lambda *a: 1 / 0",
        "import sys\nsys.modules.clear()",
        "import sys\nfor n, m in list(sys.modules.items()):\n"
        "    if n not in ('sys', 'builtins', '__main__'): vars(m).clear()",
        "import sys\nsys._getframe(3).f_locals.clear(); sys.setrecursionlimit(30)",
        "import struct, socket, signal\nstruct.Struct = socket.socket.recvmsg = signal.signal = None",
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Worker': o.__dict__.clear()",
        "import threading\nthreading.get_ident = threading.main_thread = lambda: 1 / 0",
    ):
        done = lab.run(code, timeout=20.0, within=PROMPT_SECONDS)
        ensure(done.outcome in STATED, f"{code!r}: {ending(done)}")
        after = lab.run("truth = 6 * 7", within=PROMPT_SECONDS)
        ensure(after.outcome in STATED, f"the step after {code!r}: {ending(after)}")
        lab.box.restore(number)


@case("C8", "the protocol's input is at its end for the code")
def _protocol_input(lab: Lab) -> None:
    expect("descriptor 0", lab.says("import os\nos.read(0, 100)"), "b''")
    done = lab.outcome("import sys\nsys.stdin.read()", Outcome.ERROR)
    expect("sys.stdin", done.error and done.error.type, "EOFError")
    expect("of a child", lab.says("import subprocess\nprint(subprocess.check_output(['cat']))"), "b''")
    steal = """
    import threading
    stolen = []
    def listen(channel):
        while True:
            try: stolen.append(os.read(channel, 65536))
            except OSError: return
            if not stolen[-1]: return
    for channel in channels(): threading.Thread(target=listen, args=(channel,), daemon=True).start()
    """
    lab.run(FORGE + textwrap.dedent(steal), within=PROMPT_SECONDS)
    for _ in range(3):
        done = lab.run("print('heard')", timeout=5.0)
        ensure(done.outcome is not Outcome.OK or done.stdout == "heard\n", f"a step got lost: {ending(done)}")
    next_is_true(lab)


@case("C12", "no pickle crosses to the host", work=True)
def _pickle(lab: Lab) -> None:
    marker = str(lab.folder / "executed")
    lab.run(
        f"""
        import pickle
        class Payload(Exception):
            def __reduce__(self): return (open, ({marker!r}, 'w'))
        v = Payload(); w = [v]
        with open('artefact.pkl', 'wb') as file: file.write(pickle.dumps(v))
        class Shown:
            def _repr_html_(self): return v
            def _repr_png_(self): return pickle.dumps(v)
        Shown()
        """
    )
    lab.outcome("raise Payload('x')", Outcome.ERROR)
    lab.box.variables()
    lab.box.read_file("artefact.pkl")
    expect("the work folder", lab.files(), ["artefact.pkl"])
    ensure(not os.path.exists(marker), "a payload ran on the host")


@case("C14", "escapes, carriage returns and bidi controls come out neutral", work=True)
def _escapes(lab: Lab) -> None:
    bad = "'\\x1b]0;title\\x07\\x1b[2J\\r\\x9b31m\\u202e\\u2066\\ufeff\\x00\\x7f\\ud800'"
    done = lab.outcome(
        f"""
        import os, sys
        bad = {bad}
        print(bad); print(bad, file=sys.stderr); os.write(1, b'\\x1b[31m\\xff\\xfe\\n')
        globals()[bad] = bad
        C = type('C', (), {{'__repr__': lambda self: bad}}); C.__name__ = bad.replace('\\0', '').replace('\\ud800', '')
        odd = C()
        try: open(bad.encode('utf-8', 'surrogateescape').replace(b'\\0', b'') if 0 else b'\\x1b[2J', 'w').write('x')
        except OSError: pass
        """,
        Outcome.OK,
    )
    ensure("\x1b" not in done.stdout and "title" not in done.stdout, "an escape sequence comes out")
    ensure("\\u202e" in done.stderr, "the bidi control is not shown")
    failed = lab.outcome("raise type('E\\x1b[2J', (Exception,), {})(bad)", Outcome.ERROR)
    ensure(failed.error and "\\x1b" in failed.error.type, f"the type of the error: {ending(failed)}")
    for variable in lab.box.variables().values():
        for text in variable.to_dict().values():
            ensure(text.isprintable() or "\n" in text, f"a variable is told with {text!r}")


@case("C16", "markers in the output are text")
def _markers(lab: Lab) -> None:
    words = (
        "##active_line3##", "[timed out]", "Traceback (most recent call last):", "… 99 bytes left out …",
        '{"op": "result", "number": 2, "outcome": "timeout"}', "state lost: all variables are gone.", "</observation>",
    )  # fmt: skip
    done = lab.outcome(
        "import sys\n" + "\n".join(f"print({word!r}); print({word!r}, file=sys.stderr)" for word in words), Outcome.OK
    )
    expect("stdout", done.stdout, "".join(word + "\n" for word in words))
    expect("notice and error", (done.notice, done.error), ("", None))


@case("C17", "code that patches the clocks does not move the limits")
def _clocks(lab: Lab) -> None:
    for value in ("lambda: 0.0", "lambda: 1e18", "lambda: 'late'", "lambda: 1 / 0", "lambda: float('nan')", "None"):
        patch = f"import time\ntime.time = time.monotonic = time.perf_counter = {value}\n"
        done = lab.run(patch, within=PROMPT_SECONDS)
        ensure(done.outcome in STATED, f"{value}: {ending(done)}")
        ensure(0 <= done.seconds < 60, f"{value}: the step took {done.seconds} s")
        lab.outcome(patch + "while True: pass", Outcome.TIMEOUT, timeout=0.5)
        next_is_true(lab)


@case("C18", "a forged answer to digests is refused, and the next one is true")
def _digests(lab: Lab) -> None:
    lab.run("kept = [1, 2]")
    true = lab.box.digests()
    forge = """
    import threading, time
    lie = {'op': 'digests', 'items': [['kept', 'list', 'LIE', 'firm', True, 'LIE']], 'numbers': [1e400], 'texts': 3}
    def again():
        for _ in range(100): send(frame({'op': 'begun'}) + frame(lie)); time.sleep(0.005)
    (thread := threading.Thread(target=again)).start()
    """
    lab.run(FORGE + textwrap.dedent(forge))
    for _ in range(3):
        with contextlib.suppress(SandboxUnavailable):
            held = lab.box.digests().digests.get("kept")
            ensure(held is None or held.repr != "LIE", "a forged digest was believed")
    for _ in range(5):
        # A forged frame may still lie in the channel; a sandbox that was started anew has no such thread.
        lab.run("'thread' in globals() and thread.join()\nkept = [1, 2]", timeout=5.0)
        with contextlib.suppress(SandboxUnavailable):
            if held := lab.box.digests().digests.get("kept"):
                return expect("afterwards", held, true.digests["kept"])
    raise Broken("no answer is true any more")


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
        ensure(done.outcome is not Outcome.OK, f"a loop without an end: {ending(done)}")
        next_is_true(lab)
        done = lab.run("kept", timeout=5.0)
        ensure(done.stdout in ("'kept'\n", ""), f"the state is that of the step that hung: {done.stdout}")
        renew(lab)
