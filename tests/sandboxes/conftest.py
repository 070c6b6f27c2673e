"""Sandboxes for the tests: one per backend and module for what leaves no trace, fresh ones for the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codenav.core.execution import SandboxSpec
from codenav.core.protocols import CallHandler
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.sandboxes import start
from codenav.sandboxes.guest_client import GuestSandbox

Fresh = Callable[..., GuestSandbox]


@pytest.fixture(scope="session")
def python() -> Interpreter:
    """The interpreter that runs the tests."""
    return find_interpreter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the backends that its module names in `TRIED_ON`, or all, unless it names them itself."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "backend" in metafunc.fixturenames and not any("backend" in mark.args[0] for mark in marks):
        backends = getattr(metafunc.module, "TRIED_ON", ("bubblewrap", "process", "docker"))
        metafunc.parametrize("backend", backends, indirect=True, scope="module")


@pytest.fixture(scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each backend in turn; `DOCKER_HOST` leads to the engine of the tests."""
    if request.param == "docker":
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", request.getfixturevalue("docker_engine").host)
            yield "docker"
    else:
        yield str(request.param)


@pytest.fixture(scope="module")
def basis(backend: str, python: Interpreter, request: pytest.FixtureRequest) -> SandboxSpec:
    """What every sandbox of the backend is started with."""
    image = request.getfixturevalue("docker_engine").base_image() if backend == "docker" else ""
    return SandboxSpec(python, image=image)


@pytest.fixture(scope="module")
def box(backend: str, basis: SandboxSpec) -> Iterator[GuestSandbox]:
    """A sandbox that the tests of a module share."""
    with start(backend, basis) as opened:
        yield opened


@pytest.fixture
def fresh(backend: str, basis: SandboxSpec) -> Iterator[Fresh]:
    """Starts sandboxes of the backend; they are closed at the end."""
    opened: list[GuestSandbox] = []

    def make(calls: CallHandler | None = None, **changes: Any) -> GuestSandbox:
        sandbox = start(backend, dataclasses.replace(basis, **changes), calls=calls)
        opened.append(sandbox)
        return sandbox

    yield make
    for sandbox in opened:
        sandbox.close()


@pytest.fixture
def contained(python: Interpreter) -> Iterator[Fresh]:
    """Starts bubblewrap sandboxes."""
    opened: list[GuestSandbox] = []

    def make(**changes: Any) -> GuestSandbox:
        sandbox = start("bubblewrap", dataclasses.replace(SandboxSpec(python), **changes))
        opened.append(sandbox)
        return sandbox

    yield make
    for sandbox in opened:
        sandbox.close()
