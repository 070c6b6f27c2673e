"""What goes into the work folder, what comes out of it, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import MIB, Outcome, Resources
from codenav.sandboxes.filenames import Unwanted, checked_name


def test_files_go_in_and_changed_ones_come_out(fresh, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.txt").write_text("from the host")
    (tmp_path / "same.bin").write_bytes(bytes(range(256)) * 8000)
    sandbox = fresh(work_dir=tmp_path)
    execution = sandbox.run("open('data/in.txt').read(), len(open('same.bin', 'rb').read())")
    assert execution.stdout == "('from the host', 2048000)\n"
    assert execution.files == []
    sandbox.run("import os; os.makedirs('out/deep')")
    execution = sandbox.run("open('out/deep/a.txt', 'w').write('a'); open('data/in.txt', 'w').write('new')")
    assert sorted(execution.files) == ["data/in.txt", "out/deep/a.txt"]
    assert (tmp_path / "out" / "deep" / "a.txt").read_text() == "a"
    assert (tmp_path / "data" / "in.txt").read_text() == "new"
    assert (tmp_path / "out" / "deep" / "a.txt").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "out" / "deep" / "a.txt").stat().st_uid == tmp_path.stat().st_uid
    assert sandbox.run("1").files == []
    big = sandbox.run("open('big.bin', 'wb').write(b'0123456789' * 1_000_000);")
    assert big.files == ["big.bin"]
    assert (tmp_path / "big.bin").read_bytes() == b"0123456789" * 1_000_000


def test_without_copy_out_the_host_folder_is_only_read(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path, copy_out=False)
    assert sandbox.run("open('new', 'w').write('x')").files == []
    assert list(tmp_path.iterdir()) == []


def test_deleting_the_work_folder_is_told_and_mended(fresh, tmp_path):
    sandbox = fresh(work_dir=tmp_path)
    execution = sandbox.run("import os, shutil\nwork = os.getcwd()\nshutil.rmtree(work, ignore_errors=True)")
    assert execution.outcome is Outcome.OK
    if sandbox.info.backend == "process":
        assert "deleted" in execution.notice
    execution = sandbox.run("assert os.getcwd() == work\nos.chdir('/')\nopen(work + '/again', 'w').write('1');")
    assert execution.outcome is Outcome.OK
    assert execution.files == ["again"]
    assert sandbox.run("os.getcwd()").stdout == "'/'\n"


def test_links_pipes_and_strange_names_stay_inside(fresh, tmp_path):
    target, outside = tmp_path / "work", tmp_path / "outside"
    target.mkdir()
    outside.write_text("host secret")
    sandbox = fresh(work_dir=target)
    code = f"""
    import os
    os.symlink({str(outside)!r}, 'link'); os.symlink('/etc', 'folder'); os.mkfifo('pipe')
    for name in ('new\\nline', 'esc\\x1b[31m', b'bad\\xff'): open(name, 'w').close()
    open('-rf', 'w').write('fine'); open('n' * 255, 'w').write('long')
    os.makedirs('__pycache__'); open('__pycache__/x.pyc', 'w').close()
    """
    execution = sandbox.run(textwrap.dedent(code))
    assert execution.outcome is Outcome.OK
    assert sorted(execution.files) == ["-rf", "n" * 255]
    assert sorted(entry.name for entry in target.iterdir()) == ["-rf", "n" * 255]
    for told in ("link: a symbolic link", "folder: a symbolic link", "pipe: not a regular file", "control characters"):
        assert told in execution.stderr
    assert "\x1b" not in execution.stderr
    assert sandbox.run("1").stderr == ""


def test_links_on_the_host_are_not_followed_either_way(contained, tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (work / "file").symlink_to(outside / "secret")
    (work / "folder").symlink_to(outside)
    sandbox = contained(work_dir=work)
    assert sandbox.run("import os\nos.listdir('.')").stdout == "[]\n"
    execution = sandbox.run("open('file', 'w').write('x'); os.mkdir('folder'); open('folder/new', 'w').write('x');")
    assert execution.files == ["file.codenav-1"]
    assert "folder/new: cannot be written" in execution.stderr
    assert (outside / "secret").read_text() == "secret"
    assert [entry.name for entry in outside.iterdir()] == ["secret"]


def test_modes_and_sparse_giants_do_not_come_out(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path, resources=Resources(file_bytes=2 * MIB))
    execution = sandbox.run("import os\nopen('tool', 'w').write('x')\nos.chmod('tool', 0o6777)")
    assert execution.files == ["tool"]
    assert (tmp_path / "tool").stat().st_mode & 0o7777 == 0o755
    execution = sandbox.run("with open('sparse', 'wb') as f: f.truncate(1 << 40)")
    assert execution.error.type == "OSError"
    assert (tmp_path / "sparse").read_bytes() == b""


def test_a_folder_that_does_not_fit_is_refused_at_the_start(contained, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (2 * MIB))
    with pytest.raises(UsageError, match="more than the 1 MiB"):
        contained(work_dir=tmp_path, resources=Resources(work_bytes=MIB))
    with pytest.raises(UsageError, match="no such work folder"):
        contained(work_dir=tmp_path / "missing")


def test_files_belong_to_the_owner_of_the_folder(fresh, tmp_path):
    owner = 1234 if os.geteuid() == 0 else os.geteuid()
    os.chown(tmp_path, owner, -1)
    sandbox = fresh(work_dir=tmp_path)
    assert sandbox.run("import os\nos.mkdir('d'); open('d/f', 'w').write('x');").files == ["d/f"]
    assert ((tmp_path / "d").stat().st_uid, (tmp_path / "d" / "f").stat().st_uid) == (owner, owner)


def test_a_file_that_others_may_not_read_goes_in_and_stays_closed(fresh, tmp_path):
    (tmp_path / "private").write_text("secret")
    (tmp_path / "private").chmod(0o600)
    sandbox = fresh(work_dir=tmp_path)
    assert sandbox.run("open('private').read()").stdout == "'secret'\n"
    assert sandbox.run("open('private', 'a').write('!');").files == ["private"]
    assert (tmp_path / "private").read_text() == "secret!"
    assert (tmp_path / "private").stat().st_mode & 0o7777 == 0o600


def test_a_host_folder_that_vanishes_is_told(contained, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    sandbox = contained(work_dir=work)
    work.rmdir()
    execution = sandbox.run("open('f', 'w').write('x');")
    assert (execution.outcome, execution.files) == (Outcome.OK, [])
    assert "f: cannot be written" in execution.stderr


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../up",
        "a/../../b",
        "a//b",
        ".",
        "a/.",
        "x\ny",
        "x\x1b",
        "x\u202ey",
        "\udcff",
        "\ud800",
        "a/\ud800",
        "\x00",
        "a\r\n",
        "a" * 5000,
    ],
)
def test_names_that_are_not_plain_are_refused(name):
    with pytest.raises(Unwanted):
        checked_name(name)


def test_a_name_that_the_file_system_cannot_hold_is_refused():
    script = """
    from codenav.sandboxes.filenames import Unwanted, checked_name
    try:
        print(checked_name("a/\\u4e2d"))
    except Unwanted as reason:
        print(reason)
    """
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "cannot be written on this system" in done.stdout


def test_copying_out_has_its_own_time(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path, resources=Resources(copy_seconds=60))
    execution = sandbox.run("kept = 1\nwith open('big', 'wb') as file: file.truncate(240 << 20)", timeout=0.3)
    assert (execution.outcome, execution.files, execution.stderr) == (Outcome.OK, ["big"], "")
    assert (tmp_path / "big").stat().st_size == 240 << 20
    assert sandbox.run("kept").stdout == "1\n"


def test_what_was_late_comes_with_the_next_steps(contained, tmp_path):
    sandbox = contained(work_dir=tmp_path, resources=Resources(copy_seconds=0.25))
    names = [f"{number:03}" for number in range(60)]
    code = f"kept = 1\nfor name in {names}:\n    with open(name, 'wb') as file: file.truncate(2 << 20)"
    execution = sandbox.run(code)
    came = list(execution.files)
    for _ in range(100):
        if len(came) >= len(names):
            break
        execution = sandbox.run("kept")
        assert (execution.outcome, execution.stdout, execution.notice) == (Outcome.OK, "1\n", "")
        came += execution.files
    assert sorted(came) == names
    assert {entry.name: entry.stat().st_size for entry in tmp_path.iterdir()} == dict.fromkeys(names, 2 << 20)


def test_plain_names_pass():
    assert checked_name("a/b c/ü.txt") == ["a", "b c", "ü.txt"]
