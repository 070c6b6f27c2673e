"""Replays of a session's summaries, on copies of the files it began with and never on live data."""

from __future__ import annotations

import math
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from codenav.core.errors import Cancelled, CodeNavError, SandboxUnavailable, StorageFull
from codenav.core.execution import MIB, NOT_COMPARED, Mount, Ran, Resources, Verdict
from codenav.core.protocols import CallHandler, Sandbox
from codenav.core.system.bounded import Deadline, OutOfTime
from codenav.episodes.compared import Left
from codenav.episodes.files import Mounted, written
from codenav.episodes.objects import Objects
from codenav.episodes.verify import COMPARING_SECONDS, verify
from codenav.session.host_calls import recorded
from codenav.session.sandbox_factory import SandboxFactory, copy_inputs
from codenav.session.tool_calls import EpisodeCalls

MOST_FILES = 20_000
"""Most files of a mount that is kept for replays."""


class _TooLarge(Exception):
    """The mount is too large to be kept. The message says why."""


@dataclass(frozen=True)
class Beginning:
    """The state before the first step: the inputs of the work folder, and a copy of each writable mount."""

    folder: Path
    """The folder of the copies, beside the record."""
    inputs: Path | None = None
    mounts: tuple[tuple[Mount, Path], ...] = ()
    trouble: str = ""
    """The reason why nothing can be replayed, or empty."""

    @classmethod
    def keep(cls, work_dir: Path | None, folder: Path, factory: SandboxFactory, objects: Objects) -> Self:
        """Copy everything that a session could change.

        Raises:
            UsageError, StorageFull: raised by `copy_inputs` for the work folder.
        """
        inputs = copy_inputs(work_dir, folder / "inputs", factory.template.resources, objects) if work_dir else None
        kept: list[tuple[Mount, Path]] = []
        for number, mount in enumerate(one for one in factory.template.mounts if one.writable):
            trouble = f"{mount.path} can be written to, and process has no way to put a copy in its place"
            if factory.backend != "process":
                trouble = _copied(mount.path, folder / "mounts" / str(number), factory.template.resources)
            if trouble:
                return cls(folder, inputs, trouble=trouble)
            kept.append((mount, folder / "mounts" / str(number)))
        return cls(folder, inputs, tuple(kept))

    @contextmanager
    def fresh(self, factory: SandboxFactory) -> Iterator[tuple[SandboxFactory, list[Mounted]]]:
        """Yield a factory for sandboxes on temporary copies of their own, which `renew` fills."""
        with tempfile.TemporaryDirectory(prefix="replay-", dir=self.folder, ignore_cleanup_errors=True) as place:
            os.chmod(place, 0o755)
            mounted, replaced = [], {}
            for number, (mount, before) in enumerate(self.mounts):
                mounted.append(Mounted(mount.path, before, Path(place, str(number))))
                replaced[mount.path] = replace(mount, source=mounted[-1].now)
            mounts = [replaced.get(mount.path, mount) for mount in factory.template.mounts]
            yield factory.changed(mounts=mounts), mounted

    def renew(self, mounted: Sequence[Mounted], resources: Resources) -> None:
        """Make the copies as the folders were at first. Raises OSError, _TooLarge."""
        for mount in mounted:
            shutil.rmtree(mount.now, ignore_errors=True)
            _copy(mount.before, mount.now, resources)

    def forget(self) -> None:
        """Remove the copies of mounts, which only replays need. The inputs stay with the record."""
        shutil.rmtree(self.folder / "mounts", ignore_errors=True)

    def live(self) -> list[Mounted]:
        """Return the mounted folders in their current state."""
        return [Mounted(mount.path, before, mount.path) for mount, before in self.mounts]


def _copied(source: Path, target: Path, resources: Resources) -> str:
    """Copy a folder. Return an empty string, or why it was not copied."""
    try:
        _copy(source, target, resources)
    except _TooLarge as error:
        shutil.rmtree(target, ignore_errors=True)
        return f"{source} can be written to, and {error}"
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        return f"{source} can be written to, and no copy of it can be kept: {error.strerror}"
    return ""


def _copy(source: Path, target: Path, resources: Resources) -> None:
    """Copy folders, regular files and links with mode and owner. Raises OSError, _TooLarge."""
    if target.is_relative_to(source):
        raise _TooLarge("it holds codenav's own files")
    files = size = 0
    target.mkdir(parents=True)
    for at, folders, names in os.walk(source):
        to = target / os.path.relpath(at, source)
        for name in (*folders, *names):
            path, copy = os.path.join(at, name), to / name
            info = os.lstat(path)
            files, size = files + 1, size + (info.st_size if stat.S_ISREG(info.st_mode) else 0)
            if size > resources.work_bytes or files > MOST_FILES:
                raise _TooLarge(
                    f"it is larger than the {resources.work_bytes / MIB:.0f} MiB that are kept to replay from"
                )
            if stat.S_ISLNK(info.st_mode):
                os.symlink(os.readlink(path), copy)
            elif stat.S_ISDIR(info.st_mode):
                copy.mkdir()
            elif stat.S_ISREG(info.st_mode):
                shutil.copyfile(path, copy, follow_symlinks=False)
            else:
                continue
            _like(info, copy)
    _like(os.lstat(source), target)


def _like(info: os.stat_result, copy: Path) -> None:
    if os.geteuid() == 0:
        os.chown(copy, info.st_uid, info.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(info.st_mode):
        os.chmod(copy, stat.S_IMODE(info.st_mode))


class Replay:
    """A replay of scripts as the session would have run them from its beginning. Satisfies `protocols.Verifier`.

    `ran` grows with the session, and `requests` with the answers to questions. `calls` are those to tools; a session
    without tools has none.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        factory: SandboxFactory,
        beginning: Beginning,
        ran: Sequence[Ran],
        requests: Sequence[str],
        *,
        calls: EpisodeCalls | None = None,
    ) -> None:
        self._sandbox, self._factory, self._beginning = sandbox, factory, beginning
        self._ran, self._requests, self._calls = ran, requests, calls

    def __call__(self, script: str, *, timeout: float | None = None) -> Verdict:
        """Replay a script and return the verdict. See `protocols.Verifier`."""
        begun, resources = self._beginning, self._factory.template.resources
        if begun.trouble:
            return Verdict(False, f"it cannot be replayed: {begun.trouble}")
        # The script does in one step what took that many.
        seconds = resources.step_seconds * max(len(self._ran), 1)
        deadline = Deadline(min(seconds + COMPARING_SECONDS, math.inf if timeout is None else timeout))
        try:
            held = self._sandbox.digests()
            files = written(self._sandbox, begun.inputs, begun.live(), deadline=deadline)
        except OutOfTime:
            return Verdict(False, "no time was left for it")
        except SandboxUnavailable as error:
            return Verdict(False, f"there is nothing to compare with: {error}")
        left = Left(held, files, tuple(self._ran), "\n".join(self._requests))
        refused: list[str] = []
        try:
            with begun.fresh(self._factory) as (factory, mounted), self._unrecorded(refused) as unrecorded:

                def start(inputs: Path | None) -> Sandbox:
                    begun.renew(mounted, resources)
                    # Calls to the host are not carried out again.
                    calls = recorded(factory.calls).again(unrecorded) if factory.calls is not None else None
                    return replace(factory, calls=calls).start(inputs, copy_out=False)

                verdict = verify(
                    script,
                    start=start,
                    inputs=begun.inputs,
                    left=left,
                    timeout=min(seconds, max(deadline.left, 0.1)),
                    deadline=deadline,
                    mounted=mounted,
                )
        except (Cancelled, StorageFull):
            raise
        except (OSError, CodeNavError) as error:
            return Verdict(False, f"it could not be replayed: {error}")
        if refused:
            # Whatever came of it: a script that makes the call in earnest does something else than this replay.
            return replace(verdict, verified=False, reason=_not_sent(refused), missing=(), outcome=NOT_COMPARED)
        return verdict

    def _unrecorded(self, refused: list[str]) -> AbstractContextManager[CallHandler | None]:
        return self._calls.replaying(refused) if self._calls is not None else nullcontext()


def _not_sent(tools: Sequence[str]) -> str:
    named = ", ".join(dict.fromkeys(tools))
    return f"the script makes a call that the session had not made in just this way, and a replay sends none: {named}"
