"""README and docs are executed: every console line with its output, every Python block, every relative link.

README and quickstart where a stranger reads them: in a new virtual environment that holds what README says.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from chat_server import ChatServer
from command_line import ROOT, codenav, without_evidence

from codenav.agents.models.scripted import read_script
from codenav.cli.main import cli
from codenav.evals.benchmark import BENCHMARKS, task_class
from codenav.evals.recorded import COSTS
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
STRANGERS = ("README.md", "docs/quickstart.md")
"""Pages of which everything works with what README's `pip install` lines bring."""
CHECKOUT = "--data code-act"
"""The checkout of a benchmark; the tests have a small one in its place, at a commit of its own."""
GET = "codenav models get"
"""Takes the file that `make model` has fetched."""
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


@pytest.fixture
def here(tmp_path: Path, chat_server: ChatServer) -> Path:
    """A folder to run in, and a model that plays the example for every conversation."""
    answers = read_script(ROOT / "examples" / "karate_club.actions")
    chat_server.models = ["gpt-5"]
    chat_server.script = lambda body: answers[
        sum(message["role"] == "assistant" for message in body["messages"]) % len(answers)
    ]
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copytree(ROOT / "tests" / "data" / "evals" / "m3tooleval", folder / "code-act")
    return folder


@pytest.fixture
def place(here: Path, with_networkx: Path) -> Path:
    """A folder to run in, with networkx indexed."""
    return here


@pytest.fixture(scope="session")
def new_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment in which README's `pip install` lines were typed, from the checkout."""
    folder = tmp_path_factory.mktemp("stranger") / "env"
    venv.create(folder)
    lines = re.findall(r"^(?:\$ )?pip (install [^#\n]*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        pip = [sys.executable, "-m", "pip", "--python", str(folder), *shlex.split(line), "--quiet", "--no-compile"]
        subprocess.run(pip, cwd=ROOT, check=True)
    return folder


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
        if GET in text:
            text = text.replace(GET, f"{GET} --from {request.getfixturevalue('coder_file')}")
            request.addfinalizer(lambda: codenav("models", "stop"))
        text = text.replace(CHECKOUT, f"{CHECKOUT} --any-commit")
        return text.replace(SERVER, chat_server.url)

    return serve


def environment(folder: Path | None = None) -> dict[str, str]:
    """With the programs of a virtual environment first: of this one, or of another in place of it."""
    own = str(Path(sys.executable).parent)
    if folder is None:
        return {**os.environ, "PATH": f"{own}:{os.environ['PATH']}"}
    path = [part for part in os.environ["PATH"].split(":") if part != own]
    # What is imported is compiled by the first command alone, also where the machine wants no bytecode.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
    return {**os.environ, **compiled, "VIRTUAL_ENV": str(folder), "PATH": ":".join([f"{folder}/bin", *path])}


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
    """The marks of the server that a text starts or asks. To start one takes minutes."""
    groups = {UP: "docker", PYTHON_IMAGE: "docker", ELASTICSEARCH: "elasticsearch"}
    marks = [pytest.mark.xdist_group(group) for server, group in groups.items() if server in text][:1]
    return [*marks, pytest.mark.nightly] if UP in text else marks


def pages(language: str) -> dict[str, str]:
    """Per page its blocks, one below the other."""
    joined: dict[str, str] = {}
    for block in blocks(language):
        name = str(block.page.relative_to(ROOT))
        joined[name] = joined.get(name, "") + block.text
    return joined


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(text, id=name, marks=servers(text))
        for name, text in pages("console").items()
        if name not in STRANGERS
    ],
)
def test_console_blocks_do_what_they_show(page: str, place: Path, served: Serve) -> None:
    type_in(served(page), place, environment())


def type_in(page: str, place: Path, variables: Mapping[str, str]) -> None:
    """A page is read from top to bottom: a block may need what the blocks above it left."""
    for command, expected in commands(page):
        ran = subprocess.run(
            ["sh", "-c", command],
            cwd=place, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        assert matches(expected, ran.stdout), f"{command}\n{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(block.text, id=str(block), marks=servers(block.text))
        for block in blocks("python")
        if str(block.page.relative_to(ROOT)) not in STRANGERS
    ],
)
def test_python_blocks_run(code: str, place: Path, served: Serve) -> None:
    run_block(served(code), place, environment())


def run_block(code: str, place: Path, variables: Mapping[str, str]) -> None:
    ran = subprocess.run(
        ["python", "-W", "error", "-c", code],
        cwd=place, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@pytest.mark.real_model
@pytest.mark.parametrize("name", [STRANGERS[0], pytest.param(STRANGERS[1], marks=pytest.mark.nightly)])
def test_a_stranger_gets_what_a_page_shows(name: str, new_environment: Path, here: Path, served: Serve) -> None:
    type_in(served(pages("console")[name]), here, environment(new_environment))
    for block in blocks("python"):
        if block.page == ROOT / name:
            run_block(served(block.text), here, environment(new_environment))


def test_command_lines_that_need_a_checkout_or_a_server_can_be_read() -> None:
    """Lines of blocks that are not run: each option exists, and takes such a value."""
    lines = [
        line
        for page in PAGES
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
        if not language and line.startswith("codenav eval ")
    ]
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line)[1:]
        context = click.Context(cli, info_name="codenav")
        group: click.Command = cli
        while isinstance(group, click.Group):
            name, found, words = group.resolve_command(context, words)
            assert name and found, line
            group, context = found, click.Context(found, info_name=name, parent=context)
        group.make_context(context.info_name, words)


def test_every_column_of_a_benchmark_is_defined() -> None:
    page = (ROOT / "docs" / "evals.md").read_text()
    for name in BENCHMARKS:
        for column in (*task_class(name).columns, *COSTS):
            assert re.search(rf"^\| .*`{re.escape(column.name)}`.* \| .", page, re.MULTILINE), f"{name}: {column.name}"


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


def test_the_example_does_what_its_text_says(place: Path) -> None:
    text = (ROOT / "examples" / "karate_club.actions").read_text()
    found = re.search(r"^    (codenav run (?:.*\\\n)*.*)", text, re.MULTILINE)
    assert found
    ran = subprocess.run(
        ["sh", "-c", found[1]], cwd=ROOT, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert ran.returncode == 0, ran.stderr
    assert (
        without_evidence(ran.stdout) == "Node 0 has the highest betweenness centrality, 0.438.\nsummary: reproduced\n"
    )
    flow = [step["action"]["type"] for step in codenav("episodes", "show", "--json").document["steps"]]
    assert flow == ["search", "code", "search", "code", "code_summary", "done"]
