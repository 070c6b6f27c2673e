"""What every test gets: folders of its own, no settings of the person who runs them, a chat server to ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer

pytest_plugins = ["elasticsearch_server", "docker_engine"]


@pytest.fixture(autouse=True)
def codenav_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CODENAV_HOME of this test; OPENAI_* and other CODENAV_* variables are cleared."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "CODENAV_")):
            monkeypatch.delenv(name)
    home = tmp_path / "codenav-home"
    monkeypatch.setenv("CODENAV_HOME", str(home))
    return home


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running chat server; a test sets its `script`."""
    with ChatServer() as server:
        yield server
