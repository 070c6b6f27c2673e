"""`box.files`: what users do with the files inside, on every kind of sandbox."""

from __future__ import annotations

import dataclasses
import io
import os

import pytest

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.sandboxes.files import Files
from codenav.sandboxes.masked import MaskedSandbox


@pytest.fixture
def clean(box):
    """The shared sandbox with an empty work folder."""
    for entry in box.files.list():
        box.files.remove(entry.name)
    box.run(f"import os; os.chdir({box.info.work_dir!r})")
    return box


def test_files_are_written_looked_at_and_removed(clean):
    files = clean.files
    files.write("a/b/tool.sh", "#!/bin/sh\necho ü\n", executable=True)
    files.write("a/data.bin", bytes(range(256)))
    files.make_folder("empty/inner")
    files.make_folder("empty")
    clean.run("import os; os.symlink('a', 'link'); os.mkfifo('pipe')")
    listed = {entry.name: entry.kind for entry in files.list()}
    assert listed == {"a": "folder", "empty": "folder", "link": "link", "pipe": "other"}
    assert [entry.name for entry in files.list("a/", recursive=True)] == ["a/b", "a/b/tool.sh", "a/data.bin"]
    assert clean.artifacts() == ["a/b/tool.sh", "a/data.bin"]
    tool, data = files.stat("a/b/tool.sh"), files.stat("a/data.bin")
    assert (tool.kind, tool.size, tool.executable, data.executable) == ("file", 18, True, False)
    assert 0 <= data.modified - tool.modified < 60
    assert clean.run("import subprocess\nsubprocess.check_output('./a/b/tool.sh').decode()").stdout == "'ü\\n'\n"
    assert files.read("a/data.bin") == clean.read_file("a/data.bin") == bytes(range(256))
    files.write("a/b/tool.sh", "#!/bin/sh\n")
    assert files.stat("a/b/tool.sh").executable
    files.write_from("a/b/tool.sh", io.BytesIO(b"x"), executable=False)
    assert not files.stat("a/b/tool.sh").executable
    assert (files.exists("a"), files.exists("a/b/nothing"), files.stat("").kind) == (True, False, "folder")
    files.remove("link")
    files.remove("a")
    assert not files.exists("a/data.bin")


def test_what_is_not_there_or_leads_out_is_told_with_a_hint(clean):
    files = clean.files
    files.write("file", "x")
    clean.run("import os; os.symlink('/', 'out'); os.mkfifo('pipe')")
    for call in (
        lambda: files.read("nothing"), lambda: files.stat("nothing"), lambda: files.list("nothing"),
        lambda: files.remove("nothing"), lambda: files.list("file"), lambda: files.stat("../etc"),
        lambda: files.read("out/etc/passwd"), lambda: files.list("out"), lambda: files.download("nothing", "."),
        lambda: files.upload("nothing"), lambda: files.remove("out/tmp"), lambda: files.read("pipe"),
    ):  # fmt: skip
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.hint
    for call in (
        lambda: files.remove(""), lambda: files.write("../up", "x"), lambda: files.write("out/x", "x"),
        lambda: files.make_folder("/etc"), lambda: files.make_folder("file"), lambda: files.write("file/x", "x"),
        lambda: files.remove("../x"),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            call()
    assert clean.run("1").ok


def test_folders_go_in_and_out(clean, tmp_path):
    source, back = tmp_path / "source", tmp_path / "back"
    for name in ("a.txt", "deep/er/b.txt", ".git/config", "sub/.git"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    (source / "deep" / "er" / "b.txt").chmod(0o755)
    (source / "link").symlink_to("/etc/passwd")
    files = clean.files
    assert sorted(files.upload(source).files) == ["source/a.txt", "source/deep/er/b.txt"]
    assert sorted(files.upload(source, "as").files) == ["as/a.txt", "as/deep/er/b.txt"]
    assert list(files.upload(source / "a.txt", "as").files) == ["as/a.txt"]
    assert list(files.upload(source / "a.txt", "new").files) == ["new"]
    clean.run(
        "import os\nopen('as/conftest.py', 'w').close(); os.mkdir('as/.git'); open('as/.git/config', 'w').close()"
    )
    copied = files.download("as", back)
    names = ["a.txt", "conftest.py", "deep/er/b.txt"]
    assert sorted(copied.files) == [str(back / name) for name in names]
    assert copied.run_by == {str(back / "conftest.py"): "pytest"}
    assert copied.left == ["as/.git/config: what belongs to version control does not leave the sandbox"]
    assert (back / "deep" / "er" / "b.txt").stat().st_mode & 0o111
    assert not (back / "a.txt").stat().st_mode & 0o111
    assert [str(back / "as" / name) for name in names] == sorted(files.download("as/", back).files)
    assert files.download("new", back).files == [str(back / "new")]
    assert files.download("new", tmp_path / "other").files == [str(tmp_path / "other")]
    with pytest.raises(UsageError, match="not copied: as/"):
        files.download("as/.git/config", tmp_path / "config")
    with pytest.raises(UsageError, match="no such folder"):
        files.download("new", tmp_path / "no" / "where")
    (back / "link").symlink_to("/etc")
    clean.run("os.mkdir('link'); open('link/x', 'w').close()")
    with pytest.raises(UsageError, match="Not a directory"):
        files.download("", back)
    assert [path for path in tmp_path.rglob(".codenav-*")] == []


def test_a_long_listing_comes_whole(clean):
    code = "os.makedirs(f'd{n % 7}', exist_ok=True); open(f'd{n % 7}/{n}', 'w').close()"
    clean.run(f"import os\nfor n in range(2500): {code}")
    assert len(clean.artifacts()) == 2500
    assert len(clean.files.list(recursive=True)) == 2507
    clean.run("for n in range(120): os.mkdir('x'); os.chdir('x')\nos.chdir(os.path.expanduser('/'))")
    clean.files.remove("d0")
    assert not clean.files.exists("d0")


def test_secrets_in_names_are_masked(clean):
    clean.files.write("key-sesame123", "x")
    masked = MaskedSandbox(clean, {"KEY": "sesame123"})
    assert [entry.name for entry in masked.files.list()] == [masked.artifacts()[0]]
    assert "sesame" not in masked.files.stat("key-sesame123").name


def test_a_full_disk_is_told(clean, tmp_path, monkeypatch):
    clean.files.write("x", b"x")

    def full(descriptor, mode):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(StorageFull):
        clean.files.download("x", tmp_path)
    assert os.listdir(tmp_path) == []


def test_what_of_a_folder_is_not_copied_is_told(clean, tmp_path):
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "sub/data").write_text("1")
    (project / "link").symlink_to("sub/data")
    (project / "sub/.env").write_text("KEY=1")
    done = clean.files.upload(project, "project")
    assert (done.files, sorted(done.left)) == (["project/sub/data"], ["link: a symbolic link", "sub/.env: a secret"])
    clean.run("import os\nos.symlink('x', 'project/l'); os.mkfifo('project/p')")
    clean.files.write("project/z", "1")
    done = clean.files.download("project/", tmp_path / "other")
    assert len(done.files) == 2
    assert sorted(done.left) == ["project/l: a symbolic link", "project/p: not a regular file"]


def test_a_file_whose_name_is_masked_is_had_by_its_own_name(clean, tmp_path):
    class Named:
        """As the client of a named sandbox: names are masked on their way out, and not found when they come back."""

        def list_files(self, folder, *, recursive):
            return [self.stat_file(entry.name) for entry in clean.files.list(folder, recursive=recursive)]

        def stat_file(self, name):
            return dataclasses.replace(clean.files.stat(name), name=name.replace("hunter2", "[secret]"))

        def get_file(self, name, file):
            clean.files.read_into(name, file)

    clean.files.write("hunter2.txt", "1")
    clean.files.write("other.txt", "2")
    files = Files(Named())
    assert files.download("hunter2.txt", tmp_path / "a").files == [str(tmp_path / "a")]
    done = files.download("", tmp_path / "all")
    assert done.files == [str(tmp_path / "all/other.txt")]
    assert [line.partition(":")[0] for line in done.left] == ["[secret].txt"]
