"""Sandboxes that outlive who started them."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import Outcome, Resources
from codenav.sandboxes.daemon import client, places, steps
from codenav.sandboxes.daemon.client import connect


def wait_until(holds, *, within: float = 30.0) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def running(name: str) -> bool:
    with connect(name) as asking:
        return asking.status()["running_seconds"] is not None


class Running:
    """A step in a thread, from its first output on. Its connection, or the sandbox, may end while it runs."""

    def __init__(self, box: client.NamedSandbox, code: str) -> None:
        self.done = None
        begun = threading.Event()

        def work() -> None:
            with contextlib.suppress(NotFound):
                self.done = box.run(f"print('begun')\n{code}", timeout=600.0, on_output=lambda _: begun.set())

        self._thread = threading.Thread(target=work)
        self._thread.start()
        assert begun.wait(60)

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def states(pid: int) -> list[str]:
    """Of each thread: `T` is stopped (proc(5))."""
    return [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]


def memory_of(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) << 10


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_calls_to_the_host_are_refused(named, backend):
    done = named(backend).run("kept = 1\ncall_host('order', what='tea')")
    assert (done.outcome, done.error.type) == (Outcome.ERROR, "HostCallError")
    assert done.error.message.startswith("the host takes no calls")


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_each_connection_finds_the_state_of_the_one_before(named, backend):
    name = named(backend).record.name
    with connect(name) as first:
        assert first.run("x = 41").outcome is Outcome.OK
    with connect(name) as second:
        assert second.run("x + 1").stdout == "42\n"
        assert second.variables()["x"].repr == "41"
        assert (second.info.backend, second.info.isolated) == (backend, backend != "process")


def test_the_host_process_holds_nothing_of_whoever_started_it(named):
    pid = named().record.owner.pid
    ours = {os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2)}
    theirs = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
    assert (theirs["0"], theirs["1"]) == ("/dev/null", "/dev/null")
    assert Path(theirs["2"]).name == "host.log"
    assert not (ours - {"/dev/null"}) & set(theirs.values())
    session, terminal = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3:5]
    assert (int(session), int(terminal)) == (pid, 0)
    assert os.readlink(f"/proc/{pid}/cwd") == "/"


def test_the_host_process_is_small(named):
    box = named()
    for _ in range(20):
        assert box.run("x = 1").ok
    box.write_file("large", b"x" * (32 << 20))
    assert len(box.read_file("large")) == 32 << 20
    assert memory_of(box.record.owner.pid) <= 25 << 20


def test_secrets_are_inside_and_nowhere_else(named, monkeypatch, codenav_home):
    monkeypatch.setenv("STRIPE_KEY", "sk-very-secret-1")
    monkeypatch.setenv("OTHER_KEY", "also-very-secret-2")
    box = named(env=["STRIPE_KEY"])
    done = box.run(
        "import os; key = os.environ['STRIPE_KEY']; print(key, 'sk-very-secret-1', os.environ.get('OTHER_KEY'))"
    )
    assert done.stdout == "[secret STRIPE_KEY] [secret STRIPE_KEY] None\n"
    assert box.run("len(key)").stdout == "16\n"
    pid = box.record.owner.pid
    for file in (f"/proc/{pid}/environ", f"/proc/{pid}/cmdline"):
        assert b"very-secret" not in Path(file).read_bytes()
    # A copy of a code base on the interpreter's path, of these tests too, has what that has.
    kept = [path for path in codenav_home.rglob("*") if path.is_file() and codenav_home / "code" not in path.parents]
    assert kept
    assert not [path for path in kept if b"very-secret" in path.read_bytes()]


def test_a_name_is_taken_until_its_sandbox_is_stopped(named):
    name = named(name="lab").record.name
    with pytest.raises(UsageError, match="'lab' is there already") as caught:
        named(name="lab")
    assert "codenav sandbox stop lab" in caught.value.hint
    client.stop(name)
    assert named(name="lab").run("1").ok


def test_sandboxes_without_a_name_get_one_each(named):
    assert [named().record.name, named().record.name] == ["box1", "box2"]


def test_a_record_of_another_version_can_be_read(named):
    record = named(name="lab").record
    file = places.folder_of("lab") / "sandbox.json"
    file.write_text(file.read_text().replace("{", '{"of_tomorrow": 1, ', 1))
    assert places.Record.read("lab") == record
    file.write_text("{}")
    assert places.Record.read("lab") is None
    record.write()


@pytest.mark.parametrize("name", ["", ".lock", "../up", "a/b", "a b", "-x", "x" * 41, "é"])
def test_what_is_no_name(name):
    with pytest.raises(UsageError, match="is no name for a sandbox"):
        connect(name)


def test_an_unknown_name_and_one_that_is_near(named):
    named(name="lab")
    with pytest.raises(NotFound, match="no sandbox is named 'lob'") as caught:
        connect("lob")
    assert caught.value.hint == "did you mean 'lab'?"
    with pytest.raises(NotFound) as caught:
        connect("entirely-different")
    assert caught.value.hint == "codenav sandbox start --name entirely-different"


def test_what_cannot_start_says_why_and_leaves_nothing(named):
    with pytest.raises(UsageError, match="too low for Python"):
        named(name="lab", resources=Resources(memory_bytes=1 << 20))
    with pytest.raises(UsageError, match="no network 'bridge'"):
        named(name="lab", network="bridge")
    assert places.names() == []


def test_steps_of_several_clients_queue(named):
    name = named().record.name

    def work() -> None:
        with connect(name) as box:
            for _ in range(10):
                assert box.run("count = globals().get('count', 0) + 1").ok

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with connect(name) as box:
        assert box.run("count").stdout == "40\n"
        assert box.status()["steps"] == 41


def test_an_interrupt_reaches_the_own_step_and_no_other(named):
    name = named().record.name
    done = []
    with connect(name) as first, connect(name) as second:
        one = Running(first, "import time\nwhile True: time.sleep(0.01)")
        two = threading.Thread(target=lambda: done.append(second.run("ran = True")))
        two.start()
        time.sleep(0.2)
        second.interrupt()
        time.sleep(0.2)
        assert running(name)
        first.interrupt()
        one.join()
        two.join()
        assert one.done.error.type == "KeyboardInterrupt"
        assert (done[0].error.type, done[0].error.message) == ("KeyboardInterrupt", "interrupted before it began")
        assert "ran" not in first.variables()


@pytest.mark.parametrize(("code", "left"), [("sum(range(10**13))", "1\n"), ("while True: pass", "2\n")])
def test_who_leaves_ends_its_step_one_that_does_not_answer_too(named, code, left):
    box = named()
    name = box.record.name
    assert box.run("x = 1").ok
    leaving = connect(name)
    step = Running(leaving, f"x = 2\n{code}")
    leaving.close()
    step.join()
    wait_until(lambda: not running(name))
    assert box.run("x").stdout == left


def test_a_callback_that_raises_ends_its_step_and_the_connection_serves_on(named):
    box = named()

    def refuse(_):
        raise LookupError("enough")

    with pytest.raises(LookupError):
        box.run("x = 1\nprint(x, flush=True)\nwhile True: pass", timeout=600.0, on_output=refuse)
    assert box.run("x").stdout == "1\n"


def test_it_ends_by_itself_when_it_was_idle_for_long_enough(named):
    box = named(idle=0.3)
    owner = box.record.owner
    assert box.run("import time; time.sleep(0.6); 'done'").stdout == "'done'\n"
    wait_until(owner.ended)
    assert places.names() == []
    with pytest.raises(NotFound, match="has ended"):
        box.run("1")


def test_without_an_idle_limit_it_stays(named):
    assert named(idle=0.0).run("1").ok


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(named, number):
    box = named()
    os.kill(box.record.owner.pid, number)
    wait_until(box.record.owner.ended)
    wait_until(lambda: places.names() == [])


def test_a_hangup_does_not_end_it(named):
    box = named()
    os.kill(box.record.owner.pid, signal.SIGHUP)
    assert box.run("1").ok


def test_a_killed_host_process_takes_its_sandbox_along_and_frees_its_name(named):
    box = named(name="lab")
    mark = f"sleep {9000 + os.getpid() % 999}.125"
    assert box.run(f"import subprocess; child = subprocess.Popen({mark.split()!r})").ok
    os.kill(box.record.owner.pid, signal.SIGKILL)
    wait_until(box.record.owner.ended)
    with pytest.raises(NotFound, match="its host process has ended"):
        connect("lab")
    assert [leftover.name for leftover in places.leftovers()] == ["lab"]
    wait_until(lambda: not any(mark in line for line in command_lines()))
    assert named(name="lab").run("'new'").stdout == "'new'\n"


def command_lines() -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_stop_does_not_wait_for_a_step_that_cannot_be_interrupted(named):
    box = named()
    stuck = Running(box, "sum(range(10**12))")
    client.stop(box.record.name)
    stuck.join()
    assert stuck.done is None or stuck.done.error.type == "Closed"
    assert places.names() == []


def test_stop_ends_a_host_process_that_does_not_answer(named, monkeypatch):
    monkeypatch.setattr(client, "STOP_SECONDS", 0.2)
    monkeypatch.setattr(client, "STATUS_SECONDS", 0.2)
    box = named()
    os.kill(box.record.owner.pid, signal.SIGSTOP)
    wait_until(lambda: set(states(box.record.owner.pid)) == {"T"})
    with pytest.raises(SandboxUnavailable, match="does not answer"):
        box.status()
    client.stop(box.record.name)
    assert box.record.owner.ended()
    assert places.names() == []


def test_the_path_of_its_folder_may_be_longer_than_the_address_of_a_socket(named, monkeypatch, tmp_path):
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / ("long" * 30)))
    box = named()
    assert box.run("1").stdout == "1\n"
    client.stop(box.record.name)


def test_checkpoints(named):
    box = named()
    assert box.run("x = 1").ok
    number = box.checkpoint()
    assert box.run("x = 2").ok
    box.restore(number)
    assert box.run("x").stdout == "1\n"
    with pytest.raises(NotFound):
        box.restore(99)


def test_the_log_has_every_step_without_pictures_and_is_bounded(named, monkeypatch):
    box = named()
    folder = places.folder_of(box.record.name)
    assert box.run("class P:\n    def _repr_svg_(self): return '<svg></svg>'\nP()").ok
    assert box.run("1/0").outcome is Outcome.ERROR
    first, second = steps.read(folder)
    assert [item["mime"] for item in first["execution"]["displays"]] == ["image/svg+xml"]
    assert "data" not in first["execution"]["displays"][0]
    assert (second["code"], second["execution"]["error"]["type"]) == ("1/0", "ZeroDivisionError")
    monkeypatch.setattr(steps, "MOST_BYTES", 2000)
    execution = box.run("2")
    for number in range(3, 100):
        steps.write(folder, number, "2", execution)
    assert sum(path.stat().st_size for path in folder.glob("*.jsonl")) <= 4000
    assert list(steps.read(folder))[-1]["number"] == 99
