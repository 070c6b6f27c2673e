"""All that a step wrote arrives, is tried again, or is told; nothing half written stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import Mount, Outcome
from codenav.sandboxes.autorun import runner_of
from codenav.sandboxes.filenames import Unwanted, is_repository, name_to_write
from codenav.sandboxes.owned_resources import OwnedFolder, owned_folders
from codenav.sandboxes.sweeper import local_leftovers, sweep

KILLS = 3
FULL_BYTES = 1 << 20


def test_every_file_of_a_step_that_writes_many_arrives(fresh, tmp_path):
    sandbox = fresh(work_dir=tmp_path)
    execution = sandbox.run("for n in range(1500):\n    with open(f'{n:04}', 'w') as file: file.write(str(n))")
    arrived = list(execution.files)
    # On a busy machine some arrive with a later step, which is told.
    while "what is left comes with the next step" in execution.stderr:
        execution = sandbox.run("1")
        arrived += execution.files
    assert (execution.outcome, execution.stderr) == (Outcome.OK, "")
    names = [f"{number:04}" for number in range(1500)]
    assert sorted(arrived) == sorted(os.listdir(tmp_path)) == names == list(sandbox.artifacts())
    assert (tmp_path / "1499").read_text() == "1499"
    assert sandbox.run("1").files == []


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of one MiB; as an ordinary user there is none to be made."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "none", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount")
    yield place
    subprocess.run(["umount", place], check=True)


def test_what_finds_no_room_is_told_once_and_comes_once_there_is_some(small_disk, contained):
    sandbox = contained(work_dir=small_disk)
    (small_disk / "ballast").write_bytes(bytes(FULL_BYTES * 3 // 4))
    code = "for n in range(20):\n    with open(f'{n:02}', 'wb') as file: file.write(bytes(64 << 10))"
    execution = sandbox.run(code)
    came = list(execution.files)
    assert execution.outcome is Outcome.OK
    assert 0 < len(came) < 20
    told = ", ".join(name for name in (f"{number:02}" for number in range(20)) if name not in came)
    assert f"{told}: cannot be written: no room is left" in execution.stderr
    assert sandbox.run("1").stderr == ""
    assert len(sandbox.read_file("19")) == 64 << 10
    os.unlink(small_disk / "ballast")
    assert "no room" in sandbox.run("with open('large', 'wb') as file: file.write(bytes(1 << 20))").stderr
    names = sorted(os.listdir(small_disk))
    assert len(names) >= 15
    assert names == [f"{number:02}" for number in range(20)][: len(names)]


def test_what_fails_is_tried_again_and_at_the_latest_when_the_sandbox_is_closed(contained, tmp_path):
    (tmp_path / "a").write_text("in the way of a folder")
    (tmp_path / "b").mkdir()
    sandbox = contained(work_dir=tmp_path)
    code = "import os\nos.remove('a'); os.mkdir('a')\nfor name in ('a/file', 'b', 'c'): open(name, 'w').write('x')"
    execution = sandbox.run(code)
    assert execution.files == ["b.codenav-1", "c"]
    assert execution.stderr == (
        "[not copied out] a/file: cannot be written: Not a directory; "
        "it is tried again after the next step, and read_file has it\n"
    )
    assert sandbox.run("1").stderr == ""
    (tmp_path / "a").unlink()
    sandbox.close()
    assert (tmp_path / "a" / "file").read_text() == "x"
    assert sandbox.uncopied == []


def test_what_is_left_at_the_end_is_named_and_code_is_not_copied_out_silently(contained, tmp_path):
    (tmp_path / "d").write_text("in the way")
    (tmp_path / "e").write_text("in the way")
    sandbox = contained(work_dir=tmp_path)
    code = "import os\nfor name in 'de':\n    os.remove(name); os.mkdir(name); open(name + '/conftest.py', 'w').close()"
    sandbox.run(code)
    (tmp_path / "d").unlink()
    sandbox.close()
    assert [line.partition(":")[0] for line in sandbox.uncopied] == ["d/conftest.py, e/conftest.py"]
    assert not (tmp_path / "d").exists()


def test_a_file_that_changes_in_place_with_its_old_time_comes_out(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path)
    sandbox.run("import os\nopen('f', 'w').write('old')\nbefore = os.stat('f')")
    code = "open('f', 'w').write('new')\nos.utime('f', ns=(before.st_atime_ns, before.st_mtime_ns));"
    assert sandbox.run(code).files == ["f"]
    assert (tmp_path / "f").read_text() == "new"


def test_what_is_written_through_memory_comes_out_too(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path)
    sandbox.run("import mmap\nwith open('f', 'wb') as file: file.write(bytes(8192))")
    assert sandbox.run("file = open('f', 'r+b'); held = mmap.mmap(file.fileno(), 0); held[0] = 65").files == ["f"]
    assert sandbox.run("held[1] = 66").files == ["f"]
    assert (tmp_path / "f").read_bytes()[:3] == b"AB\0"
    assert sandbox.run("1").files == []
    sandbox.run("held[2] = 67; held.close(); file.close()")
    assert (tmp_path / "f").read_bytes()[:3] == b"ABC"


def test_what_cannot_be_looked_into_is_told_once(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path)
    deep = "import os\nos.makedirs('/'.join('d' * 120))\nos.makedirs('closed'); open('closed/f', 'w').close()"
    execution = sandbox.run(f"{deep}\nos.chmod('closed', 0)")
    assert "closed: cannot be looked into: Permission denied" in execution.stderr
    assert "below more than 100 folders" in execution.stderr
    assert sandbox.run("1").stderr == ""
    assert sandbox.run("os.chmod('closed', 0o755)").files == ["closed/f"]


def test_executable_bits_go_both_ways_and_no_others(fresh, tmp_path):
    for name, mode in (("tool", 0o4755), ("plain", 0o640), ("mine", 0o700)):
        (tmp_path / name).write_text("#!/bin/sh\necho ran\n")
        (tmp_path / name).chmod(mode)
    sandbox = fresh(work_dir=tmp_path)
    assert sandbox.run("import os\n[oct(os.stat(n).st_mode & 0o7777) for n in ('tool', 'plain', 'mine')]").stdout == (
        "['0o755', '0o644', '0o755']\n"
    )
    code = "os.chmod('plain', 0o6755); os.chmod('mine', 0o644); os.chmod('tool', 0o755)\nopen('new', 'w').close()"
    sandbox.run(f"{code}\nos.chmod('new', 0o7711); open('tool', 'a').close()")
    modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in os.listdir(tmp_path)}
    assert modes == {"tool": 0o755, "plain": 0o750, "mine": 0o600, "new": 0o755}


# The folder itself


def test_a_work_folder_that_the_code_can_write_to_is_refused(contained, tmp_path):
    (tmp_path / "shared" / "out").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "shared" / "out")
    for work, live in (("shared/out", "shared"), ("shared", "shared"), ("link", "shared"), ("shared", "shared/out")):
        with pytest.raises(UsageError, match="which the code can write to, lie in each other"):
            contained(work_dir=tmp_path / work, mounts=[Mount(tmp_path / live, writable=True)])
    read_only = [Mount(tmp_path / "shared")]
    assert contained(work_dir=tmp_path / "shared" / "out", mounts=read_only).run("1").ok


def test_a_folder_that_is_moved_still_gets_the_files(contained, tmp_path):
    work, victim = tmp_path / "work", tmp_path / "victim"
    work.mkdir()
    victim.mkdir()
    sandbox = contained(work_dir=work)
    work.rename(tmp_path / "moved")
    work.symlink_to(victim)
    assert sandbox.run("open('f', 'w').close(); open('.codenav-00ff.part', 'w').close()").files == ["f"]
    assert os.listdir(tmp_path / "moved") == ["f"]
    assert os.listdir(victim) == []
    with pytest.raises(UsageError, match="belongs to version control"):
        (tmp_path / ".git" / "hooks").mkdir(parents=True)
        contained(work_dir=tmp_path / ".git" / "hooks")


def test_a_replay_begins_with_the_same_files(contained, tmp_path):
    for name in (
        ".git/config",
        ".env",
        "sub/.npmrc",
        "sub/.hg/hgrc",
        "bare/HEAD",
        "bare/objects/x",
        "run.sh",
        ".codenav-0a.part",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "run.sh").chmod(0o755)
    sandbox = contained(work_dir=tmp_path)
    assert [(entry.name, entry.executable) for entry in sandbox.files.list(recursive=True)] == [("run.sh", True)]


# Names


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git.", ".git ", ".g\u200cit", "git~1", ".git::$INDEX_ALLOCATION", ".hg", ".svn", ".jj"],
)
def test_other_spellings_of_a_repository(name):
    assert is_repository(name)
    with pytest.raises(Unwanted):
        name_to_write(f"a/{name}/config")


def test_a_secret_of_the_host_is_not_overwritten(contained, tmp_path):
    (tmp_path / "id_mine").write_text("-----BEGIN PRIVATE KEY-----")
    (tmp_path / ".env").write_text("KEY=1")
    sandbox = contained(work_dir=tmp_path)
    code = "import os\nlisted = os.listdir('.')\nfor name in ('id_mine', '.env', 'new.pem'): open(name, 'w').write('x')"
    execution = sandbox.run(f"{code}\nlisted")
    assert (execution.stdout, execution.files) == ("[]\n", ["new.pem"])
    assert "id_mine: the host has a secret of that name" in execution.stderr
    assert ".env (direnv, editors, docker compose; not copied out)" in execution.notice
    assert (tmp_path / "id_mine").read_text().startswith("-----BEGIN")
    assert (tmp_path / ".env").read_text() == "KEY=1"


def test_names_that_only_look_like_one():
    for name in (".gitignore", ".github", "git", ".gitattributes", "head.txt", "a.codenav-00.part", "refs", "config"):
        assert name_to_write(f"a/{name}") == ["a", name]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("a/.envrc", "direnv"), ("ConfTest.py", "pytest"), ("x/.VSCode/tasks.json", "VS Code"), ("a.pth", "Python"),
        (".github/workflows/x.yml", "build server"), (".git-hooks/x", ""), ("random.py", "in place of its own"),
        ("json/__init__.py", "in place of its own"), ("lib/random.py", ""), ("analysis.py", ""),
        (".venv/bin/python", "interpreter"), (".eslintrc.json", "JavaScript"), (".config/nvim/init.lua", "start"),
        ("data.csv", ""), ("Makefile", "make"), ("vite.config.ts", "JavaScript"), ("a/conf.d/x.fish", "shell"),
        ("README.md", ""), ("Dockerfile", ""), ("sub/.cargo/config.toml", "cargo"),
    ],
)  # fmt: skip
def test_what_tools_run_by_themselves(name, tool):
    found = runner_of(name.split("/"))
    assert tool in found if tool else found == ""


# Half written


WRITER = """
import sys, codenav
with codenav.sandbox("bubblewrap", work_dir=sys.argv[1]) as box:
    print("ready", flush=True)
    while True:
        box.run("import os\\nfor n in range(12):\\n    os.makedirs(f'd{n}', exist_ok=True)\\n"
                "    with open(f'd{n}/f', 'wb') as file: file.write(os.urandom(2 << 20))")
"""


def test_what_killed_hosts_leave_half_written_is_gone_after_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    work, seen = tmp_path / "work", 0
    work.mkdir()
    rng = random.Random(1)
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", WRITER, work], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 20
        while not parts(work) and time.monotonic() < deadline:
            time.sleep(rng.uniform(0.0005, 0.003))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        seen += len(parts(work))
    assert seen
    assert "file" in {leftover.kind for leftover in local_leftovers()}
    sweep()
    assert parts(work) == []
    assert list(owned_folders()) == []


def parts(folder):
    return [path for path in folder.rglob(".codenav-*") if path.exists()]


def test_only_what_was_noted_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    work = tmp_path / "new\nline\udcff"
    work.mkdir()
    for name in (".codenav-aa.part", ".codenav-bb.part", "file"):
        (work / name).write_text("x")
    folder = OwnedFolder.make()
    folder.note_parts(work, ".codenav-aa.part")
    folder.note_parts(work, "file")
    assert "file" not in {leftover.kind for leftover in local_leftovers()}
    mark = Path(f"{folder.path}.owner")
    mark.write_text(mark.read_text().replace(f"/{os.getpid()}/", "/2147483647/"))
    sweep()
    assert sorted(os.listdir(work)) == [".codenav-bb.part", "file"]


def test_a_forked_process_leaves_the_mark_of_its_parent(tmp_path):
    script = f"""
    import os, sys
    from pathlib import Path
    from codenav.sandboxes.folders import HeldFolder
    from codenav.sandboxes.owned_resources import owned_folders
    held = HeldFolder(Path({str(tmp_path)!r}))
    with held.replacing(["f"]) as writing:
        writing.file.write(b"x")
    if os.fork() == 0:
        sys.exit()
    os.wait()
    print(len(list(owned_folders())))
    held.close()
    print(len(list(owned_folders())))
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n0\n"


def test_names_do_not_end_the_lines_that_tell_them(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path)
    code = "import os\nopen('a\\n[not copied out] b', 'w').close()\nfor n in range(30): os.symlink('x', f'{n:02}\\n')"
    lines = sandbox.run(code).stderr.splitlines()
    assert len(lines) == 22
    assert all(line.startswith("[not copied out] ") for line in lines)
    assert lines[0] == "[not copied out] 00\\n: a symbolic link"


def test_what_is_not_copied_in_is_told_at_the_start(contained, tmp_path):
    for name in (".git/config", ".env", "data/a.csv", "__pycache__/m.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert contained(work_dir=tmp_path / "data").info.notice == ""
    (tmp_path / "current").symlink_to("data/a.csv")
    told = contained(work_dir=tmp_path).info.notice
    assert told == "not copied in from the work folder: current (a symbolic link), .env (a secret)" or (
        told == "not copied in from the work folder: .env (a secret), current (a symbolic link)"
    )
