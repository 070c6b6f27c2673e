"""Output as it comes."""

from __future__ import annotations

import time

import pytest

from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import Outcome, Output
from codenav.sandboxes.masked import MaskedSandbox

TRIED_ON = ("bubblewrap", "docker")
"""A pipe, and the stream of an engine."""


def streamed(box, code, **keywords):
    """The execution, and the pieces that came before its end."""
    pieces: list[Output] = []
    done = box.run(code, on_output=pieces.append, **keywords)
    for stream in ("stdout", "stderr"):
        assert "".join(piece.text for piece in pieces if piece.stream == stream) == getattr(done, stream)
    return done, pieces


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import sys\nprint(1)\nprint(2, file=sys.stderr)\n3", Outcome.OK),
        ("print('x' * 100_000)\nprint('ü' * 100_000)\n1 / 0", Outcome.ERROR),
        ("import os\nprint('before', flush=True)\nos._exit(3)", Outcome.CRASHED),
        ("print('before')\nwhile True: pass", Outcome.TIMEOUT),
        ("import os\nfor _ in range(40): os.write(1, os.urandom(3000))", Outcome.OK),
        ("for n in range(20_000): print(n)", Outcome.OK),
        ("", Outcome.OK),
    ],
)
def test_all_pieces_together_are_what_the_execution_has(box, code, outcome):
    done, _ = streamed(box, code, timeout=2)
    assert done.outcome is outcome


def test_a_piece_comes_while_the_step_runs(box):
    code = "import time\nfor n in range(3):\n    print(n)\n    time.sleep(0.2)"
    _, pieces = streamed(box, code)
    assert [piece.text for piece in pieces] == ["0\n", "1\n", "2\n"]


def _raising(kind):
    def hear(piece):
        raise kind("no more")

    return hear


def test_bytes_that_come_in_two_pieces_are_one_character(box):
    parts = "(b'a\\r', b'\\n\\xe2\\x82', b'\\xac\\x1b[0m')"
    code = f"import os, time\nfor part in {parts}:\n    os.write(1, part)\n    time.sleep(0.1)"
    done, pieces = streamed(box, code)
    assert done.stdout == "a\n€"
    assert len(pieces) >= 2


def test_a_callback_that_raises_interrupts_the_step_and_keeps_the_state(box):
    box.run("kept = 1")
    with pytest.raises(KeyError, match="no more"):
        box.run("kept = 2\nprint(1)\nimport time\ntime.sleep(60)", on_output=_raising(KeyError))
    assert box.run("kept").stdout == "2\n"


@pytest.mark.parametrize(
    "use",
    [
        lambda box: box.run("1"),
        lambda box: box.variables(),
        lambda box: box.files.read("f"),
        lambda box: box.set("x", 1),
    ],
)
def test_a_callback_that_asks_something_of_its_sandbox_is_told_so_and_the_state_stays(box, use):
    box.run("kept = 'kept'\nopen('f', 'w').close()")
    with pytest.raises(UsageError, match="is running a step"):
        box.run("import time\nwhile True: print(1, flush=True); time.sleep(0.05)", on_output=lambda _: use(box))
    after = box.run("kept")
    assert (after.stdout, after.notice) == ("'kept'\n", "")


@pytest.mark.parametrize("force", [False, True])
def test_a_callback_may_close_its_sandbox(fresh, force):
    box = fresh()
    code = "import time\nwhile True: print(1, flush=True); time.sleep(0.05)"
    done = box.run(code, on_output=lambda _: box.close(force=force))
    assert (done.outcome, done.error.type) == (Outcome.CRASHED, "Closed")
    with pytest.raises(SandboxUnavailable, match="is closed"):
        box.run("1")


def test_what_is_no_code_is_refused_and_the_state_stays(box):
    box.run("kept = 'kept'")
    for code in (b"1", None):
        with pytest.raises(UsageError, match="the code of a step"):
            box.run(code)
    assert box.run("kept").stdout == "'kept'\n"


def test_a_secret_that_comes_in_pieces_is_masked(contained):
    secret = "sesame-open-1234"
    box = MaskedSandbox(contained(env={"TOKEN": secret}), {"TOKEN": secret})
    code = "import os, sys\nfor c in os.environ['TOKEN'] + ' sesame-':\n    sys.stdout.write(c)\n    sys.stdout.flush()"
    done, pieces = streamed(box, code)
    assert done.stdout == "[secret TOKEN] sesame-"
    assert not any(len(piece.text) < 5 and piece.text in secret for piece in pieces[:-1])


def test_a_host_that_is_slow_to_listen_holds_up_nobody(box):
    code = "import time\nfor _ in range(50): print('x' * 2000)\ntime.sleep(0.1)"
    done = box.run(code, on_output=lambda _: time.sleep(0.05), timeout=5)
    assert done.outcome is Outcome.OK
