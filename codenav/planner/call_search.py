"""The call search: makes calls for a clause, and first the values that they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from codenav.actions import Action, Observation
from codenav.execution import Execution
from codenav.planner.argument_repair import asked_attribute, repaired, wants_object
from codenav.planner.binding import Binding
from codenav.planner.binding_search import bindings
from codenav.planner.calls import LISTING, Call, Caller, Fit, Making, Result, Run, reason, written
from codenav.planner.candidates import MAKERS, Candidates, is_a, named_by
from codenav.planner.file_writing import overwrites, spoils
from codenav.planner.goal import Goal, shape
from codenav.planner.scoring import is_sure, score
from codenav.planner.values import Value, beside
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import stem
from codenav.signatures.types import type_words

TRIES, EACH, MORE = 60, 14, 6
"""Maximum number of calls: for a clause in one go; for one callable of it, those for its parameters included; and then
on what came out."""
ALL = 200
"""Maximum number of calls for the whole request."""
ON = 4
"""Maximum number of ways to call a member of a result."""
SECONDS = 60.0
"""Longest time for a request; a call that has begun is not ended for it."""
Must = Mapping[str, Sequence[Value]]


class CallSearch:
    """The search for calls of callables with what a clause gives."""

    def __init__(self, caller: Caller, pool: Candidates) -> None:
        self._caller, self._pool = caller, pool

    def spent(self, goal: Goal) -> bool:
        """True if enough was tried: for the clause, or for the callable of it that is tried."""
        count = self._caller.count
        each = EACH + MORE * goal.extending
        enough = count >= ALL or count - goal.tries >= TRIES or count - goal.item_tries >= each
        return enough or time.monotonic() - goal.began > SECONDS

    def ways(
        self, item: CallableSignature, goal: Goal, values: Sequence[Value], depth: int
    ) -> Generator[Action, Observation, list[Result]]:
        """The results of all ways to call something, up to one that is right for sure."""
        found: list[Result] = []
        failed: list[Binding] = []

        def complete(result: Result) -> bool:
            return goal.wanted <= result.used and not (result.nothing or result.echo)

        told = bindings(item, [*values, *goal.constants], self._pool.classes)
        if item.kind in ("class", "method"):
            # A value that would only be a guess may be meant for the other one of the two.
            told.sort(key=lambda bound: bound.guessed > 0)
        for bound in told:
            if bound.missing and any(map(complete, found)):
                # A call that takes all that was given needs nothing else.
                continue
            if self.spent(goal):
                return found
            if goal.wanted and bound.used and all(value.is_plain_word for value in bound.used):
                # `as few as possible`
                continue
            done = yield from self.call(item, bound, goal, values, depth, lifts=False)
            if done is None:
                failed += [] if bound.missing else [bound]
                continue
            found.append(done)
            if is_sure(done, goal):
                return found
        # A callable that works with the values as they are needs no objects made of them.
        plain = any(complete(one) and not one.fit.guessed for one in found)
        for bound in [] if plain else failed:
            if self.spent(goal):
                return found
            done = yield from self.call(item, bound, goal, values, depth)
            found += [done] if done is not None else []
        return found

    def on(self, owner: Result, item: CallableSignature, goal: Goal, values: Sequence[Value]) -> Making:
        """Call a member of a result in some ways, and return the best result."""
        if item.kind == "value":
            call = Call(item, item.expression, (), replace(owner.fit, used=self._used(owner, goal)), owner.name)
            done, _ = yield from self._run(call, goal)
            return done
        best: Result | None = None
        without = [value for value in values if value.code != owner.name]
        for bound in bindings(item, [*without, *goal.constants], self._pool.classes)[:ON]:
            if self.spent(goal):
                break
            done = yield from self.call(item, bound, goal, without, 1, owner)
            if done is not None and (best is None or score(done, goal) > score(best, goal)):
                best = done
            if best is not None and is_sure(best, goal):
                # Another call might change what this one was made on.
                break
        return best

    def _used(self, result: Result, goal: Goal) -> frozenset[Value]:
        """The values in a result of this clause, or the result itself where it is of an earlier one."""
        return frozenset((Value(result.name, result.type),)) if result in goal.earlier else result.used

    def call(
        self,
        item: CallableSignature,
        bound: Binding,
        goal: Goal,
        values: Sequence[Value],
        depth: int,
        owner: Result | None = None,
        must: Must = MappingProxyType({}),
        hint: str = "",
        *,
        lifts: bool = True,
    ) -> Making:
        """Make a call; for each parameter that is missing a value is made first, at most `depth` deep.

        `must`: values that have to go into the objects for some parameters, the first of each for sure; `hint`: an
        attribute of such objects; `lifts`: True to make objects of what was given, where the call asks for them.
        """
        if spoils(item, bound.used, goal):
            return None
        whole = bound.fit
        if owner is not None:
            whole = replace(owner.fit, used=self._used(owner, goal)).with_(whole)
        for value in bound.used:
            # The lines that an earlier result needs come before it.
            needed = next((one.lines for one in goal.earlier if one.name == value.code), ())
            whole = whole.with_(Fit(lines=needed))
        given: dict[str, str] = {}
        imports: list[str] = []
        left = [value for value in values if value not in bound.used]
        calls_on = item.kind in ("method", "property") and owner is None
        receiver = [Parameter("self", "POSITIONAL_ONLY", True, item.owner)] if calls_on else []
        for parameter in [*receiver, *bound.missing]:
            result = self._at_hand(parameter, goal, left)
            if result is None and depth:
                into = must.get(parameter.name, ())
                result = yield from self._value_for(parameter, item, goal, left, depth, into, hint, whole.calls)
            if result is None:
                typed = f" ({parameter.type[:60]})" if parameter.type else ""
                goal.fails(f"{shape(item).partition('(')[0]} needs {parameter.name}{typed}, and nothing gives it")
                return None
            given[parameter.name] = result.name
            calls = result.calls if result not in goal.earlier else ()
            whole = whole.with_(replace(result.fit, used=self._used(result, goal), calls=calls))
            imports += [line for line in result.lines if line.startswith("from ")]
            left = [value for value in left if value not in whole.used]
        own = given.pop("self", "") if calls_on else owner.name if owner else ""

        def code_of(one: Binding) -> str:
            return written(item, own, one.arguments(given))

        code = code_of(bound)
        more = (LISTING,) if item.name == "__iter__" else ()
        call = Call(item, code, (*bound.imports, *imports, *more, *(() if own else (item.import_line,))), whole, own)
        done, execution = yield from self._run(call, goal)
        if done is not None:
            return (yield from self._without_idle(done, call, bound, goal, code_of))
        if execution is None or execution.error is None:
            return None
        goal.fails(f"{shape(item).partition('(')[0]}: {reason(execution)}")
        if not given:
            for other in repaired(bound, execution):
                again = replace(call, code=code_of(other), imports=(*other.imports, *call.imports))
                done, _ = yield from self._run(again, goal)
                if done is not None:
                    return done
        return (yield from self._lifted(item, bound, goal, values, depth, owner, execution)) if lifts else None

    def _without_idle(
        self, done: Result, call: Call, bound: Binding, goal: Goal, code_of: Callable[[Binding], str]
    ) -> Making:
        """The result, as one that leaves out each literal that its call takes and gives the same without.

        Where a parameter has a value of its own and no word names it, that literal was meant for something else: the
        price of a fruit in a market that makes no difference. What is None by default may well change nothing: the
        column by which a table is sorted already.
        """
        if done.files or done.changed or done.printed or done.opaque or done.as_text:
            return done
        for parameter, value in bound.pairs:
            own = not parameter.required and parameter.default not in ("", "None", value.code)
            if not own or value not in goal.wanted or beside(value, parameter) == 1.0:
                continue
            less = replace(bound, given=tuple(pair for pair in bound.given if pair[0] is not parameter))
            plain, _ = yield from self._run(replace(call, code=code_of(less)), goal)
            if plain is not None and plain.repr == done.repr:
                fit = replace(done.fit, used=done.used - {value}, guessed=max(0, done.fit.guessed - 1))
                done = replace(done, fit=fit)
        return done

    def _run(self, call: Call, goal: Goal) -> Run:
        """Run a call; its result is dropped where it changes a file that is there though nobody asked for that."""
        done, execution = yield from self._caller.run(call)
        return (None if done is not None and done.overwrote and not overwrites(goal) else done), execution

    def _lifted(
        self,
        item: CallableSignature,
        bound: Binding,
        goal: Goal,
        values: Sequence[Value],
        depth: int,
        owner: Result | None,
        execution: Execution,
    ) -> Making:
        """Make the call with an object where it was given a text or a number."""
        if depth < 2 or not wants_object(execution):
            return None
        plain = {
            parameter.name: value
            for parameter, code in bound.given
            for value in bound.used
            if value.code == code
            and value.literal is not None
            and parameter.type not in ("str", "int", "float", "bool")
        }
        # First all that may have to be objects, then each alone.
        for names in [*([tuple(plain)] if len(plain) > 1 else []), *((name,) for name in plain)]:
            again = Binding(
                tuple(pair for pair in bound.given if pair[0].name not in names),
                (*bound.missing, *(parameter for parameter, _ in bound.given if parameter.name in names)),
                tuple(one for one in bound.used if all(one is not plain[name] for name in names)),
                0.0,
                bound.imports,
                signature=bound.signature,
            )
            must = {name: (plain[name],) for name in names}
            done = yield from self.call(item, again, goal, values, depth - 1, owner, must, asked_attribute(execution))
            if done is not None:
                return done
        return None

    def _value_for(
        self,
        parameter: Parameter,
        target: CallableSignature,
        goal: Goal,
        values: Sequence[Value],
        depth: int,
        must: Sequence[Value],
        hint: str,
        before: Sequence[CallableSignature],
    ) -> Making:
        """Make a value with the words that no call has used, of what the other call does not take."""
        left = goal.meaning.left([target, *before])
        own = target.owner if parameter.name == "self" else ""
        values = [*must, *(member for value in must for member in value.members)] or values
        # `the melting point of gold` has no literal.
        words = {value for value in values if value.is_word and not value.is_loose}
        open_ = {value for value in values if value in goal.wanted} if goal.wanted else words
        empty: Result | None = None
        for known in (True, False):
            if not known:
                if own:
                    yield from self._pool.constructors(own)
                yield from self._pool.look(self._pool.meaning(left), type_words(parameter)[-2:], goal)
                yield from self._pool.offer(goal, [stem(word) for word in [*type_words(parameter), *MAKERS]])
            meaning = self._pool.meaning(left)
            options = self._pool.producers(parameter, target, meaning, values, hint)[: 4 if known else 5]
            deeper = [] if empty is not None or depth < 2 else options[:2]
            # First what takes the literals as they are.
            for item, down in [*((item, 0) for item in options), *((item, depth - 1) for item in deeper)]:
                if self.spent(goal):
                    return empty
                made = yield from self.ways(item, goal, values, down)
                fits = [
                    one
                    for one in made
                    if one.repr != "None"
                    and not one.echo
                    and self._plausible(one, parameter)
                    and (not must or one.used >= set(must[0].members or must[:1]))
                ]
                result = max(fits, key=lambda one: self._as_part(one, open_, goal), default=None)
                if result is None:
                    continue
                if open_ <= named_by(item, open_) or open_ & result.used:
                    return result
                # Nothing went into it: perhaps something else takes what is left.
                empty = empty or result
        return empty

    def _as_part(self, result: Result, open_: Collection[Value], goal: Goal) -> tuple[float, ...]:
        """The rank of a result as something that another call takes: by what went in, and whether in its place."""
        taken, fit = len(frozenset(open_) & result.used), result.fit
        return taken, fit.named - fit.guessed, score(result, goal)

    def _at_hand(self, parameter: Parameter, goal: Goal, values: Sequence[Value]) -> Result | None:
        """An earlier result of the right kind, else an object that a module holds ready."""
        for before in goal.earlier:
            if is_a(before, parameter) and any(value.code == before.name for value in values):
                return before
        if parameter.name != "self":
            return None
        said = {value.literal.text for value in goal.wanted if value.literal is not None}
        return self._pool.instance(parameter.type, {*goal.meaning.words, *said})

    def _plausible(self, result: Result, parameter: Parameter) -> bool:
        """True if a result can be the object that a method is called on."""
        if parameter.name != "self" or result.type == parameter.type:
            return True
        known = self._pool.class_(result.type)
        return known is None or parameter.type in known.bases
