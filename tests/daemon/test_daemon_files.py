"""Files in and out of named sandboxes."""

from __future__ import annotations

import filecmp
import io
import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from codenav.core.errors import NotFound, UsageError
from codenav.core.execution import Resources
from codenav.sandboxes.daemon import client


def memory_of(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) << 10


def test_files_go_in_and_out_and_survive_a_new_start(named):
    box = named()
    data = os.urandom(3 << 20)
    box.write_file("in/data.bin", data)
    assert box.run("data = open('in/data.bin', 'rb').read(); open('out.bin', 'wb').write(data[::-1])").files == [
        "out.bin"
    ]
    assert box.read_file("out.bin") == data[::-1]
    assert sorted(box.artifacts()) == ["in/data.bin", "out.bin"]
    assert Path(box.record.work_dir, "out.bin").read_bytes() == data[::-1]
    with pytest.raises(NotFound):
        box.read_file("nothing")
    with pytest.raises(UsageError):
        box.write_file("../up", b"")


def test_a_work_folder_of_ones_own_stays(named, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.txt").write_text("before")
    box = named(work_dir=folder)
    assert box.run("text = open('a.txt').read(); open('b.txt', 'w').write(text.upper()); text").stdout == "'before'\n"
    client.stop(box.record.name)
    assert (folder / "b.txt").read_text() == "BEFORE"


def test_a_large_file_is_never_held(named, tmp_path):
    box = named()
    pid = box.record.owner.pid
    large, back = tmp_path / "large", tmp_path / "back"
    with large.open("wb") as file:
        for number in range(96):
            file.write(bytes([number]) * (1 << 20))
    # Whoever holds it all is out of memory.
    space = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize() + (32 << 20)
    resource.prlimit(pid, resource.RLIMIT_AS, (space, space))
    script = f"""
        import resource, sys
        from codenav.sandboxes.daemon.client import connect
        held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + {32 << 20}
        resource.setrlimit(resource.RLIMIT_AS, (held, held))
        with connect({box.record.name!r}) as box:
            with open({str(large)!r}, "rb") as file:
                box.files.write_from("large", file)
            with open({str(back)!r}, "wb") as file:
                box.files.read_into("large", file)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)
    assert filecmp.cmp(large, back, shallow=False)
    assert memory_of(pid) <= 25 << 20


def test_what_is_copied_keeps_the_limits_and_the_connection(named):
    box = named(resources=Resources(file_bytes=2 << 20))
    with pytest.raises(UsageError, match="cannot write large in the sandbox: larger than 2 MiB"):
        box.files.write_from("large", io.BytesIO(bytes(5 << 20)))
    assert box.artifacts() == []
    assert box.run("open('large', 'wb').write(bytes(2 << 20)); open('small', 'w').write('abc');").ok
    with open("/dev/full", "wb") as full, pytest.raises(OSError):
        box.files.read_into("large", full)
    with pytest.raises(NotFound):
        box.files.read_into("nothing", io.BytesIO())
    file = io.BytesIO()
    box.files.read_into("small", file)
    assert file.getvalue() == b"abc"
    box.files.write_from("rest", io.BytesIO(file.getvalue()[1:]))
    file.seek(2)
    box.files.write_from("tail", file)
    assert (box.read_file("rest"), box.read_file("tail")) == (b"bc", b"c")
