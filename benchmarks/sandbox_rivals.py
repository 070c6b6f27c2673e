"""The rivals of a stateful sandbox: a new interpreter per step, `docker run`, `docker exec`, ipykernel."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, Self

from measure import descendants
from sandbox_inside import namespace_and_worker, processes, pss

from codenav.core.execution import Execution, SandboxSpec
from codenav.sandboxes import start

LIMITS = ("--memory=2g", "--memory-swap=2g", "--cpus=2", "--pids-limit=256", "--cap-drop=ALL", "--network=none",
          "--security-opt=no-new-privileges", "--user=1000:1000", "--read-only")  # fmt: skip
"""The options that codenav's own containers have."""


class Opened(Protocol):
    """A session of a candidate."""

    def step(self, code: str) -> object:
        """Run a step to its end."""
        ...

    def idle(self) -> float | None:
        """MiB (PSS) of the session while nothing runs; None if it is not known."""
        ...

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step."""
        ...

    def close(self) -> None:
        """End the session."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class _Opened:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: there is nothing to end."""

    def idle(self) -> float | None:
        """The memory while idle: not known."""
        return None

    def interrupt(self) -> None:
        """Do nothing: it is not possible."""
        raise NotImplementedError


class Ours(_Opened):
    """A sandbox of codenav."""

    def __init__(self, backend: str, spec: SandboxSpec) -> None:
        self.box = start(backend, spec)

    def step(self, code: str, timeout: float = 300.0) -> Execution:
        return self.box.run(code, timeout=timeout)

    def idle(self) -> float | None:
        self.box.run("x = 1")
        time.sleep(0.2)
        return pss(processes(namespace_and_worker(self.box)[0]))

    def interrupt(self) -> None:
        self.box.interrupt()

    def close(self) -> None:
        self.box.close()


class NewInterpreter(_Opened):
    """`python -c` for each step, without any state."""

    def __init__(self, python: str) -> None:
        self._python = python

    def step(self, code: str) -> None:
        subprocess.run([self._python, "-c", code], check=True, stdin=subprocess.DEVNULL)


class DockerRun(_Opened):
    """`docker run` for each step, without any state."""

    def __init__(self, image: str) -> None:
        self._command = ["docker", "run", "--rm", *LIMITS, "--entrypoint", "python3", image, "-c"]

    def step(self, code: str) -> None:
        subprocess.run([*self._command, code], check=True, stdin=subprocess.DEVNULL, capture_output=True)


class DockerExec(_Opened):
    """A container with `docker exec` for each step; only files persist."""

    def __init__(self, image: str) -> None:
        made = ["docker", "run", "--detach", "--rm", "--init", *LIMITS, "--entrypoint", "sleep", image, "infinity"]
        self._id = subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()

    def step(self, code: str) -> None:
        subprocess.run(
            ["docker", "exec", self._id, "python3", "-c", code],
            check=True, stdin=subprocess.DEVNULL, capture_output=True,
        )  # fmt: skip

    def close(self) -> None:
        subprocess.run(["docker", "rm", "--force", self._id], check=True, capture_output=True)


class Kernel(_Opened):
    """ipykernel, driven by jupyter_client; no isolation, no limits."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self._manager, self._client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)
        self._pid: int = self._manager.provisioner.process.pid

    def step(self, code: str) -> object:
        return self._client.execute_interactive(code, timeout=300, output_hook=lambda _: None)

    def idle(self) -> float | None:
        return pss(descendants(self._pid))

    def interrupt(self) -> None:
        os.kill(self._pid, signal.SIGINT)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


Open = Callable[[], Any]


def rivals(python: str, image: str) -> Mapping[str, Open]:
    """The rivals that work here, by the name of their column; Docker's need an image."""
    found: dict[str, Open] = {"python -c": lambda: NewInterpreter(python)}
    if image and shutil.which("docker"):
        found["docker run"] = lambda: DockerRun(image)
        found["docker exec"] = lambda: DockerExec(image)
    try:
        import ipykernel  # noqa: F401
        import jupyter_client  # noqa: F401
    except ImportError:
        print("no ipykernel here: pip install ipykernel adds its column", file=sys.stderr)
    else:
        found["ipykernel"] = Kernel
    return found


def ours(backends: Mapping[str, SandboxSpec]) -> Mapping[str, Open]:
    """A column for each backend, and one without snapshots."""

    def opening(backend: str, spec: SandboxSpec) -> Open:
        return lambda: Ours(backend, spec)

    found = {}
    for backend, spec in backends.items():
        found[backend] = opening(backend, spec)
        found[f"{backend}, no snapshots"] = opening(backend, replace(spec, snapshots=False))
    return found
