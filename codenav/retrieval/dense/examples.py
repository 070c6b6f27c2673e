"""The examples that a retriever is trained on: requests with what answered them, among all callables that there are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from codenav.core.errors import CodeNavError, ModelFailed, UsageError
from codenav.core.messages import Message
from codenav.core.protocols import Model

FEWEST = 10
"""Requests from which a retriever is trained: of fewer nothing can be held out."""
SAME_TASK = 3
"""Callables that together tell a task: requests that just these answered are one task in several wordings. One or two
recur in different tasks. Were a wording held out of a task that was trained on, the weights would believe vectors and
memory alone."""

First = Callable[[str], Mapping[int, float]]
"""The first stage: for a request the places of the callables that it finds, with their scores, 1 for its best hit."""


@dataclass(frozen=True)
class Examples:
    """The requests of one source."""

    names: Sequence[str]
    """The callables, as by `traces.callable_name`."""
    texts: Sequence[str]
    """The text of each, as by `texts.text_of`."""
    requests: Sequence[str]
    gold: Sequence[Sequence[int]]
    """For each request the places in `names` of what answered it; at least one."""
    first: First
    lures: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Texts that look like those of callables, by place, of what cannot do the same."""
    described: bool = False
    """True if the requests are first lines of docstrings, which the first stage has seen: they teach vectors only."""

    def parts(self, count: int) -> npt.NDArray[np.intp]:
        """The part of each request, from 0, drawn so that the same task is in one part only."""
        return np.array([_drawn(self._task(place)) % count for place in range(len(self.requests))], dtype=np.intp)

    def _task(self, place: int) -> str:
        """The key that wordings of the same task have in common."""
        if len(set(self.gold[place])) >= SAME_TASK:
            return " ".join(map(str, sorted(set(self.gold[place]))))
        return " ".join(self.requests[place].lower().split())


def check(parts: Sequence[Examples], left_out: str = "") -> None:
    """Check that there is enough to train on. `left_out` names what might have been trained on.

    Raises:
        UsageError: there is nothing to choose from, or too few requests.
    """
    callables = sum(len(part.names) for part in parts)
    if callables < 2:
        raise UsageError(
            f"nothing to train on: there {'is 1 callable' if callables else 'are no callables'}",
            hint="name a code base or tools with --on",
        )
    found = sum(len(part.requests) for part in parts)
    if found < FEWEST:
        number = f"{found or 'no'} request{'s'[: found != 1]}"
        raise UsageError(
            f"training needs at least {FEWEST} requests that known callables answered, and there "
            f"{'is' if found == 1 else 'are'} {number}{left_out and f'; left out: {left_out}'}",
            hint="run more episodes, or train --from docstrings",
        )
    if len({(at, place) for at, part in enumerate(parts) for places in part.gold for place in places}) < 2:
        raise UsageError(
            "every request was answered by the same callable: there is nothing to tell apart",
            hint="train on requests for several callables",
        )


def _drawn(words: str) -> int:
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


EACH = 3
"""Descriptions of a callable."""
MOST = 200
"""Callables that the model is asked about: those that answered the most requests."""
GIVEN_UP = 5
"""Callables in a row about which it writes nothing usable, after which it is asked no more."""
LONGEST = 1_000
"""Characters of a callable's text that it sees."""

PROMPT = """\
Here is a function of a library:

{text}

Write {count} short descriptions of other functions that somebody could take for this one at a glance. Each shares \
its subject and some of its words, but cannot do what this one does: it works on something else, does the opposite, or \
does a part of it only. One line each, as a JSON list of {count} strings, and nothing else."""


def lures_of(examples: Examples, model: Model, *, tell: Callable[[str], None] = lambda text: None) -> Examples:
    """The examples with lures. A callable about which the model writes nothing usable has none.

    `tell` gets a line if there are such.

    Raises:
        ModelUnreachable, ModelRefused: the model cannot be asked.
    """
    answers: dict[int, int] = {}
    for gold in examples.gold:
        for place in gold:
            answers[place] = answers.get(place, 0) + 1
    lures: dict[int, list[str]] = {}
    failed = in_a_row = 0
    why = ""
    for place in sorted(answers, key=lambda place: (-answers[place], place))[:MOST]:
        text = examples.texts[place][:LONGEST]
        message = Message("user", PROMPT.format(text=text, count=EACH))
        try:
            found = _read(model.complete([message]).text)
        except ModelFailed as error:
            found, why = [], f": {error}"
        failed, in_a_row = failed + (not found), 0 if found else in_a_row + 1
        if found:
            lures[place] = [f"{examples.names[place].rpartition('.')[2]} {one}" for one in found]
        elif in_a_row == GIVEN_UP:
            break
    if failed:
        tell(f"{model.name} wrote nothing usable about {failed} of {failed + len(lures)} callables")
    if not lures:
        raise CodeNavError(f"{model.name} wrote no negatives at all{why}", hint="name another model, or leave them out")
    return replace(examples, lures=lures)


def _read(text: str) -> list[str]:
    """The strings of the list in an answer, which may have more around it."""
    start, end = text.find("["), text.rfind("]")
    try:
        found = json.loads(text[start : end + 1]) if 0 <= start < end else []
    except (ValueError, RecursionError):
        return []
    lines = [" ".join(one.split()) for one in found if isinstance(one, str)] if isinstance(found, list) else []
    return [line[:LONGEST] for line in lines if line][:EACH]
