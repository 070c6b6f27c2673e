"""Attacks on files, processes, resources and secrets that only the tests run, the short ones as a table."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attacks import ATTACKS, case, resident
from attacks.confusion import next_is_true
from codenav.core.errors import NotFound
from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.case_files import BOTH, GIVEN
from codenav.sandboxes.conformance.lab import Case, Lab, Step, ensure, expect
from codenav.sandboxes.conformance.witness import namespace_of, processes_of

RACES = 2_000
"""Number of reads against a component that is swapped all the time."""
STEPS = 600
"""Number of the small steps: what grows with thousands of them shows in these, too."""
KEPT_STEPS = 200
"""Number of the steps that have a snapshot before each."""
GROWTH_BYTES = 24 << 20
"""Maximum bytes by which the host's own memory may grow in so many steps; those kept by Python's allocator count."""
CRASHED, ERROR, FULL, TIMEOUT = Outcome.CRASHED, Outcome.ERROR, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT
_IGNORING = """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: pass
"""
_FLOODING = """
import subprocess, sys
flood = "import os\\nfor _ in range(400):\\n    os.write(1, b'o' * 65536); os.write(2, b'e' * 65536)"
print(subprocess.call([sys.executable, '-c', flood]))
"""
_LEAVING = (
    ("import os\nos._exit(0)", CRASHED, "Crashed"),
    ("import sys\nsys.exit(7)", ERROR, "SystemExit"),
    ("raise KeyboardInterrupt", ERROR, "KeyboardInterrupt"),
    ("raise GeneratorExit", ERROR, "GeneratorExit"),
    ("raise BaseException('x')", ERROR, "BaseException"),
    ("import os\nos.execv('/bin/true', ['true'])", CRASHED, "Crashed"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", CRASHED, "Crashed"),
    ("import _thread\n_thread.interrupt_main()\nwhile True: pass", ERROR, "KeyboardInterrupt"),
    ("import os\nif os.fork() == 0: raise SystemExit\nos.wait()", Outcome.OK, None),
)


def _kill_all(lab: Lab) -> None:
    # kill(2): -1 means all but the caller and PID 1; the frozen twin is among them.
    for code in ("os.kill(os.getpid(), 9)", "os.kill(-1, 9); os.kill(os.getpid(), 9)", "os.killpg(0, signal.SIGKILL)"):
        with lab.at_most(3.0, "noticing the end"):
            done = lab.outcome(f"kept = 'other'\n{code}", Outcome.CRASHED)
        if not done.notice.startswith("state lost"):
            expect("the state", lab.says("kept"), "'kept'")
        lab.run("import os, signal\nkept = 'kept'")


SHORT = (
    Case("P3", "a loop that ignores signals is killed at the timeout", [Step(_IGNORING, TIMEOUT, timeout=1.0)]),
    Case("P4", "a loop that catches every exception is killed at the timeout", [
        Step("while True:\n    try:\n        while True: pass\n    except BaseException: pass", TIMEOUT, timeout=1.0),
    ]),
    Case("P5", "C code that never gives up the interpreter is killed at the timeout", [
        Step("import ctypes\nctypes.PyDLL(None).sleep(600)", TIMEOUT, timeout=1.0),
        Step("sum(range(10 ** 13))", TIMEOUT, timeout=1.0),
    ]),
    Case("P6", "killing everything there is ends the step at most", [
        Step("import os, signal\nkept = 'kept'"),
        *(Step(f"try: os.kill(1, {number})\nexcept OSError: pass") for number in (1, 2, 9, 15, 19)),
        _kill_all,
        Step("os.kill(-1, 9)", (Outcome.OK, Outcome.CRASHED)),
        Step("kept", prints="'kept'"),
    ]),
    Case("P8", "a process that stops itself is a timeout", [
        Step("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", TIMEOUT, timeout=1.0),
    ]),
    Case("R5", "a child that floods both streams in turns does not block", [
        Step(_FLOODING, stdout_bytes=400 * 65536 + 2),
    ]),
    Case("R8", "expressions that explode end at a limit", [
        Step("import re\nre.match('(a+)+$', 'a' * 64 + 'b')", (TIMEOUT, FULL), timeout=1.5),
        Step("9 ** 9 ** 9", (TIMEOUT, FULL), timeout=1.5),
        Step("'x' * (1 << 40)", (TIMEOUT, FULL), timeout=1.5),
        Step("x = 'ab'\nwhile True: x = x.replace('a', 'aa' + x)", (TIMEOUT, FULL), timeout=3.0),
    ]),
    Case("R9", "descriptors that run out are the sandbox's own", [
        Step(
            """
            import errno, os
            held = []
            try:
                while True: held.append(os.open('/dev/null', os.O_RDONLY))
            except OSError as error:
                print(errno.errorcode[error.errno])
                for _ in range(32): os.close(held.pop())
            """,
            prints="EMFILE",
        ),
        Step("len(held) > 0", prints="True"),
        Step("while True: held.append(os.open('/dev/null', os.O_RDONLY))", (Outcome.ERROR, Outcome.CRASHED)),
    ]),
    Case("R11", "bombs of compression and pickle end at the memory limit", [
        Step("import zlib\nsmall, x = zlib.compress(bytes(64 << 20)), []\nwhile True: x.append(zlib.decompress(small))",
             FULL),
        Step("import lzma\nlzma.decompress(lzma.compress(bytes(120 << 20)) * 8)", FULL),
        Step("import pickle\nv = pickle.loads(b'(lp0\\nI1\\naI2\\na.')\nwhile True: v = v + v", FULL),
    ]),
    Case("R12", "output that drips does not put off the timeout", [
        Step("import time\nwhile True:\n    print('drip', flush=True)\n    time.sleep(0.05)", TIMEOUT, timeout=1.5),
    ]),
    Case("C10", "every way to leave is an outcome", [
        part for code, outcome, kind in _LEAVING for part in (Step(code, outcome, within=3.0, error=kind), next_is_true)
    ]),
)  # fmt: skip
ATTACKS.update({each.id: each for each in SHORT})


@case("F5", "a component swapped between check and use is never followed", work=True)
def _race(lab: Lab) -> None:
    lab.says(
        """
        import os, threading
        for folder, text in (('real', 'inside'), ('/tmp/other', 'FOLLOWED')):
            os.mkdir(folder)
            open(os.path.join(folder, 'file'), 'w').write(text)
        os.symlink('/tmp/other', 'link')
        os.rename('real', 'd')
        go = True
        def swap():
            while go:
                os.rename('d', 'real'); os.rename('link', 'd')
                os.rename('d', 'link'); os.rename('real', 'd')
        thread = threading.Thread(target=swap, daemon=True); thread.start()
        """
    )
    found: dict[bytes, int] = {}
    for _ in range(RACES):
        try:
            text = lab.box.read_file("d/file")
        except NotFound:
            text = b"refused"
        found[text] = found.get(text, 0) + 1
    lab.says("go = False; thread.join()")
    ensure(set(found) <= {b"inside", b"refused"}, f"a link was followed: {found}")
    ensure(len(found) == 2, f"the race did not take place: {found}")


@case("F15", "a step finds the work folder whatever the one before did to it")
def _working_directory(lab: Lab) -> None:
    work = lab.box.info.work_dir
    for code in (
        "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)",
        "os.makedirs('x'); os.chdir('x'); os.rmdir('../x')",
        f"try: os.rename({work!r}, {work + '-moved'!r})\nexcept OSError: pass",
    ):
        lab.run(code)
        expect(f"the folder after {code!r}", lab.says("import os\nprint(os.getcwd())"), work)
        lab.says("open('written', 'w').write('x')")


@case("F19", "repositories and secrets go neither in nor out; what tools run by themselves is told", work=True)
def _run_by_tools(lab: Lab) -> None:
    (lab.work / ".git").mkdir()
    (lab.work / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (lab.work / ".env").write_text(lab.secret, encoding="utf-8")
    done = lab.outcome(
        """
        import os
        found = os.listdir('.')
        names = ['.git/config', '.GIT/config', 'deep/.git', 'deep/.hg/hgrc', '.svn/x', 'HEAD', 'commondir', '.git./x']
        names += ['bare/' + name for name in ('HEAD', 'config', 'objects/a', 'refs/b')]
        names += ['.env', 'conftest.py', 'deep/.envrc', '.vscode/tasks.json', 'plain']
        for name in names:
            os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
            with open(name, 'w') as file: file.write('[core]\\n\\tfsmonitor = evil\\n')
        found
        """,
        Outcome.OK,
    )
    expect("what went in", done.stdout.strip(), "[]")
    told = [".vscode/tasks.json", "conftest.py", "deep/.envrc"]
    expect("the work folder", lab.files(), sorted([".env", ".git/config", "plain", *told[:2]]))
    expect("the secret", (lab.work / ".env").read_text(encoding="utf-8"), lab.secret)
    expect("the repository", (lab.work / ".git" / "config").read_text(encoding="utf-8"), "[core]\n")
    for name in told:
        ensure(f"{name} (" in done.notice, f"{name} is not told: {done.notice!r}")
    for name in (".git: ", ".GIT: ", "deep/.git: ", "bare: ", "HEAD, commondir: ", ".env"):
        ensure(name in done.stderr, f"{name} is not told: {done.stderr!r}")


@case("P10", "what a step leaves armed does not go off in the next one")
def _armed(lab: Lab) -> None:
    for code in (
        "import atexit, os\natexit.register(os._exit, 3)",
        "class Last:\n    def __del__(self): raise SystemExit(3)\nlast = Last(); del last",
        "import sys\ndef trace(*_): raise SystemExit(4)\nsys.settrace(trace)",
        "import sys\nsys.setprofile(lambda *_: 1 / 0)",
        "import signal\nsignal.signal(signal.SIGALRM, lambda *_: 1 / 0); signal.setitimer(signal.ITIMER_REAL, 0.05)",
        "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)",
        "import faulthandler\nfaulthandler.dump_traceback_later(0.05, exit=True)",
        "import gc\ngc.disable(); gc.set_threshold(1)",
        "import sys\nsys.setswitchinterval(1000)",
        "import sys\nsys.excepthook = sys.displayhook = sys.unraisablehook = lambda *_: 1 / 0",
    ):
        lab.run(code)
        done = lab.outcome(
            "import time\nuntil = time.time() + 0.15\nwhile time.time() < until: pass\n2 + 2", Outcome.OK
        )
        expect(f"the step after {code!r}", done.stdout, "4\n")


@case("R7", "recursion without end is an error, or ends the step")
def _recursion(lab: Lab) -> None:
    done = lab.outcome("def f(n): return f(n + 1)\nf(0)", Outcome.ERROR)
    expect("its type", done.error and done.error.type, "RecursionError")
    ways = Outcome.CRASHED, Outcome.OUT_OF_MEMORY, Outcome.ERROR, Outcome.TIMEOUT
    lab.outcome("import sys\nsys.setrecursionlimit(10 ** 9)\nf(0)", *ways, timeout=5.0)
    deep = "v = []\nfor _ in range(200_000): v = [v]\nimport json\njson.dumps(v)"
    lab.outcome("sys = __import__('sys'); sys.setrecursionlimit(10 ** 9)\n" + deep, *ways, timeout=5.0)
    # With such a limit an interpreter may crash at any later moment; that, too, is told.
    done = lab.outcome("del v; sys.setrecursionlimit(1000)", *ways, Outcome.OK)
    ensure(done.ok or done.error, "the end of the step is not told")
    later = lab.run("1 + 1")
    expect("a later step", later.stdout if later.ok else lab.run("1 + 1").stdout, "2\n")


@case("R10", f"{STEPS} small steps leave the host's memory as it was")
def _many_steps(lab: Lab) -> None:
    lab.begin(snapshots=False)
    kept = lab.open()
    for box, steps in ((lab.box, STEPS - KEPT_STEPS), (kept, KEPT_STEPS)):
        box.run("n = 0")
        for number in range(steps):
            if number == steps // 4:
                before = resident()
            box.run("n += 1")
        grown = resident() - before
        expect("the count", box.run("n").stdout, f"{steps}\n")
        ensure(grown < GROWTH_BYTES, f"the host grew by {grown >> 20} MiB in {steps} steps")


@case("S5", "what the host shows of a sandbox holds no secret", env=GIVEN)
def _seen_from_outside(lab: Lab) -> None:
    expect("the variable", lab.says(f"import os\nos.environ[{next(iter(GIVEN))!r}]"), repr(*GIVEN.values()))
    for pid in _pids(lab):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                data = Path(f"/proc/{pid}/{name}").read_bytes()
                for value in GIVEN.values():
                    ensure(value.encode() not in data, f"/proc/{pid}/{name} holds a secret")


def _pids(lab: Lab) -> Iterator[int]:
    """The process ids of the sandbox and of what this process has started, as far as the host sees them."""
    namespace = namespace_of(lab.box)
    if namespace != os.readlink("/proc/self/ns/pid"):
        yield from (one.pid for one in processes_of(namespace))
    waiting = [os.getpid()]
    while waiting:
        for thread in _children_of(waiting.pop()):
            waiting.append(thread)
            yield thread


def _children_of(pid: int) -> list[int]:
    # Not from /proc/PID/task/*/children: a child passes from a thread that ends to another, and may be in neither list.
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(Path(stat).read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.split("/")[2]))
    return found


@case("S6", "tracebacks, names and messages hold no secret", work=True, env=GIVEN)
def _texts(lab: Lab) -> None:
    done = lab.outcome("import os\n1 / 0", Outcome.ERROR)
    crashed = lab.outcome("os._exit(3)", Outcome.CRASHED)
    refused = lab.outcome("import os\nos.symlink('/etc/passwd', 'x')", Outcome.OK)
    texts = [json.dumps(one.to_dict()) for one in (done, crashed, refused)]
    texts += [name for _, folders, names in os.walk(tempfile.gettempdir()) for name in (*folders, *names)]
    texts += [repr(lab.box), json.dumps(lab.box.info.to_dict())]
    for text in texts:
        for value in BOTH:
            ensure(value not in text, f"a secret is in {text[:100]!r}")
    expect("frames of the sandbox itself", "guest_" in done.error.traceback if done.error else True, False)
