"""`codenav sandbox …`: sandboxes of one's own, as a person uses them."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import jsonschema
import pytest
from command_line import children, codenav, left_behind, start

from codenav.core import schemas
from codenav.sandboxes.daemon import places


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Every sandbox is stopped, and none of its processes stays."""
    before = children()
    yield
    if places.names():
        assert codenav("sandbox", "stop", "--all").code == 0
    assert left_behind(before) == []


@pytest.fixture
def lab() -> str:
    """A sandbox of that name."""
    ran = codenav("sandbox", "start", "--sandbox", "bubblewrap", "--name", "lab")
    assert (ran.code, ran.out) == (0, "lab\n"), ran.err
    return "lab"


def test_the_group_names_the_near_command():
    ran = codenav("sandbox", "stat")
    assert (ran.code, "Did you mean 'start'?" in ran.err) == (2, True)


def test_a_day_with_a_sandbox(lab, tmp_path):
    (tmp_path / "script.py").write_text("import math\nx = math.floor(41.5)\nprint('läuft')\n")
    ran = codenav("sandbox", "exec", lab, tmp_path / "script.py")
    assert (ran.code, ran.out) == (0, "läuft\n")
    ran = codenav("sandbox", "exec", lab, "-c", "x + 1")
    assert (ran.code, ran.out, ran.err) == (0, "42\n", "")
    ran = codenav("sandbox", "exec", lab, "-c", "x = 7; _ = open('out.txt', 'w').write('seven')", "--json")
    jsonschema.validate(ran.document, schemas.load("execution"))
    assert ran.document["files"] == ["out.txt"]
    (row,) = codenav("sandbox", "ps", "--json").document
    jsonschema.validate([row], schemas.load("sandbox-ps"))
    assert (row["name"], row["state"], row["steps"], row["network"]) == ("lab", "idle", 3, "none")
    assert codenav("sandbox", "ps").out.startswith("lab          bubblewrap idle for ")
    logged = codenav("sandbox", "ps", lab, "--json").document
    jsonschema.validate(logged, schemas.load("sandbox-logs"))
    assert [step["number"] for step in logged] == [1, 2, 3]
    assert codenav("sandbox", "ps", lab, "--tail", "2").out.splitlines()[1:4] == ["   x + 1", "   ──", "   42"]
    assert codenav("sandbox", "cp", f"{lab}:out.txt", tmp_path).code == 0
    assert (tmp_path / "out.txt").read_text() == "seven"
    ran = codenav("sandbox", "stop", lab)
    assert (ran.code, ran.out) == (0, "stopped lab\n")
    ran = codenav("sandbox", "ps")
    assert (ran.code, ran.out) == (0, "")
    assert "codenav sandbox start" in ran.err


def test_start_says_what_runs_as_a_document_too(tmp_path):
    started = codenav("sandbox", "start", "--sandbox", "bubblewrap", "--idle", "30m", "--json").document
    jsonschema.validate(started, schemas.load("sandbox"))
    assert (started["name"], started["idle_limit"], started["state"]) == ("box1", 1800, "idle")


def test_a_code_base_settings_and_limits_reach_the_sandbox(tmp_path):
    (tmp_path / "shapes.py").write_text("def area(a, b):\n    return a * b\n")
    (tmp_path / "live").mkdir()
    arguments = ["--on", tmp_path / "shapes.py", "--env", "STRIPE_KEY", "--mount", tmp_path / "live", "--set=pids=50"]
    env = {"STRIPE_KEY": "sk-very-secret-1"}
    ran = codenav("sandbox", "start", "--sandbox", "bubblewrap", *arguments, "--code-timeout", "1", env=env)
    assert ran.code == 0, ran.err
    code = f"import os, shapes; shapes.area(2, 3), os.environ['STRIPE_KEY'], os.listdir({str(tmp_path / 'live')!r})"
    assert codenav("sandbox", "exec", "box1", "-c", code).out == "(6, '[secret STRIPE_KEY]', [])\n"
    assert codenav("sandbox", "exec", "box1", "-c", "while True: pass").code == 3


@pytest.mark.parametrize(
    ("code", "outcome", "expected", "said"),
    [
        ("1/0", "error", 1, "ZeroDivisionError: division by zero"),
        ("def", "error", 1, "SyntaxError"),
        ("import os; os._exit(3)", "crashed", 1, "state kept"),
        ("x = bytearray(3 << 30)", "out_of_memory", 3, "MemoryError"),
        ("import time; time.sleep(60)", "timeout", 3, "TimeoutError"),
    ],
)
def test_the_exit_code_of_a_step_that_fails(lab, code, outcome, expected, said):
    ran = codenav("sandbox", "exec", lab, "-c", code, "--timeout", "2")
    assert (ran.code, ran.out) == (expected, "")
    assert said in ran.err
    assert "codenav/" not in ran.err
    assert codenav("sandbox", "exec", lab, "-c", code, "--timeout", "2", "--json").document["outcome"] == outcome


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("start", "--name", "a/b"), "letters, digits"),
        (("start", "--idle", "soon"), "30m, 1h or 30d"),
        (("start", "--sandbox", "bubblewrap", "--network", "bridge"), "bridge"),
        (("start", "--env", "NOT_SET_ANYWHERE"), "export NOT_SET_ANYWHERE"),
        (("exec", "lab", "a.py", "-c", "1"), "-c"),
        (("exec", "lab", "-c", "1"), "codenav sandbox start --name lab"),
        (("exec", "lab", "no-such-file.py"), "no-such-file.py"),
        (("exec", "lab"), "codenav sandbox start --name lab"),
        (("ps", "lab"), "codenav sandbox start --name lab"),
        (("cp", "a", "b"), "NAME:PATH"),
        (("cp", "lab:a", "lab:b"), "NAME:PATH"),
        (("cp", "lab:a", "."), "codenav sandbox start --name lab"),
        (("checkpoint", "lab"), "codenav sandbox start --name lab"),
        (("checkpoint", "lab", "--restore", "0"), "0"),
        (("stop", "lab"), "lab"),
        (("stop",), "--all"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_exit_code_2(arguments, said):
    ran = codenav("sandbox", *arguments)
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_a_taken_name_and_a_missing_backend(lab, tmp_path):
    ran = codenav("sandbox", "start", "--name", lab, "--sandbox", "bubblewrap")
    assert (ran.code, "codenav sandbox stop lab" in ran.err) == (2, True)
    ran = codenav("sandbox", "start", "--sandbox", "bubblewrap", env={"PATH": str(tmp_path)})
    assert (ran.code, "apt-get install bubblewrap" in ran.err) == (4, True)


def test_checkpoint_and_restore(lab):
    assert codenav("sandbox", "exec", lab, "-c", "x = 1").code == 0
    kept = codenav("sandbox", "checkpoint", lab, "--json").document
    jsonschema.validate(kept, schemas.load("sandbox-checkpoint"))
    assert codenav("sandbox", "exec", lab, "-c", "x = 2").code == 0
    back = codenav("sandbox", "checkpoint", lab, "--restore", str(kept["number"]), "--json").document
    jsonschema.validate(back, schemas.load("sandbox-restore"))
    assert codenav("sandbox", "exec", lab, "-c", "x").out == "1\n"
    assert codenav("sandbox", "checkpoint", lab, "--restore", "99").code == 2


def test_folders_are_copied_both_ways(lab, tmp_path):
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "data" / "link").symlink_to("/etc/passwd")
    assert codenav("sandbox", "cp", tmp_path / "data", f"{lab}:").code == 0
    assert codenav("sandbox", "cp", tmp_path / "data", f"{lab}:as").code == 0
    assert codenav("sandbox", "cp", tmp_path / "data" / "deep" / "a.bin", f"{lab}:b.bin").code == 0
    listed = codenav("sandbox", "exec", lab, "-c", "import glob; print(*sorted(glob.glob('**', recursive=True)))").out
    assert listed == "as as/deep as/deep/a.bin b.bin data data/deep data/deep/a.bin\n"
    ran = codenav("sandbox", "cp", f"{lab}:", tmp_path / "back")
    assert (ran.code, ran.err) == (0, "3 files copied.\n")
    assert (tmp_path / "back" / "data" / "deep" / "a.bin").read_bytes() == bytes(range(256))
    assert codenav("sandbox", "cp", f"{lab}:data/", tmp_path / "back").code == 0
    assert codenav("sandbox", "cp", f"{lab}:b.bin", tmp_path / "nowhere" / "b.bin").code == 2
    for inside in ("nothing", "../../etc/passwd", "/etc/passwd"):
        assert codenav("sandbox", "cp", f"{lab}:{inside}", tmp_path).code == 2
        assert codenav("sandbox", "cp", tmp_path / "nothing", f"{lab}:{inside}").code == 2


def test_a_file_without_a_size_is_copied_and_one_goes_to_stdout(lab):
    assert codenav("sandbox", "cp", "/proc/self/status", f"{lab}:status").code == 0
    ran = codenav("sandbox", "cp", f"{lab}:status", "-")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Name:")


def test_a_copy_follows_no_link(lab, tmp_path):
    code = "import os; os.makedirs('d/e'); _ = [open(name, 'w').write('in') for name in ('a', 'd/e/f')]"
    assert codenav("sandbox", "exec", lab, "-c", f"{code}; os.symlink('/etc/passwd', 'l')").code == 0
    target, precious = tmp_path / "target", tmp_path / "precious"
    target.mkdir()
    precious.mkdir()
    (precious / "a").write_text("mine")
    (target / "a").symlink_to(precious / "a")
    (target / "d").symlink_to(precious)
    assert codenav("sandbox", "cp", f"{lab}:a", target).code == 0
    assert ((target / "a").read_text(), (precious / "a").read_text()) == ("in", "mine")
    assert codenav("sandbox", "cp", f"{lab}:", target).code == 2
    assert [path.name for path in precious.iterdir()] == ["a"]
    assert codenav("sandbox", "cp", f"{lab}:l", target).code == 2
    (target / "null").symlink_to("/dev/null")
    assert codenav("sandbox", "cp", f"{lab}:a", target / "null").code == 2
    assert (target / "null").is_symlink()


def test_pictures_are_told_and_kept_where_asked(lab, tmp_path):
    code = "class P:\n    def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>'\nP()"
    assert "--displays DIR" in codenav("sandbox", "exec", lab, "-c", code).err
    (tmp_path / "display-1.svg").write_text("mine")
    ran = codenav("sandbox", "exec", lab, "-c", code, "--displays", tmp_path)
    assert (ran.code, ran.err) == (0, f"wrote {tmp_path / 'display-2.svg'}\n")
    assert "<svg" in (tmp_path / "display-2.svg").read_text()
    assert (tmp_path / "display-1.svg").read_text() == "mine"


def test_ctrl_c_interrupts_the_step_and_not_the_sandbox(lab):
    assert codenav("sandbox", "exec", lab, "-c", "x = 1").code == 0
    with start("sandbox", "exec", lab, "-c", "x = 2\nimport time\nwhile True: time.sleep(0.01)") as process:
        deadline = time.monotonic() + 60
        while (codenav("sandbox", "ps", "--json").document[0]["running_seconds"] or 0) < 1:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "KeyboardInterrupt" in err
    assert codenav("sandbox", "exec", lab, "-c", "x").out == "2\n"


def test_ctrl_c_twice_ends_a_step_that_does_not_answer(lab):
    assert codenav("sandbox", "exec", lab, "-c", "x = 1").code == 0
    with start("sandbox", "exec", lab, "-c", "x = 2\nsum(range(10**13))", "--timeout", "600") as process:
        deadline = time.monotonic() + 60
        while (codenav("sandbox", "ps", "--json").document[0]["running_seconds"] or 0) < 1:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "KeyboardInterrupt: interrupted for the second time; the process was ended\nNote: state kept: " in err
    assert codenav("sandbox", "exec", lab, "-c", "x").out == "1\n"


def test_what_comes_out_steers_no_terminal(lab):
    ran = codenav("sandbox", "exec", lab, "-c", r"print('\x1b[31mred'); open('\x1b[2Jname', 'w').close(); 1/0")
    assert "\x1b" not in ran.out + ran.err
    assert "\x1b" not in codenav("sandbox", "ps", lab).out


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:
            os.execv(sys.executable, [sys.executable, "-m", "codenav", *arguments])
        self.read(">>> ")

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def read(self, until: str) -> str:
        """Its output, up to some text."""
        found, deadline = "", time.monotonic() + 60
        while not found.endswith(until):
            assert time.monotonic() < deadline, found
            if select.select([self._end], [], [], 1)[0]:
                found += os.read(self._end, 1).decode(errors="replace")
        return found.replace("\r\n", "\n")

    def leave(self) -> int:
        """With Ctrl-D; the exit code."""
        self.type("\x04")
        with contextlib.suppress(OSError):
            while os.read(self._end, 1024):
                pass
        os.close(self._end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_prompt_with_blocks_interrupts_and_history(lab, codenav_home):
    terminal = Terminal("sandbox", "exec", lab)
    terminal.type("x = 1\n")
    terminal.read(">>> ")
    for line in ("def double(a):\n", "    return 2 * a\n"):
        terminal.type(line)
        terminal.read("... ")
    terminal.type("\n")
    terminal.read(">>> ")
    terminal.type("double(x)\n")
    assert terminal.read(">>> ").splitlines()[1:-1] == ["2"]
    terminal.type("while print('loop') is None: x = 5\n")
    terminal.read("... ")
    terminal.type("\n")
    time.sleep(0.5)
    terminal.type("\x03")
    assert "KeyboardInterrupt" in terminal.read(">>> ")
    terminal.type("unfinished(\x03")
    assert "KeyboardInterrupt" in terminal.read(">>> ")
    terminal.type("x\n")
    assert terminal.read(">>> ").splitlines()[1:-1] == ["5"]
    assert terminal.leave() == 0
    again = Terminal("sandbox", "exec", lab)
    again.type("\x1b[A")
    again.read("x")
    again.type("\n")
    assert again.read(">>> ").splitlines()[1:-1] == ["5"]
    assert again.leave() == 0
    assert (codenav_home / "repl_history").stat().st_mode & 0o077 == 0
    assert codenav("sandbox", "exec", lab, "-c", "x").out == "5\n"


def test_a_prompt_without_a_terminal_reads_lines(lab):
    lines = "y = 2\nif y:\n    print('yes')\n\n1/0\ny + 1\nexit\nprint('never')\n"
    ran = subprocess.run(
        [sys.executable, "-m", "codenav", "sandbox", "exec", lab], input=lines, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "yes\n3\n")
    assert "ZeroDivisionError" in ran.stderr
