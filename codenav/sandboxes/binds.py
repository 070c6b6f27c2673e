"""What of the host is bound into a sandbox: the interpreter, its packages, the code base; live folders."""

from __future__ import annotations

import functools
import os
import re
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codenav.errors import SandboxUnavailable, UsageError
from codenav.execution import Mount, SandboxSpec
from codenav.sandboxes.code_copy import Ignored, is_left_out
from codenav.sandboxes.copies import CodeCopy, copied
from codenav.sandboxes.interpreter_binds import InterpreterBinds
from codenav.sandboxes.mount_policy import checked_mounts
from codenav.sandboxes.places import why_not, within

NOBODY = 65534
STAGE = "/sys/kernel"
"""Where, in a private mount namespace, a tmpfs holds what the dropped user could not reach. Every Linux has it, and
nothing in it is ever bound."""

MOST_ENTRIES = 200
"""Of a closed folder; a bind mount takes a millisecond."""


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
    """What of the host appears inside at its own place."""

    shown: tuple[Bind, ...]
    """The interpreter, code bases, mounted folders; an outer one before what lies in it."""
    links: tuple[tuple[str, str], ...] = ()
    """Place and target."""
    notice: str = ""
    """What is not as it was asked for."""
    copies: tuple[CodeCopy, ...] = field(default=(), repr=False)
    """Have to be held for as long as they are bound."""

    @classmethod
    def of(cls, spec: SandboxSpec) -> Binds:
        """What a specification needs in bubblewrap.

        Raises:
            UsageError: a code base or a mount is refused, or nobody could write to it; no safe part of the interpreter
                is enough for it.
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
        # A link above or below something bound would be in its way.
        links = [link for link in python.links if not made.touches(link[0])]
        return replace(made, links=tuple(links), notice="; ".join([*left_out, *filter(None, [made.notice])]))

    @classmethod
    def of_code(
        cls, asked: Sequence[Path], mounts: Sequence[Mount], *, beside: Sequence[str] = (), live: Sequence[str] = (),
        seen: Sequence[str] = (), ignore: bool = False,
    ) -> Binds:  # fmt: skip
        """Code bases as copies, and mounts; `live` are paths of the host that are shown as they are, `seen` others.

        Code `beside` what was asked for is left out, and told, where it is too large; with `ignore` so is what a
        `.dockerignore` names, as it is of an image.

        Raises:
            UsageError: one is refused, or too large.
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
        told = [mount.notice for mount in checked if mount.notice]
        copies = {}
        for place in [*roots, *frozen]:
            real = os.path.realpath(sources.get(place, place))
            holes = [
                os.path.join(real, os.path.relpath(one, place)) for one in places if one != place and within(one, place)
            ]
            try:
                copies[place] = copied(real, holes=holes, ignored=_ignored(real) if ignore and place in roots else None)
            except UsageError as error:
                if place not in beside or Path(place) in asked:
                    raise
                told.append(f"{error}: it is on the interpreter's path, and is not bound")
        found = [Bind(os.path.realpath(path), path) for path in live]
        found += [Bind(copy.path, place) for place, copy in copies.items()]
        found += [Bind(os.path.realpath(one.on_host), str(one.path), one.writable) for one in checked if one.live]
        found.sort(key=lambda bind: bind.target.rstrip("/").count("/"))
        return cls(tuple(found), notice="; ".join(told), copies=tuple(copies.values()))

    def touches(self, folder: str) -> bool:
        """Whether something is bound at, in or above a folder."""
        return any(within(bind.target, folder) or within(folder, bind.target) for bind in self.shown)


def _outer(paths: Sequence[str], live: Sequence[str]) -> list[str]:
    """Those that no other one's copy shows, and nothing live."""
    found: list[str] = []
    for path in sorted(dict.fromkeys(paths), key=len):
        copied_with = any(within(path, outer) and not is_left_out(path, outer) for outer in found)
        if not copied_with and not any(within(path, one) for one in live):
            found.append(path)
    return found


def _ignored(root: str) -> Ignored | None:
    from codenav.sandboxes.images.code import ignored_in

    found: Ignored | None = ignored_in(Path(root))
    return found


def stage(binds: Sequence[Bind]) -> tuple[list[Bind], list[str]]:
    """The same from sources that the user who starts bubblewrap can reach, and the shell lines that make them so.

    As root that user is nobody: what lies under a folder that nobody may not enter is bound into a tmpfs,
    in a mount namespace of its own, which ends with its last process. A folder that is itself closed to others
    (as `mktemp -d` makes it) is bound entry by entry, if it is to be read only.

    Raises:
        SandboxUnavailable: such a folder has too many entries.
    """
    staged, parts = [], _Staged()
    for number, bind in enumerate(binds):
        source = bind.source
        if not as_nobody() or (_reachable(source) and _open_to_all(source)):
            staged.append(bind)
            continue
        place = f"{STAGE}/{number}"
        if _open_to_all(source) or bind.writable or not os.path.isdir(source):
            parts.add(source, place)
        else:
            parts.folders.append(place)
            for name in _entries(source):
                parts.add(os.path.join(source, name), f"{place}/{name}")
        staged.append(replace(bind, source=place))
    return staged, parts.lines()


@dataclass
class _Staged:
    """What is bound into the tmpfs, by as few programs as there can be: each takes milliseconds of a start."""

    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    table: list[str] = field(default_factory=list)
    """Lines of an fstab(5)."""

    def add(self, source: str, place: str) -> None:
        if os.path.exists(source):
            (self.folders if os.path.isdir(source) else self.files).append(place)
            self.table.append(f"{_in_table(os.path.realpath(source))} {_in_table(place)} none bind")

    def lines(self) -> list[str]:
        """Of the shell."""
        if not self.folders and not self.files:
            return []
        table = f"{STAGE}/table"
        return [
            f"mount -t tmpfs -o mode=0755,nosuid,nodev,size=4m codenav {STAGE}",
            *([f"mkdir {shlex.join(self.folders)}"] if self.folders else []),
            *(f": > {shlex.quote(file)}" for file in self.files),
            *([f"printf '%s\\n' {shlex.join(self.table)} > {table}"] if self.table else []),
            *([f"mount --all --fstab {table}"] if self.table else []),
        ]


def _in_table(path: str) -> str:
    """As fstab(5) writes what would end a field or a line, or begin a comment."""
    return re.sub(r"[\s\\#]", lambda match: f"\\{ord(match.group()):03o}", path, flags=re.ASCII)


def _entries(source: str) -> list[str]:
    names = sorted(os.listdir(source))
    if len(names) > MOST_ENTRIES:
        raise SandboxUnavailable(
            f"{source} is closed to other users, and as root the sandbox runs as nobody",
            hint=f"chmod o+rx {shlex.quote(source)}",
        )
    return names


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
