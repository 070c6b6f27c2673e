"""What goes wrong: one clear line, the right exit code, a readable record, nothing left running."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import Answer, ChatServer, Fault, Hang
from command_line import Command, Ran, codenav, start, without_evidence

from codenav.core.actions import Code, Done

Run = Callable[..., Ran]


def expect_one_clear_line(ran: Ran, code: int, *parts: str) -> None:
    """The command ended with that code, said these things in its error, and showed no traceback."""
    assert ran.code == code, ran.err
    errors = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, ran.err
    for part in parts:
        assert part in ran.err
    assert "Traceback" not in ran.err + ran.out


def status_of_last() -> str:
    ran = codenav("episodes", "show", "last", "--json")
    assert ran.code == 0, ran.err
    return str(ran.document["status"])


# Before the run ------------------------------------------------------------------------------------------------


def test_a_server_is_named_and_no_model(library: Path) -> None:
    ran = codenav("run", "Do it.", "--on", library, "--base-url", "http://127.0.0.1:9/v1")
    expect_one_clear_line(ran, 4, "but no model of it", "codenav models get", "--model NAME --base-url URL")
    assert codenav("episodes", "list", "--json").document == []


def test_the_folder_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    expect_one_clear_line(codenav("index", tmp_path / "fram"), 2, "farm")


def test_the_folder_is_empty(tmp_path: Path) -> None:
    expect_one_clear_line(codenav("index", tmp_path), 2)


def test_the_package_is_not_installed() -> None:
    expect_one_clear_line(codenav("index", "pkg:networkz"), 2, "pkg:networkx")


def test_there_is_no_such_interpreter(library: Path, tmp_path: Path) -> None:
    expect_one_clear_line(codenav("index", library, "--python", tmp_path / "venv"), 2, "venv")


def test_the_request_is_empty(run: Run, library: Path) -> None:
    expect_one_clear_line(run("  ", "--on", library), 2, "empty")


def test_the_description_is_a_file_that_is_not_there(run: Run, library: Path) -> None:
    expect_one_clear_line(run("Do it.", "--on", library, "--description", "no-such.md"), 2, "no-such.md")


def test_a_named_variable_is_not_set(run: Run, library: Path) -> None:
    expect_one_clear_line(run("Do it.", "--on", library, "--env", "NO_SUCH_KEY"), 2, "NO_SUCH_KEY")


def test_the_work_folder_is_a_file(run: Run, library: Path) -> None:
    expect_one_clear_line(run("Do it.", "--on", library, "--work-dir", library / "README.md"), 2, "README.md")


def test_without_bubblewrap_a_pipe_is_refused(run: Run, library: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    ran = run("Do it.", "--on", library, env={"PATH": str(tmp_path / "bin")})
    expect_one_clear_line(ran, 4, "bubblewrap", "--sandbox process")


def test_without_bubblewrap_process_can_be_asked_for_by_name(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    chat_server.script = [Code("import farm.fields\nprint(farm.fields.Field(2, 3).area())"), Done("6")]
    ran = run("Area?", "--on", library, "--sandbox", "process", env={"PATH": str(tmp_path / "bin")})
    assert without_evidence(ran.out).splitlines() == ["6", "summary: reproduced"], ran.err
    assert "isolation" in ran.err


def test_what_cannot_be_read_is_skipped_and_named(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("def good():\n    return 1\n")
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2" * 100)
    ran = codenav("index", tmp_path, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["files"] == 1
    assert {skip["path"] for skip in ran.document["skipped"]} == {"loop.py", "binary.py"}


def test_a_summary_that_cannot_be_saved_is_told_before_anything_runs(run: Run, library: Path, tmp_path: Path) -> None:
    ran = run("Do it.", "--on", library, "--save-summary", tmp_path / "nowhere" / "x.py")
    assert ran.code == 2
    assert "--save-summary" in ran.err
    assert codenav("episodes", "list", "--json").document == []


def test_a_work_folder_with_pipes_and_links_gives_its_regular_files(
    run: Run, chat_server: ChatServer, library: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "deep").mkdir(parents=True)
    (work / "deep" / "data.txt").write_text("7")
    os.mkfifo(work / "pipe")
    (work / "link").symlink_to("/etc/passwd")
    chat_server.script = [Code("import os\nprint(sorted(os.listdir()), open('deep/data.txt').read())"), Done("7")]
    ran = run("Read.", "--on", library, "--work-dir", work)
    assert without_evidence(ran.out).splitlines() == ["7", "summary: reproduced"], ran.err
    shown = codenav("episodes", "show", "last", "--json").document["steps"][0]["observation"]["stdout"]
    assert shown == "['deep'] 7\n"


def test_a_work_folder_that_holds_codenavs_own_files_is_refused(
    run: Run, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "home"))
    expect_one_clear_line(run("Do it.", "--on", library, "--work-dir", tmp_path), 2, "codenav's own files")
    assert codenav("episodes", "list", "--json").document == []


def test_a_work_folder_that_is_too_large_is_refused(run: Run, library: Path) -> None:
    ran = run("Do it.", "--on", library, "--work-dir", "/usr")
    expect_one_clear_line(ran, 2, "256 MiB", "--work-dir")


def test_a_network_that_process_cannot_cut_off_is_not_promised(run: Run, library: Path) -> None:
    ran = run("Do it.", "--on", library, "--sandbox", "process", "--network", "none")
    expect_one_clear_line(ran, 2, "network")


# The model -----------------------------------------------------------------------------------------------------


def test_nothing_listens_at_the_base_url(library: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    ran = codenav(
        "run", "Do it.", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url", url, "--max-seconds",
        "20",
    )  # fmt: skip
    expect_one_clear_line(ran, 4, url)
    assert status_of_last() == "error"


def test_the_key_is_wrong(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.key = "right"
    expect_one_clear_line(
        run("Do it.", "--on", library, env={"OPENAI_API_KEY": "wrong-key-123"}), 4, "401", "OPENAI_API_KEY"
    )
    assert len(chat_server.chats) == 1
    assert status_of_last() == "error"


def test_a_server_whose_counts_cannot_be_true_ends_with_the_limit_all_the_same(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    usage = {"prompt_tokens": -(10**6), "completion_tokens": True}
    chat_server.script = lambda body: Answer(Code("print(1)").to_xml(), usage=usage)
    ran = run("How large is it?", "--on", library, "--max-tokens", "6000")
    assert ran.code == 3 and ran.err.count("tokens that cannot be true") == 1, ran.err


def test_the_server_answers_with_a_web_page(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = lambda body: Fault(200, body="<html>log in</html>", content_type="text/html")
    expect_one_clear_line(run("Do it.", "--on", library), 1, "base-url")


def test_a_server_that_hangs_ends_with_the_time(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = lambda body: Hang()
    ran = run("Do it.", "--on", library, "--max-seconds", "2")
    expect_one_clear_line(ran, 3, "2 seconds")
    assert status_of_last() == "limit"


# Interrupts ----------------------------------------------------------------------------------------------------


def interrupted(process: Command, number: int = signal.SIGINT) -> Ran:
    """Send a signal as a terminal does, to the whole process group, and wait for the end."""
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=30)
    return Ran(process.returncode, out, err)


def first_line_with(process: Command, text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the command ended without {text!r}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_model_thinks(chat_server: ChatServer, library: Path, number: int) -> None:
    chat_server.script = [Code("x = 1"), Hang()]
    process = start(
        "run", "Do it.", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url", chat_server.url
    )
    # The first request is for the size of the model.
    chat_server.wait_for(3)
    ran = interrupted(process, number)
    assert ran.code == 130, ran.err
    assert "Traceback" not in ran.err
    record = codenav("episodes", "show", "last", "--json").document
    assert (record["status"], len(record["steps"])) == ("interrupted", 1)


def test_an_interrupt_while_code_runs(chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("x = 1"), Code("import time\nprint('began', flush=True)\ntime.sleep(1000)")]
    process = start(
        "run", "Do it.", "--verbose", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url",
        chat_server.url,
    )  # fmt: skip
    first_line_with(process, "time.sleep(1000)")
    ran = interrupted(process)
    assert ran.code == 130, ran.err
    assert "Traceback" not in ran.err
    record = codenav("episodes", "show", "last", "--json").document
    assert (record["status"], len(record["steps"])) == ("interrupted", 1)


def test_an_interrupt_while_the_summary_is_replayed_keeps_the_answer(chat_server: ChatServer, library: Path) -> None:
    def slowly(body: object) -> Code:
        # In the episode a model call lies between the two steps; in the replay nothing does.
        time.sleep(0.5)
        return Code("if time.monotonic() - first < 0.4:\n    time.sleep(1000)")

    chat_server.script = [Code("import time\nfirst = time.monotonic()"), slowly, Done("the answer")]
    process = start(
        "run", "Do it.", "--verbose", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url",
        chat_server.url,
    )  # fmt: skip
    first_line_with(process, "replaying the steps")
    ran = interrupted(process)
    assert ran.code == 130, ran.err
    assert ran.out.startswith("the answer")


def test_an_interrupt_while_indexing_leaves_no_half_index(tmp_path: Path, codenav_home: Path) -> None:
    big = tmp_path / "big"
    big.mkdir()
    body = "\n".join(f"def f{n}(a, b):\n    return a + b + {n}\n" for n in range(2000))
    for number in range(60):
        (big / f"m{number}.py").write_text(body)
    process = start("index", big)
    deadline = time.monotonic() + 30
    while not any(codenav_home.glob("indexes/*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    ran = interrupted(process)
    assert ran.code == 130, ran.err
    assert "Traceback" not in ran.err
    assert codenav("search", "f7", "--on", big, "--no-refresh").code == 2
    assert codenav("index", big).code == 0


def test_a_killed_run_leaves_a_readable_record_and_no_process(chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("x = 1"), Code("import time\ntime.sleep(1000)")]
    process = start(
        "run", "Do it.", "--verbose", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url",
        chat_server.url,
    )  # fmt: skip
    first_line_with(process, "time.sleep(1000)")
    assert status_of_last() == "running"
    ran = interrupted(process, signal.SIGKILL)
    assert ran.code == -signal.SIGKILL
    record = codenav("episodes", "show", "last", "--json").document
    assert (record["status"], len(record["steps"])) == ("interrupted", 1)
    assert "step 2" in record["reason"]


# The disk ------------------------------------------------------------------------------------------------------


def test_a_disk_that_fills_while_recording(chat_server: ChatServer, library: Path, tmp_path: Path) -> None:
    """A real one: CODENAV_HOME is a small tmpfs in a mount namespace of its own."""
    home = tmp_path / "small-disk"
    home.mkdir()
    chat_server.script = [
        Code("print('x' * 30_000)"),
        Code("import random\nprint(random.randbytes(60_000).hex())"),
        *[Code("print(random.randbytes(60_000).hex())")] * 20,
        Done("done"),
    ]
    index = f"{sys.executable} -m codenav index {library}"
    run = (
        f"{sys.executable} -m codenav run 'Fill it.' --on {library} --sandbox process --set checks.types=no"
        f" --model m --base-url {chat_server.url}"
    )
    ask = f"{sys.executable} -m codenav episodes show last --json"
    bwrap = shutil.which("bwrap")
    assert bwrap
    ran = subprocess.run(
        [bwrap, "--dev-bind", "/", "/", "--size", str(1 << 20), "--tmpfs", str(home), "--die-with-parent", "--",
         "sh", "-c", f"{index} && {{ {run}; echo code $?; {ask}; }}"],
        capture_output=True, text=True, env={**os.environ, "CODENAV_HOME": str(home)}, timeout=120,
    )  # fmt: skip
    assert "code 4" in ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "complete up to step" in ran.stderr
    assert '"status": "error"' in ran.stdout or '"status": "interrupted"' in ran.stdout
