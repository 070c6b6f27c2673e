"""A git work tree as the files in its `.git` describe it, tracked paths and settings; git itself is not run."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_LINK = 0o160000
"""The mode of a submodule in the index."""
_CONFIG_BYTES = 1_000_000
_INCLUDES = 10
"""The most levels of included settings, as in git."""


@dataclass(frozen=True)
class WorkTree:
    """A folder that git keeps."""

    top: str
    """Absolute."""
    git: Path
    """The folder of what belongs to this work tree alone: its index."""
    common: Path
    """The folder of what all work trees of the repository share; for the main one the same as `git`."""

    @classmethod
    def at(cls, top: str) -> WorkTree | None:
        """The work tree whose top folder that is; None if it is none."""
        git = Path(top, ".git")
        try:
            if git.is_file():
                # In linked work trees and in submodules.
                text = git.read_bytes()[:10_000].decode("utf-8", "surrogateescape")
                if not text.startswith("gitdir:"):
                    return None
                git = git.parent / text.removeprefix("gitdir:").strip()
            if not (git / "HEAD").is_file():
                return None
            shared = git / "commondir"
            common = git / shared.read_text(encoding="utf-8").strip() if shared.is_file() else git
            return cls(top, git, Path(os.path.realpath(common)))
        except (OSError, ValueError):
            return None

    @property
    def main(self) -> Path | None:
        """The top of the repository's main work tree; None for a bare repository."""
        return self.common.parent if self.common.name == ".git" else None

    @property
    def excludes(self) -> tuple[Path, Path]:
        """The files of ignore rules beside `.gitignore`: the user's, and the repository's, which goes first."""
        settings = [*_all_settings(), *_settings(self.common / "config")]
        named = dict(settings).get("core.excludesfile")
        user = _home("git/ignore") if named is None else Path(self.top, os.path.expanduser(named))
        return user, self.common / "info" / "exclude"

    @cached_property
    def tracked(self) -> frozenset[str]:
        """The tracked paths relative to `top`, submodules and the folders that hold them included.

        They are spelled with one character per byte, as `spelled` gives them.
        """
        try:
            paths = set(_entries(self.git / "index"))
        except (OSError, ValueError, IndexError, struct.error):
            # There is none before the first `git add`.
            return frozenset()
        folders: set[str] = set()
        for path in paths:
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        return frozenset(paths | folders)

    def tracks(self, path: str) -> bool:
        """True if an absolute path below `top` is tracked, or is a folder that holds something tracked."""
        return spelled(path[len(self.top) :].strip("/")) in self.tracked


def spelled(path: str) -> str:
    """A path or a rule with one character per byte: git matches and sorts bytes."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _entries(file: Path) -> Iterator[str]:
    """The paths in an index of git with SHA-1 (gitformat-index(5)); not those in the shared part of a split one."""
    data = file.read_bytes()
    sign, version, count = struct.unpack(">4sII", data[:12])
    if sign != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(f"{file} is no index that is known")
    at, path = 12, b""
    for _ in range(count):
        flags = at + 60
        begin = flags + (4 if data[flags] & 0x40 else 2)
        if version == 4:
            cut, begin = _offset(data, begin)
            end = data.index(0, begin)
            path = path[: len(path) - cut] + data[begin:end]
            at = end + 1
        else:
            end = data.index(0, begin)
            path = data[begin:end]
            # Entries are padded with 1 to 8 NULs.
            at += (end - at + 8) & ~7
        yield path.decode("latin-1").rstrip("/")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and the position after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | data[at] & 0x7F
    return value, at + 1


def _home(name: str) -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), name)


def _all_settings() -> Iterator[tuple[str, str]]:
    """The settings of the machine and of the user, in the order in which later ones win (git-config(1))."""
    if os.environ.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        yield from _settings(Path(os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")))
    if (only := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield from _settings(Path(only))
        return
    yield from _settings(_home("git/config"))
    yield from _settings(Path(os.path.expanduser("~/.gitconfig")))


_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r'\s*([A-Za-z][\w-]*)\s*(?:=\s*((?:[^"\\#;]|\\.|"(?:[^"\\]|\\.)*")*))?')
_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^"\\]|\\.)+)')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def _settings(file: Path, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The settings in a file and in those that it includes; `includeIf` is not followed."""
    try:
        if depth > _INCLUDES or not file.is_file() or file.stat().st_size > _CONFIG_BYTES:
            return
        text = file.read_bytes().decode("utf-8-sig", "surrogateescape")
    except (OSError, ValueError):
        return
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        head = _SECTION.match(line.strip())
        if head:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
        setting = _SETTING.match(line.strip(), head.end() if head else 0)
        if setting and section:
            name, value = f"{section}.{setting[1].lower()}", _value(setting[2] or "")
            yield name, value
            if name == "include.path" and value:
                yield from _settings(file.parent / os.path.expanduser(value), depth + 1)


def _value(written: str) -> str:
    """A value without its quotes and escapes."""
    pairs = _PART.findall(written.strip())
    return "".join(
        re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), one or other) for one, other in pairs
    )
