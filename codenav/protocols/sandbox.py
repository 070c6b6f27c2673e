"""The contracts of sandboxes, of their files, and of who starts them or answers their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, Self

from codenav.execution import (
    Copied,
    Execution,
    FileEntry,
    Held,
    Output,
    SandboxInfo,
    ShellResult,
    Variable,
)

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


StartSandbox = Callable[[Path | None], Sandbox]
"""Starts a fresh sandbox like another one, on a work folder that is only read (None: an empty one)."""
