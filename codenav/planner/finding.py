"""Which callables a clause may mean: the queries that find them, and how much of the clause each stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codenav.blocks import BlockKind, CodeBlock
from codenav.planner.words import FAMILY, Language, abbreviates, segmented
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts, stem

NAME, OWNER, MODULE, PARAMETER, TYPE, SENTENCE, SAID, DOC = 1.0, 0.8, 0.7, 0.6, 0.4, 0.6, 0.34, 0.3
"""What a word of the clause counts that stands in the name, in the class, in the module, among the parameters, among
their types, in the first sentence of the docstring, beside an example, or further down in the docstring. A
callable is chosen by its name first, as a person would."""
PACKAGE = 0.5
"""The same for the package's own name, which all in it have."""
ABBREVIATION, SHORT = 0.9, 8
"""The same for a name that abbreviates several words, and letters of such a name."""
MET = 0.35
"""From here on a word counts as stood for."""
NOWHERE = 0.3
"""What a word weighs that nothing in the package has to do with."""
UNASKED = 0.12
"""Taken off for each word of the name that the clause does not have."""
PRIVATE, HIDDEN, DEEP = 0.5, 0.1, 0.02
"""Taken off for a private name, for a private module, and for each module on the way to it."""
MAIN = 0.2
"""Added for a callable that has the package's own name."""
YES_OR_NO = 0.3
"""Added for what answers yes or no where that is asked."""
LATER = 0.3
"""What the last word of a clause weighs less than the first: `the diameter of the cycle graph` asks for a diameter."""
FEW, COMMON = 3, 0.25
"""A word that is in so many names of a package says all it can; in how far it says less where it is in more."""
NAMED = 0.8
"""What a word like `lowest` weighs where a few names of the package say so."""
OVERLOOKED = 0.2
"""Taken off where the first word, a rare one, is in the name of something which was not called."""
RARE = 0.01
"""Share of a package's names that a rare word may be in."""
QUERY_WORDS = 8
DOC_READ = 800
"""Characters of a docstring that are compared with the clause."""
_ASIDE = re.compile(
    r"(?:^|[./])(?:tests?|testing|conftest|_vendor|vendor(?:ed)?|examples?|benchmarks?)(?:[./]|$)|(?:^|[./])test_|_tests?(?:\.|$)"
)
_KINDS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS)
_HELPERS = frozenset(
    (
        "to",
        "from",
        "get",
        "is",
        "of",
        "by",
        "as",
        "the",
        "a",
        "for",
        "with",
        "in",
        "make",
        "calc",
        "do",
        "names",
        "list",
    )
)
"""Parts of names that nobody would say."""


def queries(words: Sequence[str], known: Language) -> list[str]:
    """What to search for, best first: all words, the words without their verbs, names, documentation."""
    chosen = list(dict.fromkeys(words))[:QUERY_WORDS]
    plain = [word for word in chosen if word not in known.verbs] or chosen
    kinds = " OR ".join(kind.value for kind in _KINDS)
    told = [
        f"({' '.join(chosen)}) AND type: ({kinds})",
        f"({' '.join(plain)}) AND type: ({kinds})",
        f"(type: ({kinds})) AND name: ({' OR '.join(chosen)})",
        f"(type: ({kinds})) AND doc: ({' OR '.join(plain)})",
    ]
    nouns = [word for word in plain if len(word) > 2 and word not in known.weak]
    if nouns:
        files = " OR ".join(f"file_path: */{word}.py" for word in nouns[:4])
        # Names that are written as one word: `getpixel`.
        inside = " OR ".join(f"name: *{stem(word)}*" for word in nouns[:3] if len(stem(word)) > 3)
        told.append(f"(type: ({kinds})) AND ({inside or f'name: {nouns[-1]}*'} OR {files})")
        # An object of a module may be called as well.
        told.append(f"(type: {BlockKind.ASSIGNMENT.value}) AND name: ({' OR '.join(nouns)})")
    return list(dict.fromkeys(told)) if chosen else []


@dataclass(frozen=True)
class Described:
    """What of a callable can stand for words."""

    name: str
    owner: str
    module: str
    parameters: Sequence[str]
    doc: str
    types: Sequence[str] = ()
    """Of the parameters and the result."""
    said: str = ""
    """Beside its uses in examples."""

    @classmethod
    def block(cls, block: CodeBlock) -> Described:
        """A block of the index, before anybody looked at it."""
        names = re.findall(r"(\w+)\s*[:=,)]", block.signature.partition("(")[2])
        return cls(block.name, block.qualname.rpartition(".")[0], module_of(block), names, block.docstring)

    @classmethod
    def item(cls, item: CallableSignature) -> Described:
        """A callable, as the interpreter sees it."""
        owner = item.owner if item.kind in ("method", "property") else ""
        dotted = item.expression.rpartition(".")[0] if item.kind not in ("member", "value") else ""
        names = [parameter.name for parameter in item.parameters]
        types = [*(parameter.type for parameter in item.parameters), item.returns]
        # Of an object at hand nobody asks where its class is from.
        module = item.module if item.kind not in ("member", "value") else ""
        # Of an object that is called itself the name says nothing.
        name = "" if item.name == "__call__" else item.name
        return cls(name, owner or dotted, module, names, item.doc, types, item.said)


class Meaning:
    """A clause's words, compared with callables."""

    def __init__(
        self, words: Sequence[str], known: Language, *, counts: Mapping[str, int] | None = None, whether: bool = False
    ) -> None:
        """`counts`: in how many names of the package a stem is; those in many say little."""
        self.words = tuple(dict.fromkeys(words))
        self._counts = counts if counts is not None else {}
        self._known, self._whether = known, whether
        self._counted = -1
        self._weights: dict[str, float] = {}
        self._seen: dict[int, dict[str, float]] = {}
        self._in_name: dict[int, dict[str, float]] = {}
        self._scores: dict[int, float] = {}
        # Their ids stay their own.
        self._kept: list[CallableSignature | Described] = []
        self._anywhere: set[str] = set()
        self._named: set[str] = set()

    @property
    def weights(self) -> Mapping[str, float]:
        """What each word says of what is wanted: the first ones more than the last."""
        if len(self._counts) != self._counted:
            self._counted = len(self._counts)
            self._weights = {
                word: (NAMED if self._is_named(word) else self._known.weight(word))
                * (1 - LATER * place / len(self.words))
                / (1 + COMMON * math.log2(max(1.0, self._counts.get(stem(word), 0) / FEW)))
                for place, word in enumerate(self.words)
            }
        return self._weights

    def _is_named(self, word: str) -> bool:
        """Whether a few names of the package say what is asked of a collection: `roll_min` for the lowest roll."""
        if word not in self._known.asking:
            return False
        names = sum(self._counts.get(other, 0) for other in self._known.related.get(stem(word), ()))
        return 0 < names <= 2 * FEW

    def qualities(self, item: CallableSignature) -> dict[str, float]:
        """How well it stands for each word, 0 to 1."""
        if id(item) not in self._seen:
            self._seen[id(item)] = found = self.of(Described.item(item))
            self._anywhere.update(word for word, quality in found.items() if quality >= DOC)
            self._named.update(word for word, quality in found.items() if quality >= NAME)
            self._kept.append(item)
        return self._seen[id(item)]

    def nearest(self, part: str) -> str:
        """The word that means nearly the same as a part of a name; empty where none does."""
        return max(
            (word for word in self.words if self._known.likeness(word, part) >= FAMILY),
            key=lambda word: self._known.likeness(word, part),
            default="",
        )

    def in_name(self, item: CallableSignature) -> dict[str, float]:
        """How well its own name and its class stand for each word, 0 to 1."""
        if id(item) not in self._in_name:
            described = Described.item(item)
            self._in_name[id(item)] = self.of(Described(described.name, described.owner, "", (), ""))
            self._kept.append(item)
        return self._in_name[id(item)]

    def of(self, item: Described) -> dict[str, float]:
        """The same for what is described."""
        name = segmented(item.name, self.words)
        package, _, inner = item.module.partition(".")
        doc = item.doc[:DOC_READ]
        first = first_sentence(doc)
        ways = (
            (name, NAME),
            (segmented(item.owner, self.words), OWNER),
            (segmented(inner, self.words), MODULE),
            ([part for parameter in item.parameters for part in segmented(parameter, self.words)], PARAMETER),
            ([part for type_ in item.types for part in parts(type_)], TYPE),
            (parts(first), SENTENCE),
            (segmented(package, self.words), PACKAGE),
            (parts(item.said), SAID),
            (parts(doc), DOC),
        )
        found = {}
        for word in self.words:
            best = 0.0
            for pool, worth in ways:
                if worth > best:
                    best = max(best, worth * max((self._known.likeness(word, other) for other in pool), default=0.0))
            found[word] = best
        joined = "".join(parts(item.name))
        for run in _runs(self.words):
            if (len(run) > 1 or re.search(r"\d", run[0])) and "".join(run) in (
                joined,
                joined.removeprefix("is"),
                joined.removeprefix("get"),
            ):
                # `jsonpath`, `isprime`: words of the clause written as one.
                found.update(dict.fromkeys(run, NAME))
            elif 1 < len(run) < len(joined) <= SHORT and joined not in run and abbreviates(joined, tuple(run)):
                # `isqrt`: the integer square root; `date` is no date of Easter.
                found.update({word: max(found[word], ABBREVIATION) for word in run})
            elif len(run) == 2 and len(run[1]) > 3 and run[0][0] + run[1] == joined:
                # `dmetaphone`: double metaphone.
                found.update(dict.fromkeys(run, NAME))
            elif len(run) > 2 and "".join(word[0] for word in run) == joined:
                # `irr`: the internal rate of return.
                found.update(dict.fromkeys(run, NAME))
        return found

    def score(self, item: CallableSignature | Described) -> float:
        """How likely the clause asks for it. What is asked for comes first."""
        if id(item) not in self._scores:
            self._scores[id(item)] = self._score(item)
            self._kept.append(item)
        return self._scores[id(item)]

    def _score(self, item: CallableSignature | Described) -> float:
        described = item if isinstance(item, Described) else Described.item(item)
        found = self.of(item) if isinstance(item, Described) else self.qualities(item)
        weights = self.weights
        total = sum(weights.values()) or 1.0
        score = sum(weights[word] * found[word] for word in self.words) / total - UNASKED * self.unasked(described)
        return score + self.prior(described)

    def literally(self, item: CallableSignature) -> bool:
        """Whether its name is just words of the clause, as they stand there: `records`, and not `record`."""
        own = parts(item.name)
        return bool(own) and set(own) <= set(self.words)

    def prior(self, described: Described) -> float:
        """How likely anything of that name, at that place, is asked for."""
        score = 0.0
        if not described.owner and described.name.lower() == described.module.partition(".")[0].lower():
            # What a package is named after is what it is for.
            score += MAIN
        score -= PRIVATE * bool(re.match(r"_(?!_)", described.name))
        score -= HIDDEN * any(piece.startswith("_") for piece in f"{described.module}.{described.owner}".split("."))
        if self._whether and re.match(r"(?:is|are|has|can)(?:_|[A-Z]|(?=[a-z]))|valid", described.name):
            score += YES_OR_NO
        return score - DEEP * described.module.count(".")

    def unasked(self, item: Described) -> int:
        """Words of its name that the clause does not have."""
        own = [part for part in segmented(item.name, self.words) if part not in _HELPERS and part.isalpha()]
        return sum(not any(self._known.likeness(part, word) for word in self.words) for part in own)

    def share(self, items: Iterable[CallableSignature], met: Mapping[str, float] | None = None) -> float:
        """How much of the clause some callables stand for together, 0 to 1; for the words `met` something else does."""
        each = [self.qualities(item) for item in items]
        met = met or {}
        weights = self.weights
        weighed = {word: weights[word] * (1.0 if word in self._anywhere else NOWHERE) for word in self.words}
        total = sum(weighed.values())
        if not total:
            return 1.0
        met_by = {word: max(met.get(word, 0.0), max((one[word] for one in each), default=0.0)) for word in self.words}
        head = next((word for word in self.words if self.weights[word] >= 0.5), "")
        rare = self._counts.get(stem(head), 0) <= max(FEW, RARE * self._counts.get("", 0))
        overlooked = rare and head in self._named and met_by[head] < MET
        return sum(weighed[word] * met_by[word] for word in self.words) / total - OVERLOOKED * overlooked

    def left(self, items: Iterable[CallableSignature]) -> list[str]:
        """Words that none of them stands for."""
        each = [self.qualities(item) for item in items]
        return [word for word in self.words if all(one[word] < MET for one in each)]

    def unnamed(self, items: Iterable[CallableSignature]) -> list[str]:
        """Words that none of them is named for: a docstring may only say what else its object has."""
        each = [self.in_name(item) for item in items]
        return [word for word in self.words if all(one[word] < MET for one in each)]


def candidates(blocks: Iterable[CodeBlock], meaning: Meaning, *, limit: int) -> list[CodeBlock]:
    """The blocks that can be called, those first that explain most; one for each name that is imported."""
    found: dict[tuple[str, str], tuple[float, CodeBlock]] = {}
    for block in blocks:
        is_object = block.kind is BlockKind.ASSIGNMENT and block.qualname.isidentifier()
        if (
            not (block.kind in _KINDS or is_object)
            or not block.import_line
            or _ASIDE.search(f"{block.path}.{module_of(block)}")
        ):
            continue
        if block.name.startswith("__") and block.name != "__call__":
            continue
        key = (block.import_line, block.qualname)
        if key not in found:
            found[key] = (-meaning.score(Described.block(block)), block)
    ranked = sorted(found.values(), key=lambda item: (item[0], len(item[1].import_line), item[1].path))
    return [block for _, block in ranked[:limit]]


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, in one line."""
    return re.split(r"(?<=[a-z)])\.(?:\s|$)|\n\s*\n", " ".join(text[:400].split("\n\n")[0].split()))[0]


def module_of(block: CodeBlock) -> str:
    """Where it is imported from."""
    match = re.match(r"from\s+([\w.]+)", block.import_line)
    return match[1] if match else ""


def _runs(words: Sequence[str]) -> Iterable[Sequence[str]]:
    """Words side by side, the longest first."""
    for length in range(min(len(words), 4), 0, -1):
        for at in range(len(words) - length + 1):
            yield words[at : at + length]
