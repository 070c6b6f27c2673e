"""Calls, one per step, and questions to the interpreter between them.

Everything is a generator of actions that is sent their observations, so that it reads as the order in which it happens.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codenav.actions import Action, CodeObservation, Observation, Question, Try
from codenav.execution import Execution, Outcome, Variable
from codenav.planner.values import Value
from codenav.planner.write_guard import WriteGuard
from codenav.signatures.callables import Answers, CallableSignature, answers, asking
from codenav.signatures.names import parts, words_in
from codenav.signatures.types import BUILTIN, EXACT

LISTED, LISTING = 1_000, "from itertools import islice"
"""Maximum number of elements of an iterator that are taken, and the import that takes them."""
OPAQUE = re.compile(r"<.*(?: (?:object )?at 0x[0-9a-f]+|: its repr [^\n]*)>", re.DOTALL)
"""A repr that says nothing of its object."""
_BROKEN = re.compile(r"^<[^\n]*: its repr raises \w+>$")
"""The repr of an object that cannot even be shown: it was made of the wrong things."""
LOST = "state lost"
"""The beginning of the notice of a step before which the sandbox was started again."""
_LISTS = words_in("""map filter zip range reversed enumerate dict_keys dict_values dict_items""")
_CHANGING = words_in(
    """add append clear create delete discard drop extend insert new pop push put read remove rename replace
    reset reverse set shuffle sort update write"""
)
"""Words in the names of methods that may change what they are called on."""
_NOTHING = re.compile(
    r"None|\((?:None, ?)+(?:None)?\)"
    r"|(?:[\w.]+\()?(?:\[\]|\(\)|\{\})(?:, dtype=\w+)?\)?|(?:set|frozenset|\w*Dict|Counter)\(\)|b?''"
    r"|[(\[](?:'',? ?)+[)\]]|\w*(?:Error|Exception)\(.*\)"
)


@dataclass(frozen=True)
class Fit:
    """The calls that lead to a value, and how well what they were given fits."""

    calls: tuple[CallableSignature, ...] = ()
    """The calls in their order."""
    used: frozenset[Value] = frozenset()
    """Literals and results of earlier clauses that went in."""
    lines: tuple[str, ...] = ()
    """The imports and calls as Python."""
    named: int = 0
    """Literals in parameters that the word right beside them names."""
    guessed: int = 0
    """Literals in parameters that may be left out, for their types alone."""
    worst: float = EXACT
    """The fit of the literal that goes least well with its parameter, 0 to 1.3."""
    packed: bool = False
    """True if literals were put together into a list, or one was taken apart."""

    def with_(self, other: Fit) -> Fit:
        """The calls of both, and their fits together."""
        return Fit(
            (*self.calls, *other.calls),
            self.used | other.used,
            tuple(dict.fromkeys((*self.lines, *other.lines))),
            self.named + other.named,
            self.guessed + other.guessed,
            min(self.worst, other.worst),
            self.packed or other.packed,
        )


@dataclass(frozen=True)
class Result:
    """The value of a call that worked."""

    name: str
    type: str
    repr: str
    fit: Fit
    files: tuple[str, ...] = ()
    overwrote: tuple[str, ...] = ()
    """Files that were there, and that the last call has changed or removed; they are put back until it is chosen."""
    printed: str = ""
    """The standard output of the last call."""
    changed: bool = False
    """True if it is what the last call was made on, and has changed."""
    as_text: bool = False
    """True if `repr` is its text, because its repr says nothing."""

    @property
    def calls(self) -> tuple[CallableSignature, ...]:
        """The callables that were called for it, in order."""
        return self.fit.calls

    @property
    def used(self) -> frozenset[Value]:
        """The literals and results of earlier clauses that went in."""
        return self.fit.used

    @property
    def lines(self) -> tuple[str, ...]:
        """The imports and calls that lead to it."""
        return self.fit.lines

    @property
    def nothing(self) -> bool:
        """True if it is None, an empty container or an empty text, and nothing else was done."""
        return not self.files and not self.changed and not self.printed and bool(_NOTHING.fullmatch(self.repr))

    @property
    def linked(self) -> bool:
        """True if a result of an earlier clause went in."""
        return any(value.literal is None and not value.words for value in self.used)

    @property
    def echo(self) -> bool:
        """True if it is just what went in."""
        given = [value.code.strip("'\"") for value in self.used]
        held = [piece.strip("'\"") for piece in self.repr[1:-1].split(", ")]
        listed = self.type == "list" and sorted(held) == sorted(given)
        return (listed or self.repr.strip("'\"") in given) and not self.changed

    @property
    def opaque(self) -> bool:
        """True if it is an object that says nothing of itself."""
        return bool(OPAQUE.search(self.repr))

    @property
    def builtin(self) -> bool:
        """True if it is of a type that Python itself has."""
        return self.type in BUILTIN

    def then(self, name: str, made: Variable, code: str, *imports: str) -> Result:
        """The result of an expression on it."""
        lines = (*self.lines, *imports, f"{name} = {code}")
        return replace(self, name=name, type=short(made), repr=made.repr, fit=replace(self.fit, lines=lines))


@dataclass(frozen=True)
class Call:
    """A call to run."""

    item: CallableSignature
    code: str
    imports: tuple[str, ...]
    fit: Fit
    """All that leads to its arguments, and their fit."""
    receiver: str = ""
    """The name that it is called on."""


Making = Generator[Action, Observation, Result | None]
Assigned = Generator[Action, Observation, tuple[Variable | None, str, Execution | None]]
Run = Generator[Action, Observation, tuple[Result | None, Execution | None]]


class Caller:
    """A runner of calls in the sandbox, each once."""

    def __init__(self, guard: WriteGuard) -> None:
        self.count = 0
        """The number of calls that were made."""
        self.undone = 0
        """The number of calls whose changes to files were taken back."""
        self._guard = guard
        self._asked = False
        self._numbers = 0
        self._made: dict[str, tuple[Result | None, Execution | None]] = {}
        self._members: dict[str, Answers] = {}
        self._endless: set[str] = set()
        self._state: dict[str, tuple[str, ...]] = {}
        """The lines that led to the present state of an object, where a call may have changed it."""

    def ask(self, question: dict[str, Any], thought: str) -> Generator[Action, Observation, Answers]:
        """Ask the interpreter a question; the answer is empty where it cannot give one."""
        observed = yield Question(asking(question, first=not self._asked), thought=thought)
        if not isinstance(observed, CodeObservation):
            return Answers()
        execution = observed.execution
        self._notice(execution)
        self._asked = execution.ok or self._asked
        return answers(execution.stdout) if execution.ok else Answers(failures=(reason(execution),))

    def _notice(self, execution: Execution) -> None:
        """Forget what the sandbox no longer has, where it had to be started again before a step."""
        if execution.notice.startswith(LOST):
            self._asked = False
            self._made.clear()
            self._members.clear()
            self._guard.lost()

    def members(self, result: Result) -> Generator[Action, Observation, Answers]:
        """The members of an object."""
        if result.name not in self._members:
            told = yield from self.ask({"members": result.name}, f"What does this {result.type} offer?")
            self._members[result.name] = told
        return self._members[result.name]

    def run(self, call: Call) -> Run:
        """Run a call in one step; the result gets a new name where it worked. The same call is made once."""
        if call.item.expression in self._endless:
            return None, None
        if call.code in self._made:
            before, execution = self._made[call.code]
            if before is not None:
                # Another clause may ask for it with values of its own.
                fit = replace(call.fit, calls=(*call.fit.calls, call.item), lines=before.lines)
                before = replace(before, fit=fit)
            return before, execution
        self._made[call.code] = None, None
        self._made[call.code] = yield from self._run(call)
        return self._made[call.code]

    def _run(self, call: Call) -> Run:
        self.count += 1
        if self._state.get(call.receiver, call.fit.lines) != call.fit.lines:
            # Another call has changed what this one is made on.
            yield Try("\n".join(call.fit.lines))
            self._state[call.receiver] = call.fit.lines
        yield from self._guard.begin()
        made, name, execution = yield from self.assign(call.code, call.imports)
        overwrote = yield from self._guard.after(call.item.name, execution)
        self.undone += bool(overwrote)
        if execution is not None and execution.outcome is Outcome.TIMEOUT:
            # One timeout is enough.
            self._endless.add(call.item.expression)
        if made is None or execution is None or _BROKEN.search(made.repr):
            return None, execution
        fit = call.fit.with_(Fit((call.item,), lines=(*call.imports, f"{name} = {call.code}")))
        files, printed = tuple(execution.files), execution.stdout.strip()
        done = Result(name, short(made), made.repr, fit, files, overwrote, printed)
        if done.opaque or done.type in _LISTS:
            shown = yield from self._listed(done)
            if shown is None:
                return None, execution
            done = shown
        if call.receiver:
            mutated = changed_in(execution, call.receiver)
            if mutated is not None or _CHANGING & set(parts(call.item.name)):
                self._state[call.receiver] = fit.lines
            if mutated is not None and done.type == "NoneType":
                # `list.sort` and its like give nothing and change what they are called on.
                done = replace(done, name=call.receiver, type=short(mutated), repr=mutated.repr, changed=True)
        return done, execution

    def _listed(self, done: Result) -> Making:
        """An iterator as a list, None where it raises; another object as the text that it has for itself."""
        told = yield from self.members(done)
        if done.opaque and not told.iterator:
            return replace(done, repr=told.shown, as_text=True) if told.shown else done
        code = _first_of(done.name)
        listed, name, _ = yield from self.assign(code, [LISTING])
        if listed is None:
            return None if told.iterator else done
        return done.then(name, listed, code, LISTING)

    def assign(self, expression: str, imports: Sequence[str] = ()) -> Assigned:
        """Bind the value of an expression to a new name; None instead of the variable where it raised."""
        self._numbers += 1
        name = f"result_{self._numbers}"
        observed = yield Try("\n".join([*dict.fromkeys(imports), f"{name} = {expression}"]))
        if not isinstance(observed, CodeObservation):
            return None, name, None
        self._notice(observed.execution)
        return changed_in(observed.execution, name), name, observed.execution


def changes(name: str) -> frozenset[str]:
    """The words in a method's name which say that it may change its object."""
    return _CHANGING.intersection(parts(name))


def written(item: CallableSignature, own: str, arguments: str) -> str:
    """A call as Python, on what is named `own` if anything is, with the text between its parentheses."""
    if own and re.fullmatch(r"__(?:next|int|float)__", item.name):
        # `float(it)`, as one would write it.
        return f"{item.name.strip('_')}({own})"
    if own and item.name == "__iter__":
        return _first_of(own)
    if item.kind == "member":
        # A member of the one thing in a list, or an object that is called itself.
        return f"{item.expression.removesuffix('.__call__')}({arguments})"
    head = f"{own}.{item.name}" if own else item.expression
    return head if item.kind == "property" else f"{head}({arguments})"


def _first_of(name: str) -> str:
    """The code for the first elements of what can be gone through, with `LISTING`."""
    return f"list(islice({name}, {LISTED}))"


def short(variable: Variable) -> str:
    """The last part of the name of a variable's type."""
    return variable.type.rpartition(".")[2]


def changed_in(execution: Execution, name: str) -> Variable | None:
    """The variable of a name, where the step has bound or changed it."""
    return next((variable for variable in execution.changed if variable.name == name), None)


def reason(execution: Execution) -> str:
    """The reason why a step did not work, in a line."""
    error = execution.error
    return f"{error.type}: {error.message}"[:300] if error else execution.outcome.value
