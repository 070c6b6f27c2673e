"""Python that is right in a script, a terminal or a notebook: it runs, or one sentence says what to write instead."""

from __future__ import annotations

import json
import textwrap

import pytest

from codenav.core.execution import Outcome

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""


def test_a_step_awaits_or_runs_a_loop(box):
    assert box.run("import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n").ok
    assert box.run("asyncio.run(f(1)), asyncio.new_event_loop().run_until_complete(f(2))").stdout == "(1, 2)\n"
    done = box.run("await f(1)\nasyncio.run(f(1))")
    assert done.outcome == Outcome.ERROR and "running event loop" in done.error.message
    assert box.run("await f(1)").stdout == "1\n"


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
