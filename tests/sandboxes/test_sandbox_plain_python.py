"""Python that is right in a script, a terminal or a notebook: it runs, or one sentence says what to write instead."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

from codenav.core.execution import Outcome

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""


@pytest.fixture
def both(fresh):
    """A sandbox with a coroutine function."""
    box = fresh()
    assert box.run("import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n").ok
    return box


def test_event_loops_run_beside_await(both):
    runs = ["asyncio.run(f(1))", "asyncio.get_event_loop().run_until_complete(f(1))", "(lambda: asyncio.run(f(1)))()"]
    runs.append("asyncio.new_event_loop().run_until_complete(f(1))")
    if sys.version_info >= (3, 11) and both.run("hasattr(asyncio, 'Runner')").stdout == "True\n":
        runs.append("asyncio.Runner().run(f(1))")
    if both.run("import anyio").ok:
        runs += ["anyio.run(f, 1)", "(lambda: anyio.run(f, 1))()"]
    for run in runs:
        done = both.run(
            f"first = await f(0)\nsecond = {run}\nthird = await asyncio.gather(f(2), f(3))\nfirst, second, third"
        )
        assert (done.stdout, done.stderr) == ("(0, 1, [2, 3])\n", ""), (run, done)


def test_tasks_go_on_while_their_loop_runs_within_a_step(both):
    both.run("task = asyncio.ensure_future(f(1)); loop = asyncio.get_running_loop(); await f(0)")
    got = "got = loop.run_until_complete(asyncio.gather(f(3), f(4)))"
    done = both.run(f"later = asyncio.ensure_future(f(2))\n{got}\nawait later, got")
    assert done.stdout == "(2, [3, 4])\n", done


def test_anyio_knows_its_own_loop(both):
    if not both.run("import anyio").ok:
        pytest.skip("anyio is not installed there")
    inside = "async with anyio.create_task_group() as group: group.start_soon(f, 1)"
    both.run(f"async def g():\n    {inside}\n    return 7")
    done = both.run("await g(), anyio.run(g), await g(), asyncio.current_task() is not None")
    assert done.stdout == "(7, 7, 7, True)\n", done
    assert "Already running asyncio" in both.run("async def h(): anyio.run(f)\nawait h()").error.message


def test_what_a_step_awaits_may_not_run_a_loop(both):
    done = both.run("async def g(): asyncio.run(f(1))\nawait g()")
    assert done.outcome == Outcome.ERROR and "running event loop" in done.error.message
    assert both.run("await f(1)").stdout == "1\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_functions_of_a_step_are_refused_to_spawned_processes_at_once(fresh, method):
    box = fresh()
    box.run("import math, multiprocessing\ndef g(x): return x\nclass C: pass")
    box.run(f"other = multiprocessing.get_context({method!r})")
    for code in (
        "with other.Pool(1) as pool: pool.map(g, [1])",
        "with other.Pool(1) as pool: pool.map(abs, [C()])",
        "other.Process(target=g).start()",
    ):
        done = box.run(code, timeout=10)
        assert done.outcome == Outcome.ERROR and "get_context('fork')" in done.error.message, (code, done)
        assert not done.stderr
    assert box.run("with other.Pool(1) as pool: print(pool.map(math.sqrt, [4.0]))").stdout == "[2.0]\n"
    assert (
        box.run("with multiprocessing.get_context('fork').Pool(1) as pool: print(pool.map(g, [4]))").stdout == "[4]\n"
    )


def test_nobody_is_at_the_keyboard(box):
    reading = [
        "input('name? ')",
        "import getpass; getpass.getpass()",
        "import sys; sys.stdin.read()",
        "next(sys.stdin)",
    ]
    for code in [*reading, "sys.stdin.buffer.read()", "import fileinput; list(fileinput.input('-'))", "breakpoint()"]:
        done = box.run(code)
        assert done.error.type == "EOFError" and "nobody is at the keyboard" in done.error.message, (code, done)
        assert not done.stderr
        assert code == "breakpoint()" or "ask" in done.error.message
    assert box.run("import subprocess; subprocess.run('cat', stdin=sys.stdin, timeout=5).returncode").stdout == "0\n"


MAGICS = {
    "%timeit x": "timeit.timeit",
    "%%time\nx = 1": "perf_counter",
    "%matplotlib inline": "leave it out",
    "x = 1\n!ls -l": "subprocess.run",
    "!pip install rich": "nothing can be added",
    "files = !ls": "subprocess.run",
    "?x": "help",
    "x.y?": "help",
    "x??": "getsource",
    "%cd data": "os.chdir",
}


def test_magics_of_notebooks_are_named(box):
    for code, way in MAGICS.items():
        done = box.run(code)
        assert done.error.type == "SyntaxError"
        assert "no notebook magics here, the Python way is" in done.error.message and way in done.error.message
        assert done.error.message in done.error.traceback
    for code in ("x = = 1", "print 'is it?'", "what is it?", "x = (1 %", "'50 %d"):
        assert "magics" not in box.run(code).error.message, code


def test_the_folder_of_a_step_is_kept(fresh):
    box = fresh()
    box.run("import os\nos.makedirs('a/b'); os.chdir('a/b'); open('n.txt', 'w').write('1');")
    kept = box.checkpoint()
    assert box.run("open('n.txt').read()").stdout == "'1'\n"
    assert box.run("os._exit(1)").outcome == Outcome.CRASHED
    assert box.run("os.path.basename(os.getcwd())").stdout == "'b'\n"
    done = box.run("import shutil; os.chdir('../..'); os.chdir('a'); shutil.rmtree(os.getcwd())")
    assert done.notice == "state kept: the folder of the step is gone; the next one starts in the work folder."
    assert box.run("os.listdir()").stdout == "[]\n"
    box.restore(kept)
    assert box.run("os.listdir('.')").ok


def test_child_interpreters_see_what_the_step_sees(box):
    code = """
    import json, subprocess, sys
    show = 'import json, sys; flags = sys.flags; '
    show += 'print(json.dumps([flags.no_site, flags.hash_randomization, hash("a"), sys.path[1:]]))'
    own = [sys.flags.no_site, sys.flags.hash_randomization, hash("a")]
    for flags in ([], subprocess._args_from_interpreter_flags()):
        said = subprocess.run([sys.executable, *flags, '-c', show], capture_output=True, text=True, check=True)
        print(json.dumps([own == json.loads(said.stdout)[:3], set(json.loads(said.stdout)[3]) <= set(sys.path)]))
    """
    done = box.run(textwrap.dedent(code))
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[True, True]] * 2, done
