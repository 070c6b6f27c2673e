"""Candidates for a clause: callables and constants that were asked for, of the index and of the interpreter."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import replace

from codenav.actions import Action, Observation, Search, SearchObservation
from codenav.blocks import CodeBlock
from codenav.planner.calls import Caller, Fit, Result
from codenav.planner.goal import Goal
from codenav.planner.language import language
from codenav.planner.relevance import Meaning, callable_blocks, module_of, queries
from codenav.planner.values import Value, fit
from codenav.planner.votes import Votes
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts, stem
from codenav.signatures.types import BUILTIN, likely_gives

ASKED = 14
"""Maximum number of callables of one search that the interpreter is asked about."""
MOST_INNER = 6
"""Maximum number of modules in a package that it is asked about, besides the package itself."""
SEARCHES = 6
"""Maximum number of searches for one clause."""
MAKERS = ("parse", "from", "load", "read", "create", "open", "new", "get")
"""Words in the names of callables that make an object of a text."""
CHANGES = ("add", "append", "insert", "remove", "delete", "discard", "clear", "set", "update", "write")
"""First words in the names of methods that give nothing."""
ITSELF, HAS, WHOLE = 2.5, 2.0, 4.0
"""The worth, where a declared result counts 1, of being the class itself, of taking what an object was asked
for, and of a name that is all that is left: `the karate club graph` is that one, and no empty graph."""
Asking = Generator[Action, Observation, None]


class Candidates:
    """The callables, constants and objects that requests may mean. They grow with each question."""

    def __init__(self, caller: Caller, packages: Collection[str] = (), votes: Votes | None = None) -> None:
        self.caller, self._packages, self._votes = caller, packages, votes
        self.items: dict[tuple[str, str], CallableSignature] = {}
        self.modules: list[str] = []
        self._seen: dict[str, CodeBlock] = {}
        self._looked: set[str] = set()
        self._counts: dict[str, int] = {}
        self._meanings: dict[tuple[tuple[str, ...], bool], Meaning] = {}

    def meaning(self, words: Sequence[str], *, whether: bool = False) -> Meaning:
        """The meaning of some words, compared with each callable once."""
        key = (tuple(words), whether)
        if key not in self._meanings:
            self._meanings[key] = Meaning(words, counts=self._counts, whether=whether)
        return self._meanings[key]

    def look(self, meaning: Meaning, more: Sequence[str], goal: Goal) -> Asking:
        """Search for words, and for `more` that need not be explained; then ask what those found take."""
        told = queries([*meaning.words, *more])
        if not told or goal.searches >= SEARCHES or told[0] in self._looked:
            return
        self._looked.add(told[0])
        goal.searches += 1
        observed = yield Search("\n".join(told))
        if isinstance(observed, SearchObservation):
            # A block that was shown in full is not shown again: it stays in mind.
            self._seen.update((hit.id, hit.block) for result in observed.results for hit in result.hits)
        chosen = callable_blocks(self._seen.values(), meaning, limit=ASKED)
        items = [(block.import_line, block.expression) for block in chosen]
        owners = [(line, name.rpartition(".")[0]) for line, name in items if "." in name]
        unknown = [item for item in dict.fromkeys([*items, *owners]) if item not in self.items]
        self.modules += [module_of(block) for block in chosen]
        if unknown:
            names = ", ".join(dotted for _, dotted in unknown[:5]) + (" …" if len(unknown) > 5 else "")
            found = yield from self.caller.ask({"items": unknown}, f"What do {names} take?")
            self._take(found.items)
            for why in found.failures[:1]:
                goal.fails(why)

    def glance(self) -> Asking:
        """Ask for the modules that distributions install, which may be compiled."""
        if self._packages:
            packages, self._packages = sorted(self._packages), ()
            found = yield from self.caller.ask({"distributions": packages}, "What can be imported?")
            self.modules += found.modules

    def offer(self, goal: Goal, more: Sequence[str] = ()) -> Asking:
        """Ask the packages themselves: what no index holds, such as C extensions and what is made at run time."""
        tops = dict.fromkeys(module.partition(".")[0] for module in self.modules)
        inner = dict.fromkeys(one for module in self.modules if "." in module for one in (_outer(module), module))
        modules = [*list(tops)[:3], *[module for module in inner if "." in module][:MOST_INNER]]
        words = {word: 0.3 for word in more}
        for word in goal.meaning.words:
            for other in language().related.get(stem(word), ()):
                words[other] = max(words.get(other, 0.0), 0.5 * goal.meaning.weights[word])
        words |= {stem(word): weight for word, weight in goal.meaning.weights.items()}
        words = {word: weight for word, weight in words.items() if len(word) > 2}
        asked = f"{modules} {sorted(words)}"
        if modules and words and asked not in self._looked:
            self._looked.add(asked)
            question = {"package": modules, "words": words}
            found = yield from self.caller.ask(question, f"What does {modules[0]} itself offer?")
            self._take(found.items)
            self._counts.update(found.counts)

    def constructors(self, class_: str) -> Asking:
        """Ask a class for all that makes its objects."""
        item = self.class_(class_)
        if item is not None and item.expression not in self._looked:
            self._looked.add(item.expression)
            question = {"constructors": [item.import_line, item.expression]}
            found = yield from self.caller.ask(question, f"What else makes a {class_}?")
            self._take(found.items)

    def _take(self, items: Iterable[CallableSignature]) -> None:
        known = {(item.module, item.expression): key for key, item in self.items.items()}
        for item in items:
            key = known.get((item.module, item.expression))
            if key is None:
                self.items[item.import_line, item.expression] = item
            elif item.kind != "object" and len(item.import_line) < len(self.items[key].import_line):
                # The import line that its users write. There it may be bound to something and take less; what the whole
                # docstring says of a parameter is kept.
                told = {parameter.name: parameter for parameter in self.items[key].parameters}
                taken = tuple(replace(told.get(one.name, one), kind=one.kind) for one in item.parameters)
                self.items[key] = replace(self.items[key], import_line=item.import_line, parameters=taken)

    def producers(
        self,
        parameter: Parameter,
        target: CallableSignature,
        meaning: Meaning,
        values: Sequence[Value],
        hint: str = "",
    ) -> list[CallableSignature]:
        """The callables that may make a value for a parameter of `target` with the words and values that are left.

        `hint`: an attribute that such a value has.
        """
        owner = target.owner if parameter.name == "self" else ""
        literals = [value for value in values if value.literal is not None][:2]
        options = []
        for item in self.items.values():
            gives = likely_gives(item, parameter) if item.kind not in ("object", "property") else 0.0
            if self._votes is not None and item.kind not in ("object", "property"):
                # What was seen to give it counts as what is declared to.
                gives = max(gives, self._votes.gives(item, target, parameter))
            if not gives or item.expression == target.expression or (item.kind == "method" and item.owner == owner):
                continue
            changes = item.kind == "method" and item.returns in ("", "None") and item.name.split("_")[0] in CHANGES
            if changes or (item.kind == "function" and item.name.startswith("_")):
                continue
            # Nobody has to ask for what another call needs.
            score = max(0.0, meaning.score(item)) if meaning.words else 0.0
            fits = (fit(value, one) * (2 if one.required else 1) for value in literals for one in item.parameters)
            takes = max(fits, default=0.0)
            gives = max(gives, ITSELF * (item.name == owner), HAS * any(hint == one.name for one in item.parameters))
            makes = any(part in MAKERS for part in parts(item.name))
            whole = len(meaning.words) > 1 and set(meaning.words) <= set(parts(item.name))
            options.append((2 * score + 0.6 * gives + 0.2 * takes + 0.2 * makes + WHOLE * whole, item))
        options.sort(key=lambda option: -option[0])
        return [item for worth, item in options if worth > 0.4]

    def class_(self, name: str) -> CallableSignature | None:
        """The class of that name; None where it is not known."""
        return next((item for item in self.items.values() if item.name == name and item.kind == "class"), None)

    @property
    def classes(self) -> frozenset[str]:
        """The names of classes that can be made, in lower case."""
        return frozenset(item.name.lower() for item in self.items.values() if item.kind == "class")

    def constants(self, goal: Goal) -> Iterable[Value]:
        """The members of enumerations and constants of classes and modules that a word of the clause names."""
        taken = {one.name.lower() for item in self.items.values() for one in item.parameters}
        literals = [value.literal for value in goal.values if value.is_word and value.literal is not None]
        for item in self.items.values():
            owner, own = item.expression.rpartition(".")[0], parts(item.name)
            if item.kind != "object" or not own or not (owner or _is_constant(item)):
                continue
            class_ = next((one for key, one in self.items.items() if key[1] == owner), None)
            if owner and item.returns != owner.rpartition(".")[2] and (class_ is None or class_.parameters):
                # Only a class that holds nothing but constants, or an enumeration.
                continue
            if not owner and len(own) > 1 and any(name.startswith(own[0]) for name in taken):
                # `OPT_SORT_KEYS` where there is an `option`
                del own[0]
            each = [[word for word in goal.meaning.words if language().likeness(word, part) >= 0.8] for part in own]
            whole = [word for word in goal.meaning.words if word == item.name.lower()]
            named = [word for words in each for word in words] if owner or all(each) else whole * len(own)
            if named and len(named) >= len(own):
                # `OPT_SORT_KEYS` goes where options go, a module's object where its class is asked for.
                type_ = owner or (parts(item.name)[0] if item.returns in BUILTIN else item.returns)
                literal = next((one for one in literals if one.text.lower() == item.name.lower()), None)
                yield Value(item.expression, type_, literal, (item.import_line,), frozenset(named))

    def instance(self, class_: str, said: Collection[str] = ()) -> Result | None:
        """An object of a class that a module holds ready, the one with most of what is `said` in its name: `base62`."""
        ready = [item for item in self.items.values() if item.kind == "object" and item.returns == class_]
        if not ready:
            return None
        item = max(ready, key=lambda one: len(set(said).intersection(parts(one.name))))
        return Result(item.expression, class_, "", Fit((item,), lines=(item.import_line,)))


def _is_constant(item: CallableSignature) -> bool:
    """True if an object is a module's constant, in capitals or of a class that is not Python's own."""
    return item.returns not in BUILTIN or (item.name.isupper() and item.returns in ("int", "str", "float"))


def _outer(module: str) -> str:
    """The public package that a module is in: `cryptography.x509` of `cryptography.x509.base`."""
    pieces = module.split(".")
    public = next((place for place, piece in enumerate(pieces) if piece.startswith("_")), len(pieces) - 1)
    return ".".join(pieces[: min(public, len(pieces) - 1)])


def named_by(item: CallableSignature, values: Collection[Value]) -> set[Value]:
    """The words among some values that are in a callable's name: `karate_club_graph` needs no `karate`."""
    own = parts(item.name)
    return {value for value in values if value.is_word and value.literal and value.literal.text.lower() in own}


def is_a(result: Result, parameter: Parameter) -> bool:
    """True if a result goes with a parameter."""
    if re.search(rf"\b{re.escape(result.type)}\b", parameter.type):
        return True
    return not parameter.type and not result.builtin
