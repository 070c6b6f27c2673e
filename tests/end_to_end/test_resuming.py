"""Going on from a record: variables come back by running the steps again, item by item, and nothing is sent twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import codenav, start
from tool_service import ToolService

import codenav as package
from codenav.agents.models.scripted import ScriptedModel
from codenav.core.actions import Action, Code, Done
from codenav.core.errors import NotFound, UsageError

PLAIN: dict[str, Any] = {"sandbox": "bubblewrap", "checks_lint": False, "checks_types": False}
OPTIONS = ("--sandbox", "bubblewrap", "--set=checks.types=no", "--set=checks.lint=no")
ACTION = "<action><type>{}</type><content>\n{}\n</content></action>\n"


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    return tmp_path / "farm"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("hay\n")
    return tmp_path / "data"


def run(actions: list[Action], on: str | Path, **keywords: Any) -> package.EpisodeResult:
    return package.run("Count the acres.", on=on, model=ScriptedModel(actions), **PLAIN, **keywords)


def resume(actions: list[Action], request: str = "", **keywords: Any) -> package.EpisodeResult:
    return package.resume("last", request, model=ScriptedModel(actions), **PLAIN, **keywords)


def test_variables_and_files_are_there_again_and_told_item_by_item(farm: Path, data: Path) -> None:
    first = "import farm\nx = farm.acres()\nlines = [1, 2, 3]\nopen('b.txt', 'w').write(open('a.txt').read() * 2)"
    run([Code(first), Code("conn = open('a.txt')\nstamp = object()\ngone = 1"), Code("del gone"), Done("12")], farm,
        work_dir=data)  # fmt: skip
    (data / "a.txt").write_text("straw\n")
    result = resume([Code("print(x + 1, lines, open('b.txt').read())"), Done("13")], "one more")
    assert "13 [1, 2, 3] hay\nhay" in result.steps[0].observation.text
    told = {line.split(":")[0]: line for line in result.restored}
    assert told["restored x"] == "restored x: int" and told["restored lines"] == "restored lines: list 3"
    assert "gone" not in str(result.restored)
    assert result.parent and package.load_episode("last").restored == result.restored
    # The summary is the whole way, and was replayed.
    assert result.summary.verified and "x = farm.acres()" in result.summary.code and "x + 1" in result.summary.code
    assert (data / "a.txt").read_text() == "straw\n"
    assert "Count the acres." in result.prompt and "restored x: int" in result.prompt
    # A third one goes back to the first.
    third = resume([Code("print(x + 2)"), Done("14")], "and two more")
    assert "14" in third.steps[0].observation.text and third.parent == result.id


def test_what_does_not_come_back_is_named_with_the_reason(farm: Path) -> None:
    steps: list[Action] = [
        Code("import farm, time, os\nkept = farm.acres()\nstarted = time.time_ns()"),
        Code("slow = 1\nwhile True: pass"),
        Code("flag = os.path.exists('never')\nassert kept"),
        Done("12"),
    ]
    run(steps, farm, code_timeout=2)
    result = resume([Done("12")])
    assert any("step 2 does not run again: it ended with timeout" in line for line in result.restored)
    assert "restored kept: int" in result.restored and "restored flag: bool" in result.restored
    assert any(line.startswith("differs started: int, ") for line in result.restored), result.restored
    assert not any("slow" in line for line in result.restored)
    # Without a request it is the earlier one.
    assert result.request == "Count the acres."


def test_no_call_is_sent_twice_and_code_gets_the_recorded_answers(shop: str, service: ToolService) -> None:
    create = (
        "from tools.shop import create_order\norder = create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])"
    )
    tools = {"secret": ["shop_key=SHOP_KEY"], "allow": "write"}
    run([Code(create), Done("ordered")], shop, **tools)
    assert len(service.writes) == 1
    result = resume([Code("print(order['id'])"), Done("done")], "which one?", **tools)
    assert len(service.writes) == 1
    assert "restored order: dict 7" in result.restored or any("restored order: dict" in one for one in result.restored)
    assert result.steps[0].observation.ok and result.summary.verified


def test_a_run_that_was_killed_is_gone_on_with(farm: Path, tmp_path: Path) -> None:
    script, rest = tmp_path / "first.actions", tmp_path / "rest.actions"
    script.write_text(
        ACTION.format("code", "import farm\nx = farm.acres()") + ACTION.format("code", "import time\ntime.sleep(60)")
    )
    rest.write_text(ACTION.format("code", "print(x)") + ACTION.format("done", "12"))
    with start("run", "How many?", "--on", farm, "--model", f"scripted:{script}", *OPTIONS) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            listed = codenav("episodes", "list", "--json").document
            if listed and listed[0]["steps"]:
                break
            time.sleep(0.1)
        running = codenav("resume", "last", "--model", f"scripted:{rest}", *OPTIONS)
        assert running.code == 2 and "is still running" in running.err
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    ran = codenav("resume", "last", "--model", f"scripted:{rest}", *OPTIONS)
    assert ran.code == 0 and ran.out.startswith("12\n"), ran.err
    assert "Note: restored x: int" in ran.err
    shown = codenav("episodes", "show", "last")
    assert "which this one goes on from" in shown.out, shown.out


def test_what_cannot_be_gone_on_with(farm: Path, tmp_path: Path, codenav_home: Path) -> None:
    with pytest.raises(NotFound):
        package.resume("20000101-000000-abcdef", model=ScriptedModel([Done("1")]))
    script = tmp_path / "first.actions"
    script.write_text(ACTION.format("code", "import farm\nx = farm.acres()") + ACTION.format("done", "12"))
    assert codenav("run", "Count.", "--on", farm, "--model", f"scripted:{script}", *OPTIONS).code == 0
    # A record that is cut off counts as far as it goes.
    (events,) = (codenav_home / "episodes").glob("*/events.jsonl")
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join([*lines[:3], lines[3][:40]]))
    assert "restored x: int" in resume([Done("12")]).restored
    (farm / "farm.py").unlink()
    farm.rmdir()
    with pytest.raises((NotFound, UsageError)) as raised:
        resume([Done("12")])
    assert "farm" in str(raised.value) and json.dumps(raised.value.hint)


def test_shapes_are_told_and_bind_no_name_of_ours(farm: Path) -> None:
    class_ = "class Table:\n    shape = (120, 4)\n    def __repr__(self): return 'a table'\n"
    run([Code(f"{class_}df, _n = Table(), {{'a': 1}}\nprint(df, _n)"), Done("a table")], farm)
    result = resume([Code("print(sorted(name for name in dir() if not name.startswith('__')))"), Done("1")], "names?")
    assert {"restored df: Table 120×4", "restored Table: type"} <= set(result.restored), result.restored
    assert "['Table', '_n', 'df']" in result.steps[0].observation.text, result.steps[0].observation.text


def test_two_processes_that_resume_the_same_episode_at_once(
    shop: str, service: ToolService, tmp_path: Path, codenav_home: Path
) -> None:
    order = "from tools.shop import create_order\nx = create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])"
    tools = {"secret": ["shop_key=SHOP_KEY"], "allow": "write"}
    first = run([Code(order), Done("ordered")], shop, **tools)
    rest = tmp_path / "rest.actions"
    rest.write_text(ACTION.format("code", "print(x['customer'])") + ACTION.format("done", "7"))
    arguments = ("resume", first.id, "--secret", "shop_key=SHOP_KEY", *OPTIONS, "--model", f"scripted:{rest}")
    with start(*arguments) as one, start(*arguments) as two:
        for process in (one, two):
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out.splitlines()[0]) == (0, "7"), err
    assert len(service.writes) == 1
    ended = [package.load_episode(path.name) for path in (codenav_home / "episodes").iterdir()]
    assert sorted(one.parent for one in ended) == ["", first.id, first.id]
    assert all(one.status == "done" for one in ended)


def test_a_source_that_has_changed_and_a_record_without_a_beginning(farm: Path, codenav_home: Path) -> None:
    first = run([Code("import farm\nx = farm.acres()"), Done("12")], farm)
    (farm / "farm.py").write_text("def acres() -> int:\n    return 13\n")
    assert resume([Done("13")]).restored == (
        f"the files of {farm} have changed since",
        "differs x: int, 13 now and 12 then",
    )
    events = codenav_home / "episodes" / first.id / "events.jsonl"
    events.write_bytes(b"\0" * 100 + events.read_bytes())
    ran = codenav("resume", first.id, "--model", "scripted:none", *OPTIONS)
    assert ran.code == 1 and ran.err.startswith(f"Error: the record of {first.id} cannot be read: "), ran.err
    assert "Try: " in ran.err and len(ran.err.splitlines()) == 2, ran.err


def test_a_disk_that_is_full_while_a_run_is_gone_on_with(farm: Path, tmp_path: Path) -> None:
    """A real one: CODENAV_HOME is a small tmpfs in a mount namespace of its own."""
    home, first, rest = tmp_path / "small-disk", tmp_path / "first.actions", tmp_path / "rest.actions"
    home.mkdir()
    first.write_text(ACTION.format("code", "import farm\nx = farm.acres()") + ACTION.format("done", "12"))
    rest.write_text(ACTION.format("code", "import random\nprint(x, random.randbytes(9_000).hex())") * 60)
    line = f"{sys.executable} -m codenav"
    options = "--sandbox process --set checks.types=no --set checks.lint=no --max-steps 0 --model scripted"
    run = f"{line} run Count. --on {farm} {options}:{first}; {line} resume last {options}:{rest}; echo code $?"
    ran = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--size", "500000", "--tmpfs", str(home), "--die-with-parent", "--",
         "sh", "-c", f"{run}; {line} episodes show last --json; {line} episodes list"],
        capture_output=True, text=True, env={**os.environ, "CODENAV_HOME": str(home)}, timeout=120,
    )  # fmt: skip
    assert "restored x: int" in ran.stderr and "code 4" in ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr and "complete up to step" in ran.stderr
    assert '"status": "error"' in ran.stdout and ran.stdout.splitlines()[-1].split()[1] == "done", ran.stdout[-500:]


def test_a_write_of_the_step_in_which_a_run_was_killed_is_told_and_not_sent_again(
    shop: str, service: ToolService, tmp_path: Path
) -> None:
    order = "from tools.shop import create_order\ncreate_order(customer=7, lines=[{'product': 1, 'quantity': 2}])"
    script = tmp_path / "order.actions"
    script.write_text(ACTION.format("code", f"{order}\nimport time\ntime.sleep(60)"))
    options = ("--secret", "shop_key=SHOP_KEY", "--allow", "write", *OPTIONS)
    with start("run", "Order.", "--on", shop, *options, "--model", f"scripted:{script}") as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and not (service.writes and package.load_episode("last").calls):
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    result = resume([Done("ordered")], secret=["shop_key=SHOP_KEY"], allow="write")
    assert len(service.writes) == 1
    told = "step 1 does not run again: the run ended in it after calls of shop.create_order (ok)"
    assert told in result.restored and told in result.prompt and "create_order(customer=7" in result.prompt
