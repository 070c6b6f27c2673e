"""What a request ends with: the answers, the script that leads to them, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from codenav.actions import Action, CodeObservation, CodeSummary, Done, Guess, Observation, Try
from codenav.planner.calls import OPAQUE, Caller, Result
from codenav.planner.goals import Goal

GAVE_UP = "FAILED: "
"""What an answer begins with that is none."""
NEAREST = 5
"""Callables that come near and are named where nothing was done."""
Steps = Generator[Action, Observation, None]
Guessing = Callable[[Sequence[Result]], Generator[Action, Observation, Guess | None]]


def ended(caller: Caller, results: Sequence[Result], failed: Sequence[Goal], guessed: Guessing) -> Steps:
    """The answers of all clauses, or why there are none.

    `failed` are those that nothing was found for, `guessed` says how sure an answer is that shows some of the results.
    """
    undone = "\n".join(goal.told() for goal in failed)
    near = list(dict.fromkeys(one for goal in failed for one in goal.nearest))[:NEAREST]
    hint = f"the words of what is meant, if it is one of these: {'; '.join(near)}" if near else ""
    if not results:
        yield Done(GAVE_UP + (undone or "the request says nothing that could be looked for"), hint=hint)
        return
    kept = list(results)
    shown: list[Result] = []
    claimed: list[Result] = []
    answers: list[str] = []
    for one in finals(results):
        place = next(number for number, other in enumerate(kept) if other is one)
        if one.as_text:
            kept[place] = yield from _as_text(caller, one)
        told = yield from _answer(kept[place])
        if told:
            shown.append(kept[place])
            claimed.append(one)
            answers.append(told)
    if not shown or shown[-1] is not kept[-1]:
        silent = f"what came out says nothing of itself: {kept[-1].repr}"
        yield Done(GAVE_UP + "\n".join(filter(None, [undone, silent])), hint=hint)
        return
    answer = "\n".join(answers)
    guess = None if failed else (yield from guessed(claimed))
    yield CodeSummary(script(kept, shown))
    answer = f"{GAVE_UP}{undone}\nDone until then: {answer}" if failed else answer
    yield Done(answer, guess=guess, hint=hint)


def finals(results: Sequence[Result]) -> list[Result]:
    """The last result, and those before it that nothing went on with: `its title and its year`."""
    *before, last = results
    lines = [set(one.lines) for one in results]
    told = [one for one in before if not (one.nothing or one.opaque)]
    return [*(one for one in told if sum(one.lines[-1] in later for later in lines) == 1), last]


def script(results: Sequence[Result], shown: Sequence[Result]) -> str:
    """The lines that lead to all results, imports first; those that are `shown` are printed."""
    lines = list(dict.fromkeys(line for result in results for line in result.lines))
    imports = sorted(line for line in lines if line.startswith(("from ", "import ")))
    printed = [f"print({one.name})" for one in shown if not (one.printed and one.repr == "None")]
    return "\n".join([*imports, *(line for line in lines if line not in imports), *printed])


def _as_text(caller: Caller, result: Result) -> Generator[Action, Observation, Result]:
    """The text of an object: a value that a replay can be compared with."""
    code = f"str({result.name})"
    made, name, _ = yield from caller.assign(code, [])
    if made is None:
        return result
    return replace(result, name=name, type="str", repr=made.repr, lines=(*result.lines, f"{name} = {code}"))


def _answer(last: Result) -> Generator[Action, Observation, str]:
    """What a result says; empty where that is nothing."""
    if last.printed and last.repr == "None":
        return last.printed
    shown = yield Try(f"print({last.name})")
    answer = last.repr
    if isinstance(shown, CodeObservation) and shown.execution.ok and shown.execution.stdout.strip():
        answer = shown.execution.stdout.strip()
    if last.files:
        told = "" if last.nothing or last.repr == "None" or last.opaque else f"\n{answer}"
        return f"wrote {', '.join(last.files)}{told}"
    return "" if OPAQUE.fullmatch(answer) else answer
