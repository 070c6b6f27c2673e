"""The part of Harbor's interface that an installed agent meets, where Harbor itself is not installed.

After its documentation (harborframework.com/docs/agents): commands run in the task's environment by `exec`, and what
fails raises.
"""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class NonZeroAgentExitCodeError(RuntimeError):
    """A command of the agent failed."""


def with_prompt_template(run: Any) -> Any:
    """Render the instruction before `run` gets it."""

    @functools.wraps(run)
    async def rendered(self: Any, instruction: str, *rest: Any, **more: Any) -> None:
        await run(self, self.render_instruction(instruction), *rest, **more)

    return rendered


class BaseInstalledAgent(ABC):
    """An agent that is installed and run in the environment of a task."""

    SUPPORTS_ATIF = False

    def __init__(
        self,
        logs_dir: Path,
        model_name: str | None = None,
        *,
        version: str | None = None,
        extra_env: dict[str, str] | None = None,
    ) -> None:
        self.logs_dir, self.model_name, self._version, self._extra_env = logs_dir, model_name, version, extra_env or {}

    @staticmethod
    @abstractmethod
    def name() -> str:
        """The name of the agent."""

    @abstractmethod
    async def install(self, environment: Any) -> None:
        """Install the agent."""

    @abstractmethod
    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Carry out a task."""

    @abstractmethod
    def populate_context_post_run(self, context: Any) -> None:
        """Tell what the run cost."""

    def render_instruction(self, instruction: str) -> str:
        """The instruction as it is."""
        return instruction

    def _get_env(self, key: str) -> str | None:
        return self._extra_env.get(key) or os.environ.get(key)

    async def exec_as_root(self, environment: Any, command: str, env: dict[str, str] | None = None) -> Any:
        """Run a command as root."""
        return await self._exec(environment, command, "root", env)

    async def exec_as_agent(self, environment: Any, command: str, env: dict[str, str] | None = None) -> Any:
        """Run a command as the agent's user."""
        return await self._exec(environment, command, None, env)

    async def _exec(self, environment: Any, command: str, user: str | None, env: dict[str, str] | None) -> Any:
        merged = {**(env or {}), **self._extra_env}
        result = await environment.exec(command=f"set -o pipefail; {command}", user=user, env=merged)
        if result.return_code:
            raise NonZeroAgentExitCodeError(f"Command failed (exit {result.return_code}): {result.stdout}")
        return result
