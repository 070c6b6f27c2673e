"""One call a step, and what is asked of the interpreter between calls.

Everything is a generator of actions that is sent their observations, so that it reads as the order in which it happens.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codenav.actions import Action, CodeObservation, Observation, Question, Try
from codenav.execution import Execution, Outcome, Variable
from codenav.planner.guard import Guard
from codenav.planner.whether import attempt, complaint
from codenav.planner.writing import Value
from codenav.signatures.callables import Answers, CallableSignature, answers, asking
from codenav.signatures.names import parts
from codenav.signatures.types import BUILTIN

LISTED = 1_000
"""Elements of an iterator that are taken."""
OPAQUE = re.compile(r"<.*(?: (?:object )?at 0x[0-9a-f]+|: its repr [^\n]*)>", re.DOTALL)
"""What says nothing of itself."""
_BROKEN = re.compile(r"^<[^\n]*: its repr raises \w+>$")
"""What cannot even be shown was made of the wrong things."""
LOST = "state lost"
"""How the notice of a step begins, before which the sandbox was started again."""
CHANGING = frozenset(
    ("add", "append", "clear", "create", "delete", "discard", "drop", "extend", "insert", "new", "pop", "push", "put",
     "read", "remove", "rename", "replace", "reset", "reverse", "set", "shuffle", "sort", "update", "write")
)  # fmt: skip
"""Words in the names of methods that may change what they are called on."""
_NOTHING = re.compile(
    r"None|\((?:None, ?)+(?:None)?\)"
    r"|(?:[\w.]+\()?(?:\[\]|\(\)|\{\})(?:, dtype=\w+)?\)?|(?:set|frozenset|\w*Dict|Counter)\(\)|b?''"
    r"|[(\[](?:'',? ?)+[)\]]|\w*(?:Error|Exception)\(.*\)"
)


@dataclass(frozen=True)
class Result:
    """The value of a call that worked."""

    name: str
    type: str
    repr: str
    calls: tuple[CallableSignature, ...]
    """What was called for it, in order."""
    used: frozenset[Value]
    """What went into it, literals and results of earlier clauses."""
    lines: tuple[str, ...]
    """Imports and calls that lead to it."""
    files: tuple[str, ...] = ()
    overwrote: tuple[str, ...] = ()
    """Files that were there, and that the last call has changed or removed; they are put back until it is chosen."""
    printed: str = ""
    """What the last call wrote to its standard output."""
    named: int = 0
    guessed: int = 0
    changed: bool = False
    """Whether it is what the last call was made on, and has changed."""
    same: bool = False
    """Whether it shows just what the last call was made on."""
    swapped: int = 0
    """Literals that stand in another order than in the request."""
    worst: float = 1.0
    """How well the literal goes with its parameter that goes least well."""
    packed: bool = False
    """Whether literals were put together into a list, or one was taken apart."""
    kept: bool = False
    """Whether it was written to its file afterwards, by no call of its own."""
    as_text: bool = False
    """Whether `repr` is its text, because its repr says nothing."""

    @property
    def nothing(self) -> bool:
        """None, an empty container or an empty text, and nothing else was done."""
        return not self.files and not self.changed and not self.printed and bool(_NOTHING.fullmatch(self.repr))

    @property
    def linked(self) -> bool:
        """Whether a result of an earlier clause went in."""
        return any(value.literal is None and not value.words for value in self.used)

    @property
    def echo(self) -> bool:
        """Just what went in."""
        shown = self.repr.strip("'\"")
        given = [value.code for value in self.used]
        listed = self.type == "list" and sorted(_bare(self.repr[1:-1].split(", "))) == sorted(_bare(given))
        return (listed or any(shown == code.strip("'\"") for code in given)) and not self.changed

    @property
    def opaque(self) -> bool:
        """An object that says nothing of itself."""
        return bool(OPAQUE.search(self.repr))

    @property
    def builtin(self) -> bool:
        """Of a type that Python itself has."""
        return self.type in BUILTIN


def _bare(codes: Sequence[str]) -> list[str]:
    return [code.strip("'\"") for code in codes]


@dataclass(frozen=True)
class Call:
    """What is to be run."""

    item: CallableSignature
    code: str
    imports: tuple[str, ...]
    lines: tuple[str, ...]
    """What leads to its arguments."""
    calls: tuple[CallableSignature, ...]
    used: frozenset[Value]
    receiver: str = ""
    """The name that it is called on."""
    named: int = 0
    """Literals that went where the word right beside them says."""
    guessed: int = 0
    """Literals that went to parameters which may be left out, for their types alone."""
    swapped: int = 0
    worst: float = 1.0
    packed: bool = False
    """As in `Result`, calls before it included."""


Making = Generator[Action, Observation, Result | None]


class Caller:
    """Runs calls in the sandbox, each once."""

    def __init__(self, guard: Guard) -> None:
        self.count = 0
        """Calls that were made."""
        self.undone = 0
        """Those whose changes to files were taken back."""
        self._guard = guard
        self._asked = False
        self._numbers = 0
        self._made: dict[str, tuple[Result | None, Execution | None]] = {}
        self._members: dict[str, Answers] = {}
        self._shown: dict[str, str] = {}
        self._endless: set[str] = set()
        self._state: dict[str, tuple[str, ...]] = {}
        """What led to the state in which an object is by now, where a call may have changed it."""

    def ask(self, question: dict[str, Any], thought: str) -> Generator[Action, Observation, Answers]:
        """What the interpreter says; nothing where it cannot."""
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
        """What an object offers."""
        if result.name not in self._members:
            self._members[result.name] = yield from self.ask(
                {"members": result.name}, f"What does this {result.type} offer?"
            )
        return self._members[result.name]

    def run(self, call: Call) -> Generator[Action, Observation, tuple[Result | None, Execution | None]]:
        """One call in one step; the result gets a new name where it worked. The same call is made once."""
        if call.item.expression in self._endless:
            return None, None
        if call.code in self._made:
            before, execution = self._made[call.code]
            if before is not None:
                # What it was asked for with may be another clause's.
                before = replace(
                    before, calls=(*call.calls, call.item), used=call.used, named=call.named, guessed=call.guessed,
                    swapped=call.swapped, worst=call.worst, packed=call.packed,
                )  # fmt: skip
            return before, execution
        self._made[call.code] = None, None
        made, execution = yield from self._run(call)
        self._made[call.code] = made, execution
        return made, execution

    def _run(self, call: Call) -> Generator[Action, Observation, tuple[Result | None, Execution | None]]:
        self.count += 1
        if self._state.get(call.receiver, call.lines) != call.lines:
            # Another call has changed what this one is made on.
            yield Try("\n".join(call.lines))
            self._state[call.receiver] = call.lines
        yield from self._guard.begin()
        made, name, execution = yield from self.assign(call.code, call.imports)
        overwrote = yield from self._guard.after(call.item.name, execution)
        self.undone += bool(overwrote)
        if execution is not None and execution.outcome is Outcome.TIMEOUT:
            # Once is enough.
            self._endless.add(call.item.expression)
        if made is None or execution is None or _BROKEN.search(made.repr):
            return None, execution
        lines = tuple(dict.fromkeys((*call.lines, *call.imports, f"{name} = {call.code}")))
        done = Result(
            name, short(made), made.repr, (*call.calls, call.item), call.used, lines,
            tuple(execution.files), overwrote, execution.stdout.strip(), call.named, call.guessed,
            same=bool(call.receiver) and made.repr == self._shown.get(call.receiver),
            swapped=call.swapped, worst=call.worst, packed=call.packed,
        )  # fmt: skip
        self._shown[name] = made.repr
        if done.opaque or done.type in (
            "map",
            "filter",
            "zip",
            "range",
            "reversed",
            "enumerate",
            "dict_keys",
            "dict_values",
            "dict_items",
        ):
            shown = yield from self._listed(done)
            if shown is None:
                return None, execution
            done = shown
        if call.receiver:
            mutated = changed_in(execution, call.receiver)
            if mutated is not None or CHANGING & set(parts(call.item.name)):
                self._state[call.receiver] = lines
            if mutated is not None and done.type == "NoneType":
                # `list.sort` and its like give nothing and change what they are called on.
                done = replace(done, name=call.receiver, type=short(mutated), repr=mutated.repr, changed=True)
        return done, execution

    def whether(self, call: Call, done: Result | None, execution: Execution | None) -> Making:
        """Yes where a call that checks has given nothing, no where it has complained; else None."""
        if done is not None:
            said = None
            if done.nothing:
                said, _ = yield from self.run(replace(call, code=f"{call.code} is None"))
            return said
        told = complaint(execution) if execution is not None else None
        if told is None:
            return None
        line, exception = told
        self._numbers += 1
        name = f"result_{self._numbers}"
        tried = attempt(name, call.code, exception)
        lines = tuple(dict.fromkeys((*call.lines, *call.imports, *filter(None, [line]), *tried)))
        observed = yield Try("\n".join([*filter(None, [line]), *tried]))
        made = changed_in(observed.execution, name) if isinstance(observed, CodeObservation) else None
        if made is None:
            return None
        return Result(
            name, short(made), made.repr, (*call.calls, call.item), call.used, lines,
            named=call.named, guessed=call.guessed, swapped=call.swapped, worst=call.worst, packed=call.packed,
        )  # fmt: skip

    def _listed(self, done: Result) -> Making:
        """An iterator as a list, None where it raises; another object as the text that it has for itself."""
        told = yield from self.members(done)
        if done.opaque and not told.iterator:
            return replace(done, repr=told.shown, as_text=True) if told.shown else done
        code = f"list(islice({done.name}, {LISTED}))"
        listed, name, _ = yield from self.assign(code, ["from itertools import islice"])
        if listed is None:
            return None if told.iterator else done
        lines = (*done.lines, "from itertools import islice", f"{name} = {code}")
        return replace(done, name=name, type=short(listed), repr=listed.repr, lines=lines)

    def assign(
        self, expression: str, imports: Sequence[str] = ()
    ) -> Generator[Action, Observation, tuple[Variable | None, str, Execution | None]]:
        """Bind the value of an expression to a new name; None instead of the variable where it raised."""
        self._numbers += 1
        name = f"result_{self._numbers}"
        observed = yield Try("\n".join([*dict.fromkeys(imports), f"{name} = {expression}"]))
        if not isinstance(observed, CodeObservation):
            return None, name, None
        self._notice(observed.execution)
        return changed_in(observed.execution, name), name, observed.execution


def written(item: CallableSignature, own: str, arguments: str) -> tuple[str, str, Sequence[str]]:
    """What is called (on what is named `own`, if anything is), what stands between its parentheses, and its imports."""
    if own and re.fullmatch(r"__(?:next|int|float)__", item.name):
        # `float(it)`, as one would write it.
        return item.name.strip("_"), own, ()
    if own and item.name == "__iter__":
        return "list", f"islice({own}, {LISTED})", ("from itertools import islice",)
    if item.kind == "member":
        # Of the one thing in a list, or an object that is called itself.
        return item.expression.removesuffix(".__call__"), arguments, ()
    return f"{own}.{item.name}" if own else item.expression, arguments, ()


def short(variable: Variable) -> str:
    """Its type's own name."""
    return variable.type.rpartition(".")[2]


def changed_in(execution: Execution, name: str) -> Variable | None:
    """The variable, where the step has bound or changed it."""
    return next((variable for variable in execution.changed if variable.name == name), None)


def reason(execution: Execution) -> str:
    """Why a step did not work, in a line."""
    error = execution.error
    return f"{error.type}: {error.message}"[:300] if error else execution.outcome.value
