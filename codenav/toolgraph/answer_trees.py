"""ToolBench's answers: trees of decisions, cleaned to the one line of calls that worked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph.data_flow import Exchange, flows

_FINISH = "Finish"
"""The function by which an answer or giving up is said."""
_DEEPEST = 2_000
"""Nodes below each other; a chain of ToolBench has 24 at most."""


def is_tree(data: Any) -> bool:
    """True for the document of an answer: `tree`, and `answer_generation`."""
    return isinstance(data, dict) and isinstance(data.get("tree"), dict) and "answer_generation" in data


def trace_of_tree(data: Mapping[str, Any], id: str) -> Trace | None:
    """The trace of an answer; None if it gave up.

    The cleaning of the thesis that learns a tool graph from these trees: those that gave up are dropped, nodes that
    were pruned or whose `error` is not empty are left out, and what is left on the way to the answer is one line.
    """
    told = data["answer_generation"]
    told = told if isinstance(told, dict) else {}
    if str(told.get("finish_type") or "give_answer") != "give_answer":
        return None
    way = _way(data["tree"].get("tree") or data["tree"])
    if way is None:
        return None
    exchanges: list[Exchange] = []
    names: list[str] = []
    for action, inputs in pairwise(way):
        if action.get("node_type") != "Action" or inputs.get("node_type") != "Action Input":
            continue
        name = str(action.get("description") or "")
        answer = _parsed(inputs.get("observation"))
        if not name or name == _FINISH or _error(answer) or inputs.get("observation_code", 0) not in (0, None):
            continue
        names.append(name)
        arguments = _parsed(inputs.get("description"))
        exchanges.append(Exchange(arguments if isinstance(arguments, dict) else {}, _response(answer)))
    request = _request(told)
    takes = flows(exchanges, request)
    calls = tuple(TracedCall(name, takes=flow) for name, flow in zip(names, takes, strict=True))
    return Trace(id, calls, request)


def _way(root: Any) -> list[Mapping[str, Any]] | None:
    """The nodes from the root to the answer, without those that were pruned; None if there is no answer."""
    stack: list[tuple[Any, int]] = [(root, 0)]
    way: list[Mapping[str, Any]] = []
    while stack:
        node, depth = stack.pop()
        if not isinstance(node, dict) or node.get("pruned") is True or depth > _DEEPEST:
            continue
        del way[depth:]
        way.append(node)
        if _answers(way):
            return way
        children = node.get("children")
        stack += [(child, depth + 1) for child in reversed(children)] if isinstance(children, list) else []
    return None


def _answers(way: Sequence[Mapping[str, Any]]) -> bool:
    if len(way) < 2 or way[-2].get("description") != _FINISH or way[-1].get("node_type") != "Action Input":
        return False
    said = _parsed(way[-1].get("description"))
    said = said.get("return_type") if isinstance(said, dict) else way[-1].get("description")
    # The arguments of this call need not be JSON that can be read: a model wrote them.
    return "give_answer" in str(said)


def _request(told: Mapping[str, Any]) -> str:
    asked = (one.get("content") for one in _messages(told.get("train_messages")) if one.get("role") == "user")
    found = next((text for text in (told.get("query"), *asked) if isinstance(text, str)), "")
    return found.strip().removesuffix("Begin!").strip()


def _messages(talks: Any) -> Iterator[Mapping[str, Any]]:
    for talk in talks if isinstance(talks, list) else ():
        yield from (one for one in talk if isinstance(one, dict)) if isinstance(talk, list) else ()


def _parsed(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _error(answer: Any) -> bool:
    if isinstance(answer, dict):
        return bool(answer.get("error"))
    # An answer that was cut short is no JSON any more.
    return isinstance(answer, str) and '"error":' in answer[:20] and '"error": ""' not in answer[:20]


def _response(answer: Any) -> Any:
    return _parsed(answer["response"]) if isinstance(answer, dict) and "response" in answer else answer
