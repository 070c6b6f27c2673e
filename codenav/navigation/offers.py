"""Callables as a small model is shown them: public name, parameters, ready instances, lines that fit the request."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from codenav.actions import Offer
from codenav.blocks import BlockKind, CodeBlock
from codenav.navigation.classes import Classes
from codenav.navigation.lookup import near_names
from codenav.navigation.members import instance_of
from codenav.navigation.modules import Modules
from codenav.protocols import Index
from codenav.retrieval import query_tree as tree
from codenav.retrieval.analysis import parts
from codenav.retrieval.aside import is_aside
from codenav.retrieval.stems import STOP, stem

KINDS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL, BlockKind.ASSIGNMENT)
"""Kinds of blocks that are offered; an assignment only if it binds an instance of a class of the index."""
MOST = 8
"""Callables that are shown: at 1.5B "8 in detail" was better than more (research of 2026 on tools in view)."""
SIGNATURE, LINE, CALL = 160, 110, 90
"""Characters kept of a signature, of a line of a docstring and of a real call."""
LINES = 2
"""Lines of a docstring that are shown beside the first because they share words with the request."""
METHODS = 4
"""Methods that are named of a class or of a ready instance."""
NAMED = 40
"""The most blocks that are looked at for the instances of a class, and for the calls of a name."""

_SELF = re.compile(r"\((?:self|cls)\b(?:,\s*)?(?:/,\s*)?")
_FIELD = re.compile(r"^ {4}(?P<name>[^\W\d_]\w*)\s*(?::[^=\n]+)?=", re.MULTILINE)


class Offers:
    """What an index has to offer for a request. Reads each class and module on first use."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._modules = Modules(index)
        self._classes = Classes(index, self._modules)
        self._instances: dict[str, CodeBlock | None] = {}

    def of(self, blocks: Sequence[CodeBlock], request: str) -> list[Offer]:
        """The offers for these blocks, best first; none twice, none for what cannot be imported."""
        words = _words(request)
        offers: dict[tuple[str, str], Offer] = {}
        for block in blocks:
            if len(offers) == MOST:
                break
            offer = self._offer(block, words)
            if offer:
                offer = replace(offer, block_id=block.id)
                # The methods of a ready instance are one offer.
                offers.setdefault((offer.import_line, "" if offer.note else offer.call.partition("(")[0]), offer)
        return list(offers.values())

    def named(self, name: str) -> list[CodeBlock]:
        """Every definition with that name, public ones first."""
        return sorted(self._modules.named(name), key=lambda block: not block.public_name)

    def near(self, name: str) -> list[str]:
        """The names of the index that are most like one that it does not have."""
        return near_names(self._index, name)

    def _offer(self, block: CodeBlock, words: frozenset[str]) -> Offer | None:
        if block.language != "python" or not block.import_line or is_aside(block):
            return None
        if block.kind is BlockKind.METHOD:
            # Its class may be private, and an instance of it public.
            return self._method(block, words)
        if _private(block.qualname):
            return None
        if block.kind is BlockKind.ASSIGNMENT:
            return self._ready(block, words)
        if block.kind is BlockKind.CLASS:
            ready = self._instance(block)
            return self._ready(ready, words) if ready else self._class(block, words)
        return Offer(block.import_line, _call(block.expression, block.signature), _about(block, words))

    def _method(self, block: CodeBlock, words: frozenset[str]) -> Offer | None:
        owner = self._owner(block)
        if owner is None or _private(block.name):
            return None
        ready = self._instance(owner)
        if ready:
            return self._ready(ready, words, first=block.name)
        if _private(owner.qualname):
            return None
        bound = "@classmethod" in block.text[:200] or "@staticmethod" in block.text[:200]
        made = owner.expression if bound else self._made(owner)
        return Offer(owner.import_line, _call(f"{made}.{block.name}", block.signature), _about(block, words))

    def _class(self, block: CodeBlock, words: frozenset[str]) -> Offer | None:
        if re.search(r"(Error|Exception|Warning)\b", block.signature):
            return None
        about = _about(block, words)
        methods = self._public_methods(block)
        if methods:
            fitting = sorted(methods, key=lambda one: -len(words & _words(one.name)))
            about = [*about, "methods: " + ", ".join(_call(one.name, one.signature) for one in fitting[:METHODS])]
        else:
            fields = [name for name in _FIELD.findall(block.text)][: 2 * METHODS]
            about = [*about, *(["has: " + ", ".join(fields)] if fields else [])]
        return Offer(block.import_line, self._made(block), [_cut(line, 2 * LINE) for line in about])

    def _ready(self, block: CodeBlock, words: frozenset[str], first: str = "") -> Offer | None:
        """The offer of an instance at module level, with the method `first`, or those that fit the request best."""
        owner, methods = instance_of(self._index, block)
        if owner is None or not methods:
            return None
        fitting = sorted(
            methods, key=lambda one: (one.name != first, -len(words & _words(f"{one.name} {one.docstring}")))
        )
        best, *others = fitting[:METHODS]
        called = block.expression if best.name == "__call__" else f"{block.expression}.{best.name}"
        about = _about(best, words) or _about(owner, words)
        more = [_call("" if one.name == "__call__" else f".{one.name}", one.signature) for one in others]
        about = [*about, *([_cut("also: " + ", ".join(more), 2 * LINE)] if more else [])]
        example = self._example(block.name)
        return Offer(block.import_line, _call(called, best.signature), about, example, note=f"a ready {owner.name}")

    def _instance(self, owner: CodeBlock) -> CodeBlock | None:
        """The public instance of a class at module level, if there is one."""
        if owner.id not in self._instances:
            found = self._index.search(
                tree.render(tree.Words("calls", (owner.name,))), kinds={BlockKind.ASSIGNMENT}, limit=NAMED
            )
            ready = (
                hit.block for hit in found
                if "." not in hit.block.qualname and not _private(hit.block.name) and not is_aside(hit.block)
            )  # fmt: skip
            kin = (one for one in ready if (kind := instance_of(self._index, one)[0]) and kind.id == owner.id)
            self._instances[owner.id] = next(kin, None)
        return self._instances[owner.id]

    def _example(self, name: str) -> str:
        """A call of a method of that instance in documents or code, with its values left out."""
        found = self._index.search(tree.render(tree.Words("text", (name,))), limit=NAMED)
        call = re.compile(rf"(?<![\w\"'/]){re.escape(name)}\.[^\W\d_]\w*\([^()\n]{{1,{CALL}}}\)")
        for hit in sorted(found, key=lambda hit: hit.kind is not BlockKind.DOCUMENT):
            for written in call.findall(hit.block.text):
                with suppress(SyntaxError, ValueError):
                    return _without_values(written)
        return ""

    def _owner(self, block: CodeBlock) -> CodeBlock | None:
        around = self._modules.of(block).definitions.get(block.qualname.rpartition(".")[0], ())
        owner = next((one for one in around if one.kind is BlockKind.CLASS), None)
        return owner if owner and owner.import_line else None

    def _made(self, owner: CodeBlock) -> str:
        """The expression that makes an instance: `Graph(incoming=None)`."""
        for around in self._classes.order(owner):
            found = self._modules.of(around).definitions.get(f"{around.qualname}.__init__")
            if found:
                return _call(owner.expression, found[0].signature)
        return f"{owner.expression}(…)" if _FIELD.search(owner.text) else f"{owner.expression}()"

    def _public_methods(self, owner: CodeBlock) -> list[CodeBlock]:
        own: dict[str, CodeBlock] = {}
        for around in self._classes.order(owner):
            for qualname, blocks in self._modules.of(around).definitions.items():
                inside, _, name = qualname.rpartition(".")
                if inside == around.qualname and blocks[0].kind is BlockKind.METHOD and not name.startswith("_"):
                    own.setdefault(name, blocks[0])
        return list(own.values())


def _private(name: str) -> bool:
    return any(part.startswith("_") and part != "__call__" for part in name.split("."))


def _call(name: str, signature: str) -> str:
    """The call of a name with the parameters of a signature: those after `self`, without what stands before them."""
    start = signature.find("(")
    if start < 0:
        return f"{name}()"
    return _cut(
        name + _SELF.sub("(", signature[start:], count=1).rstrip(":").strip().removesuffix("-> None"), SIGNATURE
    )


def _about(block: CodeBlock, words: frozenset[str]) -> list[str]:
    """The first line of a docstring, and those further on that share the most words with the request."""
    first, *rest = [line.strip() for line in block.docstring.splitlines() if line.strip()] or [""]
    shared = [(len(words & _words(line)), line) for line in rest if not line.startswith((">>>", "..."))]
    fitting = sorted((item for item in shared if item[0] > 1), key=lambda item: -item[0])[:LINES]
    chosen = {line for _, line in fitting}
    return [_cut(line, LINE) for line in (first, *(line for line in rest if line in chosen)) if line]


def _without_values(call: str) -> str:
    """A call whose literals are left out: a small model would copy them."""
    tree_ = ast.parse(call, mode="eval")
    for node in ast.walk(tree_):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.Constant):
                setattr(node, name, ast.Constant(...))
            elif isinstance(value, list):
                value[:] = [ast.Constant(...) if isinstance(item, ast.Constant) else item for item in value]
    return ast.unparse(tree_)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(part) for part in parts(text).split() if part not in STOP and len(part) > 1)


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
