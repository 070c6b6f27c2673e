"""Named sandboxes for the tests; whatever is still there at the end of a test is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codenav.core.options import SandboxOptions
from codenav.sandboxes.daemon import client, launch, places
from codenav.sandboxes.daemon.client import NamedSandbox
from codenav.session.sandbox_factory import SandboxFactory

Fresh = Callable[..., NamedSandbox]


@pytest.fixture(autouse=True)
def stopped(codenav_home) -> Iterator[None]:
    yield
    for record in places.records():
        client.stop(record.name)


@pytest.fixture
def named() -> Iterator[Fresh]:
    """Starts a sandbox, in bubblewrap unless told otherwise, and connects to it."""
    opened: list[NamedSandbox] = []

    def make(backend: str = "bubblewrap", *, name: str = "", idle: float = 600.0, work_dir=None, **keywords: Any):
        factory = SandboxFactory.of(SandboxOptions(backend, **keywords))
        found = launch.start(factory.backend, factory.spec(work_dir), name=name, idle=idle)
        opened.append(client.connect(found))
        return opened[-1]

    yield make
    for box in opened:
        box.close()
