"""What may make a value for a parameter, likeliest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from codenav.planner.calls import Result
from codenav.planner.finding import Meaning
from codenav.planner.giving import reads
from codenav.planner.pool import Pool
from codenav.planner.writing import Value, fit
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts
from codenav.signatures.types import likely_gives

MAKERS = ("parse", "from", "load", "read", "create", "open", "new", "get")
"""Words in the names of what makes an object of a text."""
CHANGES = ("add", "append", "insert", "remove", "delete", "discard", "clear", "set", "update", "write")
"""First words in the names of methods that give nothing."""
HAS = 2.0
"""What it counts that something takes what an object was asked for."""
READS = 0.4
"""Added for a maker that is named for what such a literal looks like, taken off for another form."""
MADE_SO, MADE_FOR = 4.0, 3.0
"""What it counts that examples make it so: an object whose method is called, what a call is given; that it is the class
itself counts 2.5, a declared result 1."""


def _only_changes(item: CallableSignature) -> bool:
    """Whether a method changes its object and gives nothing: `add_nodes_from`."""
    return item.kind == "method" and item.returns in ("", "None") and item.name.split("_")[0] in CHANGES


def makers(
    pool: Pool,
    parameter: Parameter,
    target: CallableSignature,
    meaning: Meaning,
    values: Sequence[Value],
    without: Collection[str],
    owner: str,
    hint: str = "",
) -> list[CallableSignature]:
    """Callables that may make a value for a parameter of `target` with the words and values that are left.

    `without`: expressions that may not; `owner`: the class that the target is a method of, where its receiver is
    meant; `hint`: what such a value has.
    """
    options = []
    literals = [value for value in values if value.literal is not None]
    told = pool.examples
    made_so = told.makers(target.name) if owner else told.arguments_made_by(target.name)
    class_ = next((item for item in pool.surveys.values() if item.name == owner and item.kind == "class"), None)
    mentioned = set(re.findall(r"[\w.]*?(\w+)(?:\(\))?`", class_.doc)) if class_ is not None else set[str]()
    foreign = [] if owner else pool.makers(target.name)
    for item in [*foreign, *pool.surveys.values()]:
        gives = likely_gives(item, parameter) if item.kind not in ("object", "property") else 0.0
        if item.name in made_so or item in foreign:
            gives = max(gives, MADE_SO if owner or item in foreign else MADE_FOR)
        if not gives or item.expression in without or (item.kind == "method" and item.owner == owner):
            continue
        if (item.kind == "function" and item.name.startswith("_")) or _only_changes(item):
            continue
        # Nobody has to ask for what another call needs.
        score = max(0.0, meaning.score(item)) if meaning.words else 0.0
        takes = max(
            (fit(value, one) * (2 if one.required else 1) for value in literals[:2] for one in item.parameters),
            default=0.0,
        )
        if item.name == owner:
            gives = max(gives, 2.5)
        if hint and any(parameter.name == hint for parameter in item.parameters):
            gives = max(gives, HAS)
        makes = any(part in MAKERS for part in parts(item.name))
        in_words = item.name in mentioned
        form = max((reads(item, value) for value in literals[:2]), default=0)
        # `the karate club graph` is that one, and no empty graph as in an example.
        whole = len(meaning.words) > 1 and set(meaning.words) <= set(parts(item.name))
        worth = 2 * score + 0.6 * gives + 0.2 * takes + 0.2 * makes + 0.5 * in_words + 0.5 * item.shown
        options.append((worth + READS * form + MADE_SO * whole, item))
    options.sort(key=lambda option: -option[0])
    return [item for worth, item in options if worth > 0.4]


def named_by(item: CallableSignature, values: Collection[Value]) -> set[Value]:
    """Of words that may be values those that are in a callable's name: `karate_club_graph` needs no `karate`."""
    own = parts(item.name)
    return {value for value in values if value.is_word and value.literal and value.literal.text.lower() in own}


def is_a(result: Result, parameter: Parameter) -> bool:
    """Whether a result goes with a parameter."""
    if re.search(rf"\b{re.escape(result.type)}\b", parameter.type):
        return True
    return not parameter.type and not result.builtin
