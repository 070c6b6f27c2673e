"""The files that are read: rules, links, special files, and the reasons of those left out."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from drawn import seeds
from indexers.git_trees import GitTrees, listed, shown_folder

from codenav.core.blocks import FileSkip
from codenav.indexers.walk import MAX_BYTES, Found, walk

Tree = Callable[[Mapping[str, str | bytes]], Path]


def taken(root: Path, **options: tuple[str, ...]) -> list[str]:
    return [found.path for found in walk(root, **options) if isinstance(found, Found)]


def skipped(root: Path) -> dict[str, str]:
    return {skip.path: skip.reason for skip in walk(root) if isinstance(skip, FileSkip)}


def test_files_of_the_types_that_are_indexed_in_order(tree: Tree) -> None:
    names = ["b.py", "a/x.pyi", "a/README.MD", "notes.rst", "c.markdown", "data.json", "Makefile", "x.pyc", "a/b/c.py"]
    root = tree(dict.fromkeys(names, "x = 1\n"))
    assert taken(root) == ["b.py", "c.markdown", "notes.rst", "a/README.MD", "a/x.pyi", "a/b/c.py"]
    assert skipped(root) == {}


def test_files_in_languages_that_are_not_read_are_counted_once_for_each_extension(tree: Tree) -> None:
    names = ["a.py", "x.lua", "lib/y.LUA", "App.kt", "logo.png", "data.json", "out/z.lua", "node_modules/w.lua"]
    root = tree({**dict.fromkeys(names, ""), ".gitignore": "out\n"})
    assert taken(root) == ["a.py"]
    assert skipped(root) == {"*.kt": "1 file, not read", "*.lua": "2 files, not read"}
    members = ("a.py", "x.lua", "logo.png")
    assert FileSkip("*.lua", "1 file, not read") in list(walk(root, members=members))


def test_a_stub_knows_the_module_beside_it(tree: Tree) -> None:
    root = tree({"a.py": "", "a.pyi": "", "b.pyi": "", "c.pyx": "", "c.pyi": "", "c.pxd": ""})
    assert taken(root) == ["a.py", "a.pyi", "b.pyi", "c.pyi", "c.pyx"]
    beside = {found.path: Path(found.beside).name for found in walk(root) if isinstance(found, Found) if found.beside}
    assert beside == {"a.pyi": "a.py", "c.pyi": "c.pyx"}


def test_what_is_never_walked(tree: Tree) -> None:
    root = tree(
        {
            ".git/hooks/x.py": "",
            "node_modules/a/index.md": "",
            "pkg/__pycache__/x.py": "",
            "venv/pyvenv.cfg": "",
            "venv/lib/x.py": "",
            "conda/conda-meta/history": "",
            "conda/lib/x.py": "",
            "build/lib/pkg/x.py": "",
            "deep/build/bdist.linux-x86_64/x.py": "",
            "tools/build/real.py": "",
            ".github/README.md": "",
        }
    )
    assert taken(root) == [".github/README.md", "tools/build/real.py"]
    assert skipped(root) == {}


def test_a_virtual_environment_that_is_named_itself_is_walked(tree: Tree) -> None:
    root = tree({"pyvenv.cfg": "", "lib/x.py": ""})
    assert taken(root) == ["lib/x.py"]


def test_ignore_rules_hold_without_a_repository(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "*.py\n!keep.py\n/docs/\n[unclosed\n\\\n",
            "keep.py": "",
            "drop.py": "",
            "docs/x.md": "",
            "sub/docs/x.md": "",
            "sub/.gitignore": "!*.py\nx.md\n",
            "sub/back.py": "",
            "sub/x.md": "",
        }
    )
    assert taken(root) == ["keep.py", "sub/back.py"]


def test_rules_above_the_source_hold_unless_they_hide_the_source_itself(tree: Tree) -> None:
    root = tree(
        {".gitignore": "*.md\nbuild/\n", "src/a.py": "", "src/a.md": "", "build/x/a.py": "", "build/x/a.md": ""}
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".git" / "info" / "exclude").write_text("secret.py\n")
    (root / "src" / "secret.py").write_text("")
    assert taken(root / "src") == ["a.py"]
    assert taken(root / "build" / "x") == ["a.md", "a.py"]


@pytest.fixture
def repository(tree: Tree) -> Path:
    """A work tree with `a.py` and `b.py` committed."""
    root = tree({"a.py": "", "b.py": ""})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    return root


def git(root: Path, *arguments: str | Path) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", str(root), *who, *map(str, arguments)], check=True)


def test_the_exclude_file_of_a_work_tree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", tmp_path / "other")
    (repository / ".git" / "info" / "exclude").write_text("b.py\nc.py\n")
    (tmp_path / "other" / "c.py").touch()
    assert taken(tmp_path / "other") == ["a.py", "b.py"]


TWICE = "another work tree of a repository in the source"


def test_a_work_tree_inside_the_tree_is_not_taken_twice(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", repository / "trees" / "other")
    assert (taken(repository), skipped(repository)) == (["a.py", "b.py"], {"trees/other": TWICE})
    inner = repository / "trees" / "other"
    assert (taken(inner), skipped(inner)) == (["a.py", "b.py"], {})
    # Beside it, its name first in order.
    git(repository, "worktree", "add", "-q", tmp_path / "all" / "a")
    repository.rename(tmp_path / "all" / "b")
    git(
        tmp_path / "all" / "b", "worktree", "repair", tmp_path / "all" / "a", tmp_path / "all" / "b" / "trees" / "other"
    )
    assert taken(tmp_path / "all") == ["b/a.py", "b/b.py"]
    assert skipped(tmp_path / "all") == {"a": TWICE, "b/trees/other": TWICE}


def test_of_the_work_trees_of_a_bare_repository_one_is_taken(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "all" / "bare"
    subprocess.run(["git", "clone", "-q", "--bare", str(repository), str(bare)], check=True)
    for name in ("one", "two"):
        git(bare, "worktree", "add", "-q", "-b", name, tmp_path / "all" / name)
    assert taken(tmp_path / "all") == ["one/a.py", "one/b.py"]
    assert skipped(tmp_path / "all") == {"two": TWICE}


def test_the_output_of_a_build_is_taken_if_it_is_tracked(repository: Path) -> None:
    for name in ("build/lib/c.py", "sub/build/lib/d.py"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).touch()
    git(repository, "add", "build")
    assert taken(repository) == ["a.py", "b.py", "build/lib/c.py"]


def test_of_a_commit_no_rule_hides_a_file(tree: Tree) -> None:
    root = tree(
        {".gitignore": "*.py\n/build\n", "a.py": "", "build/lib/b.py": "", "sub/.gitignore": "*", "sub/c.py": ""}
    )
    found = [found.path for found in walk(root, tracked=True) if isinstance(found, Found)]
    assert found == ["a.py", "build/lib/b.py", "sub/c.py"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda git: (git / "index").write_bytes(b"DIRC" + b"\xff" * 90),
        lambda git: (git / "index").write_bytes((git / "index").read_bytes()[:80]),
        lambda git: (git / "index").write_bytes(b""),
        lambda git: (git / "config").write_bytes(b'[core\n[core]\nexcludesfile\n= \\\n[a "b]'),
        lambda git: (git / "config").write_bytes(b"[core]\nexcludesfile = ~nobody-here/\xff\0\n"),
        lambda git: (git / "config").write_text("[include]\npath = config\n"),
        lambda git: (git / "HEAD").unlink(),
    ],
)
def test_a_repository_that_is_damaged_is_walked(repository: Path, spoil: Callable[[Path], object]) -> None:
    spoil(repository / ".git")
    (repository / "sub").mkdir()
    (repository / "sub" / ".git").write_bytes(b"gitdir: /nowhere/\xff\n")
    (repository / ".gitignore").write_text("x.py\n")
    (repository / "x.py").touch()
    assert taken(repository) == ["a.py", "b.py"]


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(12))
def test_the_files_are_those_that_git_lists(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name, path in {"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_SYSTEM": home / "system"}.items():
        monkeypatch.setenv(name, str(path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    chance = random.Random(seed)
    root = GitTrees(chance, home).written(tmp_path / "tree")
    assert set(taken(root)) == listed(root)
    folder = shown_folder(root, chance)
    assert set(taken(folder)) == listed(folder)


def test_links(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("key = 1\n")
    root = tree({"pkg/a.py": "x = 1\n", ".gitignore": "hidden_link.py\n"})
    (root / "loop").symlink_to(".")
    (root / "pkg" / "up").symlink_to("..")
    (root / "same.py").symlink_to("pkg/a.py")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "step.py").symlink_to("out/secret.py")
    (root / "above").symlink_to("..")
    (root / "out.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "hidden_link.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "broken.py").symlink_to("nowhere.py")
    (root / "self.py").symlink_to("self.py")
    (root / "broken.json").symlink_to("nowhere")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    assert taken(root) == ["pkg/a.py"]
    assert skipped(root) == {
        "out": "link that leads out of the source",
        "out.py": "link that leads out of the source",
        "step.py": "link that leads out of the source",
        "above": "link that leads out of the source",
        "broken.py": "broken link",
        "self.py": "link that leads to itself",
        "ping": "link that leads to itself",
        "pong": "link that leads to itself",
    }


def test_a_source_that_is_itself_a_link(tree: Tree, tmp_path: Path) -> None:
    root = tree({"a.py": ""})
    (root / "b.py").symlink_to("a.py")
    (tmp_path / "alias").symlink_to(root)
    assert taken(tmp_path / "alias") == ["a.py"]
    assert skipped(tmp_path / "alias") == {}


def test_special_and_large_files_are_named_and_not_opened(tree: Tree) -> None:
    root = tree({"good.py": "", "large.py": b"#" * (MAX_BYTES + 1), "just.py": b"#" * MAX_BYTES})
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket.md"))
        assert taken(root) == ["good.py", "just.py"]
        assert skipped(root) == {
            "large.py": "larger than 1 MB",
            "pipe.py": "not a regular file",
            "socket.md": "not a regular file",
        }


def test_names_that_are_no_text(tree: Tree) -> None:
    root = tree({"good.py": "", "zeile\n.py": ""})
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.py")).write_text("")
    assert taken(root) == ["good.py", "zeile\n.py"]
    assert skipped(root) == {"caf?.py": "name is not UTF-8"}


def test_a_deep_tree(tree: Tree) -> None:
    root = tree({})
    folder = os.open(root, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    (root / "top.py").write_text("")
    assert taken(root) == ["top.py"]
    subprocess.run(["rm", "-rf", str(root)], check=True)


def test_members_are_taken_whatever_the_rules_say(tree: Tree) -> None:
    root = tree({".gitignore": "*", "pkg/a.py": "", "pkg/data.bin": "", "other/b.py": "", "one.py": ""})
    (root / "linked.py").symlink_to("one.py")
    members = ("pkg/a.py", "pkg/data.bin", "one.py", "linked.py", "gone.py")
    assert taken(root, members=members) == ["pkg/a.py", "one.py", "linked.py"]
    gone = [skip for skip in walk(root, members=members) if isinstance(skip, FileSkip)]
    assert gone == [FileSkip("gone.py", "no such file or directory")]
    (root / ".gitignore").unlink()
    assert taken(root, members=("pkg", "one.py")) == ["pkg/a.py", "one.py"]


UNREADABLE = """
import os, sys
from codenav.core.blocks import FileSkip
from codenav.indexers.read import Place, Task, read
from codenav.indexers.walk import walk
root = sys.argv[1]
warm = [read(Task(found, Place("s", ""))) for found in walk(root) if not isinstance(found, FileSkip)]
os.seteuid(65534) if os.geteuid() == 0 else None
for found in walk(root):
    if isinstance(found, FileSkip):
        print(found.path, found.reason)
    else:
        print(found.path, read(Task(found, Place("s", found.path))).reason or "read")
"""


def test_unreadable_files_and_folders_are_named() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        root.chmod(0o755)
        (root / "closed").mkdir(mode=0)
        (root / "locked.py").touch(mode=0)
        (root / "open.py").write_text("x = 1")
        done = subprocess.run([sys.executable, "-c", UNREADABLE, temporary], capture_output=True, text=True)
        (root / "closed").chmod(0o755)
    assert done.stdout.splitlines() == ["locked.py permission denied", "open.py read", "closed permission denied"]
    assert done.stderr == ""
