"""What of the host is bound into a sandbox: the interpreter, its packages, the code base; live folders."""

from __future__ import annotations

import functools
import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codenav.errors import SandboxUnavailable, UsageError
from codenav.execution import Mount, SandboxSpec
from codenav.sandboxes.mounts import checked_mounts

NOBODY = 65534
STAGE = "/sys/kernel"
"""Where, in a private mount namespace, a tmpfs holds what the dropped user could not reach. Every Linux has it, and
nothing in it is ever bound."""

SECRETS = (".env", ".git")
"""Masked at the top of each bound folder."""

MOST_ENTRIES = 200
"""Of a closed folder; a bind mount takes a millisecond."""

_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
_TOO_WIDE = ("/", "/home", "/root", "/etc", "/var", "/proc", "/sys", "/dev", "/run", "/boot")


@functools.cache
def as_nobody() -> bool:
    """Whether bubblewrap is started as nobody: by root, unless root is only called so.

    In a user namespace of a single user there is nobody else to become, and its root is an ordinary user outside.
    """
    if os.geteuid() != 0:
        return False
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = [[int(number) for number in line.split()] for line in lines]
    return any(inside <= NOBODY < inside + count for inside, _, count in ranges)


@dataclass(frozen=True, slots=True)
class Bind:
    """Something of the host that appears inside."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Binds:
    """Absolute paths of the host that appear inside at the same place."""

    paths: tuple[str, ...]
    """Read-only."""
    mounts: tuple[Mount, ...] = ()
    """Checked."""

    @classmethod
    def of(cls, spec: SandboxSpec) -> Binds:
        """What a specification needs.

        Raises:
            UsageError: an import path is the whole disk, a system folder or the home folder; a mount is refused, or
                nobody could write to it.
        """
        for path in spec.import_paths:
            if str(path) in (*_TOO_WIDE, os.path.expanduser("~")):
                raise UsageError(f"{path} is too wide to be bound into a sandbox", hint="name the project's own folder")
        python = spec.python
        wanted = [str(python.prefix), str(python.base_prefix), *_executable_folders(python.executable)]
        wanted += [str(path) for path in (*python.paths, *spec.import_paths)]
        existing = [path for path in dict.fromkeys(os.path.abspath(one) for one in wanted) if os.path.exists(path)]
        chosen = [path for path in existing if path not in _TOO_WIDE and not _within(path, _SYSTEM)]
        outer = sorted(chosen, key=len)
        mounts = checked_mounts(spec.mounts)
        for mount in mounts:
            if mount.writable and as_nobody() and not _writable_by_nobody(mount.on_host):
                raise UsageError(
                    f"as root the sandbox runs as nobody, who cannot write to {mount.path}",
                    hint=f"chown nobody {shlex.quote(str(mount.path))}, or mount it read-only",
                )
        kept = (path for path in outer if not _within(path, [one for one in outer if one != path]))
        return cls(tuple(kept), tuple(mounts))

    def binds(self) -> list[Bind]:
        """In order: a later one may cover a part of an earlier one."""
        found = [Bind(path, path) for path in self.paths]
        found += [Bind(str(mount.on_host), str(mount.path), mount.writable) for mount in self.mounts]
        return sorted(found, key=lambda bind: bind.target.rstrip("/").count("/"))

    def touches(self, folder: str) -> bool:
        """Whether something is bound at, in or above a folder."""
        paths = [*self.paths, *(str(mount.path) for mount in self.mounts)]
        return any(_within(path, [folder]) or _within(folder, [path]) for path in paths)

    def masks(self) -> list[tuple[str, bool]]:
        """Files (False) and folders (True) that are covered; in a closed folder, see `stage`, they are left out."""
        found = []
        for path in self.paths:
            if as_nobody() and not _open_to_all(path):
                continue
            for name in SECRETS:
                secret = os.path.join(path, name)
                try:
                    mode = os.lstat(secret).st_mode
                except OSError:
                    continue
                if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                    found.append((secret, stat.S_ISDIR(mode)))
        return found


def _within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _executable_folders(executable: Path) -> list[str]:
    """The prefix of each link between an executable's name and its file."""
    found, path = [], os.path.abspath(executable)
    for _ in range(40):
        folder = os.path.dirname(path)
        found.append(os.path.dirname(folder) if os.path.basename(folder) == "bin" else path)
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(folder, os.readlink(path)))
    return found


def stage(binds: Sequence[Bind]) -> tuple[list[Bind], list[str]]:
    """The same from sources that the user who starts bubblewrap can reach, and the shell lines that make them so.

    As root that user is nobody: what lies under a folder that nobody may not enter is bound into a tmpfs,
    in a mount namespace of its own, which ends with its last process. A folder that is itself closed to others
    (as `mktemp -d` makes it) is bound entry by entry, if it is to be read only.

    Raises:
        SandboxUnavailable: such a folder has too many entries.
    """
    staged, lines = [], []
    for number, bind in enumerate(binds):
        source = bind.source
        if not as_nobody() or (_reachable(source) and _open_to_all(source)):
            staged.append(bind)
            continue
        place = f"{STAGE}/{number}"
        if _open_to_all(source) or bind.writable or not os.path.isdir(source):
            lines += _bind(source, place)
        else:
            lines += [f"mkdir {place}", *_bind_entries(source, place)]
        staged.append(replace(bind, source=place))
    if lines:
        lines.insert(0, f"mount -t tmpfs -o mode=0755,nosuid,nodev,size=4m codenav {STAGE}")
    return staged, lines


def _bind_entries(source: str, place: str) -> list[str]:
    names = sorted(name for name in os.listdir(source) if name not in SECRETS)
    if len(names) > MOST_ENTRIES:
        raise SandboxUnavailable(
            f"{source} is closed to other users, and as root the sandbox runs as nobody",
            hint=f"chmod o+rx {shlex.quote(source)}",
        )
    lines = []
    for name in names:
        lines += _bind(os.path.join(source, name), f"{place}/{shlex.quote(name)}")
    return lines


def _bind(source: str, place: str) -> list[str]:
    make = f"mkdir {place}" if os.path.isdir(source) else f": > {place}"
    return [make, f"mount --bind {shlex.quote(os.path.realpath(source))} {place}"] if os.path.exists(source) else []


def _reachable(path: str) -> bool:
    """Whether others may enter every folder on the way, links followed."""
    return all(os.stat(folder).st_mode & stat.S_IXOTH for folder in Path(os.path.realpath(path)).parents)


def _open_to_all(path: str) -> bool:
    """Whether others may read a file, or read and enter a folder."""
    wanted = stat.S_IROTH | (stat.S_IXOTH if os.path.isdir(path) else 0)
    return os.stat(path).st_mode & wanted == wanted


def _writable_by_nobody(path: Path) -> bool:
    found = path.stat()
    shift = 6 if found.st_uid == NOBODY else 3 if found.st_gid == NOBODY else 0
    return found.st_mode >> shift & 0o3 == 0o3
