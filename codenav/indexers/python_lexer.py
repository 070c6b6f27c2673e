"""Python source scanned with regular expressions, without a syntax tree.

Strings and comments are blanked out first. In the rest, a statement begins only at the beginning of a line, so each
definition is found by its keyword and its extent by indentation. It takes a tenth of tree-sitter's time. Anything
doubtful (tabs, semicolons, brackets or quotes that stay open) raises `Irregular`: the parser reads that file.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import suppress

from codenav.indexers.python_draft import NAME_LENGTH, Calls
from codenav.indexers.python_formatted import STRING, Irregular, expressions
from codenav.indexers.python_text import clean, literal_text

_TOKEN = re.compile(
    r"""\#[^\n]*+
    |\\\n
    |\"\"\"[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+\"\"\"
    |'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''
    |"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"
    |'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'
    """,
    re.DOTALL | re.VERBOSE,
)
_IRREGULAR = re.compile(r"[\"';\\\t\r\f\v]")
_DEFINITION = re.compile(r"def +([^\W\d]\w*)")
_CLASS = re.compile(r"class +([^\W\d]\w*)")
_NOTHING = re.compile(r" *(?:[#\n]|\Z)")
"""A line without code."""
_LAMBDA = re.compile(r"\blambda\b")
_COLUMN_0 = re.compile(r"\n(?=[^ \n])")
_INDENTED = re.compile(r"\n +(?=[^ \n)\]}])")
_PLAIN_HEADER = re.compile(r"[^()\[\]{}:\n]*(?:\([^()\[\]{}]*\)[^()\[\]{}:\n]*)?:")
_MARK = re.compile(r"[()\[\]{}]|:=?|[<>=!]?==?")
_STRING = re.compile(rf"[ \n]*([A-Za-z]{{0,2}}{STRING}[A-Za-z {STRING}]*)(?=\n|\Z)")
_CALL_REVERSED = re.compile(r"\(([ \n]*[\w.]+)([ \n]+\.[\w.]*)?")
"""A name before a bracket, and what ends in a dot before it: `a. b(`."""
_CHAIN_REVERSED = re.compile(r"[ \n]+([\w.]+)")
_FORMATTED = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
"""The prefix of a string that contains expressions: PEP 498 and 750."""
_IF = re.compile(r"( *)if\b")
_CASE = re.compile(r"\n +case\b[^\n]*:")
_CONFLICTS = ("\n<<<<<<<", "\n=======", "\n>>>>>>>")
_VALUES = ("None", "True", "False")
_NOT_AT_IMPORT = ("__name__", "TYPE_CHECKING")
"""Names whose presence in the condition of an `if` means that its definitions cannot be imported."""


class Scan:
    """The source of one file, scanned. `text` has `\\n` line ends.

    Raises:
        Irregular: the file has to be parsed.
    """

    def __init__(self, text: str) -> None:
        if STRING in text:
            raise Irregular
        self.text = text
        self._formatted: list[tuple[int, str]] = []
        self.masked = _TOKEN.sub(self._blank, text)
        """The source with strings and comments blanked out, at the same length."""
        # What Python takes for a name beyond ASCII is no matter of a regular expression.
        if not self.masked.isascii() or _IRREGULAR.search(self.masked):
            raise Irregular
        if any(mark in self.masked for mark in _CONFLICTS):
            raise Irregular
        if " case " in self.masked and _CASE.search(self.masked):
            raise Irregular
        self._dedents: dict[int, re.Pattern[str]] = {}

    def _blank(self, found: re.Match[str]) -> str:
        token = found.group()
        if token[0] == "#":
            return " " * len(token)
        if token[0] == "\\":
            line = found.string.rfind("\n", 0, found.start()) + 1
            if (
                _NOTHING.match(found.string, found.end())
                or found.string[line : found.start()].isspace()
                or line == found.start()
            ):
                raise Irregular
            return " " * len(token)
        if "{" in token and _FORMATTED.search(found.string, max(found.start() - 3, 0), found.start()):
            if token.count("{") != token.count("}"):
                # Its own quotes stand inside of braces: it has not ended here.
                raise Irregular
            if "(" in token:
                self._formatted.append((found.start(), token))
        return STRING * len(token)

    def statements(self) -> Iterator[tuple[int, int]]:
        """Start and end of each module-level statement; each clause of a compound statement by itself."""
        masked = self.masked
        starts = [found.end() for found in _COLUMN_0.finditer(masked)]
        if masked and masked[0] not in " \n":
            starts.insert(0, 0)
        if masked[: starts[0] if starts else None].strip(" \n"):
            raise Irregular
        depth = begin = 0
        for place, start in enumerate(starts):
            if not depth:
                begin = start
            following = starts[place + 1] if place + 1 < len(starts) else len(masked)
            part = masked[start:following]
            depth += balance(part)
            if depth < 0:
                raise Irregular
            if not depth:
                yield begin, start + len(part.rstrip(" \n"))
        if depth:
            raise Irregular

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
            if not depth:
                end = at
                break
        return begin + len(masked[begin:end].rstrip(" \n"))

    def header(self, at: int) -> int:
        """The position after the colon of a definition's header; its name ends at `at`."""
        plain = _PLAIN_HEADER.match(self.masked, at)
        return plain.end() if plain and "lambda" not in plain.group() else self.colon(at)

    def colon(self, at: int) -> int:
        """The position after the next colon outside brackets.

        Raises:
            Irregular: the logical line has none.
        """
        depth = 0
        for mark in _MARK.finditer(self.masked, at):
            kind, between = mark.group(), self.masked[at : mark.start()]
            # The colon of a lambda is not that of the statement.
            if not depth and ("\n" in between or ("lambda" in between and _LAMBDA.search(between))):
                break
            if kind in "([{":
                depth += 1
            elif kind in ")]}":
                depth -= 1
                if depth < 0:
                    break
            elif kind == ":" and not depth:
                return mark.end()
            at = mark.end()
        raise Irregular

    def assigned(self, begin: int, end: int) -> tuple[int, int] | None:
        """The end of an assignment's target and the start of its value (-1: no value); None for other statements."""
        depth, target = 0, -1
        for mark in _MARK.finditer(self.masked, begin, end):
            kind = mark.group()
            if kind in "([{":
                depth += 1
            elif kind in ")]}":
                depth -= 1
            elif depth:
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
        return clean("".join(texts)), last

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
        for at in sorted(place for mark in _NOT_AT_IMPORT for place in places(masked, mark)):
            line = masked.rfind("\n", 0, at) + 1
            depth = balance(masked[:at])
            while line and balance(masked[line:at]) != depth:
                line = masked.rfind("\n", 0, line - 1) + 1
            condition = _IF.match(masked, line)
            if condition:
                with suppress(Irregular):
                    # Inside brackets the `if` belongs to a conditional expression or a comprehension.
                    colon = self.colon(condition.end())
                    guarded.append((line, self.dedent(colon, len(condition.group(1)))))
        return guarded

    def calls(self, names: set[int]) -> Calls:
        """The calls in the file, without the definitions whose names begin at `names`.

        Raises:
            Irregular: the name of one is written in an unusual way.
        """
        found = _calls(self.masked, self.text, names)
        found.reverse()
        if self._formatted:
            for start, token in self._formatted:
                for begin, end, masked in expressions(token):
                    found += ((start + begin + at, name) for at, name in _calls(masked, token[begin:end]))
            found.sort()
        return Calls([start for start, _ in found], [name for _, name in found])


def _calls(masked: str, text: str, names: set[int] | None = None) -> list[tuple[int, str]]:
    """Offset and name of each call in a text and the same without its strings and comments, the last one first.

    Those at the offsets in `names` are definitions; None for a text inside of brackets.

    Raises:
        Irregular: a name has blanks in it.
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
                raise Irregular
            if name[0] == "\n":
                # Outside of brackets, a name and a bracket on the next line are two statements.
                if names is not None and not balance(masked[:start]):
                    continue
                name = name[1:]
            if name[0] == "." and masked[start - 1] in " \n":
                start, name = _chained(backwards, text, call)
            if not names or start not in names:
                found.append((start, name))
    return found


def _chained(backwards: str, text: str, call: re.Match[str]) -> tuple[int, str]:
    """Offset and name of a call with blanks or line ends before its dots, as in a chain of calls over several lines."""
    size = len(text)
    written, end = call.group(1).lstrip(" \n"), call.end(1)
    while written[-1] == "." and (before := _CHAIN_REVERSED.match(backwards, end)):
        if not text[size - before.start(1) : size - end].isspace():
            break
        written, end = written + before.group(1), before.end()
    name = _called[written] if end - call.end(1) + len(call.group(1).lstrip(" \n")) <= NAME_LENGTH else ""
    name = name or "." + written.partition(".")[0][::-1]
    return size - (end if name[0] != "." else call.end(1)), name


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
