"""The environment of code: what a small model is told of the work folder, and drafts in a real sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import codenav
from codenav.core.actions import Code, CodeObservation
from codenav.core.cancelling import CancelScope
from codenav.core.errors import IndexUnavailable, NotFound
from codenav.core.execution import ExecutionError, Ran, Resources
from codenav.environments import CodeEnvironment


def drafted(*codes: str) -> Code:
    return Code(codes[0], drafts=codes[1:])


def test_a_file_that_cannot_be_read_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> bytes:
        raise NotFound(f"there is no {name}")

    (tmp_path / "a.csv").write_text("x,y\n")
    with codenav.sandbox("bubblewrap", work_dir=tmp_path) as box:
        assert CodeEnvironment(box, tells_files=True).facts()["files"] == "a.csv: x,y"
        monkeypatch.setattr(box, "read_file", refused)
        assert CodeEnvironment(box, tells_files=True).facts()["files"] == "a.csv"


def test_no_draft_runs_beside_one_that_wrote_a_file(tmp_path: Path) -> None:
    # No rule knows that this writes.
    write = "__import__('sqlite3').connect('{}').execute('create table t (x)')\nprint(1)"
    with codenav.sandbox("bubblewrap", work_dir=tmp_path) as box:
        seen = CodeEnvironment(box).respond(drafted(write.format("a"), write.format("b")))
    assert seen.execution.stdout == "1\n" and not seen.drafts and not (tmp_path / "b").exists()


@pytest.mark.parametrize("processes", [7, 8, 16])
def test_a_sandbox_without_room_for_checkpoints_runs_fewer_drafts(processes: int) -> None:
    with codenav.sandbox("bubblewrap", resources=Resources(processes=processes)) as box:
        seen = CodeEnvironment(box).respond(drafted("x = 1\nprint(x)", "x = 2\nprint(x)", "print(3)"))
        assert seen.ok and box.run("print(x)").stdout == seen.execution.stdout


def test_of_drafts_that_all_failed_nothing_is_left() -> None:
    ran: list[Ran] = []
    with codenav.sandbox("bubblewrap") as box:
        seen = CodeEnvironment(box, ran=ran.append).respond(drafted("x = 1\n1 / 0", "x = 2\n1 / 0"))
        assert not seen.ok and not ran and not box.variables()


def test_a_cancelled_draft_is_the_last_and_observed() -> None:
    scope, began = CancelScope(), threading.Event()
    seen: list[CodeObservation] = []
    with codenav.sandbox("bubblewrap", calls=lambda name, arguments: began.set()) as box:
        wait = "import time\nprint('began', flush=True)\ncall_host('began')\ntime.sleep(100)"

        def work() -> None:
            with scope.entered():
                seen.append(CodeEnvironment(box).respond(drafted(wait, "print(2)")))

        thread = threading.Thread(target=work)
        thread.start()
        assert began.wait(60)
        scope.cancel()
        thread.join(60)
    assert "began" in seen[0].execution.stdout and len(seen[0].drafts) == 1


def test_an_index_that_cannot_be_reached_gives_no_hint() -> None:
    def hint(error: ExecutionError, names: Callable[[str], Any]) -> str:
        raise IndexUnavailable("gone")

    with codenav.sandbox("bubblewrap") as box:
        seen = CodeEnvironment(box, hint=hint).respond(Code("1 / 0"))
        assert seen.hint == "" and "ZeroDivisionError" in seen.text
