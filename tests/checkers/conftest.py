"""One warm checker for the tests that only need verdicts, and a look at its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from codenav.core.execution import CheckReport
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.environments.checkers import StepChecks

Codes = Callable[[str], dict[str, list[tuple[str, int]]]]


@pytest.fixture(scope="session")
def python() -> Interpreter:
    return find_interpreter()


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A code base to import from, typed and untyped, with a file that does not parse."""
    root = tmp_path_factory.mktemp("library")
    package = root / "shapes"
    package.mkdir()
    (package / "__init__.py").write_text("from shapes.flat import Square, area\n")
    (package / "flat.py").write_text(
        "class Square:\n    def __init__(self, side: float) -> None:\n        self.side = side\n\n\n"
        "def area(square: Square, *, scale: float = 1.0) -> float:\n    return square.side**2 * scale\n\n\n"
        "def loose(a, b=1):\n    return undefined_in_the_library\n"
    )
    (root / "broken.py").write_text("def f(:\n")
    return root


@pytest.fixture(scope="session")
def warm(python: Interpreter, library: Path) -> Iterator[StepChecks]:
    """Shared: a test that uses it binds names of its own."""
    checks = StepChecks(python=python, import_paths=[library], seconds=60)
    yield checks
    checks.close()


@pytest.fixture
def fresh(python: Interpreter) -> Iterator[Callable[..., StepChecks]]:
    """Makes checkers with no history, closed at the end."""
    with ExitStack() as stack:

        def make(**options: object) -> StepChecks:
            checks = StepChecks(python=python, **{"seconds": 60, **options})  # type: ignore[arg-type]
            stack.callback(checks.close)
            return checks

        yield make


def codes(reports: list[CheckReport] | tuple[CheckReport, ...]) -> dict[str, list[tuple[str, int]]]:
    """Per tool the codes and lines; a tool that failed is a failure of the test."""
    assert not any(report.failure for report in reports), reports
    return {report.tool: [(f.code, f.line_number) for f in report.findings] for report in reports}


@pytest.fixture(scope="session")
def verdict(warm: StepChecks) -> Codes:
    """Checks a step that nothing else depends on."""
    return lambda code: codes(list(warm.check(code)))
