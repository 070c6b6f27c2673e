"""The contract of `codenav.core.protocols.Sandbox`, as checks that run on every backend, `process` included."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import MIB, Outcome, Resources
from codenav.sandboxes.conformance.lab import Broken, Case, Check, Lab, Step, ending, ensure, expect

ERROR, CRASHED, TIMEOUT = Outcome.ERROR, Outcome.CRASHED, Outcome.TIMEOUT
KEPT = ("state kept", "state rebuilt")
_ENDS = ("import os\nos._exit(0)", "import ctypes\nctypes.string_at(0)", "import os\nos.kill(os.getpid(), 9)")
_PNG = b"\x89PNG\r\n\x1a\n0123456789"
_RICH = "class R:\n    def {}(self): return {}\n    def __repr__(self): return 'R'\nR()"


def _variables_are_listed(lab: Lab) -> None:
    found = {name: (one.type, one.repr) for name, one in lab.box.variables().items()}
    expect("variables", found, {"numbers": ("list", "[1, 2]"), "shown": ("int", "4")})


def _head_and_tail(lab: Lab) -> None:
    done = lab.run("print('a' * 500_000 + 'z' * 500_000)")
    ensure(done.stdout.startswith("a") and done.stdout.endswith("z\n"), "head or tail is missing")
    ensure("bytes left out" in done.stdout and len(done.stdout) < 1100, f"{len(done.stdout)} characters are kept")
    expect("bytes", done.stdout_bytes, 1_000_001)


def _the_end_is_noticed(lab: Lab) -> None:
    for code in _ENDS:
        with lab.at_most(3.0, "noticing the end"):
            Step(f"kept.append(2)\n{code}", CRASHED, notice=KEPT)(lab)
        Step("kept", prints="[1]")(lab)


def _rebuilt_or_lost(lab: Lab) -> None:
    done = lab.outcome("import os\nos._exit(1)", CRASHED)
    if done.notice.startswith("state lost"):
        Step("kept", ERROR, error="NameError")(lab)
    else:
        ensure(done.notice.startswith("state rebuilt"), f"the notice: {done.notice!r}")
        Step("kept", prints="42")(lab)


def _interrupted(code: str, pause: float, outcome: Outcome, notice: str = "") -> Check:
    """Interrupt a step until it has ended."""

    def check(lab: Lab) -> None:
        done: list[Any] = []
        step = threading.Thread(target=lambda: done.append(lab.box.run(code, timeout=60.0)))
        with lab.at_most(30.0, "ending it"):
            step.start()
            while step.is_alive():
                time.sleep(0.3)
                # An interrupt that comes before the step has begun is lost; two that reach it end it for good.
                lab.box.interrupt()
                step.join(pause)
        expect("outcome", (done[0].outcome, done[0].error and done[0].error.type), (outcome, "KeyboardInterrupt"))
        ensure(done[0].notice.startswith(notice), f"the notice: {done[0].notice!r}")

    return check


def _checkpoints(lab: Lab) -> None:
    lab.run("x = [1]")
    first = lab.box.checkpoint()
    lab.run("x.append(2); y = 3")
    second = lab.box.checkpoint()
    ensure(second > first >= 1, f"the numbers {first}, {second}")
    for _ in range(2):
        notice = lab.box.restore(first)
        ensure(notice.startswith("state"), f"the notice: {notice!r}")
        expect("the state", (lab.says("x"), sorted(lab.box.variables())), ("[1]", ["x"]))
        lab.run("x.append(9)")
    lab.box.restore(second)
    expect("the state", (lab.says("x"), lab.says("y")), ("[1, 2]", "3"))
    _refuses(lambda: lab.box.restore(999), NotFound)


def _files(lab: Lab) -> None:
    lab.box.write_file("folder/in.bin", bytes(range(256)))
    expect("inside", lab.says("open('folder/in.bin', 'rb').read() == bytes(range(256))"), "True")
    lab.run("open('out.txt', 'w').write('made')")
    expect("artefacts", [name for name in lab.box.artifacts()], ["folder/in.bin", "out.txt"])
    expect("a file", lab.box.read_file("out.txt"), b"made")
    large = bytes(3 * MIB + 7)
    lab.box.write_file("large", large)
    expect("a large file", lab.box.read_file("large") == large, True)
    _refuses(lambda: lab.box.read_file("none"), NotFound)
    _refuses(lambda: lab.box.write_file("../out", b""), UsageError)


def _refuses(call: Callable[[], object], error: type[Exception]) -> None:
    try:
        call()
    except error:
        return
    raise Broken(f"no {error.__name__}")


def _work_folder(lab: Lab) -> None:
    (lab.work / "given.txt").write_text("given", encoding="utf-8")
    lab.begin(work_dir=lab.work)
    expect("a file of the host", lab.says("open('given.txt').read()"), "'given'")
    Step("import os\nopen('made.txt', 'w').write('made'); os.unlink('given.txt')", files=["made.txt"])(lab)
    expect("the host's folder", lab.files(), ["given.txt", "made.txt"])
    lab.run("import shutil\nshutil.rmtree('.', ignore_errors=True)")
    expect("the host's folder after it was deleted inside", lab.files(), ["given.txt", "made.txt"])
    expect("the folder of the next step", lab.says("import os\nos.getcwd()"), repr(lab.box.info.work_dir))


def _info(lab: Lab) -> None:
    info = lab.box.info
    expect("version", lab.says("import sys\nprint('.'.join(map(str, sys.version_info[:3])))"), info.python_version)
    expect("work folder", lab.says("import os\nprint(os.getcwd())"), info.work_dir)
    ensure(info.network in ("none", "host", "bridge"), f"the network: {info.network!r}")
    expect("isolated", info.isolated, info.backend != "process")


def _closed(lab: Lab) -> None:
    lab.says("1")
    lab.box.close()
    lab.box.close()
    for call in (lambda: lab.box.run("1"), lambda: lab.box.variables(), lambda: lab.box.checkpoint()):
        _refuses(call, SandboxUnavailable)


def _two(lab: Lab) -> None:
    other = lab.open()
    lab.run("mine = 1\nopen('mine', 'w').write('x')")
    done = other.run("mine", timeout=20.0)
    ensure(done.error and done.error.type == "NameError", f"a variable of another sandbox: {ending(done)}")
    expect("files of the other", list(other.artifacts()), [])


def _calls(lab: Lab) -> None:
    def answer(name: str, arguments: dict[str, Any]) -> Any:
        if name == "shop.sum":
            return sum(arguments["numbers"])
        raise LookupError(f"no {name} here")

    lab.calls = answer
    expect("a result", lab.says("found = call_host('shop.sum', numbers=[1, 2, 3]); found"), "6")
    error = lab.outcome("call_host('shop.close')", ERROR).error
    expect("an error", error and (error.type, error.message), ("HostCallError", "no shop.close here"))
    caught = "try: call_host('shop.sum', numbers={1, 2})\nexcept HostCallError as error: print(error)"
    ensure("no JSON" in lab.says(caught), "a set went to the host")
    expect("the state", lab.says("found"), "6")


def _item(title: str, *parts: Check, **changes: Any) -> Case:
    return Case("contract", title, parts, changes)


CONTRACT = (
    _item(
        "state persists and the last expression is shown",
        Step("value = 20\nprint('hello')\nvalue + 1", stdout="hello\n21\n", stdout_bytes=9),
        Step("value", stdout="20\n"), Step("value;", stdout=""), Step("None", stdout=""),
    ),
    _item(
        "what changed is told",
        Step("numbers = [1]"),
        Step("numbers.append(2)", changed={"numbers": "[1, 2]"}),
        Step("print(len(numbers))", changed={}),
        Step("import os\n_hidden = 3\nshown = 4", changed={"shown": "4"}),
        _variables_are_listed,
    ),
    _item(
        "an error has its type message and line",
        Step("done = 1\nprint('before')\nx = 1 / 0", ERROR, error="ZeroDivisionError", line=(3, "x = 1 / 0"),
             message="division by zero", traceback="ZeroDivisionError: division by zero", stdout="before\n"),
        Step("done", prints="1"),
    ),
    _item(
        "streams of the code and of its children come back",
        Step(
            """
            import subprocess, sys
            print('one'); print('two', file=sys.stderr)
            subprocess.run(['sh', '-c', 'echo three; echo four >&2']);
            """,
            stdout="one\nthree\n", stderr="two\nfour\n",
        ),
    ),
    _item("output keeps its head and tail", _head_and_tail, resources=Resources(output_bytes=1000)),
    _item("standard input is at its end", Step("input()", ERROR, error="EOFError")),
    _item(
        "a timeout interrupts and keeps the state",
        Step("kept = 1"),
        Step("during = 2\nwhile True: pass", TIMEOUT, timeout=0.5, notice="state kept"),
        Step("kept, during", prints="(1, 2)"),
    ),
    _item(
        "a step that cannot be interrupted is killed and the state is from before it",
        Step("kept = 1"),
        Step("kept = 2\nsum(range(10 ** 13))", TIMEOUT, timeout=0.5, notice=KEPT),
        Step("kept", prints="1"),
    ),
    _item("the end of the process is noticed and the state is from before it", Step("kept = [1]"), _the_end_is_noticed),
    _item(
        "too much memory is named and the state is kept",
        Step("kept = 1"),
        Step("x = bytearray(1 << 40)", Outcome.OUT_OF_MEMORY, notice="state"),
        Step("kept", prints="1"),
        resources=Resources(memory_bytes=256 * MIB),
    ),
    _item(
        "without snapshots the state is rebuilt or told lost",
        Step("kept = 40"), Step("kept += 2"), _rebuilt_or_lost,
        snapshots=False,
    ),
    _item(
        "exit ends the step and not the session",
        Step("import sys\nleft = 5\nsys.exit(3)", ERROR, error="SystemExit"),
        Step("left", prints="5"),
    ),
    _item(
        "what lives between steps stays alive",
        Step(
            """
            import sqlite3, subprocess, threading
            base = sqlite3.connect(':memory:'); base.execute('create table t (n)')
            child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            go = threading.Event(); went = []
            thread = threading.Thread(target=lambda: (go.wait(), went.append(1)), daemon=True); thread.start()
            """
        ),
        Step(
            """
            base.execute('insert into t values (1)'); go.set(); thread.join()
            print(child.communicate(b'echo')[0], base.execute('select n from t').fetchall(), went)
            """,
            prints="b'echo' [(1,)] [1]",
        ),
    ),
    _item(
        "late output is told apart",
        Step(
            """
            import threading
            go = threading.Event()
            thread = threading.Thread(target=lambda: (go.wait(), print('late'))); thread.start()
            """
        ),
        Step("go.set(); thread.join(); print('own')", stdout="own\n", late_output="late\n"),
        Step("pass", late_output=""),
    ),
    _item(
        "an interrupt from another thread ends the step",
        Step("import time\nkept = 1"),
        _interrupted("while True: time.sleep(0.01)", 2.0, ERROR),
        Step("kept", prints="1"),
    ),
    _item(
        "a second interrupt ends a step that does not answer",
        Step("kept = 1"),
        _interrupted("kept = 2\nsum(range(10 ** 13))", 0.3, CRASHED, "state kept"),
        Step("kept", prints="1"),
    ),
    _item("a checkpoint can be restored again and again", _checkpoints),
    _item("files go in and come out", _files),
    _item("the work folder is a copy", _work_folder),
    _item(
        "the environment is what was given",
        Step("import os\nos.environ['CODENAV_CHECK_VALUE']", prints="'given'"),
        Step("import subprocess\nsubprocess.run(['sh', '-c', 'echo $CODENAV_CHECK_VALUE']);", prints="given"),
        env={"CODENAV_CHECK_VALUE": "given"},
    ),
    _item(
        "rich objects are displayed",
        Step(_RICH.format("_repr_svg_", "'<svg></svg>'"), displays=[("image/svg+xml", b"<svg></svg>")], stdout="R\n"),
        Step(_RICH.format("_repr_png_", repr(_PNG)), displays=[("image/png", _PNG)]),
        Step(_RICH.format("_repr_png_", "b'none'"), displays=[]),
    ),
    _item(
        "strange text is neutral",
        Step(r"print('\x1b[31mred', '\x1bP', '\u202e', '\ud800')", stdout="red \\x1bP \\u202e \\ud800\n"),
    ),
    _item("it says what it is", _info),
    _item("a closed one refuses", _closed),
    _item("two do not meet", _two),
    _item("calls to the host are answered", _calls),
    _item(
        "without a handler a call is refused",
        Step("try: call_host('shop.sum')\nexcept HostCallError as error: print('takes no calls' in str(error))",
             prints="True"),
    ),
)  # fmt: skip
"""The items. Each runs in a sandbox of its own."""
