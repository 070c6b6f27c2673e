"""Patterns of ignore rules: what they match, and that no pattern takes for ever."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from codenav.indexers.ignore import translated

PATTERNS = {
    "a": (["a", "x/a", "x/y/a"], ["ab", "a/b", "x/ba"]),
    "a*c": (["ac", "abc", "x/abbc"], ["a", "a/c", "abcd"]),
    "*a*ab": (["aab", "xaxab", "aaab"], ["ab", "aba", "a/ab/b"]),
    "/a*b": (["ab", "aab"], ["x/ab", "a/b"]),
    "a/b": (["a/b"], ["x/a/b", "a/b/c"]),
    "a/*/b": (["a/x/b"], ["a/b", "a/x/y/b"]),
    "a/**": (["a/b", "a/b/c"], ["a", "x/a/b"]),
    "a/**/b": (["a/b", "a/x/b", "a/x/y/b"], ["ab", "x/a/b", "a/xb"]),
    "a/**/b/**/c": (["a/b/c", "a/b/b/c", "a/x/b/y/c"], ["a/c", "a/c/b"]),
    "a/**/*b*b/c": (["a/bb/c", "a/xb/xbxb/c"], ["a/b/c"]),
    "**/a/**": (["a/b", "x/a/b"], ["a", "x/a"]),
    "a**/b": (["a/b", "axx/b", "a/x/b", "ax/y/b"], ["b", "x/a/b"]),
    "a?b**/c": (["axb/c", "axbx/c"], ["axb/x/c", "axbx/y/c"]),
    "\\/*": ([], ["a", "a/b"]),
    "?": (["a", "x/y"], ["ab", "x/yz"]),
    "[!ab]": (["c", "-"], ["a"]),
    "a[!x]b": (["acb"], ["a/b", "axb"]),
    "[^]a-c]": (["d", "["], ["]", "b"]),
    "[z-a]": (["z"], ["a", "m"]),
    "[]-]": (["]", "-"], ["a"]),
    "[[:digit:]_]": (["7", "_"], ["a"]),
    r"\*\[\!": (["*[!"], ["a[!"]),
    "a.b(c)$": (["a.b(c)$"], ["axb(c)$"]),
}
"""Some paths that a pattern matches, and some that it does not."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_a_pattern_matches(pattern: str) -> None:
    regex, (fitting, others) = re.compile(translated(pattern)), PATTERNS[pattern]
    assert [path for path in [*fitting, *others] if regex.fullmatch(path)] == fitting


@pytest.mark.parametrize("pattern", ["", "[a", "[", "a\\", "[[:nothing:]]", "[a\\", "[!"])
def test_what_is_not_well_formed_matches_nothing(pattern: str) -> None:
    assert translated(pattern) == ""


HOSTILE = """
import sys
from codenav.core.blocks import FileSkip
from codenav.indexers.walk import walk
print([found.path[:9] for found in walk(sys.argv[1]) if not isinstance(found, FileSkip)])
"""


@pytest.mark.parametrize(
    "rule",
    [
        "*a*a*a*a*a*ab",
        "?*" * 100 + "b",
        "*a" * 100 + "b",
        "**/" + "a*" * 100 + "**/b",
        "**/a/" * 100 + "b",
        "**/*a*a*a*a/" * 50 + "b",
        "[!b]*" * 100 + "b",
        "a" + " " * 90_000 + "b",
    ],
)
def test_rules_that_backtracking_would_take_for_ever_on(tmp_path: Path, rule: str) -> None:
    folder = tmp_path / "tree" / "/".join(["a"] * 100)
    folder.mkdir(parents=True)
    (tmp_path / "tree" / ".gitignore").write_text(rule + "\n")
    (tmp_path / "tree" / ("a" * 200 + ".py")).touch()
    (folder / "aaaa.py").touch()
    # In a process of its own: a match that does not end cannot be interrupted.
    walked = subprocess.run(
        [sys.executable, "-c", HOSTILE, str(tmp_path / "tree")], capture_output=True, text=True, timeout=20
    )
    assert walked.stdout == "['aaaaaaaaa', 'a/a/a/a/a']\n", walked.stderr
