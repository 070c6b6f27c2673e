"""A code base to work on, a chat server to ask, and a check that nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer
from command_line import Ran, children, codenav, left_behind
from tool_service import KEY, ToolService

LIBRARY = {
    "README.md": "# farm\n\nAreas of fields.\n\n## Units\n\nAll lengths are in metres.\n",
    "src/farm/__init__.py": '"""Fields and what grows on them."""\n',
    "src/farm/fields.py": '''"""Fields."""

import math


class Field:
    """A rectangular field; lengths in metres."""

    def __init__(self, width: float, length: float) -> None:
        self.width = width
        self.length = length

    def area(self) -> float:
        """Square metres."""
        return self.width * self.length


def circular_area(radius: float) -> float:
    """Square metres of a round field."""
    return math.pi * radius**2


def harvest(field: Field, *, per_square_metre: float = 0.8) -> float:
    """Kilograms that a field gives."""
    return field.area() * per_square_metre
''',
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A small repository with a `src` layout."""
    root = tmp_path / "farm-repo"
    for name, text in LIBRARY.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


Run = Callable[..., Ran]


@pytest.fixture
def run(chat_server: ChatServer) -> Run:
    """`codenav run` against the chat server; mypy, which takes two seconds of each, only where `types` asks for it."""

    def command(*arguments: str | Path, types: bool = False, **options: object) -> Ran:
        checks = () if types else ("--set=checks.types=no",)
        return codenav("run", *arguments, *checks, "--model", "test-model", "--base-url", chat_server.url, **options)  # type: ignore[arg-type]

    return command


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No process outlives the commands of a test."""
    before = children()
    yield
    assert left_behind(before) == []


@pytest.fixture
def service() -> Iterator[ToolService]:
    with ToolService() as running:
        yield running


@pytest.fixture
def shop(service: ToolService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The shop as a source; its key is in the environment."""
    monkeypatch.setenv("SHOP_KEY", KEY)
    return f"openapi:{service.write(tmp_path)}"
