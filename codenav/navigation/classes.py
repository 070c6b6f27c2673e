"""Classes of an index: their bases and heirs, and the definitions that a method's name may mean on their objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.navigation.modules import Module, Modules, Thing
from codenav.navigation.names import family

Definitions = Sequence[CodeBlock]
_DEEPEST = 50
"""Bases above each other that are followed; circles end here at the latest."""
_CHECKED = 50
"""The most classes that have a name of which each is asked for its bases."""
_HEIRS = 500
"""The most heirs of a class that are looked at."""

_NAME = re.compile(r"(?:(?:public|protected|private|virtual)\s+)*((?:[^\W\d]\w*|::|[.\\])+)")
_HEADS = {
    "python": re.compile(r"class\s+\w+\s*(?:\[[^\]]*\])?\s*\((.*)\)", re.DOTALL),
    "ruby": re.compile(r"<\s*(.*)", re.DOTALL),
    **dict.fromkeys(("cpp", "csharp"), re.compile(r"(?<!:):(?!:)(.*?)(?:\bwhere\b|$)", re.DOTALL)),
}
"""The text around the bases; in Go and Rust no class has any."""
_CLAUSE = re.compile(r"\b(?:extends|implements)\s+(.*?)(?=\b(?:extends|implements|permits)\b|$)", re.DOTALL)
_BY_CLAUSE = ("java", "javascript", "typescript", "tsx", "php")
_ANGLED = re.compile(r"<[^<>]*>")
_ROUND = re.compile(r"\([^()]*\)")
_SQUARE = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]")


@dataclass(frozen=True, slots=True)
class Meant:
    """The meaning of a method's name on an object of a class."""

    definitions: Definitions
    """That of the class itself or the first of its bases that has one; empty if none has."""
    others: Definitions = ()
    """Those on objects of the heirs of the class."""
    is_sure: bool = True
    """False if heirs were not looked at, or if an unknown class may come first."""


class Classes:
    """The classes of an index, which are read as they are asked for."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._orders: dict[str, list[CodeBlock]] = {}
        self._named: dict[str, list[CodeBlock]] = {}
        self._heirs: dict[str, list[CodeBlock]] = {}

    def on_exactly(self, owner: CodeBlock, name: str) -> Definitions:
        """The definition of a name on objects of that class, not of an heir."""
        return self._first(self.order(owner), name)

    def on(self, owner: CodeBlock, name: str) -> Meant:
        """The meaning of a name on an object of a class or of any heir: the call is `self.name()`."""
        own = self.on_exactly(owner, name)
        if _is_private(name):
            return Meant(own)
        return self._with_heirs(own, [self._first(self.order(heir), name) for heir in self._below(owner, name)], owner)

    def after(self, owner: CodeBlock, name: str) -> Meant:
        """The meaning of a name beyond a class on its objects or those of any heir: the call is `super().name()`."""
        own = self._first(self.order(owner)[1:], name)
        others = []
        for heir in self._below(owner, name):
            order = self.order(heir)
            place = next((number for number, kind in enumerate(order) if kind.id == owner.id), None)
            if place is not None:
                others.append(self._first(order[place + 1 :], name))
        return self._with_heirs(own, others, owner)

    def _with_heirs(self, own: Definitions, of_heirs: list[Definitions], owner: CodeBlock) -> Meant:
        known = {block.id for block in own}
        others: dict[str, CodeBlock] = {}
        for found in of_heirs:
            others.update((block.id, block) for block in found if block.id not in known)
        return Meant(own, list(others.values()), len(self._heirs.get(owner.id, ())) < _HEIRS)

    def _below(self, owner: CodeBlock, name: str) -> list[CodeBlock]:
        """The heirs of a class; none if they do not matter, as no other class has the name."""
        kinds = {kind.id: kind for block in self._modules.named(name) for kind in self.around(block)}
        if not kinds or set(kinds) == {owner.id}:
            return []
        found = {heir.id: heir for heir in self.heirs(owner)}
        # Those that name the class by an alias are found from below.
        for kind in kinds.values() if len(kinds) <= _CHECKED else ():
            if kind.id not in found and any(base.id == owner.id for base in self.order(kind)[1:]):
                found[kind.id] = kind
        return list(found.values())

    def _first(self, order: Sequence[CodeBlock], name: str) -> Definitions:
        for kind in order:
            own = self._modules.of(kind).definitions.get(f"{kind.qualname}.{name}")
            if own:
                return own
        return ()

    def around(self, block: CodeBlock) -> Definitions:
        """The class that a block is directly in; several where its name has several definitions."""
        around = self._modules.of(block).definitions.get(block.qualname.rpartition(".")[0], ())
        return [kind for kind in around if kind.kind is BlockKind.CLASS]

    def public_methods(self, owner: CodeBlock) -> dict[str, CodeBlock]:
        """The public methods of a class by their names, `__call__` and inherited ones included."""
        found: dict[str, CodeBlock] = {}
        for kind in self.order(owner):
            for qualname, blocks in self._modules.of(kind).definitions.items():
                inside, _, name = qualname.rpartition(".")
                public = not name.startswith("_") or name == "__call__"
                if inside == kind.qualname and blocks[0].kind is BlockKind.METHOD and public:
                    found.setdefault(name, blocks[0])
        return found

    def order(self, owner: CodeBlock) -> list[CodeBlock]:
        """The class and its bases as Python looks names up in them (its C3 linearization)."""
        return self._order(owner, ())

    def _order(self, owner: CodeBlock, above: tuple[str, ...]) -> list[CodeBlock]:
        if owner.id in self._orders:
            return self._orders[owner.id]
        if owner.id in above or len(above) > _DEEPEST:
            return []
        bases = [base for base in self.bases(owner) if base.id not in above]
        lists = [self._order(base, (*above, owner.id)) for base in bases]
        found = [owner, *_merged([*lists, bases])]
        if not above:
            self._orders[owner.id] = found
        return found

    def bases(self, owner: CodeBlock) -> Iterator[CodeBlock]:
        """The bases of a class that are in the index, in order."""
        module = self._modules.of(owner)
        for dotted in base_names(owner):
            found = self._class(owner, module, dotted)
            if found:
                yield found
            elif owner.language != "python":
                yield from self._of_that_name(owner, dotted.rpartition(".")[2])

    def _of_that_name(self, owner: CodeBlock, name: str) -> Iterator[CodeBlock]:
        """The classes that a base may be where no import is read: all of that name, such as the parts of a C# class."""
        for block in self._modules.named(name):
            if block.kind is BlockKind.CLASS and family(block) == family(owner) and block.id != owner.id:
                yield block

    def _class(self, owner: CodeBlock, module: Module, dotted: str) -> CodeBlock | None:
        """The class that a dotted name in the header of another one means."""
        head, *rest = dotted.split(".")
        around = owner.qualname.split(".")[:-1]
        scopes = (".".join([*around[:length], head]) for length in range(len(around), 0, -1))
        found: Thing | None = next((own for scope in scopes if (own := module.definitions.get(scope))), None)
        found = found if found is not None else self._modules.look_up(module, head)
        for name in rest:
            if isinstance(found, Module):
                inner = self._modules.look_up(found, name)
                found = inner if inner is not None else self._modules.lazy(found.name, name)
            elif isinstance(found, Sequence) and found:
                found = self._modules.of(found[0]).definitions.get(f"{found[0].qualname}.{name}")
            else:
                return None
        blocks = found if isinstance(found, Sequence) else ()
        return next((block for block in blocks if block.kind is BlockKind.CLASS and block.id != owner.id), None)

    def heirs(self, owner: CodeBlock) -> list[CodeBlock]:
        """The classes that have the class among their bases or the bases of these, `_HEIRS` at most."""
        if owner.id not in self._heirs:
            found: dict[str, CodeBlock] = {}
            queue = [owner]
            while queue and len(found) < _HEIRS:
                kind = queue.pop()
                for heir in self._named_as_base(kind.name):
                    if heir.id not in found and any(base.id == kind.id for base in self.bases(heir)):
                        found[heir.id] = heir
                        queue.append(heir)
            self._heirs[owner.id] = list(found.values())
        return self._heirs[owner.id]

    def _named_as_base(self, name: str) -> list[CodeBlock]:
        """The classes whose header has a base of that name."""
        if name not in self._named:
            self._named[name] = [
                block
                for block in self._modules.classes_with(name)
                if any(base.rpartition(".")[2] == name for base in base_names(block))
            ]
        return self._named[name]


def _merged(lists: list[list[CodeBlock]]) -> list[CodeBlock]:
    """The merge of C3; where none exists, in order of the lists."""
    rest = [[*one] for one in lists if one]
    found: list[CodeBlock] = []
    while rest:
        later = {block.id for one in rest for block in one[1:]}
        first = next((one[0] for one in rest if one[0].id not in later), rest[0][0])
        found.append(first)
        rest = [kept for one in rest if (kept := [block for block in one if block.id != first.id])]
    return found


def _is_private(name: str) -> bool:
    """True for `__name`, which Python makes a name of the class's own."""
    return name.startswith("__") and not name.endswith("__")


def base_names(block: CodeBlock) -> list[str]:
    """The base classes named in the header of a class, dotted, generics without their parameters."""
    if block.language == "python":
        match = _HEADS["python"].match(block.signature)
        parts = _SQUARE.sub("", match[1]).split(",") if match else []
        return [item for part in parts if re.fullmatch(r"[^\W\d][\w.]*", item := part.strip())]
    found = (_NAME.match(part.strip()) for clause in _clauses(block) for part in clause.split(","))
    return [match[1].replace("::", ".").replace("\\", ".").strip(".") for match in found if match]


def _clauses(block: CodeBlock) -> Iterator[str]:
    """The lists of bases in the header of a class of another language than Python."""
    header = _without(_ROUND, block.signature)
    if block.language in _BY_CLAUSE:
        yield from _CLAUSE.findall(_without(_ANGLED, header))
    elif head := _HEADS.get(block.language):
        header = header if block.language == "ruby" else _without(_ANGLED, header)
        if match := head.search(header):
            yield match[1]


def _without(brackets: re.Pattern[str], text: str) -> str:
    """The text without what stands in brackets, at any depth."""
    while (shorter := brackets.sub(" ", text)) != text:
        text = shorter
    return text
