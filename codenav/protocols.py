"""The contracts between the parts. A part receives another one as an argument and never imports it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Protocol, Self

from codenav.actions import Action, Observation, Step, Turn
from codenav.blocks import BlockKind, Change, CodeBlock, FileState, IndexStats, Packed, SearchResult, StoredIndex
from codenav.events import Event
from codenav.execution import (
    CheckReport,
    Copied,
    Execution,
    FileEntry,
    Held,
    Output,
    SandboxInfo,
    ShellResult,
    Variable,
    Verdict,
)
from codenav.messages import Completion, Message


class Index(Protocol):
    """Blocks of one or several sources, searchable."""

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Blocks that match a query, best first. Never refreshes the index.

        A query that is not well formed is repaired, never refused: see `SearchResult.repairs`.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: the store cannot be read.
        """
        ...

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id."""
        ...

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line; a stream that holds no more than a few hundred blocks at a time.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def stats(self) -> IndexStats:
        """What the index holds."""
        ...

    def close(self) -> None:
        """Release files and connections; safe to call twice."""
        ...


class WritableIndex(Index, Protocol):
    """An index that a build can change."""

    @property
    def exists(self) -> bool:
        """Whether a state is there to be searched."""
        ...

    @property
    def notice(self) -> str:
        """What a user should know of this index, such as that it is built anew; empty where there is nothing."""
        ...

    @property
    def pack(self) -> Callable[[Sequence[CodeBlock]], Packed] | None:
        """Makes the blocks of one file ready for `apply`: a function of a module, for the processes that parse.

        None where the index takes blocks as they are.
        """
        ...

    def files(self) -> Mapping[str, FileState]:
        """What the index remembers of each file that it holds."""
        ...

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        """Replace and remove blocks per file, atomically: readers see the old or the new state, never a mix.

        `changes` is consumed as a stream; if it raises, or the process dies, the old state stays.
        `started` is when the build began, by `time.monotonic()`; None: now. `IndexStats.seconds` counts from there.

        Raises:
            StorageFull: the new state could not be written; the old one stays.
        """
        ...


class Store(Protocol):
    """Keeps indexes by key: a folder of them, or a cluster."""

    @property
    def name(self) -> str:
        """`embedded` or `elasticsearch`, as in `--store`."""
        ...

    def open(self, key: str, *, source: str) -> WritableIndex:
        """The index with that key, which need not exist yet. It shows the state that was current when it was opened.

        Raises:
            IndexUnavailable: the store cannot be read, or refuses us.
        """
        ...

    def build_lock(self, key: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Hold the right to build an index; the context's value is whether it was got.

        Without `wait` it is not got where another process or thread has it. It frees itself when its owner dies.

        Raises:
            StorageFull, IndexUnavailable: the lock cannot be made.
        """
        ...

    def list(self) -> Sequence[StoredIndex]:
        """Every index in the store, by source. Whatever else lies there is passed over.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def remove(self, key: str) -> None:
        """Remove an index.

        Raises:
            NotFound: there is none of that key.
            IndexUnavailable: another process is building it, or the store cannot be reached.
        """
        ...

    def close(self) -> None:
        """Release connections; safe to call twice. Indexes that it opened are closed by their users."""
        ...


CallHandler = Callable[[str, dict[str, Any]], Any]
"""Answers a call that code in a sandbox makes: gets its name and arguments, returns JSON data.

What it raises is a `HostCallError` inside, with its message. It runs in a thread of its own, one call of a step at a
time; whatever it does counts for the time of the step. Arguments are what the code says: check them.
"""


class SandboxFiles(Protocol):
    """The files of a sandbox's work folder, as the code sees them. Names are relative to it, with `/` between folders.

    Each call raises SandboxUnavailable where the sandbox is closed, could not be started again, or could not answer.
    """

    def list(self, folder: str = "", *, recursive: bool = False) -> Sequence[FileEntry]:
        """What is in a folder, by name; `recursive` also what is below, without what lies in `__pycache__`.

        Raises:
            NotFound: there is no such folder.
        """
        ...

    def stat(self, name: str) -> FileEntry:
        """Kind, size, time and whether it is executable; a link is not followed.

        Raises:
            NotFound: nothing has that name.
        """
        ...

    def exists(self, name: str) -> bool:
        """Whether something has that name."""
        ...

    def read(self, name: str) -> bytes:
        """A file. `read_into` takes no memory.

        Raises:
            NotFound: no regular file has that name.
        """
        ...

    def read_into(self, name: str, file: IO[bytes]) -> None:
        """A file, piece by piece. What was written before an error stays."""
        ...

    def write(self, name: str, data: bytes | str, *, executable: bool | None = None) -> None:
        """Write a file, with the folders above it; text as UTF-8. `executable` None leaves that as it is.

        Raises:
            UsageError: the name leads out of the work folder, or the file does not fit.
        """
        ...

    def write_from(self, name: str, file: IO[bytes], *, executable: bool | None = None) -> None:
        """The same piece by piece, from where a file stands to its end; it can be sought."""
        ...

    def make_folder(self, name: str) -> None:
        """Make a folder, with those above it; one that is there stays.

        Raises:
            UsageError: something else has the name, or it leads out of the work folder.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it. On the host's side nothing is removed.

        Raises:
            NotFound: nothing has that name.
            UsageError: it is the work folder itself, or cannot be removed.
        """
        ...

    def upload(self, path: str | Path, name: str = "") -> Copied:
        """Copy a file or folder of this side in, as `name`; into it where that is a folder, the work folder by default.

        Links below a folder, repositories (`.git` and the like) and `__pycache__` stay out; who may execute a file
        comes along.

        Raises:
            NotFound: there is no such file, or it cannot be read.
            UsageError: it does not fit.
        """
        ...

    def download(self, name: str, path: str | Path) -> Copied:
        """Copy a file or folder of the sandbox out, as `path`; into it where that is a folder.

        Of the work folder itself (empty `name`) what is in it goes there. No link is followed, a file is replaced
        when it has come whole, and `Copied.run_by` says what tools of yours run by themselves.

        Raises:
            NotFound: nothing has that name, or it is no file or folder.
            UsageError: it cannot be written there.
            StorageFull: there is no room.
        """
        ...

    def shown_as(self, shown: Callable[[str], str]) -> SandboxFiles:
        """The same, whose names that come out are changed: secrets in them are masked."""
        ...


class Sandbox(Protocol):
    """Runs Python steps statefully and contains them."""

    @property
    def info(self) -> SandboxInfo:
        """What this sandbox is."""
        ...

    @property
    def files(self) -> SandboxFiles:
        """The files of its work folder."""
        ...

    def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> Execution:
        """Run one step; it ends within `timeout` + 1 seconds whatever runs inside.

        `timeout` in seconds, over 0; None takes `Resources.step_seconds`. Three things come on top: after the step
        up to `Resources.copy_seconds` for copying changed files out; before it, where an earlier one ended the
        sandbox, the new start (0.1 s as a rule, 31 s at most); and where the state needs earlier steps to run again
        (`notice` says so: `state rebuilt`), twice the time that all steps have taken and 15 s at most. A step that
        fails leaves the state from before it or, where it ended by an exception, the state that it had reached.

        `on_output` is called in this thread with what the step writes as it comes: of a long output the beginning, and
        the rest, shortened, at the end. Its time is none of the step's.

        Raises:
            UsageError: `timeout` is not a number over 0.
            SandboxUnavailable: the sandbox is closed, or could not be started again.
            BaseException: what `on_output` raises; the step was interrupted for it.
        """
        ...

    def get(self, name: str) -> Any:
        """The value of a name: of plain types, as a copy, at most 8 MiB as JSON and 100 deep.

        Those are None, bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict, Decimal, and datetime,
        date, time, timedelta. It is what the process of the steps says that it is.

        Raises:
            NotFound: nothing has that name.
            UsageError: the value is of another type, too large, or nested too deep.
            SandboxUnavailable: as `variables`.
        """
        ...

    def set(self, name: str, value: Any) -> None:
        """Bind a name to a value of the types that `get` has; a step as any other.

        Raises:
            UsageError: that is no name, or the value is of another type or too large.
            SandboxUnavailable: as `variables`.
        """
        ...

    def shell(
        self, command: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Run a command with `/bin/sh` in the work folder, contained as any step, which it is; it ends with the step.

        Raises:
            As `run`.
        """
        ...

    def install(
        self, *packages: str, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Run `pip install` into a folder of the sandbox from which its code can import; it is gone with the sandbox.

        Raises:
            SandboxUnavailable: as `run`; or the sandbox has no network.
            UsageError: that is no name of a package.
        """
        ...

    def variables(self) -> Mapping[str, Variable]:
        """The names that steps have bound and that still are, with bounded reprs; modules and `_names` left out.

        Raises:
            SandboxUnavailable: the sandbox is closed, could not be started again, or could not answer.
        """
        ...

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Digests of the data that steps have bound, of `_names` too, and what is in it; see `Held`.

        At most 1,000 names: `first` if they are bound, then the newest. Not functions, classes, modules.

        Raises:
            SandboxUnavailable: as `variables`.
        """
        ...

    def checkpoint(self) -> int:
        """Keep the variables as they are now; the number that `restore` takes, counted from 1.

        Each is a frozen process: of more than the sandbox may keep the oldest is dropped. Files are not part of it.

        Raises:
            SandboxUnavailable: as `variables`.
        """
        ...

    def restore(self, number: int) -> str:
        """Take up the variables of a checkpoint, which stays; returns the notice of what happened to the state.

        Raises:
            NotFound: there is no such checkpoint, or no more.
            SandboxUnavailable: as `variables`.
        """
        ...

    def artifacts(self) -> Sequence[str]:
        """The regular files of the work folder as the code sees it, relative paths in order.

        Raises:
            SandboxUnavailable: as `variables`.
        """
        ...

    def read_file(self, name: str) -> bytes:
        """A file of the work folder.

        Raises:
            NotFound: no regular file has that name there.
            SandboxUnavailable: as `variables`.
        """
        ...

    def write_file(self, name: str, data: bytes) -> None:
        """Put a file into the work folder, with the folders above it.

        Raises:
            UsageError: the name leads out of the work folder, or the file does not fit.
            SandboxUnavailable: as `variables`.
        """
        ...

    def read_file_into(self, name: str, file: IO[bytes]) -> None:
        """As `read_file`, piece by piece: a large file takes no memory. What was written before an error stays."""
        ...

    def write_file_from(self, name: str, file: IO[bytes]) -> None:
        """As `write_file`, piece by piece, from where a file stands to its end; it can be sought."""
        ...

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step; callable from another thread.

        A second one ends a step that does not answer, as in a loop in C, 0.3 s after the first at the earliest: the
        outcome is `crashed` with a KeyboardInterrupt, and the state that from before the step. Without a step that
        runs nothing happens.
        """
        ...

    def close(self, *, force: bool = False) -> None:
        """End every process inside; safe to call twice, and from any thread.

        A step that runs is interrupted and has a second to end; then all that is inside ends, and the step with it: its
        outcome is `crashed`, its error's type `Closed`. With `force` it ends at once.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Checker(Protocol):
    """Reads the code of each step beside its run: black, flake8, mypy."""

    def check(self, code: str) -> Sequence[CheckReport]:
        """A report per tool that is switched on. Never raises: a tool that fails says so in its report."""
        ...

    def remember(self, code: str, *, failed_at: int | None = None) -> None:
        """A step ran: later steps may use what it bound.

        `failed_at` is the line (1-based) at which it raised: what stands below did not happen.
        """
        ...

    def close(self) -> None:
        """End the tools' processes; safe to call twice."""
        ...


class Model(Protocol):
    """A language model, or something that plays one."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    def complete(self, messages: Sequence[Message], *, timeout: float | None = None) -> Completion:
        """The next answer in a conversation. Retries inside; `timeout` in seconds bounds all of it.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow.
        """
        ...

    def close(self) -> None:
        """Release connections; safe to call twice."""
        ...


class Environment(Protocol):
    """Answers one kind of action."""

    @property
    def action(self) -> type[Action]:
        """The class of the actions that it answers; its default `type` also names the prompt file."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Values for the `${names}` in its prompt file."""
        ...

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        """Carry out one action. What the model can mend is in the observation, never an exception.

        `timeout` is what the episode has left, in seconds; None is no limit.
        """
        ...


class Agent(Protocol):
    """Chooses the next action."""

    @property
    def name(self) -> str:
        """For the record: the model's name."""
        ...

    def brief(self, request: str, *, description: str, environments: Sequence[Environment]) -> str:
        """Take up a request; returns the system prompt."""
        ...

    def act(self, steps: Sequence[Step], *, timeout: float | None = None) -> Turn:
        """The next action, given all steps so far. `timeout` in seconds bounds the model call.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed.
        """
        ...


Listener = Callable[[Event], None]
"""Reads the events of a run: a display, a recorder."""


class Verifier(Protocol):
    """Replays a script in a fresh sandbox and says whether the result is the same."""

    def __call__(self, script: str, *, timeout: float | None = None) -> Verdict:
        """`timeout` is what the episode has left, in seconds; None is no limit."""
        ...


StartSandbox = Callable[[Path | None], Sandbox]
"""Starts a fresh sandbox like another one, on a work folder that is only read (None: an empty one)."""
