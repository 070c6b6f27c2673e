"""The parts of an interpreter to bind: the whole installation if it has its own folder, else only its files."""

from __future__ import annotations

import glob
import os
from collections import deque
from dataclasses import dataclass, field

from codenav.core.errors import UsageError
from codenav.core.secrets.files import is_secret
from codenav.core.system.interpreter import Interpreter
from codenav.sandboxes.places import SYSTEM, too_wide, why_not, within

_PARTS = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
"""The parts of an installation that lies among other things, as `python -m venv .` creates it."""
_INSTALLED = frozenset((
    *_PARTS, "lib32", "libexec", "sbin", "share", "etc", "ssl", "man", "doc", "compiler_compat", "python", "build",
    ".gitignore", ".lock", "CACHEDIR.TAG", "BUILD", "LICENSE", "LICENSE.txt", "licenses",
))  # fmt: skip
"""Top-level names of a folder that contains an installation and nothing else."""
_PACKAGES = ("site-packages", "dist-packages")


@dataclass
class InterpreterBinds:
    """Paths of an interpreter to show live, links that lead to them, and paths that are not part of it."""

    paths: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Place and target of each link, in the order in which they are followed."""
    projects: list[str] = field(default_factory=list)
    """Code bases on the interpreter's path, usually added by a `.pth` file."""
    packages: list[str] = field(default_factory=list)
    """Folders on the interpreter's path within the system, which is bound anyway."""
    left_out: list[str] = field(default_factory=list)
    """Paths on the interpreter's path that are never bound."""

    @classmethod
    def of(cls, python: Interpreter) -> InterpreterBinds:
        """Collect the binds of an interpreter.

        Raises:
            UsageError: its standard library lies where nothing is ever bound.
        """
        made = cls()
        for prefix in dict.fromkeys((str(python.prefix), str(python.base_prefix))):
            made._add(*_parts(os.path.abspath(prefix), python))
        links, program = followed(str(python.executable))
        made._add(program)
        made.links = [(place, target) for place, target in links if not made.shows(place)]
        for path in dict.fromkeys(os.path.abspath(one) for one in python.paths):
            if within_any(path, made.paths) or not os.path.exists(path):
                continue
            if within_any(path, SYSTEM) and "/lib" in path:
                made.packages.append(path)
                continue
            if why_not(path):
                made.left_out.append(path)
            elif os.path.basename(path) in _PACKAGES:
                made._add(path)
            else:
                made.projects.append(path)
        if not any(os.path.exists(path / "os.py") and made.shows(str(path)) for path in python.paths):
            raise UsageError(
                f"the standard library of {python.executable} lies where nothing is bound into a sandbox",
                hint="name another interpreter with --python; python3 -m venv FOLDER makes one",
            )
        return made

    def shows(self, path: str) -> bool:
        """True if a path is bound, or part of the system."""
        return within_any(path, SYSTEM) or within_any(path, self.paths)

    def _add(self, *paths: str) -> None:
        for path in paths:
            if not self.shows(path) and os.path.exists(path):
                self.paths = [one for one in self.paths if not within(one, path)] + [path]


def within_any(path: str, folders: tuple[str, ...] | list[str]) -> bool:
    """True if a path is one of the folders, or lies below one."""
    return any(within(path, folder) for folder in folders)


def _parts(prefix: str, python: Interpreter) -> list[str]:
    """Return the paths to bind for an installation prefix."""
    try:
        names = os.listdir(prefix)
    except OSError:
        return []
    if within_any(prefix, SYSTEM):
        return []
    if too_wide(prefix) or too_wide(os.path.realpath(prefix)):
        version = ".".join(python.version.split(".")[:2])
        own = [f"{prefix}/{folder}/python{version}" for folder in ("lib", "lib64")]
        libraries = glob.glob(f"{glob.escape(prefix)}/lib*/libpython{version}*.so*")
        return [path for path in (*own, *libraries, f"{prefix}/pyvenv.cfg") if not why_not(path)]
    if "conda-meta" in names:
        # Libraries of any name lie in it and below.
        secrets = [name for name in names if is_secret(os.path.join(prefix, name))]
        return [os.path.join(prefix, name) for name in names if name not in secrets] if secrets else [prefix]
    if set(names) <= _INSTALLED:
        return [prefix]
    return [os.path.join(prefix, name) for name in _PARTS]


def followed(path: str) -> tuple[list[tuple[str, str]], str]:
    """Return the links on the way to a file, each with its target, and the real path of the file."""
    links: list[tuple[str, str]] = []
    at, waiting = "/", deque(os.path.abspath(path).split("/"))
    while waiting and len(links) < 40:
        part = waiting.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        place = os.path.join(at, part)
        if not os.path.islink(place):
            at = place
            continue
        target = os.readlink(place)
        links.append((place, target))
        waiting.extendleft(reversed(target.split("/")))
        at = "/" if os.path.isabs(target) else at
    return links, at
