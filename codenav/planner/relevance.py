"""The relevance of callables to a clause, and the queries that find callables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codenav.blocks import BlockKind, CodeBlock
from codenav.planner.language import FAMILY, language, segmented
from codenav.signatures.callables import CallableSignature
from codenav.signatures.docstrings import first_sentence
from codenav.signatures.names import parts, stem, words_in

NAME, OWNER, MODULE, PARAMETER, TYPE, SENTENCE, PACKAGE, DOC = 1.0, 0.8, 0.7, 0.6, 0.4, 0.6, 0.5, 0.3
"""The quality with which a callable stands for a word, 0 to 1, by the word's place: its name, its class, its module,
its parameters, their types, the first sentence of its docstring, its package, the rest of the docstring."""
MET = 0.35
"""The quality from which a word counts as stood for."""
NOWHERE = 0.3
"""The factor of a word that nothing in the package has to do with."""
UNASKED = 0.12
"""Score taken off for each word of the name that the clause does not have."""
PRIVATE, HIDDEN, DEEP = 0.5, 0.1, 0.02
"""Score taken off for a private name, for a private module, and for each module on the way to it."""
MAIN, YES_OR_NO = 0.2, 0.3
"""Score added for a callable of the package's own name, and for one that answers yes or no where that is asked."""
LATER = 0.3
"""Part of its weight that the last word of a clause loses: `the diameter of the cycle graph` asks for a diameter."""
FEW, COMMON = 3, 0.25
"""Maximum names of a package for a word to be in and say all it can; how much less it says where it is in more."""
OVERLOOKED, RARE = 0.2, 0.01
"""Score taken off where the first word is in the name of something that was not called, if it is in so few names."""
QUERY_WORDS = 8
DOC_READ = 800
"""Maximum characters of a docstring that are compared with the clause."""
_ASIDE = re.compile(
    r"(?:^|[./])(?:tests?|testing|conftest|_vendor|vendor(?:ed)?|examples?|benchmarks?)(?:[./]|$)|(?:^|[./])test_|_tests?(?:\.|$)"
)
_KINDS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL)
_HELPERS = words_in("to from get is of by as the a for with in make calc do names list")
"""The parts of names that nobody would say."""

_WRITTEN = {"and": "", "or": "", **{word: word.upper() for word in ("def", "class", "from", "import")}}
"""Words that mean something else in a query, and what is written for them: case never counts in a word."""


def queries(words: Sequence[str]) -> list[str]:
    """The searches for some words, best first: all words, without their verbs, names, documentation."""
    known = language()
    chosen = [_WRITTEN.get(word, word) for word in dict.fromkeys(words)]
    chosen = [word for word in chosen if word][:QUERY_WORDS]
    plain = [word for word in chosen if word not in known.verbs] or chosen
    kinds = f"type: ({' OR '.join(kind.value for kind in _KINDS)})"
    told = [
        f"({' '.join(chosen)}) AND {kinds}",
        f"({' '.join(plain)}) AND {kinds}",
        f"({kinds}) AND name: ({' OR '.join(chosen)})",
        f"({kinds}) AND doc: ({' OR '.join(plain)})",
    ]
    nouns = [word for word in plain if len(word) > 2 and word not in known.weak]
    if nouns:
        files = " OR ".join(f"file_path: */{word}.py" for word in nouns[:4])
        # Names that are written as one word: `getpixel`.
        inside = " OR ".join(f"name: *{stem(word)}*" for word in nouns[:3] if len(stem(word)) > 3)
        told.append(f"({kinds}) AND ({inside or f'name: {nouns[-1]}*'} OR {files})")
        # An object of a module may be called as well.
        told.append(f"(type: {BlockKind.ASSIGNMENT.value}) AND name: ({' OR '.join(nouns)})")
    return list(dict.fromkeys(told)) if chosen else []


@dataclass(frozen=True)
class Described:
    """The texts of a callable that can stand for words."""

    name: str
    owner: str
    module: str
    parameters: Sequence[str]
    doc: str
    types: Sequence[str] = ()
    """The types of the parameters and the result."""

    @classmethod
    def block(cls, block: CodeBlock) -> Described:
        """The texts of a block of the index, before anybody looked at it."""
        names = re.findall(r"(\w+)\s*[:=,)]", block.signature.partition("(")[2])
        return cls(block.name, block.qualname.rpartition(".")[0], module_of(block), names, block.docstring)

    @classmethod
    def item(cls, item: CallableSignature) -> Described:
        """The texts of a callable as the interpreter sees it."""
        # Nobody asks where the class of an object at hand is from, and one that is called itself has no name.
        at_hand = item.kind in ("member", "value")
        owner = item.owner if item.kind in ("method", "property") else ""
        dotted = "" if at_hand else item.expression.rpartition(".")[0]
        types = [*(parameter.type for parameter in item.parameters), item.returns]
        name, module = "" if item.name == "__call__" else item.name, "" if at_hand else item.module
        return cls(name, owner or dotted, module, [one.name for one in item.parameters], item.doc, types)


class Meaning:
    """The words of a clause, compared with callables."""

    def __init__(self, words: Sequence[str], *, counts: Mapping[str, int] | None = None, whether: bool = False) -> None:
        """`counts`: the number of names of the package that each stem is in; those in many say little."""
        self.words = tuple(dict.fromkeys(words))
        self._counts = counts if counts is not None else {}
        self._whether = whether
        self._counted = -1
        self._weights: dict[str, float] = {}
        self._seen: dict[int, dict[str, float]] = {}
        self._in_name: dict[int, dict[str, float]] = {}
        self._scores: dict[int, float] = {}
        # Keeps compared callables alive, so that their ids stay their own.
        self._kept: list[CallableSignature | Described] = []
        self._anywhere: set[str] = set()
        self._named: set[str] = set()

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each word, by what it says of what is wanted: the first ones weigh more than the last."""
        if len(self._counts) != self._counted:
            self._counted = len(self._counts)
            self._weights = {
                word: language().weight(word)
                * (1 - LATER * place / len(self.words))
                / (1 + COMMON * math.log2(max(1.0, self._counts.get(stem(word), 0) / FEW)))
                for place, word in enumerate(self.words)
            }
        return self._weights

    def qualities(self, item: CallableSignature) -> dict[str, float]:
        """The quality with which a callable stands for each word, 0 to 1."""
        if id(item) not in self._seen:
            self._seen[id(item)] = found = self._of(Described.item(item))
            self._anywhere.update(word for word, quality in found.items() if quality >= DOC)
            self._named.update(word for word, quality in found.items() if quality >= NAME)
            self._kept.append(item)
        return self._seen[id(item)]

    def in_name(self, item: CallableSignature) -> dict[str, float]:
        """The quality with which its own name and its class stand for each word, 0 to 1."""
        if id(item) not in self._in_name:
            described = Described.item(item)
            self._in_name[id(item)] = self._of(Described(described.name, described.owner, "", (), ""))
            self._kept.append(item)
        return self._in_name[id(item)]

    def nearest(self, part: str) -> str:
        """The word of the clause that means nearly the same as a part of a name; empty where none does."""
        near = {word: language().likeness(word, part) for word in self.words}
        return max((word for word in near if near[word] >= FAMILY), key=lambda word: near[word], default="")

    def _of(self, item: Described) -> dict[str, float]:
        package, _, inner = item.module.partition(".")
        doc = item.doc[:DOC_READ]
        ways = (
            (segmented(item.name, self.words), NAME),
            (segmented(item.owner, self.words), OWNER),
            (segmented(inner, self.words), MODULE),
            ([part for parameter in item.parameters for part in segmented(parameter, self.words)], PARAMETER),
            (parts(first_sentence(doc)), SENTENCE),
            (segmented(package, self.words), PACKAGE),
            ([part for type_ in item.types for part in parts(type_)], TYPE),
            (parts(doc), DOC),
        )
        found = {}
        for word in self.words:
            best = 0.0
            for pool, worth in ways:
                if worth > best:
                    best = max(best, worth * max((language().likeness(word, one) for one in pool), default=0.0))
            found[word] = best
        joined = "".join(parts(item.name))
        for run in _runs(self.words):
            whole = "".join(run) in (joined, joined.removeprefix("is"), joined.removeprefix("get"))
            letters = "".join(word[0] for word in run)
            if (
                (whole and (len(run) > 1 or re.search(r"\d", run[0])))
                or (len(run) == 2 and len(run[1]) > 3 and run[0][0] + run[1] == joined)
                or (len(run) > 2 and letters == joined)
            ):
                # `jsonpath`, `isprime`; `dmetaphone`, double metaphone; `irr`, the internal rate of return.
                found.update(dict.fromkeys(run, NAME))
        return found

    def score(self, item: CallableSignature | Described) -> float:
        """The score of a callable: how likely the clause asks for it. What is asked for comes first."""
        if id(item) not in self._scores:
            described = item if isinstance(item, Described) else Described.item(item)
            found = self._of(item) if isinstance(item, Described) else self.qualities(item)
            total = sum(self.weights.values()) or 1.0
            share = sum(self.weights[word] * found[word] for word in self.words) / total
            self._scores[id(item)] = share - UNASKED * self.unasked(described) + self.prior(described)
            self._kept.append(item)
        return self._scores[id(item)]

    def literally(self, item: CallableSignature) -> bool:
        """True if its name is just words of the clause, as they stand there: `records`, and not `record`."""
        own = parts(item.name)
        return bool(own) and set(own) <= set(self.words)

    def prior(self, described: Described) -> float:
        """The score of its name and place alone: how likely anything like that is asked for."""
        places = f"{described.module}.{described.owner}".split(".")
        # The callable that a package is named after is what it is for.
        main = not described.owner and described.name.lower() == places[0].lower()
        checks = re.match(r"(?:is|are|has|can)(?:_|[A-Z]|(?=[a-z]))|valid", described.name)
        return (
            MAIN * main
            - PRIVATE * bool(re.match(r"_(?!_)", described.name))
            - HIDDEN * any(place.startswith("_") for place in places)
            + YES_OR_NO * (self._whether and bool(checks))
            - DEEP * described.module.count(".")
        )

    def unasked(self, item: Described) -> int:
        """The number of words of its name that the clause does not have."""
        own = [part for part in segmented(item.name, self.words) if part not in _HELPERS and part.isalpha()]
        return sum(not any(language().likeness(part, word) for word in self.words) for part in own)

    def share(self, items: Iterable[CallableSignature], met: Mapping[str, float] | None = None) -> float:
        """The part of the clause that callables explain together, 0 to 1; something else explains the words `met`."""
        each = [*(self.qualities(item) for item in items), met or {}]
        weighed = {word: self.weights[word] * (1.0 if word in self._anywhere else NOWHERE) for word in self.words}
        total = sum(weighed.values())
        if not total:
            return 1.0
        met_by = {word: max(one.get(word, 0.0) for one in each) for word in self.words}
        head = next((word for word in self.words if self.weights[word] >= 0.5), "")
        rare = self._counts.get(stem(head), 0) <= max(FEW, RARE * self._counts.get("", 0))
        overlooked = rare and head in self._named and met_by[head] < MET
        return sum(weighed[word] * met_by[word] for word in self.words) / total - OVERLOOKED * overlooked

    def left(self, items: Iterable[CallableSignature]) -> list[str]:
        """The words that none of the callables stands for."""
        each = [self.qualities(item) for item in items]
        return [word for word in self.words if all(one[word] < MET for one in each)]

    def unnamed(self, items: Iterable[CallableSignature]) -> list[str]:
        """The words that none of the callables is named for: a docstring may only say what else its object has."""
        each = [self.in_name(item) for item in items]
        return [word for word in self.words if all(one[word] < MET for one in each)]


def callable_blocks(blocks: Iterable[CodeBlock], meaning: Meaning, *, limit: int) -> list[CodeBlock]:
    """The blocks that can be called, those that explain most first; one for each name that is imported."""
    found: dict[tuple[str, str], tuple[float, CodeBlock]] = {}
    for block in blocks:
        is_object = block.kind is BlockKind.ASSIGNMENT and block.qualname.isidentifier()
        special = block.name.startswith("__") and block.name != "__call__"
        if special or not (block.kind in _KINDS or is_object) or not block.import_line:
            continue
        if not _ASIDE.search(f"{block.path}.{module_of(block)}") and (block.import_line, block.qualname) not in found:
            found[block.import_line, block.qualname] = (-meaning.score(Described.block(block)), block)
    ranked = sorted(found.values(), key=lambda item: (item[0], len(item[1].import_line), item[1].path))
    return [block for _, block in ranked[:limit]]


def module_of(block: CodeBlock) -> str:
    """The module that a block is imported from."""
    match = re.match(r"from\s+([\w.]+)", block.import_line)
    return match[1] if match else ""


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """The runs of words side by side, the longest first."""
    for length in range(min(len(words), 4), 0, -1):
        for at in range(len(words) - length + 1):
            yield words[at : at + length]
