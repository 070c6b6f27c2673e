"""codenav as an agent of Harbor: installed and run in a task's environment, which is a shell on this machine here."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

STAND_IN = Path(__file__).parent / "harbor_stand_in"
HELLO = """
<action><type>code</type><content>open("hello.txt", "w").write("Hello, world!")</content></action>
<action><type>done</type><content>It is written.</content></action>
"""


@dataclass
class Shell:
    """The environment of a task: a folder of this machine in which commands run."""

    folder: Path
    logs: Path

    async def exec(self, command: str, *, user: str | None, env: dict[str, str], **_: Any) -> Any:
        """Run a command with bash, as Harbor's environments do."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", command.replace("/logs/agent", str(self.logs))],
            cwd=self.folder, env={**os.environ, **env, "PATH": path, "HOME": str(self.folder.parent)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return SimpleNamespace(return_code=ran.returncode, stdout=ran.stdout.replace(str(self.logs), "/logs/agent"))


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the adapter, with Harbor's own base class where Harbor is installed."""
    if importlib.util.find_spec("harbor") is None:
        monkeypatch.syspath_prepend(str(STAND_IN))
    return importlib.import_module("codenav.evals.harbor_agent")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    for name in ("app", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "hello.actions").write_text(HELLO)
    return Shell(tmp_path / "app", tmp_path / "logs")


def carried_out(adapter: Any, shell: Shell, **more: Any) -> Any:
    """What Harbor learns of a trial: setup, run, and the totals."""
    agent = adapter.CodenavAgent(logs_dir=shell.logs, **more)
    context = SimpleNamespace(n_input_tokens=None, n_output_tokens=None, cost_usd=None)

    async def trial() -> None:
        await agent.install(shell)
        await agent.run("Write 'Hello, world!' into hello.txt", shell, context)

    try:
        asyncio.run(trial())
    finally:
        agent.populate_context_post_run(context)
    return context


@pytest.mark.parametrize("code", ["", "def greeting():\n    return 'Hello'\n"], ids=["an empty folder", "with code"])
def test_a_task_is_carried_out_and_its_trajectory_kept(adapter: Any, shell: Shell, code: str) -> None:
    if code:
        (shell.folder / "greetings.py").write_text(code)
    told = carried_out(adapter, shell, model_name=f"scripted:{shell.folder.parent / 'hello.actions'}")
    assert (shell.folder / "hello.txt").read_text() == "Hello, world!"
    assert told.n_input_tokens > 100 and told.n_output_tokens > 5
    trajectory = json.loads((shell.logs / "trajectory.json").read_text())
    assert "Write 'Hello, world!'" in trajectory["steps"][1]["message"]
    sources = [Path(source).name for source in trajectory["agent"]["extra"]["sources"]]
    assert sources == ["request.md", *(["app"] if code else [])]
    assert "It is written." in (shell.logs / "codenav.txt").read_text()


def test_a_task_that_is_not_solved_is_no_fault_and_a_wrong_option_is(adapter: Any, shell: Shell) -> None:
    model = f"scripted:{shell.folder.parent / 'hello.actions'}"
    carried_out(adapter, shell, model_name=model, options="--max-steps 1")
    assert json.loads((shell.logs / "trajectory.json").read_text())["extra"]["status"] == "limit"
    with pytest.raises(RuntimeError, match="No such option"):
        carried_out(adapter, shell, model_name=model, options="--max-stepps 1")


def test_the_key_reaches_the_container_and_a_provider_is_no_part_of_the_name(
    adapter: Any, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-harbor")
    ran: list[dict[str, Any]] = []

    async def note(**keywords: Any) -> Any:
        ran.append(keywords)
        return SimpleNamespace(return_code=0, stdout="")

    environment = SimpleNamespace(exec=note)
    agent = adapter.CodenavAgent(logs_dir=shell.logs, model_name="openai/gpt-5", version="0.1.0")
    asyncio.run(agent.install(environment))
    asyncio.run(agent.run("Say 'hi'", environment, None))
    assert "codenav-agent==0.1.0" in ran[1]["command"] and "--model gpt-5 " in ran[2]["command"]
    assert ran[2]["env"]["OPENAI_API_KEY"] == "sk-of-harbor" and ran[2]["env"]["REQUEST"] == "Say 'hi'"
