"""Digests of the files that a run wrote, by content: dates of writing or packing do not count."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from codenav.core.protocols import Sandbox
from codenav.core.system.bounded import Deadline

MOST_FILES = 200
"""Files compared in one run."""
READ_BYTES = 32 << 20
"""Bytes of a file, packed or unpacked, up to which its format is read; a larger one is compared byte by byte."""
LINES = 5000
"""Lines of a text file that is compared line by line."""
_CACHES = re.compile(r"(^|/)(__pycache__|\.ipynb_checkpoints|\.cache|\.config|\.matplotlib|\.mypy_cache)(/|$)|\.pyc$")
_DATED = {"docProps/core.xml", "docProps/app.xml", "meta.xml"}
"""Members of office files that hold the time of writing."""
_PDF = re.compile(rb"/(CreationDate|ModDate|ID)\s{0,9}(\([^)]{0,200}\)|\[[^\]]{0,200}\])|<xmp:\w{0,20}Date>[^<]{0,99}<")
_SVG = re.compile(rb"<dc:date>[^<]*<|(?<=[\"#])[mpci][0-9a-f]{10}(?=[\")])")
_FLOAT = re.compile(rb"(?<![\w.])-?\d+\.\d{10,}(?:[eE][-+]?\d+)?(?![\w.])")
WORDS = re.compile(r"\w+(?:[.:/+-]\w+)*|\s+|[^\w\s]")
"""The words of a text, and what is between them: a time, a path or a UUID is one word."""
_UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, NotImplementedError, RecursionError, zlib.error)


@dataclass(frozen=True)
class Content:
    """The content of a file, by a digest that leaves out dates, and in parts."""

    digest: str
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False, repr=False)
    """The words of each line, or a digest of each member of an archive; empty where it is compared as a whole only."""

    @property
    def places(self) -> Mapping[str, Sequence[str]]:
        """The parts, or the digest in their place."""
        return self.parts or {"": [self.digest]}


DELETED = Content("deleted")


@dataclass(frozen=True)
class Mounted:
    """A folder of the host that code in the sandbox may write to: as it was at first, and as it is now."""

    shown: Path
    """Its path for the code in the sandbox."""
    before: Path
    now: Path


def written(
    sandbox: Sandbox, inputs: Path | None, mounted: Sequence[Mounted] = (), *, deadline: Deadline
) -> dict[str, Content]:
    """The content of each new or changed file, by name; `DELETED` for a file that is gone.

    Files of the work folder have their relative names, files of a mount their whole paths.

    Raises:
        SandboxUnavailable: the sandbox does not tell.
        OutOfTime: it takes longer than the deadline allows.
    """
    found: dict[str, Content] = {}
    before = _files_in(inputs) if inputs else {}
    names = [name for name in sandbox.artifacts() if not _CACHES.search(name)]
    for name in names[: MOST_FILES + len(before)]:
        with tempfile.SpooledTemporaryFile(max_size=1 << 20) as file:
            sandbox.files.read_into(name, file)
            _note(found, name, file, before.get(name), deadline)
    found.update({name: DELETED for name in before if name not in names})
    for mount in mounted:
        first, last = _files_in(mount.before), _files_in(mount.now)
        for name, path in last.items():
            # The code inside may have put a link in its place since.
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                _note(found, str(mount.shown / name), file, first.get(name), deadline)
        found.update({str(mount.shown / name): DELETED for name in first if name not in last})
    return dict(list(found.items())[:MOST_FILES])


def _note(found: dict[str, Content], name: str, file: Any, before: Path | None, deadline: Deadline) -> None:
    deadline.check()
    raw = _raw(file)
    if before is not None:
        with before.open("rb") as old:
            if _raw(old) == raw:
                return
    file.seek(0)
    data = file.read(READ_BYTES + 1)
    found[name] = Content(raw) if len(data) > READ_BYTES else deadline.within(lambda: content_of(name, data))


def _raw(file: IO[bytes]) -> str:
    file.seek(0)
    hasher = hashlib.blake2b(digest_size=16)
    while piece := file.read(1 << 20):
        hasher.update(piece)
    return hasher.hexdigest()


def _files_in(folder: Path) -> dict[str, Path]:
    """Regular files by relative name; links are not followed."""
    found = {}
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(at, name)
            relative = str(path.relative_to(folder))
            try:
                if stat.S_ISREG(path.lstat().st_mode) and not _CACHES.search(relative):
                    found[relative] = path
            except OSError:
                continue
    return found


def content_of(name: str, data: bytes) -> Content:
    """The content of a file: archives by their files, without dates, floats to twelve digits."""
    pieces = list(_content(name, data))
    digest = hashlib.blake2b(b"\0".join(pieces), digest_size=16).hexdigest()
    if len(pieces) > 1:
        names, members = pieces[::2], pieces[1::2]
        parts = {name.decode("utf-8", "replace"): [_digest(piece)] for name, piece in zip(names, members, strict=False)}
        return Content(digest, parts)
    lines = pieces[0].split(b"\n") if pieces and b"\0" not in pieces[0][:4096] else []
    if not lines or len(lines) > LINES or len(pieces[0]) > LINES * 100:
        return Content(digest)
    return Content(digest, {str(at): WORDS.findall(line.decode("utf-8", "replace")) for at, line in enumerate(lines)})


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _content(name: str, data: bytes) -> Iterator[bytes]:
    try:
        if data[:2] == b"\x1f\x8b":
            unpacked = zlib.decompressobj(31).decompress(data, READ_BYTES)
            yield from _content(name.removesuffix(".gz"), unpacked)
            return
        if data[:4] == b"PK\x03\x04":
            yield from list(_members(data))
            return
        read = _READERS.get(name.rpartition(".")[2].lower())
        if read:
            yield read(data)
            return
    except _UNREADABLE:
        yield data
        return
    if data[:5] == b"%PDF-":
        yield _PDF.sub(b"", data)
    elif b"\0" in data[:4096]:
        yield data
    else:
        yield _text(data)


def _members(data: bytes) -> Iterator[bytes]:
    left = READ_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for item in sorted(archive.infolist(), key=lambda one: one.filename):
            if item.filename in _DATED or item.is_dir():
                continue
            left -= item.file_size
            if left < 0:
                raise ValueError("larger than what is looked into")
            yield item.filename.encode("utf-8", "surrogateescape")
            with archive.open(item) as member:
                yield b"".join(_content(item.filename, member.read(item.file_size + 1)))


def _text(data: bytes) -> bytes:
    lines = (line.rstrip() for line in _SVG.sub(b"", data).replace(b"\r\n", b"\n").split(b"\n"))
    return _FLOAT.sub(lambda match: b"%.12g" % float(match[0]), b"\n".join(lines).rstrip())


def _json(data: bytes) -> bytes:
    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.12g}")
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value

    return json.dumps(rounded(json.loads(data)), sort_keys=True).encode("utf-8", "surrogatepass")


_READERS: Mapping[str, Callable[[bytes], bytes]] = {"json": _json, "geojson": _json}
