"""Run folders on the disk: the head with all settings, and results that are appended whole, one line each."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import sync_folder, write_whole
from codenav.core.system.locks import locked
from codenav.evals.results import ERROR, Result

FORMAT = 1
"""Version of the head. It changes only with a named migration."""
MOST_BITS = 10_000
"""Bits of a whole number that is written as one: Python turns none of over 4,300 digits into text."""
HEAD, RESULTS, LOCK = "head.json", "results.jsonl", ".lock"
RESUME = "codenav eval resume"


@dataclass(frozen=True)
class Head:
    """The head of a run: `head.json`."""

    task: str
    """Name of the benchmark, as in `codenav eval run NAME`."""
    mode: str
    model: str
    epochs: int
    samples: Sequence[str]
    """Ids of all samples of the run and its other shards, in the benchmark's order."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All else that scores may depend on: level of the description, limits, checks, options of the benchmark."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """`Setting.facts`: commit of the checkout, placeholders for tools."""
    shard: str = ""
    """`2/8`, or "" for the whole."""
    place: Mapping[str, Any] = field(default_factory=dict)
    """What belongs to the machine and changes no score: paths, the server's address, the store."""
    mixed: Sequence[str] = field(default_factory=list)
    """Differences of the runs, or starts, of which it was put together all the same (`--anyway`)."""
    own: bool = False
    """The task is a class of somebody's own, which only Python can resume."""
    made: str = ""
    """ISO 8601, UTC."""
    codenav: str = ""
    """Version of codenav that made the run."""
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """The head in JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The head of a document; keys that are not known are left out."""
        known = {item.name for item in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def differences(self, other: Head) -> list[str]:
        """The settings that two heads do not share, with both values where they are short: none for shards of a run."""
        found = [name for name in ("epochs", "samples", "format") if getattr(self, name) != getattr(other, name)]
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in ("task", "mode", "model", "codenav")}
        pairs["server"] = (self.place.get("base_url"), other.place.get("base_url"))
        found += [
            f"{name} ({mine or 'none'} and {its or 'none'})" for name, (mine, its) in pairs.items() if mine != its
        ]
        for name in ("settings", "facts"):
            mine, its = getattr(self, name), getattr(other, name)
            # Runs of before the sampling was recorded say nothing about it.
            keys = {*mine, *its} - ({"sampling"} if "sampling" not in {*mine} & {*its} else set())
            found += [key for key in sorted(keys) if mine.get(key) != its.get(key)]
        return found


class RunFolder:
    """One run on the disk. Several processes may read it; one at a time adds to it, inside `adding`."""

    def __init__(self, path: Path, head: Head) -> None:
        """A run whose head is known. See `make` and `open`."""
        self.path, self.head = path, head
        self.notices: list[str] = []
        """Lines on damage that was found and passed over."""

    @staticmethod
    def holds(path: Path) -> bool:
        """True if there is a run in a folder."""
        return (path / HEAD).exists() or (path / RESULTS).exists()

    @classmethod
    def make(cls, path: Path, head: Head) -> Self:
        """Make the folder of a new run.

        Raises:
            UsageError: there is a run in it, or it cannot be made.
        """
        if (path / HEAD).exists():
            raise UsageError(f"{path} holds a run already", hint=f"{RESUME} {path}, or another folder with --out")
        if (path / RESULTS).exists():
            raise UsageError(f"{path} holds results without their {HEAD}", hint="name another folder with --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_whole(path / HEAD, json.dumps(head.to_dict(), indent=1, allow_nan=False) + "\n", durable=True)
        except OSError as error:
            raise UsageError(
                f"cannot make the run {path}: {error.strerror}", hint="another folder with --out"
            ) from None
        return cls(path, head)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run.

        Raises:
            NotFound: there is none in that folder.
            UsageError: its head is damaged, or was made by a newer codenav.
        """
        try:
            data = json.loads((path / HEAD).read_text(encoding="utf-8"))
            head = Head.from_dict(data)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"no run in {path}: there is no {path / HEAD}", hint="codenav eval run NAME --out RUN"
            ) from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"{path / HEAD} cannot be read: {error}", hint="start the run again with --out") from None
        if head.format != FORMAT:
            raise UsageError(f"{path} has format {head.format!r}; this codenav reads {FORMAT}", hint="update codenav")
        return cls(path, head)

    def mix(self, different: Sequence[str]) -> None:
        """Note in the head that what is added was made with other settings."""
        self.head = replace(self.head, mixed=list(dict.fromkeys([*self.head.mixed, *different])))
        write_whole(self.path / HEAD, json.dumps(self.head.to_dict(), indent=1, allow_nan=False) + "\n", durable=True)

    def results(self) -> list[Result]:
        """Results, one for each sample and epoch, in the order of the samples; a result counts before an `error`.

        Of two lines for one attempt the first counts, a line that is torn or damaged is passed over.
        """
        found: dict[tuple[str, int], Result] = {}
        damaged = 0
        for line in self._lines():
            result = result_of(line)
            if result is None:
                damaged += 1
                continue
            earlier = found.get((result.id, result.epoch))
            if earlier is None or earlier.status == ERROR:
                found[result.id, result.epoch] = result
        self.notices = [f"{damaged} damaged lines of {self.path / RESULTS} are left out"] if damaged else []
        places = {id: place for place, id in enumerate(self.head.samples)}
        return sorted(found.values(), key=lambda one: (one.epoch, places.get(one.id, len(places)), one.id))

    def finished(self) -> set[tuple[str, int]]:
        """Id and epoch of each attempt that has a result: an `error` is none."""
        return {(one.id, one.epoch) for one in self.results() if one.status != ERROR}

    @contextlib.contextmanager
    def adding(self) -> Iterator[Callable[[Result], None]]:
        """Hold the run for this process, mend a torn last line, and yield the function that adds a result.

        A result is on the disk when the function returns. It is called from one thread at a time.

        Raises:
            UsageError: another process is at work in the folder.
            StorageFull: there is no room; what was there stays.
        """
        with locked(self.path, LOCK, wait=False) as free:
            if not free:
                raise UsageError(f"another process is running {self.path}", hint="wait for it, or use another --out")
            file = os.open(self.path / RESULTS, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                _mend(file)
                sync_folder(self.path)
                yield lambda result: _append(file, result, self.path)
            finally:
                os.close(file)

    def _lines(self) -> Iterator[bytes]:
        try:
            with (self.path / RESULTS).open("rb") as file:
                yield from (line for line in file if line.strip())
        except FileNotFoundError:
            return


def result_of(line: bytes) -> Result | None:
    """Return the result of a line, or None for a torn or damaged one."""
    try:
        data = json.loads(line)
        result = Result.from_dict(data)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    sound = isinstance(result.id, str) and isinstance(result.epoch, int) and isinstance(result.status, str)
    return result if sound else None


def line_of(result: Result) -> bytes:
    """Return the line of a result."""
    return json.dumps(plain(result.to_dict()), allow_nan=False).encode("ascii") + b"\n"


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value in JSON types; what is none, or lies deeper than 50 levels, is its `repr`."""
    if depth > 50:
        return shown(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else shown(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    return shown(value)


def shown(value: Any) -> str:
    """Return the beginning of an error's message or of a value's `repr`, or the type where there is none."""
    try:
        return (str(value) if isinstance(value, BaseException) else repr(value))[:1000]
    except Exception:
        return f"<{type(value).__name__}>"


def merge(paths: Sequence[Path], out: Path, *, anyway: bool = False) -> RunFolder:
    """Join shards, or copies of one run, in a new folder. `anyway` joins runs of different settings, and tells it.

    Raises:
        NotFound: a folder holds no run.
        UsageError: the runs differ in a setting, two results of one attempt differ, or `out` holds a run.
    """
    runs = [RunFolder.open(path) for path in dict.fromkeys(paths)]
    if not runs:
        raise UsageError("there is no run to merge", hint="codenav eval merge runs/a.* --out runs/a")
    head = runs[0].head
    found: dict[tuple[str, int], tuple[Result, Path]] = {}
    mixed: dict[str, None] = dict.fromkeys(one for run in runs for one in run.head.mixed)
    for run in runs:
        different = head.differences(run.head)
        same_samples = (head.task, head.epochs, head.samples) == (run.head.task, run.head.epochs, run.head.samples)
        if different and not (anyway and same_samples):
            hint = "--anyway joins them, and the report says so" if same_samples else "merge shards of one run only"
            raise UsageError(f"{runs[0].path} and {run.path} differ in {', '.join(different)}", hint=hint)
        mixed |= dict.fromkeys(different)
        for result in run.results():
            known = found.get((result.id, result.epoch))
            if known and ERROR not in (known[0].status, result.status) and _outcome(known[0]) != _outcome(result):
                raise UsageError(
                    f"{known[1]} and {run.path} disagree on sample {result.id}, epoch {result.epoch}",
                    hint="leave one of the two runs out",
                )
            if known is None or known[0].status == ERROR:
                found[result.id, result.epoch] = (result, run.path)
    merged = RunFolder.make(out, replace(head, shard="", mixed=list(mixed)))
    order = {id: place for place, id in enumerate(head.samples)}
    with merged.adding() as add:
        for result, _ in sorted(found.values(), key=lambda one: (one[0].epoch, order.get(one[0].id, len(order)))):
            add(result)
    return merged


def _outcome(result: Result) -> tuple[Any, ...]:
    """Return what two attempts have to share: not their times, tokens and records."""
    return result.status, plain(result.scores), result.answer, result.program


def _mend(file: int) -> None:
    """End the file with a whole line. What follows the last line end is kept if it is a whole result."""
    size = os.fstat(file).st_size
    if not size or os.pread(file, 1, size - 1) == b"\n":
        return
    begin, tail = size, b""
    while begin and b"\n" not in tail:
        step = min(begin, 1 << 16)
        begin -= step
        tail = os.pread(file, step, begin) + tail
    torn = tail.rpartition(b"\n")[2]
    if result_of(torn) is not None:
        os.write(file, b"\n")
    else:
        os.ftruncate(file, size - len(torn))
    os.fsync(file)


def _append(file: int, result: Result, path: Path) -> None:
    line, before = line_of(result), os.fstat(file).st_size
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(file, before)
        raise StorageFull(
            f"cannot add a result to {path}: {error.strerror}", hint=f"free some space, then: {RESUME} {path}"
        ) from error
