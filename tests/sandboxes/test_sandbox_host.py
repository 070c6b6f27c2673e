"""The host's side: a host that dies, sandboxes that cannot start, nothing left behind."""

from __future__ import annotations

import dataclasses
import os
import select
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import Outcome, Resources, SandboxSpec
from codenav.sandboxes import LEAST_MEMORY, start


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


def end_abruptly(sandbox):
    """Kill the sandbox from outside, as a machine in need does."""
    launched = sandbox._launched
    if sandbox.info.backend == "docker":
        launched.client.kill(launched.id)
        return
    os.kill(launched.process.pid, signal.SIGKILL)
    # What is inside dies with it, and only a moment later.
    end = select.poll()
    end.register(launched.source, select.POLLHUP)
    assert end.poll(20_000), "the sandbox did not end"


def wait_until(condition):
    """Poll for a change outside this process; the limit is far beyond what it needs."""
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def test_a_repr_that_ends_the_process_is_no_empty_list_of_variables(fresh):
    sandbox = fresh()
    sandbox.run("import os\nkept = 1\nfatal = False")
    sandbox.run("class Mine:\n    def __repr__(self): return os._exit(3) if fatal else 'Mine()'\nmine = Mine()")
    assert set(sandbox.variables()) >= {"kept", "mine"}
    sandbox.run("fatal = True")
    with pytest.raises(SandboxUnavailable, match="a repr ended the process"):
        sandbox.variables()
    execution = sandbox.run("kept")
    assert (execution.stdout, execution.outcome) == ("1\n", Outcome.OK)
    assert "a repr ended the process" in execution.notice


def test_a_step_after_which_the_sandbox_cannot_start_again_is_unavailable(fresh, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    sandbox = fresh(work_dir=work)
    end_abruptly(sandbox)
    assert sandbox.run("1").notice.startswith("state lost")
    work.rmdir()
    with pytest.raises(SandboxUnavailable, match="no such work folder"):
        sandbox.run("1")


def test_a_sandbox_whose_supervisor_died_starts_again_and_says_so(fresh):
    sandbox = fresh()
    sandbox.run("x = 1")
    end_abruptly(sandbox)
    assert sandbox.run("x").notice.startswith("state lost")
    after = sandbox.run("x = 2\nx")
    assert after.stdout == "2\n"
    assert sandbox.run("x").notice == ""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, "cut"])
def test_a_host_that_is_killed_or_cut_off_leaves_no_process_whatever_it_has_forked(backend, basis, how):
    number = time.monotonic_ns()
    mark = f"orphan-{number}"
    script = f"""
    import os, socket, sys, threading, time
    from codenav.sandboxes import start
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    box = []
    def open_it():
        box.append(start({backend!r}, SandboxSpec(find_interpreter(), image={basis.image!r})))
    starter = threading.Thread(target=open_it); starter.start(); starter.join()
    box[0].run("import subprocess; subprocess.Popen(['sh', '-c', 'sleep 600; : orphan' '-{number}'])")
    threading.Thread(target=box[0].run, args=("while True: pass",), kwargs=dict(timeout=600), daemon=True).start()
    if os.fork() == 0: time.sleep(60); os._exit(0)
    print('ready', box[0].info.work_dir, flush=True)
    sys.stdin.readline()
    for name in os.listdir('/proc/self/fd'):
        # Shut down first: the kernel keeps a connection open while a thread waits on it.
        if int(name) > 2:
            try:
                with socket.socket(fileno=int(name)) as one: one.shutdown(socket.SHUT_RDWR)
            except OSError: pass
    os.closerange(3, 4096)
    time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as host:
        ready, work = host.stdout.readline().split()
        assert ready == "ready"
        assert processes_with(mark)
        if how == "cut":
            host.stdin.write("\n")
            host.stdin.flush()
        else:
            host.send_signal(how)
            host.wait()
        try:
            wait_until(lambda: not processes_with(mark))
        finally:
            os.killpg(host.pid, signal.SIGKILL)
    if backend == "process":
        wait_until(lambda: not Path(work).parent.exists())


@pytest.mark.parametrize("backend", ["bubblewrap", "process"], indirect=True)
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


@pytest.mark.parametrize("backend", ["bubblewrap", "process"], indirect=True)
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
        ("echo bubblewrap", "names no version"),
        ("printf 'bubblewrap \\377\\n'; exit 3", "names no version"),
        ("kill $$", "names no version"),
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
        if os.geteuid() != 0 or expected != "No permissions to create":
            assert expected in done.stdout


def test_a_processor_without_a_filter_is_told():
    script = "from codenav.sandboxes import diagnose; print(diagnose('bubblewrap').detail)"
    plain = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    other = subprocess.run(["setarch", "linux32", sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert "seccomp" not in plain
    assert "no seccomp filter for" in other
