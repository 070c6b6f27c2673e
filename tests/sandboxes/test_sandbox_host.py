"""The host's side: hostile answers, a host that dies, sandboxes that cannot start, nothing left behind."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from codenav.errors import SandboxUnavailable, UsageError
from codenav.execution import Outcome, Resources, SandboxSpec
from codenav.sandboxes import LEAST_MEMORY, start
from codenav.sandboxes.host import GuestSandbox
from codenav.sandboxes.launch import Launched, launch

HOSTILE = Path(__file__).with_name("hostile_guest.py")

RESULT = {
    "op": "result", "number": 1, "outcome": "ok", "stdout": "", "stderr": "", "stdout_bytes": 0, "late": "",
    "changed": [], "error": None, "displays": [], "seconds": 0.1, "notice": "",
}  # fmt: skip


def frame(message, blob=b""):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", len(body), len(blob)) + body + blob


def hostile(python, answer):
    def start_it(spec):
        process, errors = launch([str(spec.python.executable), str(HOSTILE), answer.hex()])
        return Launched(process, errors, {"work": "/work"})

    return GuestSandbox("bubblewrap", SandboxSpec(python), start_it, "none")


def processes_with(text):
    """Ids of the processes of this machine whose command line holds a text."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and text.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until(condition):
    """Poll for a change outside this process; the limit is far beyond what it needs."""
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "answer",
    [
        frame(b"not json"),
        frame(b"[1]"),
        frame(b"[" * 30_000),
        frame(b'{"op": NaN}'),
        struct.pack(">II", 1 << 31, 0),
        struct.pack(">II", 0, 1 << 31),
        frame({**RESULT, "number": 2}),
        frame({**RESULT, "outcome": "fine"}),
        frame({**RESULT, "outcome": ["ok"]}),
        frame({**RESULT, "stdout": 3}),
        frame({**RESULT, "stdout_bytes": -1}),
        frame({**RESULT, "stdout_bytes": True}),
        frame({**RESULT, "changed": [["a"]]}),
        frame({**RESULT, "changed": [["a", "b", "c"]] * 2000}),
        frame({**RESULT, "displays": [["image/png", 5]]}),
        frame({**RESULT, "displays": [["image/png", -5]]}, b"12345"),
        frame({**RESULT, "error": "bad"}),
        frame({**RESULT, "error": {"type": "E", "message": "", "line": "", "line_number": "3", "traceback": ""}}),
        frame({key: value for key, value in RESULT.items() if key != "notice"}),
    ],
)
def test_a_hostile_answer_is_a_violation_and_no_exception(python, answer):
    with hostile(python, answer) as sandbox:
        execution = sandbox.run("1")
        assert execution.outcome is Outcome.PROTOCOL_VIOLATION
        assert execution.notice.startswith("state lost")


def test_strings_of_a_hostile_answer_are_neutral(python):
    answer = {**RESULT, "stdout": "\x1b[2J", "notice": "\u202e", "changed": [["\x07", "\x9b", "\ud800"]]}
    with hostile(python, frame(answer)) as sandbox:
        execution = sandbox.run("1")
        assert (execution.stdout, execution.notice) == ("\\x1b[2J", "\\u202e")
        assert execution.changed[0].to_dict() == {"name": "\\x07", "type": "\\x9b", "repr": "\\ud800"}


def test_a_supervisor_that_never_answers_costs_the_timeout_and_a_second(python):
    with hostile(python, b"") as sandbox:
        started = time.monotonic()
        execution = sandbox.run("1", timeout=0.3)
        assert time.monotonic() - started < 1.3
        assert (execution.outcome, execution.error.type) == (Outcome.TIMEOUT, "TimeoutError")


def test_a_sandbox_whose_supervisor_died_starts_again_and_says_so(fresh):
    sandbox = fresh()
    sandbox.run("x = 1")
    os.kill(sandbox._launched.process.pid, signal.SIGKILL)
    assert sandbox.run("x").notice.startswith("state lost")
    after = sandbox.run("x = 2\nx")
    assert after.stdout == "2\n"
    assert sandbox.run("x").notice == ""


def test_an_interrupted_caller_leaves_a_sandbox_that_answers_rightly(fresh):
    sandbox = fresh()
    sandbox.run("import time\nkept = 1")
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.run("print('stale')\ntime.sleep(30)")
    timer.join()
    execution = sandbox.run("print(kept)")
    assert (execution.stdout, execution.outcome) == ("1\n", Outcome.OK)


def test_closing_leaves_nothing(fresh, backend):
    mounts = Path("/proc/self/mountinfo").read_text()
    sandbox = fresh()
    mark = "left-behind-" + str(time.monotonic_ns())
    sleep = f"subprocess.Popen(['sh', '-c', 'sleep 600; : {mark}'], start_new_session=True)"
    sandbox.run(f"import subprocess\nfor _ in range(3): {sleep}")
    wait_until(lambda: len(processes_with(mark)) >= 3)
    pid, folder = sandbox._launched.process.pid, sandbox._launched.folder
    assert (folder is None) == (backend == "bubblewrap")
    sandbox.close()
    wait_until(lambda: not processes_with(mark) and not Path(f"/proc/{pid}").exists())
    assert folder is None or not folder.exists()
    assert Path("/proc/self/mountinfo").read_text() == mounts


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_host_leaves_no_process(backend, python, how):
    mark = "orphan-" + str(time.monotonic_ns())
    script = f"""
    import sys, threading
    from codenav.sandboxes import start
    from codenav.execution import SandboxSpec
    from codenav.interpreter import find_interpreter
    box = []
    def open_it():
        box.append(start({backend!r}, SandboxSpec(find_interpreter())))
    starter = threading.Thread(target=open_it); starter.start(); starter.join()
    box[0].run("import subprocess; subprocess.Popen(['sh', '-c', 'sleep 600; : {mark}'])")
    print('ready', box[0].info.work_dir, flush=True)
    box[0].run("while True: pass", timeout=600)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        ready, work = host.stdout.readline().split()
        assert ready == "ready"
        assert processes_with(mark)
        host.send_signal(how)
        host.wait()
    wait_until(lambda: not [pid for pid in processes_with(mark) if pid != os.getpid()])
    if backend == "process":
        wait_until(lambda: not Path(work).parent.exists())


def test_an_interpreter_that_does_not_start_is_unavailable_with_its_reason(backend, python, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'error while loading shared libraries: libx.so' >&2\nexit 127\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"libx\.so"):
        start(backend, SandboxSpec(dataclasses.replace(python, executable=broken)))
    with pytest.raises(SandboxUnavailable):
        start(backend, SandboxSpec(dataclasses.replace(python, executable=tmp_path / "missing")))


def test_a_memory_limit_below_what_python_needs_is_told(python):
    with pytest.raises(UsageError, match="too low"):
        start("process", SandboxSpec(python, resources=Resources(memory_bytes=1 << 20)))
    with pytest.raises(UsageError, match="output"):
        start("process", SandboxSpec(python, resources=Resources(output_bytes=1 << 30)))


def test_the_least_memory_is_enough_for_small_steps(fresh):
    assert fresh(resources=Resources(memory_bytes=LEAST_MEMORY)).run("1 + 1").stdout == "2\n"


def test_an_environment_whose_set_up_fails_is_unavailable_with_its_reason(backend, python, tmp_path):
    tmp_path.chmod(0o755)
    command = [python.executable, "-m", "venv", "--without-pip", tmp_path / "venv"]
    subprocess.run(command, check=True)
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    (site / "sitecustomize.py").write_text("import os; os._exit(5)\n")
    broken = dataclasses.replace(python, executable=tmp_path / "venv" / "bin" / "python", prefix=tmp_path / "venv")
    with pytest.raises(SandboxUnavailable, match="exit code 5"):
        start(backend, SandboxSpec(broken))


def test_steps_of_several_threads_do_not_mix(fresh):
    sandbox = fresh()
    results = {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: sandbox.run(f"print({n} * 11)").stdout}))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"{n * 11}\n" for n in range(8)}


def test_many_steps_leave_memory_and_descriptors_flat(fresh):
    sandbox = fresh()
    sandbox.run("import os\nx = 0")
    inside = sandbox.run("len(os.listdir('/proc/self/fd'))").stdout
    ours = len(os.listdir("/proc/self/fd"))
    for _ in range(150):
        sandbox.run("x += 1")
    assert sandbox.run("len(os.listdir('/proc/self/fd'))").stdout == inside
    assert len(os.listdir("/proc/self/fd")) == ours
    assert sandbox.run("x").stdout == "150\n"


def test_without_bubblewrap_the_hint_says_how_to_get_it(tmp_path):
    script = "from codenav.sandboxes import diagnose; print(diagnose('bubblewrap'))"
    done = subprocess.run([sys.executable, "-c", script], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert "ok=False" in done.stdout
    assert "apt-get install bubblewrap" in done.stdout


def test_an_old_or_refused_bubblewrap_is_told(tmp_path):
    script = "from codenav.sandboxes import diagnose; print(diagnose('bubblewrap'))"
    fake = tmp_path / "bwrap"
    refuses = 'echo "No permissions to create new namespace" >&2; exit 1'
    for body, expected in (
        ("echo bubblewrap 0.4.1", "too old"),
        (f'[ "$1" = --version ] && {{ echo bubblewrap 0.9.0; exit; }}\n{refuses}', "No permissions to create"),
    ):
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
        tmp_path.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/bin"}
        command = shlex.join([sys.executable, "-c", script])
        done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True)
        assert "ok=False" in done.stdout, done.stderr
        assert "hint=''" not in done.stdout
        if os.geteuid() != 0 or expected == "too old":
            assert expected in done.stdout
