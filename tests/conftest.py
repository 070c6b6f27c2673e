"""The fixtures and settings of every test: folders of its own, no settings of the person who runs it, a chat server."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer
from command_line import codenav
from hypothesis import HealthCheck, settings

# A shell starts background jobs with SIGINT ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run draws the same cases; `make fuzz` draws others. A busy machine draws slowly.
BUSY = [HealthCheck.too_slow]
settings.register_profile("fixed", derandomize=True, suppress_health_check=BUSY)
settings.register_profile("fuzz", print_blob=True, suppress_health_check=BUSY)
settings.load_profile("fixed")

pytest_plugins = ["elasticsearch_server", "docker_engine", "local_model"]

ALONE = {"cli", "docs", "end_to_end"}
"""Folders whose tests take seconds each and share next to nothing."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests for several processes (`make test`), so that servers start once or twice."""
    for item in items:
        # What bubblewrap shows, the contract shows of Docker.
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if parameters.get("backend") == "docker" and "test_the_contract_holds" not in item.name:
            item.add_marker(pytest.mark.nightly)
    if not hasattr(config, "workerinput"):
        return
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
    # The real model first, then servers: their tests take longest. Single tests last: they fill the gaps.
    items.sort(
        key=lambda item: (
            groups[item] != "real model",
            not groups[item].startswith(("docker", "elasticsearch")),
            not groups[item],
        )
    )


def _group(item: pytest.Item) -> str:
    """The group of a test, which runs in one process, one test after another; "" for a test that any process runs."""
    if item.get_closest_marker("real_model"):
        return "real model"
    for mark in item.iter_markers("xdist_group"):
        return str(mark.args[0])
    fixtures = set(getattr(item, "fixturenames", ()))
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    backend = parameters.get("backend", "")
    if "docker_engine" in fixtures or backend == "docker":
        # An engine starts in seconds, and its tests take too long for one process.
        return f"docker {item.path.name}"
    if "elasticsearch" in fixtures:
        return "elasticsearch"
    if fixtures & {"cramped_model", "endless_model"}:
        return "local model"
    if item.path.parent.name in ALONE:
        return ""
    return f"{item.path.name} {backend}".strip()


@pytest.fixture(scope="session")
def code_copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copies of code bases for the sandboxes of a run: the one of this repository is 2,400 files."""
    folder = _shared(tmp_path_factory) / "code-copies"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def codenav_home(code_copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The CODENAV_HOME of this test; OPENAI_* and other CODENAV_* variables are cleared."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "CODENAV_")):
            monkeypatch.delenv(name)
    # Not inside `tmp_path`: many tests expect that folder to hold their own files only.
    home = tmp_path.with_name(f"{tmp_path.name}-home")
    monkeypatch.setenv("CODENAV_HOME", str(home))
    home.mkdir(mode=0o700)
    (home / "code").symlink_to(code_copies)
    return home


def _shared(factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that its processes have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def networkx_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CODENAV_HOME in which networkx is indexed, built once for all processes of a run: only to be read."""
    home = _shared(tmp_path_factory) / "networkx-home"
    with home.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not home.exists():
            built = home.with_suffix(".part")
            ran = codenav("index", "pkg:networkx", env={"CODENAV_HOME": str(built)})
            assert ran.code == 0, ran.err
            built.rename(home)
    return home


@pytest.fixture
def with_networkx(networkx_home: Path, codenav_home: Path) -> Path:
    """This test's CODENAV_HOME, with networkx indexed."""
    shutil.copytree(networkx_home, codenav_home, dirs_exist_ok=True)
    return codenav_home


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running chat server; a test sets its `script`."""
    with ChatServer() as server:
        yield server
