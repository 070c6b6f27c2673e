"""The `process` backend: the same guest and protocol without isolation. It has to be requested by name."""

from __future__ import annotations

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import SandboxSpec
from codenav.sandboxes.guest_environment import environment, import_folders
from codenav.sandboxes.launch import GUEST, GUEST_FLAGS, Launched, LaunchedProcess, launch, limits_of
from codenav.sandboxes.owned_resources import OwnedFolder


def launch_process(spec: SandboxSpec) -> Launched:
    """Start the guest as an ordinary process of this user, in its own session.

    Raises:
        SandboxUnavailable: the interpreter does not start.
    """
    owned = OwnedFolder.make()
    work, home = owned.path / "work", owned.path / "home"
    work.mkdir()
    home.mkdir()
    command = [str(spec.python.executable), *GUEST_FLAGS, str(GUEST / "guest_main.py")]
    try:
        process, errors = launch(command, cpus=spec.resources.cpus)
    except OSError as error:
        owned.remove()
        raise SandboxUnavailable(f"{spec.python.executable} does not start: {error.strerror}") from error
    config: dict[str, object] = {
        "work": str(work),
        "remove": [str(owned.path)],
        "counted": [],
        "env": environment(spec, home=str(home)),
        "import_first": import_folders(spec.import_paths),
        "import_then": [str(path) for path in spec.python.paths],
        "limits": limits_of(spec.resources, processes=None),
    }
    return LaunchedProcess(process, errors, owned, config=config)
