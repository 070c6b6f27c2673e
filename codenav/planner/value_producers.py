"""Value producers: callables that may make a value for a parameter, likeliest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from codenav.planner.calls import Result
from codenav.planner.candidates import Candidates
from codenav.planner.relevance import Meaning
from codenav.planner.values import Value, fit
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts
from codenav.signatures.types import likely_gives

MAKERS = ("parse", "from", "load", "read", "create", "open", "new", "get")
"""Words in the names of callables that make an object of a text."""
CHANGES = ("add", "append", "insert", "remove", "delete", "discard", "clear", "set", "update", "write")
"""First words in the names of methods that give nothing."""
ITSELF, HAS, WHOLE = 2.5, 2.0, 4.0
"""The worth, where a declared result counts 1, of being the class itself, of taking what an object was asked
for, and of a name that is all that is left: `the karate club graph` is that one, and no empty graph."""


def producers(
    pool: Candidates,
    parameter: Parameter,
    target: CallableSignature,
    meaning: Meaning,
    values: Sequence[Value],
    hint: str = "",
) -> list[CallableSignature]:
    """The callables that may make a value for a parameter of `target` with the words and values that are left.

    `hint`: an attribute that such a value has.
    """
    owner = target.owner if parameter.name == "self" else ""
    literals = [value for value in values if value.literal is not None][:2]
    options = []
    for item in pool.items.values():
        gives = likely_gives(item, parameter) if item.kind not in ("object", "property") else 0.0
        if not gives or item.expression == target.expression or (item.kind == "method" and item.owner == owner):
            continue
        changes = item.kind == "method" and item.returns in ("", "None") and item.name.split("_")[0] in CHANGES
        if changes or (item.kind == "function" and item.name.startswith("_")):
            continue
        # Nobody has to ask for what another call needs.
        score = max(0.0, meaning.score(item)) if meaning.words else 0.0
        fits = (fit(value, one) * (2 if one.required else 1) for value in literals for one in item.parameters)
        takes = max(fits, default=0.0)
        gives = max(gives, ITSELF * (item.name == owner), HAS * any(hint == one.name for one in item.parameters))
        makes = any(part in MAKERS for part in parts(item.name))
        whole = len(meaning.words) > 1 and set(meaning.words) <= set(parts(item.name))
        options.append((2 * score + 0.6 * gives + 0.2 * takes + 0.2 * makes + WHOLE * whole, item))
    options.sort(key=lambda option: -option[0])
    return [item for worth, item in options if worth > 0.4]


def named_by(item: CallableSignature, values: Collection[Value]) -> set[Value]:
    """The words among some values that are in a callable's name: `karate_club_graph` needs no `karate`."""
    own = parts(item.name)
    return {value for value in values if value.is_word and value.literal and value.literal.text.lower() in own}


def is_a(result: Result, parameter: Parameter) -> bool:
    """True if a result goes with a parameter."""
    if re.search(rf"\b{re.escape(result.type)}\b", parameter.type):
        return True
    return not parameter.type and not result.builtin
