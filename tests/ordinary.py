"""Python run as an ordinary user that the tests make: a user id of its own, an empty home, no rights.

    done = as_ordinary_user(["-m", "codenav", "doctor", "--sandbox", "bubblewrap"], groups=True)

A checkout, an environment and an interpreter may be closed to others: in a private mount namespace they are bound where
everybody may read. With `groups` the user gets control groups, as systemd hands them down to a session.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from codenav.sandboxes import cgroups

UID = 64_321
"""A user id that nobody else has; files and processes of the user are found by it."""
ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "/mnt/library"
PACKAGES = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
PYTHON = "/mnt/environment/bin/python"
"""The interpreter of the user: a virtual environment, so that children which ignore PYTHONPATH find the packages."""


def as_ordinary_user(
    arguments: Sequence[str],
    *,
    groups: bool = False,
    docker_host: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """The result of `python ARGUMENTS`; needs root. `docker_host`: an engine that the user may talk to."""
    variables = {
        "PYTHONPATH": LIBRARY,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin",
    }
    lines = [
        "mount -t tmpfs -o mode=755 none /mnt",
        f"mkdir -p {LIBRARY} /mnt/python /mnt/environment/bin /mnt/environment/{PACKAGES}",
        f"mount --bind {shlex.quote(str(ROOT))} /mnt/library",
        f"mount --bind {shlex.quote(sysconfig.get_path('purelib'))} /mnt/environment/{PACKAGES}",
        f"echo home = {sys.base_prefix}/bin > /mnt/environment/pyvenv.cfg",
        f"ln -s {sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor} {PYTHON}",
        f"mount --bind {shlex.quote(sys.base_prefix)} /mnt/python",
    ]
    closed = next((one for one in reversed(Path(sys.base_prefix).parents) if not one.stat().st_mode & stat.S_IXOTH), "")
    if closed:
        # An interpreter finds its own library only at its original path.
        lines += [
            f"mount -t tmpfs -o mode=755 none {shlex.quote(str(closed))}",
            f"mkdir -p {shlex.quote(sys.base_prefix)} && mount --bind /mnt/python {shlex.quote(sys.base_prefix)}",
        ]
    if docker_host:
        socket = shlex.quote(docker_host.removeprefix("unix://"))
        lines.append(f"touch /mnt/engine && mount --bind {socket} /mnt/engine && chown {UID} /mnt/engine")
        variables["DOCKER_HOST"] = "unix:///mnt/engine"
    # An engine sees the folders of the machine, and none of the private namespace.
    own = tempfile.TemporaryDirectory(prefix="ordinary-", dir="/tmp") if docker_host else contextlib.nullcontext("/mnt")
    with own as place, _handed_down() if groups else contextlib.nullcontext([]) as folders:
        lines += [
            f"chmod 755 {place}",
            f"install -d -m 700 -o {UID} -g {UID} {place}/home {place}/tmp",
        ]
        variables |= {"HOME": f"{place}/home", "TMPDIR": f"{place}/tmp", **(env or {})}
        lines += [f"echo $$ > {shlex.quote(str(folder))}/cgroup.procs" for folder in folders]
        drop = f"setpriv --reuid={UID} --regid={UID} --clear-groups"
        lines.append(f"cd / && exec {drop} {shlex.join([PYTHON, *arguments])}")
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(lines)]
        return subprocess.run(command, capture_output=True, text=True, cwd="/", env=variables, timeout=timeout)


@contextlib.contextmanager
def _handed_down() -> Iterator[list[Path]]:
    """Control groups that belong to the user; yields those for a process to enter."""
    place = cgroups.find()
    if place is None:
        raise RuntimeError("root cannot make control groups here")
    made = list(dict.fromkeys(place.groups(f"tests-{secrets.token_hex(6)}").values()))
    entered = []
    try:
        for folder in made:
            folder.mkdir()
            inner = folder
            if place.unified is not None:
                # Version 2: a group that hands controllers down holds no process itself.
                given = (folder / "cgroup.controllers").read_text().split()
                (folder / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in given))
                inner = folder / "shell"
                inner.mkdir()
            entered.append(inner)
            for path in {folder, inner}:
                for name in (path, path / "cgroup.procs", path / "cgroup.subtree_control"):
                    if name.exists():
                        os.chown(name, UID, UID)
        yield entered
    finally:
        for folder in made:
            # With everything that its sandboxes have left: the tests look for that before.
            cgroups.remove_groups(folder.glob(f"{cgroups.PREFIX}*"))
            for inner in (folder / "shell", folder):
                _remove(inner)


def _remove(folder: Path) -> None:
    until = time.monotonic() + 5.0
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            # One of its processes is still ending.
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
