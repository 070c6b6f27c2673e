"""The origin of values in code: computed, or only written down as literals."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from codenav.episodes.code import PRINTS, base_name, last_name
from codenav.episodes.figures import Number, Pool, numbers_in
from codenav.system.syntax import parsed

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
    names: set[str] = field(default_factory=set)
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


class Code:
    """The origins of the values in a script, or in the steps of a session. A name is the same one in all scopes."""

    def __init__(self, codes: Sequence[str]) -> None:
        self._names: dict[str, list[ast.expr | None]] = {}
        """What each name is bound to, with the conditions of that; None for what is computed.

        That of a function stands for what it returns, that of a parameter for what is passed.
        """
        self._functions: dict[str, list[str]] = {}
        """The parameters of each function that the code defines."""
        self._read: dict[str, Made] = {}
        """The origins of names, each without those of the names in it."""
        self.printed: list[ast.expr] = []
        """The arguments of each `print`, and each value displayed at the end of a step."""
        self.written: list[ast.expr] = []
        self._trees = [tree for code in codes if (tree := parsed(code))]
        for tree in self._trees:
            self._collect(tree.body, [])
            if tree.body and isinstance(tree.body[-1], ast.Expr) and not isinstance(tree.body[-1].value, ast.Call):
                self.printed.append(tree.body[-1].value)
        for call in (one for tree in self._trees for one in ast.walk(tree) if isinstance(one, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in self._functions:
                passed = zip(self._functions[call.func.id], call.args, strict=False)
                for name, value in (*passed, *((one.arg or "", one.value) for one in call.keywords)):
                    self._names.setdefault(name, []).append(value)

    def name(self, name: str) -> Made:
        """The origin of a name of the module."""
        return self.of(ast.Name(name))

    def of(self, node: ast.expr) -> Made:
        """The origin of an expression: with those of all names in it, each looked up once.

        Of a computed one no more is asked for.
        """
        whole, seen, queue = Made(), set[str](), [self._of(node)]
        while queue and not whole.computed:
            part = queue.pop()
            queue += map(self._bound, part.names - seen)
            seen |= part.names
            whole.with_(part)
        return whole

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

    # Collection of the names

    def _collect(self, body: Sequence[ast.stmt], heads: list[ast.expr]) -> None:
        """Take the statements of a block, which runs if and as often as the expressions `heads` say."""
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                parameters = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
                self._functions[node.name] = parameters
                for name in (node.name, *parameters):
                    self._names.setdefault(name, [])
                found = (one.value for one in ast.walk(node) if isinstance(one, ast.Return | ast.Yield))
                self._names[node.name] += [one for one in found if one]
                self._collect(node.body, [])
                continue
            if isinstance(node, ast.ClassDef):
                self._names.setdefault(node.name, []).append(None)
                continue
            self._bind(node, heads)
            inner = [*heads, *_heads(node)]
            for part in ("body", "orelse", "finalbody"):
                self._collect(getattr(node, part, None) or [], inner)
            for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                self._collect(branch.body, inner)

    def _bind(self, node: ast.stmt, heads: list[ast.expr]) -> None:
        """Record the names that a statement itself binds."""

        def add(target: ast.AST, value: ast.expr) -> None:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for pair in zip(target.elts, value.elts, strict=True):
                    add(*pair)
                return
            for one in ast.walk(target):
                if isinstance(one, ast.Name) and (isinstance(one.ctx, ast.Store) or one.id == base_name(target)):
                    self._names.setdefault(one.id, []).extend([value, *heads])

        match node:
            case ast.Assign():
                for target in node.targets:
                    add(target, node.value)
            case ast.AnnAssign() | ast.AugAssign() if node.value is not None:
                add(node.target, node.value)
            case ast.For() | ast.AsyncFor():
                add(node.target, node.iter)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars:
                        add(item.optional_vars, item.context_expr)
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self._names.setdefault((alias.asname or alias.name).split(".")[0], []).append(None)
        for part in (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)):
            for one in ast.walk(part):
                if isinstance(one, ast.comprehension):
                    add(one.target, one.iter)
                elif isinstance(one, ast.NamedExpr):
                    add(one.target, one.value)
                elif isinstance(one, ast.Call):
                    self._called(one, alone=isinstance(node, ast.Expr) and part is one)

    def _called(self, call: ast.Call, *, alone: bool) -> None:
        """Record what a call prints, writes or changes; `alone`: it is a statement."""
        name, owner = last_name(call.func), base_name(call.func)
        if name in PRINTS:
            self.printed += call.args
            return
        arguments = [*call.args, *(one.value for one in call.keywords)]
        if name in WRITES and arguments:
            self.written.append(arguments[0])
        elif name.startswith("to_") and isinstance(call.func, ast.Attribute):
            self.written.append(call.func.value)
        if isinstance(call.func, ast.Attribute):
            if owner in self._names:
                self._names[owner] += call.args
        elif alone and name not in _BUILTINS:
            # The call may fill its arguments.
            for argument in call.args:
                if isinstance(argument, ast.Name) and argument.id in self._names:
                    self._names[argument.id].append(None)

    # The origin of an expression

    def _bound(self, name: str) -> Made:
        if name not in self._read:
            bound = self._names[name]
            made = Made(computed=not bound or None in bound)
            self._read[name] = made.with_(*(self._of(one) for one in bound if one is not None))
        return self._read[name]

    def _of(self, node: ast.AST) -> Made:
        match node:
            case ast.Constant():
                return _constant(node.value)
            case ast.Name():
                known = node.id in self._names
                return Made(computed=not known and node.id not in _BUILTINS, names={node.id} if known else set())
            case ast.Call():
                return self._call(node)
            case ast.Subscript() | ast.Attribute():
                return Made(works=True).with_(self._of(node.value))
            case ast.JoinedStr():
                texts = [str(one.value) for one in node.values if isinstance(one, ast.Constant)]
                figures = Made(numbers={abs(one.value) for text in texts for one in numbers_in(text)})
                return figures.with_(
                    *(self._of(one.value) for one in node.values if isinstance(one, ast.FormattedValue))
                )
            case ast.Lambda():
                return Made()
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return Made(computed=True)
        return Made(works=isinstance(node, _WORKS)).with_(*map(self._of, ast.iter_child_nodes(node)))

    def _call(self, node: ast.Call) -> Made:
        name = last_name(node.func)
        given = [self._of(one) for one in node.args]
        given += [self._of(one.value) for one in node.keywords if one.arg not in ("key", "ndigits")]
        if isinstance(node.func, ast.Name) and name in self._functions:
            return Made(works=True, names={name})
        if isinstance(node.func, ast.Name) and name in _BUILTINS and name not in self._names:
            plain = name in ("float", "int", "str", "list", "dict", "tuple", "set", "round", "format", "bool")
            return Made(works=not plain).with_(*(given[:1] if name in ("round", "format") else given))
        if name in MAKERS:
            return Made().with_(*given)
        if isinstance(node.func, ast.Attribute):
            return self._of(node.func.value).with_(Made(works=True), *given)
        return Made(computed=True)


_WORKS = (ast.BinOp, ast.Compare, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def _heads(node: ast.stmt) -> list[ast.expr]:
    """The expressions that decide whether or how often the body of a statement runs."""
    match node:
        case ast.If() | ast.While():
            return [node.test]
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.Match():
            return [node.subject]
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


def literals_down(ours: Sequence[Made], theirs: Sequence[Made], given: Given, had: Pool | None = None) -> str:
    """A literal of the script in place of what the session computed; empty where there is none.

    Args:
        ours: what the script prints, or writes to files.
        theirs: what the session does.
        had: where a literal must be to count.
    """
    if any(one.computed for one in ours) or (theirs and not any(one.computed or one.works for one in theirs)):
        return ""
    lacking = (literal for made in ours for literal in given.lacks(made))
    return next((one for one in lacking if had is None or _has(had, one)), "")


def _has(pool: Pool, literal: str) -> bool:
    numbers = list(numbers_in(literal))
    return all(map(pool.holds, numbers)) if numbers else pool.names(literal.strip("'\""))


def values_down(script: Code, given: Given, session_had: Pool) -> str:
    """A telling number of the script that only a result of the session explains; empty where there is none."""
    for number in script.values():
        if abs(number.value) not in given.pool.few and session_had.holds(number):
            return number.text
    return ""
