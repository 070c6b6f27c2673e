"""Steps that use up memory or processes: what was there before them is there after them, and they never run again."""

from __future__ import annotations

import time

import pytest

from codenav.core.execution import MIB, Outcome, Resources

SMALL = Resources(memory_bytes=128 * MIB, processes=48)
BOMB = "held = []\nwhile True: held.append([0] * 1000)"
FORKS = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"


@pytest.fixture(params=["snapshots", "none"])
def box(request, contained):
    """A small sandbox with one variable."""
    opened = contained(resources=SMALL, snapshots=request.param == "snapshots")
    assert opened.run("x = 1").ok
    return opened


@pytest.mark.parametrize(
    "bomb",
    [BOMB, "def grow():\n    held = {}\n    while True: held[len(held)] = str(len(held))\ngrow()"],
    ids=["global", "local"],
)
def test_memory_that_small_pieces_have_used_up_is_there_again(box, bomb):
    for _ in range(2):
        done = box.run(bomb, timeout=20)
        assert (done.outcome, done.error.type) == (Outcome.OUT_OF_MEMORY, "MemoryError")
        assert "lost" not in done.notice
        assert box.run("x, 'held' in globals()").stdout == "(1, False)\n"
    # What ends the process later finds no step that would fill it again: the state is there, or named lost.
    done = box.run("import os; os._exit(1)")
    lost = "step 2 cannot run again, because it ran out of memory" in done.notice
    assert done.outcome == Outcome.CRASHED and "run again: steps 1, 2" not in done.notice
    assert box.run("x").stdout == ("" if lost else "1\n")


def test_an_allocation_that_was_refused_keeps_what_the_step_had_done(box):
    done = box.run("y = 2\nbytearray(10 ** 12)")
    assert done.outcome == Outcome.OUT_OF_MEMORY
    assert done.notice == "state kept: the allocation was refused; what the step had done until then stays."
    assert box.run("x, y").stdout == "(1, 2)\n"


def test_a_process_that_is_full_serves_the_steps_that_make_room(box):
    caught = BOMB.replace("while", "try:\n  while") + "\nexcept MemoryError: pass"
    assert box.run(caught, timeout=20).ok
    for code in ("y = 2", "x, y", "del held[:]", "z = [0] * 1_000_000; len(z)"):
        done = box.run(code)
        assert done.ok and not done.notice, (code, done)


def test_a_thread_that_fills_the_memory_between_steps_costs_no_state(box):
    filling = "import threading\ndef fill():\n  while True: held.append(bytearray(1 << 18))\n"
    assert box.run("held = []\n" + filling + "threading.Thread(target=fill).start()").ok
    time.sleep(0.7)
    assert box.run("x").stdout == "1\n"
    assert box.run("y = x; y").stdout == "1\n"


def test_a_step_whose_children_fill_the_memory_after_it_is_undone(contained):
    box = contained(resources=SMALL)
    assert box.run("x = 1").ok
    eat = "held = []\\nwhile True: held.append(bytes(1 << 16))"
    box.run(f"y = 2\nimport subprocess, sys\nfor _ in range(3): subprocess.Popen([sys.executable, '-c', '{eat}'])")
    time.sleep(1.5)
    done = box.run("x")
    assert done.stdout == "1\n", done
    assert box.run("import subprocess\nsubprocess.run(['true']).returncode").stdout == "0\n"


@pytest.mark.parametrize("bomb", [FORKS, "import os\nwhile True: os.fork()"], ids=["caught", "raised"])
def test_a_fork_bomb_costs_no_state(contained, bomb):
    box = contained(resources=SMALL)
    assert box.run("x = 1").ok
    done = box.run(bomb, timeout=1)
    assert done.outcome in (Outcome.TIMEOUT, Outcome.ERROR) and "lost" not in done.notice, done
    assert "guest_" not in done.stderr
    assert box.run("x").stdout == "1\n"


def test_threads_without_end_cost_no_state(contained):
    box = contained(resources=SMALL)
    assert box.run("x = 1").ok
    start = "threading.Thread(target=time.sleep, args=(60,)).start()"
    done = box.run(f"import threading, time\nwhile True:\n try: {start}\n except Exception: pass", timeout=1)
    assert done.outcome == Outcome.TIMEOUT
    assert box.run("x").stdout == "1\n" and box.run("y = x; y").stdout == "1\n"
