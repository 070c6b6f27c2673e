"""An episode in ATIF, the Agent Trajectory Interchange Format in which Harbor and its clients exchange runs.

Source: RFC 0001 of Harbor, version 1.7 (github.com/harbor-framework/harbor, rfcs/0001-trajectory-format.md). Facts
without a field of their own stand in the `extra` objects that it allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codenav.core.events import Status
from codenav.episodes.export import outcome

SCHEMA_VERSION = "ATIF-v1.7"


def trajectory(document: Mapping[str, Any]) -> dict[str, Any]:
    """The trajectory of an episode, from its document: prompt, request, a step for each step, and totals."""
    steps = [{"source": "system", "message": document["prompt"]}] if document["prompt"] else []
    began = _without_empty({"timestamp": document["started"]})
    steps.append({"source": "user", "message": document["request"], **began})
    steps += [_step(step) for step in document["steps"]]
    if document["under_way"]:
        steps.append(_agent(document["under_way"]))
    if document["unfinished"]:
        cut = document["unfinished"]
        written = {"source": "agent", "message": cut["response"], "extra": {"cut_off": True}}
        steps.append(written | ({"reasoning_content": cut["reasoning"]} if cut["reasoning"] else {}))
    failed = document["status"] != Status.DONE and document["reason"]
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": document["id"],
        "trajectory_id": document["id"],
        "agent": _without_empty(
            {
                "name": "codenav",
                "version": document["codenav"] or "unknown",
                "model_name": document["model"],
                "extra": {"sources": [source["source"] for source in document["sources"]]},
            }
        ),
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
        **({"notes": document["reason"]} if failed else {}),
        "final_metrics": _final(document, len(steps)),
        "extra": _without_empty(
            {
                "status": document["status"],
                "answer": document["answer"],
                "code_summary": document["summary"]["code"],
                "verdict": document["summary"].get("outcome", ""),
                "parent": document["parent"],
            }
        ),
    }


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the agent. An answer is a message, any other action a tool call with what came back."""
    kind, seen, made = step["action"]["type"], step["observation"], _agent(step)
    if step["reasoning"]:
        made["reasoning_content"] = step["reasoning"]
    if "rule" in seen:
        made = {**made, "message": step["response"], "observation": {"results": [{"content": step["shown"]}]}}
        made.pop("tool_calls", None)
    elif kind != "done":
        extra = {"extra": {"calls": seen["calls"]}} if kind == "code" and seen.get("calls") else {}
        result = {"source_call_id": _call_id(step), "content": step["shown"], **extra}
        made["observation"] = {"results": [result]}
    told = _without_empty({"outcome": outcome(step), "handover": step.get("handover")})
    return {**made, **_metrics(step["usage"]), "extra": {"seconds": step["seconds"], **told}}


def _agent(step: Mapping[str, Any]) -> dict[str, Any]:
    """The action of a step: the thought and a tool call, or the answer."""
    action = step["action"]
    if action["type"] == "done":
        return {"source": "agent", "message": action["content"]}
    call = {
        "tool_call_id": _call_id(step),
        "function_name": action["type"],
        "arguments": {"content": action["content"]},
    }
    return {"source": "agent", "message": step["thought"], "tool_calls": [call]}


def _call_id(step: Mapping[str, Any]) -> str:
    return f"step-{step['number']}"


def _metrics(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens of a step. One that no model was asked for has none."""
    if not usage["requests"]:
        return {"llm_call_count": 0}
    metrics = {"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"]}
    metrics |= {"cost_usd": usage["dollars"]} if usage.get("dollars") else {}
    metrics |= {"extra": {"estimated": True}} if usage["estimated"] else {}
    return {"metrics": metrics, "llm_call_count": usage["requests"]}


def _final(document: Mapping[str, Any], steps: int) -> dict[str, Any]:
    usage = document["usage"]
    totals = {
        "total_prompt_tokens": usage["input_tokens"],
        "total_completion_tokens": usage["output_tokens"],
        "total_steps": steps,
        "extra": {"seconds": document["seconds"], "requests": usage["requests"]},
    }
    return totals | ({"total_cost_usd": usage["dollars"]} if usage.get("dollars") else {})


def _without_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value}
