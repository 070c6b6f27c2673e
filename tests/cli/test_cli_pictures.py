"""Pictures of a run on terminals that can show them."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest
from pseudo_terminal import on_terminal

from codenav.cli.pictures import escapes

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KITTY, ITERM = {"TERM": "xterm-kitty"}, {"TERM_PROGRAM": "iTerm.app"}


@pytest.mark.parametrize(
    ("data", "terminal"),
    [(PNG, {}), (PNG, {"TERM": "xterm-256color"}), (b"<svg/>", KITTY), (b"\xff\xd8\xff", KITTY), (b"", ITERM)],
)
def test_what_cannot_be_shown_is_not_sent(data: bytes, terminal: dict[str, str]) -> None:
    assert escapes(data, terminal) == ""


def test_a_large_picture_goes_to_kitty_in_pieces_that_join() -> None:
    large = PNG + os.urandom(10_000)
    pieces = re.findall(r"\x1b_G(a=T,f=100,)?m=([01]);([\w+/=]*)\x1b\\", escapes(large, KITTY))
    assert [bool(begin) for begin, _, _ in pieces] == [True] + [False] * (len(pieces) - 1)
    assert [more for _, more, _ in pieces] == ["1"] * (len(pieces) - 1) + ["0"]
    assert base64.b64decode("".join(text for *_, text in pieces)) == large


def test_iterm_gets_a_picture_whole() -> None:
    assert escapes(PNG, ITERM) == f"\x1b]1337;File=inline=1;size={len(PNG)}:{base64.b64encode(PNG).decode()}\x07"


@pytest.mark.parametrize(("env", "shows"), [({"TERM": "xterm-kitty"}, True), ({}, False)])
def test_a_run_shows_its_pictures(tmp_path: Path, env: dict[str, str], shows: bool) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "empty.py").write_text('"""Nothing."""\n')
    script = tmp_path / "script.actions"
    code = f"import base64\nopen('dot.png', 'wb').write(base64.b64decode({base64.b64encode(PNG).decode()!r}))"
    script.write_text(
        f"<action><type>code</type><content>\n{code}\n</content></action>\n"
        "<action><type>done</type><content>\nA dot.\n</content></action>\n"
    )
    run = ("run", "Draw.", "--on", tmp_path / "lib", "--model", f"scripted:{script}", "--work-dir", tmp_path / "work")
    code, seen = on_terminal(*run, "--set=checks.types=no", answers={}, env=env)
    assert code == 0 and "dot.png" in seen, seen
    assert ("\x1b_Ga=T,f=100" in seen) is shows
