"""Runs of the agent with the real coder model on this machine: packages, a repository, tools, Docker, and kills."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import packaging
import pytest
from command_line import children, codenav, left_behind, start
from docker_engine import Engine
from local_model import CODER
from tool_service import ToolService

import codenav as package
from codenav.agents.models import LocalModel
from codenav.agents.models.local import serving
from codenav.core import schemas
from codenav.core.messages import Completion, Message

pytestmark = pytest.mark.real_model

MODEL = f"local:{CODER}"
WITHIN = 600.0
"""Seconds for a run; 15 on two cores that do nothing else."""
HARVEST = "How many kilograms does a field of 20 by 30 metres give?"
NORMAL = "What is the normalized form of the project name 'Foo.Bar__baz'?"
BETWEENNESS = "Which node of the karate club graph has the highest betweenness?"


@pytest.fixture(scope="module")
def models(coder_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of models that the tests share, and with it one server, which ends with them."""
    home = tmp_path_factory.mktemp("coder")
    yield install(coder_file, home)
    codenav("models", "stop", env={"CODENAV_HOME": str(home)})


@pytest.fixture
def with_coder(models: Path, codenav_home: Path) -> Path:
    """This test's CODENAV_HOME, with the model installed."""
    (codenav_home / "models").symlink_to(models)
    return codenav_home


def install(file: Path, home: Path) -> Path:
    """Put the model into a CODENAV_HOME; return the folder of its models."""
    folder = home / "models"
    folder.mkdir()
    (folder / f"{CODER}.gguf").symlink_to(file)
    return folder


@pytest.fixture(autouse=True)
def nothing_stays(codenav_home: Path) -> Iterator[None]:
    """No process outlives the commands of a test, but for the server of the model."""
    before = children()
    yield
    servers = {str(server.owner.pid) for server in serving.running()}
    assert left_behind(before | servers) == []


def last() -> dict[str, Any]:
    document: dict[str, Any] = codenav("episodes", "show", "last", "--json").document
    jsonschema.validate(document, schemas.load("episode"))
    return document


def solved(
    request: str, on: str | Path, value: str, *options: str, tries: int = 1, backend: str = "bubblewrap"
) -> dict[str, Any]:
    """The record of a run that ends with this answer, which one of its scripts has printed at least."""
    given = ("--model", MODEL, "--sandbox", backend, "--tries", str(tries), *options)
    ran = codenav("run", request, "--on", on, *given, within=WITHIN)
    record = last()
    assert ran.code == 0 and value in ran.out.splitlines()[0], ran.err + json.dumps(record["steps"], indent=1)
    assert (record["status"], record["model"], record["sandbox"]["backend"]) == ("done", MODEL, backend)
    found, *steps = record["steps"]
    assert found["action"]["type"] == "search" and not found["usage"]["requests"]
    first = steps[0]["usage"]
    assert 0 < first["input_tokens"] <= 900 * first["requests"] and not first["estimated"]
    assert any(value in step["observation"]["stdout"] for step in steps if step["action"]["type"] == "code")
    if tries > 1:
        assert record["agreement"] in ("1 of 3", "2 of 3", "3 of 3") and f"agreement: {record['agreement']}" in ran.out
    return record


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_kill_of_codenav_leaves_a_record_and_no_server(coder_file: Path, codenav_home: Path, library: Path) -> None:
    """First, before the server of the other tests starts: two of this size need not fit."""
    install(coder_file, codenav_home)
    (codenav_home / "config.toml").write_text("keep_alive = 3\n")
    with start("run", HARVEST, "--on", library, "--model", MODEL, "--json", "--stream") as process:
        until(lambda: serving.running() and slot()["is_processing"])
        os.kill(process.pid, signal.SIGKILL)
    record = last()
    assert (record["status"], [step["action"]["type"] for step in record["steps"]]) == ("interrupted", ["search"])
    assert "interrupted" in codenav("episodes", "show", "last").out
    until(lambda: not serving.running())


@pytest.mark.parametrize(
    ("on", "asked", "value"),
    [
        ("packaging", NORMAL, "foo-bar-baz"),
        ("packaging", "What is the canonical form of the version '1.4.0.0'?", "1.4"),
        ("python-dateutil", "On which date is Easter Sunday in the year 2027?", "2027-03-28"),
        ("wcwidth", "How many cells of a terminal does the text 'コンニチハ' take?", "10"),
        ("networkx", "How many nodes does the Petersen graph have?", "10"),
    ],
)
def test_a_package(with_coder: Path, on: str, asked: str, value: str) -> None:
    solved(asked, f"pkg:{on}", value)


def test_the_request_of_the_first_page(with_coder: Path, with_networkx: Path) -> None:
    solved(BETWEENNESS, "pkg:networkx", "0", tries=3)


def test_a_package_in_docker(
    with_coder: Path, docker_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, name = docker_engine.base_image(), "codenav-tests/packaging"
    shutil.copytree(Path(packaging.__file__).parent, tmp_path / "lib" / "packaging")
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nCOPY lib /opt/lib\nENV PYTHONPATH=/opt/lib\n")
    docker_engine.docker("build", "--quiet", "--tag", name, str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", docker_engine.host)
    record = solved(NORMAL, "pkg:packaging", "foo-bar-baz", "--image", name, backend="docker")
    assert record["sandbox"]["image"] == name


def test_a_repository_that_it_cannot_know(with_coder: Path, library: Path) -> None:
    solved(HARVEST, library, "480", tries=3)


def test_an_openapi_document(with_coder: Path, tmp_path: Path) -> None:
    with ToolService() as service:
        solved("In which city does customer 7 live?", f"openapi:{service.write(tmp_path)}", "Arlington")
        assert {seen.line for seen in service.log} == {"GET /customers/7"}


def test_a_server_that_is_killed_in_mid_answer_is_started_again_once(with_coder: Path, library: Path) -> None:
    told: list[str] = []
    killed: list[serving.Server] = []

    def kill(piece: package.ModelReply) -> None:
        if piece.text and not killed:
            killed.extend(serving.running())
            os.kill(killed[0].owner.pid, signal.SIGKILL)

    result = package.run(HARVEST, on=library, model=MODEL, tries=1, heard=kill, notice=told.append)
    assert (result.status, "480" in result.answer) == ("done", True), result.reason
    assert [line for line in told if "starting it again" in line] == [
        f"the server of {CODER} ended: it was killed, perhaps for its memory; starting it again"
    ]
    [server] = serving.running()
    assert len(killed) == 1 and server.owner != killed[0].owner


class Watched:
    """Asks the model, and before its first answer the server what it has of that prompt in its cache."""

    def __init__(self, model: LocalModel) -> None:
        self.model, self.name = model, model.name
        self.asked: list[Message] = []
        self.cached = 0

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        if not self.asked:
            self.asked = list(messages)
            until(serving.running)
            answer = ask("v1/chat/completions", {"messages": [asdict(one) for one in messages], "max_tokens": 1})
            self.cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        return self.model.complete(messages, **options)

    def close(self) -> None:
        self.model.close()


def test_the_constant_beginning_of_the_prompt_is_read_once(with_coder: Path, library: Path) -> None:
    for request in ("How large is a round field with a radius of 7 metres?", HARVEST):
        with contextlib.closing(Watched(LocalModel(MODEL))) as model:
            result = package.run(request, on=library, model=model, profile="small", tries=1)
        assert result.status == "done", result.reason
    *constant, asked = model.asked
    assert HARVEST in asked.content and len(constant) == 5
    text = "".join(message.content for message in constant)
    assert model.cached >= len(ask("tokenize", {"content": text})["tokens"]) > 150


def ask(path: str, body: object = None) -> Any:
    """What the server says at a path."""
    [server] = serving.running()
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{server.url.removesuffix('v1')}{path}", data, headers)
    with urllib.request.urlopen(asked, timeout=WITHIN) as answer:
        return json.load(answer)


def slot() -> Any:
    """What the server is at: it has one slot."""
    return ask("slots")[0]
