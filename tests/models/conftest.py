"""What the tests of models share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from chat_server import ChatServer

from codenav.agents.models import ChatModel

Open = Callable[..., ChatModel]

_NUMBERS = itertools.count()


@pytest.fixture
def told() -> list[str]:
    """What the model under test told its user."""
    return []


@pytest.fixture(params=["streamed", "whole"])
def chat_server(request: pytest.FixtureRequest) -> Iterator[ChatServer]:
    """A running chat server that streams where it is asked to, and one that answers with one body all the same."""
    with ChatServer(streams=request.param == "streamed") as server:
        yield server


@pytest.fixture
def connect(chat_server: ChatServer, told: list[str]) -> Iterator[Open]:
    """Opens models on the chat server, each by a name that no other test has taught anything."""
    opened: list[ChatModel] = []

    def connect(name: str = "", **options: object) -> ChatModel:
        options = {"base_url": chat_server.url, "notice": told.append, **options}
        opened.append(ChatModel(name or f"model-{next(_NUMBERS)}", **options))  # type: ignore[arg-type]
        return opened[-1]

    yield connect
    for model in opened:
        model.close()
