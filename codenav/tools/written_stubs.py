"""Packages of stubs in a folder of a person, with a transport of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from codenav.core.errors import StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.tools.model import ToolSpec
from codenav.tools.state_files import dumped
from codenav.tools.stubs import package, stubs_of

TRANSPORT = Path(__file__).with_name("stub_transport.py")
LIST = "tools/.codenav-stubs.json"
"""The files that were written, with hashes of their contents: only these are written over or removed."""


def write_stubs(spec: ToolSpec, out: Path, *, request: str) -> list[Path]:
    """Write the package of a specification into a folder, and return its files; those of earlier runs are replaced.

    `request`: the source of `broker.request`, which the transport uses.

    Raises:
        UsageError: the specification has no operation with an address, or the folder has files of those names that
            were not written here, or that were changed since.
        StorageFull: the folder cannot be written.
    """
    if spec.operations and not any(operation.method for operation in spec.operations):
        raise UsageError(
            f"{spec.name}: its operations have no URL, so stubs cannot call them on their own",
            hint="codenav run --on SOURCE, or codenav tools call",
        )
    files = {path: text.encode("utf-8", "backslashreplace") for path, text in _files(spec, request)}
    written = _written(out)
    foreign = [path for path, content in files.items() if not _may_replace(out / path, content, written.get(path))]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{out / foreign[0]}{more}: there already, and not as codenav wrote it",
            hint="name another folder with --out, or move it away",
        )
    home = f"tools/{spec.name}/"
    stale = [path for path in written if path.startswith(home) and path not in files]
    try:
        for path, content in files.items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(out / path, content.decode())
        for path in stale:
            if _may_replace(out / path, b"", written[path]):
                (out / path).unlink(missing_ok=True)
        kept = {path: digest for path, digest in written.items() if path not in stale}
        kept |= {path: _digest(content) for path, content in files.items()}
        write_whole(out / LIST, json.dumps(kept, indent=0, sort_keys=True) + "\n")
    except OSError as error:
        raise StorageFull(f"cannot write to {out}: {error.strerror}", hint="name another folder with --out") from error
    return [out / path for path in files]


def _files(spec: ToolSpec, request: str) -> Iterator[tuple[str, str]]:
    stubs = stubs_of(spec)
    yield from package(spec, stubs)
    yield "tools/_transport.py", TRANSPORT.read_text(encoding="utf-8")
    yield "tools/_request.py", request
    data = replace(spec, operations=(), groups=(), notes=(), schemas={}).to_dict()
    data["operations"] = {operation.name: operation.to_dict() for operation in spec.operations}
    yield f"tools/{spec.name}/_spec.json", dumped(data)


def _may_replace(path: Path, content: bytes, digest: str | None) -> bool:
    """True if nothing is lost: there is no such file, or it has this content, or the one that was written."""
    try:
        there = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return there == content or _digest(there) == digest


def _written(out: Path) -> Mapping[str, str]:
    with suppress(OSError, ValueError, AttributeError):
        listed = json.loads((out / LIST).read_text(encoding="utf-8"))
        return {str(path): str(digest) for path, digest in listed.items() if ".." not in str(path).split("/")}
    return {}


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
