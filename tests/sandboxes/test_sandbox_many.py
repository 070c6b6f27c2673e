"""Many sandboxes, eight at a time: none of them leaves anything, and this process does not grow."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor

from command_line import children, left_behind

from codenav.core.execution import Outcome
from codenav.core.system.process_identity import Owner
from codenav.sandboxes import start
from codenav.sandboxes.owned_resources import OWNER_LABEL, owned_folders

AT_A_TIME = 8
GROWTH_BYTES = 8 << 20


def held() -> tuple[int, int, int]:
    """Descriptors, own temporary folders and control groups, resident bytes."""
    gc.collect()
    mine = [folder for folder in owned_folders() if folder.owner == Owner.this_process()]
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(os.listdir("/proc/self/fd")), len(mine), resident


def use(backend, basis, number):
    with start(backend, basis) as box:
        step = f"x = {number}\nimport subprocess, threading\nchild = subprocess.Popen(['sleep', '99'])"
        assert box.run(step).outcome is Outcome.OK
        if number % 4 == 0:
            assert box.run("import os; os._exit(3)").outcome is Outcome.CRASHED
        return box.run("x").stdout


def test_nothing_stays(backend, basis, request):
    running = children()
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        list(threads.map(lambda number: use(backend, basis, number), range(AT_A_TIME)))
        descriptors, folders, resident = held()
        numbers = range(8 if backend == "docker" else 24)
        assert list(threads.map(lambda number: use(backend, basis, number), numbers)) == [f"{n}\n" for n in numbers]
        after = held()
    assert after[:2] == (descriptors, folders)
    assert after[2] < resident + GROWTH_BYTES
    if backend == "docker":
        mine = f"label={OWNER_LABEL}={Owner.this_process()}"
        assert request.getfixturevalue("docker_engine").docker("ps", "--all", "--quiet", "--filter", mine) == ""
    else:
        assert left_behind(running) == []
