"""A process of its own that records: `python writer.py MODE FOLDER`. See test_episodes_recorder.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from codenav.core.actions import Code, CodeObservation, Step, Summary
from codenav.core.errors import StorageFull
from codenav.core.events import ActionTaken, RunEnded, RunStarted, Status, StepEnded
from codenav.core.execution import Execution, Outcome
from codenav.episodes.store import EpisodeStore


def step(number: int, size: int) -> Step:
    execution = Execution(Outcome.OK, stdout=f"{number} " * size)
    return Step(number, Code(f"x = {number}"), CodeObservation("shown", execution=execution))


def started(id: str) -> RunStarted:
    return RunStarted(id=id, request="write", started="2026-03-01T12:00:00+00:00", model="none")


def say(**data: object) -> None:
    os.write(1, json.dumps(data).encode() + b"\n")


def endless(folder: Path) -> None:
    """Record steps until killed; say each one that the recorder has returned from."""
    store = EpisodeStore(folder)
    id, _ = store.create()
    record = store.recorder(id)
    record(started(id))
    say(id=id, step=0)
    number = 0
    while True:
        number += 1
        record(ActionTaken(number, Code("x")))
        record(StepEnded(step(number, 300 * (number % 7))))
        say(id=id, step=number)


def full(folder: Path) -> None:
    """Record until the disk is full, fill what is left of it, and end the run."""
    store = EpisodeStore(folder / "episodes")
    id, _ = store.create()
    record = store.recorder(id)
    record(started(id))
    number, message, hint = 0, "", ""
    while not message:
        number += 1
        try:
            record(StepEnded(step(number, 2000)))
        except StorageFull as error:
            message, hint = str(error), error.hint
    size = record.path.stat().st_size
    with open(folder / "ballast", "wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 512)
        except OSError as error:
            left = error.strerror
    before = store.load(id)
    record(RunEnded(Status.ERROR, summary=Summary(code="x = 1\n" * 500), reason=message, hint=hint, exit_code=4))
    after = store.load(id)
    names = sorted(os.listdir(folder / "episodes" / id))
    say(message=message, hint=hint, failed=number, left=left, size=size, names=names)
    say(before=len(before.steps), after=len(after.steps), status=after.status, reason=after.reason)


def refused(folder: Path) -> None:
    """Make an episode where nothing can be written; say the errors."""
    try:
        EpisodeStore(folder).create()
    except StorageFull as error:
        say(create=str(error))
    (made,) = os.listdir(folder)
    try:
        EpisodeStore(folder).recorder(made)
    except StorageFull as error:
        say(recorder=str(error))


if __name__ == "__main__":
    {"endless": endless, "full": full, "refused": refused}[sys.argv[1]](Path(sys.argv[2]))
