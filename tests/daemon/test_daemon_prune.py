"""Leftovers of a named sandbox whose host process was killed: `codenav sandbox stop --leftovers` removes them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import codenav

from codenav.sandboxes.daemon import places
from codenav.sandboxes.daemon.client import connect
from codenav.sandboxes.owned_resources import OwnedFolder, owned_folders


def wait_until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def folders_of(pid: int) -> list[OwnedFolder]:
    return [folder for folder in owned_folders() if folder.owner and folder.owner.pid == pid]


def running(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder that nobody else uses, nor sweeps."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_prune_removes_what_a_killed_host_process_has_left(temporary):
    mark = f"left-behind-{time.monotonic_ns()}"
    started = codenav("sandbox", "start", "--name", "lab", "--sandbox", "bubblewrap")
    assert started.code == 0, started.err
    code = (
        f"import subprocess\nchild = subprocess.Popen(['sh', '-c', 'sleep 600; : {mark}'])\nopen('made', 'w').close()"
    )
    assert codenav("sandbox", "exec", "lab", "-c", code).code == 0
    folder = places.folder_of("lab")
    assert (folder / "work" / "made").exists()
    assert running(mark)
    record = places.record_of("lab")
    pid = record.owner.pid
    owned = folders_of(pid)
    groups = [group for one in owned for group in one.groups]

    # In a step, so that nothing is in order; its client is told.
    step = [sys.executable, "-m", "codenav", "sandbox", "exec", "lab", "-c", "while True: pass"]
    client = subprocess.Popen(step, stderr=subprocess.PIPE, text=True)
    with connect("lab") as box:
        wait_until(lambda: (box.status()["running_seconds"] or 0) > 0)
    os.kill(pid, signal.SIGKILL)
    assert "has ended" in client.communicate()[1]
    assert client.returncode == 2
    wait_until(record.owner.ended)

    shown = codenav("sandbox", "stop", "--leftovers", "--dry-run", "--json").document
    assert ("named sandbox", "lab") in [(row["kind"], row["name"]) for row in shown if row["pid"] == pid]
    assert (folder / "work" / "made").exists()
    done = codenav("sandbox", "stop", "--leftovers", "--json")
    assert done.code == 0, done.err
    rows = [row for row in done.document if row["pid"] == pid]
    assert ("named sandbox", "lab", True) in [(row["kind"], row["name"], row["removed"]) for row in rows]
    assert len([row for row in rows if row["kind"] in ("control group", "folder")]) == len(owned)
    assert not folder.exists()
    assert folders_of(pid) == []
    assert not any(one.path.exists() for one in owned)
    assert not any(group.exists() for group in groups)
    wait_until(lambda: not running(mark))
    assert codenav("sandbox", "start", "--name", "lab", "--sandbox", "bubblewrap").code == 0
