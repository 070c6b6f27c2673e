"""A map of a code base within a token budget: the most central files, and in each its most central definitions."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from codenav.core.blocks import BlockKind
from codenav.core.errors import NotFound
from codenav.core.protocols import Index
from codenav.core.system.stored import Document
from codenav.core.system.terminal_text import neutral, shortened
from codenav.core.usage import estimate_tokens
from codenav.navigation.centrality import Entry, File, rank, read_files

TOKENS = 1_024
"""Default budget; that of aider's repository map (`--map-tokens`)."""
MIN_TOKENS = 32
"""Least budget: the line that counts the files left out fits into it."""
WIDTH = 100
"""Characters shown of a signature, as in aider's map."""
_REST_BYTES = 80
"""Bytes kept free for the line that counts the files left out."""


@dataclass(frozen=True, slots=True)
class OutlinedFile(Document):
    """A file of an outline with the definitions that it shows, in order of the file."""

    file: File
    shown: Sequence[Entry]
    left_out: int
    """Definitions of the file that are not shown."""

    def to_dict(self) -> dict[str, Any]:
        """The file as JSON types."""
        return {
            "path": self.file.path,
            "source": self.file.source,
            "rank": round(self.file.rank, 6),
            "definitions": [entry.to_dict() for entry in self.shown],
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Outline(Document):
    """A map of a code base. `str()` of it is the map as text, of at most `tokens` tokens."""

    tokens: int
    """The budget."""
    files: Sequence[OutlinedFile] = ()
    """The most central first, tests and vendored code last."""
    files_left_out: int = 0
    definitions_left_out: int = 0
    """Definitions left out in all files, those that are shown included."""
    path: str = ""
    """The folder or file that the map is limited to."""
    text: str = field(default="", repr=False)

    stored: ClassVar[Sequence[str]] = (
        "path", "tokens", "used_tokens", "files", "files_left_out", "definitions_left_out", "text",
    )  # fmt: skip

    def __str__(self) -> str:
        return self.text

    @property
    def used_tokens(self) -> int:
        """The tokens of the text."""
        return estimate_tokens(self.text)


def outline(index: Index, *, tokens: int = TOKENS, path: str = "") -> Outline:
    """Make the map of an index, or of a folder or file in it; centrality is always computed over the whole index.

    Raises:
        NotFound: nothing in the index lies at `path`.
    """
    files = read_files(index.blocks())
    rank(files)
    kept = [file for file in files if not path or _lies_at(file, path)]
    if path and not kept:
        raise NotFound(f"nothing in the index lies at {path[:200]!r}", hint=_near_paths(files, path))
    # A file without definitions, such as one of constants, has no place on a map.
    shown = [file for file in kept if file.entries or file.sections]
    return _Plan(shown, tokens, several=len({file.source for file in shown}) > 1).outline(path)


def _lies_at(file: File, path: str) -> bool:
    wanted = path.replace("\\", "/").removeprefix("./").strip("/")
    return wanted in ("", ".") or f"/{wanted}/" in f"/{file.path}/"


def _near_paths(files: Sequence[File], path: str) -> str:
    known: dict[str, None] = {}
    for file in files:
        parts = file.path.split("/")
        known.update(("/".join(parts[:length]), None) for length in range(1, len(parts) + 1))
    near = difflib.get_close_matches(path.strip("/"), known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else "codenav outline SOURCE, without --path"


class _Plan:
    """A map in the making: definitions are added, the most central first, while their lines fit."""

    def __init__(self, files: Sequence[File], tokens: int, *, several: bool) -> None:
        self.files = sorted(files, key=lambda file: (file.aside, -file.rank, file.path))
        self.tokens = tokens
        self.several = several
        self.entries = [file.entries or file.sections for file in self.files]
        self.shown: dict[int, set[int]] = defaultdict(set)
        """Numbers of the entries shown, by number of the file."""
        self.classes = [
            {entry.qualname: at for at, entry in enumerate(entries) if entry.kind is BlockKind.CLASS}
            for entries in self.entries
        ]
        self.left = tokens * 4 - _REST_BYTES

    def outline(self, path: str) -> Outline:
        """Fill the budget and write the map."""
        for number, at in self._by_worth():
            cost = self._cost(number, at)
            if cost <= self.left:
                self.left -= cost
                self.shown[number].update(self._missing(number, at))
            elif self.left < 40:
                # The rest of the budget is not worth filling.
                break
        text = self._text()
        while estimate_tokens(text) > self.tokens and self.shown:
            self.shown.pop(max(self.shown))
            text = self._text()
        outlined = [
            OutlinedFile(
                self.files[number],
                [self.entries[number][at] for at in sorted(self.shown[number])],
                len(self.entries[number]) - len(self.shown[number]),
            )
            for number in sorted(self.shown)
        ]
        return Outline(
            self.tokens,
            outlined,
            len(self.files) - len(outlined),
            sum(map(len, self.entries)) - sum(len(file.shown) for file in outlined),
            path,
            text,
        )

    def _by_worth(self) -> list[tuple[int, int]]:
        """Numbers of file and entry, by rank; the second entry of a file counts half, the third a third, and so on.

        Otherwise one central file would take up the whole map.
        """
        order = [
            (file.aside, -entry.rank / (place + 1), number, place, at)
            for number, (file, entries) in enumerate(zip(self.files, self.entries, strict=True))
            for place, (at, entry) in enumerate(sorted(enumerate(entries), key=lambda item: (-item[1].rank, item[0])))
        ]
        return [(number, at) for _, _, number, _, at in sorted(order)]

    def _missing(self, number: int, at: int) -> list[int]:
        """The entry and its enclosing classes, if they are not shown yet."""
        parts = self.entries[number][at].qualname.split(".")
        around = [".".join(parts[:length]) for length in range(1, len(parts))]
        wanted = [*(self.classes[number][name] for name in around if name in self.classes[number]), at]
        return [item for item in wanted if item not in self.shown.get(number, ())]

    def _cost(self, number: int, at: int) -> int:
        """Bytes of the lines that the entry adds, with the one that counts those left out of its file."""
        cost = 0
        if number not in self.shown:
            cost += len(self._heading(number).encode()) + 1 + len(f"  … {len(self.entries[number])} more\n".encode())
        for item in self._missing(number, at):
            cost += len(self._line(number, self.entries[number][item]).encode()) + 1
        return cost

    def _heading(self, number: int) -> str:
        file = self.files[number]
        return neutral(f"{file.path}  ({file.source})" if self.several else file.path).replace("\n", "\\n")

    def _line(self, number: int, entry: Entry) -> str:
        signature = shortened(entry.signature or entry.name, WIDTH)
        return neutral("  " * (self._depth(number, entry) + 1) + signature).replace("\n", " ")

    def _depth(self, number: int, entry: Entry) -> int:
        parts = entry.qualname.split(".") if entry.kind is not BlockKind.DOCUMENT else []
        return sum(".".join(parts[:length]) in self.classes[number] for length in range(1, len(parts)))

    def _text(self) -> str:
        lines: list[str] = []
        for number, shown in sorted(self.shown.items()):
            entries = self.entries[number]
            lines += [self._heading(number), *(self._line(number, entries[at]) for at in sorted(shown))]
            if len(shown) < len(entries):
                lines.append(f"  … {len(entries) - len(shown)} more")
        files = len(self.files) - len(self.shown)
        hidden = sum(len(entries) for number, entries in enumerate(self.entries) if number not in self.shown)
        if files:
            lines.append(f"… {files} more file{'s' * (files != 1)} with {hidden} definition{'s' * (hidden != 1)}")
        return "\n".join(lines)
