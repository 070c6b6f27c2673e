"""The plan for one request, clause by clause: looks for callables, tries them, and takes the best result.

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
    Observation,
    Search,
    SearchObservation,
    Try,
)
from codenav.blocks import BlockKind
from codenav.execution import Variable
from codenav.planner.answers import GAVE_UP, NEAREST, Claim, Steps, ended, reduced
from codenav.planner.binding import Binding
from codenav.planner.call_search import CallSearch
from codenav.planner.calls import Caller, Making, Result, changed_in, changes, reason
from codenav.planner.candidates import Candidates
from codenav.planner.features import draws_nothing, is_tally, unused
from codenav.planner.file_writing import saved
from codenav.planner.goal import Goal, shape
from codenav.planner.language import language
from codenav.planner.reading import Clause, asked_for, code_in, read
from codenav.planner.relevance import UNASKED, Described
from codenav.planner.scoring import ENOUGH, FORM, GOOD, certainty, chooses, doubt, is_sure, ranked, room_for, score
from codenav.planner.values import Value
from codenav.planner.votes import Votes
from codenav.planner.write_guard import WriteGuard
from codenav.protocols import CallVotes
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts

TARGETS, WIDE, DEEP = 10, 30, 10
"""Maximum callables that are tried for a clause, and that are considered for it: to be called as they are, and to be
given what others make."""
FAR, PLAUSIBLE = 0.35, 0.6
"""Distance below the likeliest callable at which one is not tried, and the score of a result from which that holds."""
DEPTH = 3
"""Maximum number of levels of calls that make values for the parameters of other calls."""
EXTENDED, MEMBERS, OFFERS, OFFERED = 2, 4, 12, 0.15
"""Maximum calls on a result, one after another; members of it that are tried, and that may be; the least likelihood of
those."""
TALLY, CHANGES, LITERALLY, KEYED = 0.15, 0.3, 0.15, 0.5
"""Score added for a member that counts where that is asked; taken off for one that changes its object unasked; added
for one named by words just as they stand in the clause, and for the look-up of a literal in a dict."""
SHOWN = 10
"""Maximum number of places that are named of what was asked for by name."""
HOLDING = ("dict", "list", "tuple")
"""Python's own types that may hold what offers more."""
DEFINITIONS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.ASSIGNMENT, BlockKind.TOOL)


class Plan:
    """The plan for a request; `steps` yields its actions."""

    def __init__(
        self,
        request: str,
        *,
        files: Collection[str] = (),
        packages: Collection[str] = (),
        votes: CallVotes | None = None,
    ) -> None:
        """`files`: names in the work folder; `packages`: distributions that the sources are; `votes` for calls."""
        self._request = request
        self._votes = Votes(votes, request) if votes is not None else None
        self.clauses = read(request, files=files)
        self._caller = Caller(WriteGuard(files))
        self._pool = Candidates(self._caller, packages, self._votes)
        self._search = CallSearch(self._caller, self._pool)
        self._results: list[Result] = []
        self._claims: list[Claim] = []
        self._began = time.monotonic()

    def steps(self) -> Steps:
        """Do the whole request: Python is run as it is, a question about the code is answered with what is found."""
        if code := code_in(self._request):
            yield from self._as_it_is(code)
        elif name := asked_for(self._request):
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
        for clause in self.clauses:
            goal = self._goal(clause)
            result = yield from saved(goal)
            if result is None:
                result = yield from self._clause(goal)
            if result is None:
                failed.append(goal)
            else:
                self._results.append(result)
        yield from ended(self._caller, self._request, self.clauses, self._results, failed, self._claims)

    def _goal(self, clause: Clause) -> Goal:
        told = sorted((*clause.literals, *clause.spoken), key=lambda literal: literal.start)
        literals = (*map(Value.of, told), *map(Value.group, clause.groups))
        earlier = tuple(Value(result.name, result.type) for result in reversed(self._results))
        return Goal(
            clause,
            self._pool.meaning(clause.words, whether=clause.asks_whether),
            (*literals, *earlier, *map(Value.of, clause.loose)),
            frozenset(value for value in literals if not value.is_word and not value.members),
            tuple(reversed(self._results)),
            last=clause.end >= self.clauses[-1].end,
            began=self._began,
        )

    def _clause(self, goal: Goal) -> Making:
        """Find the best result for a clause; None where nothing fits well enough."""
        types = [part for result in goal.earlier if not result.builtin for part in parts(result.type)]
        yield from self._pool.look(goal.meaning, types[:2], goal)
        yield from self._pool.glance()
        yield from self._pool.offer(goal)
        goal.constants = tuple(self._pool.constants(goal))
        targets: list[CallableSignature] = list(self._pool.items.values())
        for result in [result for result in goal.earlier if not result.builtin or result.type in HOLDING][:2]:
            told = yield from self._caller.members(result)
            targets += told.items
        found = ranked(targets, goal, self._votes)
        goal.top = max((goal.meaning.score(item) for _, item in found), default=0.0)
        goal.nearest = [shape(item) for _, item in found[:NEAREST]]
        begun = self._caller.count
        best: Result | None = None
        for depth in (0, DEPTH):
            # First what can be called as it is; only then what has to be given something that must be made.
            best = yield from self._best(found[:WIDE] if not depth else found[:DEEP], goal, depth, best)
            if best is not None and score(best, goal) >= GOOD:
                break
        if best is None:
            return None
        chance = certainty(best, goal)
        if chance < ENOUGH:
            # A value that the best one leaves out says more than an error that another call has raised.
            leaves = unused(best, goal) or draws_nothing(best, goal)
            goal.why = doubt(best, goal) if leaves else goal.why or doubt(best, goal)
            return None
        if goal.earlier and goal.clause.refers_back and not best.linked:
            goal.fails(f"no call that fits takes the {goal.earlier[0].type} from before")
            return None
        result = yield from self._renewed(best, calls=self._caller.count - begun)
        made = yield from reduced(self._caller, result, goal)
        self._claims.append(Claim(goal, best, made, chance))
        return made

    def _best(
        self, found: Sequence[tuple[float, CallableSignature]], goal: Goal, depth: int, best: Result | None
    ) -> Making:
        """Find the best of the results of some callables, likeliest first, and of what was best before."""
        goal.tries, tried = self._caller.count, 0
        for likely, item in found:
            far = best is not None and score(best, goal) >= PLAUSIBLE and likely < found[0][0] - FAR
            if far or tried >= TARGETS:
                break
            goal.item_tries = self._caller.count
            made = yield from self._tried(item, goal, depth)
            # A call that lacks something has cost nothing.
            tried += self._caller.count > goal.item_tries
            if made is None:
                continue
            if best is None or score(made, goal) > score(best, goal):
                best = made
            if is_sure(made, goal):
                break
        return best

    def _renewed(self, result: Result, *, calls: int) -> Generator[Action, Observation, Result]:
        """Make a result anew where more `calls` than its own were made, or where what a call has written was undone.

        Other calls may have changed objects.
        """
        if calls <= len(result.calls) and not self._caller.undone:
            return result
        made = yield from self._again(result)
        if made is not None and made.repr != result.repr and not (result.opaque or result.as_text):
            tops = {call.module.partition(".")[0] for call in result.calls} - set(sys.stdlib_module_names)
            yield from self._caller.ask({"forget": sorted(tops)}, "Calls have changed the package: load it anew.")
            made = yield from self._again(result)
        return result if made is None else replace(result, repr=made.repr)

    def _again(self, result: Result) -> Generator[Action, Observation, Variable | None]:
        """Run again all that leads to a result, and return the value that comes out."""
        observed = yield Try("\n".join(result.lines))
        if not isinstance(observed, CodeObservation) or not observed.execution.ok:
            return None
        return changed_in(observed.execution, result.name)

    def _tried(self, item: CallableSignature, goal: Goal, depth: int) -> Making:
        """Call something, and then what its result offers for what is left of the clause."""
        goal.extending = False
        if item.kind in ("member", "value"):
            owner = next((result for result in goal.earlier if result.name == item.owner), None)
            made = None if owner is None else (yield from self._search.on(owner, item, goal, goal.values))
            found = [made] if made is not None else []
        else:
            found = yield from self._search.ways(item, goal, goal.values, depth)
        if not found:
            return None
        # The best fit may only show what it was given.
        first = found[0]
        found.sort(key=lambda one: -score(one, goal))
        if item.kind == "class" and not item.required and all(one.used for one in found):
            # The arguments may be meant for one of its methods.
            plain = yield from self._search.call(item, Binding((), (), (), 0.0), goal, (), 0)
            found += [plain] if plain is not None else []
        best = found[0]
        # A guessed value may have its right place in a member of what comes out without it.
        objects = [one for one in found[1:] if not one.builtin]
        certain = [one for one in objects if one.fit.guessed < best.fit.guessed] or [
            one for one in objects if one.used < best.used and all(value.literal is None for value in one.used)
        ]
        goal.extending = True
        certain.sort(key=lambda one: (one.fit.guessed, -len(one.used)))
        for result in [best, *(one for one in [first] if one is not best), *certain][:3]:
            other = yield from self._extended(result, goal, EXTENDED)
            if score(other, goal) > score(best, goal):
                best = other
            if is_sure(best, goal):
                break
        return best

    def _extended(self, result: Result, goal: Goal, depth: int) -> Generator[Action, Observation, Result]:
        """The result, or a better one that one of its members gives."""
        left = goal.meaning.unnamed(result.calls)
        literals = [value for value in goal.wanted if value not in result.used]
        silent = result.opaque and goal.last
        # A list offers only what the one thing in it offers.
        closed = result.builtin and result.type not in HOLDING
        if not depth or closed or not (left or literals or silent) or is_sure(result, goal):
            return result
        told = yield from self._caller.members(result)
        ranked = [(self._offered(item, result, goal, left, literals), item) for item in told.items]
        offers = sorted((pair for pair in ranked if pair[0] > OFFERED), key=lambda pair: -pair[0])
        best, tried = result, 0
        for _, item in offers[:OFFERS]:
            if self._search.spent(goal) or tried >= MEMBERS:
                break
            begun = self._caller.count
            free = [one for one in goal.values if one not in result.used]
            called = yield from self._search.on(result, item, goal, free)
            # A call that lacks something has cost nothing.
            tried += self._caller.count > begun
            if called is not None:
                more = yield from self._extended(called, goal, depth - 1)
                best = max(best, more, key=lambda one: score(one, goal))
        return best

    def _offered(
        self, item: CallableSignature, result: Result, goal: Goal, left: Sequence[str], literals: Sequence[Value]
    ) -> float:
        """The likelihood that a member is meant by the words and literals that are left."""
        if item.kind == "class":
            return 0.0
        meaning = self._pool.meaning(left or goal.meaning.words)
        counts = language().asks(goal.clause.bare) == "count"
        keyed = item.name == "get" and result.type == "dict" and bool(literals)
        return (
            meaning.score(item)
            + room_for(item, literals)
            # An object has few members: what else is in their names matters less.
            + UNASKED / 2 * meaning.unasked(Described.item(item))
            + FORM * chooses(item, goal.values)
            + LITERALLY * (meaning.literally(item) or item.name == "__call__")
            + KEYED * (keyed or (item.name == "__iter__" and result.opaque))
            + TALLY * (counts and is_tally(item))
            - CHANGES * any(not goal.meaning.nearest(part) for part in changes(item.name))
        )
