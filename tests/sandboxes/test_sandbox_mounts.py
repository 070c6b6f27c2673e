"""Live folders of the host in bubblewrap."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import Mount, Outcome
from codenav.sandboxes.binds import Bind, Binds
from codenav.sandboxes.mount_policy import checked_mounts, engine_sockets

NOBODY = 65534


@pytest.fixture
def data(tmp_path):
    """A folder that the sandbox's user may write to."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "table.csv").write_text("1,2\n")
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


def said(box, code):
    done = box.run(code)
    assert done.outcome is Outcome.OK, done.error
    return done.stdout.strip()


def test_a_folder_is_live_at_its_own_path(contained, data):
    box = contained(mounts=[Mount(data)])
    assert said(box, f"print(open({str(data / 'table.csv')!r}).read())") == "1,2"
    (data / "later.txt").write_text("later")
    assert said(box, f"print(open({str(data / 'later.txt')!r}).read())") == "later"
    refused = box.run(f"open({str(data / 'new.txt')!r}, 'w')")
    assert refused.error.message.startswith("[Errno 30]")


def test_a_writable_one_is_written_without_privileges(contained, data):
    box = contained(mounts=[Mount(data, writable=True)])
    new = data / "new.txt"
    said(box, f"import os\nopen({str(new)!r}, 'w').write('x'); os.chmod({str(new)!r}, 0o6755)")
    assert new.read_text() == "x"
    assert new.stat().st_uid == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert said(box, f"print(os.statvfs({str(data)!r}).f_flag & os.ST_NOSUID > 0)") == "True"


def test_a_folder_that_others_may_not_enter_can_be_read(contained, data):
    data.chmod(0o700)
    data.parent.chmod(0o700)
    box = contained(mounts=[Mount(data)])
    assert said(box, f"print(open({str(data / 'table.csv')!r}).read())") == "1,2"


def test_a_mount_inside_of_what_is_imported(contained, tmp_path, data):
    library = tmp_path / "library"
    (library / "cache").mkdir(parents=True)
    (library / "tool.py").write_text("NAME = 'tool'")
    if os.geteuid() == 0:
        os.chown(library / "cache", NOBODY, NOBODY)
    box = contained(import_paths=[library], mounts=[Mount(library / "cache", writable=True)])
    assert said(box, "import tool; print(tool.NAME)") == "tool"
    said(box, f"open({str(library / 'cache' / 'x')!r}, 'w').close()")
    assert (library / "cache" / "x").exists()
    assert box.run(f"open({str(library / 'x')!r}, 'w')").outcome is Outcome.ERROR


def test_a_mount_in_the_way_of_the_work_folder_moves_that():
    assert Binds((Bind("/data", "/work/data"),)).touches("/work")
    assert not Binds((Bind("/data", "/workshop"),)).touches("/work")


def test_as_root_a_folder_that_nobody_can_write_to_is_refused(contained, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("an ordinary user is not somebody else inside")
    with pytest.raises(UsageError, match="nobody, who cannot write") as caught:
        contained(mounts=[Mount(tmp_path, writable=True)])
    assert caught.value.hint == f"chown nobody {tmp_path}, or mount it read-only"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        *((path, "is a folder of the system") for path in ("/", "/etc", "/home", "/var/run", "/proc/self", "/usr")),
        ("~", "is a home folder: name a folder in it"),
        ("~/.config", "holds personal files of all programs"),
    ],
)
def test_what_would_open_this_machine_is_refused(tmp_path, monkeypatch, path, said):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config").mkdir()
    with pytest.raises(UsageError, match=f"is not mounted: it {said}"):
        checked_mounts([Mount(Path(path).expanduser())])


def test_links_do_not_help(tmp_path):
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(UsageError, match="is not mounted"):
        checked_mounts([Mount(tmp_path / "link")])


def test_the_folder_of_an_engine_s_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine/docker.sock")
    (tmp_path / "engine").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "engine" / "docker.sock"))
        assert stat.S_ISSOCK(os.stat(tmp_path / "engine" / "docker.sock").st_mode)
        assert str(tmp_path / "engine" / "docker.sock") in engine_sockets()
        with pytest.raises(UsageError, match=r"the engine's socket .* lies in it"):
            checked_mounts([Mount(tmp_path)])


def test_a_missing_or_relative_folder_is_told(tmp_path):
    with pytest.raises(UsageError, match="no such folder to mount"):
        checked_mounts([Mount(tmp_path / "none")])
    with pytest.raises(UsageError, match="not absolute"):
        checked_mounts([Mount(Path("data"))])
