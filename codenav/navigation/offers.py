"""Callables as a small model is shown them: public name, parameters, ready instances, lines that fit the request."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from codenav.core.actions import Offer
from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.protocols import Index
from codenav.core.system.terminal_text import flattened
from codenav.core.usage import estimate_tokens
from codenav.navigation.classes import Classes
from codenav.navigation.local import signature_in
from codenav.navigation.lookup import near_names
from codenav.navigation.members import instance_of
from codenav.navigation.modules import Modules
from codenav.retrieval.analysis import parts
from codenav.retrieval.aside import is_aside
from codenav.retrieval.query import tree
from codenav.retrieval.stems import STOP, stem

KINDS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL, BlockKind.ASSIGNMENT)
"""Kinds of blocks that are offered; an assignment only if it binds an instance of a class of the index."""
MOST = 8
"""Callables that are shown: at 1.5B "8 in detail" was better than more (research of 2026 on tools in view)."""
TOKENS = 560
"""Tokens of all offers together, so that a first prompt has under 900 and is read in 14 seconds on two processors."""
SIGNATURE, LINE, CALL = 160, 110, 90
"""Characters kept of a signature, of a line of a docstring and of a real call."""
LINES = 1
"""Lines of a docstring that are shown beside the first because they share two words with the request."""
METHODS, NAMES = 3, 8
"""Methods of a class or a ready instance that are shown with their parameters, and further ones that are named."""
HALF, BY_NAME, OF_METHOD, DEEP = 4, 0.8, 0.5, 0.1
"""The order of what is offered: the place at which a hit counts half, the worth of a name whose words the request all
holds, of which a method gets a part, and the cost of each module that its public name goes through."""
NAMED = 40
"""The most blocks that are looked at for the instances of a class, and for the calls of a name."""

_SELF = re.compile(r"\((?:self|cls)\b(?:,\s*)?(?:/,\s*)?")
_ANNOTATED = re.compile(r"^ {4}([^\W\d_]\w*)\s*:\s*[^\W\d]", re.MULTILINE)
_FIELD = re.compile(r"^ {4}(?P<name>[^\W\d_]\w*)\s*(?::[^=\n]+)?=", re.MULTILINE)


@dataclass
class _Kind:
    """A class that is offered, with the methods of it that were found."""

    owner: CodeBlock
    block: CodeBlock
    """The best hit that led to it."""
    found: list[str] = field(default_factory=list)


class Offers:
    """The offers of an index for a request. Reads each class and module on first use."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._modules = Modules(index)
        self._classes = Classes(self._modules)
        self._instances: dict[str, CodeBlock | None] = {}

    def of(self, blocks: Sequence[CodeBlock], request: str) -> list[Offer]:
        """The offers for these blocks, best first; one for a class with its methods, none for what is private."""
        words = _words(request)
        chosen: dict[str, CodeBlock | _Kind] = {}
        for block in sorted(blocks, key=_Fit(blocks, words)):
            owner = self._class_of(block)
            if not self._is_offered(block, owner):
                continue
            key = owner.id if owner else block.public_name or block.id
            if key not in chosen and len(chosen) < MOST:
                chosen[key] = _Kind(owner, block) if owner else block
            kind = chosen.get(key)
            if isinstance(kind, _Kind) and block.kind is BlockKind.METHOD:
                kind.found.append(block.name)
        offers: list[Offer] = []
        shown: set[str] = set()
        left = TOKENS
        for one in chosen.values():
            offer = self._of_class(one, words) if isinstance(one, _Kind) else _of_function(one, words)
            # Classes of one family have the same methods.
            plain = {line: line.replace(f"{offer.name}.", ".") for line in offer.about}
            offer = replace(offer, about=[line for line in offer.about if plain[line] not in shown])
            shown.update(plain.values())
            left -= estimate_tokens(str(offer))
            if left < 0 and offers:
                break
            offers.append(offer)
        return offers

    def named(self, name: str) -> list[CodeBlock]:
        """Every definition with that name, public ones first."""
        return sorted(self._modules.named(name), key=lambda block: not block.public_name)

    def near(self, name: str) -> list[str]:
        """The names of the index that are most like one that it does not have."""
        return near_names(self._index, name)

    def _class_of(self, block: CodeBlock) -> CodeBlock | None:
        """The class that a block is, is a method of, or is an instance of; None for a function."""
        if block.kind is BlockKind.CLASS:
            return block
        if block.kind is BlockKind.ASSIGNMENT:
            return instance_of(self._index, block)[0]
        return next(iter(self._classes.around(block)), None) if block.kind is BlockKind.METHOD else None

    def _is_offered(self, block: CodeBlock, owner: CodeBlock | None) -> bool:
        if block.language != "python" or not block.import_line or is_aside(block) or _private(block.name):
            return False
        if block.kind in (BlockKind.FUNCTION, BlockKind.TOOL):
            return not _private(block.import_line.split()[1])
        # A private class may have a public instance.
        return owner is not None and (self._instance(owner) is not None or _can_be_made(owner))

    def _of_class(self, kind: _Kind, words: frozenset[str]) -> Offer:
        """The offer of a class, or of its ready instance, with the methods that were found or fit the request."""
        owner, ready = kind.owner, self._instance(kind.owner)
        methods = self._classes.public_methods(owner)
        order = sorted(
            methods.values(),
            key=lambda one: (
                kind.found.index(one.name) if one.name in kind.found else len(kind.found),
                -len(words & _words(f"{one.name} {one.docstring[:LINE]}")),
            ),
        )
        calls = [
            flattened(f"{_method(owner, one, words)}: {_first_line(one)}".removesuffix(": "), LINE)
            for one in order[:METHODS]
        ]
        more = [f".{one.name}" for one in order[METHODS:][:NAMES]]
        members = _FIELD.findall(owner.text) if not _ANNOTATED.search(owner.text) else []
        fields = [name for name in members if name.isupper() or not methods][:NAMES]
        about = [
            *_about(owner, words),
            *(["has: " + ", ".join(fields)] if fields else []),
            *calls,
            *(["also: " + ", ".join(more)] if more else []),
        ]
        if ready:
            example, note = self._example(ready.name), f"a ready {owner.name}"
            return Offer(ready.import_line, ready.expression, about, example, kind.block.id, note)
        return Offer(owner.import_line, self._made(owner, words), about, block_id=kind.block.id)

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

    def _made(self, owner: CodeBlock, words: frozenset[str]) -> str:
        """The expression that makes an instance: `Graph(incoming=None)`."""
        for around in self._classes.order(owner):
            found = self._modules.of(around).definitions.get(f"{around.qualname}.__init__")
            if found:
                return _call(owner.expression, found[0].signature, words)
        fields = _ANNOTATED.findall(owner.text)
        if fields and re.search(r"@\S*(dataclass|define|frozen)|NamedTuple|BaseModel", owner.text):
            return flattened(f"{owner.expression}({', '.join(fields)})", SIGNATURE)
        # Without `__init__` in sight, a base may have one.
        return f"{owner.expression}(…)" if "(" in owner.signature else f"{owner.expression}()"


class _Fit:
    """The order of blocks for a request: by their place in the search, and by how much of their name it holds."""

    def __init__(self, blocks: Sequence[CodeBlock], words: frozenset[str]) -> None:
        self._places = {block.id: place for place, block in enumerate(blocks)}
        self._words = words

    def __call__(self, block: CodeBlock) -> float:
        name = _words(block.name)
        share = len(name & self._words) / len(name) if name else 0.0
        if block.kind is BlockKind.METHOD:
            share *= OF_METHOD
        deep = (block.public_name or block.import_line.replace(" import ", ".")).count(".") - 1
        return -(1 / (1 + self._places[block.id] / HALF) + BY_NAME * share - DEEP * min(deep, 4))


def _of_function(block: CodeBlock, words: frozenset[str]) -> Offer:
    call = _call(block.expression, block.signature, words)
    return Offer(block.import_line, call, _about(block, words), block_id=block.id)


def _can_be_made(owner: CodeBlock) -> bool:
    hidden = _private(owner.qualname) or _private(owner.import_line.partition(" ")[2].partition(" ")[0])
    return bool(owner.import_line) and not hidden and not re.search(r"(Error|Exception|Warning)\b", owner.signature)


def _method(owner: CodeBlock, method: CodeBlock, words: frozenset[str]) -> str:
    """A method as it is called: `.get(key)`, `.size` for a property, `Store.of(text)` for one of the class."""
    head = method.text[: method.text.find("def ")]
    if "property" in head or "@cached" in head:
        return f".{method.name}"
    if method.name == "__call__":
        return _call("", method.signature, words)
    bound = "@classmethod" in head or "@staticmethod" in head
    return _call(f"{owner.name if bound else ''}.{method.name}", method.signature, words)


def _first_line(block: CodeBlock) -> str:
    return block.docstring.strip().partition("\n")[0]


def _private(name: str) -> bool:
    return any(part.startswith("_") and part != "__call__" for part in name.split("."))


def _call(name: str, signature: str, words: frozenset[str] = frozenset()) -> str:
    """The call of a name with the parameters of a signature.

    Left out are the optional parameters that are None, unless they share a word with the request: a small model gives
    them values of its own. Of a call that is still long so are the types, then others that share none.
    """
    start = signature.find("(")
    if start < 0:
        return f"{name}()"
    written = name + _SELF.sub("(", " ".join(signature[start:].split()), count=1).rstrip(":").strip()
    written = written.removesuffix("-> None").strip()
    function = signature_in(f"def f{signature[start:]}")
    if function is not None:
        fewer = _has_others(function.args) and _without_none(function.args, words)
        if fewer:
            returned = f" -> {ast.unparse(function.returns)}" if function.returns else ""
            written = f"{name}({ast.unparse(function.args)}, …){returned}"
            written = _SELF.sub("(", written, count=1).removesuffix("-> None").strip()
        if len(written) > SIGNATURE:
            return _shortened(name, function.args, words, fewer=fewer)
    return flattened(written, SIGNATURE)


def _has_others(given: ast.arguments) -> bool:
    """True if a call has anything to give beside optional parameters that are None."""
    plain = [*given.posonlyargs, *given.args]
    required = len(plain) - len(given.defaults) - (bool(plain) and plain[0].arg in ("self", "cls"))
    defaults = [*given.defaults, *given.kw_defaults]
    return required > 0 or any(not (isinstance(one, ast.Constant) and one.value is None) for one in defaults)


def _without_none(given: ast.arguments, words: frozenset[str]) -> bool:
    """Take out the last parameters whose default is None and that share no word; True if there were some."""

    def is_left_out(one: ast.arg, default: ast.expr | None) -> bool:
        return isinstance(default, ast.Constant) and default.value is None and not words & _words(one.arg)

    before = len(given.args) + len(given.kwonlyargs)
    while given.args and given.defaults and is_left_out(given.args[-1], given.defaults[-1]) and not given.vararg:
        given.args.pop()
        given.defaults.pop()
    kept = [pair for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True) if not is_left_out(*pair)]
    given.kwonlyargs, given.kw_defaults = [one for one, _ in kept], [default for _, default in kept]
    return len(given.args) + len(given.kwonlyargs) < before


def _shortened(name: str, given: ast.arguments, words: frozenset[str], *, fewer: bool) -> str:
    """The call of a function without types; optional parameters as far as there is room, those that fit first.

    `fewer`: some are left out already.
    """
    plain = [*given.posonlyargs, *given.args]
    plain = plain[1:] if plain and plain[0].arg in ("self", "cls") else plain
    defaults: list[ast.expr | None] = [*[None] * len(plain), *given.defaults][-len(plain) :] if plain else []
    required = [one.arg for one, default in zip(plain, defaults, strict=True) if default is None]
    optional = [(one.arg, default) for one, default in zip(plain, defaults, strict=True) if default is not None]
    keywords = list(zip((one.arg for one in given.kwonlyargs), given.kw_defaults, strict=True))
    required += [f"*, {one}" for one, default in keywords if default is None][:1]
    optional += [(one, default) for one, default in keywords if default is not None]
    fitting = sorted(optional, key=lambda one: not words & _words(one[0]))
    shown, left = {one[0] for one in fitting}, SIGNATURE - len(name) - sum(len(one) + 2 for one in required) - 4
    for one, default in fitting:
        left -= len(one) + len(ast.unparse(default)) + 3
        if left < 0:
            shown.discard(one)
    parts = [*required, *(f"{one}={ast.unparse(default)}" for one, default in optional if one in shown)]
    return f"{name}({', '.join([*parts, *(['…'] if fewer or len(shown) < len(optional) else [])])})"


def _about(block: CodeBlock, words: frozenset[str]) -> list[str]:
    """The first line of a docstring, and those further on that share the most words with the request."""
    first, *rest = [line.strip() for line in block.docstring.splitlines() if line.strip()] or [""]
    shared = [(len(words & _words(line)), line) for line in rest if not line.startswith((">>>", "..."))]
    fitting = sorted((item for item in shared if item[0] > 1), key=lambda item: -item[0])[:LINES]
    chosen = {line for _, line in fitting}
    return [flattened(line, LINE) for line in (first, *(line for line in rest if line in chosen)) if line]


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
