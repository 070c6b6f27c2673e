"""Run folders on the disk: `head.json` with all settings, and results that are appended whole, one line each."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.options import FORMER
from codenav.core.system.atomic_files import sync_folder, write_whole
from codenav.core.system.locks import locked
from codenav.core.system.terminal_text import few
from codenav.evals.results import ERROR, Result, plain

FORMAT = 1
"""Version of the head. It changes only with a named migration."""
HEAD, RESULTS, LOCK = "head.json", "results.jsonl", ".lock"
RESUME = "codenav eval run --resume --out"


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
    """Facts of the machine that change no score: paths, the server's address, the store."""
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

    def write(self, folder: Path) -> None:
        """Write it into the folder of its run."""
        write_whole(folder / HEAD, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", durable=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The head of a document; keys that are not known are left out."""
        known = {item.name for item in fields(cls)}
        head = cls(**{key: value for key, value in data.items() if key in known})
        return replace(head, settings={FORMER.get(name, name): value for name, value in head.settings.items()})

    @property
    def attempts(self) -> list[tuple[str, int]]:
        """Id and epoch of each attempt of the run, or of its shard, in order."""
        ids = [id for id in self.samples if in_shard(id, self.shard)]
        return [(id, epoch) for epoch in range(1, self.epochs + 1) for id in ids]

    def has_samples_of(self, other: Head) -> bool:
        """True if two runs are of the same task, samples and number of epochs."""
        return (self.task, self.epochs, list(self.samples)) == (other.task, other.epochs, list(other.samples))

    def differences(self, other: Head, *, apart: Collection[str] = ()) -> list[str]:
        """The settings that two heads do not share, with both values where they are short: none for shards of a run.

        Those that are named `apart` may differ.
        """
        found = [name for name in ("epochs", "samples", "format") if getattr(self, name) != getattr(other, name)]
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in ("task", "mode", "model", "codenav")}
        pairs["server"] = (self.place.get("base_url"), other.place.get("base_url"))
        found += [
            f"{name} ({mine or 'none'} and {its or 'none'})" for name, (mine, its) in pairs.items() if mine != its
        ]
        for name in ("settings", "facts"):
            mine, its = getattr(self, name), getattr(other, name)
            unlike = [key for key in sorted({*mine, *its}) if mine.get(key) != its.get(key)]
            found += [_difference(key, mine.get(key), its.get(key)) for key in unlike]
        return list(dict.fromkeys(one for one in found if one.partition(" ")[0] not in apart))


def _difference(key: str, mine: Any, its: Any) -> str:
    short = all(isinstance(one, str | int | float | None) and len(str(one)) <= 40 for one in (mine, its))
    return f"{key} ({mine or 'none'} and {its or 'none'})" if short else key


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
            head.write(path)
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
        self.head.write(self.path)

    def results(self) -> list[Result]:
        """Results, one for each sample and epoch, in the order of the samples; a result counts before an `error`.

        Of two lines for one attempt the first counts, a line that is torn or damaged is passed over.
        """
        found: dict[tuple[str, int], Result] = {}
        damaged = 0
        for line in self._lines():
            result = Result.from_line(line)
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


def in_shard(id: str, shard: str) -> bool:
    """True if a sample is in a shard such as `2/8`; every sample is in the shard "".

    Raises:
        UsageError: it is no shard.
    """
    if not shard:
        return True
    part, _, parts = shard.partition("/")
    numbers = all(one.isascii() and one.isdigit() and len(one) < 6 for one in (part, parts))
    if not numbers or not 1 <= int(part) <= int(parts):
        raise UsageError(f"{shard!r} is no shard", hint="such as --shard 2/8, the second of eight")
    return int(sha256(id.encode()).hexdigest(), 16) % int(parts) == int(part) - 1


def merge(paths: Sequence[Path], out: Path, *, anyway: bool = False) -> RunFolder:
    """Join shards, or copies of one run, in a new folder. `anyway` joins runs of different settings, and tells it.

    Raises:
        NotFound: a folder holds no run.
        UsageError: the runs differ in a setting, a shard is there twice or not at all, two results of one attempt
            differ, or `out` holds a run.
    """
    runs = [RunFolder.open(path) for path in dict.fromkeys(paths)]
    if not runs:
        raise UsageError("there is no run to merge", hint="codenav eval merge runs/a.* --out runs/a")
    head = runs[0].head
    if not anyway:
        _check_shards(runs)
    found: dict[tuple[str, int], tuple[Result, Path]] = {}
    mixed: dict[str, None] = dict.fromkeys(one for run in runs for one in run.head.mixed)
    for run in runs:
        different = head.differences(run.head)
        same_samples = head.has_samples_of(run.head)
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


def _check_shards(runs: Sequence[RunFolder]) -> None:
    """Refuse two shards of one number, shards of another number of parts, and a hole."""
    paths = dict[str, Path]()
    for run in runs:
        shard = run.head.shard
        if shard in paths:
            raise UsageError(f"{paths[shard]} and {run.path} are both the shard {shard}", hint="leave one of them out")
        if shard:
            paths[shard] = run.path
    sizes = sorted({shard.partition("/")[2] for shard in paths})
    if len(sizes) > 1:
        raise UsageError(f"shards of {' and of '.join(sizes)} parts make no whole", hint="merge shards of one run only")
    whole = [f"{part}/{size}" for size in sizes for part in range(1, int(size) + 1)]
    lacking = [shard for shard in whole if shard not in paths] if len(paths) == len(runs) else []
    if lacking:
        text = f"the shard {lacking[0]} is" if len(lacking) == 1 else f"the shards {few(lacking, 10)} are"
        raise UsageError(f"{text} missing", hint="run it with --shard, or --anyway to merge what is there")


def _outcome(result: Result) -> tuple[Any, ...]:
    """Return what two attempts have to share: not their times, tokens and records."""
    return result.status, plain(result.scores), result.answer, result.program


def _mend(file: int) -> None:
    """End the file with a whole line. What follows the last line end is kept if it is a whole result."""
    size = os.fstat(file).st_size
    torn = os.pread(file, size, 0).rpartition(b"\n")[2]
    if not torn:
        return
    if Result.from_line(torn) is not None:
        os.write(file, b"\n")
    else:
        os.ftruncate(file, size - len(torn))
    os.fsync(file)


def _append(file: int, result: Result, path: Path) -> None:
    line, before = result.to_line(), os.fstat(file).st_size
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
