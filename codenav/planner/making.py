"""Makes calls for a clause: fills what they take, and first makes what has to be made for it."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from codenav.actions import Action, Observation
from codenav.execution import Execution
from codenav.planner.calls import Call, Caller, Making, Result, reason, written
from codenav.planner.evidence import unused
from codenav.planner.filled import Filled
from codenav.planner.filling import fillings
from codenav.planner.giving import said_flags
from codenav.planner.goals import Goal, shape
from codenav.planner.idle import without_idle
from codenav.planner.judging import SURE, judged
from codenav.planner.makers import MAKERS, is_a, makers, named_by
from codenav.planner.mending import asked_attribute, mended, missing_names, wants_object
from codenav.planner.pool import Pool
from codenav.planner.unasked import overwrites, spoils
from codenav.planner.whether import checks
from codenav.planner.writing import Value, beside, fit
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts, stem
from codenav.signatures.types import type_words

TRIES, EACH, MORE = 60, 14, 6
"""Calls that are made for a clause in one go; for one callable of it, those for its parameters included; and then on
what came out."""
ALL = 200
"""For the whole request."""
ON = 4
"""Ways to call a member of a result."""
SECONDS = 60.0
"""For a request; a call that has begun is not ended for it."""

LOADERS = frozenset(("parse", "load", "read", "open", "from", "import", "feed", "add", "set", "update", "fit", "loads"))
"""Words in the names of methods that fill an empty object."""


class Maker:
    """Calls callables with what a clause gives."""

    def __init__(self, caller: Caller, pool: Pool) -> None:
        self._caller, self._pool = caller, pool

    def judged(self, result: Result, goal: Goal) -> float:
        """See `judging.judged`; each result once for a clause."""
        known = goal.judged.get(id(result))
        if known is None:
            known = goal.judged[id(result)] = result, judged(result, goal, self._pool.known)
        return known[1]

    def sure(self, result: Result, goal: Goal) -> bool:
        """Whether nothing else has to be tried; what leaves a literal out is never claimed."""
        return self.judged(result, goal) >= SURE and not unused(result, goal)

    def spent(self, goal: Goal) -> bool:
        """Whether enough was tried: for the clause, or for the callable of it that is tried."""
        count = self._caller.count
        if count >= ALL:
            return True
        each = EACH + MORE * goal.extending
        return count - goal.tries >= TRIES or count - goal.item_tries >= each or time.monotonic() - goal.began > SECONDS

    def ways(
        self, item: CallableSignature, goal: Goal, values: Sequence[Value], depth: int
    ) -> Generator[Action, Observation, list[Result]]:
        """The results of all ways to call something, up to one that is right for sure."""
        found: list[Result] = []
        failed: list[Filled] = []
        flags = said_flags(item, goal.clause, goal.meaning)
        told = fillings(item, [*values, *goal.constants], self._pool.classes, flags)
        if item.kind in ("class", "method"):
            # What would only be a guess may be meant for the other one of the two.
            told.sort(key=lambda filled: filled.guessed > 0)
        for filled in told:
            if filled.missing and any(goal.wanted <= one.used and not (one.nothing or one.echo) for one in found):
                # What takes all that was given needs nothing else.
                continue
            if self.spent(goal):
                return found
            if goal.wanted and filled.used and all(value.is_plain_word for value in filled.used):
                # `as few as possible`
                continue
            done = yield from self.with_(item, filled, goal, values, depth, lifts=False)
            if done is None:
                failed += [] if filled.missing else [filled]
                continue
            done = (yield from without_idle(done, filled, goal, values, partial(self._again, item, goal, None))) or done
            found.append(done)
            if self.sure(done, goal):
                return found
        plain = any(goal.wanted <= one.used and not (one.nothing or one.echo or one.guessed) for one in found)
        for filled in [] if plain else failed:
            # What works with the values as they are needs no objects made of them.
            if self.spent(goal):
                return found
            done = yield from self.with_(item, filled, goal, values, depth)
            found += [done] if done is not None else []
        return found

    def on(self, owner: Result, item: CallableSignature, goal: Goal, values: Sequence[Value]) -> Making:
        """A member of a result."""
        if item.kind == "value":
            call = Call(item, item.expression, (), owner.lines, owner.calls, self._used(owner, goal), owner.name)
            done, _ = yield from self._run(call, goal)
            return done
        best: Result | None = None
        without = [value for value in values if value.code != owner.name]
        flags = said_flags(item, goal.clause, goal.meaning)
        for filled in fillings(item, [*without, *goal.constants], self._pool.classes, flags)[:ON]:
            if self.spent(goal):
                return best
            made = yield from self.with_(item, filled, goal, without, 1, owner)
            done = yield from without_idle(made, filled, goal, without, partial(self._again, item, goal, owner))
            if done is not None and (best is None or self.judged(done, goal) > self.judged(best, goal)):
                best = done
            if best is not None and self.sure(best, goal):
                # Another call might change what this one was made on.
                return best
        return best

    def _again(
        self, item: CallableSignature, goal: Goal, owner: Result | None, filled: Filled, values: Sequence[Value]
    ) -> Making:
        """The same call, filled otherwise, as long as not enough was tried."""
        less = self.with_(item, filled, goal, values, 1, owner, lifts=False)
        return None if self.spent(goal) else (yield from less)

    def _used(self, result: Result, goal: Goal) -> frozenset[Value]:
        """What went into a result of this clause, or the result itself where it is of an earlier one."""
        return frozenset((Value(result.name, result.type),)) if result in goal.earlier else result.used

    def with_(
        self,
        item: CallableSignature,
        filled: Filled,
        goal: Goal,
        values: Sequence[Value],
        depth: int,
        owner: Result | None = None,
        must: Mapping[str, Sequence[Value]] = MappingProxyType({}),
        hint: str = "",
        *,
        lifts: bool = True,
    ) -> Making:
        """One way to fill it; what is missing becomes a goal of its own.

        `must`: what has to go into the objects for some parameters, the first of each for sure; `hint`: what such
        objects have; `lifts`: whether objects are made of what was given, where the call asks for them.
        """
        if spoils(item, filled.used, goal):
            return None
        used = set(filled.used) | (self._used(owner, goal) if owner else set())
        lines: list[str] = list(owner.lines) if owner else []
        calls: list[CallableSignature] = list(owner.calls) if owner else []
        guessed = filled.guessed + (owner.guessed if owner else 0)
        named = filled.named + (owner.named if owner else 0)
        swapped = filled.swapped + (owner.swapped if owner else 0)
        packed = filled.packed or (owner is not None and owner.packed)
        worst = min(filled.worst, owner.worst if owner else filled.worst)
        given: dict[str, str] = {}
        imports: list[str] = []
        left = [value for value in values if value not in filled.used]
        bound = item.kind in ("method", "property") and owner is None
        receiver = [Parameter("self", "POSITIONAL_ONLY", True, item.owner)] if bound else []
        for value in filled.used:
            # What an earlier result needs comes before it.
            lines += next((one.lines for one in goal.earlier if one.name == value.code), ())
        for parameter in [*receiver, *filled.missing]:
            result = self._at_hand(parameter, goal, left)
            if result is None and depth:
                into = must.get(parameter.name, ())
                result = yield from self._value_for(parameter, item, goal, left, depth, into, hint, tuple(calls))
            if result is None:
                typed = f" ({parameter.type[:60]})" if parameter.type else ""
                goal.fails(f"{shape(item).partition('(')[0]} needs {parameter.name}{typed}, and nothing gives it")
                return None
            given[parameter.name] = result.name
            guessed += result.guessed
            named += result.named
            swapped += result.swapped
            worst = min(worst, result.worst)
            packed |= result.packed
            used |= self._used(result, goal)
            lines += result.lines
            imports += [line for line in result.lines if line.startswith("from ")]
            calls += result.calls if result not in goal.earlier else ()
            left = [value for value in left if value not in used]
        own = given.pop("self", "") if bound else owner.name if owner else ""
        head, arguments, needed = written(item, own, filled.arguments(given))
        call = Call(
            item,
            head if item.kind == "property" else f"{head}({arguments})",
            (*filled.imports, *imports, *needed, *(() if own else (item.import_line,))),
            tuple(dict.fromkeys(lines)),
            tuple(calls),
            frozenset(used),
            own,
            named,
            guessed,
            swapped,
            worst,
            packed,
        )
        done, execution = yield from self._run(call, goal)
        if checks(item, goal.clause) and (said := (yield from self._caller.whether(call, done, execution))) is not None:
            return said
        if done is not None or execution is None or execution.error is None:
            return done
        goal.fails(f"{shape(item).partition('(')[0]}: {reason(execution)}")
        done = None if given else (yield from self._mended(call, head, filled, execution, goal))
        if done is not None or not lifts:
            return done
        return (yield from self._lifted(item, filled, goal, values, depth, owner, execution))

    def _run(self, call: Call, goal: Goal) -> Generator[Action, Observation, tuple[Result | None, Execution | None]]:
        """A call, unless it changes a file that is there though nobody asked for that."""
        done, execution = yield from self._caller.run(call)
        return (None if done is not None and done.overwrote and not overwrites(goal) else done), execution

    def _mended(self, call: Call, head: str, filled: Filled, execution: Execution, goal: Goal) -> Making:
        """The call with its arguments written as the message asks for them."""
        for other in mended(filled, execution, goal.values):
            used = (call.used - frozenset(filled.used)) | frozenset(other.used)
            again = replace(
                call,
                used=used,
                named=call.named + other.named - filled.named,
                code=f"{head}({other.arguments()})",
                imports=(*other.imports, *call.imports),
            )
            done, _ = yield from self._run(again, goal)
            if done is not None:
                return done
        return None

    def _lifted(
        self,
        item: CallableSignature,
        filled: Filled,
        goal: Goal,
        values: Sequence[Value],
        depth: int,
        owner: Result | None,
        execution: Execution,
    ) -> Making:
        """The call with an object where it was given a text or a number, or with an argument that the message names."""
        if depth < 2:
            return None
        named = [one for one in item.parameters if one.name in missing_names(execution) and one not in filled.missing]
        if named:
            taken = {parameter.name for parameter, _ in filled.given}
            more = tuple(replace(one, required=True) for one in named if one.name not in taken)
            if more:
                again = replace(filled, missing=(*filled.missing, *more))
                return (yield from self.with_(item, again, goal, values, depth - 1, owner))
        if not wants_object(execution):
            return None
        plain: dict[str, Value] = {}
        for parameter, code in filled.given:
            value = next((one for one in filled.used if one.code == code and one.literal is not None), None)
            if value is not None and parameter.type not in ("str", "int", "float", "bool"):
                plain[parameter.name] = value
        # All that may have to be objects, then each alone, then with what was only guessed for another place.
        several = [tuple(plain)] if len({type(value.literal) for value in plain.values()}) == 1 < len(plain) else []
        alone = [(name,) for name in plain]
        guesses = {parameter.name for parameter, value in filled.pairs if _is_guess(value, parameter)}
        guesses |= {parameter.name for parameter, _ in filled.given}.difference(one.name for one in item.parameters)
        ways: list[tuple[tuple[str, ...], set[str]]] = [(names, set()) for names in [*several, *alone]]
        ways += [(names, guesses.difference(names)) for names in alone if guesses.difference(names)]
        for names, freed in ways:
            taken = {*names, *freed}
            lifted = tuple(parameter for parameter, _ in filled.given if parameter.name in names)
            again = Filled(
                tuple(pair for pair in filled.given if pair[0].name not in taken),
                (*filled.missing, *lifted),
                tuple(one for one in filled.used if all(one is not plain.get(name) for name in taken)),
                0.0,
                filled.imports,
                signature=filled.signature,
            )
            must = {name: (plain[name], *(plain[other] for other in freed if other in plain)) for name in names}
            done = yield from self.with_(item, again, goal, values, depth - 1, owner, must, asked_attribute(execution))
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
        must: Sequence[Value] = (),
        hint: str = "",
        before: Sequence[CallableSignature] = (),
    ) -> Making:
        """One that is made with the words that no call has used, of what the other call does not take."""
        left = goal.meaning.left([target, *before])
        without = {target.expression}
        own = target.owner if parameter.name == "self" else ""
        values = [*must, *(member for value in must for member in value.members)] or values
        open_ = {value for value in values if value in goal.wanted}
        if not goal.wanted:
            # `the melting point of gold`
            open_ = {value for value in values if value.is_word and not value.is_loose}
        foreign = [] if own else self._pool.makers(target.name)
        empty: Result | None = None
        for known in (True, False):
            if not known:
                if own:
                    yield from self._pool.constructors(own)
                yield from self._pool.look(self._pool.meaning(left), type_words(parameter)[-2:], goal)
                yield from self._pool.offer(goal, [stem(word) for word in [*type_words(parameter), *MAKERS]])
            meaning = self._pool.meaning(left)
            options = makers(self._pool, parameter, target, meaning, values, without, own, hint)[: 4 if known else 5]
            deeper = [] if empty is not None or depth < 2 else options[:2]
            # First what takes the literals as they are.
            for item, down in [*((item, 0) for item in options), *((item, depth - 1) for item in deeper)]:
                if self.spent(goal):
                    return empty
                made = yield from self.ways(item, goal, values, down)
                fit_ = [
                    one
                    for one in made
                    if one.repr != "None"
                    and not one.echo
                    # What another package makes of nothing would be an invented value.
                    and (one.used or item not in foreign)
                    and self._plausible(one, parameter)
                    and (not must or one.used >= set(must[0].members or must[:1]))
                ]
                result = max(fit_, key=lambda one: self._as_part(one, open_, goal), default=None)
                if result is None:
                    continue
                if open_ <= named_by(item, open_) or open_ & result.used:
                    return result
                if own:
                    filled = yield from self._loaded(result, own, goal, values)
                    if filled is not None:
                        return filled
                # Nothing went into it: perhaps something else takes what is left.
                empty = empty or result
        return empty

    def _as_part(self, result: Result, open_: Collection[Value], goal: Goal) -> tuple[float, ...]:
        """How good it is as something that another call takes: by what went in, and whether that is in its place."""
        taken = len(frozenset(open_) & result.used)
        return taken, result.named - result.swapped - result.guessed, self.judged(result, goal)

    def _loaded(self, empty: Result, class_: str, goal: Goal, values: Sequence[Value]) -> Making:
        """An object into which nothing went, filled by one of its own methods: `Graph().parse('a.ttl')`."""
        literals = [value for value in values if value in goal.wanted]
        methods = [
            item
            for item in self._pool.surveys.values()
            if item.kind == "method" and item.owner == class_ and LOADERS & set(parts(item.name))
        ]
        methods = [
            item for item in methods if any(fit(value, one) for value in literals[:1] for one in item.parameters)
        ]
        for item in sorted(methods, key=lambda item: -goal.meaning.score(item) - item.shown)[:3]:
            if self.spent(goal):
                return None
            done = yield from self.on(empty, item, goal, values)
            if done is not None and (done.changed or done.type == class_) and set(literals) & done.used:
                return done
        return None

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
        """Whether a result can be what a method is called on, or a parameter's class."""
        if parameter.name != "self":
            return True
        if result.type == parameter.type:
            return True
        known = next(
            (item for item in self._pool.surveys.values() if item.name == result.type and item.kind == "class"), None
        )
        return known is None or parameter.type in known.bases


def _is_guess(value: Value, parameter: Parameter) -> bool:
    """Whether nothing but its type speaks for a value of a parameter that may be left out."""
    return not parameter.required and value.literal is not None and not beside(value, parameter)
