"""Requirements in pip's format, with the local files that they name."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from codenav.core.errors import NotFound, UsageError
from codenav.sandboxes.images.code import CodeBase

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz")
"""Endings of archives that pip can install from."""

_FILE = re.compile(r"(?P<option>-r|-c|--requirement|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(?P<path>\S.*)")
_LINKS = re.compile(r"(?P<option>-f|--find-links)(?:\s*=\s*|\s+|(?<=-f))(?P<path>\S.*)")
_EDITABLE = re.compile(r"(?:-e|--editable)(?:\s*=\s*|\s+)(?P<path>\S.*)")
_NAMED_URL = re.compile(r"[A-Za-z0-9][\w.\[\],-]*\s*@\s*(?P<url>file:\S+)(?P<rest>.*)")
_EXTRAS = re.compile(r"(?P<path>.+?)\[(?P<extras>[\w\s,.-]*)\]")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
"""Environment variables in the form that pip expands."""


@dataclass
class Requirements:
    """Requirements files for pip, by their names in the build."""

    names: list[str] = field(default_factory=list)
    """The files to install from. Other files are included by these."""
    texts: dict[str, str] = field(default_factory=dict)
    uploads: dict[str, Path] = field(default_factory=dict)
    """Local archives, and folders of them."""
    variables: set[str] = field(default_factory=set)
    """Environment variables that the files refer to."""
    origins: list[str] = field(default_factory=list)
    """The files that the requirements come from, for a person."""

    @classmethod
    def of(cls, files: Sequence[Path], code: Sequence[CodeBase], packages: Sequence[str]) -> Requirements:
        """Collect `files`, or what the code bases state if there are none, and packages by name and version.

        Raises:
            NotFound, UsageError: a file is missing, or names a folder that is not one of the code bases.
        """
        made = cls()
        for file in files:
            made.names.append(made._read(file, code))
            made.origins.append(str(file))
        if not files:
            for one in code:
                made._state(one, code)
        if packages:
            made._add("packages.txt", "\n".join(packages))
        return made

    def digest(self) -> str:
        """Return a hash of the texts and of single archives, but not of what an index or a folder offers."""
        whole = hashlib.sha256()
        for name in sorted(self.texts):
            whole.update(f"{name}\0{self.texts[name]}\0".encode())
        for name, path in sorted(self.uploads.items()):
            whole.update(name.encode() + (path.read_bytes() if path.is_file() else b""))
        return whole.hexdigest()

    def _state(self, code: CodeBase, others: Sequence[CodeBase]) -> None:
        """Add the requirements that a code base states in requirements.txt, or else in its metadata."""
        if code.project is None:
            return
        listed = code.project / "requirements.txt"
        if listed.is_file():
            self.names.append(self._read(listed, others))
            self.origins.append(str(listed))
            return
        stated, where = stated_requirements(code.project, ())
        if stated:
            self._add(f"{code.name}.txt", "\n".join(stated))
            self.origins.append(str(where))

    def _add(self, name: str, text: str) -> None:
        self.texts[name] = text + "\n"
        self.names.append(name)

    def _read(self, file: Path, code: Sequence[CodeBase]) -> str:
        """Read a file and those that it includes. Return its name in the build."""
        path = Path(os.path.abspath(file))
        name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}-{path.name}"
        if name in self.texts:
            return name
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"no such file of requirements: {file}", hint="--requirements FILE") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {file}: {error}", hint="--requirements FILE, a text file") from error
        self.texts[name] = ""
        self.variables.update(_VARIABLE.findall(text))
        lines = []
        for number, line in enumerate(re.sub(r"\\\r?\n", " ", text).splitlines(), 1):
            bare = re.sub(r"(^|\s)#.*$", "", line).strip()
            if bare:
                lines += self._line(bare, path, number, code)
        self.texts[name] = "\n".join(lines) + "\n"
        return name

    def _line(self, line: str, file: Path, number: int, code: Sequence[CodeBase]) -> list[str]:
        where = f"{file}, line {number}"
        if (match := _FILE.fullmatch(line)) and "://" not in match["path"]:
            return [f"{match['option']} {self._read(file.parent / match['path'].strip(), code)}"]
        if (match := _LINKS.fullmatch(line)) and (local := _local(match["path"], file.parent)):
            return [f"--find-links {self._upload(local, where)}"]
        match = _EDITABLE.fullmatch(line)
        wanted = match["path"] if match else line
        named = _NAMED_URL.fullmatch(wanted)
        wanted = named["url"] if named else wanted
        extras = _EXTRAS.fullmatch(wanted.partition(";")[0].strip())
        path = _local(extras["path"] if extras else wanted.partition(";")[0], file.parent)
        if path is None or not (match or named or _looks_local(wanted)):
            return [line]
        if path.is_file() and path.name.endswith(ARCHIVES):
            inner = f"{self._upload(path, where)}" + (f"[{extras['extras']}]" if extras else "")
            return [inner + wanted.partition(";")[1] + wanted.partition(";")[2]]
        if any(os.path.realpath(path) in map(os.path.realpath, (one.root, one.project or one.root)) for one in code):
            wished = [one.strip() for one in extras["extras"].split(",")] if extras else []
            return stated_requirements(path, wished)[0]
        if not path.exists():
            raise NotFound(f"{where}: {path} does not exist", hint=f"edit {file}")
        raise UsageError(
            f"{where}: {path} is a folder of this machine, which pip cannot see in the build",
            hint=f"--on {path}, which copies it into the image",
        )

    def _upload(self, path: Path, where: str) -> str:
        """Register a local file or folder. Return its path in the build, relative to the requirements files."""
        if not path.exists():
            raise NotFound(f"{where}: {path} does not exist")
        known = next((name for name, other in self.uploads.items() if other == path), "")
        # pip takes the properties of a wheel from its name, so the name is kept.
        name = known or f"files/{len(self.uploads)}/{path.name}"
        self.uploads[name] = path
        return f"./{name}"


def stated_requirements(folder: Path, extras: Sequence[str]) -> tuple[list[str], Path]:
    """Return the requirements that a project states, and the file they are in. Empty if only its build can tell.

    Raises:
        UsageError: its pyproject.toml or setup.cfg cannot be read.
    """
    project, config = folder / "pyproject.toml", folder / "setup.cfg"
    try:
        if project.is_file():
            table = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
            found = list(table.get("dependencies", []))
            for extra in extras:
                found += table.get("optional-dependencies", {}).get(extra, [])
            if found:
                return [str(one) for one in found], project
        if config.is_file():
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(config, encoding="utf-8")
            found = parser.get("options", "install_requires", fallback="").splitlines()
            for extra in extras:
                found += parser.get("options.extras_require", extra, fallback="").splitlines()
            return [one.strip() for one in found if one.strip() and not one.strip().startswith("#")], config
    except (OSError, ValueError, configparser.Error, AttributeError, TypeError) as error:
        raise UsageError(f"cannot read what {folder} requires: {error}", hint="--requirements FILE") from error
    return [], project


def _looks_local(wanted: str) -> bool:
    return wanted.startswith((".", "/", "~", "file:")) or wanted.partition(";")[0].strip().endswith(ARCHIVES)


def _local(wanted: str, folder: Path) -> Path | None:
    """Return the local path that is meant, or None for an address."""
    wanted = wanted.strip().strip("'\"")
    if wanted.startswith("file:"):
        return Path(os.path.abspath(folder / unquote(urlsplit(wanted).path)))
    if "://" in wanted or re.match(r"(git|hg|svn|bzr)\+", wanted):
        return None
    return Path(os.path.abspath(folder / os.path.expanduser(wanted)))
