"""What a step prints as a terminal would show it, and what its threads and children print after it."""

from __future__ import annotations

import pytest

from codenav.core.execution import Output

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""

TQDM = "".join(f"\r{n}%|{'#' * (n // 10):<10}| {n}/100" for n in range(101)) + "\n"
NESTED = "\router 0" + "".join(f"\n\rinner {n}\x1b[A" for n in range(30)) + "\n\r       \x1b[A\router 1\n"
OUTPUTS = [
    (TQDM, "100%|##########| 100/100\n"),
    (TQDM * 3, "100%|##########| 100/100\n" * 3),
    ("before\n" + TQDM[:-1], "before\n100%|##########| 100/100"),
    ("1%\r2%\r3%\r", "3%"),
    ("Loading\rDone\n", "Done\n"),
    ("50%\r\x1b[Kok\n", "ok\n"),
    ("50%\x1b[2K\rok\n", "ok\n"),
    ("50%\r      \r", ""),
    ("a\r\nb\r\r\nc", "a\nb\nc"),
    (NESTED, "outer 1\n"),
    ("first\nsecond\x1b[1A\x1b[2Knew\n", "new\n"),
    ("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mblue\x1b[m\n", "red blue\n"),
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07\x1b(B\n", "link\n"),
    ("  indented  \n\ttab  \n", "  indented  \n\ttab  \n"),
    ("literal \\x1b[0m\n", "literal \\x1b[0m\n"),
    ("x" * 20_000 + "\n\r1\r2\n", "x" * 20_000 + "\n2\n"),
]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_lines_that_are_written_over_show_their_last_state(box, stream):
    for written, shown in OUTPUTS:
        done = box.run(f"import sys; sys.{stream}.write({written!r}); None")
        assert getattr(done, stream) == shown, written[:40]


def test_a_progress_bar_in_pieces_hides_nothing_else(box):
    bar = "for n in range(3000): print(f'\\r{n:>60}', end='', flush=True)\nprint()\n"
    done = box.run(f"print('first')\n{bar}print('middle')\n{bar}print('last')")
    assert done.stdout.split() == ["first", "2999", "middle", "2999", "last"]


def test_pieces_of_overwritten_lines_add_up_to_the_output(box):
    pieces: list[Output] = []
    code = "import time\nfor text in ('one ', '\\rtwo', '\\rthree', '\\n', '\\x1b[3', '1mred'):\n"
    done = box.run(code + "    print(text, end='', flush=True); time.sleep(0.03)", on_output=pieces.append)
    assert "".join(piece.text for piece in pieces) == done.stdout
    # What a person has seen cannot be taken back.
    assert done.stdout in ("one \nthree\nred", "three\nred")


def test_colours_are_taken_out_of_errors(box):
    done = box.run("raise ValueError('\\x1b[31mred\\x1b[0m')")
    assert done.error.message == "red" and "x1b" not in done.error.traceback.splitlines()[-1]


def test_what_children_and_threads_print_comes_with_the_step_or_the_next(fresh):
    box = fresh()
    start = "import subprocess, threading, time\n"
    assert box.run(start + "child = subprocess.Popen('echo quick', shell=True)").stdout == "quick\n"
    box.run("slow = subprocess.Popen('sleep 0.3; printf slow', shell=True)")
    done = box.run("slow.wait()")
    assert (done.stdout, done.late_output) == ("0\n", "slow")
    box.run("thread = threading.Timer(0.2, print, ['thread']); thread.start()")
    assert box.run("thread.join()").late_output == "thread\n"
    assert box.run("pass").late_output == ""
