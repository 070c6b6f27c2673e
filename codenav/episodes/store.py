"""The store of episodes: one folder each, named by its id."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from codenav.core.errors import ELSEWHERE, CodeNavError, NotFound, StorageFull, UsageError
from codenav.core.events import Status
from codenav.core.system.process_identity import Owner
from codenav.core.system.stored import Document
from codenav.episodes.objects import Objects
from codenav.episodes.record import EpisodeResult, read_line
from codenav.episodes.recorder import EVENTS_FILE, Recorder

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
GOING = ".removed-"
"""Prefix of the name of a folder that is being removed, which hides it at once."""
EVAL_WORK = ".work"
"""Name of the folder with the work folders of an eval, by which its episodes are known."""
_TAIL = 64 * 1024
"""Bytes read from the end of a record first: a last line is rarely longer."""


@dataclass(frozen=True, slots=True)
class EpisodeRow(Document):
    """One row of `codenav episodes list`."""

    id: str
    started: str
    """ISO 8601, UTC."""
    status: Status
    request: str
    model: str
    steps: int
    """Complete steps."""
    verified: bool
    """True if its code summary replayed with the same result."""
    of_eval: bool = False
    """True if it is an attempt of an eval, not a request of a person's own."""


@dataclass(frozen=True)
class EpisodeList(Sequence[EpisodeRow]):
    """The rows, newest first, and the names of entries that are not readable records."""

    rows: Sequence[EpisodeRow] = ()
    damaged: Sequence[str] = ()
    """The names of folders and files without a readable record."""
    hidden: int = 0
    """The number of episodes of evals that were passed over."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[EpisodeRow]:
        return iter(self.rows)


class EpisodeStore:
    """The episodes below one folder, which is created with the first episode."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = Objects(folder.parent / "objects")
        """Input files that episodes share."""

    def __repr__(self) -> str:
        return f"<EpisodeStore {self.folder}>"

    def create(self) -> tuple[str, Path]:
        """Create an episode: its new id and its empty folder. Ids sort by time; two processes never get the same one.

        Raises:
            StorageFull: the folder cannot be made.
        """
        while True:
            id = _new_id()
            try:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                (self.folder / id).mkdir(mode=0o700)
            except FileExistsError as error:
                if not self.folder.is_dir():
                    raise StorageFull(f"{self.folder} is not a folder", hint=ELSEWHERE) from error
            except OSError as error:
                raise StorageFull(f"cannot make a folder in {self.folder}: {error.strerror}", cause=error) from error
            else:
                return id, self.folder / id

    def recorder(self, id: str, *, secrets: Mapping[str, str] | None = None) -> Recorder:
        """The recorder of an episode that `create` made; `secrets` (name to value) are masked in the record.

        Raises:
            StorageFull: the record cannot be written.
        """
        return Recorder(self.folder / id, secrets=secrets)

    def load(self, name: str) -> EpisodeResult:
        """The episode of an id, of the beginning of an id that matches one only, or of `last`.

        Raises:
            NotFound: there is no such episode.
            UsageError: several ids begin like that.
            CodeNavError: its record cannot be read.
        """
        id = self.resolve(name)
        folder = self.folder / id
        try:
            with open(folder / EVENTS_FILE, "rb") as file:
                head = read_line(file.readline()) or {}
                file.seek(0)
                return EpisodeResult.from_events(file, alive=_runs(head.get("owner")), folder=folder)
        except FileNotFoundError as error:
            raise CodeNavError(f"{id} has no record yet", hint=f"ls -l {folder}") from error
        except OSError as error:
            raise CodeNavError(
                f"the record of {id} cannot be read: {error.strerror}", hint=f"ls -l {folder}"
            ) from error
        except (CodeNavError, KeyError, TypeError, ValueError) as error:
            hint = error.hint if isinstance(error, CodeNavError) else ""
            raise CodeNavError(f"the record of {id} cannot be read: {error}", hint=hint or f"ls -l {folder}") from error

    def list(self, limit: int | None = None, *, evals: bool = True) -> EpisodeList:
        """The newest `limit` episodes (None: all), newest first; with `evals` those of evals, too.

        Reads only the two ends of each record.
        """
        rows: list[EpisodeRow] = []
        hidden = 0
        names = self._names()
        damaged = [name for name in names if not _ID.fullmatch(name)]
        for name in names:
            if limit is not None and len(rows) >= limit:
                break
            if _ID.fullmatch(name):
                row = self._row(name)
                if row is None:
                    damaged.append(name)
                elif row.of_eval and not evals:
                    hidden += 1
                else:
                    rows.append(row)
        return EpisodeList(tuple(rows), tuple(damaged), hidden)

    def _names(self) -> Sequence[str]:
        try:
            return sorted((name for name in os.listdir(self.folder) if not name.startswith(GOING)), reverse=True)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise NotFound(f"{self.folder} cannot be read: {error.strerror}", hint="codenav doctor") from error

    def ids(self) -> Sequence[str]:
        """All ids, newest first, also those without a readable record."""
        return [name for name in self._names() if _ID.fullmatch(name)]

    def status(self, id: str) -> Status | None:
        """The status of an episode; None where its record cannot be read."""
        row = self._row(id)
        return row.status if row else None

    def resolve(self, name: str) -> str:
        """The id that `load` reads for a name.

        Raises:
            NotFound, UsageError: as `load`.
        """
        if name == "last":
            newest = self.list(limit=1, evals=False) or self.list(limit=1)
            if not newest:
                raise NotFound("there is no episode yet", hint='codenav run "…" --on SOURCE')
            return str(newest[0].id)
        ids = self.ids()
        found = [id for id in ids if name and id.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
            raise UsageError(f"{len(found)} episodes begin with {name!r}: {shown}", hint="give more of the id")
        near = difflib.get_close_matches(name, [*ids, "last"], n=1)
        raise NotFound(f"no episode {name!r}", hint=f"did you mean {near[0]}?" if near else "codenav episodes list")

    def _row(self, id: str) -> EpisodeRow | None:
        try:
            with open(self.folder / id / EVENTS_FILE, "rb") as file:
                head = read_line(file.readline()) or {}
                # Before the rest is read: if the run ends in between, its last line is then found.
                alive = _runs(head.get("owner"))
                end = _last_event(file)
                ended = end.get("event") == "run_ended"
                return EpisodeRow(
                    id=id,
                    started=str(head["started"]),
                    status=Status(end["status"]) if ended else Status.RUNNING if alive else Status.INTERRUPTED,
                    request=str(head["request"]),
                    model=str(head["model"]),
                    steps=int(end["steps"]) if ended else _count_steps(file),
                    verified=bool(end["summary"]["verified"]) if ended else False,
                    of_eval=Path(str(head.get("work_dir", ""))).parent.name == EVAL_WORK,
                )
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            return None


def _runs(owner: Any) -> bool:
    found = Owner.from_dict(owner)
    return found is not None and found.lives()


def _new_id() -> str:
    """A new id: `YYYYMMDD-HHMMSS-` in UTC, then four digits of the fraction of the second and two random ones."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond * 65536 // 1_000_000:04x}{os.urandom(1).hex()}"


def _last_event(file: BinaryIO) -> Mapping[str, Any]:
    """The event of the last readable line; a torn line after it is skipped."""
    size = file.seek(0, os.SEEK_END)
    length = _TAIL
    while True:
        start = max(0, size - length)
        file.seek(start)
        lines = file.read(size - start).split(b"\n")
        # The part before the first line feed may be the end of a longer line.
        for line in reversed(lines[1:] if start else lines):
            event = read_line(line)
            if event is not None:
                return event
        if not start:
            return {}
        length *= 4


def _count_steps(file: BinaryIO) -> int:
    """The number of steps in a record, without parsing it; a torn last line does not count."""
    file.seek(0)
    return sum(b'"observed"' in line[:32] and (line.endswith(b"\n") or read_line(line) is not None) for line in file)
