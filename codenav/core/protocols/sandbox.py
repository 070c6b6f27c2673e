"""The contracts of sandboxes, their files, their starters and the handlers of their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Protocol, Self, runtime_checkable

from codenav.core.execution import (
    Copied,
    Execution,
    FileEntry,
    Held,
    Output,
    SandboxInfo,
    ShellResult,
    ToolCall,
    Variable,
)

CallHandler = Callable[[str, dict[str, Any]], Any]
"""Handler of calls that code in a sandbox makes. Gets the name and arguments of a call and returns JSON data.

Its exceptions become a `HostCallError` inside, with their message. Each call runs in a thread of its own, one call of
a step at a time, and its time counts for the step. Check the arguments: the code chooses them.

A handler that is also a `StepHandler` is told of the steps themselves.
"""


@runtime_checkable
class StepHandler(Protocol):
    """A `CallHandler` that is told when a step begins and ends."""

    def begin(self, seconds: float) -> None:
        """Note that a step begins, and the seconds that it may take."""
        ...

    def end(self) -> None:
        """Note that the step is over: a call that still runs should be ended. Returns at once."""
        ...

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        """Answer a call. See `CallHandler`."""
        ...


class CallsOfStep(Protocol):
    """The calls to tools that the code of steps makes."""

    @property
    def told(self) -> str:
        """Sentences for a model: how tools are called, and which calls are allowed."""
        ...

    def collected(self, code: str = "") -> AbstractContextManager[Sequence[ToolCall]]:
        """Collect the calls of a step of code that runs within this context; the sequence is complete at its end.

        Raises:
            StorageFull: at the end, if a call could not be recorded.
        """
        ...


class SandboxFiles(Protocol):
    """The files of a sandbox's work folder as the code sees them. Names are relative, with `/` between folders.

    Each call raises SandboxUnavailable if the sandbox is closed, could not be started again, or could not answer.
    """

    def list(self, folder: str = "", *, recursive: bool = False) -> Sequence[FileEntry]:
        """Return the entries of a folder, sorted by name.

        `recursive` includes what is below it, without the content of `__pycache__`.

        Raises:
            NotFound: there is no such folder.
        """
        ...

    def stat(self, name: str) -> FileEntry:
        """Return kind, size, time and executability of one entry. Links are not followed.

        Raises:
            NotFound: nothing has that name.
        """
        ...

    def exists(self, name: str) -> bool:
        """True if an entry of that name exists, of whatever kind."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file. `read_into` does the same without holding it in memory.

        Raises:
            NotFound: no regular file has that name.
        """
        ...

    def read_into(self, name: str, file: IO[bytes]) -> None:
        """Copy a file into `file`, piece by piece. What was written before an error stays."""
        ...

    def write(self, name: str, data: bytes | str, *, executable: bool | None = None) -> None:
        """Write a file, and make the folders above it. Text is written as UTF-8.

        With `executable` None an existing file keeps that property.

        Raises:
            UsageError: the name leads out of the work folder, or the file does not fit.
        """
        ...

    def write_from(self, name: str, file: IO[bytes], *, executable: bool | None = None) -> None:
        """Write a file from `file`, piece by piece, from its current position to its end. `file` must be seekable."""
        ...

    def make_folder(self, name: str) -> None:
        """Make a folder and those above it. An existing one stays.

        Raises:
            UsageError: the name belongs to something else, or leads out of the work folder.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with everything in it. Nothing is removed on the host.

        Raises:
            NotFound: nothing has that name.
            UsageError: it is the work folder itself, or cannot be removed.
        """
        ...

    def upload(self, path: str | Path, name: str = "") -> Copied:
        """Copy a local file or folder into the sandbox as `name`, or into `name` if that is a folder.

        The default is the work folder. Below a folder, links, repositories (`.git` and the like) and `__pycache__` are
        left out. Files that their owner may execute stay executable.

        Raises:
            NotFound: there is no such file, or it cannot be read.
            UsageError: it does not fit.
        """
        ...

    def download(self, name: str, path: str | Path) -> Copied:
        """Copy a file or folder of the sandbox to a local path, or into that path if it is a folder.

        With an empty `name` the content of the work folder goes there. No link is followed, and a file is replaced only
        when its copy is complete. `Copied.run_by` names files that your tools run on their own.

        Raises:
            NotFound: nothing has that name, or it is neither a file nor a folder.
            UsageError: it cannot be written there.
            StorageFull: there is no room.
        """
        ...

    def shown_as(self, shown: Callable[[str], str]) -> SandboxFiles:
        """Return the same files with `shown` applied to the names that come out, to mask secrets in them."""
        ...


class Sandbox(Protocol):
    """A container for Python steps that share their state."""

    @property
    def info(self) -> SandboxInfo:
        """The description of this sandbox."""
        ...

    @property
    def files(self) -> SandboxFiles:
        """The files of its work folder."""
        ...

    def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> Execution:
        """Run one step. It ends within `timeout` + 1 seconds, whatever runs inside.

        `timeout` is in seconds and above 0; None means `Resources.step_seconds`. Three things may come on top: after
        the step up to `Resources.copy_seconds` for copying changed files out; before it the new start if an earlier
        step ended the sandbox (usually 0.1 s, at most 31 s); and, if the state requires that earlier steps run again
        (`notice` then says `state rebuilt`), twice the time of all steps and 15 s at most. A step that fails leaves the
        state from before it or, if it ended with an exception, the state that it had reached.

        `on_output` is called in this thread with what the step writes, as it arrives. Of a long output it gets the
        beginning at once, and the rest, shortened, at the end. Its time does not count for the step.

        Raises:
            UsageError: `timeout` is not a number above 0.
            SandboxUnavailable: the sandbox is closed, or could not be started again.
            BaseException: raised by `on_output`. The step was interrupted for it.
        """
        ...

    def get(self, name: str) -> Any:
        """Return a copy of the value of a name, of plain types, at most 8 MiB as JSON and 100 levels deep.

        Plain types are None, bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict, Decimal, and
        datetime, date, time, timedelta. The value is what the process of the steps claims it to be.

        Raises:
            NotFound: nothing has that name.
            UsageError: the value is of another type, too large, or nested too deeply.
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def set(self, name: str, value: Any) -> None:
        """Bind a name to a value of the types that `get` returns. This is a step like any other.

        Raises:
            UsageError: the name is invalid, or the value is of another type or too large.
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def shell(
        self, command: str, *, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Run a command with `/bin/sh` in the folder of the steps. Contained like any step, it ends with its step.

        Raises:
            The errors of `run`.
        """
        ...

    def install(
        self, *packages: str, timeout: float | None = None, on_output: Callable[[Output], None] | None = None
    ) -> ShellResult:
        """Run `pip install` into a folder from which the sandbox's code can import. It is gone with the sandbox.

        Raises:
            SandboxUnavailable: for the reasons of `run`, or because the sandbox has no network.
            UsageError: a package is not a valid requirement.
        """
        ...

    def variables(self) -> Mapping[str, Variable]:
        """Return the names that steps have bound and that still exist, with bounded reprs, but no modules and `_names`.

        Raises:
            SandboxUnavailable: the sandbox is closed, could not be started again, or could not answer.
        """
        ...

    def digests(self, first: Sequence[str] = ()) -> Held:
        """Return digests of the data that steps have bound, `_names` included, and part of its content. See `Held`.

        At most 1,000 names: `first` if they are bound, then the newest. No functions, classes and modules.

        Raises:
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def checkpoint(self) -> int:
        """Keep the current variables. Return the number for `restore`, counted from 1.

        Each checkpoint is a frozen process. Beyond the sandbox's limit the oldest is dropped. Files are not part of it.

        Raises:
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def restore(self, number: int) -> str:
        """Return to the variables of a checkpoint, which stays. Return a notice of what happened to the state.

        Raises:
            NotFound: the checkpoint does not exist, or no longer.
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def artifacts(self) -> Sequence[str]:
        """Return the regular files of the work folder as the code sees it, as sorted relative paths.

        Raises:
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def read_file(self, name: str) -> bytes:
        """Return the content of a file of the work folder.

        Raises:
            NotFound: no regular file has that name there.
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file into the work folder, and make the folders above it.

        Raises:
            UsageError: the name leads out of the work folder, or the file does not fit.
            SandboxUnavailable: for the reasons of `variables`.
        """
        ...

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the running step. Callable from another thread.

        A second interrupt, at the earliest 0.3 s after the first, ends a step that does not respond, as in a loop in C:
        its outcome is `crashed` with a KeyboardInterrupt, and the state is the one from before the step. If no step
        runs, nothing happens.
        """
        ...

    def close(self, *, force: bool = False) -> None:
        """End every process inside. Safe to call twice, and from any thread.

        A running step is interrupted and has a second to end. Then everything inside ends, and the step with it: its
        outcome is `crashed`, its error type `Closed`. With `force` it ends at once.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


StartSandbox = Callable[[Path | None], Sandbox]
"""Starts a fresh sandbox like another one, on a work folder that is only read. None is an empty work folder."""
