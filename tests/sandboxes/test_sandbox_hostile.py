"""Hostile guests: nothing that comes from inside raises, hangs or leaves its folder."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import time
from pathlib import Path
from random import Random

import pytest

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Outcome, Resources, SandboxSpec
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.calls import Calls
from codenav.sandboxes.channel import Channel, Closed
from codenav.sandboxes.conformance.lab import crowding
from codenav.sandboxes.decoding import Malformed, execution_of
from codenav.sandboxes.filenames import checked_name
from codenav.sandboxes.guest_client import GuestSandbox
from codenav.sandboxes.launch import LaunchedProcess, launch
from codenav.sandboxes.workfolder import WorkFolder

HOSTILE = Path(__file__).with_name("hostile_guest.py")

RESULT = {
    "op": "result", "number": 1, "outcome": "ok", "stdout": "", "stderr": "", "stdout_bytes": 0, "late_output": "",
    "changed": [], "error": None, "displays": [], "seconds": 0.1, "notice": "",
}  # fmt: skip


def frame(message, blob=b""):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", len(body), len(blob)) + body + blob


def hostile(python, *answers, calls=None, **changes):
    """A sandbox whose guest gives these answers, the last one again and again."""

    def start_it(spec):
        given = [answer if isinstance(answer, str) else answer.hex() for answer in answers]
        descriptor, name = tempfile.mkstemp()
        with os.fdopen(descriptor, "w") as file:
            file.write(" ".join(given))
        process, errors = launch([str(spec.python.executable), str(HOSTILE), name])
        return LaunchedProcess(process, errors, config={"work": "/work"})

    box = GuestSandbox("bubblewrap", SandboxSpec(python, network="none", **changes), start_it)
    box.calls = calls
    return box


BAD = (
    frame(b"not json"),
    frame(b"[1]"),
    frame(b"[" * 30_000),
    frame(b'{"op": NaN}'),
    struct.pack(">II", 1 << 31, 0),
    struct.pack(">II", 0, 1 << 31),
    frame({**RESULT, "number": 2}),
    frame({**RESULT, "outcome": "fine"}),
    frame({**RESULT, "outcome": ["ok"]}),
    frame({**RESULT, "stdout": 3}),
    frame({**RESULT, "stdout_bytes": -1}),
    frame({**RESULT, "stdout_bytes": True}),
    frame({**RESULT, "changed": [["a"]]}),
    frame({**RESULT, "changed": [["a", "b", "c"]] * 2000}),
    frame({**RESULT, "displays": [["image/png", 5]]}),
    frame({**RESULT, "displays": [["image/png", -5]]}, b"12345"),
    frame({**RESULT, "error": "bad"}),
    frame({**RESULT, "error": {"type": "E", "message": "", "line": "", "line_number": "3", "traceback": ""}}),
    frame({key: value for key, value in RESULT.items() if key != "notice"}),
)


def test_a_hostile_answer_is_malformed(tmp_path):
    for answer in BAD:
        with Replies(tmp_path, [answer]) as channel, pytest.raises(Malformed):
            execution_of(*channel.receive(deadline=time.monotonic() + 60), number=1, display_bytes=100)


def test_a_hostile_answer_is_a_violation_and_no_exception(python):
    for answer in (BAD[0], BAD[6]):
        with hostile(python, answer) as sandbox:
            execution = sandbox.run("1")
            assert execution.outcome is Outcome.PROTOCOL_VIOLATION
            assert execution.notice.startswith("state lost")


def test_strings_of_a_hostile_answer_are_neutral(python):
    answer = {**RESULT, "stdout": "\x1b[2J", "notice": "\u202e", "changed": [["\x07", "\x9b", "\ud800"]]}
    with hostile(python, frame(answer)) as sandbox:
        execution = sandbox.run("1")
        assert (execution.stdout, execution.notice) == ("\\x1b[2J", "\\u202e")
        assert execution.changed[0].to_dict() == {"name": "\\x07", "type": "\\x9b", "repr": "\\ud800"}


def test_what_cannot_answer_has_no_empty_list_of_variables(python):
    listed = frame({"op": "variables", "items": [["x", "int", "1"]]})
    with hostile(python, listed) as sandbox:
        assert [item.repr for item in sandbox.variables().values()] == ["1"]
    for answer in (frame({"op": "failed", "why": "no\x1b"}), frame({"op": "done"}), frame(b"[]"), "end"):
        with hostile(python, answer) as sandbox, pytest.raises(SandboxUnavailable, match="cannot list its variables"):
            sandbox.variables()


HELD = {
    "op": "digests",
    "items": [["x", "int", "0" * 32, "firm", True, "1", []]],
    "numbers": [1],
    "many": [],
    "texts": [],
}


def test_hostile_digests_are_refused(tmp_path):
    for changes in (
        {"items": 3},
        {"items": [["x", "int", "0" * 32, "firm", True, "1"]]},
        {"items": [["x", "int", "0" * 31, "firm", True, "1", []]]},
        {"items": [["x", "int", "0" * 32, "sure", True, "1", []]]},
        {"items": [["x", "int", "0" * 32, "firm", 1, "1", []]]},
        {"items": [["x" * 2000, "int", "0" * 32, "firm", True, "1", []]]},
        {"items": [["x", "int", "0" * 32, "firm", True, "1", ["0"]]]},
        {"numbers": [True]},
        {"numbers": ["1"]},
        {"numbers": [10**400]},
        {"numbers": [1] * 8001},
        {"many": None},
        {"texts": [3]},
        {"texts": ["x" * 2000]},
        {"texts": ["x"] * 8001},
    ):
        answer = frame({**HELD, **changes})
        with Replies(tmp_path, [answer]) as channel, pytest.raises(Malformed):
            channel.receive(deadline=time.monotonic() + 60)


def test_texts_of_digests_are_neutral(python):
    with hostile(python, frame({**HELD, "texts": ["\x1b[2J"]})) as sandbox:
        held = sandbox.digests(["x"])
        assert held.texts == ("\\x1b[2J",) and held.digests["x"].repr == "1" and held.numbers == (1.0,)


def test_copying_that_gets_no_answer_leaves_the_step_as_it_was(python, tmp_path):
    answer = frame({**RESULT, "stdout": "done"})
    with hostile(python, answer, "silent", work_dir=tmp_path, resources=Resources(copy_seconds=0.2)) as sandbox:
        execution = sandbox.run("1")
        assert (execution.outcome, execution.stdout, execution.notice) == (Outcome.OK, "done", "")
        assert execution.stderr.startswith("[not copied out] the changed files: it takes too long")


LISTED = frame({"op": "changes", "files": [["a", 1], ["b\x1b", 2]], "refused": [], "unseen": []})


@pytest.mark.parametrize(
    "answers",
    [
        (frame(b"[1]"),),
        ("end",),
        (frame({"op": "changes", "files": 3, "refused": [], "unseen": []}),),
        (frame({"op": "changes", "files": [["a"]], "refused": [], "unseen": []}),),
        (frame({"op": "changes", "files": [], "refused": [["a", 1]], "unseen": []}),),
        (LISTED, frame(b"{")),
        (LISTED, "end"),
        (LISTED, frame({"op": "failed"})),
    ],
)
def test_a_guest_that_fails_while_copying_keeps_the_result_and_tells_the_loss(python, tmp_path, answers):
    result = frame({**RESULT, "stdout": "done"})
    with hostile(python, result, *answers, work_dir=tmp_path) as sandbox:
        execution = sandbox.run("1")
    assert (execution.outcome, execution.stdout) == (Outcome.OK, "done")
    assert execution.notice.startswith("state lost")
    assert execution.stderr.startswith("[not copied out] ")
    assert os.listdir(tmp_path) == []


def test_a_name_that_is_refused_keeps_no_other_file_inside(python, tmp_path):
    data = frame({"op": "data", "last": True}, b"x")
    with hostile(python, frame(RESULT), LISTED, data, work_dir=tmp_path) as sandbox:
        execution = sandbox.run("1")
    assert (execution.outcome, execution.files, execution.notice) == (Outcome.OK, ["a"], "")
    assert execution.stderr == "[not copied out] b\\x1b: control characters in its name\n"
    assert (tmp_path / "a").read_bytes() == b"x"


def junk(random):
    """Something that a frame should not hold."""
    deep = []
    for _ in range(300):
        deep = [deep]
    text = "".join(chr(random.choice([0, 10, 27, 47, 46, 97, 0x202E, 0xD800, 0xDCFF, 0x10FFFF])) for _ in range(9))
    values = [None, True, -1, 0, 1.5, 10**400, "", text, "a" * 5000, [], {}, [text], [text, 1], [[text, 5]], {text: 1}]
    return random.choice([*values, deep, [["a", "b", text]], [["../x", 1]], [[text, text]], "/etc/x", "a/" * 90 + "b"])


def spoilt(random, message):
    """A frame in which some values, names of keys or bytes are others."""
    changed = {key: junk(random) if random.random() < 0.25 else value for key, value in message.items()}
    made = bytearray(frame(changed, random.choice([b"", b"<svg", random.randbytes(40)])))
    if random.random() < 0.2:
        made[random.randrange(len(made))] = random.randrange(256)
    return bytes(made)


class Replies:
    """A channel whose other end has written its answers beforehand."""

    def __init__(self, folder, answers):
        (folder / "answers").write_bytes(b"".join(answers))
        self._ends = os.open(os.devnull, os.O_WRONLY), os.open(folder / "answers", os.O_RDONLY)

    def __enter__(self):
        return Channel(*self._ends)

    def __exit__(self, *_):
        for end in self._ends:
            os.close(end)


def test_no_file_from_inside_raises_or_leaves_the_folder(tmp_path):
    random = Random(1)
    work = tmp_path / "work"
    work.mkdir()
    for _ in range(400):
        names = [[junk(random), 3] if random.random() < 0.5 else [random.choice("abc") + "/x", 3] for _ in range(3)]
        listed = {"op": "changes", "files": names, "refused": [["n", "w"]], "unseen": []}
        data = [spoilt(random, {"op": "data", "last": True}) for _ in range(3)]
        with Replies(tmp_path, [spoilt(random, listed), *data]) as channel:
            copied = WorkFolder(work, Resources(), copy_out=True).collect(channel, time.monotonic() + 60)
        assert all(checked_name(name) for name in copied.written)
        assert not [line for line in copied.news if neutral(line) != line]
    assert {entry.name for entry in tmp_path.iterdir()} == {"work", "answers"}
    assert not list(work.rglob("*.part"))
    assert list(work.rglob("x"))


def test_no_result_from_inside_raises(tmp_path):
    random = Random(2)
    full = {
        **RESULT,
        "changed": [["a", "int", "1"]],
        "displays": [["image/svg+xml", 4]],
        "error": {"type": "E", "message": "", "line": "", "line_number": 3, "traceback": ""},
    }
    fine = 0
    for _ in range(800):
        with Replies(tmp_path, [spoilt(random, full)]) as channel:
            try:
                answer, blob = channel.receive(deadline=time.monotonic() + 60)
                execution = execution_of(answer, blob, number=1, display_bytes=100)
            except (Malformed, Closed):
                continue
            json.dumps(execution.to_dict(), ensure_ascii=False).encode()
            fine += 1
    assert fine > 5


def test_a_supervisor_that_never_answers_costs_the_timeout_and_a_second(python):
    with hostile(python, "silent") as sandbox:
        started = time.monotonic()
        execution = sandbox.run("1", timeout=0.3)
        assert time.monotonic() - started < 0.3 + crowding()
        assert (execution.outcome, execution.error.type) == (Outcome.TIMEOUT, "TimeoutError")


CALL = {"op": "call", "step": 1, "call": 1, "name": "ping"}


def call(blob=b"{}", **changes):
    return frame({**CALL, **changes}, blob)


def test_a_call_of_the_supervisor_is_answered_in_its_turn(python):
    asked = []
    answers = (call(b'{"x": 1}'), call(call=2), frame(RESULT))
    with hostile(python, *answers, calls=lambda *call: asked.append(call)) as sandbox:
        assert sandbox.run("1").ok
    assert asked == [("ping", {"x": 1}), ("ping", {})]


def test_a_forged_call_is_malformed(tmp_path):
    for answer in (
        call() + call(call=2),
        call() + call(),
        call(call=2),
        call(call=0),
        call(call=True) + call(call=True),
        call(call="1"),
        call(call=[1]),
        call(step=2),
        call(step=None),
        call(name="a b"),
        call(name="\x1b[2J"),
        call(name=""),
        call(name="a" * 201),
        call(name=3),
        call(b" " * ((12 << 20) + 1)),
        frame({"op": "call"}),
    ):
        with Replies(tmp_path, [answer]) as channel:
            calls = Calls(lambda name, arguments: time.sleep(0.2), object(), channel, 1, seconds=1.0)
            with contextlib.closing(calls), pytest.raises(Malformed, match="call"):
                channel.receive(deadline=time.monotonic() + 60, on_call=calls.hear)


def test_a_call_that_nobody_is_there_to_answer_is_a_violation(python):
    with hostile(python, call()) as sandbox:
        execution = sandbox.run("1")
        assert execution.outcome is Outcome.PROTOCOL_VIOLATION
        assert execution.error.message == "a call to the host that nobody answers"


def test_a_call_after_its_step_reaches_nobody(python):
    asked = []
    with hostile(python, frame(RESULT) + call() * 3, calls=lambda *call: asked.append(call)) as sandbox:
        assert sandbox.run("1").ok
        assert sandbox.run("2").outcome is Outcome.PROTOCOL_VIOLATION
    with hostile(python, call() * 3 + frame({"op": "variables", "items": []}), calls=asked.append) as sandbox:
        assert sandbox.variables() == {}
    assert asked == []


def test_a_supervisor_that_calls_and_never_ends_costs_the_timeout_and_a_second(python):
    with hostile(python, call(), "silent", calls=lambda name, arguments: 1) as sandbox:
        started = time.monotonic()
        assert sandbox.run("1", timeout=0.3).outcome is Outcome.TIMEOUT
        assert time.monotonic() - started < 0.3 + crowding()
    flood = frame({"op": "output", "stream": "stdout"}) * 50_000
    with hostile(python, flood, "silent") as sandbox:
        started = time.monotonic()
        assert sandbox.run("1", timeout=0.3).outcome is Outcome.TIMEOUT
        assert time.monotonic() - started < 0.5 + crowding()
