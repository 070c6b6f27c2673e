"""The reader of actions in tags, as the prompt asks for them. One pass, linear in the length of the text.

A regular expression for a whole action would backtrack over megabytes of stray tags, and could not tell a tag of the
answer from a tag in a string of the code inside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TAG = re.compile(
    r"<(?P<close>/?)[ \t]{0,3}(?P<name>action|thought|type|content|think|thinking|reasoning)(?:\s[^<>]{0,200})?>"
    # A stop sequence or a hurried model leaves out the last bracket.
    r"|</(?P<half>action|thought|type|content)(?=\s|<|\Z)",
    re.IGNORECASE,
)
_THINKING = {"think", "thinking", "reasoning"}
_NAME = re.compile(r"[\s\"'`*]*[\w-][\w -]{0,40}[\s\"'`*]*")
"""The name in a `<type>` inside a content, if that `<type>` is to count as the start of an action."""


@dataclass(frozen=True, slots=True)
class Found:
    """An action as written in the text: raw and unchecked."""

    type: str
    content: str
    thought: str
    closed: bool
    """True if its content was closed; False if the text ended, or the next action began, inside it."""


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    closes: bool
    start: int
    end: int


@dataclass(slots=True)
class _Head:
    """The beginning of an action: `<type>…</type> <content>`."""

    before: int
    """The position from which its thought may begin: the end of the previous action."""
    type_start: int
    type: str
    start: int
    """The start of the content."""
    end: int = -1
    """The end of the content; -1 while it is open."""
    inline: bool = False
    """True if it stands inside an open content, in the middle of a line."""


def find_actions(text: str) -> list[Found]:
    """The actions in an answer, in order, without those in the model's private thinking."""
    tops: list[_Head] = []
    for head in _Reader(text).read():
        outer = tops[-1] if tops else None
        if outer is None or (outer.end < head.type_start and not (outer.end < 0 and head.inline)):
            tops.append(head)
        elif outer.end < 0:
            # A lone opening tag in a string of the code took the closing tag of the content around it.
            outer.end = head.end
    found: list[Found] = []
    floor = 0
    for head, following in itertools.zip_longest(tops, tops[1:]):
        floor = max(floor, head.before)
        # Prose between two actions is not the thought of the second: it may be a result that the model made up.
        thought = _thought(text[floor : head.start]) or ("" if found else prose(text[floor : head.type_start]))
        found.append(Found(head.type, _content(text, head, following), thought, head.end >= 0))
        floor = max(head.start, head.end)
    return found


def visible(text: str) -> str:
    """The text without the model's private thinking."""
    kept: list[str] = []
    position, thinking = 0, False
    for tag in _tags(text):
        if tag.name not in _THINKING:
            continue
        if tag.closes:
            if not thinking:
                # The chat template opened the thinking: the text holds its end alone.
                kept.clear()
            position, thinking = tag.end, False
        elif not thinking:
            kept.append(text[position : tag.start])
            thinking = True
    if not thinking:
        kept.append(text[position:])
    return "".join(kept).strip()


def prose(text: str) -> str:
    """The text without the tags and without the marks of code fences."""
    lines = _TAG.sub("", text).splitlines()
    return "\n".join(line for line in lines if not line.startswith("```")).strip()


def _tags(text: str) -> Iterator[_Tag]:
    for match in _TAG.finditer(text):
        half = match["half"]
        name = (half or match["name"]).lower()
        yield _Tag(name, bool(half or match["close"]), match.start(), match.end())


class _Reader:
    """The state of the single pass."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.heads: list[_Head] = []
        self.open: list[_Head] = []
        """Heads whose content is still open, the innermost last."""
        self.type_tag: _Tag | None = None
        self.type_end = 0
        """The end of the name in the last `<type>`; 0 until another tag follows it."""
        self.gap = 0
        """The start of the text between the last tag and a `<content>` to come."""
        self.before = 0
        self.last: _Head | None = None
        """The closed action that a further `</content>` belongs to: the earlier one was part of the code."""
        self.thinking = False

    def read(self) -> list[_Head]:
        for tag in _tags(self.text):
            if self.thinking:
                self._end_thinking(tag)
            elif tag.name in _THINKING:
                self._start_thinking(tag)
            elif tag.name == "content" and tag.closes:
                self._close_content(tag)
            elif tag.name == "content":
                self._open_content(tag)
            else:
                self._other(tag)
        return self.heads

    def _end_thinking(self, tag: _Tag) -> None:
        if tag.closes and tag.name in _THINKING:
            self.thinking, self.before = False, tag.end

    def _start_thinking(self, tag: _Tag) -> None:
        if self.open:
            return
        self.last = self.type_tag = None
        if tag.closes:
            # The chat template opened the thinking: all that was read so far belongs to it.
            self.heads.clear()
            self.before = tag.end
        else:
            self.thinking = True

    def _open_content(self, tag: _Tag) -> None:
        head = self._head(tag)
        if head:
            self.heads.append(head)
            self.open.append(head)
            self.last = None
        self.type_tag = None

    def _head(self, tag: _Tag) -> _Head | None:
        if self.type_tag is None:
            return None
        name = self.text[self.type_tag.end : self.type_end or tag.start]
        head = _Head(self.before, self.type_tag.start, name[:200], tag.end)
        if self.open:
            # Inside a content only the exact form counts; anything else is text of the code.
            if not self.type_end or self.text[self.gap : tag.start].strip() or not _NAME.fullmatch(name[:200]):
                return None
            line = self.text[max(0, head.type_start - 100) : head.type_start].rpartition("\n")[2].rstrip()
            head.inline = bool(line) and not line.endswith(">")
        return head

    def _close_content(self, tag: _Tag) -> None:
        self.type_tag = None
        head = self.open.pop() if self.open else self.last
        if head is None:
            return
        head.end = tag.start
        if not self.open:
            self.last, self.before = head, tag.end

    def _other(self, tag: _Tag) -> None:
        if not self.open:
            self.last = None
        if tag.name == "type" and not tag.closes:
            self.type_tag, self.type_end = tag, 0
        elif self.type_tag is not None:
            self.type_end, self.gap = self.type_end or tag.start, tag.end


def _content(text: str, head: _Head, following: _Head | None) -> str:
    if head.end >= 0:
        return text[head.start : head.end]
    if following:
        return text[head.start : following.type_start]
    # The end of the text closes it; cut the beginning of a `</content>` there.
    tail = text[head.start :].rstrip()
    start = tail.rfind("</", max(0, len(tail) - len("</content>")))
    half = tail[start:].replace(" ", "").lower() if start >= 0 else ""
    return tail[:start] if half and "</content>".startswith(half) else text[head.start :]


def _thought(before: str) -> str:
    """The content of the last `<thought>` in the text before a content."""
    start, end = -1, -1
    for tag in _tags(before):
        if tag.name == "thought" and not tag.closes:
            start, end = tag.end, -1
        elif start >= 0 and end < 0:
            end = tag.start
    return before[start : end if end >= 0 else None].strip() if start >= 0 else ""
