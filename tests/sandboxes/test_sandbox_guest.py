"""Parts of the guest by themselves, and the guest under every interpreter that is here."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codenav.core import schemas
from codenav.core.errors import UsageError
from codenav.core.execution import Execution, ExecutionError, Outcome, SandboxSpec, Value
from codenav.core.system.interpreter import find_interpreter
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes import start
from codenav.sandboxes.launch import GUEST, choose_processors
from codenav.sandboxes.shared import schema

TAKE_TWICE = """
import guest_folder
folder = guest_folder.WorkFolder('.')
open('f', 'w').write('x')
def changes(settled):
    asked = {'op': 'changes', 'from': 0, 'left': [], 'settled': settled}
    return folder.answer(asked, b'')[0]['files']
got, data = folder.answer({'op': 'get', 'name': 'f', 'offset': 0, 'settled': []}, b'')
print(changes([]), data, got['last'], changes([]), changes(['f', 'gone']))
"""


def interpreters() -> dict[str, str | None]:
    """One CPython 3.8 or later per minor version: the one that runs the tests, then those of Debian, pyenv and PATH.

    Told by their names, as far as these say it: every process of a run collects, and to ask each takes a second.
    """
    found: dict[str, str | None] = {f"3.{sys.version_info[1]}": None}
    known = [Path("/usr/bin/python3").resolve(), *sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))]
    for path in known:
        version = re.search(r"3\.(\d+)", path.name) or re.match(r"3\.(\d+)", path.parent.parent.name)
        if version and int(version[1]) >= 8 and os.access(path, os.X_OK):
            found.setdefault(version[0], str(path))
    for minor in range(8, 15):
        named = shutil.which(f"python3.{minor}")
        if named and f"3.{minor}" not in found:
            # A shim of pyenv starts nothing where its version is not chosen.
            with contextlib.suppress(UsageError):
                found[f"3.{minor}"] = str(find_interpreter(named).executable)
    return found


@pytest.mark.parametrize("minor", INTERPRETERS := interpreters())
def test_the_guest_runs_under(minor):
    python = find_interpreter(INTERPRETERS[minor])
    assert python.version.startswith(f"{minor}.")
    with start("bubblewrap", SandboxSpec(python)) as sandbox:
        assert sandbox.info.python_version == python.version
        assert sandbox.run("x = [1]\nprint('hello')\nx").stdout == "hello\n[1]\n"
        assert sandbox.run("x.append(2)").changed[0].repr == "[1, 2]"
        assert sandbox.run("def f():\n    return 1/0\nf()").error.line_number == 2
        assert sandbox.run("import os; os._exit(1)").outcome is Outcome.CRASHED
        assert sandbox.run("while True: pass", timeout=0.2).outcome is Outcome.TIMEOUT
        thread = "import threading; e = threading.Event(); t = threading.Thread(target=e.wait); t.start()"
        assert sandbox.run(thread).outcome is Outcome.OK
        quiet = sandbox.run("print(x)")
        assert (quiet.stdout, quiet.stderr) == ("[1, 2]\n", "")
        sandbox.run("e.set(); t.join()")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[0m\x00\x7f\x9b", "\\x1b[0m\\x00\\x7f\\x9b"),
        ("\u202e\u2066\u200f\ufeff", "\\u202e\\u2066\\u200f\\ufeff"),
        ("\ud800ü日本", "\\ud800ü日本"),
    ],
)
def test_text_is_made_neutral(text, shown):
    assert neutral(text) == shown
    assert neutral(shown) == shown


def test_processors_are_chosen_from_the_allowed_ones():
    assert choose_processors({3, 5, 7}, 2) < {3, 5, 7}
    assert len(choose_processors({3, 5, 7}, 2)) == 2
    assert choose_processors({3, 5}, 8) == {3, 5}
    assert choose_processors({3, 5}, None) == {3, 5}
    assert len(choose_processors({3, 5}, 0.1)) == 1


def test_kept_output_is_exact_at_its_limit(python):
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from guest_output import Kept
for size in range(0, 40):
    for piece in (1, 3, 50):
        kept = Kept(20)
        data = bytes(65 + n % 26 for n in range(size))
        for at in range(0, size, piece):
            kept.add(data[at:at + piece])
        text = kept.text()
        if size <= 20:
            assert text == data.decode(), (size, piece, text)
        else:
            assert text == data[:10].decode() + '\\n… %d bytes left out …\\n' % (size - 20) + data[-10:].decode(), text
for shift in range(4):
    kept = Kept(21)
    kept.add(b'a' * shift + '日本語'.encode() * 20)
    assert '\\\\x' not in kept.text(), kept.text()
print('fine')
"""
    done = subprocess.run([python.executable, "-I", "-c", code, str(GUEST)], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_a_file_whose_copy_was_not_finished_comes_again(tmp_path):
    environment = {"PYTHONPATH": str(GUEST), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", TAKE_TWICE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[['f', 1]] b'x' True [['f', 1]] []\n"


KILLED = """
import mmap, os, time
import guest_linux
pid = os.fork()
if pid == 0:
    held = mmap.mmap(-1, 512 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    os.write(write, b"1")
    time.sleep(600)
os.read(read, 1)
guest_linux.kill_all(set())
stat = f"/proc/{pid}/stat"
print(open(stat).read().rpartition(")")[2].split()[0] if os.path.exists(stat) else "gone")
"""


def test_what_is_killed_has_given_its_memory_back():
    script = "import os; read, write = os.pipe()\n" + KILLED
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(GUEST)}, capture_output=True, text=True)
    assert told.stdout.strip() in ("gone", "Z"), told.stderr


def test_the_result_of_a_step_has_one_shape_from_the_guest_to_the_document():
    documented = schemas.load("execution")["$defs"]["fields"]["properties"]
    names = {field.name for field in dataclasses.fields(Execution)}
    # What the host finds itself; what says which step it is.
    assert set(schema.RESULT.checks) == names - {"files"} | {"op", "number"}
    assert set(documented) == names
    assert list(schema.OUTCOMES) == documented["outcome"]["enum"] == [outcome.value for outcome in Outcome]
    for kind, shape in ((ExecutionError, schema.ERROR), (Value, schema.VALUE)):
        assert set(shape.checks) == {field.name for field in dataclasses.fields(kind)}


@pytest.mark.parametrize("shapes", [schema.FROM_SUPERVISOR, schema.FROM_WORKER], ids=["supervisor", "worker"])
def test_every_key_of_every_frame_is_checked(shapes):
    for op, shape in shapes.items():
        more = shape.trouble({"another": 1, **dict.fromkeys(shape.checks)})
        assert more == "'another' is unknown" or (op == "result" and shapes is schema.FROM_WORKER)
        for key, check in shape.checks.items():
            # `value` is for its reader to decode and bound.
            assert not check(object()) or (op, key) == ("value", "value"), (op, key)
