"""The callables of a code base that calls in some code mean, with what they take and give."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.traces import callable_name
from codenav.navigation.loaded import LoadedModules
from codenav.navigation.local import signature_in
from codenav.navigation.modules import Module
from codenav.navigation.resolve import COMMON_METHODS, Evidence, Resolution, Resolver

_OPTIONAL = re.compile(r"\bNone\b|\bOptional\b|\btyping\b")
_STATIC = re.compile(r"^\s*@\s*(?:staticmethod|typing\.staticmethod)\b", re.MULTILINE)

MOST_GIVERS = 5
"""The most callables that give an object of a class. What more of them give says little about any."""
_SELF = "(the class of the receiver)"


@dataclass(frozen=True, slots=True)
class Called:
    """A callable that a call means."""

    name: str
    """As by `traces.callable_name`."""
    parameters: tuple[str, ...] = ()
    """Those that arguments without a name go to, in order."""
    receiver: str = ""
    """The parameter that takes the object before the dot: `self`."""
    gives: str = ""
    """The id of the block of the class of its result; empty if unknown."""


class Callables(Protocol):
    """The meaning of calls."""

    def function(self, written: str) -> Called | None:
        """The callable of a dotted name whose first part the code has not assigned itself: `nx.path_graph`."""
        ...

    def method(self, name: str, kind: str) -> Called | None:
        """The method of that name of an object; `kind` is as `Called.gives`."""
        ...


class InCode:
    """The callables of an index, as calls in one block mean them."""

    def __init__(self, known: KnownCallables, context: CodeBlock) -> None:
        self._known, self._context = known, context

    def function(self, written: str) -> Called | None:
        """See `Callables.function`."""
        return self._known.called(self._known.resolver.resolve(self._context, written))

    def method(self, name: str, kind: str) -> Called | None:
        """See `Callables.method`."""
        return self._known.method(name, kind, self._context)


class KnownCallables:
    """The callables of an index, with their parameters and results, each read once."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._read: dict[str, Called | None] = {}
        self._kinds: dict[str, CodeBlock] = {}
        self._families: dict[tuple[str, str], CodeBlock | None] = {}

    def called(self, found: Resolution) -> Called | None:
        """The callable that a call resolves to with certainty, or as the only one of its name."""
        if not found.evidence.certain and found.evidence is not Evidence.UNIQUE:
            return None
        block = next((one for one in found.blocks if one.kind is not BlockKind.ASSIGNMENT), None)
        return self.of(block) if block else None

    def method(self, name: str, kind: str, context: CodeBlock) -> Called | None:
        """A method of an object of a class; of an object of an unknown class of this code base if `kind` is empty."""
        owner = self._kinds.get(kind)
        if owner is not None:
            found = self.resolver.classes.on_exactly(owner, name)
            # What only declares is done by an heir.
            return self.of(found[0], owner) if found and found[0].kind is BlockKind.METHOD else None
        key = (context.source, name)
        if key not in self._families:
            self._families[key] = self._head_of(name)
        block = self._families[key]
        return self.of(block) if block else None

    def _head_of(self, name: str) -> CodeBlock | None:
        """The method of that name of the class from which all classes that have one inherit; None if there is none."""
        if name in COMMON_METHODS or name.startswith("__"):
            return None
        resolver = self.resolver
        owners: dict[str, tuple[CodeBlock, CodeBlock]] = {}
        for block in resolver.modules.named(name):
            for owner in resolver.classes.around(block) if block.kind is BlockKind.METHOD else ():
                owners.setdefault(owner.id, (owner, block))
        for owner, block in owners.values():
            heirs = (other for other, _ in owners.values() if other.id != owner.id)
            if all(any(base.id == owner.id for base in resolver.classes.order(heir)[1:]) for heir in heirs):
                return block
        return None

    def of(self, block: CodeBlock, owner: CodeBlock | None = None) -> Called | None:
        """The callable of a block; None if it is none. `owner`: the class of the object that a method is called on."""
        key = block.id
        if key not in self._read:
            self._read[key] = self._of(block)
        found = self._read[key]
        if found and owner and found.gives == _SELF:
            self._kinds[owner.id] = owner
            return replace(found, gives=owner.id)
        return replace(found, gives="") if found and found.gives == _SELF else found

    def _of(self, block: CodeBlock) -> Called | None:
        name = callable_name(block)
        if not name:
            return None
        if block.kind is BlockKind.CLASS:
            self._kinds[block.id] = block
            made = self.resolver.classes.on_exactly(block, "__init__")
            parameters, _ = _signature(made[0].signature) if made else ((), "")
            return Called(name, parameters[1:], gives=block.id)
        parameters, result = _signature(block.signature)
        receiver = ""
        if block.kind is BlockKind.METHOD and parameters and not _STATIC.search(block.text):
            receiver, parameters = parameters[0], parameters[1:]
        return Called(name, parameters, receiver, self.class_of(result, block))

    def class_of(self, annotation: str, block: CodeBlock) -> str:
        """The id of the class of the index that an annotation in a block names; empty if it is no such class.

        `DataFrame | Series`, both of the index, is the first of them: what both have is called on it as well.
        """
        names = dict.fromkeys(re.findall(r"[A-Za-z_][\w.]*", _OPTIONAL.sub("", annotation)))
        if not names or "[" in _OPTIONAL.sub("", annotation):
            return ""
        if [*names] == ["Self"]:
            return _SELF
        module = self.resolver.modules.of(block)
        found = [kind for name in names if (kind := self._class(name, module))]
        if len(found) != len(names):
            return ""
        self._kinds[found[0].id] = found[0]
        return found[0].id

    def _class(self, dotted: str, module: Module) -> CodeBlock | None:
        head, *rest = dotted.split(".")
        thing = self.resolver.modules.look_up(module, head)
        if isinstance(thing, Sequence) and not rest:
            return next((block for block in thing if block.kind is BlockKind.CLASS), None)
        return None


def annotations_of(signature: str) -> dict[str, str]:
    """The annotations of the parameters in a signature, by name."""
    function = signature_in(signature)
    if function is None:
        return {}
    found = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {one.arg: _annotation(one.annotation) for one in found if one.annotation is not None}


def _signature(signature: str) -> tuple[tuple[str, ...], str]:
    """The names of the parameters that arguments go to by place, and the annotation of the result."""
    function = signature_in(signature)
    if function is None:
        return (), ""
    return tuple(one.arg for one in (*function.args.posonlyargs, *function.args.args)), _annotation(function.returns)


def _annotation(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node) if node is not None else ""


def context_of(imports: Sequence[str], *, source: str = "", path: str = "") -> CodeBlock:
    """A block from which code with these imports can be resolved that is in no index, or in a document of one."""
    text = "\n    ".join(["def _():", *imports, "..."])
    id = hashlib.blake2b("\0".join((source, path, text)).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return CodeBlock(
        id, BlockKind.FUNCTION, "_", "_", path, LineSpan(1, 1), text, language="python", source=source
    )  # fmt: skip


def typed_flows(modules: LoadedModules, known: KnownCallables) -> Iterator[tuple[str, str, str]]:
    """Giver, taker and parameter, where a parameter is annotated with a class of the code base that few give.

    A class gives its objects, and so does what is annotated to return one. A parameter takes them if it is annotated
    with that class alone, or it or None.
    """
    givers: dict[str, dict[str, None]] = defaultdict(dict)
    takers: list[tuple[str, str, str]] = []
    for block in _callables(modules):
        called = known.of(block)
        if called is None:
            continue
        if called.gives:
            givers[called.gives][called.name] = None
        for parameter, annotation in annotations_of(_signed(block, known.resolver)).items():
            kind = known.class_of(annotation, block)
            if kind:
                takers.append((kind, called.name, parameter))
    for kind, taker, parameter in dict.fromkeys(takers):
        found = [giver for giver in givers.get(kind, ()) if giver != taker]
        if 0 < len(found) <= MOST_GIVERS:
            yield from ((giver, taker, parameter) for giver in found)


def _callables(modules: LoadedModules) -> Iterator[CodeBlock]:
    for module in modules.all():
        for blocks in module.definitions.values():
            # The first of several: overloads, getters and setters.
            if blocks[0].kind in (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS):
                yield blocks[0]


def _signed(block: CodeBlock, resolver: Resolver) -> str:
    """The signature by which a callable takes something."""
    if block.kind is not BlockKind.CLASS:
        return block.signature
    made = resolver.classes.on_exactly(block, "__init__")
    return made[0].signature if made else ""
