"""`codenav index --watch` follows what editors, git and people do to a source."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import codenav, start

from codenav.core import schemas

PATIENCE = 30.0
"""Seconds in which an update must come; it takes one or two on an idle machine."""


class Watch:
    """A running `codenav index --watch --json`."""

    def __init__(self, *sources: str | Path) -> None:
        self.process = start("index", *sources, "--watch", "--json")
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def update(self) -> dict[str, Any]:
        """The next update."""
        document: dict[str, Any] = json.loads(self.lines.get(timeout=PATIENCE))
        jsonschema.validate(document, schemas.load("index-watch"))
        return document

    def updates_until(self, done: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Updates up to one that satisfies `done`: a burst may be seen in one or in several."""
        found = [self.update()]
        while not done(found[-1]):
            found.append(self.update())
        return found

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Its exit code and what it said on stderr."""
        self.process.send_signal(number)
        self.reader.join(PATIENCE)
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.wait(PATIENCE)
        self.process.stderr.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode, said


@pytest.fixture
def watch(library: Path) -> Iterator[Watch]:
    watching = Watch(library)
    first = watching.update()
    assert (first["source"], first["files"], first["changed"], first["removed"]) == (str(library), 3, [], [])
    yield watching
    if watching.process.poll() is None:
        watching.end(signal.SIGKILL)


def found(library: Path, name: str) -> int:
    ran = codenav("search", f"name: {name}", "--on", library, "--no-refresh", "--json")
    total: int = ran.document["total"]
    return total


def test_what_an_editor_does_is_followed(watch: Watch, library: Path) -> None:
    fields = library / "src" / "farm" / "fields.py"
    with fields.open("a") as file:
        file.write("\n\ndef plough(field): pass\n")
    assert watch.update()["changed"] == ["src/farm/fields.py"]
    assert found(library, "plough") == 1

    # As vim and many others save: a new file takes the old one's place.
    (library / "4913").write_text(fields.read_text().replace("plough", "sow"))
    os.replace(library / "4913", fields)
    assert watch.update()["changed"] == ["src/farm/fields.py"]
    assert (found(library, "plough"), found(library, "sow")) == (0, 1)

    fields.rename(library / "src" / "farm" / "meadows.py")
    update = watch.update()
    assert (update["changed"], update["removed"]) == (["src/farm/meadows.py"], ["src/farm/fields.py"])
    hits = codenav("search", "name: sow", "--on", library, "--no-refresh", "--json").document["hits"]
    assert [hit["path"] for hit in hits] == ["src/farm/meadows.py"]

    (library / "src" / "farm" / "meadows.py").unlink()
    assert watch.update()["removed"] == ["src/farm/meadows.py"]
    assert found(library, "sow") == 0

    (library / "broken.py").symlink_to("nowhere.py")
    assert watch.update()["skipped"] == [{"path": "broken.py", "reason": "broken link"}]
    code, said = watch.end()
    assert (code, said) == (0, "Watching. Ctrl-C ends it.\nStopped watching.\n")


def test_a_branch_that_is_checked_out_is_followed(library: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, "-C", str(library), *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "main")
    git("checkout", "-b", "other")
    git("rm", "-r", "src")
    for number in range(100):
        (library / f"m{number}.py").write_text(f"def on_other_{number}(): pass\n")
    git("add", ".")
    git("commit", "-m", "other")
    git("checkout", "main")
    watch = Watch(library)
    watch.update()
    git("checkout", "other")
    updates = watch.updates_until(lambda update: update["files"] == 101)
    assert sum(len(update["changed"]) for update in updates) >= 100
    assert (found(library, "on_other_99"), found(library, "harvest")) == (1, 0)
    git("checkout", "main")
    watch.updates_until(lambda update: update["files"] == 3)
    assert (found(library, "on_other_99"), found(library, "harvest")) == (0, 1)
    assert watch.end(signal.SIGTERM)[0] == 0


def test_a_folder_that_vanishes_is_waited_for(watch: Watch, library: Path) -> None:
    away = library.with_name("away")
    library.rename(away)
    (away / "new.py").write_text("def came_back(): pass\n")
    assert watch.process.stderr is not None
    assert watch.process.stderr.readline() == "Watching. Ctrl-C ends it.\n"
    assert watch.process.stderr.readline() == f"Note: no such file or folder: {library}: still watching\n"
    ran = codenav("sources", "list", "--json").document
    assert ran[0]["files"] == 3, "the index stays as it was"
    away.rename(library)
    assert watch.update()["changed"] == ["new.py"]
    assert found(library, "came_back") == 1
    assert watch.end()[0] == 0


def test_several_sources_are_followed_at_once(library: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "x.py").write_text("x = 1\n")
    watch = Watch(library, tmp_path / "second")
    assert [watch.update()["source"], watch.update()["source"]] == [str(library), str(tmp_path / "second")]
    (tmp_path / "second" / "y.py").write_text("y = 1\n")
    update = watch.update()
    assert (update["source"], update["changed"]) == (str(tmp_path / "second"), ["y.py"])
    assert watch.end()[0] == 0


def test_for_a_person_each_update_is_a_line_on_stderr(library: Path) -> None:
    process = start("index", library, "--watch")
    assert process.stderr is not None and process.stdout is not None
    assert process.stderr.readline() == "Watching. Ctrl-C ends it.\n"
    for number in range(5):
        (library / f"new\n{number}.py").write_text("")
    line = process.stderr.readline()
    assert "changed new\\n0.py" in line and str(library) in line
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert out.startswith(f"{library}: 3 files, ")
    assert process.returncode == 0


def test_a_source_that_is_not_there_is_not_watched(tmp_path: Path) -> None:
    ran = codenav("index", tmp_path / "nothing", "--watch")
    assert (ran.code, ran.out) == (2, "")
    assert "no such file or folder" in ran.err


def test_a_watch_that_is_killed_leaves_a_usable_index(watch: Watch, library: Path) -> None:
    (library / "new.py").write_text("def fresh(): pass\n")
    watch.update()
    assert watch.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert found(library, "fresh") == 1
    assert codenav("index", library).code == 0


def test_from_python_it_is_a_generator(library: Path) -> None:
    from codenav.retrieval.watching import watch

    told: list[str] = []
    watching = watch([library], notice=told.append)
    assert next(watching).stats.files == 3
    (library / "new.py").write_text("def fresh(): pass\n")
    update = next(watching)
    assert (update.changed, update.removed, update.stats.files) == (("new.py",), (), 4)
    watching.close()
    assert told == []
