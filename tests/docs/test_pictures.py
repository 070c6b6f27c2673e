"""The script that makes README's picture: a real run, what a terminal shows in the end, no address of a server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from command_line import ROOT

REQUEST = "What is 6 times 7?"
SCRIPT = """
<action><type>code</type><content>print(6 * 7)</content></action>
<action><type>done</type><content>It is 42.</content></action>
"""


def make(*arguments: str | Path, given: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "docs" / "pictures" / "make.py", *arguments]
    return subprocess.run(command, input=given, cwd=cwd, capture_output=True, text=True)


def lines(picture: Path) -> list[str]:
    """What stands in it, line by line; fails where it is not well-formed, or names a server."""
    text = picture.read_text(encoding="utf-8")
    addresses = re.findall(r"\w+://[^\s\"')]+", text)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}, addresses
    assert all(place.startswith("#") for place in re.findall(r"url\(\s*[\"']?(.)", text))
    found: dict[float, list[tuple[float, str]]] = {}
    for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text"):
        place = float(element.get("x", 0)), (element.text or "").replace("\xa0", " ")
        found.setdefault(float(element.get("y", 0)), []).append(place)
    return ["".join(part for _, part in sorted(found[height])).rstrip() for height in sorted(found)]


def test_a_picture_of_a_real_run_holds_request_and_answer(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "script").write_text(SCRIPT)
    run = ("codenav", "run", REQUEST, "--on", "code", "--model", "scripted:script")
    made = make("run.svg", "--", *run, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    shown = [line for line in lines(tmp_path / "run.svg") if line]
    assert shown[0] == f'$ codenav run "{REQUEST}" --on code --model scripted:script'
    assert shown.index("It is 42.") < next(
        at for at, line in enumerate(shown) if line.startswith("summary: reproduced")
    )
    assert any(line.startswith("Record: ") for line in shown)


def test_only_what_stands_there_in_the_end_is_in_the_picture(tmp_path: Path) -> None:
    moved = "waiting 1 s\rwaiting 2 s\x1b[2K\r\x1b[1mfirst\x1b[0m\nbar\n\x1b[1A\x1b[Ksecond & <third>\x1b[?25h\n"
    made = make(tmp_path / "run.svg", "--title", "typed", "--width", "40", given=moved + "x" * 50)
    assert made.returncode == 0, made.stderr
    shown = [line for line in lines(tmp_path / "run.svg") if line]
    assert shown == ["$ typed", "first", "second & <third>", "x" * 40, "x" * 10]


def test_a_command_that_fails_makes_no_picture(tmp_path: Path) -> None:
    made = make(tmp_path / "run.svg", "--", "codenav", "episodes", "show", "nothing")
    assert made.returncode == 1 and "the command ended with 2" in made.stderr
    assert not (tmp_path / "run.svg").exists()


def test_the_picture_of_readme_shows_a_run_to_its_end() -> None:
    text = "\n".join(lines(ROOT / "docs" / "pictures" / "run.svg"))
    assert "Which node of the karate club graph has the highest betweenness?" in text
    assert "summary: reproduced" in text
