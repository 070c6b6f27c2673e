"""Starting a named sandbox: a separate host process, which receives the specification over a private socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from codenav.core import errors
from codenav.core.errors import CodeNavError, SandboxUnavailable
from codenav.core.execution import SandboxSpec
from codenav.sandboxes.daemon import places
from codenav.sandboxes.daemon.wire import ConnectionClosed, Starting, Wire

IDLE_SECONDS = 3600.0
"""Default idle limit of a sandbox."""
START_SECONDS = 120.0
"""Time for a start. A backend takes up to 30 s of its own, and an engine may be slow to find an image."""

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
         "CODENAV_HOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")  # fmt: skip
_KEPT_PREFIXES = ("LC_", "XDG_", "DOCKER_", "PYTHON")
"""Prefixes of environment variables that the host process keeps, beside `_KEPT`. Secrets of the shell stay out."""


SERVER = "codenav.sandboxes.daemon.server"
"""The module that is the host process."""


def start(
    backend: str,
    spec: SandboxSpec,
    *,
    name: str = "",
    idle: float = IDLE_SECONDS,
    tools: Mapping[str, Any] | None = None,
    module: str = SERVER,
) -> str:
    """Start a sandbox that outlives this process, and return its name.

    Without a name it gets the first free one of `box1`, `box2` and so on. It ends by itself after `idle` seconds
    without a step; 0 means never. Without a work folder its files lie in one that is removed with it.
    `tools` describes what its code can call, for a `module` that opens tools; secrets in it travel over a socket.

    Raises:
        UsageError: the name is taken, or for the reasons of `codenav.sandboxes.start`.
        SandboxUnavailable: the sandbox cannot run here.
        StorageFull: nothing can be written under CODENAV_HOME.
    """
    if name:
        places.checked_name(name)
    ours, theirs = socket.socketpair()
    root = str(Path(errors.__file__).parents[2])
    command = [sys.executable, "-P", "-m", module]
    with ours, theirs:
        # The child forks at once, so that no parent has to wait for its end.
        child = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment(root)
        )
        theirs.close()
        child.wait()
        wire = Wire(ours)
        wire.patience(START_SECONDS)
        try:
            # Nothing that runs code asks for the distributions.
            spec = replace(spec, python=replace(spec.python, distributions=()))
            wire.send(Starting(name, backend, spec, idle, dict(tools) if tools else None))
            answer, _ = wire.receive()
        except TimeoutError as error:
            raise SandboxUnavailable(f"the sandbox did not start within {START_SECONDS:g} s") from error
        except ConnectionClosed as error:
            raise SandboxUnavailable("the host process of the sandbox ended without a message") from error
    if isinstance(answer, CodeNavError):
        raise answer
    return str(answer)


_FRUGAL = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""Makes glibc return memory, mallopt(3): after a file of 32 MiB was copied, 18 MiB stay in use instead of 28."""


def _environment(root: str) -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in os.environ if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    return {**kept, **_FRUGAL, "PYTHONPATH": os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))}
