"""The `process` backend: the same guest and protocol, without isolation. It must be asked for by name."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from codenav.errors import SandboxUnavailable
from codenav.execution import SandboxSpec
from codenav.sandboxes.launch import GUEST, GUEST_FLAGS, Launched, launch, limits_of
from codenav.sandboxes.spec import environment, import_folders


def launch_process(spec: SandboxSpec) -> Launched:
    """Start the guest as an ordinary process of this user, in a session of its own.

    Raises:
        SandboxUnavailable: the interpreter does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="codenav-"))
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    command = [str(spec.python.executable), *GUEST_FLAGS, str(GUEST / "guest_main.py")]
    try:
        process, errors = launch(command, cpus=spec.resources.cpus)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SandboxUnavailable(f"{spec.python.executable} does not start: {error.strerror}") from error
    config: dict[str, object] = {
        "work": str(work),
        "remove": [str(folder)],
        "counted": [],
        "env": environment(spec, home=str(home), temporary=str(home)),
        "import_first": import_folders(spec),
        "import_then": [str(path) for path in spec.python.paths],
        "limits": limits_of(spec.resources, processes=None),
    }
    return Launched(process, errors, config, folder)
