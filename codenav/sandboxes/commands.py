"""Operations done by running generated code in a sandbox: set a variable, run a shell command, install packages."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import Execution, Output, SandboxInfo, ShellResult
from codenav.sandboxes.values import checked_name, encoded

STEP_VALUE = "_codenav_told"
"""A name in the sandbox. Its value becomes the value of the step, and is not displayed."""
PIECE_CHARACTERS = 1 << 20
"""Most characters of a value sent in one step, which is limited to 2 MiB."""
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.\-\[\],]*\s*([<>=!~][^;]*)?|[\w./-]+\.whl")

_LOAD = """\
import codenav_host as _codenav_host
{name} = _codenav_host.loaded(_codenav_text)
del _codenav_host, _codenav_text
"""

_SHELL = """\
def _codenav_shell(command):
    import os, signal, subprocess
    shell = isinstance(command, str)
    process = subprocess.Popen(command, shell=shell, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait()
    except BaseException:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.wait()
        raise
try:
    {value} = _codenav_shell({command})
finally:
    del _codenav_shell
"""

_INSTALL = (
    """\
import importlib as _codenav_importlib, os as _codenav_os, sys as _codenav_sys
_codenav_target = {target!r}
if _codenav_target not in _codenav_sys.path:
    _codenav_sys.path.append(_codenav_target)
"""
    + _SHELL
    + """\
_codenav_importlib.invalidate_caches()
del _codenav_importlib, _codenav_os, _codenav_sys, _codenav_target
"""
)


class Commands(ABC):
    """Base class with the operations that every kind of sandbox performs by running generated code."""

    @property
    @abstractmethod
    def info(self) -> SandboxInfo:
        """See `codenav.core.protocols.Sandbox.info`."""

    @abstractmethod
    def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> Execution:
        """See `codenav.core.protocols.Sandbox.run`."""

    def set(self, name: str, value: Any) -> None:
        """Bind a name to a value. See `codenav.core.protocols.Sandbox.set`."""
        code = _LOAD.format(name=checked_name(name))
        text = encoded(value)
        for start in range(0, len(text), PIECE_CHARACTERS):
            before = "_codenav_text + " if start else ""
            self._do(f"_codenav_text = {before}{text[start : start + PIECE_CHARACTERS]!r}")
        self._do(code)

    def shell(
        self, command: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Run a shell command in the folder of the steps. See `codenav.core.protocols.Sandbox.shell`."""
        code = _SHELL.format(command=repr(command), value=STEP_VALUE)
        return _shell_result(self.run(code, timeout=timeout, on_output=on_output))

    def install(
        self, *packages: str, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Install packages with pip. See `codenav.core.protocols.Sandbox.install`."""
        return _shell_result(self.run(_installing(packages, self.info), timeout=timeout, on_output=on_output))

    def _do(self, code: str) -> None:
        done = self.run(code)
        if not done.ok:
            why = f"{done.error.type}: {done.error.message}" if done.error else str(done.outcome)
            raise SandboxUnavailable(f"the sandbox cannot take the value: {why}", hint="run another step")


def _installing(packages: Sequence[str], info: SandboxInfo) -> str:
    """Return code that runs pip into a folder from which the sandbox can import.

    Raises:
        UsageError: a package is not a valid requirement.
        SandboxUnavailable: the sandbox has no network.
    """
    if not packages:
        raise UsageError("no package is named", hint='such as box.install("rich")')
    for package in packages:
        if not _PACKAGE.fullmatch(package):
            raise UsageError(f"{package!r} is not the name of a package", hint='such as "rich" or "rich>=13"')
    if info.network == "none":
        raise SandboxUnavailable(
            "there is no network in this sandbox to install from",
            hint='start it with network="host" (bubblewrap) or "bridge" (docker), or build an image: '
            "codenav sandbox build --requirements FILE",
        )
    target = "/tmp/codenav-packages" if info.isolated else str(Path(info.work_dir).with_name("packages"))
    pip = '[_codenav_sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet",'
    # Without --upgrade pip skips packages that are already in the target and still exits with 0.
    more = '"--no-cache-dir", "--root-user-action=ignore", "--upgrade", "--target", _codenav_target,'
    command = f"{pip} {more} *{list(packages)!r}]"
    return _INSTALL.format(target=target, command=command, value=STEP_VALUE)


def _shell_result(done: Execution) -> ShellResult:
    """Return the result of a step that ran a shell command."""
    code = done.value.data if done.ok and done.value is not None else None
    return ShellResult(code if isinstance(code, int) else None, done.stdout, done.stderr, done)
