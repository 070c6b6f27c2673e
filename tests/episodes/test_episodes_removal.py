"""Removing episodes, and what they share: kept once by content, as long as one needs it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from command_line import codenav
from jsonschema import Draft202012Validator

from codenav import CheckOptions, Code, Done, ScriptedModel, Session
from codenav.core import schemas
from codenav.core.errors import NotFound, UsageError
from codenav.core.events import Status
from codenav.episodes.objects import Objects
from codenav.episodes.record import EpisodeResult
from codenav.episodes.removal import remove, remove_old, size_of
from codenav.episodes.store import EpisodeStore

WRITER = Path(__file__).with_name("writer.py")
Recorded = Callable[..., EpisodeResult]


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "objects")


def held(objects: Objects) -> list[bytes]:
    return sorted(path.read_bytes() for path in objects.folder.iterdir())


def test_a_content_is_kept_once_and_read_only(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x" * 3_000_000)
    for name in "abc":
        objects.add(tmp_path / "source", tmp_path / name)
    assert len({(tmp_path / name).stat().st_ino for name in "abc"}) == 1
    assert (tmp_path / "a").stat().st_ino != (tmp_path / "source").stat().st_ino
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o400
    assert [path.name for path in objects.folder.iterdir()] == [hashlib.sha256(b"x" * 3_000_000).hexdigest()]
    (tmp_path / "a").unlink()
    assert objects.prune() == 0
    for name in "bc":
        (tmp_path / name).unlink()
    assert objects.prune() >= 3_000_000 and held(objects) == []


def test_a_shared_file_that_is_damaged_is_not_believed(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("whole")
    objects.add(tmp_path / "source", tmp_path / "first")
    (shared,) = objects.folder.iterdir()
    shared.unlink()
    shared.write_text("who")
    objects.add(tmp_path / "source", tmp_path / "second")
    assert (tmp_path / "second").read_text() == shared.read_text() == "whole"
    assert (tmp_path / "second").stat().st_ino == shared.stat().st_ino


def test_without_hard_links_each_has_its_own(tmp_path: Path) -> None:
    """A folder that cannot be made stands for a file system that cannot link."""
    (tmp_path / "file").write_text("")
    objects = Objects(tmp_path / "file" / "objects")
    for name in "ab":
        objects.add(tmp_path / "file", tmp_path / name)
    assert (tmp_path / "a").stat().st_nlink == (tmp_path / "b").stat().st_nlink == 1


def test_links_are_not_followed(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic links"):
        objects.add(tmp_path / "link", tmp_path / "target")


def test_runs_that_begin_and_end_at_once_find_whole_files(objects: Objects, tmp_path: Path) -> None:
    """Processes that add the same files, remove theirs and prune, some of them killed in the middle."""
    for number in range(5):
        (tmp_path / f"source-{number}").write_bytes(bytes([number]) * 10_000)
    program = """
import sys
from pathlib import Path
from codenav.episodes.objects import Objects
place, own = Path(sys.argv[1]), sys.argv[2]
objects = Objects(place / "objects")
for turn in range(150):
    for number in range(5):
        target = place / f"{own}-{turn}-{number}"
        objects.add(place / f"source-{number}", target)
        assert target.read_bytes() == bytes([number]) * 10_000, target
        if turn < 149:
            target.unlink()
    objects.prune()
    print(turn, flush=True)
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program, tmp_path, str(own)], stdout=subprocess.PIPE)
        for own in range(4)
    ]
    killed = started.pop()
    assert killed.stdout is not None and killed.stdout.readline()
    killed.kill()
    killed.communicate()
    for process in started:
        process.communicate()
        assert process.returncode == 0
    for path in tmp_path.glob("[0-9]-*"):
        if path.name.startswith("3-"):
            path.unlink()
    objects.prune()
    left = {path.name for path in objects.folder.iterdir()}
    assert left <= {hashlib.sha256(bytes([number]) * 10_000).hexdigest() for number in range(5)}


def test_episodes_are_removed_by_name_all_or_none(store: EpisodeStore, recorded: Recorded) -> None:
    ids = [recorded().id for _ in range(3)]
    with pytest.raises(NotFound):
        remove(store, [ids[0], "nope"])
    with pytest.raises(UsageError, match="3 episodes begin with"):
        remove(store, [ids[0][:8]])
    assert len(store.ids()) == 3
    done = remove(store, [ids[0], "last"])
    assert (done.removed, done.in_use) == ([ids[0], ids[2]], ())
    assert done.freed_bytes > 0 and store.ids() == [ids[1]]
    assert not list(store.folder.glob(".*"))


def test_the_newest_stay_and_so_do_the_young(store: EpisodeStore, recorded: Recorded) -> None:
    ids = [recorded().id for _ in range(4)]
    old = "20200101-000000-abcdef"
    (store.folder / ids.pop(0)).rename(store.folder / old)
    assert remove_old(store, older_than=timedelta(days=30)).removed == [old]
    assert remove_old(store, keep=1).removed == ids[1::-1]
    assert remove_old(store, keep=1).removed == []
    assert store.ids() == ids[2:]


def test_what_runs_is_never_removed(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path)
    child = subprocess.Popen([sys.executable, WRITER, "endless", str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    id = json.loads(child.stdout.readline())["id"]
    try:
        with pytest.raises(UsageError, match=f"{id} is in use"):
            remove(store, [id])
        done = remove_old(store, keep=0)
        assert (done.removed, done.in_use) == ([], [id])
    finally:
        child.kill()
        child.communicate()
    assert remove_old(store, keep=0).removed == [id]


def test_an_episode_that_has_no_record_yet_is_in_use_while_its_session_is(codenav_home: Path, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    store = EpisodeStore(codenav_home / "episodes")
    script = [Code("x = 1"), Done("1"), Code("x += 1"), Done("2")]
    with Session(
        on=tmp_path / "code", model=ScriptedModel(script), sandbox="process", checks=CheckOptions(types=False)
    ) as session:
        first, second = session.run("One?"), session.run("Two?")
        # The first one's folder holds the work folder of the session, so that one stays.
        done = remove_old(store, keep=0)
        assert (done.removed, done.in_use) == ([second.id], [first.id])
    assert remove_old(store, keep=0).removed == [first.id]


def test_what_a_killed_removal_left_is_out_of_sight_and_goes_with_the_next(
    store: EpisodeStore, recorded: Recorded
) -> None:
    gone, other = recorded().id, recorded().id
    (store.folder / gone).rename(store.folder / f".removed-{gone}")
    rows = store.list()
    assert ([row.id for row in rows], rows.damaged) == ([other], ())
    assert remove_old(store, keep=1).freed_bytes > 0
    assert os.listdir(store.folder) == [other]


@pytest.mark.parametrize("sandbox", ["process", "bubblewrap"])
def test_inputs_are_shared_and_no_run_or_replay_changes_them(codenav_home: Path, tmp_path: Path, sandbox: str) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "data" / "sub").mkdir(parents=True)
    text = "7\n" * 400_000
    for name in ("numbers.txt", "sub/again.txt"):
        (tmp_path / "data" / name).write_text(text)
    (tmp_path / "script").write_text(
        "<action><type>code</type><content>\nimport os\ntotal = sum(map(int, open('numbers.txt')))\n"
        "os.chmod('numbers.txt', 0o600)\nopen('numbers.txt', 'a').write('0\\n')\nprint(total)\n</content></action>\n"
        "<action><type>done</type><content>2800000</content></action>"
    )
    asked = [
        "run", "Sum?", "--on", tmp_path / "code", "--work-dir", tmp_path / "data", "--set", "checks.types=no",
        "--sandbox", sandbox, "--model", f"scripted:{tmp_path / 'script'}",
    ]  # fmt: skip
    for _ in range(2):
        (tmp_path / "data" / "numbers.txt").write_text(text)
        ran = codenav(*asked)
        assert ran.out == "2800000\nsummary: reproduced (compared: total, numbers.txt, the last output)\n", ran.err
        assert (tmp_path / "data" / "numbers.txt").read_text() == f"{text}0\n"
    store = EpisodeStore(codenav_home / "episodes")
    kept = [path for path in store.folder.glob("*/inputs/**/*") if path.is_file()]
    assert len(kept) == 4 and len({path.stat().st_ino for path in kept}) == 1
    assert all(path.read_text() == text for path in kept)
    (row,) = [row for row in codenav("doctor", "--json").document if row["name"] == "episodes"]
    assert row["detail"].startswith("2 episodes, ") and "codenav episodes remove" in row["hint"]
    assert len(text) < size_of(store) < 2 * len(text)
    ran = codenav("episodes", "remove", "--keep", "0", "--json")
    assert ran.code == 0, ran.err
    Draft202012Validator(schemas.load("episodes-remove")).validate(ran.document)
    assert len(ran.document["removed"]) == 2 and ran.document["freed_bytes"] > len(text)
    assert size_of(store) == 0


@pytest.mark.parametrize(
    "arguments", [[], ["last", "--keep", "1"], ["--keep", "1", "--older-than", "1d"], ["--older-than", "30"], ["nope"]]
)
def test_wrong_usage_removes_nothing(
    codenav_home: Path, events: Callable[..., list[object]], arguments: list[str]
) -> None:
    store = EpisodeStore(codenav_home / "episodes")
    id, _ = store.create()
    with store.recorder(id) as record:
        for event in events(id):
            record(event)
    ran = codenav("episodes", "remove", *arguments)
    assert (ran.code, ran.out) == (2, "") and "Error: " in ran.err
    assert store.status(id) is Status.DONE
