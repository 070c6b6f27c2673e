"""Export of an episode: JSON, a script, a notebook, a pandas frame, each made from the document of the episode."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from codenav.core.actions import Step, Summary
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.events import Status
from codenav.core.system.atomic_files import write_whole
from codenav.episodes import needs
from codenav.episodes.notebook import notebook, visible
from codenav.episodes.plain import as_script

_COLUMNS = (
    "number", "thought", "action", "content", "outcome", "shown", "seconds", "input_tokens", "output_tokens",
)  # fmt: skip


def write_json(document: Mapping[str, Any], path: Path) -> Path:
    """Write the document of an episode as JSON and return the path."""
    return _write(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def write_notebook(document: Mapping[str, Any], path: Path, *, inputs: Sequence[str] = ()) -> Path:
    """Write an episode as a runnable Jupyter notebook and return the path. `inputs`: names of the run's input files."""
    nbformat: Any = import_module("nbformat")
    return _write(path, nbformat.writes(notebook(document, inputs)) + "\n")


def write_script(document: Mapping[str, Any], code: str, path: Path, *, inputs: Sequence[str] = ()) -> Path:
    """Write `code` as a script that states its origin and its needs and sets up its imports; return the path.

    `inputs`: names of the run's input files.
    """
    files = needs.files_read(code, inputs, document)
    runs = needs.joined(as_script(code), needs.prelude(document, files, what="script"))
    return _write(path, script_header(document, files) + "\n" + runs.rstrip("\n") + "\n")


def script_header(document: Mapping[str, Any], files: Sequence[str] = ()) -> str:
    """The head of a script as comment lines: the episode, its verdict, what the script needs, the request."""
    lines = [
        # Python looks for an encoding in the first two lines: no foreign text there.
        f"Code summary of episode {document['id']}.",
        "",
        f"Made by codenav {document['codenav']}, {document['started']}.",
        f"{verdict_of(document)}.",
        *needs.told(document, files),
        "",
        "Request:",
        *document["request"].splitlines(),
    ]
    return "".join(f"# {visible(line)}".rstrip() + "\n" for text in lines for line in text.splitlines() or [""])


def verdict_of(document: Mapping[str, Any]) -> str:
    """The verdict on the code summary of an episode in one line; of a run that failed, that it did."""
    told = Summary.from_dict(document["summary"])
    if document["status"] != Status.DONE:
        return f"The run ended with status {document['status']}: this is what its code had come to"
    lacking = f"; in the answer, but not in its output: {', '.join(told.unsupported)}" if told.unsupported else ""
    return f"In a fresh sandbox: {told.told}{lacking}"


def frame(steps: Sequence[Step]) -> Any:
    """A `pandas.DataFrame` with one row per step."""
    import pandas

    rows = [
        (
            step.number,
            step.action.thought,
            step.action.type,
            step.action.content,
            outcome(step.to_dict()),
            step.observation.text,
            step.seconds,
            step.usage.input_tokens,
            step.usage.output_tokens,
        )
        for step in steps
    ]
    return pandas.DataFrame(rows, columns=list(_COLUMNS))


def outcome(step: Mapping[str, Any]) -> str:
    """The outcome of a step of the document in a word or two: `ok`, `error`, `timeout`, `3 hits`, `reproduced`, …"""
    kind, data = step["action"]["type"], step["observation"]
    if "rule" in data:
        return {"not_approved": "not approved", "not_accepted": "sent back"}.get(data["rule"], "invalid")
    if kind == "code":
        return str(data["outcome"])
    if kind == "search":
        shown = sum(len(result["hits"]) for result in data)
        return f"{shown} hit" + ("" if shown == 1 else "s")
    if kind == "code_summary":
        return Summary.from_dict(data).outcome
    return "ok"


def _write(path: Path, text: str) -> Path:
    """Write a file beside its place and move it there: the old content or the new, never a part."""
    try:
        if not path.parent.is_dir():
            raise NotFound(f"no such folder: {path.parent}", hint=f"mkdir -p {path.parent}")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file", hint="name a file")
        write_whole(Path(os.path.realpath(path)), text, errors="backslashreplace")
    except OSError as error:
        hint = "free some space or name another place"
        raise StorageFull(f"cannot write {path}: {error.strerror}", hint=hint) from error
    return path
