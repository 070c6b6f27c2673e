"""Descriptions by a model that look like those of callables and describe something else: the hardest negatives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from codenav.core.errors import CodeNavError, ModelFailed
from codenav.core.messages import Message
from codenav.core.protocols import Model
from codenav.retrieval.dense.examples import Examples

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
