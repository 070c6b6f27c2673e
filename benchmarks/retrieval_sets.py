"""Sets of tools with requests, as the benchmark of retrieval reads them, and their splits.

A set is a folder with `tools.jsonl` (id, name, desc, provider, params, returns, links) and one or more other `*.jsonl`
of requests (id, query, gold, path, group). A folder of such folders is several sets.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

TOOLS = "tools.jsonl"
LARGEST_GROUP = 25
"""Requests of a group that are resampled together at most; a larger group is a part of the set."""


@dataclass(frozen=True)
class Tool:
    """A tool of a set."""

    id: str
    name: str
    desc: str
    provider: str
    params: Sequence[Mapping[str, Any]]
    """Each with `name`, `type`, `desc`, `required`."""
    returns: Sequence[Mapping[str, Any]]
    links: Sequence[str]


@dataclass(frozen=True)
class Request:
    """A request with the tools that it needs."""

    id: str
    query: str
    gold: tuple[str, ...]
    path: tuple[str, ...]
    """The calls that carry it out, in order."""
    group: str
    """The task or the authored sequence that it belongs to."""
    ordered: bool
    """True if the order of `path` means anything."""


@dataclass(frozen=True)
class Case:
    """What is judged: a request with the calls so far, and the tools that are right."""

    request: Request
    gold: tuple[str, ...]
    calls: tuple[str, ...] = ()


@dataclass(eq=False)
class Split:
    """A set, with the requests that may be learnt from and those that are judged."""

    name: str
    tools: Sequence[Tool]
    train: Sequence[Request]
    judged: Sequence[Request]
    number: int = 0
    """The number of the fold."""
    run: list[Split] = field(default_factory=list, repr=False)
    """The splits of that number of all sets of the run, this one included: what is learnt together."""

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The places of the tools by id."""
        return {tool.id: row for row, tool in enumerate(self.tools)}

    @cached_property
    def others(self) -> list[Split]:
        """The splits of other sets that share no tool with this one and have something to learn from."""
        mine = {tool.id for tool in self.tools}
        return [other for other in self.run if other.train and mine.isdisjoint(tool.id for tool in other.tools)]

    @cached_property
    def cases(self) -> list[Case]:
        """The judged requests, before any call."""
        return [Case(request, request.gold) for request in self.judged]

    @cached_property
    def next_cases(self) -> list[Case]:
        """The judged requests after each of their calls: which tool is called next?"""
        return [
            Case(request, (tool,), request.path[:place])
            for request in self.judged
            if request.ordered
            for place, tool in enumerate(request.path)
            if place and tool not in request.path[:place]
        ]

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """For each judged request what it is resampled with: its group, or else the requests with the same tools."""
        sizes = Counter(request.group for request in self.judged)
        return {
            request.id: f"group {request.group}"
            if request.group and sizes[request.group] <= LARGEST_GROUP
            else "tools " + "\0".join(sorted(request.gold))
            for request in self.judged
        }

    @cached_property
    def unseen(self) -> frozenset[str]:
        """The judged requests of whose set of tools and of whose task none is learnt from."""
        golds = {frozenset(request.gold) for request in self.train}
        sizes = Counter(request.group for request in (*self.train, *self.judged))
        groups = {request.group for request in self.train if request.group and sizes[request.group] <= LARGEST_GROUP}
        return frozenset(one.id for one in self.judged if frozenset(one.gold) not in golds and one.group not in groups)

    def task(self, request: Request) -> str:
        """The task of a judged request, or its id."""
        cluster = self.clusters[request.id]
        return cluster if cluster == f"group {request.group}" else request.id

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """For each judged request one that it is joined to by groups or by equal sets of tools, the same for all."""
        parent: dict[str, str] = {}

        def top(key: str) -> str:
            while parent.setdefault(key, key) != key:
                key = parent[key]
            return key

        for request in self.judged:
            for key in ("tools " + "\0".join(sorted(request.gold)), self.clusters[request.id]):
                parent[top(key)] = top(request.id)
        return {request.id: top(request.id) for request in self.judged}


def read(data: Path, train: Path | None, *, only: Sequence[str] = (), most: int = 0) -> list[Split]:
    """The sets of a folder, each with the requests of `train` for the set of its name.

    A request that is in both is learnt from and not judged. `most`: of each set about so many, evenly spread; 0 is all.
    Leaves with a line where nothing is to be judged, or to be learnt from.
    """
    found = []
    folders, learnt = _folders(data), {folder.name: folder for folder in (_folders(train) if train else ())}
    if len(folders) == len(learnt) == 1:
        learnt = dict(zip((folders[0].name,), learnt.values(), strict=True))
    if missing := set(only) - {folder.name for folder in folders}:
        sys.exit(f"{data} has no set {min(missing)}: {', '.join(folder.name for folder in folders)}")
    for folder in folders:
        if only and folder.name not in only:
            continue
        tools = [_tool(item) for item in _lines(folder / TOOLS)]
        known = {tool.id for tool in tools}
        before = _requests(learnt[folder.name], known) if folder.name in learnt else []
        seen = {request.id for request in before}
        judged = [request for request in _requests(folder, known) if request.id not in seen]
        judged = judged[:: max(len(judged) // most, 1)] if most else judged
        if not judged:
            print(f"{folder.name}: no request is left to judge", file=sys.stderr)
            continue
        found.append(Split(folder.name, tools, before, judged))
    if not found:
        sys.exit(f"{data} has no request to judge")
    without = [split.name for split in found if not split.train]
    if train and len(without) == len(found):
        sys.exit(f"{train} has no request to learn from for {', '.join(without)}")
    if train and without:
        print(f"{train} has nothing to learn from for {', '.join(without)}", file=sys.stderr)
    together(found)
    return found


def together(splits: list[Split]) -> None:
    """Let splits know each other."""
    for split in splits:
        split.run = splits


def folds(sets: Sequence[Split], count: int, *, unseen: bool = False, seed: int = 7) -> list[list[Split]]:
    """Each request judged once, learnt from in the other folds; the splits by fold.

    Requests of one task or authored sequence are in one fold; `unseen`: those with the same tools, too.
    """
    every: list[list[Split]] = [[] for _ in range(count)]
    for one in sets:
        keys = [one.joined[request.id] if unseen else one.task(request) for request in one.judged]
        places = sorted(set(keys))
        random.Random(seed).shuffle(places)
        place = {key: number % count for number, key in enumerate(places)}
        for number, splits in enumerate(every):
            judged = [request for request, key in zip(one.judged, keys, strict=True) if place[key] == number]
            rest = [request for request, key in zip(one.judged, keys, strict=True) if place[key] != number]
            if judged:
                splits.append(Split(one.name, one.tools, [*one.train, *rest], judged, number))
    for splits in every:
        together(splits)
    return every


def _folders(data: Path) -> list[Path]:
    found = [data] if (data / TOOLS).is_file() else sorted(path.parent for path in data.glob(f"*/{TOOLS}"))
    if not found:
        sys.exit(
            f"{data} has no set: a folder with {TOOLS} and requests in another .jsonl, or a folder of such folders"
        )
    return found


def _requests(folder: Path, known: set[str]) -> list[Request]:
    found = {
        str(item["id"]): _request(item)
        for path in sorted(folder.glob("*.jsonl"))
        if path.name != TOOLS
        for item in _lines(path)
    }
    kept = [request for request in found.values() if known.issuperset(request.gold) and request.gold]
    if len(kept) < len(found):
        print(f"{folder.name}: {len(found) - len(kept)} requests want no tool, or an unknown one", file=sys.stderr)
    return [replace(request, path=tuple(tool for tool in request.path if tool in known)) for request in kept]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    item = json.loads(line)
                except ValueError as error:
                    sys.exit(f"{path}:{number} is no JSON: {error}")
                wanted = ("id", "name") if path.name == TOOLS else ("id", "query", "gold")
                if missing := [key for key in wanted if not isinstance(item, dict) or key not in item]:
                    sys.exit(f"{path}:{number} has no {missing[0]!r}")
                for key in wanted:
                    listed = item[key] if key == "gold" else [item[key]]
                    kinds = str if key in ("name", "query") else str | int
                    if not isinstance(listed, list) or not all(isinstance(one, kinds) for one in listed):
                        sys.exit(f"{path}:{number} has no {'list of ids' if key == 'gold' else 'text'} for {key!r}")
                yield item


def _tool(item: Mapping[str, Any]) -> Tool:
    return Tool(
        item["id"],
        item["name"],
        item.get("desc") or "",
        item.get("provider") or "",
        item.get("params") or (),
        item.get("returns") or (),
        item.get("links") or (),
    )


def _request(item: Mapping[str, Any]) -> Request:
    return Request(
        str(item["id"]),
        item["query"],
        tuple(item["gold"]),
        tuple(item.get("path") or ()),
        str(item.get("group") or ""),
        bool(item.get("ordered")),
    )
