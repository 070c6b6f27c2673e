"""A CODENAV_HOME that cannot be used: one right line from every command, and a row of `doctor`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Ran, codenav

from codenav.core.config import SETTINGS
from codenav.core.options import FORMER

COMMANDS = [
    ["index", "code"],
    ["search", "one", "--on", "code"],
    ["run", "One?", "--on", "code", "-q", "--model", "any", "--base-url", "http://127.0.0.1:9/v1"],
    ["episodes", "list"],
    ["episodes", "show", "last"],
    ["sources", "list"],
    ["sandbox", "start", "--name", "lab"],
]
WRITING = [command for command in COMMANDS if command[0] in ("index", "search", "run", "sandbox")]
BAD = {
    "file": (lambda home: home.write_text(""), "is a file, not a folder"),
    "below a file": (lambda home: home.parent.write_text(""), "cannot be read: Not a directory"),
    "unreadable": (lambda home: home.mkdir(mode=0), "cannot be read: Permission denied"),
    "a link to nothing": (lambda home: home.symlink_to("nowhere"), "is a link that leads nowhere"),
}
ELSEWHERE = "Try: point CODENAV_HOME at a folder that you may read and write"


@pytest.fixture
def home(codenav_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "homes").mkdir()
    place = tmp_path / "homes" / "home"
    monkeypatch.setenv("CODENAV_HOME", str(place))
    yield place
    if place.is_dir():
        place.chmod(0o700)


def without_root(*arguments: str) -> Ran:
    """As `codenav`, but permissions hold: root is not let through by them."""
    command = [sys.executable, "-m", "codenav", *arguments]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize("kind", BAD)
def test_one_right_line_for_every_command(home: Path, kind: str) -> None:
    make, trouble = BAD[kind]
    if kind == "below a file":
        home.parent.rmdir()
    make(home)
    for command in COMMANDS:
        ran = without_root(*command)
        expected = f"Error: CODENAV_HOME={home} {trouble}\n{ELSEWHERE}\n"
        assert (ran.code, ran.out, ran.err) == (4, "", expected), command


@pytest.mark.parametrize("kind", BAD)
def test_doctor_says_it_once_as_configuration_and_once_as_disk(home: Path, kind: str) -> None:
    make, trouble = BAD[kind]
    if kind == "below a file":
        home.parent.rmdir()
    make(home)
    ran = without_root("doctor", "--json")
    assert ran.code == 4, ran.err
    rows = {row["name"]: row["detail"] for row in ran.document if trouble in row["detail"]}
    assert list(rows) == ["configuration", "disk"]


@pytest.mark.parametrize("place", ["itself", "its parent"])
def test_where_nothing_can_be_written_room_is_not_the_advice(home: Path, place: str) -> None:
    if place == "itself":
        home.mkdir(mode=0o555)
    else:
        home.parent.chmod(0o555)
    try:
        for command in WRITING:
            ran = without_root(*command)
            assert ran.code == 4 and "Permission denied" in ran.err and ran.err.endswith(f"{ELSEWHERE}\n"), ran.err
            assert ran.err.count("\n") == 2, ran.err
        row = next(row for row in without_root("doctor", "--json").document if row["name"] == "disk")
        assert (row["ok"], f"Try: {row['hint']}") == (False, ELSEWHERE)
        assert without_root("episodes", "list").code == 0
    finally:
        home.parent.chmod(0o755)


def test_what_was_indexed_answers_from_a_folder_that_cannot_be_written(home: Path) -> None:
    assert codenav("index", "code").code == 0
    home.chmod(0o555)
    assert "one.py" in without_root("search", "one", "--on", "code").out
    ran = without_root(*COMMANDS[2])
    assert (ran.code, ran.err) == (
        4,
        f"Error: cannot make a folder in {home}/episodes: Permission denied\n{ELSEWHERE}\n",
    )


@pytest.fixture(params=["variable", "file"])
def configured(
    request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], str]:
    """Sets a key to a value; where that is, as an error names it."""

    def configure(key: str, value: str) -> str:
        if request.param == "variable":
            monkeypatch.setenv(f"CODENAV_{key.upper()}", value)
            return f"CODENAV_{key.upper()}"
        home.mkdir()
        (home / "config.toml").write_text(f"{key} = {value}\n")
        return str(home / "config.toml")

    return configure


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("code_timeout", "-1", "must be above 0 and at most 86400 seconds: -1"),
        ("code_timeout", "nan", "must be above 0 and at most 86400 seconds: nan"),
        ("cpus", "0", "must be above 0: 0"),
        ("pids", "0", "must be at least 1: 0"),
        ("pids", "1.5", "is not a whole number: "),
        ("max_steps", "-3", "must be 0 (no limit) or above: -3"),
        ("max_seconds", "inf", "must be 0 (no limit) or above and at most 86400 seconds: inf"),
        ("limit_tokens", "-1", "must be 0 (no limit) or above: -1"),
        ("elasticsearch_shards", "0", "must be at least 1 and at most 64: 0"),
        ("elasticsearch_replicas", "-1", "must be at least 0 and at most 20: -1"),
        ("vectors", "2", "is not true or false: "),
    ],
)
def test_each_number_and_flag_of_the_configuration_has_its_range(
    configured: Callable[[str, str], str], key: str, value: str, said: str
) -> None:
    where = configured(key, value)
    ran = codenav("search", "one", "--on", "code")
    assert (ran.code, ran.out) == (2, ""), ran.err
    key = SETTINGS[FORMER.get(key, key)].key
    assert ran.err.startswith(f"Error: {key} in {where} {said}") and ran.err.count("\n") == 2, ran.err
    assert "\nTry: " in ran.err and key in ran.err.splitlines()[1].lower()
