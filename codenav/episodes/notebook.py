"""An episode as a Jupyter notebook (nbformat 4.5): request, thoughts, searches and code, with the real outputs.

It runs from its first cell to its last: code that raised in the run is tagged so that Jupyter continues after it, and
code that ended its process, or did not end, is included as text.

All text that a model, a user or a source wrote stands in fences, so that no markup in it takes effect. Displays are
stored as they are; in a notebook that it does not trust, Jupyter sanitises HTML and SVG or does not show them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from codenav.core.actions import Summary
from codenav.core.events import Status
from codenav.episodes import needs

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab, line feed and carriage return, and those that change the direction of writing."""

_ENDINGS = {
    "timeout": "the step did not end in time",
    "out_of_memory": "the step used more memory than allowed",
    "crashed": "the process that ran the step is gone",
    "protocol_violation": "the sandbox sent invalid data",
}

_SETUP_CELL, _EARLIER_CELL, _SUMMARY_CELL = "setup", "earlier", "summary-code"
"""Cells that were not steps of the run."""

_RAISES = "raises-exception"
"""The tag that makes Jupyter and nbclient continue with the next cell."""


def notebook(document: Mapping[str, Any], inputs: Sequence[str] = ()) -> Any:
    """The `nbformat.NotebookNode` of the document of an episode; cell ids depend on the episode alone.

    `inputs`: names of the run's input files.
    """
    v4: Any = import_module("nbformat.v4")
    body = [*(cell for step in document["steps"] for cell in _step_cells(v4, step)), *_end_cells(v4, document)]
    if earlier := _earlier(document):
        body.insert(0, v4.new_code_cell(earlier, id=_EARLIER_CELL))
    code = [cell["source"] for cell in body if cell["cell_type"] == "code"]
    files = sorted({name for source in code for name in needs.files_read(source, inputs, document)})
    setup = needs.prelude(document, files, what="notebook") if code else ""
    cells = [
        v4.new_markdown_cell(_head(document, files), id="request"),
        *([v4.new_code_cell(setup.rstrip("\n"), id=_SETUP_CELL)] if setup else []),
        *body,
    ]
    own = (_SETUP_CELL, _EARLIER_CELL, _SUMMARY_CELL)
    ran = (cell for cell in cells if cell["cell_type"] == "code" and cell["id"] not in own)
    for count, cell in enumerate(ran, start=1):
        cell["execution_count"] = count
    language = {"name": "python", "version": document["sandbox"].get("python_version", "")}
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {key: value for key, value in language.items() if value},
        "codenav": {"id": document["id"], "status": document["status"], "format": document["format"]},
    }
    return v4.new_notebook(cells=cells, metadata=metadata)


def fenced(text: str, language: str = "text") -> str:
    """Text in a Markdown fence that nothing inside can close; control characters are made visible."""
    text = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def visible(text: str) -> str:
    """The text with control characters, such as terminal escapes, written as `\\x1b`."""
    return _CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text)


def _head(document: Mapping[str, Any], files: Sequence[str]) -> str:
    needed = "\n".join(needs.told(document, files))
    facts = {"episode": document["id"], "started": document["started"], "model": document["model"]}
    told = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
    parts = ["# Request", fenced(document["request"]), fenced(told)]
    return "\n\n".join(parts + (["Needs", fenced(needed)] if needed else []))


def _earlier(document: Mapping[str, Any]) -> str:
    """The code of earlier requests of the same session, which the steps build on; empty where there is none.

    A summary that the agent did not write itself is the code of all steps of the session, and begins with theirs.
    """
    if any(step["action"]["type"] == "code_summary" for step in document["steps"]):
        return ""
    steps = [step for step in document["steps"] if step["action"]["type"] == "code"]
    codes = [step["action"]["content"].strip("\n") for step in steps if step["observation"].get("outcome") == "ok"]
    own, code = "\n\n".join(codes), document["summary"]["code"].rstrip("\n")
    return code.removesuffix(own).rstrip("\n") if own and code.endswith(f"\n\n{own}") else ""


def _step_cells(v4: Any, step: Mapping[str, Any]) -> Iterator[Any]:
    number, kind = step["number"], step["action"]["type"]
    metadata = {"codenav": {"step": number, "seconds": step["seconds"]}}
    if "rule" in step["observation"]:
        kind = "invalid"
    if kind == "code":
        ended = step["observation"]["outcome"] in _ENDINGS
        text = [f"## Step {number}: code", *_thought(step), *(_as_text(step) if ended else ())]
        yield v4.new_markdown_cell("\n\n".join(text), id=f"step-{number}", metadata=metadata)
        if not ended:
            yield _code_cell(v4, step)
        return
    body = {"search": _search, "code_summary": _summary, "ask": _ask, "done": _done}.get(kind, _other)(step)
    yield v4.new_markdown_cell(
        "\n\n".join([*body[:1], *_thought(step), *body[1:]]), id=f"step-{number}", metadata=metadata
    )


def _code_cell(v4: Any, step: Mapping[str, Any]) -> Any:
    outputs = _outputs(v4, step["observation"])
    raised = step["observation"]["outcome"] != "ok"
    return v4.new_code_cell(
        step["action"]["content"],
        id=f"step-{step['number']}-code",
        outputs=outputs,
        metadata={"tags": [_RAISES]} if raised else {},
    )


def _as_text(step: Mapping[str, Any]) -> list[str]:
    """The text of a code step that must not run again, with its outputs and its outcome."""
    execution = step["observation"]
    told = [execution["stdout"], execution["stderr"], f"{execution['outcome']}: {_ENDINGS[execution['outcome']]}"]
    shown = [fenced(text) for text in (*told, execution["notice"]) if text.strip()]
    return [fenced(step["action"]["content"], "python"), "Shown as text, so that the cells below run.", *shown]


def _thought(step: Mapping[str, Any]) -> list[str]:
    return [fenced(step["thought"])] if step["thought"].strip() else []


def _search(step: Mapping[str, Any]) -> list[str]:
    parts = [f"## Step {step['number']}: search"]
    for result in step["observation"]:
        parts += ["Query", fenced(result["query"])]
        if result["repairs"]:
            parts.append(fenced("\n".join([*result["repairs"], f"read as: {result['read_as']}"])))
        parts.append(f"{len(result['hits'])} shown of {result['total']}")
        if result["hits"]:
            parts.append(fenced("\n".join(map(_hit, result["hits"]))))
    return parts


def _hit(hit: Mapping[str, Any]) -> str:
    start, end = hit["lines"]
    return f"{hit['kind']} {hit['path']}:{start}-{end}  {' '.join((hit['signature'] or hit['name']).split())}"


def _summary(step: Mapping[str, Any]) -> list[str]:
    verdict = _verdict(step["observation"])
    return [f"## Step {step['number']}: code summary", fenced(step["action"]["content"], "python"), verdict]


def _ask(step: Mapping[str, Any]) -> list[str]:
    question = ["Question", fenced(step["action"]["content"])]
    return [f"## Step {step['number']}: ask", *question, "Answer", fenced(step["shown"])]


def _done(step: Mapping[str, Any]) -> list[str]:
    return [f"## Step {step['number']}: done", fenced(step["action"]["content"])]


def _other(step: Mapping[str, Any]) -> list[str]:
    kind = step["action"]["type"]
    title = "no valid action" if kind == "invalid" else "other action"
    if kind == "invalid" and step["observation"]["rule"] == "not_approved":
        title = "not approved"
    return [f"## Step {step['number']}: {title}", fenced(step["action"]["content"]), fenced(step["shown"])]


def _verdict(summary: Mapping[str, Any]) -> str:
    told = Summary.from_dict(summary)
    lacking = ["In the answer, but not in its output:", fenced(", ".join(told.unsupported))] if told.unsupported else []
    return "\n\n".join(["In a fresh sandbox:", fenced(told.told), *lacking])


def _outputs(v4: Any, execution: Mapping[str, Any]) -> list[Any]:
    outputs = []
    if execution["late_output"]:
        text = "[from threads of earlier steps]\n" + visible(execution["late_output"])
        outputs.append(v4.new_output("stream", name="stdout", text=text))
    for name in ("stdout", "stderr"):
        if execution[name]:
            outputs.append(v4.new_output("stream", name=name, text=visible(execution[name])))
    outputs += [v4.new_output("display_data", data=_display(item)) for item in execution["displays"]]
    error = execution["error"]
    if error:
        trace = error["traceback"] or f"{error['type']}: {error['message']}"
        lines = visible(trace).splitlines()
        outputs.append(v4.new_output("error", ename=error["type"], evalue=visible(error["message"]), traceback=lines))
    if execution["notice"]:
        outputs.append(v4.new_output("stream", name="stderr", text=f"[{visible(execution['notice'])}]\n"))
    return outputs


def _display(item: Mapping[str, str]) -> dict[str, Any]:
    mime = item["mime"]
    if mime in ("image/png", "image/jpeg"):
        return {mime: item["data"]}
    text = base64.b64decode(item["data"]).decode("utf-8", "replace")
    return {mime: json.loads(text) if mime == "application/json" else text}


def _end_cells(v4: Any, document: Mapping[str, Any]) -> Iterator[Any]:
    ended = ["# Answer", fenced(document["answer"])] if document["answer"] else [f"# Ended: {document['status']}"]
    if document["reason"]:
        ended.append(fenced(document["reason"]))
    yield v4.new_markdown_cell("\n\n".join(ended), id="answer")
    summary = document["summary"]
    if summary["code"]:
        told = [_verdict(summary)] if document["status"] == Status.DONE else []
        yield v4.new_markdown_cell("\n\n".join(["# Code summary", *told]), id="summary")
        yield v4.new_code_cell(summary["code"].rstrip("\n"), id=_SUMMARY_CELL)
