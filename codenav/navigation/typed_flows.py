"""The flows of results from call to call that annotations state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.navigation.called import KnownCallables, annotations_of
from codenav.navigation.loaded import LoadedResolver

MOST_GIVERS = 5
"""The most callables that give an object of a class. What more of them give says little about any."""


def typed_flows(resolver: LoadedResolver, known: KnownCallables) -> Iterator[tuple[str, str, str]]:
    """Giver, taker and parameter, where a parameter is annotated with a class of the code base that few give.

    A class gives its objects, and so does what is annotated to return one. A parameter takes them if it is annotated
    with that class alone, or it or None.
    """
    givers: dict[str, dict[str, None]] = defaultdict(dict)
    takers: list[tuple[str, str, str]] = []
    for block in _callables(resolver):
        called = known.of(block)
        if called is None:
            continue
        if called.gives:
            givers[called.gives][called.name] = None
        for parameter, annotation in annotations_of(_signed(block, resolver)).items():
            kind = known.class_of(annotation, block)
            if kind:
                takers.append((kind, called.name, parameter))
    for kind, taker, parameter in dict.fromkeys(takers):
        found = [giver for giver in givers.get(kind, ()) if giver != taker]
        if 0 < len(found) <= MOST_GIVERS:
            yield from ((giver, taker, parameter) for giver in found)


def _callables(resolver: LoadedResolver) -> Iterator[CodeBlock]:
    for module in resolver.modules.all():
        for blocks in module.definitions.values():
            # The first of several: overloads, getters and setters.
            if blocks[0].kind in (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS):
                yield blocks[0]


def _signed(block: CodeBlock, resolver: LoadedResolver) -> str:
    """The signature by which a callable takes something."""
    if block.kind is not BlockKind.CLASS:
        return block.signature
    made = resolver.classes.on_exactly(block, "__init__")
    return made[0].signature if made else ""
