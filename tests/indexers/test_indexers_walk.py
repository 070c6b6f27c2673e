"""Which files are read: rules, links, special files, and what is told of those left out."""

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

from codenav.blocks import FileSkip
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


def test_a_stub_beside_its_module_is_not_read(tree: Tree) -> None:
    assert taken(tree({"a.py": "", "a.pyi": "", "b.pyi": ""})) == ["a.py", "b.pyi"]


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


def test_the_exclude_file_of_a_work_tree(tree: Tree, tmp_path: Path) -> None:
    root = tree({"a.py": "", "b.py": ""})
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "other")], check=True)
    (root / ".git" / "info" / "exclude").write_text("b.py\n")
    assert taken(tmp_path / "other") == ["a.py"]


@pytest.mark.parametrize("seed", range(15))
def test_the_rules_are_read_as_git_reads_them(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    rules = ["a", "b/", "*.py", "!c.py", "/a", "/b/", "a/*", "!a/c.py", "a/**", "**/b", "a/**/b", "*.md", "!*.md",
             "[ab]", "?", "!lib/", "lib", "/*", "a/b", "\\!x", "# c", "", "*/d.py", "!a/", "**", "!d.py", "a//",
             "[!a]*", "/**/a", "a/**/", "*.py ", "*\\ ", "a/*b*", "**/[[:alpha:]]/*.p[xy]", "*i*", "[a",
             "l*b/**"]  # fmt: skip
    folders = [""]
    for _ in range(8):
        folders.append(os.path.join(chance.choice(folders), chance.choice(["a", "b", "lib"])))
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name in chance.sample(["c.py", "d.py", "x.md", "a.py"], 3):
            (tmp_path / folder / name).write_text("")
    for folder in {"", *chance.sample(folders, 2)}:
        (tmp_path / folder / ".gitignore").write_text("\n".join(chance.choices(rules, k=3)) + "\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    listing = ["git", "-C", str(tmp_path), "ls-files", "-o", "--exclude-standard", "-z"]
    told = subprocess.run(listing, capture_output=True, text=True, check=True, env=environment).stdout
    assert set(taken(tmp_path)) == {path for path in told.split("\0") if path.endswith((".py", ".md"))}


def test_links(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("key = 1\n")
    root = tree({"pkg/a.py": "x = 1\n", ".gitignore": "hidden_link.py\n"})
    (root / "loop").symlink_to(".")
    (root / "pkg" / "up").symlink_to("..")
    (root / "same.py").symlink_to("pkg/a.py")
    (root / "out").symlink_to(tmp_path / "outside")
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
from codenav.blocks import FileSkip
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
