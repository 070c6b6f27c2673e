"""Replays start from what was there when the session began, and leave live data alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import codenav
from codenav.core.execution import MIB, Mount, Resources

NOBODY = 65534
APPEND = "path = {path!r}\nlines = open(path).read().splitlines()\nopen(path, 'a').write(f'{{len(lines)}}\\n');"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder that the sandbox's user may write to."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "log.txt").write_text("a\nb\n")
    if os.geteuid() == 0:
        for path in (folder, folder / "log.txt"):
            os.chown(path, NOBODY, NOBODY)
    return folder


def played(
    data: Path, tmp_path: Path, sandbox: str, *actions: codenav.Action, **options: object
) -> codenav.EpisodeResult:
    library = tmp_path / "library"
    library.mkdir()
    (library / "area.py").write_text("def area(a, b):\n    return a * b\n")
    model = codenav.ScriptedModel([*actions, codenav.Done("Done.")])
    mounts = [Mount(data, writable=True)]
    return codenav.run("Append.", on=library, model=model, sandbox=sandbox, mount=mounts,
        checks_lint=False, checks_types=False,
                       **options)  # fmt: skip


def test_a_writable_mount_is_replayed_on_a_copy(data: Path, tmp_path: Path, codenav_home: Path) -> None:
    code = APPEND.format(path=str(data / "log.txt"))
    result = played(data, tmp_path, "bubblewrap", codenav.Code(code))
    assert result.summary.outcome == "reproduced"
    assert str(data / "log.txt") in result.summary.compared
    assert (data / "log.txt").read_text() == "a\nb\n2\n", "it was written once"
    assert not list(codenav_home.glob("episodes/*/replay-*")), "the copies of the replay are gone"


def test_what_the_session_left_in_a_mount_is_not_there_for_the_replay(
    data: Path, tmp_path: Path, codenav_home: Path
) -> None:
    leave = (
        f"total = 2 + len(open({str(data / 'log.txt')!r}).read())\nopen({str(data / 'sum')!r}, 'w').write(str(total));"
    )
    result = played(
        data,
        tmp_path,
        "bubblewrap",
        codenav.Code(leave),
        codenav.CodeSummary(f"total = int(open({str(data / 'sum')!r}).read())"),
    )
    assert "FileNotFoundError" in result.summary.reason


def test_a_mount_that_is_too_large_to_keep_is_told(data: Path, tmp_path: Path, codenav_home: Path) -> None:
    (data / "large").write_bytes(bytes(2 * MIB))
    code = APPEND.format(path=str(data / "log.txt"))
    result = played(data, tmp_path, "bubblewrap", codenav.Code(code), resources=Resources(work_bytes=MIB))
    assert result.summary.told.startswith(f"not run: it cannot be replayed: {data} can be written to, and it is larger")


def test_process_says_that_it_cannot_replay_a_writable_mount(data: Path, tmp_path: Path, codenav_home: Path) -> None:
    code = APPEND.format(path=str(data / "log.txt"))
    result = played(data, tmp_path, "process", codenav.Code(code))
    assert "process has no way to put a copy in its place" in result.summary.told
    assert (data / "log.txt").read_text() == "a\nb\n2\n", "it was written once"


def test_a_session_that_changes_its_folder_is_reproduced(tmp_path: Path, codenav_home: Path) -> None:
    (tmp_path / "area.py").write_text("def area(a, b):\n    return a * b\n")
    steps = [
        "import os\nos.makedirs('out'); os.chdir('out')",
        "open('n.txt', 'w').write('27');",
        "n = int(open('n.txt').read())\nprint(n)",
    ]
    for summary in ([], [codenav.CodeSummary("\n".join(steps))]):
        model = codenav.ScriptedModel([*map(codenav.Code, steps), *summary, codenav.Done("27")])
        result = codenav.run(
            "How many?",
            on=tmp_path / "area.py",
            model=model,
            sandbox="bubblewrap",
            checks_lint=False,
            checks_types=False,
        )
        assert result.summary.outcome == "reproduced", result.summary.told
        assert {"n", "out/n.txt", "the last output"} <= set(result.summary.compared)
