"""One file from the disk, while it vanishes, changes or is replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from codenav.indexers.place import Place
from codenav.indexers.read import Task, read
from codenav.indexers.walk import Found

Tree = Callable[[Mapping[str, str | bytes]], Path]


def task(path: Path, *, digest: str = "", follow: bool = False) -> Task:
    found = path.lstat()
    return Task(
        Found(path.name, str(path), found.st_size, found.st_mtime_ns, "python", follow), Place("s", path.name), digest
    )


def test_content_that_is_known_is_not_parsed(tree: Tree) -> None:
    path = tree({"a.py": "def a(): pass\n"}) / "a.py"
    first = read(task(path))
    assert first.state and first.blocks and first.reason == ""
    again = read(task(path, digest=first.state.digest))
    assert (again.state, again.blocks) == (first.state, None)


def test_a_file_that_vanishes(tree: Tree) -> None:
    path = tree({"a.py": "x = 1\n"}) / "a.py"
    planned = task(path)
    path.unlink()
    assert read(planned).reason == "no such file or directory"
    path.mkdir()
    assert read(planned).reason in ("not a regular file", "is a directory")


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tree: Tree) -> None:
    path = tree({"a.py": "x = 1\n"}) / "a.py"
    planned = task(path)
    path.unlink()
    os.mkfifo(path)
    assert read(planned).reason == "not a regular file"


def test_a_link_in_place_of_a_file_is_not_followed(tree: Tree) -> None:
    root = tree({"a.py": "x = 1\n", "secret.py": "key = 1\n"})
    planned = task(root / "a.py")
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("secret.py")
    assert read(planned).reason == "too many levels of symbolic links"
    assert read(task(root / "a.py", follow=True)).blocks


def test_a_file_that_grew_too_large(tree: Tree) -> None:
    path = tree({"a.py": "x = 1\n"}) / "a.py"
    planned = task(path)
    path.write_bytes(b"#" * 2_000_000)
    assert read(planned) == read(planned)
    assert read(planned).reason == "larger than 1 MB"


def test_a_file_that_is_written_all_the_time(tree: Tree) -> None:
    path = tree({"a.py": b"# line\n" + b"#" * 700_000}) / "a.py"
    planned, stop, reasons = task(path), threading.Event(), set()

    def write() -> None:
        with path.open("r+b", buffering=0) as file:
            while not stop.is_set():
                file.seek(0)
                file.write(b"# other\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            reading = read(planned)
            reasons.add(reading.reason)
            assert (reading.state is None) == (reading.reason != "")
    finally:
        stop.set()
        writer.join()
    assert reasons <= {"", "changes while it is read"}
    assert read(planned).reason == ""
