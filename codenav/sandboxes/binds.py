"""The parts of the host bound into a sandbox: the interpreter, its packages, code bases and mounted folders."""

from __future__ import annotations

import functools
import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import Mount, SandboxSpec
from codenav.sandboxes.code_copy import dockerignored, is_left_out
from codenav.sandboxes.copies import CodeCopy, copied
from codenav.sandboxes.filenames import name_list
from codenav.sandboxes.interpreter_binds import InterpreterBinds
from codenav.sandboxes.mount_policy import checked_mounts
from codenav.sandboxes.places import why_not, within

NOBODY = 65534
STAGE = "/sys/kernel"
"""Mount point, in a private mount namespace, of a tmpfs for files that the unprivileged user could not reach.

Every Linux has this folder, and nothing in it is ever bound.
"""

MOST_ENTRIES = 200
"""Most entries of a closed folder to bind one by one. Each bind mount takes a millisecond."""


@functools.cache
def as_nobody() -> bool:
    """True if bubblewrap is started as nobody, which is the case for real root.

    A user namespace with a single user has no nobody to switch to, and its root is an ordinary user outside.
    """
    if os.geteuid() != 0:
        return False
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = [[int(number) for number in line.split()] for line in lines]
    return any(inside <= NOBODY < inside + count for inside, _, count in ranges)


@dataclass(frozen=True, slots=True)
class Bind:
    """A path of the host and the place where it appears in the sandbox."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Binds:
    """The host paths to bind, the symbolic links to create, and the copies behind them."""

    shown: tuple[Bind, ...]
    """The interpreter, code bases and mounted folders. Outer folders come before the folders inside them."""
    links: tuple[tuple[str, str], ...] = ()
    """Symbolic links to create, as pairs of place and target."""
    notice: str = ""
    """Differences from what was requested."""
    copies: tuple[CodeCopy, ...] = field(default=(), repr=False)
    """Code copies. They have to be held for as long as they are bound."""

    @classmethod
    def of(cls, spec: SandboxSpec) -> Binds:
        """Return the binds that a specification needs in bubblewrap.

        Raises:
            UsageError: a code base or a mount is refused, the user nobody could not write to a writable mount, or the
                parts of the interpreter that are safe to bind do not include its standard library.
        """
        python = InterpreterBinds.of(spec.python)
        left_out = [f"{path} is on the path of {spec.python.executable}, and is not bound" for path in python.left_out]
        made = cls.of_code(
            spec.import_paths, spec.mounts, beside=python.projects, live=python.paths, seen=python.packages
        )
        for mount in spec.mounts:
            if mount.writable and as_nobody() and not _writable_by_nobody(mount.on_host):
                raise UsageError(
                    f"as root the sandbox runs as nobody, who cannot write to {mount.path}",
                    hint=f"chown nobody {shlex.quote(str(mount.path))}, or mount it read-only",
                )
        # A link above or below a bound path would collide with it.
        links = [link for link in python.links if not made.touches(link[0])]
        return replace(made, links=tuple(links), notice="; ".join([*left_out, *filter(None, [made.notice])]))

    @classmethod
    def of_code(
        cls, asked: Sequence[Path], mounts: Sequence[Mount], *, beside: Sequence[str] = (), live: Sequence[str] = (),
        seen: Sequence[str] = (), ignore: bool = False,
    ) -> Binds:  # fmt: skip
        """Return binds for copies of code bases, for the live paths `live`, and for mounts.

        Code bases that lie within `live` or `seen` are not bound again. Code in `beside` that is too large is left
        out with a notice. `ignore` leaves out what a `.dockerignore` names, as an image does.

        Raises:
            UsageError: a code base or mount is refused, or a requested one is too large.
        """
        code = [*asked, *map(Path, beside)]
        for path in code:
            reason = why_not(path)
            if reason:
                raise UsageError(
                    f"{path} is too wide to be bound into a sandbox: {reason}", hint="name the project's own folder"
                )
        checked = checked_mounts(mounts)
        roots = _outer([os.path.abspath(path) for path in code if path.exists()], [*live, *seen])
        frozen = [str(mount.path) for mount in checked if not mount.live]
        places = [*live, *roots, *(str(mount.path) for mount in checked)]
        sources = {str(mount.path): str(mount.on_host) for mount in checked}
        notices = [mount.notice for mount in checked if mount.notice]
        copies = {}
        for place in [*roots, *frozen]:
            real = os.path.realpath(sources.get(place, place))
            holes = [
                os.path.join(real, os.path.relpath(one, place)) for one in places if one != place and within(one, place)
            ]
            try:
                ignored = dockerignored(Path(real)) if ignore and place in roots else None
                copies[place] = copied(real, holes=holes, ignored=ignored, by_content=place not in frozen)
                if copies[place].secrets:
                    notices.append(_left_out(place, copies[place].secrets))
            except UsageError as error:
                if place not in beside or Path(place) in asked:
                    raise
                notices.append(f"{error}: it is on the interpreter's path, and is not bound")
        found = [Bind(os.path.realpath(path), path) for path in live]
        found += [Bind(copy.path, place) for place, copy in copies.items()]
        found += [Bind(os.path.realpath(one.on_host), str(one.path), one.writable) for one in checked if one.live]
        found.sort(key=lambda bind: bind.target.rstrip("/").count("/"))
        return cls(tuple(found), notice="; ".join(notices), copies=tuple(copies.values()))

    def touches(self, folder: str) -> bool:
        """True if something is bound at, in or above a folder."""
        return any(within(bind.target, folder) or within(folder, bind.target) for bind in self.shown)


def _outer(paths: Sequence[str], live: Sequence[str]) -> list[str]:
    """Return the paths that neither the copy of another path nor a live path already shows."""
    found: list[str] = []
    for path in sorted(dict.fromkeys(paths), key=len):
        copied_with = any(within(path, outer) and not is_left_out(path, outer) for outer in found)
        if not copied_with and not any(within(path, one) for one in live):
            found.append(path)
    return found


def _left_out(place: str, secrets: Sequence[str]) -> str:
    folder = os.path.dirname(os.path.join(place, secrets[0]))
    return f"left out of {place}, as secrets: {name_list(secrets)} (--mount {folder} shows what lies in it)"


def stage(binds: Sequence[Bind]) -> tuple[list[Bind], list[str]]:
    """Return binds whose sources the user who starts bubblewrap can reach, and the shell lines that prepare them.

    When codenav runs as root that user is nobody. A path below a folder that nobody may not enter is bound into a
    tmpfs, in a private mount namespace that ends with its last process. A folder that is itself closed to others
    (as `mktemp -d` makes it) is bound entry by entry if it is read-only.

    Raises:
        SandboxUnavailable: such a folder has too many entries.
    """
    staged, folders, inner = [], [], []
    for number, bind in enumerate(binds):
        # Where links lead, since that is what is looked at: nobody may be kept from the links themselves.
        source = os.path.realpath(bind.source)
        if not as_nobody() or (_reachable(source) and open_to_all(source)):
            staged.append(replace(bind, source=source))
            continue
        place = f"{STAGE}/{number}"
        if open_to_all(source) or bind.writable or not os.path.isdir(source):
            inner.append((source, place))
        else:
            folders.append(place)
            inner += [(os.path.join(source, name), f"{place}/{name}") for name in _entries(source)]
        staged.append(replace(bind, source=place))
    there = [(source, place) for source, place in inner if os.path.exists(source)]
    folders += [place for source, place in there if os.path.isdir(source)]
    if not folders and not there:
        return staged, []
    return staged, [
        f"mount -t tmpfs -o mode=0755,nosuid,nodev,size=4m codenav {STAGE}",
        *([f"mkdir {shlex.join(folders)}"] if folders else []),
        *(f": > {shlex.quote(place)}" for _, place in there if place not in folders),
        *(f"mount --bind {shlex.join(pair)}" for pair in there),
    ]


def _entries(source: str) -> list[str]:
    names = sorted(os.listdir(source))
    if len(names) > MOST_ENTRIES:
        raise SandboxUnavailable(
            f"{source} is closed to other users, and as root the sandbox runs as nobody",
            hint=f"chmod o+rx {shlex.quote(source)}",
        )
    return names


def _reachable(path: str) -> bool:
    """True if others may enter every folder above a path without links."""
    return all(os.stat(folder).st_mode & stat.S_IXOTH for folder in Path(path).parents)


def open_to_all(path: str) -> bool:
    """True if others may read a file, or read and enter a folder."""
    wanted = stat.S_IROTH | (stat.S_IXOTH if os.path.isdir(path) else 0)
    return os.stat(path).st_mode & wanted == wanted


def _writable_by_nobody(path: Path) -> bool:
    found = path.stat()
    shift = 6 if found.st_uid == NOBODY else 3 if found.st_gid == NOBODY else 0
    return found.st_mode >> shift & 0o3 == 0o3
