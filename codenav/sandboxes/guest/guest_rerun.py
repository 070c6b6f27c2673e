"""The rerun of earlier steps, within a time of its own, and its differences from the first run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import guest_linux
from guest_checkpoints import Done, values_of
from guest_relay import Relay
from guest_told import few, numbers

if TYPE_CHECKING:
    from guest_keeper import Keeper

SPARE_SECONDS = 5.0
"""Time besides twice what the steps took before, for a machine that is busier now."""
END_SECONDS = 2.0
"""Time for the end of a step that does not come to its end by then, and for another worker."""
MOST_FILES = 5000
"""Maximum number of files of the work folder that are looked at before and after."""


class Rerun:
    """A rerun of steps, compared with their first run."""

    def __init__(self, loop: Any, keeper: Keeper, folder: str) -> None:
        self._loop, self._keeper, self._folder = loop, keeper, folder
        self._values: list[str] = []
        self._outcomes: list[int] = []
        self._files: list[str] = []
        self._answered = False

    def run(self, steps: list[Done]) -> str:
        """Run steps again; return why that did not work, or an empty text. The host is told how long it may take."""
        for step in steps:
            if step.refusal:
                return f"step {step.number} cannot run again, because {step.refusal}"
        seconds = SPARE_SECONDS + 2 * sum(step.seconds for step in steps)
        self._loop.send({"op": "rebuilding", "seconds": seconds + END_SECONDS})
        before, until = dict(_stamps(self._folder)), time.monotonic() + seconds
        failed = next((step.number for step in steps if not self._step(step, until)), 0)
        self._files = sorted(name for name, stamp in _stamps(self._folder) if before.get(name) != stamp)
        return f"step {failed} did not run again to its end" if failed else ""

    def _step(self, step: Done, until: float) -> bool:
        keeper = self._keeper
        self._answered |= bool(step.answered)
        request, pipes = keeper.request(keeper.adopt), keeper.late.new_pipes([])
        calls = step.answered is not None
        asked = {"op": "run", "number": step.number, "code": step.code, "calls": calls}
        relay = Relay(self._loop, step.number, step.answered) if calls else None
        request.go(asked, pipes, None, max(until - time.monotonic(), 0.05), deaf=True, relay=relay)
        for pipe in pipes:
            keeper.late.forget(pipe)
        if request.outcome != "ok" or request.interrupted or request.reply["op"] != "result":
            return False
        values = values_of(request.reply)
        differing = {name for name in {*values, *step.values} if values.get(name) != step.values.get(name)}
        self._values = [name for name in self._values if name not in values] + sorted(differing)
        if request.reply["outcome"] != step.outcome:
            self._outcomes.append(step.number)
        step.values, step.outcome = values, str(request.reply["outcome"])
        return True

    def changed(self) -> list[str]:
        """A sentence on files that were changed again; it holds also where a step did not come to its end."""
        return [f"that has changed files again: {few(self._files)}"] if self._files else []

    def differences(self) -> list[str]:
        """Sentences on what is not as it was, and on what is there once more."""
        found = []
        if self._values:
            found.append(f"{few(self._values)} {'differs' if len(self._values) == 1 else 'differ'} from before")
        if self._outcomes:
            found.append(f"{numbers(self._outcomes)} ended differently from before")
        if self._answered:
            found.append("calls to the host got the answers from before")
        found += self.changed()
        threads, processes = guest_linux.tasks(self._keeper.worker.pid) > 1, self._keeper.others()
        started = [name for name, there in (("threads", threads), ("child processes", processes)) if there]
        if started:
            found.append(f"{' and '.join(started)} of these steps were started again")
        return found


def _stamps(folder: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The stamps of the regular files below a folder, following no link."""
    seen, folders = 0, [""]
    while folders:
        below = folders.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, below)))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_FILES:
                return
            name = os.path.join(below, entry.name)
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield name, (found.st_mtime_ns, found.st_size, found.st_ino)
            except OSError:
                continue
