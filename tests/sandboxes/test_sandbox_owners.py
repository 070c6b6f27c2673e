"""Owners, and what is swept once they have ended."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from command_line import children, codenav, left_behind

from codenav.core.system.process_identity import Owner
from codenav.sandboxes.owned_resources import KIND_LABEL, OWNER_LABEL, OwnedFolder, owned_folders
from codenav.sandboxes.sweeper import local_leftovers, sweep


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder that nobody else uses."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    sweep()
    return tmp_path


def dead_owner() -> Owner:
    code = "from codenav.core.system.process_identity import Owner; print(Owner.this_process())"
    owner = Owner.from_text(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
    assert owner is not None
    return owner


def test_a_process_that_runs_and_one_that_has_ended():
    mine, dead = Owner.this_process(), dead_owner()
    assert (mine.lives(), mine.ended()) == (True, False)
    assert (dead.lives(), dead.ended()) == (False, True)


@pytest.mark.parametrize(
    ("change", "ended", "ended_elsewhere"),
    [
        ({"started": 1}, True, True),
        ({"pid": 2**31 - 1}, True, True),
        ({"boot": "another"}, True, False),
        ({"host": "another"}, False, False),
        ({"pids": "1"}, False, False),
        ({"boot": ""}, False, False),
    ],
)
def test_what_is_known_of_others(change, ended, ended_elsewhere):
    other = dataclasses.replace(Owner.this_process(), **change)
    assert not other.lives()
    assert other.ended() is ended
    assert other.ended(local=False) is ended_elsewhere


def test_a_zombie_has_ended():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    owner = dataclasses.replace(Owner.this_process(), pid=child.pid, started=int(stat[19]))
    assert owner.lives()
    child.send_signal(signal.SIGKILL)
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    assert owner.ended()
    child.communicate()


@pytest.mark.parametrize("text", ["", "a/b/c/1", "a/b/c/x/1", "a b/c/d/1/2", "a/b/c/-1/2"])
def test_other_texts_are_no_owner(text):
    assert Owner.from_text(text) is None


def test_forms_of_an_owner():
    mine = Owner.this_process()
    assert Owner.from_text(f"{mine}\n") == mine
    assert Owner.from_dict(json.loads(json.dumps(mine.to_dict()))) == mine
    assert Owner.from_dict({**mine.to_dict(), "pid": "1"}) is None


def test_a_folder_of_a_living_owner_stays(temporary):
    folder = OwnedFolder.make()
    assert oct(folder.path.stat().st_mode & 0o777) == "0o700"
    sweep()
    assert folder.path.is_dir()
    assert [found.owner for found in owned_folders()] == [Owner.this_process()]
    assert folder.remove()
    assert list(owned_folders()) == []


def test_a_folder_of_a_dead_owner_goes_with_all_that_is_in_it(temporary):
    folder = OwnedFolder.make()
    mark = Path(f"{folder.path}.owner")
    mark.write_text(str(dead_owner()))
    outside = temporary / "outside"
    outside.mkdir()
    (folder.path / "closed").mkdir()
    (folder.path / "closed" / "file").write_text("x")
    (folder.path / "closed").chmod(0)
    (folder.path / "link").symlink_to(outside)
    assert [leftover.name for leftover in local_leftovers()] == [str(folder.path)]
    sweep()
    assert not folder.path.exists()
    assert not mark.exists()
    assert outside.is_dir()


def test_a_mark_that_was_never_written_goes_after_an_hour(temporary):
    folder = OwnedFolder.make()
    mark = Path(f"{folder.path}.owner")
    mark.write_text("")
    sweep()
    assert mark.exists()
    os.utime(mark, (0, 0))
    sweep()
    assert not mark.exists()
    assert not folder.path.exists()


def test_a_folder_that_somebody_else_made_is_not_used(temporary):
    place = temporary / f"codenav-{os.geteuid()}"
    place.mkdir()
    place.chmod(0o777)
    (place / "x.owner").write_text(str(dead_owner()))
    folder = OwnedFolder.make()
    assert folder.path.parent != place
    assert list(owned_folders()) == []
    folder.remove()


HOST = """
    import sys, time
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes import start

    boxes = [start(backend, SandboxSpec(find_interpreter())) for backend in ("bubblewrap", "process")]
    for box in boxes:
        box.run("import subprocess, sys\\nchild = subprocess.Popen([sys.executable, '-c', 'input()'])")
    print("ready", flush=True)
    boxes[0].run("while True: pass", timeout=99)
"""


def test_a_killed_host_leaves_nothing_after_the_next_command(temporary):
    before = children()
    host = subprocess.Popen([sys.executable, "-c", textwrap.dedent(HOST)], stdout=subprocess.PIPE, text=True)
    assert host.stdout.readline() == "ready\n"
    made = list(owned_folders())
    groups = [group for folder in made for group in folder.groups]
    assert len(made) >= 1
    host.kill()
    host.communicate()
    assert left_behind(before) == []
    assert codenav("schema").code == 0
    assert list(owned_folders()) == []
    assert not any(folder.path.exists() for folder in made)
    assert not any(group.exists() for group in groups)


def test_prune_shows_what_it_removes(temporary):
    folder = OwnedFolder.make()
    Path(f"{folder.path}.owner").write_text(str(dead := dead_owner()))
    shown = codenav("sandbox", "stop", "--leftovers", "--dry-run")
    assert (shown.code, shown.out) == (0, f"would remove folder {folder.path} of process {dead.pid}\n")
    assert folder.path.exists()
    done = codenav("sandbox", "stop", "--leftovers", "--json")
    assert done.document == [{"kind": "folder", "name": str(folder.path), "pid": dead.pid, "removed": True}]
    assert not folder.path.exists()
    assert codenav("sandbox", "stop", "--leftovers").out == "0 leftovers removed.\n"


def test_prune_removes_containers_of_dead_owners_only(temporary, docker_engine):
    mine, dead = Owner.this_process(), dead_owner()
    owners = {
        "dead": str(dead),
        "living": str(mine),
        "foreign": str(dataclasses.replace(dead, host="other")),
        "no": "?",
    }
    for name, owner in owners.items():
        labels = ["--label", f"{OWNER_LABEL}={owner}", "--label", f"{KIND_LABEL}=sandbox"]
        docker_engine.docker("run", "-d", "--name", name, *labels, docker_engine.base_image(), "sleep", "99")
    docker_engine.docker("run", "-d", "--name", "unlabelled", docker_engine.base_image(), "sleep", "99")
    done = codenav("sandbox", "stop", "--leftovers", "--json", env=docker_engine.environment)
    assert done.document == [{"kind": "container", "name": "dead", "pid": dead.pid, "removed": True}]
    left = docker_engine.docker("ps", "-a", "--format", "{{.Names}}").split()
    for name in left:
        docker_engine.docker("rm", "-f", name)
    assert sorted(left) == ["foreign", "living", "no", "unlabelled"]


def test_prune_with_an_engine_that_does_not_answer(temporary):
    done = codenav("sandbox", "stop", "--leftovers", env={"DOCKER_HOST": f"unix://{temporary}/none"})
    assert done.code == 0
    assert "Containers are not looked at: no Docker engine answers" in done.err
