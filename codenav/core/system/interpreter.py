"""The Python in which packages are found and in which the sandbox runs code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.core.errors import NotFound, UsageError

OLDEST = (3, 8)
"""The oldest version that the guest of the sandbox supports."""

_PROBE = """
import json, sys
from importlib import metadata
found = {}
for item in metadata.distributions():
    name = item.metadata["Name"]
    if name and name not in found:
        found[name] = item.version
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.prefix, "base_prefix": sys.base_prefix,
    "paths": [p for p in sys.path if p], "distributions": sorted(found.items()),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A CPython and the packages that it can import."""

    executable: Path
    """The path as named: inside a virtual environment the environment's own `python`."""
    version: str
    """The version, such as `3.11.7`."""
    prefix: Path
    base_prefix: Path
    """The folder of the standard library; the same as `prefix` outside a virtual environment."""
    paths: tuple[Path, ...]
    """Its `sys.path`, including editable installs."""
    distributions: tuple[tuple[str, str], ...] = ()
    """The installed distributions: name and version, sorted by name."""

    def version_of(self, distribution: str) -> str | None:
        """The installed version of a distribution, by its normalised name; None where it is not installed."""
        wanted = normalise(distribution)
        return next((version for name, version in self.distributions if normalise(name) == wanted), None)


def normalise(distribution: str) -> str:
    """The comparable form of a distribution's name (PEP 503)."""
    return distribution.lower().replace("_", "-").replace(".", "-")


def find_interpreter(named: str | os.PathLike[str] | None = None) -> Interpreter:
    """The interpreter at a path, or in the virtual environment at a path.

    Without a path: the active virtual environment (`VIRTUAL_ENV`, `CONDA_PREFIX`), else the interpreter that runs
    codenav.

    Raises:
        NotFound: there is no Python at that path.
        UsageError: it does not start, or is older than 3.8.
    """
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if named is not None:
        return _probe(_executable(Path(named).expanduser()))
    if active and Path(active, "bin", "python").exists():
        return _probe(_normal(Path(active, "bin", "python")))
    return _probe(Path(sys.executable))


def _executable(path: Path) -> Path:
    path = _normal(path)
    if path.is_dir():
        inside = path / "bin" / "python"
        if not inside.exists():
            raise NotFound(f"no Python in {path}", hint=f"python3 -m venv {path}")
        return inside
    if not path.exists():
        raise NotFound(f"no such interpreter: {path}", hint="name a Python executable or a virtual environment")
    return path


def _normal(path: Path) -> Path:
    """Make a path absolute and free of `..`, which leads elsewhere after a link.

    A link at its end stays: by its name the interpreter of a virtual environment finds that.
    """
    if ".." not in path.parts:
        return Path(os.path.abspath(path))
    return Path(os.path.realpath(path)) if path.is_dir() else Path(os.path.realpath(path.parent), path.name)


_known: dict[Path, tuple[Sequence[object], Interpreter]] = {}


def _probe(executable: Path) -> Interpreter:
    """Ask an interpreter for its facts, which takes 0.1 s; a later call asks again only if its folders have changed."""
    stamps, known = _known.get(executable, ((), None))
    if known is not None and stamps == _stamps(known):
        return known
    found = _asked(executable)
    _known[executable] = (_stamps(found), found)
    return found


def _stamps(interpreter: Interpreter) -> Sequence[object]:
    """Where the executable is, and it and the folders that it imports from as they are now; 0 for missing ones."""
    executable = interpreter.executable
    stamps: list[object] = [os.path.realpath(executable)]
    for path in (executable, executable.parent.parent / "pyvenv.cfg", *interpreter.paths):
        try:
            found = path.stat()
            stamps += found.st_ino, found.st_mtime_ns
        except OSError:
            stamps.append(0)
    return stamps


def _asked(executable: Path) -> Interpreter:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [str(executable), "-c", _PROBE], capture_output=True, text=True, env=clean, cwd="/", timeout=60
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"{executable} does not work as a Python interpreter",
            hint="name a CPython 3.8 or later, or a virtual environment, with --python",
        ) from error
    if tuple(int(part) for part in found["version"].split(".")[:2]) < OLDEST:
        raise UsageError(f"{executable} is Python {found['version']}", hint="codenav runs code on CPython 3.8 or later")
    return Interpreter(
        executable=executable,
        version=found["version"],
        prefix=Path(found["prefix"]),
        base_prefix=Path(found["base_prefix"]),
        paths=tuple(Path(path) for path in found["paths"]),
        distributions=tuple((name, version) for name, version in found["distributions"]),
    )
