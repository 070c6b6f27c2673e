"""Limits of a bubblewrap sandbox: control groups where they can be made, and what serves where they cannot."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import MIB, Outcome, Resources
from codenav.core.system.process_identity import Owner
from codenav.sandboxes import cgroups
from codenav.sandboxes.owned_resources import owned_folders


@pytest.mark.parametrize(
    "limits",
    [{"cpus": 0.05}, {"cpus": -1}, {"cpus": float("nan")}, {"cpus": float("inf")}, {"processes": 0}, {"work_bytes": 0}],
)
def test_limits_that_leave_nothing_are_refused(contained, limits):
    with pytest.raises(UsageError):
        contained(resources=Resources(**limits))


def test_a_state_of_over_half_of_the_memory_can_be_rewritten(contained):
    """The frozen twin holds the old pages: it goes first, whoever has to make room."""
    box = contained(resources=Resources(memory_bytes=384 * MIB))
    box.run(f"x = bytearray({220 * MIB})\nfor i in range(0, len(x), 4096): x[i] = 1")
    for value in (2, 3):
        done = box.run(f"for i in range(0, len(x), 4096): x[i] = {value}")
        assert (done.outcome, done.notice) == (Outcome.OK, "")
    ended = box.run("import os; os._exit(1)")
    assert ended.outcome is Outcome.CRASHED
    assert ended.notice.startswith(("state kept", "state rebuilt"))
    assert box.run("x[0]").stdout == "3\n"


def test_full_folders_leave_room_for_the_next_step(contained):
    box = contained(resources=Resources(memory_bytes=128 * MIB))
    fill = """
    for path in ("/tmp/a", "/dev/shm/a", "a"):
        try:
            with open(path, "wb") as file:
                for _ in range(500): file.write(bytes(1 << 20))
        except OSError as error: print(error.errno)
    """
    assert box.run(textwrap.dedent(fill)).stdout == "28\n28\n28\n"
    assert box.run("x = bytearray(4 << 20); len(x)").stdout == f"{4 * MIB}\n"


def test_a_sandbox_that_does_not_start_leaves_nothing(contained, python, tmp_path):
    import dataclasses

    from codenav.core.errors import SandboxUnavailable

    mine = Owner.this_process()
    folders = {folder.path for folder in owned_folders() if folder.owner == mine}
    with pytest.raises(SandboxUnavailable):
        contained(python=dataclasses.replace(python, executable=tmp_path / "no-such-python"))
    assert {folder.path for folder in owned_folders() if folder.owner == mine} <= folders


def machine(tmp_path: Path, *, own: str, mounts: str, files: Mapping[str, str]) -> str:
    """A folder with what the kernel of another machine would show."""
    for name, text in {"proc/self/cgroup": own, "proc/self/mountinfo": mounts, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path)


VERSION_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
USER = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/"
SCOPE = f"{USER}app.slice/shell.scope/"


def test_version_2_takes_the_nearest_group_that_hands_memory_down(tmp_path):
    root = machine(
        tmp_path,
        own="0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope\n",
        mounts=VERSION_2,
        files={
            f"{SCOPE}cgroup.subtree_control": "\n",
            f"{SCOPE}memory.max": "max\n",
            f"{USER}app.slice/cgroup.subtree_control": "memory pids\n",
            f"{USER}app.slice/cgroup.procs": "",
        },
    )
    place = cgroups.find(root)
    assert place is not None
    assert place.unified == tmp_path / USER / "app.slice"
    group = cgroups.make_groups(place, "x", Resources(memory_bytes=256 * MIB), processors=8)
    assert group is not None
    folder = tmp_path / USER / "app.slice" / "codenav-x"
    assert group.folders == [folder]
    assert not group.limits_processors
    assert int((folder / "memory.max").read_text()) == 256 * MIB + cgroups.BESIDE_BYTES
    assert group.killed == folder / "memory.events"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({f"{SCOPE}memory.max": "1000000000\n"}, "a limit of our own must not be left"),
        ({f"{USER}app.slice/cgroup.subtree_control": "pids\n"}, "memory is not handed down"),
    ],
)
def test_version_2_without_a_place(tmp_path, changed, why):
    files = {
        f"{SCOPE}cgroup.subtree_control": "\n",
        f"{SCOPE}memory.max": "max\n",
        f"{USER}app.slice/cgroup.subtree_control": "memory\n",
        f"{USER}app.slice/cgroup.procs": "",
        **changed,
    }
    own = f"0::/{SCOPE.removeprefix('sys/fs/cgroup/').rstrip('/')}\n"
    assert cgroups.find(machine(tmp_path, own=own, mounts=VERSION_2, files=files)) is None, why


def test_version_1_in_a_container_whose_mount_shows_only_its_part(tmp_path):
    mounts = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    mounts += "36 31 0:33 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    own = "5:memory:/docker/abc/inner\n4:cpu,cpuacct:/docker/abc\n0::/docker/abc\n"
    files = {"sys/fs/cgroup/memory/inner/tasks": "", "sys/fs/cgroup/cpu,cpuacct/tasks": ""}
    place = cgroups.find(machine(tmp_path, own=own, mounts=mounts, files=files))
    assert place is not None
    assert place.groups("x") == {
        "memory": tmp_path / "sys/fs/cgroup/memory/inner/codenav-x",
        "cpu": tmp_path / "sys/fs/cgroup/cpu,cpuacct/codenav-x",
    }


def test_no_groups_where_nothing_is_mounted(tmp_path):
    assert cgroups.find(machine(tmp_path, own="0::/\n", mounts="", files={})) is None


def test_names_of_groups_are_no_shell_code(tmp_path):
    """systemd's have backslashes in them."""
    folder = tmp_path / r"app-a\x2db $(exit 3).slice"
    folder.mkdir()
    group = cgroups.Cgroup({"memory": folder}, folder / "memory.events")
    script = "\n".join(["set -e", *group.entering(), "echo $$"])
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True)
    assert (folder / "cgroup.procs").read_text() == done.stdout


def test_only_groups_of_ours_are_removed(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "cgroup.procs").write_text(str(os.getpid()))
    assert cgroups.remove_groups([other])
    assert other.is_dir()
