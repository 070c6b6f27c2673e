"""The module-level verbs `codenav.show`, `.callers`, `.callees`, `.outline`, `.describe`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.blocks import CodeBlock
from codenav.core.config import load_config
from codenav.core.errors import UsageError
from codenav.core.options import StoreOptions, spelled
from codenav.core.protocols import Index
from codenav.core.setting import updated
from codenav.core.system.interpreter import find_interpreter
from codenav.indexers.build import Progress
from codenav.navigation import calls, lookup, members
from codenav.navigation import outline as maps
from codenav.navigation.calls import Callees, Callers
from codenav.navigation.description import description_of
from codenav.navigation.outline import MIN_TOKENS, TOKENS, Outline
from codenav.retrieval.source_index import Notify, On, SourceIndex, as_index, listed, open_indexes
from codenav.retrieval.stores import open_store


@dataclass(frozen=True)
class Reading:
    """The reading of code bases, as keywords beside those of `StoreOptions`: see `codenav.index`."""

    python: str | Path | None = None
    refresh: bool = True
    progress: Callable[[Progress], None] | None = None
    notice: Notify | None = None


class Shown(list[CodeBlock]):
    """The blocks of one definition."""

    def __init__(self, blocks: Iterable[CodeBlock], others: Iterable[CodeBlock] = ()) -> None:
        super().__init__(blocks)
        self.others = tuple(others)
        """Other definitions whose names end in the name: methods `Query.join` where a function `join` is shown."""
        self.instance_of: CodeBlock | None = None
        """The class that it is an instance of, if it is a name at module level: `countries = Countries()`."""
        self.methods: Sequence[CodeBlock] = ()
        """The public methods of that class."""


@spelled(Reading, StoreOptions)
def show(
    block: str,
    *,
    on: On | Sequence[On],
    **reading: Any,
) -> Shown:
    """Return the block with a given id, dotted name (`Graph.add_node`, `graph.py::Graph.add_node`), or `path:line`.

    Several blocks are returned if one name is defined in parts: a property's getter and setter, overloads.

    Raises:
        Ambiguous: the name has several definitions; `candidates` holds them, the likeliest first.
        NotFound: the name has none; the hint has similar names. Also as `codenav.index`.
        Unavailable, StorageFull: as `codenav.index`.
    """
    with indexes_of(on, reading) as indexes:
        index = as_index(indexes)
        found = lookup.definition(index, block)
        shown = Shown(found, (blocks[0] for blocks in lookup.namesakes(index, block, found)))
        shown.instance_of, shown.methods = members.instance_of(index, found[0])
        return shown


@spelled(Reading, StoreOptions)
def callers(
    name: str,
    *,
    on: On | Sequence[On],
    limit: int = 20,
    **reading: Any,
) -> Callers:
    """Return the blocks that call a definition, named as for `show`, or something outside the index (`numpy.mean`).

    If the name has several definitions, the callers of all are returned.

    Raises:
        UsageError: a negative limit.
        NotFound: nothing with that name is defined or called. Also as `codenav.index`.
        Unavailable, StorageFull: as `codenav.index`.
    """
    _check(limit)
    with indexes_of(on, reading) as indexes:
        return calls.callers(as_index(indexes), name, limit=limit)


@spelled(Reading, StoreOptions)
def callees(
    name: str,
    *,
    on: On | Sequence[On],
    limit: int = 100,
    **reading: Any,
) -> Callees:
    """Return the names that a definition, named as for `show`, calls, each with the blocks that it refers to.

    Raises:
        UsageError: a negative limit.
        Ambiguous, NotFound, Unavailable, StorageFull: as `show`.
    """
    _check(limit)
    with indexes_of(on, reading) as indexes:
        return calls.callees(as_index(indexes), name, limit=limit)


@spelled(Reading, StoreOptions)
def outline(
    on: On | Sequence[On],
    *,
    path: str | Path = "",
    tokens: int = TOKENS,
    **reading: Any,
) -> Outline:
    """Make a map of one or several sources in at most `tokens` tokens: `print(codenav.outline("pkg:networkx"))`.

    `path` limits it to a folder or file; centrality is still computed over the whole source.

    Raises:
        UsageError: fewer than 32 tokens.
        NotFound: nothing lies at `path`. Also as `codenav.index`.
        Unavailable, StorageFull: as `codenav.index`.
    """
    if tokens < MIN_TOKENS:
        raise UsageError(f"{tokens} tokens are too few for a map", hint=f"give it {MIN_TOKENS} or more")
    with indexes_of(on, reading) as indexes:
        index = as_index(indexes)
        return maps.outline(index, tokens=tokens, path=_inside(index, str(path)))


@spelled(Reading, StoreOptions)
def describe(on: On | Sequence[On], **reading: Any) -> str:
    """Describe the purpose, layout and entry points of code bases: made by rules, at most 2,000 characters for each.

    `run` gives this text to the model if there is no `description`.

    Raises:
        NotFound, UsageError, Unavailable, StorageFull: as `codenav.index`.
    """
    with indexes_of(on, reading) as indexes:
        return "\n\n".join(map(description_of, indexes))


def _inside(index: Index, path: str) -> str:
    """The path relative to the root of the source, if it is absolute and inside that root; else unchanged."""
    roots = [index.source.root] if isinstance(index, SourceIndex) else []
    for root in roots:
        if Path(path).is_absolute() and Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return path


def _check(limit: int) -> None:
    if limit < 0:
        raise UsageError(f"the limit is negative: {limit}")


@contextmanager
def indexes_of(on: On | Sequence[On], reading: Mapping[str, Any] | None = None) -> Iterator[list[SourceIndex]]:
    """The indexes of code bases; indexes opened here are closed at the end, those passed in stay open."""
    named = listed(on)
    ready = [item for item in named if isinstance(item, SourceIndex)]
    if len(ready) == len(named):
        yield ready
        return
    given = dict(reading or {})
    how, config = updated(Reading(), given), load_config()
    interpreter = find_interpreter(how.python or config.sandbox.python)
    with ExitStack() as opening:
        kept = open_store(config.store_options(**given), notice=how.notice)
        opening.callback(kept.close)
        yield open_indexes(
            named,
            python=interpreter,
            store=kept,
            opening=opening,
            refresh=how.refresh,
            progress=how.progress,
            notice=how.notice,
        )
