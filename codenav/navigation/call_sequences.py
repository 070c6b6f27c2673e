"""The calls that a piece of Python makes, in the order in which they run, with whose result goes into which."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.system.syntax import parsed
from codenav.core.traces import TracedCall
from codenav.navigation.called import Callables, Called, InCode, KnownCallables
from codenav.navigation.local import dotted_name, function_in

MOST_CALLS = 500
"""The most calls of one piece; what follows is left out."""
_DEEPEST = 60
"""Expressions inside each other that are read."""
_PASSING = frozenset({"list", "tuple", "set", "dict", "frozenset", "sorted", "reversed", "iter", "next", "enumerate"})
"""Built-ins whose result holds what went in."""
_FAILING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex"})
"""Contexts in which calls are expected to fail."""
_MARK = re.compile(r"^\s*@\s*(?:pytest(?:_asyncio)?\.)?fixture\b", re.MULTILINE)
_NAMED = re.compile(r"\bname\s*=\s*[\"'](\w+)[\"']")
_DEEPEST_FIXTURE = 8
"""Fixtures that take each other."""


@dataclass(frozen=True, slots=True)
class Value:
    """The known facts of a value."""

    place: int | None = None
    """The call whose result it is, or is from."""
    kind: str = ""
    """The class of which it is an object, as `Called.gives`."""
    outside: bool = False
    """True if nothing of the code base gave it."""


_NOTHING = Value(outside=True)


class Reader:
    """A reader of statements, one piece after the other; names and calls of the earlier ones stay known."""

    def __init__(self, callables: Callables, names: dict[str, Value] | None = None) -> None:
        self.callables = callables
        self.names: dict[str, Value] = dict(names or {})
        self.calls: list[TracedCall] = []
        self._prepared = 0
        self._returned = _NOTHING

    def read(self, statements: Iterable[ast.stmt]) -> list[TracedCall]:
        """Read statements; return all calls so far."""
        try:
            for statement in statements:
                self._statement(statement)
        except RecursionError:
            pass
        return self.calls

    def read_function(self, statements: Iterable[ast.stmt]) -> list[TracedCall]:
        """Read the body of the only function in the statements."""
        function = function_in(statements)
        return self.read(function.body) if function else self.calls

    def prepare(self, statements: Iterable[ast.stmt]) -> None:
        """Read a function that runs before others and leaves them attributes, such as `setUp`; see `used`."""
        self.read_function(statements)
        kept = {
            name.partition(".")[2]: value for name, value in self.names.items() if name.startswith(("self.", "cls."))
        }
        self.names = {f"self.{name}": value for name, value in kept.items()}
        self._prepared = len(self.calls)

    def make(self, name: str, statements: Iterable[ast.stmt]) -> None:
        """Read a function that runs before others and gives them a value by that name; see `used`."""
        before, self._returned = dict(self.names), _NOTHING
        self.read_function(statements)
        self.names = before
        if self._returned.place is not None:
            self.names[name] = self._returned
        self._prepared = len(self.calls)

    def used(self) -> list[TracedCall]:
        """The calls so far; of those that `prepare` and `make` read only the ones whose results the others take."""
        wanted = set(range(self._prepared, len(self.calls)))
        for place in range(len(self.calls) - 1, -1, -1):
            if place in wanted:
                wanted.update(self.calls[place].takes.values())
        places = {place: number for number, place in enumerate(sorted(wanted))}
        return [
            replace(call, takes={name: places[giver] for name, giver in call.takes.items()})
            for place, call in enumerate(self.calls)
            if place in wanted
        ]

    def taken(self) -> list[TracedCall]:
        """The calls so far, which are forgotten; what is known of names stays."""
        found, self.calls = self.calls, []
        self.names = {name: replace(value, place=None) for name, value in self.names.items()}
        return found

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self._value(node.value)
                for target in node.targets:
                    self._bind(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self._bind(node.target, self._value(node.value))
            case ast.AugAssign():
                self._value(node.value)
            case ast.For() | ast.AsyncFor():
                value = self._value(node.iter)
                self._bind(node.target, Value(value.place, outside=value.outside))
                self._all((*node.body, *node.orelse))
            case ast.With() | ast.AsyncWith():
                if any(_last(item.context_expr) in _FAILING for item in node.items):
                    return
                for item in node.items:
                    value = self._value(item.context_expr)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, value)
                self._all(node.body)
            case ast.If():
                self._value(node.test)
                self._all(max(node.body, node.orelse, key=len))
            case ast.While():
                self._value(node.test)
                self._all(node.body)
            case ast.Try() | ast.TryStar():
                self._all((*node.body, *node.orelse, *node.finalbody))
            case ast.Match():
                self._value(node.subject)
            case ast.Return() if node.value is not None:
                self._returned = self._value(node.value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.names[node.name] = _NOTHING
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self.names.pop((alias.asname or alias.name).partition(".")[0], None)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._value(child)

    def _all(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, Value(value.place, outside=value.outside))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, Value(value.place, outside=value.outside))
        elif name := dotted_name(target):
            self.names[name] = value

    def _value(self, node: ast.expr, depth: int = 0) -> Value:
        if depth > _DEEPEST:
            return _NOTHING
        deeper = depth + 1
        match node:
            case ast.Call():
                return self._call(node, deeper)
            case ast.Name():
                return self.names.get(node.id, _NOTHING)
            case ast.Attribute():
                known = self.names.get(dotted_name(node))
                if known is not None:
                    return known
                base = self._value(node.value, deeper)
                return Value(base.place, outside=base.outside)
            case ast.Await() | ast.Starred():
                return self._value(node.value, deeper)
            case ast.NamedExpr():
                value = self._value(node.value, deeper)
                self._bind(node.target, value)
                return value
            case ast.Subscript():
                base = self._value(node.value, deeper)
                inner = self._value(node.slice, deeper)
                return Value(base.place if base.place is not None else inner.place, outside=base.outside)
            case ast.Lambda():
                return _NOTHING
            case ast.Yield() if node.value is not None:
                self._returned = self._value(node.value, deeper)
                return _NOTHING
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, deeper)
        parts = [self._value(child, deeper) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return _from_parts(parts)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, depth: int) -> Value:
        before = dict(self.names)
        found = []
        for part in node.generators:
            value = self._value(part.iter, depth)
            found.append(value)
            self._bind(part.target, Value(value.place, outside=value.outside))
            for test in part.ifs:
                self._value(test, depth)
        made = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        values = [self._value(one, depth) for one in made]
        self.names = before
        return _from_parts([*values, *found])

    def _call(self, node: ast.Call, depth: int) -> Value:
        receiver: Value | None = None
        called: Called | None = None
        dotted = dotted_name(node.func)
        head = dotted.partition(".")[0]
        known = head in self.names or dotted.rpartition(".")[0] in self.names
        if isinstance(node.func, ast.Attribute) and (not dotted or known):
            receiver = self._value(node.func.value, depth)
            if not receiver.outside:
                called = self.callables.method(node.func.attr, receiver.kind)
        elif dotted and dotted not in self.names:
            called = self.callables.function(dotted)
        elif not dotted:
            self._value(node.func, depth)
        values = [(None, self._value(argument, depth)) for argument in node.args]
        given = [*values, *((keyword.arg, self._value(keyword.value, depth)) for keyword in node.keywords)]
        if called is None:
            return self._unknown(dotted, receiver, [value for _, value in given])
        if len(self.calls) >= MOST_CALLS:
            return Value(kind=called.gives)
        takes = {}
        if receiver is not None and receiver.place is not None and called.receiver:
            takes[called.receiver] = receiver.place
        for number, (name, value) in enumerate(given):
            if name is None and number < len(called.parameters) and number < len(values):
                name = called.parameters[number]
            if name is not None and value.place is not None:
                takes[name] = value.place
        self.calls.append(TracedCall(called.name, takes=takes))
        return Value(len(self.calls) - 1, called.gives)

    @staticmethod
    def _unknown(dotted: str, receiver: Value | None, given: Sequence[Value]) -> Value:
        """The result of a call that the code base does not define."""
        if receiver is not None:
            return Value(receiver.place, outside=True)
        if dotted in _PASSING and given:
            return Value(given[0].place, outside=True)
        return _NOTHING


def _from_parts(parts: Sequence[Value]) -> Value:
    """A value that is made of others: from the last call among them."""
    places = [part.place for part in parts if part.place is not None]
    return Value(max(places), outside=True) if places else _NOTHING


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class Fixtures:
    """The fixtures of code bases, by the file that defines them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, CodeBlock]] = defaultdict(dict)

    def note(self, block: CodeBlock) -> None:
        """Remember a block, if it is a fixture."""
        if block.kind in (BlockKind.FUNCTION, BlockKind.METHOD) and "fixture" in block.text[:1_000]:
            head, _, _ = block.text.partition("def ")
            if _MARK.search(head):
                named = _NAMED.search(head)
                self._found[block.source, block.path][named[1] if named else block.name] = block

    def give(self, reader: Reader, known: KnownCallables, test: CodeBlock, tree: ast.Module) -> None:
        """Read the fixtures that a test takes, as far as they call something, so that their results have its names."""
        given: set[str] = set()

        def give(body: ast.Module, depth: int) -> None:
            for name in _parameters(body) if depth < _DEEPEST_FIXTURE else ():
                fixture = self._of(test, name)
                made = parsed(fixture.text) if fixture is not None and name not in given else None
                if fixture is None or made is None:
                    continue
                given.add(name)
                give(made, depth + 1)
                reader.callables = InCode(known, fixture)
                reader.make(name, made.body)

        give(tree, 0)

    def _of(self, test: CodeBlock, name: str) -> CodeBlock | None:
        """The fixture of that name that a test sees: that of its own file, else of the nearest folder above."""
        above = (str(folder / "conftest.py") for folder in PurePosixPath(test.path).parents)
        found = (self._found.get((test.source, place), {}).get(name) for place in (test.path, *above))
        return next(filter(None, found), None)


def _parameters(tree: ast.Module) -> list[str]:
    function = function_in(tree.body)
    return [one.arg for one in (*function.args.args, *function.args.kwonlyargs)] if function else []
