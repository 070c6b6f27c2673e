"""The contract of `codenav.protocols.Sandbox`, as checks that run on every backend, `process` included."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from codenav.errors import NotFound, SandboxUnavailable, UsageError
from codenav.execution import MIB, Outcome, Resources
from codenav.sandboxes.conformance.lab import Broken, Lab, ensure, expect, told

CONTRACT: dict[str, tuple[Callable[[Lab], None], dict[str, Any]]] = {}
"""The items by name: what checks each, and its changes to the specification."""


def _item(**changes: Any) -> Callable[[Callable[[Lab], None]], Callable[[Lab], None]]:
    def add(check: Callable[[Lab], None]) -> Callable[[Lab], None]:
        CONTRACT[check.__name__.removeprefix("_").replace("_", " ")] = check, changes
        return check

    return add


def _changed(lab: Lab, code: str) -> dict[str, str]:
    return {variable.name: variable.repr for variable in lab.run(code).changed}


@_item()
def _state_persists_and_the_last_expression_is_shown(lab: Lab) -> None:
    done = lab.run("value = 20\nprint('hello')\nvalue + 1")
    expect("outcome, output, notice", (done.outcome, done.stdout, done.notice), (Outcome.OK, "hello\n21\n", ""))
    expect("bytes", done.stdout_bytes, 9)
    expect("the next step", (lab.says("value"), lab.says("value;"), lab.says("None")), ("20", "", ""))


@_item()
def _what_changed_is_told(lab: Lab) -> None:
    lab.run("numbers = [1]")
    expect("a list that grew", _changed(lab, "numbers.append(2)"), {"numbers": "[1, 2]"})
    expect("only read", _changed(lab, "print(len(numbers))"), {})
    expect("modules and _names", _changed(lab, "import os\n_hidden = 3\nshown = 4"), {"shown": "4"})
    found = {name: (one.type, one.repr) for name, one in lab.box.variables().items()}
    expect("variables", found, {"numbers": ("list", "[1, 2]"), "shown": ("int", "4")})


@_item()
def _an_error_has_its_type_message_and_line(lab: Lab) -> None:
    done = lab.outcome("done = 1\nprint('before')\nx = 1 / 0", Outcome.ERROR)
    error = done.error
    ensure(error, "no error is told")
    assert error is not None
    expect("type, line, number", (error.type, error.line, error.line_number), ("ZeroDivisionError", "x = 1 / 0", 3))
    ensure("division by zero" in error.message and "ZeroDivisionError" in error.traceback, f"the message: {error}")
    expect("what it printed and did", (done.stdout, lab.says("done")), ("before\n", "1"))


@_item()
def _streams_of_the_code_and_of_its_children_come_back(lab: Lab) -> None:
    done = lab.run(
        """
        import subprocess, sys
        print('one'); print('two', file=sys.stderr)
        subprocess.run(['sh', '-c', 'echo three; echo four >&2']);
        """
    )
    expect("stdout, stderr", (done.stdout, done.stderr), ("one\nthree\n", "two\nfour\n"))


@_item(resources=Resources(output_bytes=1000))
def _output_keeps_its_head_and_tail(lab: Lab) -> None:
    done = lab.outcome("print('a' * 500_000 + 'z' * 500_000)", Outcome.OK)
    ensure(done.stdout.startswith("a") and done.stdout.endswith("z\n"), "head or tail is missing")
    ensure("bytes left out" in done.stdout and len(done.stdout) < 1100, f"{len(done.stdout)} characters are kept")
    expect("bytes", done.stdout_bytes, 1_000_001)


@_item()
def _standard_input_is_at_its_end(lab: Lab) -> None:
    done = lab.outcome("input()", Outcome.ERROR)
    expect("its error", done.error and done.error.type, "EOFError")


@_item()
def _a_timeout_interrupts_and_keeps_the_state(lab: Lab) -> None:
    lab.run("kept = 1")
    done = lab.outcome("during = 2\nwhile True: pass", Outcome.TIMEOUT, timeout=0.5)
    ensure(done.notice.startswith("state kept"), f"the notice: {done.notice!r}")
    expect("the state", (lab.says("kept"), lab.says("during")), ("1", "2"))


@_item()
def _a_step_that_cannot_be_interrupted_is_killed_and_the_state_is_from_before_it(lab: Lab) -> None:
    lab.run("kept = 1")
    done = lab.outcome("kept = 2\nsum(range(10 ** 13))", Outcome.TIMEOUT, timeout=0.5)
    ensure(done.notice.startswith(("state kept", "state rebuilt")), f"the notice: {done.notice!r}")
    expect("the state", lab.says("kept"), "1")


@_item()
def _the_end_of_the_process_is_noticed_and_the_state_is_from_before_it(lab: Lab) -> None:
    lab.run("kept = [1]")
    for code in ("import os\nos._exit(0)", "import ctypes\nctypes.string_at(0)", "os.kill(os.getpid(), 9)"):
        with lab.at_most(3.0, "noticing the end"):
            done = lab.outcome("kept.append(2)\nimport os\n" + code, Outcome.CRASHED)
        ensure(done.notice.startswith(("state kept", "state rebuilt")), f"the notice: {done.notice!r}")
        expect("the state", lab.says("kept"), "[1]")


@_item(resources=Resources(memory_bytes=256 * MIB))
def _too_much_memory_is_named_and_the_state_is_kept(lab: Lab) -> None:
    lab.run("kept = 1")
    done = lab.outcome("x = bytearray(1 << 40)", Outcome.OUT_OF_MEMORY)
    ensure(done.notice.startswith("state"), f"the notice: {done.notice!r}")
    expect("the state", lab.says("kept"), "1")


@_item(snapshots=False)
def _without_snapshots_the_state_is_rebuilt_or_told_lost(lab: Lab) -> None:
    lab.run("kept = 40")
    lab.run("kept += 2")
    done = lab.outcome("import os\nos._exit(1)", Outcome.CRASHED)
    if done.notice.startswith("state lost"):
        expect("the state", lab.outcome("kept", Outcome.ERROR).error, "NameError")
    else:
        ensure(done.notice.startswith("state rebuilt"), f"the notice: {done.notice!r}")
        expect("the state", lab.says("kept"), "42")


@_item()
def _exit_ends_the_step_and_not_the_session(lab: Lab) -> None:
    done = lab.outcome("import sys\nleft = 5\nsys.exit(3)", Outcome.ERROR)
    expect("its error", done.error and done.error.type, "SystemExit")
    expect("the state", lab.says("left"), "5")


@_item()
def _what_lives_between_steps_stays_alive(lab: Lab) -> None:
    lab.run(
        """
        import sqlite3, subprocess, threading
        base = sqlite3.connect(':memory:'); base.execute('create table t (n)')
        child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        go = threading.Event(); went = []
        thread = threading.Thread(target=lambda: (go.wait(), went.append(1)), daemon=True); thread.start()
        """
    )
    found = lab.says(
        """
        base.execute('insert into t values (1)'); go.set(); thread.join()
        print(child.communicate(b'echo')[0], base.execute('select n from t').fetchall(), went)
        """
    )
    expect("what lives", found, "b'echo' [(1,)] [1]")


@_item()
def _late_output_is_told_apart(lab: Lab) -> None:
    code = "import threading\ngo = threading.Event()\ndef later():\n    go.wait(); print('late')\n"
    lab.run(code + "thread = threading.Thread(target=later); thread.start()")
    done = lab.run("go.set(); thread.join(); print('own')")
    expect("the step", (done.stdout, done.late_output), ("own\n", "late\n"))
    expect("late output of the next one", lab.run("pass").late_output, "")


@_item()
def _an_interrupt_from_another_thread_ends_the_step(lab: Lab) -> None:
    lab.run("import time\nkept = 1")
    done: list[Any] = []
    step = threading.Thread(target=lambda: done.append(lab.box.run("while True: time.sleep(0.01)", timeout=20.0)))
    step.start()
    while step.is_alive():
        time.sleep(0.3)
        # An interrupt that comes before the step has begun is lost; two that reach it would end it.
        lab.box.interrupt()
        step.join(2.0)
    expect("outcome", (done[0].outcome, done[0].error and done[0].error.type), (Outcome.ERROR, "KeyboardInterrupt"))
    expect("the state", lab.says("kept"), "1")


@_item()
def _a_second_interrupt_ends_a_step_that_does_not_answer(lab: Lab) -> None:
    lab.run("kept = 1")
    done: list[Any] = []
    code = "kept = 2\nsum(range(10 ** 13))"
    step = threading.Thread(target=lambda: done.append(lab.box.run(code, timeout=60.0)))
    with lab.at_most(30.0, "ending it"):
        step.start()
        while step.is_alive():
            time.sleep(0.3)
            lab.box.interrupt()
            step.join(0.3)
    expect("outcome", (done[0].outcome, done[0].error and done[0].error.type), (Outcome.CRASHED, "KeyboardInterrupt"))
    ensure(done[0].notice.startswith("state kept"), f"the notice: {done[0].notice!r}")
    expect("the state", lab.says("kept"), "1")


@_item()
def _a_checkpoint_can_be_restored_again_and_again(lab: Lab) -> None:
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


@_item()
def _files_go_in_and_come_out(lab: Lab) -> None:
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


@_item()
def _the_work_folder_is_a_copy(lab: Lab) -> None:
    (lab.work / "given.txt").write_text("given", encoding="utf-8")
    lab.begin(work_dir=lab.work)
    expect("a file of the host", lab.says("open('given.txt').read()"), "'given'")
    done = lab.run("import os\nopen('made.txt', 'w').write('made'); os.unlink('given.txt')")
    expect("files told", list(done.files), ["made.txt"])
    expect("the host's folder", lab.files(), ["given.txt", "made.txt"])
    lab.run("import shutil\nshutil.rmtree('.', ignore_errors=True)")
    expect("the host's folder after it was deleted inside", lab.files(), ["given.txt", "made.txt"])
    expect("the folder of the next step", lab.says("import os\nos.getcwd()"), repr(lab.box.info.work_dir))


@_item(env={"CODENAV_CHECK_VALUE": "given"})
def _the_environment_is_what_was_given(lab: Lab) -> None:
    expect("a variable", lab.says("import os\nos.environ['CODENAV_CHECK_VALUE']"), "'given'")
    expect("of a child", lab.says("import subprocess\nprint(subprocess.check_output(['sh', '-c', "
                                  "'echo $CODENAV_CHECK_VALUE']))"), "b'given\\n'")  # fmt: skip


@_item()
def _rich_objects_are_displayed(lab: Lab) -> None:
    make = "class R:\n    def {}(self): return {}\n    def __repr__(self): return 'R'\nR()"
    done = lab.run(make.format("_repr_svg_", "'<svg></svg>'"))
    expect("displays", [(one.mime, one.data) for one in done.displays], [("image/svg+xml", b"<svg></svg>")])
    expect("output", done.stdout, "R\n")
    done = lab.run(make.format("_repr_png_", r"b'\x89PNG\r\n\x1a\n' + b'0' * 10"))
    expect("displays", [one.mime for one in done.displays], ["image/png"])
    expect("a lie", list(lab.run(make.format("_repr_png_", "b'none'")).displays), [])


@_item()
def _strange_text_is_neutral(lab: Lab) -> None:
    done = lab.outcome(r"print('\x1b[31mred', '\x1bP', '\u202e', '\ud800')", Outcome.OK)
    expect("output", done.stdout, "red \\x1bP \\u202e \\ud800\n")


@_item()
def _it_says_what_it_is(lab: Lab) -> None:
    info = lab.box.info
    expect("version", lab.says("import sys\nprint('.'.join(map(str, sys.version_info[:3])))"), info.python_version)
    expect("work folder", lab.says("import os\nprint(os.getcwd())"), info.work_dir)
    ensure(info.network in ("none", "host", "bridge"), f"the network: {info.network!r}")
    expect("isolated", info.isolated, info.backend != "process")


@_item()
def _a_closed_one_refuses(lab: Lab) -> None:
    lab.says("1")
    lab.box.close()
    lab.box.close()
    for call in (lambda: lab.box.run("1"), lambda: lab.box.variables(), lambda: lab.box.checkpoint()):
        _refuses(call, SandboxUnavailable)


@_item()
def _two_do_not_meet(lab: Lab) -> None:
    other = lab.open()
    lab.run("mine = 1\nopen('mine', 'w').write('x')")
    done = other.run("mine", timeout=20.0)
    ensure(done.error and done.error.type == "NameError", f"a variable of another sandbox: {told(done)}")
    expect("files of the other", list(other.artifacts()), [])


@_item()
def _calls_to_the_host_are_answered(lab: Lab) -> None:
    def answer(name: str, arguments: dict[str, Any]) -> Any:
        if name == "shop.sum":
            return sum(arguments["numbers"])
        raise LookupError(f"no {name} here")

    lab.calls = answer
    expect("a result", lab.says("found = call_host('shop.sum', numbers=[1, 2, 3]); found"), "6")
    error = lab.outcome("call_host('shop.close')", Outcome.ERROR).error
    expect("an error", error and (error.type, error.message), ("HostCallError", "no shop.close here"))
    caught = "try: call_host('shop.sum', numbers={1, 2})\nexcept HostCallError as error: print(error)"
    ensure("no JSON" in lab.says(caught), "a set went to the host")
    expect("the state", lab.says("found"), "6")


@_item()
def _without_a_handler_a_call_is_refused(lab: Lab) -> None:
    error = lab.outcome("call_host('shop.sum', numbers=[1])", Outcome.ERROR).error
    ensure(
        error and error.type == "HostCallError" and "takes no calls" in error.message, f"it was not refused: {error}"
    )
