"""A sandbox whose secrets stay inside: what comes out of it has them masked, before any model sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Self

from codenav.episodes.masking import masker
from codenav.errors import CodeNavError
from codenav.execution import Execution, Held, SandboxInfo, Variable
from codenav.protocols import Sandbox, SandboxFiles


class MaskedSandbox:
    """Wraps a sandbox; `secrets` are the names and values of its environment. Satisfies `protocols.Sandbox`."""

    def __init__(self, sandbox: Sandbox, secrets: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._mask = masker(secrets)

    @contextlib.contextmanager
    def _masked_errors(self) -> Iterator[None]:
        """What is raised may quote what came from inside."""
        try:
            yield
        except CodeNavError as error:
            error.args = tuple(self._mask(part) for part in error.args)
            error.hint = str(self._mask(error.hint))
            raise

    @property
    def info(self) -> SandboxInfo:
        """What the sandbox is."""
        info = self._sandbox.info
        return replace(info, notice=str(self._mask(info.notice)))

    @property
    def files(self) -> SandboxFiles:
        """The files of its work folder; secrets in their names are masked. See `protocols.SandboxFiles`."""
        return self._sandbox.files.shown_as(lambda name: str(self._mask(name)))

    def run(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run one step. See `protocols.Sandbox.run`."""
        with self._masked_errors():
            return Execution.from_dict(self._mask(self._sandbox.run(code, timeout=timeout).to_dict()))

    def variables(self) -> Mapping[str, Variable]:
        """The names that steps have bound. See `protocols.Sandbox.variables`."""
        with self._masked_errors():
            found = [Variable(**self._mask(item.to_dict())) for item in self._sandbox.variables().values()]
        return {item.name: item for item in found}

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Digests of what steps have bound. See `protocols.Sandbox.digests`."""
        with self._masked_errors():
            return Held.from_dict(self._mask(self._sandbox.digests(first).to_dict()))

    def checkpoint(self) -> int:
        """Keep the variables as they are now. See `protocols.Sandbox.checkpoint`."""
        return self._sandbox.checkpoint()

    def restore(self, number: int) -> str:
        """Take up the variables of a checkpoint. See `protocols.Sandbox.restore`."""
        with self._masked_errors():
            return str(self._mask(self._sandbox.restore(number)))

    def artifacts(self) -> Sequence[str]:
        """The regular files of the work folder. See `protocols.Sandbox.artifacts`."""
        with self._masked_errors():
            return [str(self._mask(name)) for name in self._sandbox.artifacts()]

    def read_file(self, name: str) -> bytes:
        """A file of the work folder, as it is. See `protocols.Sandbox.read_file`."""
        return self._sandbox.read_file(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Put a file into the work folder. See `protocols.Sandbox.write_file`."""
        self._sandbox.write_file(name, data)

    def read_file_into(self, name: str, file: IO[bytes]) -> None:
        """A file of the work folder, as it is. See `protocols.Sandbox.read_file_into`."""
        self._sandbox.read_file_into(name, file)

    def write_file_from(self, name: str, file: IO[bytes]) -> None:
        """Put a file into the work folder. See `protocols.Sandbox.write_file_from`."""
        self._sandbox.write_file_from(name, file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step."""
        self._sandbox.interrupt()

    def close(self) -> None:
        """End every process inside."""
        self._sandbox.close()
