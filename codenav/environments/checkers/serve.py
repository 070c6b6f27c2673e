"""The process of one checker: reads requests from stdin, answers on stdout, one JSON object per line.

A checker runs apart from the host because the code that it reads may come from anywhere: black 26 ends its process with
a segmentation fault on `not` repeated 20,000 times, and does not return from `-` repeated 100,000 times.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import IO, Any, Protocol

from codenav.environments.checkers.answers import Answer, Loading, Past

MEMORY = 2 << 30
"""Bytes of data of one checker (RLIMIT_DATA). Measured with mypy 2.4 after `import numpy` and 60 steps: 0.2 GiB."""


class Tool(Protocol):
    """A checker inside its process."""

    def check(self, code: str) -> Answer | Loading:
        """The answer on a step."""
        ...

    def remember(self, steps: Sequence[Past]) -> Loading | None:
        """Add steps that ran: later ones may use their names. Called once, maybe with none, before the first check."""
        ...


def main() -> None:
    """Serve until stdin ends."""
    settings = json.loads(sys.stdin.readline())
    _die_with(settings["host"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Nothing that a tool prints may get between the answers.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    try:
        tool = _tool(settings)
    except ImportError as error:
        return _send(replies, {"broken": f"{settings['tool']} is not installed ({error})"})
    for line in sys.stdin:
        _send(replies, _respond(tool, json.loads(line)))


def _respond(tool: Tool, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if "code" in request:
            return tool.check(request["code"]).to_dict()
        loading = tool.remember([Past.from_dict(step) for step in request["steps"]])
        return loading.to_dict() if loading else {}
    except Exception as error:
        return {"broken": f"{type(error).__name__}: {error}"[:500]}


def _send(replies: IO[str], reply: Mapping[str, Any]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _tool(settings: Mapping[str, Any]) -> Tool:
    if settings["tool"] == "black":
        from codenav.environments.checkers.formatting import Formatting

        return Formatting(settings)
    if settings["tool"] == "flake8":
        from codenav.environments.checkers.lint import Lint

        return Lint(settings)
    from codenav.environments.checkers.typecheck import Types

    return Types(settings)


def _die_with(host: int) -> None:
    """Have this process killed when the thread that started it ends, however busy the process is."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1  # <linux/prctl.h>
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != host:
        sys.exit(0)
