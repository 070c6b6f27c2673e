"""The clauses of a query: words, phrases, patterns and values of fields, read from a position in its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from codenav.retrieval import query_tree as tree
from codenav.retrieval.analysis import MAX_TOKEN
from codenav.retrieval.query_tree import KEYWORD_FIELDS, Node, all_of, any_of
from codenav.retrieval.query_values import block_kinds, plain_regex

MAX_CLAUSES = 1024
"""Words, phrases and patterns of a query that are used: the limit of Lucene's `indices.query.bool.max_clause_count`."""
MAX_PATTERNS = 16
"""Wildcards, regular expressions and fuzzy words that are used: each can scan a whole dictionary, 10 ms and more."""

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": " "})
_BOOST = re.compile(r"\^(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(?=[\s)]|\Z)")
_NEAR = re.compile(r"~(\d{0,9}(?:\.\d{1,9})?)(?=[\s)^]|\Z)")
_REGEX = re.compile(r"/((?:[^/\\]|\\.){1,1000})/(?=[\s)^]|\Z)", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE = re.compile(r"'([^'\n]{1,300})'(?!\w)")
_OPEN_END = re.compile(r"\s(?:AND|OR|NOT)\s|\Z")
_NUMBER = r"(\d{1,9}|\*)"
_LINES = re.compile(
    rf"([\[{{])\s*{_NUMBER}\s*(?:TO|-|,|\.\.|:)\s*{_NUMBER}\s*([\]}}])"
    rf"|{_NUMBER}(?:\s*(?:-|\.\.)\s*{_NUMBER})?|([<>]=?)\s*(\d{{1,9}})"
)
_SYNTAX = re.compile(r"""["'():/+^~*&|!]|\s-""")


class Clauses:
    """A text and a position in it; each method reads one clause from there and always moves on."""

    def __init__(self, text: str) -> None:
        plain = unicodedata.normalize("NFKC", text).translate(_QUOTES)
        self.repairs: dict[str, None] = {}
        if "`" in text:
            self.tell("backticks were left out")
        if _is_question(plain):
            plain = plain.rstrip().rstrip("?")
            self.tell("the closing question mark was left out")
        self.text = plain
        self.at = 0
        self.clauses = MAX_CLAUSES
        """How many may still be used."""
        self.patterns = MAX_PATTERNS
        self.code = 0
        """Parentheses that code has opened: `f(` is no group."""
        self.junk: dict[str, None] = {}
        """What holds nothing to look for."""

    def tell(self, sentence: str) -> None:
        """Note what was mended."""
        self.repairs[sentence] = None

    def rest(self) -> bool:
        """Whether anything but white space is left."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at < len(self.text)

    def take(self, count: int) -> int:
        """How many of `count` clauses may still be used."""
        taken = max(0, min(count, self.clauses))
        self.clauses -= count
        return taken

    def eat(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move over what matches here."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def boost(self, node: Node) -> Node:
        match = self.eat(_BOOST)
        return tree.boosted(node, float(match[1])) if match else node

    def value(self, name: str) -> Node:
        """What follows, as a value of a field."""
        char = self.text[self.at]
        if name == "lines":
            return self.lines()
        if char == '"':
            return self.quoted(name)
        if name in KEYWORD_FIELDS:
            return self.literal(name)
        if char == "'" and (single := self.eat(_SINGLE)):
            return self.phrase(name, single[1])
        if char == "/" and (match := self.eat(_REGEX)):
            return self.regex(name, match[1])
        return self.word(name)

    def lines(self) -> Node:
        match = self.eat(_LINES)
        if not match or not self.take(1):
            self.tell("lines: wants a range such as [10 TO 80]; what follows was read as a word")
            return self.word("text")
        opening, low, high, closing, first, last, sign, number = match.groups()
        if sign:
            value = int(number)
            return (
                tree.Lines(value + (sign == ">"), None) if sign[0] == ">" else tree.Lines(None, value - (sign == "<"))
            )
        start, end = (_line(low), _line(high)) if opening else (_line(first), _line(last or first))
        if opening == "{" and start is not None:
            start += 1
        if closing == "}" and end is not None:
            end -= 1
        if start is not None and end is not None and start > end:
            self.tell(f"lines:[{start} TO {end}] was read backwards")
            start, end = end, start
        return tree.Lines(start, end)

    def quoted(self, name: str) -> Node:
        match = self.eat(_QUOTED)
        if match:
            content = match[1]
        else:
            end = _OPEN_END.search(self.text, self.at)
            stop = end.start() if end else len(self.text)
            content = self.text[self.at + 1 : stop].rstrip().rstrip(")]}")
            self.at += 1 + len(content)
            self.tell("a quote was not closed")
        return self.valued(name, _unescaped(content)) if name in KEYWORD_FIELDS else self.phrase(name, content)

    def phrase(self, name: str, content: str) -> Node:
        near = self.eat(_NEAR)
        if re.fullmatch(r"\w*[*?][\w*?]*", content) and re.search(r"\w", content) and "**" not in content:
            self.tell("a wildcard inside quotes was read as one")
            return self.wildcard(name, content) if self.take(1) else tree.Nothing()
        words = tuple(word[:MAX_TOKEN] for word in re.findall(r"\w+", content))
        if not words:
            self.junk[f'"{content}"'] = None
            return tree.Nothing()
        slop = min(int(float(near[1] or 0)), 100) if near and len(words) > 1 else 0
        return tree.Phrase(name, words[: self.take(len(words))], slop)

    def regex(self, name: str, content: str) -> Node:
        patterns = [plain_regex(part) for part in content.replace("\\/", "/").split()]
        plain = [pattern for pattern in patterns if pattern]
        if plain and len(plain) == len(patterns):
            if len(plain) > 1:
                self.tell("a regular expression matches one word: it was split at its spaces")
            return all_of(self.pattern(tree.Regex(name, pattern)) for pattern in plain[: self.take(len(plain))])
        self.tell(f"/{content[:60]}/ is beyond the regular expressions that are understood: its words were looked for")
        return self.spelled(name, re.findall(r"\w{2,}", re.sub(r"\\\w", " ", content)))

    def spelled(self, name: str, words: list[str]) -> Node:
        """One word of the query by its identifiers."""
        kept = tuple(words[: self.take(len(words))])
        return tree.Words(name, kept) if kept else tree.Nothing()

    def word(self, name: str) -> Node:
        """Text up to white space, a quote or the parenthesis that closes the group."""
        begin, in_code = self.at, self.code > 0
        spelled = self.characters(lambda char: char == '"' and _QUOTED.match(self.text, self.at) is not None)
        if self.at == begin:
            self.at += 1
        shown = self.text[begin : self.at]
        near = self.eat(_NEAR)
        if in_code or "(" in shown or "**" in spelled:
            spelled = re.sub(r"[*?]", " ", spelled)
        pieces = [piece[:MAX_TOKEN] for piece in re.findall(r"[\w*?]+", spelled)]
        if pieces == ["*"] and shown == "*":
            return self.wildcard(name, "*") if self.take(1) else tree.Nothing()
        pieces = [piece for piece in pieces if re.search(r"\w", piece)]
        if not pieces:
            self.junk[shown] = None
            return tree.Nothing()
        patterns = [piece for piece in pieces if re.search(r"[*?]", piece)]
        words = [piece for piece in pieces if not re.search(r"[*?]", piece)]
        if near and not patterns:
            return self.fuzzy(name, words, near[1])
        found = [self.spelled(name, words)] if words else []
        found += [self.wildcard(name, pattern) for pattern in patterns[: self.take(len(patterns))]]
        return all_of(found)

    def characters(self, stops: Callable[[str], bool]) -> str:
        """The characters of one word without escapes; an escaped wildcard is punctuation."""
        kept = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\" and self.at + 1 < len(self.text) and not self.text[self.at + 1].isspace():
                escaped = self.text[self.at + 1]
                kept.append(" " if escaped in "*?" else escaped)
                self.at += 2
                continue
            if char.isspace() or stops(char):
                break
            if char == ")":
                if not self.code:
                    break
                self.code -= 1
            elif char == "(":
                self.code += 1
            elif (char == "^" and _BOOST.match(self.text, self.at)) or (
                char == "~" and _NEAR.match(self.text, self.at)
            ):
                break
            kept.append(char)
            self.at += 1
        return "".join(kept)

    def pattern(self, node: Node) -> Node:
        """A node that scans a dictionary, while there may be more of them."""
        self.patterns -= 1
        if self.patterns >= 0:
            return node
        self.tell(f"only the first {MAX_PATTERNS} wildcards, regular expressions and fuzzy words were used")
        return tree.Nothing()

    def wildcard(self, name: str, pattern: str) -> Node:
        if pattern == "*" and name in ("text", "name"):
            return tree.Everything()
        return self.pattern(tree.Wildcard(name, pattern))

    def fuzzy(self, name: str, words: list[str], written: str) -> Node:
        distance = 2 if not written else 1 if 0 < float(written) < 1 else min(int(float(written)), 2)
        if written and written != str(distance):
            self.tell(f"~{written} was read as ~{distance}: at most two edits are understood")
        if not distance:
            return self.spelled(name, words)
        return all_of(self.pattern(tree.Fuzzy(name, word, distance)) for word in words[: self.take(len(words))])

    def literal(self, name: str) -> Node:
        """A value without quotes: up to white space or the parenthesis that closes the group."""
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
            if char.isspace() or char == '"' or opened < 0 or (char == "^" and _BOOST.match(self.text, self.at)):
                break
            kept.append((char, False))
            self.at += 1
        while kept and kept[-1] in ((",", False), (";", False), ("'", False)):
            kept.pop()
        if len(kept) > 1 and kept[0] == ("'", False):
            del kept[0]
        if not kept:
            self.at += self.text[self.at : self.at + 1] in ("'", ",", ";", '"')
        return self.valued(name, kept)

    def valued(self, name: str, content: list[tuple[str, bool]]) -> Node:
        """A value of a keyword field: characters, each with whether it was escaped."""
        plain = "".join(char for char, _ in content).strip()
        if not plain or not self.take(1):
            return tree.Nothing()
        if name == "type":
            return self.type(plain)
        if any(char in "*?" and not escaped for char, escaped in content):
            pattern = "".join("\\" + char if escaped and char in "*?\\" else char for char, escaped in content)
            pattern = re.sub(r"(?<!\\)\*+", "*", pattern.strip())
            return tree.Everything() if pattern == "*" else self.pattern(tree.Wildcard(name, pattern))
        if name == "file_path":
            plain = re.sub(r"\A(?:\./|/|\s)+", "", plain) or plain
        return tree.Value(name, plain)

    def type(self, value: str) -> Node:
        if value == "*":
            return tree.Everything()
        kinds, mended = block_kinds(value)
        if mended:
            self.tell(mended)
        if not kinds:
            return self.spelled("text", re.findall(r"\w+", value))
        self.take(len(kinds) - 1)
        return any_of(tree.Value("type", kind.value) for kind in kinds)


def _is_question(text: str) -> bool:
    """Several words and no operator, a question mark at the end: prose, not a wildcard."""
    words = text.split()
    return (
        len(words) > 2
        and text.rstrip().endswith("?")
        and not set(words) & {"AND", "OR", "NOT"}
        and not _SYNTAX.search(text)
    )


def _unescaped(content: str) -> list[tuple[str, bool]]:
    parts = re.findall(r"\\.|.", content, re.DOTALL)
    return [(part[-1], len(part) == 2) for part in parts]


def _line(written: str) -> int | None:
    return None if written == "*" else int(written)
