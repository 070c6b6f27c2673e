"""Calls that are made again, and upstream's own graders on them, in a sandbox that no agent sees.

Standard library only, and `apis`, the adapted code base. `replays` runs this file there.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any, Mapping, Sequence


def grade(
    sample: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], gold: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The verdicts on each expected call: `{"accepted": bool, "cause": text}`, twice.

    `ours` makes the calls one after another from the state in which the sample begins; `upstream` makes each alone,
    with databases as shipped and its arguments as text, which is upstream's recipe. A call with a `result` is made with
    chance pinned to it. No API has a recorded answer where the sample is `without_recordings`.
    """
    _state().begin(sample)
    responses = [_state().replay(call["name"], call["arguments"], call.get("result")) for call in calls]
    alone = [_alone(call, {"without_recordings": sample.get("without_recordings")}) for call in calls]
    return {"ours": _verdicts(calls, responses, gold), "upstream": _verdicts(calls, alone, gold)}


def make_calls(sample: Mapping[str, Any], calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Make calls from the state of a sample as an agent does, so that they are traced. What they raise is dropped."""
    _state().begin(sample)
    for name, arguments in calls:
        try:
            _state().api(name)().call(**arguments)
        except Exception:
            continue


def _verdicts(
    calls: Sequence[Mapping[str, Any]], responses: Sequence[Any], gold: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Give each expected call, in order, the first call of its name that is accepted and not yet taken."""
    taken: set[int] = set()
    found = []
    for expected in gold:
        verdict = {"accepted": False, "cause": "not called"}
        for place, call in enumerate(calls):
            if place in taken or call["name"] != expected["name"]:
                continue
            verdict = _verdict(expected, responses[place])
            if verdict["accepted"]:
                taken.add(place)
                break
        found.append(verdict)
    return found


def _verdict(expected: Mapping[str, Any], response: Any) -> dict[str, Any]:
    result = expected["result"]
    if not isinstance(response, dict):
        return {"accepted": False, "cause": f"the call failed: {response}"}
    try:
        # The graders change what they are given.
        grader = _state().api(expected["name"])().check_api_call_correctness
        accepted, cause = bool(grader(copy.deepcopy(response), copy.deepcopy(dict(result)))), ""
    except Exception as error:
        accepted, cause = False, f"the grader failed: {type(error).__name__}: {error}"
    if not accepted and not cause:
        cause = f"{response.get('exception') or response.get('output')!r:.300} instead of {result.get('output')!r:.300}"
    return {"accepted": accepted, "cause": cause}


def _alone(call: Mapping[str, Any], sample: Mapping[str, Any]) -> Any:
    """The response of a call as upstream's evaluator makes it: a new `ToolManager`, arguments converted from text."""
    _state().begin(sample)
    params = call.get("params")
    if params is None:
        params = {name: str(value) for name, value in call["arguments"].items()}
    try:
        wanted = _state().api(call["name"]).input_parameters
        given = {name: _converted(value, wanted[name]["type"]) for name, value in params.items()}
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _state().replay(call["name"], given)


def _converted(value: Any, kind: str) -> Any:
    """A value as `ToolManager.api_call` converts it, faults included: a list stays text."""
    if kind == "int":
        if isinstance(value, str) and not value.isdigit():
            raise ValueError("invalid parameter type")
        return int(value)
    if kind == "float":
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            raise ValueError("invalid parameter type")
        return float(value)
    if kind == "bool":
        return value == "True"
    return value


def _state() -> Any:
    """The state of the adapted code base, which is importable in the sandbox alone."""
    return importlib.import_module("apis")._state
