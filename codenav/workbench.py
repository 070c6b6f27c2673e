"""Where code runs: starts a sandbox, and fresh ones like it for replays."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.errors import SandboxUnavailable, StorageFull, UsageError
from codenav.execution import Resources, SandboxSpec
from codenav.interpreter import Interpreter
from codenav.masked import MaskedSandbox
from codenav.protocols import Sandbox
from codenav.sandboxes import diagnose, start
from codenav.sandboxes.workfolder import WorkFolder

Confirm = Callable[[str], bool]
"""Asks a person a yes-or-no question."""


@dataclass(frozen=True)
class Workbench:
    """What every sandbox of one session has in common."""

    backend: str
    """`bubblewrap` or `process`."""
    python: Interpreter
    import_paths: Sequence[Path]
    network: str
    env: Mapping[str, str]
    """What the code sees as its environment; the values are masked in all that comes out."""
    resources: Resources

    def start(self, work_dir: Path | None, *, copy_out: bool = True) -> Sandbox:
        """Start a fresh sandbox.

        Raises:
            SandboxUnavailable: the backend does not work here.
            UsageError: the work folder is larger than a sandbox may hold, or `network` does not fit the backend.
        """
        spec = SandboxSpec(
            python=self.python,
            import_paths=self.import_paths,
            work_dir=work_dir,
            copy_out=copy_out,
            env=self.env,
            network=self.network,
            resources=self.resources,
        )
        sandbox = start(self.backend, spec)
        return MaskedSandbox(sandbox, self.env) if self.env else sandbox


def copy_inputs(work_dir: Path, target: Path, resources: Resources) -> Path | None:
    """Copy what a sandbox takes of a work folder, so that a replay can begin with it; None where there is nothing.

    Raises:
        UsageError: a file cannot be read, the folder is too large, or it holds codenav's own files.
        StorageFull: there is no room for the copy.
    """
    if target.is_relative_to(work_dir):
        raise UsageError(
            f"the work folder {work_dir} holds codenav's own files, in {target.parent.parent}",
            hint="name a folder below it with --work-dir, or another CODENAV_HOME",
        )
    names = WorkFolder(work_dir, resources, copy_out=False).files()
    for name in names:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(work_dir / name, target / name, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"no room to keep a copy of the work folder in {target}") from error
            raise UsageError(f"cannot read {work_dir / name}: {error.strerror}") from error
    return target if names else None


def choose_backend(named: str, confirm: Confirm | None = None) -> str:
    """The backend that was named or, for `auto`, the one that isolates here; `confirm` may accept `process`.

    Raises:
        SandboxUnavailable: `auto` finds no isolation, and nobody confirmed to go without.
    """
    if named != "auto":
        return named
    row = diagnose("bubblewrap")
    if row.ok:
        return "bubblewrap"
    if confirm and confirm(f"{row.detail}. Run the code without isolation, with your rights and your files?"):
        return "process"
    raise SandboxUnavailable(
        f"no sandbox works here: {row.detail}",
        hint=f"{row.hint}, or accept to run without isolation: --sandbox process",
    )


def values_of(env: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Names with their values; names alone take the values of this process.

    Raises:
        UsageError: a name is not set.
    """
    if isinstance(env, Mapping):
        return dict(env)
    missing = [name for name in env if name not in os.environ]
    if missing:
        raise UsageError(f"{missing[0]} is not set in the environment", hint=f"export {missing[0]}=…")
    return {name: os.environ[name] for name in env}


def checked_work_dir(path: str | Path | None) -> Path | None:
    """The work folder, made if it is not there; None stays None.

    Raises:
        UsageError: it is no folder, or cannot be written.
    """
    if path is None:
        return None
    folder = Path(path).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{path} is not a folder", hint="name a folder with --work-dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the work folder {path}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"the work folder {path} is not writable", hint=f"chmod u+w {path}")
    return folder
