"""Parsing of literal field values in a query, with the position in its text and limits on its size."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codenav.retrieval.query import places, tree
from codenav.retrieval.query.fields import FURTHER_VALUE, block_kinds, continues, language
from codenav.retrieval.query.repairs import normal
from codenav.retrieval.query.tree import Node, all_of, any_of

MAX_CLAUSES = 1024
"""The most words, phrases and patterns used: Lucene's limit, `indices.query.bool.max_clause_count`."""
MAX_PATTERNS = 16
"""The most wildcards, regular expressions and fuzzy words used: each can scan a whole dictionary."""
MAX_LEADING = 4
"""The most patterns used that begin with a wildcard: each takes 15 to 25 ms on 88,000 blocks, others under 1 ms."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_OPEN_END = re.compile(r"\s(?:AND|OR|NOT)\s|\Z")
_NUMBER = r"[Ll]?(\d{1,9}|\*)"
_LINES = re.compile(
    rf"[\"']?([\[{{]?)\s*([<>]=?)?\s*{_NUMBER}(?:\s*(?:TO|-|,|\.\.|:)\s*{_NUMBER})?\s*([\]}}]?)[\"']?(?=[\s)^,;]|\Z)",
    re.IGNORECASE,
)
_BAD_LINES = re.compile(r"[\[{(][^\]})\n]{0,80}[\]})]|\S+")
_LIST = re.compile(r"\[([^\[\]()\n]{0,400})\](?=[\s)^]|\Z)")
_PATTERN = re.compile(r"/((?:[^/\\\n]|\\.){1,300})/(?=[\s)^]|\Z)")
_MORE = re.compile(rf"(?:\s*(?:,|\|\|?|&)\s*|\s+(?:OR|or|and)\s+){FURTHER_VALUE}")
_MORE_QUOTED = re.compile(r"\s+OR\s+\"([^\"\\]*)\"(?![~^])")
_CALL = re.compile(r"\(.*|\A[\s.@&]*(?:(?:await|new)\s+)*(?=\w)", re.DOTALL)
"""The text that people write around a name that is called; a star is a wildcard."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Literals:
    """A parser of literal values: each method reads one from the position in the text and always advances."""

    BOOST = re.compile(r"\^(-?\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(?=[\s)]|\Z)")
    NEAR = re.compile(r"~(\d{0,9}(?:\.\d{1,9})?)(?=[\s)^]|\Z)")
    QUOTED = _QUOTED
    MORE_QUOTED = _MORE_QUOTED

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.repairs: dict[str, None] = {}
        self.clauses = MAX_CLAUSES
        """Number of clauses that may still be used."""
        self.patterns = MAX_PATTERNS
        self.leading = MAX_LEADING
        self.junk: dict[str, None] = {}
        """Punctuation that was left out, as it contains nothing to search for."""
        self.alone = False
        """True if the value follows its field directly, not in a group of values."""
        self.spare: list[Node] = []
        """Words of invalid values, searched for if nothing else is left."""

    def tell(self, sentence: str) -> None:
        """Record a repair."""
        self.repairs[sentence] = None

    def rest(self) -> bool:
        """Skip white space; True if any text is left."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at < len(self.text)

    def take(self, count: int) -> int:
        """Use up `count` clauses, and return the number of them that may still be used."""
        taken = max(0, min(count, self.clauses))
        self.clauses -= count
        return taken

    def eat(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the position, and move past the match."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def scanned(self, node: Node, *, leading: bool) -> Node:
        """Return a node that costs a scan, or `Nothing` if there are too many."""
        if leading:
            self.leading -= 1
        self.patterns -= 1
        if self.patterns < 0:
            self.tell(f"only the first {MAX_PATTERNS} wildcards, regular expressions and fuzzy words were used")
            return tree.Nothing()
        if leading and self.leading < 0:
            self.tell(f"only the first {MAX_LEADING} patterns that begin with a wildcard were used: each is slow")
            return tree.Nothing()
        return node

    def boost(self, node: Node) -> Node:
        """Apply the `^factor` that follows to a node."""
        match = self.eat(self.BOOST)
        if match and match[1].startswith("-"):
            self.tell(f"{match.group()} was left out: NOT excludes")
            return node
        if match and not tree.MIN_BOOST <= float(match[1]) <= tree.MAX_BOOST:
            self.tell(f"{match.group()} was cut to the range of {tree.MIN_BOOST} to {tree.MAX_BOOST:g}")
        return tree.boosted(node, float(match[1])) if match else node

    def between_quotes(self) -> str:
        """Read the text in quotes, up to the next operator if there is no closing quote."""
        match = self.eat(_QUOTED)
        if match:
            return match[1]
        end = _OPEN_END.search(self.text, self.at)
        stop = end.start() if end else len(self.text)
        content = self.text[self.at + 1 : stop].rstrip().rstrip(")]}")
        self.at += 1 + len(content)
        self.tell("a quote was not closed")
        return content

    def lines(self) -> Node:
        """Read the value of `lines:`: a range, a number or a comparison."""
        match = self.eat(_LINES)
        if not match or not self.take(1):
            bad = self.eat(_BAD_LINES)
            self.tell(f"lines: needs a range such as [10 TO 80]; {bad.group()[:40] if bad else 'this'} was left out")
            words = [word for word in re.findall(r"\w+", bad.group() if bad else "") if word.upper() != "TO"]
            self.spare += [tree.Words("text", (word[:40],)) for word in words[:8]]
            return tree.Nothing()
        opening, sign, low, high, closing = match.groups()
        start = _line(low)
        end = _line(high) if high else start
        if sign:
            start, end = (start, None) if sign[0] == ">" else (None, start)
        if start is not None:
            start += opening == "{" or sign == ">"
        if end is not None:
            # Lines are counted from 1, so an end of 0 matches nothing.
            end = max(end - (closing == "}" or sign == "<"), 0)
        if start is not None and end is not None and start > end:
            self.tell(f"lines:[{start} TO {end}] was read backwards")
            start, end = end, start
        return tree.Lines(start, end)

    def keyword_value(self, name: str) -> Node:
        """Read a value of a keyword field, and those that follow it in a list."""
        if self.text[self.at] == "[" and (match := self.eat(_LIST)):
            items = re.findall(r"[^\s,\"']+", match[1])
            return any_of(self.valued(name, [(char, False) for char in item]) for item in items[:50])
        if self.text[self.at] == "/" and (node := self.keyword_regex(name)):
            return node
        if self.text[self.at] == '"':
            found = [self.valued(name, _unescaped(self.between_quotes()))]
            while self.alone and (match := self.eat(_MORE_QUOTED)):
                self.tell(f'{name}:"…" OR "…" was read as {name}: of both')
                found.append(self.valued(name, _unescaped(match[1])))
            return any_of([*found, *self.more(name)])
        return any_of([self.literal(name), *self.more(name)])

    def more(self, name: str) -> Iterable[Node]:
        """Read further values of the same field: `type: FUNCTION OR METHOD`, `file_path: a.py, b.py`."""
        while self.alone and (match := _MORE.match(self.text, self.at)) and continues(name, match[1]):
            begin, self.at = self.at, match.start(1)
            yield self.literal(name)
            what = self.text[begin : self.at].strip()
            if not what.startswith((",", "|")):
                self.tell(f"{what[:60]} was read as another value of {name}:")

    def keyword_regex(self, name: str) -> Node | None:
        """Read a regular expression for a literal value as wildcards; None if there is none here."""
        match = _PATTERN.match(self.text, self.at)
        if match is None or (name == "file_path" and not re.search(r"[*+|()\[\]^$]|\\[.wd]", match[1])):
            return None
        self.at = match.end()
        words = re.findall(r"\w+", re.sub(r"\\\w", " ", match[1]))[:8]
        pattern = f"*{'*'.join(words)}*" if words else ""
        shown = f"{name}:{pattern}"[:60] if pattern else "nothing"
        self.tell(f"{match.group()[:60]} was read as {shown}: {name} has wildcards, no regular expressions")
        return self.valued(name, [(char, False) for char in pattern])

    def literal(self, name: str) -> Node:
        """Read a value without quotes: up to white space or the parenthesis that closes the group."""
        kept: list[tuple[str, bool]] = []
        opened = 0
        while self.at < len(self.text):
            char = self.text[self.at]
            following = self.text[self.at + 1 : self.at + 2]
            if char == "\\" and following and not following.isalnum():
                kept.append((following, True))
                self.at += 2
                continue
            if char == "\\" and name == "file_path":
                self.tell("a backslash in a path was read as /")
                char = "/"
            opened += (char == "(") - (char == ")")
            if char.isspace() or char == '"' or opened < 0 or (char == "^" and self.BOOST.match(self.text, self.at)):
                break
            if (char in ",;" and name in ("type", "calls", "language")) or (char == "|" and name == "language"):
                break
            kept.append((char, False))
            self.at += 1
        while kept and kept[-1] in ((",", False), (";", False), ("'", False)):
            del kept[-1]
            self.at -= self.text[self.at - 1] == ","
        if len(kept) > 1 and kept[0] == ("'", False):
            del kept[0]
        if not kept:
            self.at += self.text[self.at : self.at + 1] in ("'", ",", ";", '"', "|")
        return self.valued(name, kept)

    def valued(self, name: str, content: list[tuple[str, bool]]) -> Node:
        """Make a value of a keyword field from its characters, each with True if it was escaped."""
        pattern = normal("".join(_escaped(name, char, escaped) for char, escaped in content)).strip()
        if not pattern or not self.take(1):
            return tree.Nothing()
        if name == "type":
            return self.type(_plain(pattern))
        if name == "file_path":
            return self.path(pattern)
        if name == "calls":
            pattern = _CALL.sub("", pattern).strip() or pattern
        return self.leaf(name, re.sub(r"(?<!\\)\*+", "*", pattern))

    def leaf(self, name: str, pattern: str) -> Node:
        """Make a value of a keyword field, or a pattern if there is a wildcard in it that is not escaped."""
        if re.search(r"[*?]", _ESCAPE.sub("", pattern)):
            return self.literal_pattern(name, pattern)
        plain = _plain(pattern)
        return tree.Value(name, language(plain) if name == "language" else plain)

    def literal_pattern(self, name: str, pattern: str) -> Node:
        """Make a pattern that is matched against whole values of a keyword field."""
        if pattern == "*" and name != "calls":
            return tree.Everything()
        return self.scanned(tree.Wildcard(name, pattern), leading=False)

    def path(self, written: str) -> Node:
        """Make a node of a path or of a pattern of paths, perhaps with line numbers behind it.

        What people paste is resolved step by step until nothing changes any more.
        """
        written = normal(written).strip()
        wanted, first, last = places.without_lines(written)
        wanted, helping = places.relative(wanted)
        parts = places.expanded(wanted)
        if parts == [written] or not written:
            return self.leaf("file_path", written) if written else tree.Nothing()
        node = any_of(self.path(part) for part in parts)
        if helping and not places.is_settled(helping):
            helping = ""
        node = tree.preferring(node, self.leaf("file_path", helping) if helping else tree.Nothing())
        return all_of([node, tree.Lines(first, last) if first else tree.Nothing()])

    def type(self, value: str) -> Node:
        """Make a node of the kinds that a value of `type:` names; if it names none, its words are kept as spare."""
        if value.upper() in ("*", "ANY", "ALL"):
            return tree.Everything()
        kinds, mended = block_kinds(value)
        if mended:
            self.tell(mended)
        if not kinds:
            self.spare += [tree.Words("text", (word[:40],)) for word in re.findall(r"\w+", value)[:8]]
            return tree.Nothing()
        self.take(len(kinds) - 1)
        return any_of(tree.Value("type", kind.value) for kind in kinds)


def _escaped(name: str, char: str, escaped: bool) -> str:
    """A character of a value as it is written in a pattern."""
    if char == "\\":
        return "/" if name == "file_path" and not escaped else "\\\\"
    return f"\\{char}" if escaped and char in "*?" else char


def _plain(pattern: str) -> str:
    """The text of a pattern without wildcards."""
    return _ESCAPE.sub(r"\1", pattern)


def _unescaped(content: str) -> list[tuple[str, bool]]:
    parts = re.findall(r"\\.|.", content, re.DOTALL)
    return [(part[-1], len(part) == 2) for part in parts]


def _line(written: str) -> int | None:
    return None if written == "*" else int(written)
