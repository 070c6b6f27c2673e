"""Python source scanned with regular expressions, without a syntax tree.

Strings and comments are blanked out first. In the rest, a statement begins only at the beginning of a line, so each
definition is found by its keyword and its extent by indentation. It takes a tenth of the time of a syntax tree, and
what is wrong within a statement does not matter.
"""

from __future__ import annotations

import keyword
import re
from bisect import bisect_right
from collections.abc import Iterator
from inspect import cleandoc

from codenav.indexers.draft import NAME_LENGTH, Calls
from codenav.indexers.python_text import STRING, expressions, literal_text

_TOKEN = re.compile(
    r"""\#[^\n]*+
    |\\\n
    |\"\"\"[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+\"\"\"
    |'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''
    |(?P<open>\"\"\"|''')
    |"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"
    |'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'
    |(?P<half>["'][^\n]*+)
    """,
    re.DOTALL | re.VERBOSE,
)
_FORM_FEEDS = re.compile(r"(?:\A|\n)\f+")
_BLANKS = str.maketrans(dict.fromkeys("\t\f\v\\", " "))
_DEFINITION = re.compile(r"def +([^\W\d]\w*)")
_CLASS = re.compile(r"class +([^\W\d]\w*)")
_COLUMN_0 = re.compile(r"\n(?=[^ \n])")
_INDENTED = re.compile(r"\n +(?=[^ \n)\]}])")
_PLAIN_HEADER = re.compile(r"[^()\[\]{}:\n]*(?:\([^()\[\]{}]*\)[^()\[\]{}:\n]*)?:")
_MARK = re.compile(r"[()\[\]{}]|:=?|[<>=!]?==?|\blambda\b")
_LINE_END = re.compile(r"[^\n]*")
_STRING = re.compile(rf"[ \n]*([A-Za-z]{{0,2}}{STRING}[A-Za-z {STRING}]*)(?=\n|\Z)")
_CALL_REVERSED = re.compile(r"\(([ \n]*[\w.]+)([ \n]+\.[\w.]*)?")
"""A name before a bracket, and what ends in a dot before it: `a. b(`."""
_CHAIN_REVERSED = re.compile(r"[ \n]+([\w.]+)")
_FORMATTED = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
"""The prefix of a string that contains expressions: PEP 498 and 750."""
_IF = re.compile(r"( *)if\b")
_CASE = re.compile(r"\n +(?P<word>case|match)\b(?! *[.=,)])")
_CONFLICT = re.compile(r"(?:<<<<<<<|=======|>>>>>>>)[^\n]*")
_BEGINS = re.compile(r"(?:async +)?def +\w|class +\w+ *[:(]")
"""The beginnings of lines that no bracket can hold."""
_LINES = 20
"""The most lines above the name in a condition where its `if` may be."""
_PATTERN = 500
"""Characters of the longest pattern of a `case`."""
_VALUES = ("None", "True", "False")
_NOT_AT_IMPORT = ("__name__", "TYPE_CHECKING")
"""Names whose presence in the condition of an `if` means that its definitions cannot be imported."""


class Irregular(Exception):
    """Raised for source with brackets or strings that stay open."""


class Scan:
    """The source of one file, scanned. `text` has `\\n` line ends and no tabs that indent.

    Raises:
        Irregular: a bracket or a string stays open, if `strict`.
    """

    def __init__(self, text: str, *, strict: bool = True) -> None:
        self.text = text
        self._strict = strict
        self._formatted: list[tuple[int, str]] = []
        masked = _TOKEN.sub(self._blank, text.replace(STRING, " "))
        if not masked.isascii() or "\f" in masked or "\t" in masked or "\\" in masked:
            masked = _FORM_FEEDS.sub(lambda found: " " * (len(found.group()) - 1) + "\n", masked).translate(_BLANKS)
        if "\n<<<<<<<" in masked:
            masked = _CONFLICT.sub(lambda found: " " * len(found.group()), masked)
        self.masked = masked
        """The source with strings and comments blanked out, at the same length."""
        self._dedents: dict[int, re.Pattern[str]] = {}

    def _blank(self, found: re.Match[str]) -> str:
        token = found.group()
        if token[0] in "#\\":
            return " " * len(token)
        if found.lastgroup and self._strict:
            raise Irregular
        if "{" in token and "(" in token and _FORMATTED.search(found.string, max(found.start() - 3, 0), found.start()):
            self._formatted.append((found.start(), token))
        return STRING * len(token)

    def statements(self) -> Iterator[tuple[int, int]]:
        """Start and end of each module-level statement; each clause of a compound statement by itself."""
        masked = self.masked
        starts = [found.end() for found in _COLUMN_0.finditer(masked)]
        head = masked[: starts[0] if starts else None]
        if head.strip(" \n"):
            starts.insert(0, len(head) - len(head.lstrip(" \n")))
        depth = begin = 0
        for place, start in enumerate(starts):
            if depth > 0 and _BEGINS.match(masked, start):
                depth = self._open(depth)
                yield begin, begin + len(masked[begin:start].rstrip(" \n"))
            if not depth:
                begin = start
            following = starts[place + 1] if place + 1 < len(starts) else len(masked)
            part = masked[start:following]
            depth += balance(part)
            if depth < 0:
                depth = self._open(depth)
            if not depth:
                yield begin, start + len(part.rstrip(" \n"))
        if depth:
            self._open(depth)
            yield begin, len(masked.rstrip(" \n"))

    def _open(self, depth: int) -> int:
        """The depth after brackets that do not fit, unless they are an error."""
        if self._strict:
            raise Irregular
        return 0

    def statements_in(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Start and end of each statement between `begin` and `end` of a body, indented like the first line there."""
        masked = self.masked
        depth, width, start, before = 0, -1, -1, begin
        for found in _INDENTED.finditer(masked, begin, end):
            depth += balance(masked[before : found.start()])
            before = found.start()
            indented = found.end() - found.start()
            width = indented if width < 0 else width
            if depth or indented > width:
                continue
            if start >= 0:
                yield start, start + len(masked[start : found.start()].rstrip(" \n"))
            start = found.end()
        if start >= 0:
            yield start, start + len(masked[start:end].rstrip(" \n"))

    def dedent(self, begin: int, width: int) -> int:
        """The end of the block whose header ends at `begin`: before the next line with as little indentation."""
        masked = self.masked
        pattern = self._dedents.get(width)
        if pattern is None:
            pattern = self._dedents[width] = re.compile(rf"\n {{0,{width}}}(?=[^ \n)\]}}])")
        depth, at, end = 0, begin, len(masked)
        for found in pattern.finditer(masked, begin):
            depth += balance(masked[at : found.start()])
            at = found.start()
            if depth <= 0 or _BEGINS.match(masked, found.end()):
                end = at
                break
        return begin + len(masked[begin:end].rstrip(" \n"))

    def header(self, at: int) -> int:
        """The position after the colon of a definition's header, or at the end of the line; its name ends at `at`."""
        plain = _PLAIN_HEADER.match(self.masked, at)
        colon = plain.end() if plain and "lambda" not in plain.group() else self.colon(at)
        return colon if colon >= 0 else _LINE_END.search(self.masked, at).end()  # type: ignore[union-attr]

    def colon(self, at: int, end: int | None = None) -> int:
        """The position after the next colon outside brackets; -1 if the logical line has none, up to `end`."""
        depth = lambdas = 0
        for mark in _MARK.finditer(self.masked, at, len(self.masked) if end is None else end):
            kind = mark.group()
            if depth <= 0 and "\n" in self.masked[at : mark.start()]:
                break
            if kind in "([{":
                depth += 1
            elif kind in ")]}":
                depth -= 1
            elif depth <= 0 and kind == "lambda":
                lambdas += 1
            elif depth <= 0 and kind == ":" and lambdas:
                lambdas -= 1
            elif depth <= 0 and kind == ":":
                return mark.end()
            at = mark.end()
        return -1

    def assigned(self, begin: int, end: int) -> tuple[int, int] | None:
        """The end of an assignment's target and the start of its value (-1: no value); None for other statements."""
        depth, target = 0, -1
        for mark in _MARK.finditer(self.masked, begin, end):
            kind = mark.group()
            if kind in "([{":
                depth += 1
            elif kind in ")]}":
                depth -= 1
            elif depth or kind == "lambda":
                continue
            elif kind == "=" or kind + self.masked[mark.start() - 1] in (">=>", "<=<"):
                before = self.masked[begin : mark.start()].rstrip("+-*/%&|^@<>")
                return (target if target >= 0 else begin + len(before)), mark.end()
            elif kind == ":" and target < 0:
                target = mark.start()
        return (target, -1) if target >= 0 else None

    def string(self, begin: int, end: int | None = None) -> tuple[str, int] | None:
        """The text and the end of the string statement that begins after `begin`; None for other statements."""
        found = _STRING.match(self.masked, begin, len(self.masked) if end is None else end)
        if not found:
            return None
        texts, at = [], found.start(1)
        last = found.start(1) + len(found.group(1).rstrip())
        while at < last:
            quote = self.masked.index(STRING, at) if STRING in self.masked[at:last] else last
            token = _TOKEN.match(self.text, quote)
            if token is None:
                return None
            # Between two of them may stand a backslash and the end of the line.
            text = literal_text(self.masked[at:quote] + token.group())
            if text is None:
                return None
            texts.append(text)
            at = token.end()
        return cleandoc("".join(texts)), last

    def definitions(self) -> Iterator[tuple[int, int, int, bool, str]]:
        """Start, indentation, end of the name, True if a class, and name of each `def` and `class`."""
        if not ("def " in self.masked or "class " in self.masked):
            return
        masked = self.masked
        found = [(match, False) for match in _DEFINITION.finditer(masked)]
        classes = [(match, True) for match in _CLASS.finditer(masked)]
        if classes:
            found = sorted(found + classes, key=lambda item: item[0].start())
        for match, is_class in found:
            at = match.start()
            line = masked.rfind("\n", 0, at) + 1
            before = masked[line:at]
            width = len(before) - len(before.lstrip(" "))
            if width == len(before) or (not is_class and before[width:].rstrip() == "async"):
                yield line + width, width, match.end(), is_class, match.group(1)

    def decorators(self) -> Iterator[tuple[int, int]]:
        """Position and indentation of the `@` of each line that begins with one."""
        masked = self.masked
        for at in places(masked, "@"):
            line = masked.rfind("\n", 0, at) + 1
            if not masked[line:at].strip(" "):
                yield at, at - line

    def guarded(self) -> list[tuple[int, int]]:
        """Start and end of each `if` whose condition does not hold at import."""
        masked = self.masked
        guarded = []
        depth = before = 0
        for at in sorted(place for mark in _NOT_AT_IMPORT for place in places(masked, mark)):
            depth, before = depth + balance(masked[before:at]), at
            line = masked.rfind("\n", 0, at) + 1
            for _ in range(_LINES):
                if line and balance(masked[line:at]) < depth:
                    line = masked.rfind("\n", 0, line - 1) + 1
            condition = _IF.match(masked, line)
            # Inside brackets the `if` belongs to a conditional expression or a comprehension.
            colon = self.colon(condition.end()) if condition else -1
            if condition and colon >= 0:
                guarded.append((line, self.dedent(colon, len(condition.group(1)))))
        return guarded

    def calls(self, names: set[int]) -> Calls:
        """The calls in the file, without the definitions whose names begin at `names`."""
        found = _calls(self.masked, names)
        found.reverse()
        if " case " in self.masked:
            patterns = list(self._patterns())
            begins = [begin for begin, _ in patterns]
            ends = [0, *(end for _, end in patterns)]
            found = [call for call in found if call[0] >= ends[bisect_right(begins, call[0])]]
        if self._formatted:
            for start, token in self._formatted:
                for begin, masked in expressions(token):
                    found += ((start + begin + at, name) for at, name in _calls(masked))
            found.sort()
        return Calls([start for start, _ in found], [name for _, name in found])

    def _patterns(self) -> Iterator[tuple[int, int]]:
        """The ranges of the words `match` and of the patterns in `case`, where what looks like a call is none."""
        for found in _CASE.finditer(self.masked):
            begin, colon = found.start("word"), self.colon(found.end(), found.end() + _PATTERN)
            if colon >= 0 and found["word"] == "match":
                yield begin, begin + 1
            elif colon >= 0:
                guard = self.masked.find(" if ", begin, colon)
                yield begin, guard if guard >= 0 else colon


def _calls(masked: str, names: set[int] | None = None) -> list[tuple[int, str]]:
    """Offset and name of each call in a text without its strings and comments, the last one first.

    Those at the offsets in `names` are definitions; None for a text inside of brackets.
    """
    size = len(masked)
    backwards = masked[::-1]
    found = []
    for call in _CALL_REVERSED.finditer(backwards):
        name = _called[call[1]]
        if name:
            start = size - call.end(1)
            # Numbers such as `1.` and an ellipsis may end in a dot, too.
            if (before := call[2]) and not before[-1].isdigit() and not before.endswith(".."):
                joined = call[1] + before.lstrip(" \n")
                start, name = size - call.end(2), _called[joined] or name
            if name[0] == "\n":
                # Outside of brackets, a name and a bracket on the next line are two statements.
                if names is not None and not balance(masked[:start]):
                    continue
                name = name[1:]
            if name[0] == "." and masked[start - 1] in " \n":
                start, name = _chained(backwards, call)
            if not names or start not in names:
                found.append((start, name))
    return found


def _chained(backwards: str, call: re.Match[str]) -> tuple[int, str]:
    """Offset and name of a call with blanks or line ends before its dots, as in a chain of calls over several lines."""
    written, end = call.group(1).lstrip(" \n"), call.end(1)
    while written[-1] == "." and (before := _CHAIN_REVERSED.match(backwards, end)):
        written, end = written + before.group(1), before.end()
    name = _called[written] if end - call.end(1) + len(call.group(1).lstrip(" \n")) <= NAME_LENGTH else ""
    name = name or "." + written.partition(".")[0][::-1]
    return len(backwards) - (end if name[0] != "." else call.end(1)), name


class _Called(dict[str, str]):
    """A cache from a name read backwards to the dotted name called: `.fit` on an expression, empty for a keyword.

    If the bracket stands on a later line than the name, a line end is put before it.
    """

    def __missing__(self, backwards: str) -> str:
        if len(self) > 100_000:
            self.clear()
        written = backwards.lstrip(" \n")[::-1]
        first, *others = written.split(".")
        name = ""
        if not others:
            if first.isidentifier() and (first in _VALUES or not keyword.iskeyword(first)):
                name = first if len(first) <= NAME_LENGTH else ""
        elif first.isidentifier() and all(map(str.isidentifier, others)) and len(written) <= NAME_LENGTH:
            name = written
        # `1.real` is no attribute, `1..real` is.
        elif others[-1].isidentifier() and (len(others) > 1 or not first[:1].isdigit()):
            name = f".{others[-1]}"
        name = "\n" + name if name and "\n" in backwards else name
        self[backwards] = name
        return name


_called = _Called()


def places(text: str, part: str) -> Iterator[int]:
    """The positions of a part in a text."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def balance(text: str) -> int:
    """The number of brackets that a text opens, less those that it closes."""
    opened = text.count("(") + text.count("[") + text.count("{")
    return opened - text.count(")") - text.count("]") - text.count("}")
