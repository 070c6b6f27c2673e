"""Traces in files, read a line at a time: our own form, and ToolBench's answer trees."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from codenav.core.errors import NotFound
from codenav.core.traces import SAMPLES, Trace, TracedCall
from codenav.toolgraph.data_flow import Exchange, flows

LONGEST_LINE = 16 * 2**20
"""Bytes. A longer line is left out without being read into memory."""
MOST_CALLS = 10_000
"""The most calls of a trace. The longest trace of the sets in docs/retrieval.md has 30."""
LONGEST_NAME = 1_000
"""Characters of the name of a callable or a parameter."""
_ORIGINS = ("traces", "code", "specs", "episodes", SAMPLES)
_FINISH = "Finish"
"""The function by which an answer or giving up is said."""
_DEEPEST = 2_000
"""Nodes below each other; a chain of ToolBench has 24 at most."""
_KINDS = (
    ("id", str | int, "text"), ("request", str, "text"), ("verified", bool, "true or false"),
    ("ordered", bool, "true or false"),
)  # fmt: skip

Tell = Callable[[int, str], object]
"""A receiver of the number of a line that is left out, from 1, and the reason."""


class _Unsound(ValueError):
    """A trace with a fault, in words."""


def read_traces(path: Path, left_out: Callable[[str], object]) -> Iterator[Trace]:
    """The traces of a file: one a line in the form of `Trace.to_dict`, or one answer tree, or one tree a line.

    `left_out` gets a sentence for each line that is no trace. Not more than one line is held in memory.

    Raises:
        NotFound: the file cannot be read.
    """

    def tell(line: int, why: str) -> None:
        left_out(f"{path.name}, line {line}, is left out: {why}")

    try:
        with open(path, "rb") as file:
            if (tree := _whole_tree(file)) is not None:
                yield from _sound(partial(trace_of_tree, tree, path.stem), 1, tell)
                return
            for number, line in _lines(file):
                if line is None:
                    tell(number, f"it is longer than {LONGEST_LINE // 2**20} MB")
                elif line.strip():
                    yield from _sound(partial(_trace, line, path.stem, number), number, tell)
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {path}") from error


def _sound(make: Callable[[], Trace | None], number: int, tell: Tell) -> Iterator[Trace]:
    try:
        trace = make()
    except _Unsound as fault:
        tell(number, str(fault))
        return
    if trace is None:
        tell(number, "it gave up, so nothing is learnt from it")
    elif len(trace.calls) > MOST_CALLS:
        tell(number, f"it has {len(trace.calls):,} calls, more than {MOST_CALLS:,}")
    elif any(len(name) > LONGEST_NAME for name in _names(trace)):
        tell(number, f"it has a name of over {LONGEST_NAME:,} characters")
    elif not _is_text("".join([trace.id, trace.request, *_names(trace)])):
        tell(number, "it holds half a character, which no file takes")
    else:
        yield trace


def _names(trace: Trace) -> Iterator[str]:
    for call in trace.calls:
        yield call.name
        yield from call.takes


def _is_text(text: str) -> bool:
    """False for text with a surrogate, which JSON may hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines with their numbers, from 1; None for one that is too long."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) <= LONGEST_LINE:
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield number, None


def _whole_tree(file: BinaryIO) -> Mapping[str, Any] | None:
    """The answer tree that is the whole file, written over several lines; None if the file is something else."""
    head = file.read(LONGEST_LINE + 1)
    file.seek(0)
    if len(head) > LONGEST_LINE or head.partition(b"\n")[0].strip() != b"{":
        return None
    try:
        data = json.loads(head)
    except (ValueError, RecursionError):
        return None
    return data if is_tree(data) else None


def _trace(line: bytes, stem: str, number: int) -> Trace | None:
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _Unsound("it is not in UTF-8") from error
    except RecursionError as error:
        raise _Unsound("it is nested too deeply") from error
    except ValueError as error:
        cut = line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")
        raise _Unsound("it is cut short" if cut else "it is not JSON") from error
    if is_tree(data):
        return trace_of_tree(data, f"{stem}:{number}")
    return trace_of(data, hashlib.blake2b(line.strip(), digest_size=8).hexdigest())


def trace_of(data: Any, id: str = "") -> Trace:
    """The trace in JSON data, in the form of `Trace.to_dict`. `id`: that of one without an id.

    Raises:
        ValueError: it is none, with the fault in words.
    """
    if not isinstance(data, dict) or not isinstance(data.get("calls"), list):
        raise _Unsound('it is no trace: an object with "calls", a list')
    if len(data["calls"]) > MOST_CALLS:
        raise _Unsound(f"it has {len(data['calls']):,} calls, more than {MOST_CALLS:,}")
    origin = data.get("origin", "traces")
    if origin not in _ORIGINS:
        raise _Unsound(f"its origin is none of {', '.join(_ORIGINS)}")
    for key, kind, called in _KINDS:
        if key in data and not isinstance(data[key], kind):
            raise _Unsound(f'its "{key}" is not {called}')
    ended = data.get("ended", 0.0)
    return Trace(
        id=str(data.get("id", "") or id),
        calls=tuple(_call(call, at) for at, call in enumerate(data["calls"])),
        request=data.get("request", ""),
        verified=data.get("verified", True),
        origin=origin,
        ended=float(ended) if _is_number(ended) and 0 <= ended < 1e11 else 0.0,
        ordered=data.get("ordered", True),
    )


def _call(data: Any, at: int) -> TracedCall:
    """A call, given as an object or by its name alone."""
    if isinstance(data, str):
        data = {"name": data}
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise _Unsound(f"call {at} has no name")
    takes = data.get("takes") or {}
    if not isinstance(takes, dict):
        raise _Unsound(f'call {at}, {name}: "takes" is no object')
    for place in takes.values():
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise _Unsound(f"call {at}, {name}, takes the result of call {place!r}, which is no place")
        if place >= at:
            raise _Unsound(f"call {at}, {name}, takes the result of call {place}, which is not before it")
    seconds = data.get("seconds")
    sound = _is_number(seconds) and 0 <= seconds < 1e9
    return TracedCall(name, data.get("ok", True) is True, float(seconds) if sound else None, takes)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_tree(data: Any) -> bool:
    """True for the document of an answer: `tree`, and `answer_generation`."""
    return isinstance(data, dict) and isinstance(data.get("tree"), dict) and "answer_generation" in data


def trace_of_tree(data: Mapping[str, Any], id: str) -> Trace | None:
    """The trace of an answer; None if it gave up.

    The cleaning of the thesis that learns a tool graph from these trees: those that gave up are dropped, nodes that
    were pruned or whose `error` is not empty are left out, and what is left on the way to the answer is one line.
    """
    generated = data["answer_generation"]
    generated = generated if isinstance(generated, dict) else {}
    if str(generated.get("finish_type") or "give_answer") != "give_answer":
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
    request = _request(generated)
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


def _request(generated: Mapping[str, Any]) -> str:
    asked = (one.get("content") for one in _messages(generated.get("train_messages")) if one.get("role") == "user")
    found = next((text for text in (generated.get("query"), *asked) if isinstance(text, str)), "")
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
