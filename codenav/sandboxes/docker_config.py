"""The request that creates a container, made from a specification. It sets everything the container may do."""

from __future__ import annotations

import mmap
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import SandboxSpec
from codenav.sandboxes.binds import Bind, open_to_all
from codenav.sandboxes.cgroups import BESIDE_BYTES, BESIDE_PROCESSES
from codenav.sandboxes.guest_environment import WORK_FOLDERS, folder_sizes
from codenav.sandboxes.launch import GUEST_ENVIRONMENT
from codenav.sandboxes.places import within

UID = 1000
"""User id of the code if the image names no user of its own, and of pip in a build. Neither is root."""
PYTHONS = ("python3", "python")
"""Names of the interpreter. The first one that the image has is used."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path of an image that names none."""
NO_PROGRAM = ("executable file not found", "no such file")
"""Words of an engine that does not find the program in the image."""
INODES = 100_000
"""Most files in the work folder, and in /tmp."""
CPU_PERIOD = 100_000
"""Microseconds, the engine's own default.

A quota is not checked against the number of processors, which may be lower than the limit.
"""


def work_folder(who: str, shown: Sequence[Bind]) -> str:
    """Return the path of the work folder inside, away from bound paths.

    The engine gives a private folder the mode of the folder at that place in the image, and it cannot assign it to a
    user that it knows only by name. For such a user the path must be one that no image has.
    """
    taken = [bind.target for bind in shown]
    for folder in WORK_FOLDERS if who.partition(":")[0].isdigit() else ():
        if not any(within(path, folder) or within(folder, path) for path in taken):
            return folder
    return "/codenav-work-folder"


def container_config(
    spec: SandboxSpec,
    *,
    image: Mapping[str, Any],
    who: str,
    work: str,
    shown: Sequence[Bind],
    labels: Mapping[str, str],
    command: Sequence[str],
    plain: bool = False,
    sysctls: bool = True,
) -> dict[str, Any]:
    """Return the body of the engine's `POST /containers/create`.

    `image` is the engine's description of the image, `who` the result of `user`, `shown` the binds of host paths.
    `plain` leaves out options of private folders that Podman lacks. Without `sysctls` nothing is set that a rootless
    engine may not set.
    """
    resources = spec.resources
    mounts = [_bound(bind) for bind in shown]
    in_work, scratch = folder_sizes(resources)
    tmpfs = {work: _tmpfs(in_work, who, plain), "/tmp": _tmpfs(scratch, "", plain)}
    host: dict[str, Any] = {
        "AutoRemove": True,
        "Init": False,
        "NetworkMode": spec.network,
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Memory": resources.memory_bytes + BESIDE_BYTES,
        "MemorySwap": resources.memory_bytes + BESIDE_BYTES,
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": max(1000, int(resources.cpus * CPU_PERIOD)),
        "PidsLimit": resources.processes + BESIDE_PROCESSES,
        "ShmSize": scratch,
        "Tmpfs": tmpfs,
        "Mounts": mounts,
        "LogConfig": {"Type": "none", "Config": {}},
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "IpcMode": "private",
    }
    if sysctls:
        # System V shared memory outlives every process: to kill them all would free none of it.
        host["Sysctls"] = {"kernel.shmall": str(scratch // mmap.PAGESIZE), "kernel.shm_rmid_forced": "1"}
    if spec.runtime:
        host["Runtime"] = spec.runtime
    if spec.gpus:
        host["DeviceRequests"] = [_gpus(spec.gpus)]
    return {
        "Image": image["Id"],
        "User": who,
        "Hostname": "sandbox",
        "WorkingDir": "/",
        "Entrypoint": list(command),
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in GUEST_ENVIRONMENT.items()],
        "Labels": dict(labels),
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "NetworkDisabled": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": host,
    }


def user(image: Mapping[str, Any], shown: Sequence[Bind]) -> str:
    """Return the user who runs the code, never root: this user if any of their folders are bound, else the image's.

    Raises:
        SandboxUnavailable: this process is root, and a path to be bound is closed to other users.
    """
    own = os.geteuid()
    if own and shown:
        return f"{own}:{os.getegid()}"
    for bind in shown:
        if os.path.exists(bind.source) and not open_to_all(bind.source):
            raise SandboxUnavailable(
                f"{bind.target} is closed to other users, and the code does not run as root",
                hint=f"chmod o+rx {shlex.quote(bind.target)}",
            )
    named = str((image.get("Config") or {}).get("User") or "")
    return named if named.partition(":")[0] not in ("", "0", "root") else f"{UID}:{UID}"


def _tmpfs(size: int, owner: str, plain: bool) -> str:
    """Return the mount options of a private folder.

    If the image has a folder there its mode applies, but the owner given here always does.
    """
    uid, _, gid = owner.partition(":")
    owned = f",uid={uid},gid={gid if gid.isdigit() else uid}" if uid.isdigit() else ""
    return f"rw,exec,nosuid,nodev,mode=1777,size={size}" + ("" if plain else f",nr_inodes={INODES}{owned}")


def _bound(bind: Bind) -> dict[str, Any]:
    options = {"Propagation": "rprivate", "NonRecursive": not bind.writable}
    return {"Type": "bind", "Source": bind.source, "Target": bind.target, "ReadOnly": not bind.writable,
            "BindOptions": options}  # fmt: skip


def _gpus(wanted: str) -> dict[str, Any]:
    request: dict[str, Any] = {"Driver": "", "Capabilities": [["gpu"]]}
    if wanted == "all":
        return {**request, "Count": -1}
    if wanted.isdigit():
        return {**request, "Count": int(wanted)}
    return {**request, "DeviceIDs": wanted.split(",")}


def container_name() -> str:
    """Return a name that no other container has."""
    return f"codenav-{secrets.token_hex(6)}"
