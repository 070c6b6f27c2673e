"""Resolution of called names to definitions, as far as names alone can tell."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.navigation.classes import Classes, Meant
from codenav.navigation.local import LocalNames, is_declaration, local_names
from codenav.navigation.modules import Module, Modules, Outside, Thing
from codenav.navigation.names import family


class Evidence(StrEnum):
    """The evidence for the definition that a call refers to; the first seven are as certain as a name can be."""

    FUNCTION = "same function"
    CLASS = "same class"
    BASE = "base class"
    MODULE = "same module"
    IMPORT = "import"
    ANNOTATION = "annotation"
    ASSIGNMENT = "assignment"
    """The receiver was assigned a call of the class."""
    OVERRIDE = "may be overridden"
    """Called on an object of a class that has the method, while another one may run on an object of an heir."""
    UNIQUE = "only one of that name"
    NAME = "name only"
    EXTERNAL = "external"
    """Not in the index, or a built-in."""

    @property
    def certain(self) -> bool:
        """True if there is more evidence than the last name."""
        return self not in (Evidence.OVERRIDE, Evidence.UNIQUE, Evidence.NAME, Evidence.EXTERNAL)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The definitions that a call refers to, and the evidence."""

    evidence: Evidence
    blocks: Sequence[CodeBlock] = ()
    """The definitions: for `OVERRIDE` and `NAME` all candidates, for `EXTERNAL` none."""
    dotted: str = ""
    """For `EXTERNAL`, the full name if imports tell it (`numpy.mean` for `np.mean`)."""


SELF = ("self", "cls", "this")
_SELF = {"php": ("$this", "static")}
_SUPER = ("super", "super()")
_SUPER_ALSO = {"csharp": ("base",), "php": ("parent",)}
"""Further names of `self` and `super` in some languages."""
_BARE = ("cpp", "csharp", "java", "ruby")
"""Languages in which a bare name means a method of the class around before anything else."""
_NESTED = (BlockKind.FUNCTION, BlockKind.METHOD)
COMMON_METHODS = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind))
"""Methods of built-in types: even if only one definition has such a name, an unknown receiver need not mean it."""
_ALIAS = re.compile(r"\w+[ \t]*=[ \t]*([^\W\d][\w.]*)[ \t]*(?:#[^\n]*)?\s*")
"""An assignment of another name."""
_ALIASES = 5
"""The most names followed that stand for each other."""
_REMEMBERED = 1_000
"""The number of functions whose local names are cached."""


class Resolver:
    """Resolver of calls, which caches the modules that it has read."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.classes = Classes(modules)
        self._local: dict[str, LocalNames] = {}

    def resolve(self, caller: CodeBlock, call: str) -> Resolution:
        """Resolve `call`, a dotted name as written inside `caller`."""
        head, *rest = re.split(r"\.|::|->", call)
        module = self.modules.of(caller)
        on_self = head in SELF or head in _SELF.get(caller.language, ())
        on_super = head in _SUPER or head in _SUPER_ALSO.get(caller.language, ())
        if rest and (on_self or on_super) and (owner := self._class_around(caller, module)):
            found = self._on_self(caller, owner, rest, beyond=on_super)
            if found:
                return found
            return self._by_name(caller, rest[-1], methods=True)
        for scope in self._scopes(caller, module):
            local = self._names(scope)
            if head in local.imports:
                return self._walk(caller, self.modules.imported(local.imports[head], module), rest, Evidence.IMPORT)
            nested = module.definitions.get(f"{scope.qualname}.{head}") if scope.kind in _NESTED else None
            if nested:
                return self._walk(caller, nested, rest, Evidence.FUNCTION)
            if head in local.bound:
                return self._on_local(caller, head, rest, local, module)
        if not head:
            return self._on_expression(caller, rest, module)
        owner = self._class_around(caller, module) if not rest and caller.language in _BARE else None
        if owner and (member := self._on_self(caller, owner, [head], beyond=False)):
            return member
        thing = self.modules.look_up(module, head)
        if thing is not None:
            evidence = Evidence.MODULE if head in module.definitions else Evidence.IMPORT
            return self._walk(caller, thing, rest, evidence)
        if not rest and caller.language != "python":
            # It may be defined in another file of the package.
            return self._by_name(caller, head, methods=False)
        if not rest:
            outside = hasattr(builtins, head) or not module.stars
            return Resolution(Evidence.EXTERNAL) if outside else self._by_name(caller, head, methods=False)
        return self._by_name(caller, rest[-1], methods=False)

    def _on_self(self, caller: CodeBlock, owner: CodeBlock, rest: Sequence[str], *, beyond: bool) -> Resolution | None:
        """The method `rest` on an object of the class around the caller, or with `beyond` of what comes after it."""
        if len(rest) > 1:
            return None
        meant = self.classes.after(owner, rest[0]) if beyond else self.classes.on(owner, rest[0])
        own = not beyond and f"{owner.qualname}.{rest[0]}" in self.modules.of(owner).definitions
        found = _resolution_of(meant, Evidence.CLASS if own else Evidence.BASE)
        # Without its imports, a class of that name in another file is no more than that.
        elsewhere = caller.language != "python" and found and found.blocks[0].path != caller.path
        return None if elsewhere else found

    def _on_expression(self, caller: CodeBlock, rest: Sequence[str], module: Module) -> Resolution:
        """Resolve `.name`, called on an expression such as `f().name()`; the text tells if it is `super().name()`."""
        owner = self._class_around(caller, module)
        if owner and len(rest) == 1 and re.search(rf"\bsuper\([^()]*\)\s*\.\s*{re.escape(rest[0])}\s*\(", caller.text):
            return _resolution_of(self.classes.after(owner, rest[0]), Evidence.BASE) or Resolution(Evidence.EXTERNAL)
        return self._by_name(caller, rest[-1], methods=True)

    def _on_local(
        self, caller: CodeBlock, head: str, rest: Sequence[str], local: LocalNames, module: Module
    ) -> Resolution:
        if not rest:
            return Resolution(Evidence.EXTERNAL)
        dotted = local.classes.get(head)
        if dotted and len(rest) == 1:
            first, *more = dotted.split(".")
            thing = self.modules.imported(local.imports[first], module) if first in local.imports else None
            thing = thing if thing is not None else self.modules.look_up(module, first)
            made = self._walk(caller, thing, more, Evidence.ANNOTATION) if thing is not None else None
            if made and made.blocks and made.blocks[0].kind is BlockKind.CLASS and made.evidence.certain:
                kind, name = made.blocks[0], rest[0]
                if head in local.annotated:
                    found = _resolution_of(self.classes.on(kind, name), Evidence.ANNOTATION)
                else:
                    found = _resolution_of(Meant(self.classes.on_exactly(kind, name)), Evidence.ASSIGNMENT)
                if found:
                    return found
            elif made and made.evidence is Evidence.EXTERNAL and made.dotted:
                return Resolution(Evidence.EXTERNAL, dotted=".".join([made.dotted, *rest]))
        return self._by_name(caller, rest[-1], methods=True)

    def _walk(self, caller: CodeBlock, thing: Thing | None, rest: Sequence[str], evidence: Evidence) -> Resolution:
        """Follow the attributes `rest` from a resolved first name."""
        for number, name in enumerate(rest):
            if isinstance(thing, Outside):
                return Resolution(Evidence.EXTERNAL, dotted=".".join([thing.name, *rest[number:]]))
            if isinstance(thing, Module):
                inner = self.modules.look_up(thing, name)
                if inner is None and not thing.is_package:
                    return self._by_name(caller, rest[-1], methods=False)
                inner = inner if inner is not None else self.modules.find(f"{thing.name}.{name}", thing)
                inner = inner if inner is not None else self.modules.lazy(thing.name, name)
                thing = inner if inner is not None else Outside(f"{thing.name}.{name}")
            elif thing and thing[0].kind is BlockKind.CLASS:
                found = self.classes.on_exactly(thing[0], name)
                if not found:
                    return self._by_name(caller, rest[-1], methods=True)
                thing = found
            else:
                return self._by_name(caller, rest[-1], methods=True)
        if isinstance(thing, Outside):
            return Resolution(Evidence.EXTERNAL, dotted=thing.name)
        if thing is None or isinstance(thing, Module):
            return Resolution(Evidence.EXTERNAL)
        if thing and "." not in thing[0].qualname and not self.modules.of(thing[0]).is_settled(thing[0].name):
            return Resolution(Evidence.NAME, thing)
        return Resolution(evidence, self._with_aliased(thing))

    def _with_aliased(self, blocks: Sequence[CodeBlock]) -> Sequence[CodeBlock]:
        """The definitions, and for `name = a.b` that of `a.b`."""
        found = list(blocks)
        for block in found:
            alias = _ALIAS.fullmatch(block.text) if block.kind is BlockKind.ASSIGNMENT else None
            if alias and len(found) < _ALIASES and "." not in block.qualname:
                head, *rest = alias[1].split(".")
                thing = self.modules.look_up(self.modules.of(block), head)
                meant = self._walk(block, thing, rest, Evidence.MODULE) if head != block.name else None
                if meant and meant.evidence is Evidence.MODULE:
                    found += [item for item in meant.blocks if item not in found]
        return found

    def _by_name(self, caller: CodeBlock, name: str, *, methods: bool) -> Resolution:
        """Resolve by the last name alone; with `methods`, only to definitions inside classes."""
        named = [block for block in self.modules.named(name) if family(block) == family(caller)]
        found = [block for block in named if block.kind is BlockKind.METHOD]
        found += [block for block in named if block.kind is BlockKind.CLASS and (not methods or "." in block.qualname)]
        if not methods:
            found += [block for block in named if block.kind is BlockKind.FUNCTION and "." not in block.qualname]
        if not found:
            return Resolution(Evidence.EXTERNAL)
        places = {(block.source, block.path, block.qualname) for block in found}
        unique = len(places) == 1 and name not in COMMON_METHODS
        return Resolution(Evidence.UNIQUE if unique else Evidence.NAME, found)

    def _names(self, block: CodeBlock) -> LocalNames:
        if block.id not in self._local:
            if len(self._local) > _REMEMBERED:
                self._local.clear()
            self._local[block.id] = local_names(block)
        return self._local[block.id]

    @staticmethod
    def _scopes(caller: CodeBlock, module: Module) -> Iterator[CodeBlock]:
        """The caller and its enclosing functions, from the inside out."""
        yield caller
        parts = caller.qualname.split(".") if caller.kind in _NESTED else []
        for length in range(len(parts) - 1, 0, -1):
            around = module.definitions.get(".".join(parts[:length]), ())
            yield from (block for block in around if block.kind in _NESTED)

    @staticmethod
    def _class_around(block: CodeBlock, module: Module) -> CodeBlock | None:
        """The innermost class that contains a block; for a class, the class itself."""
        parts = block.qualname.split(".")
        for length in range(len(parts), 0, -1):
            for owner in module.definitions.get(".".join(parts[:length]), ()):
                if owner.kind is BlockKind.CLASS:
                    return owner
        return None


def _resolution_of(meant: Meant, evidence: Evidence) -> Resolution | None:
    """The resolution of a method; None if no class that it could be of has it."""
    declared = all(is_declaration(block) and not block.path.endswith(".pyi") for block in meant.definitions)
    if meant.definitions and not meant.others and meant.is_sure and not declared:
        return Resolution(evidence, meant.definitions)
    found = [*meant.definitions, *meant.others]
    return Resolution(Evidence.OVERRIDE, found) if found else None
