"""Reading of one file from the disk into blocks, a stub together with the module beside it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from codenav.core.blocks import BlockKind, CodeBlock, FileState, Packed
from codenav.indexers.decode import asks_to_be_left_out, decode, is_binary
from codenav.indexers.draft import names_to_import
from codenav.indexers.file_blocks import file_blocks
from codenav.indexers.place import Place
from codenav.indexers.walk import Found, language_of, look_of, max_bytes, reason_of, too_large

_ATTEMPTS = 3
"""The number of attempts to read a file that changes while it is read."""


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read, and its state in the index."""

    found: Found
    place: Place
    digest: str = ""
    """Digest of the content in the index; if it is still the same, the file is not parsed."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result for a file. Without a `state` it was left out; `blocks` is None if its content is unchanged."""

    path: str
    state: FileState | None = None
    blocks: Sequence[CodeBlock] | Packed | None = None
    reason: str = ""
    """The reason if it was left out or cut."""


class _Changing(Exception):
    """Raised for a file that was written to while it was read."""


def read(task: Task) -> Reading:
    """Read and parse one file. Faults of the file are reported in `Reading.reason`, never raised."""
    path = task.found.path
    for _ in range(_ATTEMPTS):
        try:
            data, module, look = _whole(task.found)
            break
        except _Changing:
            continue
        except OSError as error:
            return Reading(path, reason=reason_of(error))
    else:
        return Reading(path, reason="changes while it is read")
    if len(data) > max_bytes(task.found.language):
        return Reading(path, reason=too_large(task.found.language))
    size, mtime, ctime, inode = look
    digest = hashlib.blake2b(data + b"\0" + module if module else data, digest_size=16).hexdigest()
    state = FileState(size, mtime, digest, ctime, inode, task.place.module, task.place.public_digest)
    if state.digest == task.digest:
        return Reading(path, state)
    if is_binary(data):
        return Reading(path, reason="binary")
    text = decode(data, cookie=task.found.language == "python")
    if asks_to_be_left_out(text):
        return Reading(path, reason="index: false")
    blocks, reason = file_blocks(text, task.place, task.found.language)
    if blocks and path.endswith(".pyi"):
        beside = None
        if module:
            beside, _ = file_blocks(decode(module, cookie=True), task.place, language_of(task.found.beside))
        blocks = stub_blocks(blocks, task.place, beside)
    return Reading(path, None if blocks is None else state, blocks, reason)


def text_of(found: Found) -> str:
    """The text of a file, without that of the module beside a stub; empty if it cannot be read now."""
    try:
        data, _ = _content(found)
    except (OSError, _Changing):
        return ""
    if len(data) > max_bytes(found.language) or is_binary(data):
        return ""
    return decode(data, cookie=found.language == "python")


def _whole(found: Found) -> tuple[bytes, bytes, tuple[int, int, int, int]]:
    """The content of a file, that of the module beside it if it is a stub, and the look of both."""
    data, state = _content(found)
    if not found.beside:
        return data, b"", look_of(state)
    module, other = _content(replace(found, location=found.beside))
    return data, module if len(module) <= max_bytes(found.language) else b"", look_of(state, other)


def _content(found: Found) -> tuple[bytes, os.stat_result]:
    """The content of a file, up to one byte more than the limit, and the file's state while it was read.

    Raises:
        _Changing: content and state do not fit together.
        OSError: it cannot be read, or is no longer a regular file; a pipe in its place is never waited for.
    """
    limit = max_bytes(found.language)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if found.follow else os.O_NOFOLLOW)
    with open(os.open(found.location, flags), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(0, "not a regular file")
        data = file.read(limit + 1)
        after = os.fstat(file.fileno())
    if any(getattr(before, name) != getattr(after, name) for name in ("st_size", "st_mtime_ns", "st_ctime_ns")):
        raise _Changing
    if len(data) != after.st_size and len(data) <= limit:
        raise _Changing
    return data, after


_KINDS = (BlockKind.CLASS, BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.ASSIGNMENT)


def stub_blocks(blocks: Iterable[CodeBlock], place: Place, beside: Iterable[CodeBlock] | None) -> list[CodeBlock]:
    """The blocks of a stub; of one with a module beside it, those whose names that does not define.

    These it has from compiled code, or makes as it runs. The private ones are left out: they are types for the stub
    alone, and nothing can import them. `LIMIT: int` in a stub stands for a value, unlike in a module.
    """
    if beside is not None:
        known = {block.qualname for block in beside}
        blocks = [
            block
            for block in blocks
            if block.kind in _KINDS
            and block.qualname not in known
            and block.qualname != "statements"
            and not _private(block.qualname)
        ]
    return [
        _with_names(block, place) if block.kind is BlockKind.ASSIGNMENT and not block.import_line else block
        for block in blocks
    ]


def _with_names(block: CodeBlock, place: Place) -> CodeBlock:
    public, line = names_to_import(place, block.qualname, block.qualname)
    return replace(block, public_name=public, import_line=line)


def _private(qualname: str) -> bool:
    top = qualname.partition(".")[0]
    return top.startswith("_") and not top.endswith("__")
