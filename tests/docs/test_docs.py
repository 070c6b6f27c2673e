"""README and docs are executed: every console line with its output, every Python block, every relative link."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from chat_server import ChatServer
from command_line import ROOT, codenav

from codenav.models.scripted import read_script
from codenav.retrieval.elastic.container import IMAGE

Serve = Callable[[str], str]

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
SERVER = "http://localhost:8000/v1"
"""The server of the examples; the tests put the address of a real one in its place."""
ELASTICSEARCH = "http://localhost:9200"
"""Likewise."""
UP = "codenav elasticsearch up"
"""Runs on the Docker engine of the tests, which has the vendor's image under its name, at a free port."""
PYTHON_IMAGE = "python:3.12-slim"
"""The image of the examples; the engine of the tests has Debian's Python under this name."""
STARTED = "codenav sandbox start"
"""What it starts is stopped in the end, also where the page fails before."""


@dataclass(frozen=True)
class Block:
    page: Path
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}-{self.text.split(chr(10))[0][:40]}"


def blocks(language: str) -> list[Block]:
    found = []
    for page in PAGES:
        for match in re.finditer(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            found.append(Block(page, language, match[1]))
    return found


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("docs-home")
    assert codenav("index", "pkg:networkx", env={"CODENAV_HOME": str(home)}).code == 0
    return home


@pytest.fixture
def place(tmp_path: Path, indexed: Path, codenav_home: Path, chat_server: ChatServer) -> Path:
    """A folder to run in, with networkx indexed and a model that plays the demo for every conversation."""
    shutil.copytree(indexed, codenav_home)
    answers = read_script(ROOT / "examples" / "karate_club.actions")
    chat_server.models = ["gpt-5"]
    chat_server.script = lambda body: answers[
        sum(message["role"] == "assistant" for message in body["messages"]) % len(answers)
    ]
    here = tmp_path / "here"
    here.mkdir()
    return here


@pytest.fixture
def served(request: pytest.FixtureRequest, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Puts the addresses of real servers into a text; only those that it names are started."""

    def serve(text: str) -> str:
        if ELASTICSEARCH in text:
            text = text.replace(ELASTICSEARCH, request.getfixturevalue("elasticsearch").url)
        if UP in text:
            engine = request.getfixturevalue("docker_engine")
            engine.docker("tag", engine.elasticsearch_image(), IMAGE)
            monkeypatch.setenv("DOCKER_HOST", engine.host)
            request.addfinalizer(lambda: codenav("elasticsearch", "down", "--delete-data"))
            with socket.create_server(("127.0.0.1", 0)) as free:
                text = text.replace(UP, f"{UP} --port {free.getsockname()[1]}")
        if PYTHON_IMAGE in text:
            engine = request.getfixturevalue("docker_engine")
            engine.docker("tag", engine.base_image(), PYTHON_IMAGE)
            monkeypatch.setenv("DOCKER_HOST", engine.host)
        if STARTED in text:
            request.addfinalizer(lambda: codenav("sandbox", "stop", "--all"))
        return text.replace(SERVER, chat_server.url)

    return serve


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output that is shown below it."""
    joined = text.replace("\\\n", " ")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def matches(expected: str, actual: str) -> bool:
    """Whether the shown output is the real one; `…` stands for anything."""
    pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("…"))
    return re.fullmatch(pattern, actual.strip(), re.DOTALL) is not None


def servers(text: str) -> list[pytest.MarkDecorator]:
    """The mark of the server that a text starts or asks."""
    groups = {UP: "docker", PYTHON_IMAGE: "docker", ELASTICSEARCH: "elasticsearch"}
    return [pytest.mark.xdist_group(group) for server, group in groups.items() if server in text][:1]


def pages(language: str) -> dict[str, str]:
    """Per page its blocks, one below the other."""
    joined: dict[str, str] = {}
    for block in blocks(language):
        name = str(block.page.relative_to(ROOT))
        joined[name] = joined.get(name, "") + block.text
    return joined


@pytest.mark.parametrize(
    "page", [pytest.param(text, id=name, marks=servers(text)) for name, text in pages("console").items()]
)
def test_console_blocks_do_what_they_show(page: str, place: Path, served: Serve) -> None:
    """A page is read from top to bottom: a block may need what the blocks above it left."""
    for command, expected in commands(page):
        ran = subprocess.run(
            ["sh", "-c", served(command)],
            cwd=place, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        assert matches(expected, ran.stdout), f"{command}\n{ran.stdout}"


@pytest.mark.parametrize(
    "code", [pytest.param(block.text, id=str(block), marks=servers(block.text)) for block in blocks("python")]
)
def test_python_blocks_run(code: str, place: Path, served: Serve) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", served(code)],
        cwd=place, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def test_relative_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(("http://", "https://")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_dependency_is_justified_in_one_line() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    page = (ROOT / "docs" / "decisions" / "dependencies.md").read_text()
    for requirement in named:
        name = re.split(r"[\[<>=~! ]", requirement)[0]
        assert name == "codenav-agent" or name in page, name


def test_the_demo_ends_with_a_verified_summary(codenav_home: Path) -> None:
    ran = subprocess.run(
        ["make", "--no-print-directory", "demo"],
        cwd=ROOT, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "summary: verified"


def test_the_example_does_what_its_text_says(place: Path) -> None:
    text = (ROOT / "examples" / "karate_club.actions").read_text()
    found = re.search(r"^    (codenav run (?:.*\\\n)*.*)", text, re.MULTILINE)
    assert found
    ran = subprocess.run(
        ["sh", "-c", found[1]], cwd=ROOT, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "Node 0 has the highest betweenness centrality, 0.438.\nsummary: verified\n"
    flow = [step["action"]["type"] for step in codenav("episodes", "show", "--json").document["steps"]]
    assert flow == ["search", "code", "search", "code", "code_summary", "done"]
