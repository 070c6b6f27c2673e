"""Parts of the guest by themselves, and the guest under every interpreter that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codenav.errors import UsageError
from codenav.execution import Outcome, SandboxSpec
from codenav.interpreter import Interpreter, find_interpreter
from codenav.sandboxes import start
from codenav.sandboxes.launch import GUEST, choose_processors
from codenav.text import neutral

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
