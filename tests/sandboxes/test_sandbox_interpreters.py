"""Interpreters in a home folder: they run in bubblewrap, and nothing else of the home folder is shown."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import Outcome
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.sandboxes import code_copy
from codenav.sandboxes.interpreter_binds import InterpreterBinds, followed

VERSION = "python{}.{}".format(*sys.version_info[:2])
CANARY = "c4nary-of-the-home"
_NOT_NEEDED = ("test", "idlelib", "lib2to3", "tkinter", "turtledemo", "site-packages", "__pycache__", "config-*")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """An interpreter of its own, as small as it works."""
    base, place = Path(sys.base_prefix), tmp_path_factory.mktemp("installed") / "python"
    (place / "bin").mkdir(parents=True)
    shutil.copy(os.path.realpath(sys.executable), place / "bin" / VERSION)
    ignored = shutil.ignore_patterns(*_NOT_NEEDED)
    shutil.copytree(base / "lib" / VERSION, place / "lib" / VERSION, ignore=ignored, symlinks=True)
    (place / "lib" / VERSION / "site-packages").mkdir()
    for library in glob.glob(f"{base}/lib/libpython*.so*"):
        shutil.copy(library, place / "lib", follow_symlinks=False)
    (place / "bin" / "python3").symlink_to(VERSION)
    return place


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with something private in it."""
    folder = tmp_path / "home" / "me"
    for name in (
        "notes.txt",
        ".local/share/mail",
        ".local/bin/note",
        ".ssh/id_rsa",
        "bin/tool",
        "lib/private",
        "x/.env",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CANARY)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def moved(installation, place):
    """The installation at another place, by hard links."""
    shutil.copytree(installation, place, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
    return place


def a_link_in_bin(home, installation):
    (home / "bin" / "python3").symlink_to(installation / "bin" / "python3")
    return home / "bin" / "python3"


def a_link_in_local_bin(home, installation):
    place = moved(installation, home / ".local/share/uv/python/cpython-3")
    (home / ".local/share/uv/python/cpython").symlink_to("cpython-3")
    (home / ".local/bin/python3").symlink_to("../share/uv/python/cpython/bin/python3")
    assert place.exists()
    return home / ".local/bin/python3"


def an_environment_of_a_link(home, installation):
    link = a_link_in_bin(home, installation)
    subprocess.run([link, "-m", "venv", "--without-pip", home / "work" / "venv"], check=True)
    return home / "work" / "venv" / "bin" / "python"


def an_environment_of_uv(home, installation):
    link = a_link_in_local_bin(home, installation)
    subprocess.run([link, "-m", "venv", "--without-pip", home / "project" / ".venv"], check=True)
    return home / "project" / ".venv" / "bin" / "python"


def an_environment_among_other_things(home, installation):
    (home / "project").mkdir()
    (home / "project" / ".env").write_text(CANARY)
    (home / "project" / "notes").write_text(CANARY)
    subprocess.run([installation / "bin/python3", "-m", "venv", "--without-pip", home / "project"], check=True)
    return home / "project" / "bin" / "python"


def an_environment_called_env(home, installation):
    subprocess.run([installation / "bin/python3", "-m", "venv", "--without-pip", home / "project" / ".env"], check=True)
    return home / "project" / ".env" / "bin" / "python"


def a_version_of_pyenv(home, installation):
    return moved(installation, home / ".pyenv/versions/3.11.9") / "bin" / "python3"


def an_environment_of_conda(home, installation):
    place = moved(installation, home / "miniconda3/envs/x")
    (place / "conda-meta").mkdir()
    (place / "qt.conf").write_text("")
    (place / ".env").write_text(CANARY)
    return place / "bin" / "python3"


def built_with_the_home_as_prefix(home, installation):
    moved(installation, home)
    return home / "bin" / "python3"


def built_with_local_as_prefix(home, installation):
    moved(installation, home / ".local")
    return home / ".local" / "bin" / "python3"


LAYOUTS = [
    a_link_in_bin, a_link_in_local_bin, an_environment_of_a_link, an_environment_of_uv, an_environment_called_env,
    an_environment_among_other_things, a_version_of_pyenv, an_environment_of_conda, built_with_the_home_as_prefix,
    built_with_local_as_prefix,
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_interpreter_in_the_home_folder_runs_and_shows_nothing_else_of_it(contained, home, installation, layout):
    python = find_interpreter(layout(home, installation))
    box = contained(python=python)
    done = box.run("import json, ctypes, sys, subprocess\nsys.version_info[:2]")
    assert (done.outcome, done.stdout) == (Outcome.OK, f"{sys.version_info[:2]}\n"), done.error
    found = box.run(f"""
import os
seen = []
for here, _, names in os.walk({str(home)!r}):
    for name in names:
        try: text = open(os.path.join(here, name), errors="replace").read()
        except OSError: continue
        if {CANARY!r} in text: seen.append(os.path.join(here, name))
print(seen)
code = "import sys; print(sys.prefix)"
print(subprocess.run([{str(python.executable)!r}, "-c", code], capture_output=True, text=True))
""")
    seen, child = found.stdout.splitlines()
    assert seen == "[]"
    assert repr(f"{python.prefix}\n") in child


def test_another_interpreter_at_the_same_place_is_asked_anew(home, installation):
    link = a_link_in_bin(home, installation)
    assert find_interpreter(link).prefix == installation
    link.unlink()
    assert built_with_the_home_as_prefix(home, installation) == link
    assert find_interpreter(link).prefix == home


def test_what_a_pth_file_names_is_a_copy_or_left_out(contained, home, installation):
    executable = an_environment_of_a_link(home, installation)
    project = home / "project"
    project.mkdir()
    (project / "mine.py").write_text("X = 5\n")
    (project / ".env").write_text(CANARY)
    packages = home / "work/venv/lib" / VERSION / "site-packages"
    (packages / "everything.pth").write_text(f"{home}\n{home / '.ssh'}\n{project}\n{home.parent}\n/\n")
    box = contained(python=find_interpreter(executable))
    assert box.run("import mine\nmine.X").stdout == "5\n"
    listed = box.run(f"import os\nprint(sorted(os.listdir({str(home)!r})), os.listdir({str(project)!r}))")
    assert listed.stdout == "['bin', 'project', 'work'] ['mine.py']\n"
    assert f"{home} is on the path of {executable}, and is not bound" in box.info.notice
    assert f"{home / '.ssh'} is on the path" in box.info.notice


def test_a_project_on_the_path_that_is_too_large_for_a_copy_is_left_out(contained, home, installation, monkeypatch):
    executable = an_environment_of_a_link(home, installation)
    project = home / "project"
    project.mkdir()
    (project / "mine.py").write_text("X = 'larger than a copy should be'\n")
    (home / "work/venv/lib" / VERSION / "site-packages" / "project.pth").write_text(f"{project}\n")
    monkeypatch.setattr(code_copy, "MOST_BYTES", 10)
    box = contained(python=find_interpreter(executable))
    assert box.run("1").stdout == "1\n"
    assert "most of it in mine.py: it is on the interpreter's path, and is not bound" in box.info.notice
    with pytest.raises(UsageError, match="holds more than"):
        contained(python=find_interpreter(executable), import_paths=[project])


def test_an_interpreter_that_needs_what_is_never_bound_is_refused(home):
    (home / "os.py").write_text("")
    (home / "bin" / "python3").write_text("")
    odd = Interpreter(home / "bin/python3", "3.11.7", prefix=home, base_prefix=home, paths=(home,))
    with pytest.raises(UsageError, match="standard library of") as caught:
        InterpreterBinds.of(odd)
    assert "--python" in caught.value.hint


def test_links_are_followed_through_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to(f"{tmp_path}/b/../a/file")
    (tmp_path / "round").symlink_to("round")
    assert followed(f"{tmp_path}/b/file") == ([(f"{tmp_path}/b", "a")], f"{tmp_path}/a/file")
    links, end = followed(f"{tmp_path}/c")
    assert (end, len(links)) == (f"{tmp_path}/a/file", 2)
    assert len(followed(f"{tmp_path}/round")[0]) == 40


def test_a_relative_path_to_a_virtual_environment_becomes_absolute_and_keeps_its_last_link(tmp_path, monkeypatch):
    for folder in ("sub", "elsewhere/deep"):
        (tmp_path / folder).mkdir(parents=True)
    for place in (tmp_path / "venv", tmp_path / "elsewhere" / "venv"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    (tmp_path / "sub" / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    monkeypatch.chdir(tmp_path / "sub")
    for named, place in (
        ("../venv/bin/python", "venv"),
        ("../venv", "venv"),
        ("../sub/../venv/bin/../bin/python", "venv"),
        ("link/../venv/bin/python", "elsewhere/venv"),
        ("link/../venv", "elsewhere/venv"),
    ):
        found = find_interpreter(named)
        assert (found.executable, found.prefix) == (tmp_path / place / "bin" / "python", tmp_path / place), named
    monkeypatch.setenv("VIRTUAL_ENV", "../venv")
    assert find_interpreter().executable == tmp_path / "venv" / "bin" / "python"
