"""The work on one request, clause by clause: looks for callables, tries them, and takes the best result.

Everything is a generator of actions that is sent their observations, so that it reads as the order in which it happens.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace

from codenav.actions import (
    Action,
    Code,
    CodeObservation,
    CodeSummary,
    Done,
    Guess,
    Observation,
    Search,
    SearchObservation,
    Try,
)
from codenav.blocks import BlockKind
from codenav.execution import Variable
from codenav.planner.answers import GAVE_UP, NEAREST, Steps, ended
from codenav.planner.calls import CHANGING, Caller, Making, Result, changed_in, reason
from codenav.planner.evidence import is_moment, is_tally, makes_files, unused
from codenav.planner.filled import Filled
from codenav.planner.finding import UNASKED, Described
from codenav.planner.goals import Goal, shape
from codenav.planner.guard import Guard
from codenav.planner.guessing import Claim, guessed
from codenav.planner.judging import (
    ENOUGH,
    FORM,
    GOOD,
    ILLUSTRATED,
    certainty,
    chooses,
    doubt,
    ranked,
    room_for,
    shows_no_picture,
)
from codenav.planner.making import Maker
from codenav.planner.pool import Pool
from codenav.planner.reading import Clause, asked_for, code_in, read
from codenav.planner.reducing import reduced
from codenav.planner.saving import saved, written
from codenav.planner.words import Language, language
from codenav.planner.writing import Value
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts

TARGETS, WIDE, DEEP = 10, 30, 10
"""Callables that are tried for a clause, of how many that may be as they are, and those for which others are called."""
FAR, PLAUSIBLE = 0.35, 0.6
"""How much less likely than the likeliest a callable may be for it to be tried, beside a result that is so good."""
DEPTH = 3
"""Of a parameter of a parameter."""
EXTENDED, MEMBERS, OFFERS, OFFERED = 2, 4, 12, 0.15
"""Calls that are made on a result, one after another; its members that are tried, of how many that may be; how likely
they have to be."""
TALLY, CHANGES, LITERALLY = 0.15, 0.3, 0.15
"""Added for a member that counts where that is asked, taken off for one that changes its object unasked; added for one
that is named by words just as they stand in the clause."""
OTHERS = 3
"""Other results of a clause that are tried, where the next one cannot go on."""
SHOWN = 10
"""Places that are named of what was asked for by name."""
KEYED = 0.5
"""Added for what looks a literal up in a dict, and for what is in an object that says nothing of itself."""
HOLDING = ("dict", "list", "tuple")
"""Types of Python's own that may hold what offers more."""
DEFINITIONS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.ASSIGNMENT)


class Work:
    """One request; `steps` yields its actions."""

    def __init__(
        self,
        request: str,
        *,
        files: Collection[str] = (),
        packages: Collection[str] = (),
        known: Language | None = None,
    ) -> None:
        """`files`: in the work folder; `packages`: distributions that the sources are."""
        self._known = known or language()
        self._request = request
        self.clauses = read(request, files=files, lists=self._known)
        self._caller = Caller(Guard(files))
        self._pool = Pool(self._caller, self._known, packages)
        self._maker = Maker(self._caller, self._pool)
        self._results: list[Result] = []
        self._claims: list[Claim] = []
        self._began = time.monotonic()

    def steps(self) -> Steps:
        """The whole request: Python is run as it is, a question about the code is answered with what is found."""
        if code := code_in(self._request):
            yield from self._as_it_is(code)
        elif name := asked_for(self._request, lists=self._known):
            yield from self._where(name)
        else:
            yield from self._by_calls()

    def _as_it_is(self, code: str) -> Steps:
        observed = yield Code(code)
        execution = observed.execution if isinstance(observed, CodeObservation) else None
        if execution is None or not execution.ok:
            yield Done(f"{GAVE_UP}{reason(execution) if execution else 'the code did not run'}")
            return
        yield CodeSummary(code)
        yield Done(execution.stdout.strip() or "done; it printed nothing")

    def _where(self, name: str) -> Steps:
        own = name.rpartition(".")[2]
        observed = yield Search(f"name: {own} AND ({' '.join(name.split('.'))})\nname: {own}")
        results = observed.results if isinstance(observed, SearchObservation) else ()
        blocks = [hit.block for found in results for hit in found.hits if hit.block.kind in DEFINITIONS]
        chosen = [block for block in blocks if block.name == own] or blocks
        told = [f"{block.path}:{block.lines.start}  {block.kind.value.lower()} {block.qualname}" for block in chosen]
        yield Done("\n".join(list(dict.fromkeys(told))[:SHOWN]) or f"{GAVE_UP}nothing here is named {name}")

    def _by_calls(self) -> Steps:
        failed: list[Goal] = []
        before: Goal | None = None
        for clause in self.clauses:
            goal = self._goal(clause)
            follows = bool(failed) and failed[-1].clause.is_right_before(clause, self.clauses)
            result = yield from saved(goal)
            if result is None and not (follows and clause.refers_back):
                result = yield from self._clause(goal)
            if result is None and before is not None:
                result = yield from self._otherwise(before, goal)
            if result is None and follows:
                # `it` is what is not there yet.
                goal, result = yield from self._with(failed[-1], goal)
                if result is not None:
                    failed.pop()
            if result is None:
                if not (self._results and self._is_shown(goal)):
                    failed.append(goal)
            else:
                self._results.append(result)
                before = goal
        yield from ended(self._caller, self._results, failed, self._guessed)

    def _guessed(self, shown: Sequence[Result]) -> Generator[Action, Observation, Guess | None]:
        """How sure the answer is that shows some of the results."""
        told = guessed(self._caller, self._request, self.clauses, self._claims, self._results, shown, self._known)
        return (yield from told)

    def _otherwise(self, before: Goal, goal: Goal) -> Making:
        """The clause again, with something else for the one before it; then both as one."""
        kept = self._results[-1]
        for other in before.others(kept.repr, OTHERS):
            self._results[-1] = other
            result = yield from self._clause(self._goal(goal.clause))
            if result is not None and result.linked:
                return result
        self._results.pop()
        if before.clause.is_right_before(goal.clause, self.clauses):
            result = yield from self._clause(self._goal(goal.clause.with_(before.clause)))
            if result is not None:
                return result
        self._results.append(kept)
        return None

    def _with(self, before: Goal, goal: Goal) -> Generator[Action, Observation, tuple[Goal, Result | None]]:
        """The clause with what the one before it may mean, though that alone is not sure; then both as one."""
        if goal.clause.refers_back:
            for other in before.others("", OTHERS):
                self._results.append(other)
                again = self._goal(goal.clause)
                result = yield from self._clause(again)
                if result is not None and result.linked:
                    return again, result
                self._results.pop()
        # `How positive is "…"? Give the score.`
        goal = self._goal(goal.clause.with_(before.clause))
        return goal, (yield from self._clause(goal))

    def _is_shown(self, goal: Goal) -> bool:
        """Whether a clause that nothing was found for only asks to see what is there: `and give its score`."""
        last = self._results[-1]
        shows = any(word in self._known.empty_verbs for word in goal.meaning.words)
        # `print it as JSON` asks for something else.
        shows = shows and not goal.clause.aims[1]
        return shows and not goal.wanted and goal.clause.refers_back and last.type in ("tuple", "dict", "list")

    def _goal(self, clause: Clause) -> Goal:
        told = sorted((*clause.literals, *clause.spoken), key=lambda literal: literal.start)
        literals = (*(Value.of(literal) for literal in told), *(Value.group(group) for group in clause.groups))
        earlier = tuple(Value(result.name, result.type) for result in reversed(self._results))
        wanted = frozenset(value for value in literals if not value.is_word and not value.members)
        loose = tuple(Value.of(literal) for literal in clause.loose)
        meaning = self._pool.meaning(clause.words, whether=clause.asks_whether)
        return Goal(
            clause,
            meaning,
            (*literals, *earlier, *loose),
            wanted,
            tuple(reversed(self._results)),
            last=clause.end >= self.clauses[-1].end,
            began=self._began,
        )

    def _clause(self, goal: Goal) -> Making:
        """The best result for a clause; None where nothing fits well enough."""
        types = [part for result in goal.earlier if not result.builtin for part in parts(result.type)]
        yield from self._pool.look(goal.meaning, types[:2], goal)
        yield from self._pool.glance()
        yield from self._pool.study()
        yield from self._pool.offer(goal)
        goal.constants = tuple(self._pool.constants(goal))
        targets: list[CallableSignature] = list(self._pool.surveys.values())
        for result in [result for result in goal.earlier if not result.builtin or result.type in HOLDING][:2]:
            told = yield from self._caller.members(result)
            targets += self._pool.illustrated(told.items)
        found = ranked(targets, goal, self._known)
        goal.top = max((goal.meaning.score(item) for _, item in found), default=0.0)
        goal.nearest = [shape(item) for _, item in found[:NEAREST]]
        likely = found[:TARGETS]
        best: tuple[float, Result] | None = None
        begun = self._caller.count
        for depth in (0, DEPTH):
            # First what can be called as it is; only then what has to be given something that must be made.
            goal.tries = self._caller.count
            tried = 0
            for score, item in found[:WIDE] if not depth else likely[:DEEP]:
                far = best is not None and best[0] >= PLAUSIBLE and score < likely[0][0] - FAR
                if far or tried >= TARGETS:
                    break
                goal.item_tries = self._caller.count
                made = yield from self._tried(item, goal, depth)
                # What lacks something has cost nothing.
                tried += self._caller.count > goal.item_tries
                if made is None:
                    continue
                worth = self._maker.judged(made, goal)
                if makes_files(made, goal) >= 0:
                    # No clause goes on with the mere name of a file that is not there.
                    goal.keep(worth, made)
                if best is None or worth > best[0]:
                    best = worth, made
                if self._maker.sure(made, goal):
                    break
            if best is not None and best[0] >= GOOD:
                break
        if best is None:
            return None
        if makes_files(best[1], goal) < 0 and (made := (yield from written(goal))) is not None:
            best = max(best, (self._maker.judged(made, goal), made), key=lambda pair: pair[0])
        chance = certainty(best[1], best[0], goal)
        if chance < ENOUGH:
            why = doubt(best[1], goal)
            # What the best one leaves out says more than what another call has raised.
            leaves = unused(best[1], goal) or shows_no_picture(best[1], goal)
            goal.why = why if leaves else goal.why or why
            return None
        if goal.earlier and goal.clause.refers_back and not best[1].linked:
            goal.fails(f"no call that fits takes the {goal.earlier[0].type} from before")
            return None
        result = yield from self._renewed(best[1], calls=self._caller.count - begun)
        made = yield from reduced(self._caller, result, goal, self._known)
        self._claims.append(Claim(goal, best[1], made, chance))
        return made

    def _renewed(self, result: Result, *, calls: int) -> Generator[Action, Observation, Result]:
        """The result, made anew where more `calls` were made than its own: they may have changed objects; or where what
        a call has written was taken back."""
        if calls <= len(result.calls) and not self._caller.undone:
            return result
        made = yield from self._again(result)
        if made is not None and made.repr != result.repr and not (result.opaque or result.as_text):
            tops = {call.module.partition(".")[0] for call in result.calls} - set(sys.stdlib_module_names)
            yield from self._caller.ask({"forget": sorted(tops)}, "Calls have changed the package: load it anew.")
            made = yield from self._again(result)
        return result if made is None else replace(result, repr=made.repr)

    def _again(self, result: Result) -> Generator[Action, Observation, Variable | None]:
        """What comes out when all that leads to a result is run again."""
        observed = yield Try("\n".join(result.lines))
        if not isinstance(observed, CodeObservation) or not observed.execution.ok:
            return None
        return changed_in(observed.execution, result.name)

    def _tried(self, item: CallableSignature, goal: Goal, depth: int = DEPTH) -> Making:
        """Call something, and then what its result offers for what is left of the clause."""
        goal.extending = False
        if item.kind in ("member", "value"):
            owner = next((result for result in goal.earlier if result.name == item.owner), None)
            made = None if owner is None else (yield from self._maker.on(owner, item, goal, goal.values))
            found = [made] if made is not None else []
        else:
            found = yield from self._maker.ways(item, goal, goal.values, depth)
        if not found:
            return None
        # What fits best may only show itself what it was given.
        first = found[0]
        found.sort(key=lambda one: -self._maker.judged(one, goal))
        if item.kind == "class" and not item.required and all(one.used for one in found):
            # What it was given may be meant for one of its methods.
            plain = yield from self._maker.with_(item, Filled((), (), (), 0.0), goal, (), 0)
            found += [plain] if plain is not None else []
        best = found[0]
        # What something was guessed for may have its right place in a member of what comes out without it.
        certain = [one for one in found[1:] if not one.builtin and one.guessed < best.guessed] or [
            one
            for one in found[1:]
            if not one.builtin and one.used < best.used and all(value.literal is None for value in one.used)
        ]
        goal.extending = True
        certain.sort(key=lambda one: (one.guessed, -len(one.used)))
        for result in [best, *(one for one in [first] if one is not best), *certain][:3]:
            other = yield from self._extended(result, goal, EXTENDED)
            if self._maker.judged(other, goal) > self._maker.judged(best, goal):
                best = other
            if self._maker.sure(best, goal):
                break
        return best

    def _extended(self, result: Result, goal: Goal, depth: int) -> Generator[Action, Observation, Result]:
        """The result, or what is better: what one of its members gives."""
        worth = self._maker.judged(result, goal)
        left = goal.meaning.unnamed(result.calls)
        if is_moment(result):
            left = [word for word in left if word != "when"]
        literals = [value for value in goal.wanted if value not in result.used]
        silent = result.opaque and goal.last
        # Of a list only what the one thing in it offers.
        closed = result.builtin and result.type not in HOLDING
        if not depth or closed or not (left or literals or silent) or self._maker.sure(result, goal):
            return result
        told = yield from self._caller.members(result)
        meaning = self._pool.meaning(left or goal.meaning.words)
        counts = self._known.asks(goal.clause.bare) == "count"
        offers = []
        for item in self._pool.illustrated(told.items):
            if item.kind == "class":
                continue
            score = meaning.score(item) + room_for(item, literals) + ILLUSTRATED * (bool(item.shown) + item.shown)
            # An object has few members: what else is in their names matters less.
            score += UNASKED / 2 * meaning.unasked(Described.item(item))
            score += FORM * chooses(item, goal.values)
            score += LITERALLY * (meaning.literally(item) or item.name == "__call__")
            score += KEYED * (item.name == "get" and result.type == "dict" and bool(literals))
            score += KEYED * (item.name == "__iter__" and result.opaque)
            score += TALLY * (counts and is_tally(item))
            score -= CHANGES * any(part in CHANGING and not goal.meaning.nearest(part) for part in parts(item.name))
            if score > OFFERED:
                offers.append((score, item))
        best = worth, result
        tried = 0
        for _, item in sorted(offers, key=lambda pair: -pair[0])[:OFFERS]:
            if self._maker.spent(goal) or tried >= MEMBERS:
                break
            begun = self._caller.count
            called = yield from self._maker.on(
                result, item, goal, [one for one in goal.values if one not in result.used]
            )
            # What lacks something has cost nothing.
            tried += self._caller.count > begun
            if called is None:
                continue
            more = yield from self._extended(called, goal, depth - 1)
            if (found := self._maker.judged(more, goal)) > best[0]:
                best = found, more
        return best[1]
