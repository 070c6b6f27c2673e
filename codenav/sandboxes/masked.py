"""A sandbox with its secrets masked in everything that comes out of it, before any model sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from codenav.core.errors import CodeNavError
from codenav.core.execution import Execution, Held, Output, SandboxInfo, Variable
from codenav.core.protocols import Sandbox, SandboxFiles
from codenav.core.secrets.masking import StreamMasker, masker
from codenav.core.system.closing import Closing
from codenav.sandboxes.commands import Commands
from codenav.sandboxes.files import WithFiles

Hear = Callable[[Output], None]
"""A function that takes a piece of output."""


class MaskedSandbox(Commands, WithFiles, Closing):
    """A sandbox that masks `secrets`, the names and values of its environment. Satisfies `protocols.Sandbox`."""

    def __init__(self, sandbox: Sandbox, secrets: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._mask, self._secrets = masker(secrets), secrets

    @contextlib.contextmanager
    def _masked_errors(self) -> Iterator[None]:
        """Mask the errors raised inside: they may quote text from the sandbox."""
        try:
            yield
        except CodeNavError as error:
            error.args = tuple(self._mask(part) for part in error.args)
            error.hint = str(self._mask(error.hint))
            raise

    @property
    def info(self) -> SandboxInfo:
        """The description of the sandbox. See `protocols.Sandbox.info`."""
        info = self._sandbox.info
        return replace(info, notice=str(self._mask(info.notice)))

    @property
    def files(self) -> SandboxFiles:
        """The files of the work folder, with secrets masked in their names. See `protocols.SandboxFiles`."""
        return self._sandbox.files.shown_as(lambda name: str(self._mask(name)))

    def run(self, code: str, *, timeout: float | None = None, on_output: Hear | None = None) -> Execution:
        """Run one step, with secrets masked in its output and result. See `protocols.Sandbox.run`."""
        masked = None if on_output is None else MaskedOutput(on_output, self._secrets)
        with self._masked_errors():
            done = self._sandbox.run(code, timeout=timeout, on_output=masked.hear if masked else None)
        if masked is not None:
            masked.finish()
        return Execution.from_dict(self._mask(done.to_dict()))

    def get(self, name: str) -> Any:
        """The value of a name, with secrets masked in its texts. See `protocols.Sandbox.get`."""
        with self._masked_errors():
            return masked_value(self._sandbox.get(name), self._mask)

    def variables(self) -> Mapping[str, Variable]:
        """The names bound by steps. See `protocols.Sandbox.variables`."""
        with self._masked_errors():
            found = [Variable.from_dict(self._mask(item.to_dict())) for item in self._sandbox.variables().values()]
        return {item.name: item for item in found}

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Digests of the names bound by steps. See `protocols.Sandbox.digests`."""
        with self._masked_errors():
            return Held.from_dict(self._mask(self._sandbox.digests(first).to_dict()))

    def checkpoint(self) -> int:
        """Keep the current variables. See `protocols.Sandbox.checkpoint`."""
        return self._sandbox.checkpoint()

    def restore(self, number: int) -> str:
        """Return to the variables of a checkpoint. See `protocols.Sandbox.restore`."""
        with self._masked_errors():
            return str(self._mask(self._sandbox.restore(number)))

    def artifacts(self) -> Sequence[str]:
        """The regular files of the work folder. See `protocols.Sandbox.artifacts`."""
        with self._masked_errors():
            return [str(self._mask(name)) for name in self._sandbox.artifacts()]

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step."""
        self._sandbox.interrupt()

    def close(self, *, force: bool = False) -> None:
        """End every process in the sandbox."""
        self._sandbox.close(force=force)


def masked_value(value: Any, mask: Callable[[Any], Any]) -> Any:
    """A value of plain types, with all texts and bytes in it masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, bytes):
        return mask(value.decode("latin-1")).encode("latin-1", "backslashreplace")
    if isinstance(value, dict):
        return {masked_value(key, mask): masked_value(item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(masked_value(item, mask) for item in value)
    return value


class MaskedOutput:
    """A listener that passes on output with secrets masked, also those that arrive in two pieces."""

    def __init__(self, on_output: Hear, secrets: Mapping[str, str]) -> None:
        self._tell = on_output
        self._maskers = {stream: StreamMasker(secrets) for stream in ("stdout", "stderr")}

    def hear(self, piece: Output) -> None:
        """Pass on a piece of output, except for the possible beginning of a secret."""
        text = self._maskers[piece.stream].feed(piece.text)
        if text:
            self._tell(replace(piece, text=text))

    def finish(self) -> None:
        """Pass on the text held back as the possible beginning of a secret."""
        for stream, masked in self._maskers.items():
            text = masked.end()
            if text:
                self._tell(Output(stream, text))
