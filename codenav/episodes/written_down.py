"""The origin of values in code: computed, or only written down as literals."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codenav.core.system.syntax import parsed
from codenav.episodes.code import PRINTS, base_name, last_name
from codenav.episodes.figures import Number, Pool, numbers_in

MAKERS = frozenset({
    "array", "asarray", "DataFrame", "Series", "Index", "from_dict", "from_records", "Decimal", "Fraction", "Counter",
    "OrderedDict", "defaultdict", "deque", "date", "datetime", "timedelta", "Timestamp", "Path", "PurePath", "loads",
    "literal_eval", "SimpleNamespace", "StringIO", "BytesIO",
})  # fmt: skip
"""Library functions whose result holds just what they are given."""
READERS = frozenset(
    {"open", "input", "__import__", "eval", "exec", "globals", "locals", "vars", "getattr", "id", "hash"}
)
WRITES = frozenset({"write", "write_text", "write_bytes", "writelines", "writerow", "writerows", "dump"})
TELLING_DIGITS = 3
"""Significant digits from which on a number of the run does not stand in a script by chance."""
_BUILTINS = frozenset(dir(builtins)) - READERS


@dataclass
class Made:
    """The origin of a value: computed, or written as literals."""

    computed: bool = False
    """True if something in it is read, imported or given from outside."""
    works: bool = False
    """True if it is more than a literal: it holds an operation or a call."""
    numbers: set[float] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    names: set[_Place] = field(default_factory=set)
    """The names in it that are not looked up yet."""

    def with_(self, *others: Made) -> Made:
        """Add the origins of other parts; return self."""
        for other in others:
            self.computed |= other.computed
            self.works |= other.works
            self.numbers |= other.numbers
            self.texts |= other.texts
            self.names |= other.names
        return self


@dataclass
class _Function:
    parameters: list[str]
    returns: list[ast.expr]
    scope: _Names
    result: Made | None = None
    """The origin of what it returns, with its parameters as names; None before it is asked for."""


class Code:
    """The origins of the values in a script, or in the steps of a session."""

    def __init__(self, codes: Sequence[str]) -> None:
        self._names: dict[str, list[tuple[ast.expr | None, bool]]] = {}
        self._functions: dict[str, _Function] = {}
        self._scopes: dict[int, _Names] = {id(self._names): self._names}
        self._read: dict[_Place, Made] | None = None
        """The origins of names, each without those of the names in it; kept once all code is collected."""
        self.printed: list[tuple[list[ast.expr], _Names]] = []
        """The arguments of each `print`, and each value displayed at the end of a step; with the scope."""
        self.written: list[tuple[ast.expr, _Names]] = []
        self._trees = [tree for code in codes if (tree := parsed(code))]
        for tree in self._trees:
            self._collect(tree.body, self._names, [])
            if tree.body and isinstance(tree.body[-1], ast.Expr) and not isinstance(tree.body[-1].value, ast.Call):
                self.printed.append(([tree.body[-1].value], self._names))
        self._read = {}
        for function in self._functions.values():
            function.result = None

    def name(self, name: str) -> Made:
        """The origin of a name of the module."""
        return self._whole(self._name(name, self._names, {}))

    def of(self, node: ast.expr, scope: _Names) -> Made:
        """The origin of an expression."""
        return self._whole(self._of(node, scope, {}))

    def constants(self) -> tuple[set[float], list[str]]:
        """The numbers and texts that stand in the code."""
        numbers: set[float] = set()
        texts: list[str] = []
        for tree in self._trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant):
                    made = _constant(node.value)
                    numbers |= made.numbers
                    texts += made.texts
        return numbers, texts

    def values(self) -> Iterator[Number]:
        """Telling numbers that stand in the code as values, also within texts; not in comparisons and assertions."""
        for tree in self._trees:
            yield from _values(tree)

    # Collection of the names in a scope

    def _collect(self, body: Sequence[ast.stmt], scope: _Names, heads: list[ast.expr]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._define(node, scope)
                continue
            if isinstance(node, ast.ClassDef):
                scope.setdefault(node.name, []).append((None, True))
                continue
            self._bind(node, scope, heads)
            inner = [*heads, *_heads(node)]
            for part in ("body", "orelse", "finalbody"):
                self._collect(getattr(node, part, None) or [], scope, inner)
            for handler in getattr(node, "handlers", ()):
                self._collect(handler.body, scope, inner)
            for case in getattr(node, "cases", ()):
                self._collect(case.body, scope, inner)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Names) -> None:
        inner: _Names = {}
        self._scopes[id(inner)] = inner
        arguments = node.args
        parameters = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self._collect(node.body, inner, [])
        for name in parameters:
            inner.setdefault(name, []).append((None, True))
        found = [one.value for one in ast.walk(node) if isinstance(one, ast.Return | ast.Yield) and one.value]
        self._functions[node.name] = _Function(parameters, found, inner)

    def _bind(self, node: ast.stmt, scope: _Names, heads: list[ast.expr]) -> None:
        """Record the names that a statement itself binds; `heads` are the conditions that it depends on."""
        computed = any(self.of(head, scope).computed for head in heads)

        def add(target: ast.AST, value: ast.expr | None) -> None:
            for one in ast.walk(target):
                if isinstance(one, ast.Name) and (isinstance(one.ctx, ast.Store) or one.id == base_name(target)):
                    scope.setdefault(one.id, []).append((None if computed else value, computed))

        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                if both and len(target.elts) == len(node.value.elts):  # type: ignore[attr-defined]
                    pairs = list(zip(target.elts, node.value.elts, strict=True))  # type: ignore[attr-defined]
                for to, value in pairs:
                    add(to, value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            add(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor):
            add(node.target, node.iter)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars:
                    add(item.optional_vars, item.context_expr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                scope.setdefault((alias.asname or alias.name).split(".")[0], []).append((None, True))
        for child in [node] if isinstance(node, ast.Expr) else _heads(node):
            self._called(child, scope)
        for walrus in (one for one in ast.walk(node) if isinstance(one, ast.NamedExpr)):
            add(walrus.target, walrus.value)

    def _called(self, node: ast.AST, scope: _Names) -> None:
        for call in (one for one in ast.walk(node) if isinstance(one, ast.Call)):
            name = last_name(call.func)
            arguments = [*call.args, *(one.value for one in call.keywords)]
            if name in PRINTS:
                self.printed.append((list(call.args), scope))
                continue
            if name in WRITES and arguments:
                self.written.append((arguments[0], scope))
            elif name.startswith("to_") and isinstance(call.func, ast.Attribute):
                self.written.append((call.func.value, scope))
            if isinstance(call.func, ast.Attribute) and base_name(call.func) in scope:
                scope[base_name(call.func)] += [(one, False) for one in call.args]
            if isinstance(node, ast.Expr) and node.value is call and name not in _BUILTINS:
                # The call may fill its arguments.
                for argument in call.args:
                    if isinstance(argument, ast.Name) and argument.id in scope and isinstance(call.func, ast.Name):
                        scope[argument.id].append((None, True))

    # The origin of an expression

    def _whole(self, made: Made, open_: Collection[_Place] = ()) -> Made:
        """An origin with those of all names in it, each looked up once; names in `open_` stay names.

        Of a computed one no more is asked for.
        """
        whole, seen, queue = Made(), set[_Place](), [made]
        while queue and not whole.computed:
            part = queue.pop()
            for place in part.names - seen:
                queue.append(self._read_at(place, is_open=place in open_))
            seen |= part.names
            whole.with_(part)
        whole.names = seen.intersection(open_)
        return whole

    def _read_at(self, place: _Place, *, is_open: bool) -> Made:
        if self._read is not None and place in self._read and not is_open:
            return self._read[place]
        names, made = self._scopes[place[0]], Made()
        for value, computed in names[place[1]]:
            if value is not None and not computed:
                made.with_(self._of(value, names, {}))
            elif not is_open:
                made.computed = True
        if self._read is not None and not is_open:
            self._read[place] = made
        return made

    def _name(self, name: str, scope: _Names, local: Mapping[str, Made]) -> Made:
        if name in local:
            return local[name]
        for names in (scope, self._names):
            if name in names:
                return Made(names={(id(names), name)})
        if name in self._functions:
            return Made(works=True)
        return Made(computed=name not in _BUILTINS)

    def _returned(self, function: _Function, given: Sequence[Made]) -> Made:
        """The origin of what a call returns: the arguments count as far as they reach it."""
        places = {(id(function.scope), name): name for name in function.parameters}
        if function.result is None:
            function.result = Made()  # for the calls of itself that it returns
            returned = [self._of(one, function.scope, {}) for one in function.returns]
            function.result = self._whole(Made().with_(*returned), places)
        made = Made(works=True).with_(function.result)
        passed = dict(zip(function.parameters, given, strict=False))
        reached = [places[place] for place in made.names]
        made.names = set()
        return made.with_(*(passed.get(name, Made(computed=True)) for name in reached))

    def _of(self, node: ast.AST, scope: _Names, local: Mapping[str, Made]) -> Made:
        def of(*nodes: ast.AST | None, inside: Mapping[str, Made] = local) -> Made:
            return Made().with_(*(self._of(one, scope, inside) for one in nodes if one is not None))

        match node:
            case ast.Constant():
                return _constant(node.value)
            case ast.Name():
                return Made().with_(self._name(node.id, scope, local))
            case ast.Call():
                return self._call(node, scope, local)
            case ast.Subscript():
                return of(node.value).with_(Made(works=True))
            case ast.Attribute():
                return of(node.value).with_(Made(works=True))
            case ast.JoinedStr():
                texts = [one.value for one in node.values if isinstance(one, ast.Constant)]
                figures = Made(numbers={abs(one.value) for text in texts for one in numbers_in(str(text))})
                return of(*(one.value for one in node.values if isinstance(one, ast.FormattedValue))).with_(figures)
            case ast.UnaryOp():
                return of(node.operand)
            case ast.BinOp():
                return of(node.left, node.right).with_(Made(works=True))
            case ast.Compare():
                return of(node.left, *node.comparators).with_(Made(works=True))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inner = dict(local)
                made = Made(works=True)
                for generator in node.generators:
                    given = self._of(generator.iter, scope, inner)
                    made.with_(given)
                    for one in ast.walk(generator.target):
                        if isinstance(one, ast.Name):
                            inner[one.id] = given
                parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
                return made.with_(of(*parts, inside=inner))
            case ast.Lambda():
                return Made()
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return Made(computed=True)
            case _:
                return of(*ast.iter_child_nodes(node))

    def _call(self, node: ast.Call, scope: _Names, local: Mapping[str, Made]) -> Made:
        name = last_name(node.func)
        given = [self._of(one, scope, local) for one in node.args]
        given += [self._of(one.value, scope, local) for one in node.keywords if one.arg not in ("key", "ndigits")]
        if isinstance(node.func, ast.Name) and name in self._functions and name not in local:
            return self._returned(self._functions[name], given)
        if isinstance(node.func, ast.Name) and name in _BUILTINS and name not in scope and name not in self._names:
            plain = name in ("float", "int", "str", "list", "dict", "tuple", "set", "round", "format", "bool")
            return Made(works=not plain).with_(*(given[:1] if name in ("round", "format") else given))
        if name in MAKERS:
            return Made().with_(*given)
        if isinstance(node.func, ast.Attribute):
            return self._of(node.func.value, scope, local).with_(Made(works=True), *given)
        return Made(computed=True)


_Names = dict[str, list[tuple[ast.expr | None, bool]]]
_Place = tuple[int, str]
"""A name in one of the scopes."""


def _heads(node: ast.AST) -> list[ast.expr]:
    """The expressions that decide whether or how often the body of a statement runs; of an assignment its value."""
    match node:
        case ast.If() | ast.While():
            return [node.test]
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.With() | ast.AsyncWith():
            return []
        case ast.Match():
            return [node.subject]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return [node.value] if node.value else []
    return []


def _constant(value: object) -> Made:
    if isinstance(value, bool) or value is None or value is ...:
        return Made()
    if isinstance(value, int | float):
        return Made(numbers={abs(float(min(value, 1e300)))})
    if isinstance(value, str):
        return Made(texts={value}) if value.strip() else Made()
    return Made()


def _values(node: ast.AST) -> Iterator[Number]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert | ast.Compare):
            continue
        if isinstance(child, ast.Constant) and not isinstance(child.value, bool):
            # An int has no step below one, and one of many digits no text.
            text = "" if isinstance(child.value, int) else str(child.value)
            yield from (one for one in numbers_in(text) if one.digits >= TELLING_DIGITS and one.step < 1)
        elif not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from _values(child)


@dataclass
class Given:
    """The numbers and texts that a script may contain: those of the request and of the session's own code."""

    pool: Pool

    @classmethod
    def of(cls, request: str, session: Code) -> Given:
        """Collect the literals of the request and of the code of the steps."""
        numbers, texts = session.constants()
        return cls(Pool().add(numbers, texts=[request, *texts]))

    def lacks(self, made: Made) -> list[str]:
        """The literals in a value that are not given, as they are written."""
        found = [f"{one:g}" for one in sorted(made.numbers) if one not in self.pool.few]
        return found + [repr(one) for one in sorted(made.texts) if not self._gives(one)]

    def _gives(self, text: str) -> bool:
        return self.pool.names(text) and all(abs(one.value) in self.pool.few for one in numbers_in(text))


def printed_down(script: Code, session: Code, given: Given, session_had: Pool) -> str:
    """A result that the script prints as a literal although the session computed it; empty where there is none."""
    theirs = [session.of(one, scope) for arguments, scope in session.printed for one in arguments]
    if theirs and not any(one.computed or one.works for one in theirs):
        return ""
    ours = [(script.of(one, scope), one, scope) for arguments, scope in script.printed for one in arguments]
    nothing = not any(made.computed for made, _, _ in ours)
    for _, node, scope in ours:
        for number in _literal_numbers(script, node, scope):
            known = abs(number.value) in given.pool.few
            if not known and session_had.holds(number) and (nothing or number.digits > 1):
                return number.text
    if nothing:
        texts = [text for made, _, _ in ours for text in sorted(made.texts) if not made.works]
        return next((text for text in texts if not given.pool.names(text) and session_had.names(text)), "")
    return ""


def files_down(script: Code, session: Code, given: Given) -> str:
    """A literal that the script writes to files although the session computed it; empty where there is none."""
    theirs = [session.of(one, scope) for one, scope in session.written]
    ours = [script.of(one, scope) for one, scope in script.written]
    if not any(one.computed for one in theirs) or not ours or any(one.computed for one in ours):
        return ""
    return next((lacking[0] for lacking in map(given.lacks, ours) if lacking), "")


def values_down(script: Code, given: Given, session_had: Pool) -> str:
    """A telling number of the script that only a result of the session explains; empty where there is none."""
    for number in script.values():
        if abs(number.value) not in given.pool.few and session_had.holds(number):
            return number.text
    return ""


def _literal_numbers(script: Code, node: ast.expr, scope: _Names) -> Iterator[Number]:
    """The numbers in a printed expression that no code computes."""
    made = script.of(node, scope)
    if not made.computed and not made.works:
        texts = [repr(number) for number in made.numbers] + sorted(made.texts)
        yield from (number for text in texts for number in numbers_in(text))
    elif isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _literal_numbers(script, part.value, scope)
            elif isinstance(part, ast.Constant):
                yield from numbers_in(str(part.value))
    elif isinstance(node, ast.BinOp):
        yield from _literal_numbers(script, node.left, scope)
        yield from _literal_numbers(script, node.right, scope)
