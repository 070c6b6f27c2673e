"""Writes an episode down while it runs: a line per event, each on the disk before the next step begins."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from codenav.episodes.masking import masker
from codenav.episodes.owner import owner
from codenav.episodes.record import FORMAT
from codenav.errors import StorageFull
from codenav.events import Event, Observed, RunEnded, RunStarted

EVENTS_FILE = "events.jsonl"


class Recorder:
    """A listener that appends each event to a new `events.jsonl` and waits until it is on the disk.

    Whenever the process is killed, the record is complete up to the last event that the recorder returned from.

    Args:
        folder: the episode's folder; it exists.
        secrets: values that are masked in everything that is written, if they have 6 characters or more.

    Raises:
        StorageFull: the file cannot be made, or exists already: a record is never written over.
    """

    def __init__(self, folder: Path, *, secrets: Sequence[str] = ()) -> None:
        self.path = folder / EVENTS_FILE
        self._mask = masker(secrets)
        self._steps = 0
        self._state = (0, b"")
        """Length of the good part of the file, and what comes behind it. One attribute, so that an interrupt
        finds the old state or the new one, and the next write repeats what may not have been written."""
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            _sync_folder(folder)
        except OSError as error:
            raise StorageFull(f"the record {self.path} cannot be written: {error.strerror}") from error

    def __call__(self, event: Event) -> None:
        """Write one event down.

        Raises:
            StorageFull: it could not be written; the record still ends with the last whole event.
        """
        line = json.dumps(self._mask(self._data(event)), ensure_ascii=False, separators=(",", ":"))
        self._state = (self._state[0], self._state[1] + line.encode("utf-8", "backslashreplace") + b"\n")
        self._write()
        if isinstance(event, Observed):
            self._steps = event.step.number

    def _data(self, event: Event) -> dict[str, Any]:
        data = event.to_dict()
        if isinstance(event, RunStarted):
            return {"event": data.pop("event"), "format": FORMAT, "owner": owner(), **data}
        if isinstance(event, RunEnded):
            return {**data, "steps": self._steps}
        return data

    def _write(self) -> None:
        good, pending = self._state
        try:
            written = 0
            while written < len(pending):
                written += os.pwrite(self._file, pending[written:], good + written)
            os.fsync(self._file)
        except OSError as error:
            self._state = (good, b"")
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, good)
            upto = f"complete up to step {self._steps}" if self._steps else "without any step"
            raise StorageFull(
                f"cannot write the record: {error.strerror}; it is {upto}, in {self.path.parent}"
            ) from error
        self._state = (good + len(pending), b"")

    def close(self) -> None:
        """Close the file; safe to call twice.

        Raises:
            StorageFull: an event whose writing was interrupted could not be written now either.
        """
        if self._file < 0:
            return
        try:
            if self._state[1]:
                self._write()
        finally:
            file, self._file = self._file, -1
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    """Put the new name itself on the disk: fsync(2) of the file does not."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
