"""The writer of the record: one line per event, each on the disk before the next step begins."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from codenav.core.errors import StorageFull
from codenav.core.events import Event, RunEnded, RunStarted, StepEnded
from codenav.core.secrets.masking import masker
from codenav.core.system.atomic_files import sync_folder
from codenav.core.system.closing import Closing
from codenav.core.system.locks import in_use
from codenav.core.system.process_identity import Owner
from codenav.episodes.record import FORMAT

EVENTS_FILE = "events.jsonl"

RESERVE_FILE = "reserve"
RESERVE_BYTES = 16 * 1024
"""Bytes held while an episode runs and given up for its last line, so that even on a full disk the record has the
reason why the run ended. A last line is as long as the answer and the code summary, seldom over a few KB."""


class _State(NamedTuple):
    """The state of the file as one value, so that an interrupt finds the old state or the new one."""

    size: int = 0
    """Bytes of the file that are surely on the disk."""
    steps: int = 0
    """The number of the last step within `size`."""
    pending: bytes = b""
    """The bytes that come next; the file may hold a part of them already."""
    pending_steps: int = 0


class Recorder(Closing):
    """A listener that appends each event to a new `events.jsonl` and waits until it is on the disk.

    Whenever the process is killed, the record is complete up to the last event for which the recorder returned. An
    event whose writing was interrupted (Ctrl-C) is written with the next one, or at `close`. `RunEnded` closes it; an
    event after that is dropped. Events may come from several threads.
    """

    def __init__(self, folder: Path, *, secrets: Mapping[str, str] | None = None) -> None:
        """Create the record in the folder of the episode.

        `secrets` (name to value) are masked in everything written if they have 6 characters or more.

        Raises:
            StorageFull: the file cannot be made, or exists already: a record is never overwritten.
        """
        self.path = folder / EVENTS_FILE
        self._reserve = folder / RESERVE_FILE
        self._mask = masker(secrets or {})
        self._state = _State()
        self._lock = threading.RLock()
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._full(error) from error
        try:
            self._reserve.write_bytes(bytes(RESERVE_BYTES))
            sync_folder(folder)
            self._in_use = in_use(folder)
        except OSError as error:
            os.close(self._file)
            raise self._full(error) from error

    def __call__(self, event: Event) -> None:
        """Write one event.

        Raises:
            StorageFull: it could not be written; the record still ends with the last whole event.
        """
        with self._lock:
            if self._file >= 0:
                self._take(event)

    def _take(self, event: Event) -> None:
        state = self._state
        steps = event.step.number if isinstance(event, StepEnded) else max(state.steps, state.pending_steps)
        data = self._mask(self._data(event, steps))
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        self._state = state._replace(pending=state.pending + line + b"\n", pending_steps=steps)
        if not isinstance(event, RunEnded):
            self._write()
            return
        try:
            self._write_last()
        finally:
            self.close()

    def close(self) -> None:
        """Write what an interrupt left unwritten and close the file; safe to call twice.

        Raises:
            StorageFull: an event whose writing was interrupted could not be written now either.
        """
        with self._lock:
            if self._file < 0:
                return
            try:
                if self._state.pending:
                    self._write()
            finally:
                file, self._file = self._file, -1
                os.close(file)
                os.close(self._in_use)
                self._reserve.unlink(missing_ok=True)

    def _data(self, event: Event, steps: int) -> dict[str, Any]:
        data = event.to_dict()
        if isinstance(event, RunStarted):
            return {"event": data.pop("event"), "format": FORMAT, "owner": Owner.this_process().to_dict(), **data}
        if isinstance(event, RunEnded):
            return {**data, "steps": steps}
        return data

    def _write_last(self) -> None:
        """Write the last line; where there is no room, give up the reserve and try once more."""
        state = self._state
        try:
            self._write()
        except StorageFull as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self._reserve.unlink(missing_ok=True)
            self._state = state
            self._write()
        self._reserve.unlink(missing_ok=True)

    def _write(self) -> None:
        size, steps, pending, pending_steps = self._state
        try:
            written = 0
            while written < len(pending):
                # At a place, not at the end: after an interrupt the same bytes go to the same place again.
                written += os.pwrite(self._file, pending[written:], size + written)
            os.fsync(self._file)
        except OSError as error:
            self._state = _State(size, steps)
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise self._full(error) from error
        self._state = _State(size + len(pending), pending_steps)

    def _full(self, error: OSError) -> StorageFull:
        steps = self._state.steps
        upto = f"complete up to step {steps}" if steps else "without any step"
        return StorageFull(
            f"cannot write the record: {error.strerror}; it is {upto}, in {self.path.parent}", cause=error
        )
