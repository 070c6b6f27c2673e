"""An environment for shell commands: a new kind of action in one file, and one line where the session is made.

codenav.Session(on="pkg:networkx", environments=with_bash)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codenav import Action, EpisodeParts, standard_environments
from codenav.core.actions import Observation
from codenav.core.protocols import Environment, Sandbox

MOST = 4_000
"""Characters of an observation."""


@dataclass(frozen=True)
class Bash(Action):
    """A shell command, run in the sandbox."""

    type: str = "bash"


class BashEnvironment:
    """Runs shell commands in the sandbox of the episode, in the folder of its steps."""

    action = Bash
    prompt = """# Action: bash

Runs one shell command in the folder where code runs.

<thought>How many lines do the files have?</thought>
<type>bash</type>
<content>
wc -l *.csv
</content>

What comes back: the exit code, and the last ${most} characters that it printed.
"""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def facts(self) -> Mapping[str, str]:
        return {"most": str(MOST)}

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        done = self._sandbox.shell(action.content, timeout=timeout)
        return Observation(f"exit code {done.exit_code}\n{done.stdout}{done.stderr}"[-MOST:])


def with_bash(parts: EpisodeParts) -> list[Environment]:
    """The usual environments, and this one."""
    return [*standard_environments(parts), BashEnvironment(parts.sandbox)]
