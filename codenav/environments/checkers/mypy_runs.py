"""Two ways to run mypy: its daemon, called directly, and its documented interface where the daemon is another one.

The daemon's parts that are used here are not documented (`mypy.dmypy_server`). They were tried with every minor version
in `TRIED`; pyproject.toml allows no other, and tests/checkers/test_checkers_versions.py runs both ends. Where another
mypy was installed all the same and its daemon does not fit, `mypy.api.run` serves: the same verdicts, a second or two
each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

TRIED = ((1, 16), (2, 4))
"""The first and the last minor version of mypy whose daemon is known to fit."""


class Source(NamedTuple):
    """A module to read."""

    path: Path
    module: str


class Run(Protocol):
    """A mypy that reads the same program again and again."""

    def read(self, sources: Sequence[Source]) -> list[str]:
        """The lines that mypy prints about a program."""
        ...

    def lacks(self, module: str) -> bool:
        """True if a fresh start would read a library module that this one has not read."""
        ...

    @property
    def blocked(self) -> bool:
        """True if an error kept mypy from reading the program at all."""
        ...


class Unfit(Exception):
    """The daemon of this mypy has other parts than those that are known."""


class Daemon:
    """mypy's daemon, in this process: what has not changed is not read again."""

    def __init__(self, arguments: Sequence[str], folder: Path, paths: Sequence[str]) -> None:
        """`paths` are folders in which modules are looked for.

        Raises:
            Unfit: it is another one.
        """
        try:
            from mypy import dmypy_server
            from mypy.modulefinder import BuildSource

            options = dmypy_server.process_start_options([*arguments, "--cache-dir=/dev/null"], False)
            options.mypy_path = list(paths)
            self._source: Any = BuildSource
            self._server: Any = dmypy_server.Server(options, str(folder / "status"))
            self._begun = False
            _ = self._server.fine_grained_manager
        except (ImportError, AttributeError, TypeError) as error:
            raise Unfit(str(error)) from error

    def read(self, sources: Sequence[Source]) -> list[str]:
        """See `Run`.

        Raises:
            Unfit: it is another one; only at the first time.
        """
        try:
            built = [self._source(str(path), module, None, str(path.parent)) for path, module in sources]
            answer = self._server.check(built, export_types=False, is_tty=False, terminal_width=80)
            lines: list[str] = answer["out"].splitlines() + answer["err"].splitlines()
            if not self._begun:
                # What `lacks` and `blocked` ask for.
                _ = self.blocked, self.lacks("codenav_no_such_module")
        except (AttributeError, TypeError, KeyError) as error:
            if self._begun:
                raise
            raise Unfit(str(error)) from error
        self._begun = self._server.fine_grained_manager is not None
        return lines

    def lacks(self, module: str) -> bool:
        """See `Run`."""
        manager = self._server.fine_grained_manager
        if manager is None or module in manager.graph:
            return False
        return isinstance(manager.manager.find_module_cache.find_module(module), str)

    @property
    def blocked(self) -> bool:
        """See `Run`."""
        manager = self._server.fine_grained_manager
        return manager is None or bool(manager.blocking_error)


class Anew:
    """mypy as documented ("Extending and integrating mypy"): a whole run each time, over a cache in `folder`."""

    def __init__(self, arguments: Sequence[str], folder: Path, paths: Sequence[str]) -> None:
        self._arguments = [*arguments, f"--cache-dir={folder / 'cache'}"]
        # A process of its own: nobody else reads it.
        os.environ["MYPYPATH"] = os.pathsep.join(paths)
        self._status = 0

    def read(self, sources: Sequence[Source]) -> list[str]:
        """See `Run`."""
        from mypy import api

        out, err, self._status = api.run([*self._arguments, *(str(path) for path, _ in sources)])
        return out.splitlines() + err.splitlines()

    def lacks(self, module: str) -> bool:
        """Every run reads what the program imports."""
        return False

    @property
    def blocked(self) -> bool:
        """See `Run`; exit code 2 is that of a program that could not be read."""
        return self._status not in (0, 1)


class Mypy:
    """The daemon where it fits, else whole runs."""

    def __init__(self, arguments: Sequence[str], folder: Path, paths: Sequence[str]) -> None:
        """`arguments` are mypy's options; `folder` is private; in `paths` modules are looked for."""
        self._begin: Callable[[Callable[..., Run]], Run] = lambda kind: kind(arguments, folder, paths)
        self._run: Run
        try:
            self._run = self._begin(Daemon)
        except Unfit:
            self._run = self._begin(Anew)

    def read(self, sources: Sequence[Source]) -> list[str]:
        """See `Run`."""
        try:
            return self._run.read(sources)
        except Unfit:
            self._run = self._begin(Anew)
            return self._run.read(sources)

    def lacks(self, module: str) -> bool:
        """See `Run`."""
        return self._run.lacks(module)

    @property
    def blocked(self) -> bool:
        """See `Run`."""
        return self._run.blocked


def installed() -> tuple[int, int]:
    """Major and minor version of the installed mypy. Does not import it.

    Raises:
        importlib.metadata.PackageNotFoundError: there is none.
    """
    from importlib import metadata

    major, minor = metadata.version("mypy").split(".")[:2]
    return int(major), int(minor)


def untried(found: tuple[int, int]) -> str:
    """A sentence for people where a version of mypy is outside `TRIED`; empty where it is inside."""
    first, last = TRIED
    if first <= found <= last:
        return ""
    return (
        f"mypy {_dotted(found)} is none that codenav was tried with ({_dotted(first)} to {_dotted(last)}): "
        "its checks may take seconds, or fail and say so"
    )


def bounds() -> str:
    """`TRIED` as a requirement for pip."""
    (major, minor), first = TRIED[1], TRIED[0]
    return f"mypy>={_dotted(first)},<{major}.{minor + 1}"


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
