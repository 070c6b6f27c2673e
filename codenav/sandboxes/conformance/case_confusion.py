"""Confusion of the protocol: code that lies to the supervisor, breaks its own process, or sends strange values."""

from __future__ import annotations

import contextlib
import os
import textwrap

from codenav.errors import SandboxUnavailable
from codenav.execution import Outcome, Resources
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.forging import FORGE, PROMPT_SECONDS, STATED, next_is_true
from codenav.sandboxes.conformance.lab import Broken, Lab, ensure, expect, resident, told

HOST_BYTES = 96 << 20
"""Maximum bytes of the host's memory that a flood from inside may take: one frame of the largest size, and its text."""


@case("C1", "a forged frame with another number is no result")
def _forged(lab: Lab) -> None:
    for number in (0, 1, 999, -1, 1 << 40):
        lab.outcome(FORGE + f"send(result({number}))", *STATED, within=PROMPT_SECONDS)
        next_is_true(lab)


@case("C2", "a forged frame lies about its own step at most")
def _own_lie(lab: Lab) -> None:
    lab.says("kept = 'kept'")
    for number in range(2, 12):
        lab.outcome(FORGE + f"send(result({number}))\nkept = 'kept'", *STATED, within=PROMPT_SECONDS)
    lab.outcome(FORGE + "send(frame({'op': 'begun'}) + result(12))\nwhile True: pass", *STATED, Outcome.TIMEOUT,
                timeout=2.0)  # fmt: skip
    next_is_true(lab)
    expect("the state", lab.says("kept"), "'kept'")


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
        ensure(done.outcome in STATED, f"beside a thread that forges: {told(done)}")
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
        ensure(done.outcome in STATED, f"{code!r}: {told(done)}")
        next_is_true(lab)


@case("C7", "patched builtins, streams and modules do not hold up a step")
def _patched(lab: Lab) -> None:
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
        ensure(done.outcome in STATED, f"{code!r}: {told(done)}")
        after = lab.run("truth = 6 * 7", within=PROMPT_SECONDS)
        ensure(after.outcome in STATED, f"the step after {code!r}: {told(after)}")
        lab.renew()


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
        ensure(done.outcome is not Outcome.OK or done.stdout == "heard\n", f"a step got lost: {told(done)}")
    next_is_true(lab)


@case("C9", "input() is an error at once")
def _input(lab: Lab) -> None:
    done = lab.outcome("input('? ')", Outcome.ERROR, within=2.0)
    expect("its type", done.error and done.error.type, "EOFError")


@case("C10", "every way to leave is an outcome")
def _leaving(lab: Lab) -> None:
    for code, outcome, kind in (
        ("import os\nos._exit(0)", Outcome.CRASHED, "Crashed"),
        ("import sys\nsys.exit(7)", Outcome.ERROR, "SystemExit"),
        ("raise KeyboardInterrupt", Outcome.ERROR, "KeyboardInterrupt"),
        ("raise GeneratorExit", Outcome.ERROR, "GeneratorExit"),
        ("raise BaseException('x')", Outcome.ERROR, "BaseException"),
        ("import os\nos.execv('/bin/true', ['true'])", Outcome.CRASHED, "Crashed"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", Outcome.CRASHED, "Crashed"),
        ("import _thread\n_thread.interrupt_main()\nwhile True: pass", Outcome.ERROR, "KeyboardInterrupt"),
        ("import os\nif os.fork() == 0: raise SystemExit\nos.wait()", Outcome.OK, None),
    ):
        done = lab.outcome(code, outcome, within=3.0)
        expect(f"the error of {code!r}", done.error and done.error.type, kind)
        next_is_true(lab)


@case("C11", "objects whose methods lie or raise are described all the same")
def _hostile_objects(lab: Lab) -> None:
    for code in (
        "class A:\n    def __repr__(self): raise SystemExit\nv = A(); v",
        "class A:\n    def __repr__(self): return 3\nv = A(); v",
        "class A:\n    def __eq__(self, other): raise BaseException\n    __hash__ = None\nv = A()",
        "class A:\n    __class__ = property(lambda s: 1 / 0)\n"
        "    def __getattribute__(s, n): raise SystemExit\nv = A()",
        "v = []; v.append(v); w = {}; w['w'] = w; v.append(w)",
        "class M(type):\n    def __instancecheck__(c, o): raise SystemExit\n    __subclasscheck__ = __instancecheck__\n"
        "    def __repr__(c): raise SystemExit\nclass A(metaclass=M): pass\nv = A()",
        "class D(dict):\n    def __iter__(s): raise SystemExit\n"
        "    items = keys = __len__ = __repr__ = __iter__\nv = D(a=1)",
        "class S(str):\n    def __str__(s): raise SystemExit\n    __repr__ = __len__ = encode = __str__\nv = S('s')",
        "class I(int):\n    def bit_length(s): raise SystemExit\n    __repr__ = bit_length\nv = I(3)",
        "class A:\n    def __getattr__(s, n): raise (SystemExit if n.startswith('_repr_') else AttributeError)(n)\n"
        "v = A(); v",
        "class A: pass\nA.__name__ = 'x' * 10_000; A.__qualname__ = '\\x1b[2J'\nv = A()",
    ):
        done = lab.run(code, within=PROMPT_SECONDS)
        ensure(done.outcome in (Outcome.OK, Outcome.ERROR), f"{code!r}: {told(done)}")
        ensure("v" in {one.name for one in done.changed}, f"{code!r}: the variable is not told")
        lab.box.variables()
        next_is_true(lab)
    raising = "class Bad(Exception):\n    def __str__(self): raise SystemExit(3)\n    __repr__ = __str__\nraise Bad()"
    done = lab.outcome(raising, Outcome.ERROR)
    expect("type and line", (done.error and done.error.type, done.error and done.error.line_number), ("Bad", 4))
    chain = "e = ValueError('x'); e.__cause__ = e\nraise e"
    lab.outcome(chain, Outcome.ERROR, within=PROMPT_SECONDS)


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


@case("C13", "displays are inert bytes of the type that they claim, within a size")
def _displays(lab: Lab) -> None:
    lab.begin(resources=Resources(memory_bytes=256 << 20, display_bytes=100_000))
    make = "class R:\n    def {}(self): return {}\nR()"
    script = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(2)</script></svg>"
    for name, value, wanted in (
        ("_repr_svg_", repr(script), [("image/svg+xml", script.encode())]),
        ("_repr_html_", "'<script>alert(3)</script>'", [("text/html", b"<script>alert(3)</script>")]),
        ("_repr_png_", "b'<svg onload=alert(4)>'", []),
        ("_repr_png_", "b'GIF89a'", []),
        ("_repr_png_", "b'\\x89PNG\\r\\n\\x1a\\n' + bytes(10_000_000)", []),
        ("_repr_html_", "'x' * 10_000_000", []),
        ("_repr_html_", "1 / 0", []),
        ("_repr_png_", "['not', 'bytes']", []),
    ):
        done = lab.outcome(make.format(name, value), Outcome.OK, within=PROMPT_SECONDS)
        expect(f"displays of {name} {value[:30]}", [(one.mime, one.data) for one in done.displays], wanted)
    many = "class R:\n    def _repr_html_(self): return 'y' * 900\nfor _ in range(1): pass\nR()"
    ensure(sum(len(one.data) for one in lab.run(many).displays) <= 100_000, "displays are not bounded together")


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
    ensure(failed.error and "\\x1b" in failed.error.type, f"the type of the error: {told(failed)}")
    for variable in lab.box.variables().values():
        for text in variable.to_dict().values():
            ensure(text.isprintable() or "\n" in text, f"a variable is told with {text!r}")


@case("C15", "source that does not compile is an error with its line", resources=Resources())
def _sources(lab: Lab) -> None:
    for code, kind, line in (
        ("a = 1\nb = = 2", "SyntaxError", 2),
        ("a = 1\nb = '\0'", "SyntaxError", 2),
        ("a = 1\nb = '\ud800'", "SyntaxError", 2),
        ("if True:\n\tx = 1\n        y = 2", "TabError", 3),
        ("x = 1\nyield x", "SyntaxError", 2),
        ("return 1", "SyntaxError", 1),
        ("yield 1", "SyntaxError", 1),
        ("x = 1\nfrom __future__ import annotations", "SyntaxError", 2),
        ("from __future__ import braces", "SyntaxError", 1),
        ("(" * 5000, "SyntaxError", 1),
        ("x = 1\n" * 200_000 + "x = =", "SyntaxError", 200_001),
        ("def f(:\n    pass", "SyntaxError", 1),
    ):
        done = lab.run(code, dedent=False)
        found = (done.outcome, done.error and done.error.type, done.error and done.error.line_number)
        expect(f"{code[:30]!r}", found, (Outcome.ERROR, kind, line))
    for code in ("\x0cx = 1", "x = 1\r\ny = 2\r\n", "if True:\n\tx = 1", "# coding: latin-1\nx = 'é'"):
        expect(f"{code!r}", lab.run(code, dedent=False).outcome, Outcome.OK)
    deep = lab.run("x = " + "-" * 100_000 + "1")
    ensure(deep.outcome in (*STATED, Outcome.OUT_OF_MEMORY), f"100,000 signs: {told(deep)}")
    next_is_true(lab)


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
        ensure(done.outcome in STATED, f"{value}: {told(done)}")
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
