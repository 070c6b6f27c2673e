"""Picture (SVG) of the output of a command on a terminal. The picture in the README:

    .venv/bin/python docs/pictures/make.py docs/pictures/run.svg -- \
        codenav run "Which node of the karate club graph has the highest betweenness?" --on pkg:networkx

Any other command serves, `codenav episodes show last` for instance. What was captured elsewhere, with its colours, is
read from stdin: `make.py run.svg --title 'codenav run …' < captured.txt`.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

ROWS = 1000
"""Lines of the terminal: more than any output that is pictured, so that nothing scrolls."""

_TOKEN = re.compile(
    r"\x1b\[(?P<numbers>[0-9;?]*)(?P<act>[A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|(?P<char>.)",
    re.DOTALL,
)
_FETCHED = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
"""Fonts of rich's pictures, which come from a server; a picture must not load anything."""


def main() -> None:
    """Run the command, or read stdin, and write the picture."""
    parser = argparse.ArgumentParser(description="A picture of what a command prints on a terminal.")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=100, help="Columns of the terminal. [default: 100]")
    parser.add_argument("--title", default="", help="What was typed, where the output comes from stdin.")
    parser.add_argument("command", nargs="*", help="Behind --.")
    given = parser.parse_args()
    output = run(given.command, given.width) if given.command else sys.stdin.read()
    typed = given.title or " ".join(map(quoted, given.command))
    given.picture.write_text(picture(typed, output, given.width), encoding="utf-8")


def run(command: list[str], width: int) -> str:
    """The output of a command, both streams, on a terminal of its own. A command that fails ends the script."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, width, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables |= {"TERM": "xterm-256color", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, close_fds=True)
    os.close(theirs)
    read = bytearray()
    # A terminal whose other end is closed answers with an error, not with an end.
    while data := _read(ours):
        read += data
    if process.wait():
        shown = [Text.from_ansi(line).plain for line in screen(read.decode(errors="replace"), width)[-10:]]
        sys.exit("\n".join([f"the command ended with {process.returncode}:", *shown]))
    return read.decode(errors="replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def picture(typed: str, output: str, width: int) -> str:
    """The SVG of a terminal in which `typed` was typed and gave `output`."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text(f"$ {typed}", style="bold"))
    for line in screen(output, width):
        console.print(Text.from_ansi(line, no_wrap=True, overflow="ignore"), soft_wrap=True)
    drawn = console.export_svg(title="", unique_id="terminal")
    return _FETCHED.sub("", drawn).replace("<style>", f"<title>{escape(typed)}</title>\n    <style>", 1)


def screen(output: str, width: int) -> list[str]:
    """The lines that stand on the terminal at the end, with their colours: overwritten text is gone."""
    rows: list[list[tuple[str, str]]] = [[]]
    row = column = 0
    style = ""
    for token in _TOKEN.finditer(output):
        char, act = token["char"], token["act"]
        number = int(token["numbers"]) if (token["numbers"] or "").isdigit() else 0
        if char == "\n":
            row, column = row + 1, 0
        elif char == "\r":
            column = 0
        elif char and char.isprintable():
            if column + cell_len(char) > width:
                row, column = row + 1, 0
            rows += [[] for _ in range(row + 1 - len(rows))]
            line = rows[row]
            line += [("", " ")] * (column - len(line))
            line[column : column + cell_len(char)] = [(style, char), (style, "")][: cell_len(char)]
            column += cell_len(char)
        elif act == "m":
            style = "" if token["numbers"] in ("", "0") else style + token[0]
        elif act in ("A", "B"):
            row = max(0, row + (number or 1) * (1 if act == "B" else -1))
        elif act in ("C", "D"):
            column = max(0, column + (number or 1) * (1 if act == "C" else -1))
        elif act == "G":
            column = max(0, number - 1)
        elif act == "K" and row < len(rows):
            rows[row][0 if number == 2 else column :] = []
        elif act == "J":
            rows[row:] = [rows[row][:column]] if row < len(rows) and number == 0 else []
    lines = [_coloured(line) for line in rows]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _coloured(line: list[tuple[str, str]]) -> str:
    runs = [(style, "".join(char for _, char in cells)) for style, cells in groupby(line, key=itemgetter(0))]
    return "".join(f"{style}{text}\x1b[0m" if style else text for style, text in runs).rstrip()


def quoted(word: str) -> str:
    """A word of a command as people write it."""
    return f'"{word}"' if " " in word and not set(word) & set('"$`\\!') else shlex.quote(word)


if __name__ == "__main__":
    main()
