"""What the host has changed since it was copied in is never replaced: the code's version lands beside it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading

import pytest

from codenav.core.execution import Outcome
from codenav.sandboxes.folders import HeldFolder
from codenav.sandboxes.placing import Placing, Version, names_beside, new_digest

ROUNDS = 500
WRITE = "with open({!r}, 'w') as file: file.write({!r})"
NOTICE = "{} (the code's version is {}): changed outside of the sandbox too, and kept as it is there."


def content(folder):
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "code",
    [
        "import multiprocessing\nlocks = [multiprocessing.Lock() for _ in range(8)]",
        "import mmap\nfile = open('0', 'rb'); held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)",
        "held.close(); file.close()",
        "import os\nfor n in '012345': os.utime(n); os.chmod(n, 0o600); os.rename(n, 'x'); os.rename('x', n)",
        "for n in '012345': text = open(n).read(); open(n, 'w').write(text);",
    ],
)
def test_a_step_that_changes_no_file_leaves_those_of_the_host(shared, code):
    sandbox, work = shared
    execution = sandbox.run(code)
    assert execution.outcome is Outcome.OK
    assert (execution.files, execution.notice, execution.stderr) == ([], "", "")
    assert content(work) == {str(number): "edited" for number in range(6)}


@pytest.fixture(scope="module")
def shared(backend, basis, tmp_path_factory):
    """A sandbox on six files that were edited since they were copied in."""
    import dataclasses

    from codenav.sandboxes import start

    work = tmp_path_factory.mktemp("work")
    for number in range(6):
        (work / str(number)).write_text("copied in")
    with start(backend, dataclasses.replace(basis, work_dir=work)) as sandbox:
        for number in range(6):
            (work / str(number)).write_text("edited")
        yield sandbox, work


def test_what_both_have_changed_stays_and_the_codes_version_lands_beside_it_and_is_told_once(contained, tmp_path):
    (tmp_path / "report.csv").write_text("copied in")
    sandbox = contained(work_dir=tmp_path)
    (tmp_path / "report.csv").write_text("edited")
    for text, beside, told in (
        ("first", {"report.codenav-1.csv": "first"}, "report.codenav-1.csv"),
        ("first", {"report.codenav-1.csv": "first"}, ""),
        ("second", {"report.codenav-1.csv": "second"}, "report.codenav-1.csv"),
    ):
        execution = sandbox.run(WRITE.format("report.csv", text))
        assert execution.notice == (NOTICE.format("report.csv", told) if told else "")
        assert execution.files == ([told] if told else [])
        assert content(tmp_path) == {"report.csv": "edited", **beside}
    assert sandbox.run("1").notice == ""
    # A person's edit of the version beside it is kept as well.
    (tmp_path / "report.codenav-1.csv").write_text("corrected")
    assert sandbox.run(WRITE.format("report.csv", "third")).files == ["report.codenav-2.csv"]
    # The person takes the code's version up: from there on it is one file again.
    (tmp_path / "report.codenav-2.csv").rename(tmp_path / "report.csv")
    execution = sandbox.run(WRITE.format("report.csv", "fourth"))
    assert (execution.files, execution.notice) == (["report.csv"], "")
    assert content(tmp_path) == {"report.csv": "fourth", "report.codenav-1.csv": "corrected"}


def test_whatever_has_the_name_on_the_host_is_kept(fresh, tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.write_text("outside")
    for name in ("file", "link", "folder", "gone", "touched", "alike"):
        (work / name).write_text("copied in")
    sandbox = fresh(work_dir=work)
    for name in ("link", "folder", "gone"):
        (work / name).unlink()
    (work / "link").symlink_to(outside)
    (work / "dangling").symlink_to("nowhere")
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    (work / "new.tar.gz").write_text("made by the host")
    (work / "file").write_text("edited")
    (work / "alike").write_text("by the code")
    os.utime(work / "touched")
    (work / "touched").chmod(0o755)
    names = ["alike", "dangling", "file", "folder", "gone", "link", "new.tar.gz", "pipe", "touched"]
    execution = sandbox.run(f"for name in {names}:\n    with open(name, 'w') as file: file.write('by the code')")
    assert execution.outcome is Outcome.OK
    kept = ["dangling", "file", "folder", "link", "pipe"]
    beside = [*(f"{name}.codenav-1" for name in kept), "new.codenav-1.tar.gz"]
    assert sorted(execution.files) == sorted(["alike", "gone", "touched", *beside])
    assert all((work / name).read_text() == "by the code" for name in execution.files)
    assert all(f"{name} (the code's version is " in execution.notice for name in [*kept, "new.tar.gz"])
    assert (work / "file").read_text() == "edited"
    assert (work / "new.tar.gz").read_text() == "made by the host"
    assert (outside.read_text(), os.readlink(work / "link")) == ("outside", str(outside))
    assert (os.readlink(work / "dangling"), os.listdir(work / "folder")) == ("nowhere", [])
    assert (work / "touched").stat().st_mode & 0o777 == 0o755
    assert [name for name in os.listdir(work) if name.endswith(".part")] == []


def test_a_sandbox_that_is_started_again_begins_with_the_files_as_they_are_then(contained, tmp_path):
    (tmp_path / "a").write_text("copied in")
    sandbox = contained(work_dir=tmp_path)
    (tmp_path / "a").write_text("edited")
    sandbox.run(WRITE.format("a", "by the code"))
    again = contained(work_dir=tmp_path)
    assert again.run("open('a').read(), open('a.codenav-1').read()").stdout == "('edited', 'by the code')\n"
    assert again.run(WRITE.format("a", "again")).files == ["a"]
    # To the first one that is a change of the host's.
    assert sandbox.run(WRITE.format("a", "still the first")).files == ["a.codenav-1"]
    assert content(tmp_path) == {"a": "again", "a.codenav-1": "still the first"}


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("report.csv", "report.codenav-1.csv"),
        ("report.codenav-7.csv", "report.codenav-1.csv"),
        ("a.tar.gz", "a.codenav-1.tar.gz"),
        ("a.codenav-1.tar.gz", "a.codenav-1.tar.gz"),
        ("data.2024.gz", "data.2024.codenav-1.gz"),
        ("Makefile", "Makefile.codenav-1"),
        (".bashrc", ".bashrc.codenav-1"),
        (".tar.gz", ".tar.codenav-1.gz"),
        (".config.json", ".config.codenav-1.json"),
        ("v1.2", "v1.2.codenav-1"),
        ("ends.", "ends..codenav-1"),
        (".codenav-1", ".codenav-1.codenav-1"),
        ("song.mp3", "song.codenav-1.mp3"),
        ("Jahr 2024. Bericht über alles", "Jahr 2024. Bericht über alles.codenav-1"),
        ("n" * 255, "n" * 245 + ".codenav-1"),
        ("n" * 251 + ".csv", "n" * 241 + ".codenav-1.csv"),
        ("ü" * 127, "ü" * 122 + ".codenav-1"),
    ],
)
def test_names_beside_another(name, first):
    names = list(itertools.islice(names_beside(name), 12))
    assert names[0] == first
    assert names[9] == first.replace(".codenav-1", ".codenav-10", 1) or len(name) > 100 or name == ".codenav-1"
    assert len(set(names)) == 12
    assert all(len(os.fsencode(one)) <= 255 for one in names)


def test_what_the_host_saves_at_that_very_moment_is_kept(tmp_path):
    """An editor saves while the code's version is placed, a little later each time."""
    (tmp_path / "work").mkdir()
    file, saved = tmp_path / "work" / "f", tmp_path / "saved"
    known = Version(new_digest(b"copied in").digest(), False)
    ready = threading.Barrier(2)
    names = set()

    def save():
        for number in range(ROUNDS):
            saved.write_text(f"saved {number}")
            ready.wait()
            for _ in range(number % 100 * 4):
                pass
            saved.rename(file)
            ready.wait()

    saving = threading.Thread(target=save, daemon=True)
    saving.start()
    with HeldFolder(tmp_path / "work") as held:
        for number in range(ROUNDS):
            file.write_text("copied in")
            placing = Placing(known, "", 100)
            with contextlib.suppress(OSError), held.replacing(["f"], place=placing.place) as writing:
                writing.file.write(b"by the code")
                ready.wait()
            ready.wait()
            assert file.read_text() == f"saved {number}"
            names.add(placing.name)
            if placing.name != "f":
                (tmp_path / "work" / placing.name).unlink()
    saving.join()
    assert names >= {"f", "f.codenav-1"}
