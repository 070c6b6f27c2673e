"""Search plans as queries of Elasticsearch, one to one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from codenav.retrieval import plan
from codenav.retrieval.elastic.lines import FIRST, KIND, NUMBER, PRIOR, WORTH
from codenav.retrieval.plan import Plan

NOTHING: dict[str, Any] = {"match_none": {}}
EVERY_BLOCK: dict[str, Any] = {"exists": {"field": WORTH}}
"""A query for the documents that hold a block; others hold the states of files."""
NO_TOKEN = "\u2205\u2205"
"""A token that stands in no field."""
ORDER: list[Any] = [{"_score": "desc"}, "path", FIRST, NUMBER, KIND]
"""The order of hits: best first, equal scores by path, first line and id. The kind only comes back with the others."""
STATES = 10_000
"""Maximum effort to make an automaton of a regular expression; the engine's own default."""


def ranked(what: Plan, *, refused: Collection[str] = (), described: bool = False) -> dict[str, Any]:
    """The query for a plan whose scores are multiplied by the factor of each block; `refused` patterns match nothing.

    `described`: with the factors for descriptions.
    """
    factor = {"field": PRIOR if described else WORTH, "missing": 1.0}
    looked_for = query(what, refused)
    phrases = sorted({part.field for part in plan.leaves(what) if isinstance(part, plan.Sequence)})
    if phrases:
        # A shard that has none of a phrase's words leaves its field out of the statistics of all shards, unless a
        # single word is looked for there as well.
        nowhere = [{"term": {field: NO_TOKEN}} for field in phrases]
        looked_for = {"bool": {"must": [looked_for], "should": nowhere}}
    return {"function_score": {"query": looked_for, "field_value_factor": factor, "boost_mode": "multiply"}}


def query(what: Plan, refused: Collection[str] = (), boost: float = 1.0) -> dict[str, Any]:
    """The engine's query for a plan; `boost` multiplies its score."""
    match what:
        case plan.Match(field, token):
            return {"term": {field: {"value": token, "boost": boost}}}
        case plan.Sequence(field, tokens, slop):
            words = {"query": " ".join(tokens), "slop": slop, "analyzer": "whitespace", "boost": boost}
            return {"match_phrase": {field: words}}
        case plan.Pattern(field, regex):
            return NOTHING if regex in refused else pattern(field, regex, boost)
        case plan.Near(field, token, distance):
            near = {"value": token, "fuzziness": distance, "rewrite": "constant_score", "boost": boost}
            return {"fuzzy": {field: near}}
        case plan.Between(field, low, high):
            bounds = {"gte": _line(low or 0)} | ({} if high is None else {"lte": _line(high)})
            return {"range": {field: {**bounds, "boost": boost}}}
        case plan.Everything():
            return {"constant_score": {"filter": EVERY_BLOCK, "boost": boost}}
        case plan.Best(parts, share):
            queries = [query(part, refused) for part in parts]
            return {"dis_max": {"queries": queries, "tie_breaker": share, "boost": boost}}
        case plan.Weighted(part, factor):
            return query(part, refused, boost * factor)
        case plan.Constant(part, score):
            return {"constant_score": {"filter": query(part, refused), "boost": boost * score}}
        case plan.Join(required, optional, excluded):
            return _join(required, optional, excluded, refused, boost)


def _line(number: int) -> int:
    return min(max(number, 0), 2**31 - 1)


def _join(
    required: tuple[Plan, ...],
    optional: tuple[Plan, ...],
    excluded: tuple[Plan, ...],
    refused: Collection[str],
    boost: float,
) -> dict[str, Any]:
    if not required and not optional:
        return NOTHING
    clauses: dict[str, Any] = {"boost": boost}
    for name, parts in (("must", required), ("should", optional), ("must_not", excluded)):
        if parts:
            clauses[name] = [query(part, refused) for part in parts]
    return {"bool": clauses}


def pattern(field: str, regex: str, boost: float = 1.0) -> dict[str, Any]:
    """The query for a regular expression, without the operators that only Lucene has."""
    value = {"value": regex, "flags": "NONE", "max_determinized_states": STATES, "rewrite": "constant_score"}
    return {"regexp": {field: {**value, "boost": boost}}}
