"""Parsing of the clauses of a query that are words: identifiers, calls, phrases, patterns."""

from __future__ import annotations

import re

from codenav.retrieval.analysis import MAX_TOKEN
from codenav.retrieval.query import regex as query_regex
from codenav.retrieval.query import tree
from codenav.retrieval.query.literals import Literals
from codenav.retrieval.query.places import place_at
from codenav.retrieval.query.tree import KEYWORD_FIELDS, Node, all_of, any_of

_REGEX = re.compile(r"/(?!\*)((?:[^/\\\n]|\\.){1,1500})/(i?)(?=[\s)^]|\Z)", re.DOTALL)
_BARE_REGEX = re.compile(r"(?=\S{0,300}(?:\\[bdswDSW](?:[+*?{)\]|\\]|(?=\s|\Z))|(?:\A|(?<=\s))\\b))[^\s\"]{2,300}")
_SINGLE = re.compile(r"'([^'\n]{1,300})'(?!\w)")
_STOP = re.compile(r"\s(?:AND|OR|NOT|&&|\|\|)\s")
_BRACKETS = re.compile(
    r"\[(?:[\w\s,.:?*&|'=/-]|\[[\w\s,.:?*&|'=/-]{0,60}\]){0,80}\]|<(?:[\w\s,.:?*&|']|<[\w\s,.:?*&|']{0,60}>){0,80}>"
)
_IN_CALL = re.compile(
    r"[()]|\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|\s(?:AND|OR|NOT|&&|\|\|)(?=\s)|\\.|[^()\"'\s\\]+|.", re.DOTALL
)
_RETURNS = re.compile(r"\s*->\s*([^:\n{]{1,200})[:{]?")
_DEFINITION = re.compile(
    r"(?:export\s+|default\s+|pub\s+|async\s+){0,3}(?:def\s+(?=[^\W\d])|class\s+(?=[A-Z_]\w*\s*(?:[:({<]|\)|\Z|\s(?:AND|OR|NOT|extends|implements)\s))"
    r"|func\s+\([^()\n]{1,80}\)\s+(?=[^\W\d]\w*\()|(?:func|fn|function|struct|interface|trait|enum|impl)\s+(?=[^\W\d]\w*\s*[(<{]))"
    r"(?!(?:AND|OR|NOT)\b)"
)
_FROM = re.compile(
    r"from\s+(?!(?:AND|OR|NOT)\b)([\w.]{1,200})\s+import\s+\(?\s*(?!(?:AND|OR|NOT)\b)((?:[^\W\d]\w*(?:\s+as\s+\w+)?\s*,?\s*){1,50})\)?"
)
_IMPORT = re.compile(r"import\s+(?=[^\W\d][\w.]*(?:\s+as\s+\w+)?\s*\Z)")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_QUALIFIED = re.compile(r"(?!(?:self|cls|this|super)\b)[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)+")


class Clauses(Literals):
    """A parser of clauses: each method reads one from the position and always advances. The field "" is the default."""

    strict = False
    """True under a `NOT`, where parts that only raise the score are left out."""

    def value(self, name: str) -> Node:
        """Read the following text as a value of a field."""
        char = self.text[self.at]
        if name == "lines":
            return self.lines()
        if not name and (node := self.place()):
            return node
        if name in KEYWORD_FIELDS:
            return self.keyword_value(name)
        if char == '"':
            return self.quoted(name)
        if char == "'" and (single := self.eat(_SINGLE)):
            return self.phrase(name, single[1])
        if char == "/" and (match := self.eat(_REGEX)):
            return self.regex(name, match[1])
        if "\\" in self.text[self.at : self.at + 300] and (match := self.eat(_BARE_REGEX)):
            self.tell(f"{match.group()[:60]} was read as a regular expression")
            return self.regex(name, match.group())
        if not name and (node := self.imported()):
            return node
        if name in ("", "text") and self.eat(_DEFINITION):
            return self.word(name, head="name")
        return self.word(name)

    def place(self) -> Node | None:
        """Read a file with its line, as tracebacks and compilers print it; None if there is none here."""
        found = place_at(self.text, self.at)
        if found is None:
            return None
        place, self.at = found
        path = self.path(place.path)
        shown = place.path[-60:]
        lines = tree.Lines(place.first, place.last) if place.first else tree.Nothing()
        name = self.spelled("name", re.findall(r"\w+", place.name))
        if place.exact:
            self.tell(f"{shown} was read as a file")
            return all_of([path, lines, name])
        self.tell(f"a frame of a traceback was read as the file {shown}")
        return path if self.strict else tree.preferring(path, any_of([lines, name]))

    def imported(self) -> Node | None:
        """Read an import statement as its names, the module only raising the score; None if there is none here."""
        match = self.eat(_FROM)
        if match:
            self.tell("an import statement was read as its names")
            names = [part.split()[0] for part in match[2].split(",") if part.split()]
            module = self.spelled("text", re.findall(r"\w+", match[1]))
            found = any_of(self.spelled("text", [name]) for name in names)
            return found if self.strict else tree.preferring(found, module)
        if self.eat(_IMPORT):
            self.tell("an import statement was read as its names")
            node = self.word("")
            self.at = len(self.text)
            return node
        return None

    def quoted(self, name: str) -> Node:
        """Read a phrase, and those of the same field that follow it: `name: "a" OR "b"`."""
        found = [self.phrase(name, self.between_quotes())]
        while self.alone and name != "text" and (match := self.eat(self.MORE_QUOTED)):
            self.tell(f'{name}: "…" OR "…" was read as {name}: of both')
            found.append(self.phrase(name, match[1]))
        return any_of(found)

    def phrase(self, name: str, content: str) -> Node:
        """Make a phrase of the content of quotes and the `~slop` that follows."""
        near = self.eat(self.NEAR)
        if re.fullmatch(r"\w*[*?][\w*?]*", content) and re.search(r"\w", content) and "**" not in content:
            self.tell("a wildcard inside quotes was read as one")
            return self.wildcard(name, content) if self.take(1) else tree.Nothing()
        if re.search(r"\w\*", content):
            self.tell("wildcards beside other words in quotes were left out")
        words = tuple(word[:MAX_TOKEN] for word in re.findall(r"\w+", re.sub(r"\\[nrt](?!\w)", " ", content)))
        if not words:
            self.junk[f'"{content}"'] = None
            return tree.Nothing()
        slop = min(int(float(near[1] or 0)), 100) if near and len(words) > 1 else 0
        return tree.Phrase(name or "text", words[: self.take(len(words))], slop)

    def regex(self, name: str, content: str) -> Node:
        """Make alternatives of patterns side by side, or of the words in it if no store could match the expression."""
        if self.patterns <= 0:
            return self.scanned(tree.Nothing(), leading=False)
        content = content.replace("\\/", "/")
        try:
            alternatives = query_regex.patterns(content)
        except query_regex.Beyond as why:
            self.tell(f"/{content[:60]}/ was read as its words: {why}")
            return self.spelled(name, re.findall(r"\w+", re.sub(r"\\\w|\(\?\w*|\{[^}]*\}", " ", content)))
        if any(len(pieces) > 1 for pieces in alternatives):
            self.tell("a regular expression matches one identifier: it was split at spaces and punctuation")
        return any_of(self.beside(name, pieces) for pieces in alternatives)

    def beside(self, name: str, pieces: list[str]) -> Node:
        """Make a node of identifiers and patterns side by side."""
        kept = pieces[: self.take(len(pieces))]
        if len(kept) > 1 and all(map(query_regex.literal, kept)):
            return tree.Phrase(name or "text", tuple(word[:MAX_TOKEN] for word in kept))
        found: list[Node] = []
        for piece in kept:
            if _DOTTED.fullmatch(piece):
                self.tell(f"/{piece[:60]}/ was read as {piece[:60]}")
                found.append(tree.Words(name or "text", tuple(piece.split("."))))
            else:
                leading = piece.startswith((".", "[", "("))
                found.append(self.scanned(tree.Regex(name or "text", piece), leading=leading))
        return all_of(found)

    def spelled(self, name: str, words: list[str]) -> Node:
        """Make one word of the query, given its identifiers."""
        kept = tuple(word[:MAX_TOKEN] for word in words[: self.take(len(words))])
        return tree.Words(name or "text", kept) if kept else tree.Nothing()

    def word(self, name: str, head: str = "") -> Node:
        """Read text up to white space or a separator; with `head`, as a definition with its name in that field."""
        begin = self.at
        spelled, arguments = self.characters()
        if head and (returns := self.eat(_RETURNS)):
            arguments.append(returns[1])
        if self.at == begin:
            self.at += 1
        shown = self.text[begin : self.at]
        near = self.eat(self.NEAR)
        if head and (first := re.match(r"\s*(\w+)(.*)", spelled, re.DOTALL)):
            spelled = first[1]
            arguments.insert(0, first[2])
            self.tell(f"a definition was read as its name, {spelled[:60]}")
        node = self.pieces(head or name, spelled, shown, near)
        if not arguments or self.strict or isinstance(node, tree.Nothing):
            return node
        items = [re.findall(r"\w+", re.sub(r"\\[a-z](?!\w)", " ", item)) for item in arguments]
        kept = [words for words in items if words and words not in (["and"], ["or"], ["not"])]
        return tree.preferring(node, any_of(self.spelled(name, words) for words in kept))

    def pieces(self, name: str, spelled: str, shown: str, near: re.Match[str] | None) -> Node:
        """Make a node of a word as written: patterns, names joined by dots, or plain words, perhaps with a `~`."""
        if "://" in spelled or re.search(r"\*{2}\w", spelled):
            spelled = re.sub(r"[*?]", " ", spelled)
        if re.search(r"\.[*+]", spelled) and re.search(r"\w", spelled):
            self.tell("`.*` was read as `*`")
            spelled = spelled.replace(".*", "*").replace(".+", "?*").strip("^$")
        if shown.strip(".:^$") in ("*", "**", "***", "*.*", "*:*") or shown in (".*", ".+"):
            return self.wildcard(name, "*") if self.take(1) else tree.Nothing()
        pieces = [piece[:MAX_TOKEN] for piece in re.findall(r"[\w*?]+", spelled)]
        pieces = [piece for piece in pieces if re.search(r"\w", piece)]
        if not pieces:
            self.junk[shown] = None
            return tree.Nothing()
        patterns = [piece for piece in pieces if re.search(r"[*?]", piece)]
        words = [piece for piece in pieces if not re.search(r"[*?]", piece)]
        if near and not patterns:
            return self.fuzzy(name, words, near[1])
        if not patterns and len(words) > 1 and _QUALIFIED.fullmatch(spelled.strip(".,;:!")):
            return self.qualified(name, words)
        found = [self.spelled(name, words)] if words else []
        found += [self.wildcard(name, pattern) for pattern in patterns[: self.take(len(patterns))]]
        return all_of(found)

    def qualified(self, name: str, words: list[str]) -> Node:
        """Make a node of `a.b.name`: the modules are rarely in the text of the block, so they only help to rank."""
        if name == "name":
            return all_of([self.spelled("name", words[-1:]), self.spelled("text", words)])
        whole = self.spelled(name, words)
        if name or len(words) < 3 or self.strict:
            return whole
        return tree.preferring(self.spelled("text", words[-1:]), whole)

    def characters(self) -> tuple[str, list[str]]:
        """Read the characters of one word without escapes, and the arguments of the calls in it.

        An escaped wildcard is punctuation, and so is a backslash before a letter.
        """
        kept: list[str] = []
        arguments: list[str] = []
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char == "\\" and self.at + 1 < len(text) and not text[self.at + 1].isspace():
                escaped = text[self.at + 1]
                self.at += 2
                if escaped in "nrt" and not text[self.at : self.at + 1].isalnum():
                    escaped = " "
                kept.append(f" {escaped}" if escaped.isalnum() else " ")
                continue
            if char.isspace() or char in ",;|)" or text.startswith("&&", self.at):
                break
            if char == '"' and self.QUOTED.match(text, self.at):
                break
            if char == "(":
                if not kept or not (kept[-1].isalnum() or kept[-1] in "_]>!"):
                    break
                arguments += self.arguments()
                kept.append(" ")
                if text[self.at : self.at + 1].isalnum():
                    break
                continue
            match = _BRACKETS.match(text, self.at) if char in "[<" and kept and kept[-1].isalnum() else None
            if match and not _STOP.search(match.group()):
                kept.append(re.sub(r"[*?]", " ", match.group()))
                self.at = match.end()
                continue
            if (char == "^" and self.BOOST.match(text, self.at)) or (char == "~" and self.NEAR.match(text, self.at)):
                break
            kept.append(char)
            self.at += 1
        return "".join(kept), arguments

    def arguments(self) -> list[str]:
        """Read the arguments of a call, up to the closing parenthesis or the next operator."""
        found = [""]
        depth = 0
        while self.at < len(self.text):
            match = _IN_CALL.match(self.text, self.at)
            part = match.group() if match else self.text[self.at]
            if part[0].isspace() and len(part) > 1:
                break
            self.at += len(part)
            depth += (part == "(") - (part == ")")
            if not depth:
                break
            if part in "()" or part.isspace():
                found.append("")
            else:
                first, *more = part.split(",") if part[0] not in "\"'" else [part]
                found[-1] += first
                found += more
        return [item for item in found if item]

    def wildcard(self, name: str, pattern: str) -> Node:
        """Make a pattern of `*` and `?` over the tokens of a text field."""
        pattern = re.sub(r"\*[*?]*\*", lambda run: "*" + "?" * run.group().count("?"), pattern)
        if pattern == "*" and name in ("", "text", "name"):
            return tree.Everything()
        return self.scanned(tree.Wildcard(name or "text", pattern), leading=pattern.startswith(("*", "?")))

    def fuzzy(self, name: str, words: list[str], written: str) -> Node:
        """Make a fuzzy search for words within the `written` number of edits, or fewer if a word is short."""
        found: list[Node] = []
        for word in words[: self.take(len(words))]:
            most = 0 if len(word) < 3 else 1 if len(word) < 5 else 2
            asked = 2 if not written else 1 if 0 < float(written) < 1 else min(int(float(written)), 2)
            distance = min(asked, most)
            if written and written != str(distance):
                shown = f"{word[:40]}~{distance}" if distance else word[:40]
                self.tell(f"{word[:40]}~{written} was read as {shown}: two edits at most, fewer for short words")
            if distance:
                found.append(self.scanned(tree.Fuzzy(name or "text", word, distance), leading=False))
            else:
                found.append(tree.Words(name or "text", (word,)))
        return all_of(found)
