"""What of the host is bound read-only into a sandbox: the interpreter, its packages, the code base."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.errors import SandboxUnavailable, UsageError
from codenav.execution import SandboxSpec

NOBODY = 65534
STAGE = "/sys"
"""Where, in a private mount namespace, a tmpfs holds what the dropped user could not reach. Every Linux has it."""

SECRETS = (".env", ".git")
"""Masked at the top of each bound folder."""

MOST_ENTRIES = 200
"""Of a closed folder; a bind mount takes a millisecond."""

_SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
_TOO_WIDE = ("/", "/home", "/root", "/etc", "/var", "/proc", "/sys", "/dev", "/run", "/boot")


@dataclass(frozen=True)
class Binds:
    """Absolute paths of the host that appear inside at the same place."""

    paths: tuple[str, ...]

    @classmethod
    def of(cls, spec: SandboxSpec) -> Binds:
        """What a specification needs.

        Raises:
            UsageError: an import path is the whole disk, a system folder or the home folder.
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
        return cls(tuple(path for path in outer if not _within(path, [one for one in outer if one != path])))

    def pairs(self) -> list[tuple[str, str]]:
        """Source and place inside."""
        return [(path, path) for path in self.paths]

    def touches(self, folder: str) -> bool:
        """Whether something is bound at, in or above a folder."""
        return any(_within(path, [folder]) or _within(folder, [path]) for path in self.paths)

    def masks(self) -> list[tuple[str, bool]]:
        """Files (False) and folders (True) that are covered; in a closed folder, see `stage`, they are left out."""
        found = []
        for path in self.paths:
            if os.geteuid() == 0 and not _open_to_all(path):
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


def stage(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Sources that the user who starts bubblewrap can reach, and the shell lines that make them so.

    As root that user is nobody: what lies under a folder that nobody may not enter is bound into a tmpfs,
    in a mount namespace of its own, which ends with its last process. A folder that is itself closed to others
    (as `mktemp -d` makes it) is bound entry by entry.

    Raises:
        SandboxUnavailable: such a folder has too many entries.
    """
    staged, lines = [], []
    for number, (source, target) in enumerate(pairs):
        if os.geteuid() != 0 or (_reachable(source) and _open_to_all(source)):
            staged.append((source, target))
            continue
        place = f"{STAGE}/{number}"
        if _open_to_all(source) or not os.path.isdir(source):
            lines += _bind(source, place)
        else:
            lines += [f"mkdir {place}", *_bind_entries(source, place)]
        staged.append((place, target))
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
