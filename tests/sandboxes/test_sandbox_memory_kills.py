"""What the kernel kills for want of memory in a step that ends all the same."""

from __future__ import annotations

import pytest

from codenav.core.execution import MIB, Outcome, Resources
from codenav.sandboxes import cgroups

SMALL = Resources(memory_bytes=256 * MIB)
# More than what a snapshot may cost at first, wherever memory is slow, would not be copied.
HELD = 40 * MIB

CHILD = """
import os, signal, subprocess, sys
def fill(first):
    # Memory that no process has mapped: only the kernel sees it. The first to be killed is whoever asks for it.
    eat = f"open('/proc/self/oom_score_adj', 'w').write('{first}'); held = b'x' * (60 << 20)\\n"
    eat += "import os; file = os.memfd_create('m')\\nwhile True: os.write(file, bytes(1 << 20))"
    return subprocess.run([sys.executable, '-c', eat]).returncode
"""
TWIN_GOES = f"""
import os, time
def frozen(pid):
    try:
        resident = int(open(f'/proc/{{pid}}/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
        return resident >= {HELD} and open(f'/proc/{{pid}}/oom_score_adj').read() == '1000\\n'
    except OSError:
        return False
# A step does not wait until its snapshot has said that it is to be killed first; until then the worker may be.
while not any(frozen(pid) for pid in os.listdir('/proc') if pid.isdigit()): time.sleep(0.01)
counts = ['/run/codenav-killed', '/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control']
def kills():
    lines = open([path for path in counts if os.path.exists(path)][0]).read().splitlines()
    return int([line.split()[1] for line in lines if line.startswith('oom_kill ')][0])
before, file = kills(), os.memfd_create('m')
for number in range({HELD} // 4096): held[number * 4096] = 1
# Not a byte more: what the killed process gives back comes late on a machine under load.
while kills() == before: os.write(file, bytes(1 << 16))
os.close(file)
print(kills() - before, flush=True)
"""


@pytest.fixture
def limited(backend):
    """The backend, where the kernel has the memory limit."""
    if backend == "bubblewrap" and cgroups.usable() is None:
        pytest.skip("no control groups can be made here")
    return backend


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_a_child_that_the_kernel_killed_is_told(fresh, limited):
    box = fresh(resources=SMALL)
    assert box.run(CHILD).notice == ""
    # A step may look at what came of its child, however long it takes to get a processor for it.
    done = box.run("x = 1; import time; ended = fill(1000); time.sleep(0.6); ended")
    assert (done.outcome, done.stdout) == (Outcome.OK, "-9\n"), done
    assert done.notice == "state kept: the kernel has killed a child process, over the limit of 256 MiB."
    for code in ("x", "subprocess.run(['sh', '-c', 'kill -9 $$']).returncode"):
        assert box.run(code).notice == ""


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_a_step_that_waits_for_a_child_that_the_kernel_killed_is_out_of_memory(fresh, limited):
    box = fresh(resources=SMALL)
    assert box.run(CHILD).ok and box.run("x = 1").ok
    done = box.run("import time; fill(1000); time.sleep(60)", timeout=30)
    assert (done.outcome, done.error.message) == (Outcome.OUT_OF_MEMORY, "over the limit of 256 MiB"), done
    assert box.run("x").stdout == "1\n"


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_a_snapshot_that_the_kernel_killed_is_not_told(fresh, limited):
    box = fresh(resources=SMALL)
    assert box.run(f"import os\nheld = bytearray(b'x') * {HELD}").ok
    # Once: whether a second snapshot of that size is worth its price depends on what this one cost.
    done = box.run(TWIN_GOES)
    assert (done.outcome, done.stdout, done.notice) == (Outcome.OK, "1\n", "")


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_the_end_of_the_supervisor_for_want_of_memory_is_called_so(fresh, limited):
    box = fresh(resources=SMALL)
    assert box.run(f"import os\nheld = bytearray(b'x') * {HELD}").ok
    said: list[str] = []

    def end(piece):
        said.append(piece.text)
        end_inside(box)

    # As where the kernel kills a snapshot, and then, nothing having been given back, the supervisor.
    sleeping = "\nimport time; time.sleep(60)"
    done = box.run(TWIN_GOES + sleeping, timeout=30, on_output=end)
    assert (done.outcome, done.error.message) == (Outcome.OUT_OF_MEMORY, "over the limit of 256 MiB")
    assert done.notice.startswith("state lost")
    assert box.run("print('began', flush=True)" + sleeping, timeout=30, on_output=end).outcome is Outcome.CRASHED
    assert said == ["1\n", "began\n"]


def end_inside(box):
    """Kill the first process of a sandbox."""
    launched = box._launched
    if box.info.backend == "docker":
        launched.client.kill(launched.id)
    else:
        launched.process.kill()
