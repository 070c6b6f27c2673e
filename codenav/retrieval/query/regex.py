"""Translation of regular expressions to the dialect that all stores share.

An index contains identifiers (runs of letters, digits and `_`, in lower case), and a pattern is matched against a
whole identifier. So white space and punctuation in a pattern separate identifiers: `def\\s+get_\\w+\\(` is two
patterns. The rest is literals, `.`, `[...]`, groups, `|` and repetition, which Elasticsearch 8.19 and tantivy 0.27
read alike; they differ in anchors, `(?:`, `\\b`, POSIX classes, lazy repetition and `@ & ~ # < > "` (29 patterns were
tried).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LENGTH = 300
"""Characters of a pattern as written. Elasticsearch refuses regular expressions of over 1,000 characters, and the
translation can be three times as long."""
MAX_REPEATS = 100
"""The largest number of a counted repetition. What is too large for an engine for another reason it refuses itself."""


class Beyond(Exception):
    """Raised for a pattern that has no translation to the common dialect; the text says why."""


@dataclass(frozen=True, slots=True)
class _Part:
    kind: str
    """`atom`, `repeat`, `open`, `close`, `or`, `edge` (an anchor), `gap` (a character outside identifiers)."""
    text: str


def patterns(written: str) -> list[list[str]]:
    """Alternatives, each a list of patterns for identifiers side by side; a pattern may contain `|` itself.

    Raises:
        Beyond: the pattern has no translation to the common dialect, or is too long.
    """
    if len(written) > MAX_LENGTH:
        raise Beyond(f"it has over {MAX_LENGTH} characters")
    parts = _parts(written)
    alternatives = _alternatives(parts) if any(part.kind == "gap" for part in parts) else [parts]
    return [pieces for alternative in alternatives if (pieces := _pieces(alternative))]


def wildcard_regex(pattern: str) -> str:
    """Translate a wildcard pattern into a regular expression of the common dialect for whole tokens."""
    parts = re.findall(r"\\.|[*?]|[^*?\\]+", pattern, re.DOTALL)
    return "".join({"*": ".*", "?": "."}.get(part) or literal_regex(part.removeprefix("\\")) for part in parts)


def literal_regex(text: str) -> str:
    """The regular expression for a literal text; characters that engines escape differently become `.`."""
    return re.sub(r'["@<>]', ".", re.sub(r"[.+*?()|\[\]{}^$#&~\\]", lambda match: "\\" + match.group(), text))


def literal(pattern: str) -> bool:
    """True if a pattern is just a word."""
    return re.fullmatch(r"\w+", pattern) is not None


def _parts(written: str) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    text = re.sub(r"\(\?[aimsux]{1,6}\)", "", written)
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.lastgroup is None:
            raise Beyond("it is not well formed")
        at = match.end()
        kind, part = match.lastgroup, match.group()
        if kind == "beyond":
            raise Beyond("look-around and back references are not understood")
        if kind == "cls":
            parts.append(_class(part))
        elif kind == "escape":
            parts.append(_escape(part[1]))
        elif kind == "other":
            parts.append(_literal(part))
        else:
            parts.append(_Part(kind, "(" if kind == "open" else match["count"] if kind == "repeat" else part))
    return parts


_PART = re.compile(
    r"""(?P<repeat>(?P<count>[*+?]|\{\d{1,9}(?:,\d{0,9})?\})\??)
    | (?P<beyond>\(\?(?:[=!>#]|<[=!])|\\[1-9]|\\[kgpPuUxN])
    | (?P<open>\((?:\?:|\?P?<\w+>)?) | (?P<close>\)) | (?P<or>\|)
    | (?P<edge>\^|\$|\\[bAZz])
    | (?P<cls>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])
    | (?P<escape>\\.) | (?P<atom>\.) | (?P<other>[^\\\[\](){}*+?|.^$])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"w": ".", "S": ".", "d": "[0-9]", "D": "[^0-9]"}


def _escape(char: str) -> _Part:
    if char in _ESCAPES:
        return _Part("atom", _ESCAPES[char])
    if char in "sWnrtfvB":
        return _Part("gap", char)
    if char.isascii() and char.isalnum():
        raise Beyond(f"\\{char} is not understood")
    return _literal(char)


def _literal(char: str) -> _Part:
    if not (char.isalnum() or char == "_"):
        return _Part("gap", char)
    lower = char.lower()
    return _Part("atom", lower if len(lower) == 1 else ".")


_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_POSIX = {
    "alpha": "a-z", "alnum": "a-z0-9", "digit": "0-9", "word": r"\w", "upper": "a-z", "lower": "a-z",
    "xdigit": "0-9a-f", "space": r"\s", "punct": "_", "blank": r"\s",
}  # fmt: skip
_OTHER = "\U00010000"
"""A letter that nobody writes: a class that matches it matches all that is not ASCII."""


def _class(written: str) -> _Part:
    """A character class reduced to the characters of identifiers: `[\\w.]` and `[^)]` become `.`, `[ (]` a gap.

    Python's own engine says which of them the class matches.
    """
    negated = written.startswith("[^")
    inner = re.sub(r"\[:(\w+):\]", lambda name: _POSIX.get(name[1], "[:"), written[1 + negated : -1])
    if "[:" in inner:
        raise Beyond("a class of characters is not understood")
    # Python warns of characters that may mean something else in a class one day.
    plain = re.sub(r"(\\.)|[\[&|~^]|-(?=-)|(?<=-)-", lambda sign: sign[1] or f"\\{sign[0]}", inner, flags=re.DOTALL)
    try:
        matched = re.compile(f"[{plain}]")
    except re.error as error:
        raise Beyond(f"{error.msg} is not understood") from error
    chars = {char for char in _WORD if matched.match(char) or matched.match(char.upper())}
    rest = (matched.match(_OTHER) is not None) != negated
    others = re.findall(r"[^\x00-\x7f](?:-[^\x00-\x7f])?", inner) if rest == negated else []
    lower = [other.lower() if len(other.lower()) == 1 else other for other in others]
    return _said(_WORD - chars if negated else chars, rest, [other for other in lower if not other.isascii()])


def _said(chars: set[str] | frozenset[str], rest: bool, others: list[str]) -> _Part:
    """The class of `chars` of ASCII identifiers and, with `rest`, all other characters; `others` are exceptions."""
    listed = sorted(_WORD - chars if rest else chars)
    text = "".join(_ranges(listed)) + "".join(dict.fromkeys(others))
    if rest:
        return _Part("atom", f"[^{text}]" if text else ".")
    if not text:
        return _Part("gap", " ")
    return _literal(text) if len(text) == 1 else _Part("atom", f"[{text}]")


def _ranges(chars: list[str]) -> list[str]:
    runs: list[str] = []
    for char in chars:
        if runs and ord(runs[-1][-1]) + 1 == ord(char):
            runs[-1] += char
        else:
            runs.append(char)
    return [f"{run[0]}-{run[-1]}" if len(run) > 2 else run for run in runs]


def _alternatives(parts: list[_Part]) -> list[list[_Part]]:
    """The parts split at each `|` outside groups."""
    depth = 0
    found: list[list[_Part]] = [[]]
    for part in parts:
        depth += (part.kind == "open") - (part.kind == "close")
        if part.kind == "or" and not depth:
            found.append([])
        else:
            found[-1].append(part)
    return found


def _pieces(parts: list[_Part]) -> list[str]:
    """The patterns between gaps, without trivial ones such as `.*` unless there is no other."""
    pieces: list[list[str]] = [[]]
    depth, before = 0, ""
    for at, part in enumerate(parts):
        current = pieces[-1]
        if part.kind == "edge":
            following = parts[at + 1].kind if at + 1 < len(parts) else ""
            inside = before not in ("", "open", "or", "gap") and following not in ("", "close", "or", "gap")
            if inside or (part.text in "^$" and depth):
                raise Beyond("an anchor inside it is not understood")
            continue
        if part.kind == "gap":
            if depth:
                raise Beyond("white space or punctuation in a group cannot match: an identifier has none")
            pieces.append([])
        elif part.kind == "repeat":
            if before == "gap":
                continue
            if before not in ("atom", "close"):
                raise Beyond("it repeats nothing" if before != "repeat" else "it repeats a repetition")
            if any(int(number) > MAX_REPEATS for number in re.findall(r"\d+", part.text)):
                raise Beyond(f"it repeats over {MAX_REPEATS} times")
            current.append(part.text)
        else:
            depth += (part.kind == "open") - (part.kind == "close")
            if depth < 0 or (part.kind in ("or", "close") and before in ("", "open", "or", "gap")):
                raise Beyond("it is not well formed")
            current.append(part.text)
        before = part.kind
    if depth or before == "or":
        raise Beyond("it is not well formed")
    joined = ["".join(piece) for piece in pieces]
    said = [piece for piece in joined if re.sub(r"[.*+?]|\{[\d,]*\}", "", piece)]
    return said or [piece for piece in joined if piece][:1]
