"""The end of a request: the answers, their certainty, and the script that leads to them, or why there are none."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from codenav.actions import Action, CodeObservation, CodeSummary, Done, Guess, Observation, Try
from codenav.planner.calls import OPAQUE, Caller, Result, short
from codenav.planner.features import met_beside
from codenav.planner.goal import Goal, Seen, shown
from codenav.planner.language import language, likeness
from codenav.planner.literals import WORD, Kind
from codenav.planner.reading import Clause, matches
from codenav.planner.relevance import Meaning
from codenav.planner.scoring import is_barred, log_odds
from codenav.planner.values import Value, is_in_name
from codenav.signatures.names import parts

GAVE_UP = "FAILED: "
"""The beginning of an answer that is none."""
NEAREST = 5
"""Maximum number of callables named that come near, where nothing was done."""
OTHERS, WIDTH = 3, 60
"""Maximum number of next best answers that are told, and characters of each."""
LEAST = 0.005
"""The least chance that is told: a smaller one would read as 0 %."""
PIECES, READ = 5, 2_000
"""Maximum unused pieces of the request that are told; characters of a result in which a word is looked for."""
_MAPPINGS = ("dict", "defaultdict", "Counter")
_PAIR = re.compile(r"\(.*, [\w.]*\(?-?\d+(?:\.\d*)?(?:e[-+]?\d+)?\)?\)", re.DOTALL)
_NUMBERS = re.compile(r"\((?:-?\d+(?:\.\d+)?(?:, )?){2,4}\)")
Steps = Generator[Action, Observation, None]
Reducing = Generator[Action, Observation, Result]
Mark = tuple[int, int, bool | None]
"""The beginning and end of a word or literal, and whether something was done with it; None says neither."""


@dataclass(frozen=True)
class Claim:
    """A result that was claimed for a clause."""

    goal: Goal
    chosen: Result
    """The result as it was scored."""
    result: Result
    """The result with what was made of it: the highest of a collection."""
    chance: float
    """The chance that it is right: see `scoring.certainty`."""


def ended(
    caller: Caller,
    request: str,
    clauses: Sequence[Clause],
    results: Sequence[Result],
    failed: Sequence[Goal],
    claims: Sequence[Claim],
) -> Steps:
    """Give the answers of all clauses, or say why there are none; for those in `failed` nothing was found."""
    undone = "\n".join(goal.told() for goal in failed)
    near = list(dict.fromkeys(one for goal in failed for one in goal.nearest))[:NEAREST]
    hint = f"the words of what is meant, if it is one of these: {'; '.join(near)}" if near else ""
    if not results:
        yield Done(GAVE_UP + (undone or "the request says nothing that could be looked for"), hint=hint)
        return
    kept, printed, claimed, answers = list(results), [], [], []
    for one in finals(results):
        place = next(number for number, other in enumerate(kept) if other is one)
        if one.as_text:
            kept[place] = yield from _as_text(caller, one)
        told = yield from _answer(kept[place])
        if told:
            printed.append(kept[place])
            claimed.append(one)
            answers.append(told)
    if not printed or printed[-1] is not kept[-1]:
        silent = f"what came out says nothing of itself: {kept[-1].repr}"
        yield Done(GAVE_UP + "\n".join(filter(None, [undone, silent])), hint=hint)
        return
    guess = None if failed else (yield from guessed(caller, request, clauses, claims, results, claimed))
    yield CodeSummary(script(kept, printed))
    answer = "\n".join(answers)
    answer = f"{GAVE_UP}{undone}\nDone until then: {answer}" if failed else answer
    yield Done(answer, guess=guess, hint=hint)


def finals(results: Sequence[Result]) -> list[Result]:
    """The last result, and those before it that nothing went on with: `its title and its year`."""
    *before, last = results
    lines = [set(one.lines) for one in results]
    told = [one for one in before if not (one.nothing or one.opaque)]
    return [*(one for one in told if sum(one.lines[-1] in later for later in lines) == 1), last]


def script(results: Sequence[Result], printed: Sequence[Result]) -> str:
    """The lines that lead to all results, imports first; some of the results are printed."""
    lines = list(dict.fromkeys(line for result in results for line in result.lines))
    imports = sorted(line for line in lines if line.startswith(("from ", "import ")))
    prints = [f"print({one.name})" for one in printed if not (one.printed and one.repr == "None")]
    return "\n".join([*imports, *(line for line in lines if line not in imports), *prints])


def _as_text(caller: Caller, result: Result) -> Reducing:
    """The text of an object: a value that a replay can be compared with."""
    code = f"str({result.name})"
    made, name, _ = yield from caller.assign(code)
    return result if made is None else replace(result.then(name, made, code), type="str")


def _answer(last: Result) -> Generator[Action, Observation, str]:
    """The text of a result; empty where it says nothing."""
    if last.printed and last.repr == "None":
        return last.printed
    observed = yield Try(f"print({last.name})")
    answer = last.repr
    if isinstance(observed, CodeObservation) and observed.execution.ok and observed.execution.stdout.strip():
        answer = observed.execution.stdout.strip()
    if last.files:
        told = "" if last.nothing or last.repr == "None" or last.opaque else f"\n{answer}"
        return f"wrote {', '.join(last.files)}{told}"
    return "" if OPAQUE.fullmatch(answer) else answer


def reduced(caller: Caller, result: Result, goal: Goal) -> Reducing:
    """Count a collection, or take its highest or lowest, where the clause asks that.

    The result itself comes back where the clause asks nothing, or where the collection has no one measure to go by.
    """
    kind = language().asks(goal.clause.bare)
    plain = result.echo or result.type in ("int", "float", "str", "bool", "NoneType", "complex")
    # `How many rows and columns?` are the members of `(2, 3)`.
    if not kind or plain or (kind == "count" and result.type == "tuple" and _NUMBERS.fullmatch(result.repr)):
        return result
    if kind == "count":
        made, name, _ = yield from caller.assign(f"len({result.name})")
        return result if made is None else result.then(name, made, f"len({result.name})")
    asked = {word for phrase in language().asked[kind] for word in phrase.split()} & set(goal.meaning.words)
    named = any(goal.meaning.qualities(call)[word] >= 0.6 for call in result.calls for word in asked)
    # `the 3 most common`
    several = any(one.kind is Kind.NUMBER and one.after in language().asking for one in goal.clause.literals)
    if named or several or result.opaque or result.as_text:
        # `largest_component` has answered it; an object need not show what it can be gone through for.
        return result
    return (yield from _extreme(caller, result, {"most": "max", "least": "min"}[kind]))


def _extreme(caller: Caller, result: Result, function: str) -> Reducing:
    """The highest or lowest member of a collection; of names with a number each, the name that has it."""
    by = f", key={result.name}.get" if result.type in _MAPPINGS else ""
    code = f"{function}({result.name}{by})"
    made, name, _ = yield from caller.assign(code)
    if made is None or (not by and short(made) in ("list", "dict", "set", "frozenset")):
        return result
    if by or short(made) != "tuple":
        return result.then(name, made, code)
    if not _PAIR.fullmatch(made.repr):
        return result
    # Pairs are compared by what they begin with: by what each name has, where each is there once.
    mapping, own, _ = yield from caller.assign(f"dict({result.name})")
    once, _, _ = yield from caller.assign(f"len({own}) == len({result.name})")
    if mapping is None or once is None or once.repr != "True":
        return result
    measured = replace(result.then(own, mapping, f"dict({result.name})"), type="dict")
    return (yield from _extreme(caller, measured, function))


def guessed(
    caller: Caller,
    request: str,
    clauses: Sequence[Clause],
    claims: Sequence[Claim],
    results: Sequence[Result],
    claimed: Sequence[Result],
) -> Generator[Action, Observation, Guess | None]:
    """The guess for the answer that shows some of the `results`; None where none of them was claimed.

    The chance is that of the last clause's result, since the model that gives it was fitted to whole requests. Where
    several results are shown it is that of the least likely one, whose next best answers are the ones that are told.
    """
    of_shown = [one for one in claims if any(one.result is other for other in claimed)] or claims[-1:]
    least = min(of_shown, key=lambda one: one.chance, default=None)
    if least is None:
        return None
    others: dict[str, float] = {}
    taken = one_line(least.result)
    for other, chance in list(chances(least))[: 2 * OTHERS]:
        told = one_line((yield from reduced(caller, other, least.goal)))
        if told != taken and len(others) < OTHERS:
            others.setdefault(told, chance)
    measured = {one.goal.clause.start for one in claims if one.result.lines != one.chosen.lines}
    unused = tuple(unused_pieces(request, clauses, results, measured))
    return Guess(least.chance, tuple(others.items()), unused)


def chances(claim: Claim) -> Iterator[tuple[Result, float]]:
    """The other results that might have been claimed, likeliest first, each with its chance.

    That is its share in a softmax of the log odds of all different results, on the scale on which the claimed one has
    its own chance; together they have at most what that leaves.
    """
    goal, best = claim.goal, Seen.of(claim.chosen)
    rivals: dict[str, tuple[float, Result]] = {}
    for result, worth in goal.scored.values():
        seen = Seen.of(result)
        told = not (result.nothing or result.echo or (result.opaque and not result.as_text))
        if told and seen.is_rival(best) and worth > rivals.get(seen.shown, (0.0, result))[0]:
            rivals[seen.shown] = worth, result
    odds = [(math.exp(log_odds(worth)), result) for worth, result in rivals.values() if not is_barred(result, goal)]
    own = math.exp(log_odds(goal.worths[best]))
    total = sum(one for one, _ in odds)
    scale = min(claim.chance / own, (1 - claim.chance) / total) if total else 0.0
    for one, result in sorted(odds, key=lambda pair: -pair[0]):
        if one * scale >= LEAST:
            yield result, one * scale


def one_line(result: Result) -> str:
    """The text of a result as it would be printed, shortened to one line."""
    line = " ".join(shown(result).split())
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def unused_pieces(
    request: str, clauses: Sequence[Clause], results: Sequence[Result], measured: Sequence[int] | set[int] = ()
) -> list[str]:
    """The pieces of the request, as they stand there, that the calls for some results neither took nor stand for.

    `measured`: the starts of clauses of which a result was counted, or its highest or lowest taken.
    """
    known = language()
    neutral = known.stop | known.empty_verbs | known.making | known.weak | set(known.joins)
    calls = {id(call): call for result in results for call in result.calls}.values()
    values = {one for result in results for value in result.used for one in (value, *value.members)}
    taken = {value.literal.start for value in values if value.literal is not None}
    met = {word for result in results for word in met_beside(result)}
    met |= {value.literal.keyword.lower() for value in values if value.literal is not None}
    shows = {part for result in results for part in parts(f"{result.type} {result.repr[:READ]}")}
    code = "\n".join(line for result in results for line in result.lines)
    marks: list[Mark] = []
    for clause in clauses:
        meaning = Meaning(clause.words)

        def stands(word: str, meaning: Meaning = meaning) -> bool:
            if any(meaning.qualities(call).get(word, 0.0) for call in calls):
                return True
            return word in met or any(likeness(word, part) == 1 for part in shows)

        for literal in clause.literals:
            inside = literal.start in taken or any(is_in_name(Value.of(literal), call) for call in calls)
            named = literal.kind is Kind.CODE and any(map(stands, Value.of(literal).words))
            end = literal.start + len(literal.text)
            marks.append((literal.start, end, inside or named or literal.code in code))
        ends = [(one.start, one.start + len(one.text)) for one in clause.literals]
        for match in WORD.finditer(clause.text):
            start, end = clause.start + match.start(), clause.start + match.end()
            word = match.group().lower().removesuffix("'s").removesuffix("’s")
            if any(begin <= start < stop for begin, stop in ends):
                continue
            said = (piece for piece in word.split("-") if len(piece) > 1)
            pieces = [piece for piece in said if piece not in neutral or matches("picturing", piece)]
            asks = word in known.asking and word not in known.stop
            done = stands(word) or clause.start in measured if asks else any(map(stands, pieces)) if pieces else None
            marks.append((start, end, start in taken or done))
    return list(_spans(request, sorted(_asked(request, marks))))


def _asked(request: str, marks: list[Mark]) -> list[Mark]:
    """The marks with a joined question as unused that has no words of its own: `and what is its value`."""
    joins = "|".join(map(re.escape, language().joins))
    pattern = rf"(?:,\s*)?\b(?:{joins})\s+(?={language().patterns['question_after']})|[.;!?](?:\s|$)"
    cuts = [match.span() for match in re.finditer(pattern, request, re.IGNORECASE)]
    for (begin, start), (end, _) in itertools.pairwise([*cuts, (len(request), 0)]):
        inside = [mark for mark in marks if begin <= mark[0] < end]
        if request[begin] not in ".;!?" and all(used is None for _, _, used in inside):
            begin = start - len(request[begin:start].lstrip(", "))
            marks = [*(mark for mark in marks if mark not in inside), (begin, end, False)]
    return marks


def _spans(request: str, marks: Sequence[Mark]) -> Iterator[str]:
    """The pieces that nothing was done with, joined where nothing but small words stands between them."""
    first, last, told = -1, -1, 0
    for start, end, used in [*marks, (len(request), len(request), True)]:
        apart = first >= 0 and re.search(r"[.;!?]\s|\n\s*\n", request[last:start])
        if first >= 0 and (used or apart):
            if told < PIECES:
                piece = " ".join(request[first:last].split())
                yield piece if len(piece) <= 80 else f"{piece[:79]}…"
            first, told = -1, told + 1
        if used is False:
            first, last = (start if first < 0 else first), end
