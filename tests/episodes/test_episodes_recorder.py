"""Recording: complete up to the last step whatever happens to the process or the disk."""

from __future__ import annotations

import base64
import gc
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codenav.core.actions import Code, CodeObservation, Step
from codenav.core.errors import StorageFull
from codenav.core.events import Event, Notice, RunEnded, Status, StepEnded
from codenav.core.execution import Display, Execution, Outcome
from codenav.episodes.record import EpisodeResult
from codenav.episodes.recorder import Recorder
from codenav.episodes.store import EpisodeStore

Events = Callable[..., list[Event]]
WRITER = [sys.executable, str(Path(__file__).with_name("writer.py"))]


def test_what_is_written_is_read_back(store: EpisodeStore, events: Events) -> None:
    id, folder = store.create()
    made = events(id)
    with store.recorder(id) as record:
        for event in made:
            record(event)
    result = store.load(id)
    assert result.folder == folder
    assert [step.to_dict() for step in result.steps] == [e.step.to_dict() for e in made if isinstance(e, StepEnded)]
    assert (result.status, result.answer, result.exit_code) == (Status.DONE, "Node 0", 0)
    assert result.summary.verified and result.notices == ("retried once",)
    assert result.usage.requests == 8 and result.seconds == 4.0
    assert os.listdir(folder) == ["events.jsonl"]
    assert (folder / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_each_event_is_on_the_disk_when_the_recorder_returns(store: EpisodeStore, events: Events) -> None:
    id, folder = store.create()
    record = store.recorder(id)
    for count, event in enumerate(events(id), start=1):
        record(event)
        lines = (folder / "events.jsonl").read_bytes().splitlines()
        assert len(lines) == count
        assert json.loads(lines[-1])["event"] == event.name
    first = json.loads((folder / "events.jsonl").read_bytes().splitlines()[0])
    assert first["format"] == 2
    assert first["owner"]["pid"] == os.getpid()


def test_a_record_is_never_written_over(store: EpisodeStore, events: Events) -> None:
    id, folder = store.create()
    with store.recorder(id) as record:
        record(events(id)[0])
    before = (folder / "events.jsonl").read_bytes()
    with pytest.raises(StorageFull, match="File exists"):
        store.recorder(id)
    assert (folder / "events.jsonl").read_bytes() == before


def test_a_record_cut_at_any_byte_is_complete_up_to_the_last_whole_step(store: EpisodeStore, events: Events) -> None:
    id, folder = store.create()
    with store.recorder(id) as record:
        for event in events(id):
            record(event)
    whole = (folder / "events.jsonl").read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    steps = [end for line, end in zip(whole.splitlines(), ends, strict=True) if b'"observed"' in line[:20]]
    for size in sorted({*range(ends[0] + 1, len(whole), 29), *ends[1:-1]}):
        cut = whole[:size]
        (folder / "events.jsonl").write_bytes(cut)
        result = store.load(id)
        # A line is whole when only its line feed is missing.
        expected = sum(end <= size for end in steps)
        assert [step.number for step in result.steps] == list(range(1, expected + 1))
        assert result.status is Status.RUNNING
        assert store.list()[0].steps == expected


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts processes that record into the test's folder without end."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([*WRITER, "endless", str(tmp_path)], stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def test_kill_9_at_any_time_loses_no_finished_step(
    tmp_path: Path, writers: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """Twenty-five real processes, killed at random points; what they said is done must be in the record."""
    dice = random.Random(3)
    store = EpisodeStore(tmp_path)
    children = [writers(), writers()]
    for _ in range(25):
        child = children.pop(0)
        assert child.stdout is not None
        said = [json.loads(child.stdout.readline()) for _ in range(dice.randint(1, 25))]
        child.kill()
        said += map(json.loads, child.stdout.read().splitlines())
        child.wait()
        result = store.load(said[0]["id"])
        assert [step.number for step in result.steps] == list(range(1, len(result.steps) + 1))
        assert said[-1]["step"] <= len(result.steps) <= said[-1]["step"] + 1
        assert (result.status, result.exit_code) == (Status.INTERRUPTED, 130)
        assert all(step.observation.ok for step in result.steps)
        assert result.summary.code.count("x = ") == len(result.steps)
        children.append(writers())


def test_an_interrupt_while_writing_tears_and_repeats_nothing(store: EpisodeStore, events: Events) -> None:
    class Interrupt(Exception):
        pass

    def raise_interrupt(number: int, frame: object) -> None:
        raise Interrupt

    id, folder = store.create()
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    dice, returned, interrupts = random.Random(5), [], 0
    # What is raised in a callback of the collector is lost.
    gc.disable()
    try:
        record = store.recorder(id)
        record(events(id)[0])
        for number in range(500):
            try:
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.00001, 0.001))
                record(Notice(f"{number} " * dice.randint(1, 2000)))
                signal.setitimer(signal.ITIMER_REAL, 0)
                returned.append(number)
            except Interrupt:
                interrupts += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    record.close()
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    written = [int(json.loads(line)["text"].split()[0]) for line in lines[1:]]
    assert written == sorted(set(written))
    assert set(returned) <= set(written)
    assert interrupts > 0


def in_small_disk(folder: Path, mode: str, size: int) -> list[dict[str, object]]:
    """Run the writer where `folder` is a file system of `size` bytes."""
    folder.mkdir()
    command = ["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(folder), *WRITER, mode, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("size", [64 << 10, 256 << 10, 257 << 10, 1 << 20])
def test_a_full_disk_leaves_a_record_that_says_so(tmp_path: Path, size: int) -> None:
    first, second = in_small_disk(tmp_path / "disk", "full", size)
    said = {**first, **second}
    complete = int(str(said["failed"])) - 1
    assert complete > 0
    assert f"complete up to step {complete}" in str(said["message"])
    assert "No space left" in str(said["message"]) and str(tmp_path / "disk" / "episodes") in str(said["message"])
    assert "CODENAV_HOME" in str(said["hint"])
    assert said["before"] == said["after"] == complete
    assert (said["status"], said["reason"]) == ("error", said["message"])
    assert said["names"] == ["events.jsonl"]


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--size", "4096", "--tmpfs", str(tmp_path), *WRITER, "full", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "codenav.core.errors.StorageFull: cannot" in done.stderr
    assert "without any step" in done.stderr or "cannot make a folder" in done.stderr


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "20260301-120000-abcdef").mkdir()
    place = str(tmp_path)
    done = subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--ro-bind", place, place, *WRITER, "refused", place],
        capture_output=True,
        text=True,
        check=True,
    )
    create, recorder = map(json.loads, done.stdout.splitlines())
    assert create["create"].startswith(f"cannot make a folder in {place}: Read-only")
    assert "Read-only file system; it is without any step" in recorder["recorder"]


def test_a_file_in_the_place_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(StorageFull, match="not a folder"):
        EpisodeStore(tmp_path / "taken").create()
    with pytest.raises(StorageFull):
        EpisodeStore(tmp_path / "taken" / "inside").create()
    assert (tmp_path / "taken").read_text() == "mine"


SECRET = "p4ss/w\"rd'\n"


def test_secrets_are_masked_everywhere(store: EpisodeStore, events: Events) -> None:
    from urllib.parse import quote

    id, folder = store.create()
    execution = Execution(
        Outcome.OK,
        stdout=f"key {SECRET} and {SECRET!r} and https://x/?k={quote(SECRET, safe='')}",
        displays=[Display("text/html", b"hunter22")],
    )
    step = Step(1, Code(f"print({SECRET!r})", f"use {SECRET}"), CodeObservation(SECRET, execution=execution))
    with store.recorder(
        id, secrets={"TOKEN": SECRET, "KIND": "observed", "MODE": "fast", "OTHER": "hunter22"}
    ) as record:
        record(events(id)[0])
        record(StepEnded(step))
        record(RunEnded(Status.DONE, answer=SECRET + " observed"))
    text = (folder / "events.jsonl").read_text()
    assert "p4ss" not in text
    result = store.load(id)
    observation = result.steps[0].observation
    assert isinstance(observation, CodeObservation)
    assert observation.execution.stdout == "key [secret TOKEN] and '[secret TOKEN]' and https://x/?k=[secret TOKEN]"
    assert observation.execution.displays[0].data == b"[secret OTHER]"
    assert result.answer == "[secret TOKEN] [secret KIND]"
    assert result.steps[0].action.thought == "use [secret TOKEN]"


def test_any_text_survives(store: EpisodeStore, events: Events) -> None:
    text = "".join(map(chr, range(1, 0x3000))) + "\U0001f600 \udc80\ud800 \0"
    id, _ = store.create()
    with store.recorder(id) as record:
        record(events(id, request=text)[0])
        record(Notice(text))
    result = store.load(id)
    assert result.request == text and result.notices == (text,)
    assert isinstance(result, EpisodeResult)


def test_a_display_is_stored_whole(recorded: Callable[..., EpisodeResult]) -> None:
    data = random.Random(1).randbytes(1 << 20)
    execution = Execution(Outcome.OK, displays=[Display("image/png", data)])
    result = recorded(taken=[(Code("show()"), CodeObservation("picture", execution=execution))])
    document = result.steps[0].to_dict()["observation"]
    assert base64.b64decode(document["displays"][0]["data"]) == data


def test_closing_twice_is_fine(tmp_path: Path, events: Events) -> None:
    record = Recorder(tmp_path)
    record(events()[0])
    record.close()
    record.close()
    assert os.listdir(tmp_path) == ["events.jsonl"]
