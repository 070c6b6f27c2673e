"""What the packages hold, as far as it was asked for: through the search index, and of the interpreter."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import replace

from codenav.actions import Action, Observation, Search, SearchObservation
from codenav.blocks import CodeBlock
from codenav.planner.calls import Caller, Result
from codenav.planner.examples import Examples, illustrated
from codenav.planner.finding import Meaning, candidates, module_of, queries
from codenav.planner.goals import Goal
from codenav.planner.words import Language
from codenav.planner.writing import Value
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts, stem
from codenav.signatures.types import BUILTIN

SURVEYED = 14
"""Callables of one search that the interpreter is asked about."""
TOLD_NAMES = 30
"""Names in examples that the package is asked about."""
TOLD = 6
"""Modules whose docstrings are read for examples."""
MOST_INNER = 6
"""Modules in a package that it is asked about, beside the package itself."""
MOST_FOREIGN = 10
"""Callables of other packages that are asked about, because examples use them."""
SEARCHES = 6
"""That are made for a clause."""
EVERYTHING = "type: (FUNCTION OR CLASS)"


class Pool:
    """Callables, constants and objects that requests may mean. It grows with each question."""

    def __init__(self, caller: Caller, known: Language, packages: Collection[str] = ()) -> None:
        self.caller, self.known, self._packages = caller, known, packages
        self.surveys: dict[tuple[str, str], CallableSignature] = {}
        self._seen: dict[str, CodeBlock] = {}
        self.modules: list[str] = []
        self._looked: set[str] = set()
        self._glanced = False
        self._studied: set[str] = set()
        self._illustrated: dict[str, CallableSignature] = {}
        self._counts: dict[str, int] = {}
        self._asked: set[str] = set()
        self._foreign: dict[tuple[str, str], CallableSignature] = {}
        self.examples = Examples()
        self._meanings: dict[tuple[tuple[str, ...], bool], Meaning] = {}

    def meaning(self, words: Sequence[str], *, whether: bool = False) -> Meaning:
        """Compared with each callable once."""
        key = (tuple(words), whether)
        if key not in self._meanings:
            self._meanings[key] = Meaning(words, self.known, counts=self._counts, whether=whether)
        return self._meanings[key]

    def look(self, meaning: Meaning, more: Sequence[str], goal: Goal) -> Generator[Action, Observation, None]:
        """Search for words, and for `more` that need not be explained; then ask what those found take."""
        told = queries([*meaning.words, *more], self.known)
        if not told or goal.searches >= SEARCHES or told[0] in self._looked:
            return
        self._looked.add(told[0])
        goal.searches += 1
        observed = yield Search("\n".join(told))
        if isinstance(observed, SearchObservation):
            # What was shown in full is not shown again: it stays in mind.
            self._seen.update((hit.id, hit.block) for result in observed.results for hit in result.hits)
        chosen = candidates(self._seen.values(), meaning, limit=SURVEYED)
        items = [(block.import_line, block.qualname) for block in chosen]
        owners = [(line, name.rpartition(".")[0]) for line, name in items if "." in name]
        unknown = [item for item in dict.fromkeys([*items, *owners]) if item not in self.surveys]
        self.modules += [module_of(block) for block in chosen]
        if unknown:
            names = ", ".join(dotted for _, dotted in unknown[:5]) + (" …" if len(unknown) > 5 else "")
            found = yield from self.caller.ask({"items": unknown}, f"What do {names} take?")
            self._take(found.items)
            for why in found.failures[:1]:
                goal.fails(why)

    def glance(self) -> Generator[Action, Observation, None]:
        """What distributions install, which may be compiled; where no word is found, what the code base is called."""
        if self._packages and not self._glanced:
            self._glanced = True
            found = yield from self.caller.ask({"distributions": sorted(self._packages)}, "What can be imported?")
            self.modules += found.texts
        if self.modules:
            return
        observed = yield Search(EVERYTHING)
        if isinstance(observed, SearchObservation):
            blocks = [hit.block for found in observed.results for hit in found.hits]
            # Of a package that is compiled only its folder tells the name.
            self.modules += [module_of(block) or re.split(r"[/.]", block.path)[0] for block in blocks]
            self.modules = [module for module in dict.fromkeys(self.modules) if module]

    def offer(self, goal: Goal, more: Sequence[str] = ()) -> Generator[Action, Observation, None]:
        """Ask the packages themselves: what no index holds, such as C extensions and what is made at run time."""
        tops = dict.fromkeys(module.partition(".")[0] for module in self.modules)
        inner = dict.fromkeys(one for module in self.modules if "." in module for one in (_outer(module), module))
        modules = [*list(tops)[:3], *[module for module in inner if "." in module][:MOST_INNER]]
        words = {word: 0.3 for word in more}
        words |= {name.lower(): 0.3 for name in self.examples.names[:TOLD_NAMES] if len(name) > 2}
        for word in goal.meaning.words:
            for other in self.known.related.get(stem(word), ()):
                words[other] = max(words.get(other, 0.0), 0.5 * goal.meaning.weights[word])
        words |= {stem(word): weight for word, weight in goal.meaning.weights.items()}
        words = {word: weight for word, weight in words.items() if len(word) > 2}
        if not modules or not words or (asked := f"{modules} {sorted(words)}") in self._looked:
            return
        self._looked.add(asked)
        question = {"package": modules, "words": words, "used": self.examples.names[:TOLD_NAMES]}
        found = yield from self.caller.ask(question, f"What does {modules[0]} itself offer?")
        self._take(found.items)
        self._counts.update(found.counts)

    def study(self) -> Generator[Action, Observation, None]:
        """See how the packages show their own use."""
        modules = list(dict.fromkeys(self.modules))[:TOLD]
        tops = [top for top in dict.fromkeys(module.partition(".")[0] for module in modules) if top]
        asked = [module for module in dict.fromkeys([*tops, *modules]) if module not in self._studied]
        if not asked or not tops:
            return
        self._studied.update(asked)
        found = yield from self.caller.ask({"texts": asked}, f"How is {tops[0]} used?")
        self.examples.add(found.texts)
        self.examples.add(item.doc for item in self.surveys.values() if ">>>" in item.doc)
        for key, item in self.surveys.items():
            self.surveys[key] = illustrated(item, self.examples)
        foreign = [
            maker
            for maker in self.examples.makers_of_arguments()
            if maker[0].split()[1].partition(".")[0] not in (*tops, "__future__") and maker not in self._foreign
        ][:MOST_FOREIGN]
        if foreign:
            found = yield from self.caller.ask({"items": foreign}, f"What makes what {tops[0]} takes?")
            self._foreign.update({(item.import_line, item.expression): item for item in found.items})

    def makers(self, name: str) -> list[CallableSignature]:
        """What other packages offer, and examples make the arguments of a call with."""
        told = self.examples.makers_of_arguments(name)
        return [self._foreign[maker] for maker in told if maker in self._foreign]

    def illustrated(self, items: Iterable[CallableSignature]) -> list[CallableSignature]:
        """Members of an object, with what examples show of them."""
        return [self._illustrated.setdefault(item.expression, illustrated(item, self.examples)) for item in items]

    def _take(self, items: Iterable[CallableSignature]) -> None:
        items = list(items)
        self.examples.add(item.doc for item in items if ">>>" in item.doc)
        known = {(item.module, item.expression): key for key, item in self.surveys.items()}
        for item in (illustrated(item, self.examples) for item in items):
            key = known.get((item.module, item.expression))
            if key is None:
                self.surveys[item.import_line, item.expression] = item
            elif item.kind != "object" and len(item.import_line) < len(self.surveys[key].import_line):
                # From where its users import it. There it may be bound to something, and take less; what the whole
                # docstring says of a parameter is kept.
                told = {parameter.name: parameter for parameter in self.surveys[key].parameters}
                taken = tuple(replace(told.get(one.name, one), kind=one.kind) for one in item.parameters)
                self.surveys[key] = replace(self.surveys[key], import_line=item.import_line, parameters=taken)

    @property
    def classes(self) -> frozenset[str]:
        """Names of classes that can be made, in lower case."""
        return frozenset(item.name.lower() for item in self.surveys.values() if item.kind == "class")

    def constants(self, goal: Goal) -> Iterable[Value]:
        """Members of enumerations, constants of classes and of modules, that a word of the clause names."""
        taken = {one.name.lower() for item in self.surveys.values() for one in item.parameters}
        for item in self.surveys.values():
            owner = item.expression.rpartition(".")[0]
            if item.kind != "object" or not (owner or _is_constant(item)):
                continue
            class_ = next((one for key, one in self.surveys.items() if key[1] == owner), None)
            if owner and item.returns != owner.rpartition(".")[2] and (class_ is None or class_.parameters):
                # A class that holds nothing but constants, or an enumeration.
                continue
            own = parts(item.name)
            if not owner and len(own) > 1 and any(name.startswith(own[0]) for name in taken):
                # `OPT_SORT_KEYS` where there is an `option`
                del own[0]
            each = [[word for word in goal.meaning.words if self.known.likeness(word, part) >= 0.8] for part in own]
            whole = [word for word in goal.meaning.words if word == item.name.lower()]
            named = [word for words in each for word in words] if owner or all(each) else whole * len(own)
            literal = next(
                (
                    value.literal
                    for value in goal.values
                    if value.is_word and value.literal is not None and value.literal.text.lower() == item.name.lower()
                ),
                None,
            )
            if named and len(named) >= len(own):
                # `OPT_SORT_KEYS` goes where options go, a module's object where its class is asked for.
                type_ = owner or (parts(item.name)[0] if item.returns in BUILTIN else item.returns)
                yield Value(item.expression, type_, literal, (item.import_line,), frozenset(named))

    def constructors(self, class_: str) -> Generator[Action, Observation, None]:
        """Ask a class for all that makes its objects."""
        item = next((one for one in self.surveys.values() if one.name == class_ and one.kind == "class"), None)
        if item is None or item.expression in self._asked:
            return
        self._asked.add(item.expression)
        found = yield from self.caller.ask(
            {"constructors": [item.import_line, item.expression]}, f"What else makes a {class_}?"
        )
        self._take(found.items)

    def instance(self, class_: str, said: Collection[str] = ()) -> Result | None:
        """An object of a class that a module holds ready, the one with most of what is `said` in its name: `base62`."""
        ready = [item for item in self.surveys.values() if item.kind == "object" and item.returns == class_]
        if not ready:
            return None
        item = max(ready, key=lambda one: len(set(said).intersection(parts(one.name))))
        return Result(item.expression, class_, "", (item,), frozenset(), (item.import_line,))


def _is_constant(item: CallableSignature) -> bool:
    """Whether it is a module's, in capitals or of a class that is not Python's own."""
    alone = item.kind == "object" and "." not in item.expression and bool(parts(item.name))
    return alone and (item.returns not in BUILTIN or (item.name.isupper() and item.returns in ("int", "str", "float")))


def _outer(module: str) -> str:
    """The public package that a module is in: `cryptography.x509` of `cryptography.x509.base`."""
    pieces = module.split(".")
    public = next((place for place, piece in enumerate(pieces) if piece.startswith("_")), len(pieces) - 1)
    return ".".join(pieces[: min(public, len(pieces) - 1)])
