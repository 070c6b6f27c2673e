"""A sandbox whose secrets stay inside: what comes out of it has them masked, before any model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from codenav.episodes.masking import masker
from codenav.execution import Execution, SandboxInfo, Variable
from codenav.protocols import Sandbox


class MaskedSandbox:
    """Wraps a sandbox; `secrets` are the names and values of its environment. Satisfies `protocols.Sandbox`."""

    def __init__(self, sandbox: Sandbox, secrets: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._mask = masker(secrets)

    @property
    def info(self) -> SandboxInfo:
        """What the sandbox is."""
        return self._sandbox.info

    def run(self, code: str, *, timeout: float | None = None) -> Execution:
        """Run one step. See `protocols.Sandbox.run`."""
        return Execution.from_dict(self._mask(self._sandbox.run(code, timeout=timeout).to_dict()))

    def variables(self) -> Mapping[str, Variable]:
        """The names that steps have bound. See `protocols.Sandbox.variables`."""
        held = self._sandbox.variables()
        return {name: Variable(**self._mask(item.to_dict())) for name, item in held.items()}

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
