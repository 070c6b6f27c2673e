"""Zipped eggs, unpacked so that their files can be read: `easy_install` and `setup.py install` left them."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from codenav.core.config import home
from codenav.core.errors import StorageFull, UsageError
from codenav.core.system.atomic_files import whole_folder
from codenav.indexers.walk import language_of, max_bytes


def unpacked(egg: Path) -> Path:
    """The folder with the files of an egg that can be indexed; unpacked again when the egg has changed.

    Raises:
        UsageError: it is damaged.
        StorageFull: no room for it.
    """
    digest = hashlib.blake2b(os.fsencode(egg), digest_size=8).hexdigest()
    folder = home("cache") / "eggs" / f"{egg.name}-{digest}"
    try:
        found = egg.stat()
        state = f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
        stamp = folder / ".state"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
            return folder
        with whole_folder(folder) as fresh:
            _extract(egg, fresh)
            (fresh / ".state").write_text(state, encoding="utf-8")
    except (zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError) as error:
        raise UsageError(f"{egg} is damaged: {error}", hint="install the package again") from error
    except OSError as error:
        raise StorageFull(f"cannot write to {folder.parent}: {error.strerror}", cause=error) from error
    return folder


def _extract(egg: Path, folder: Path) -> None:
    with zipfile.ZipFile(egg) as archive:
        for item in archive.infolist():
            path = PurePosixPath(item.filename)
            language = language_of(path.name)
            if path.is_absolute() or ".." in path.parts or not language or item.file_size > max_bytes(language):
                continue
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(item) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
            # So that files that are the same stay so for the index.
            os.utime(place, (0, 0))
