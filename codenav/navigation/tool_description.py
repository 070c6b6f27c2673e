"""Descriptions of tool sources: what a service is for, its groups with their guidance, and its operations."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codenav.core.blocks import BlockKind
from codenav.core.protocols import Index
from codenav.navigation.bounded import cut, within
from codenav.tools.state_files import Summary, read_summary

PURPOSE_SHARE, GROUPS_SHARE = 0.25, 0.4
"""Shares of the room for the first two parts; the operations take the rest."""
GROUP_CHARACTERS = 400
LINE_CHARACTERS = 110


def describe_tools(index: Index, state: Path, folder: str, room: int) -> str:
    """Describe a state of a tool source in at most `room` characters. `folder` begins the paths of its blocks, or "".

    The operations are shown by name with what they do; those that do not fit are counted.
    """
    try:
        summary = read_summary(state)
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    title = " ".join(filter(None, [summary.title or summary.name, summary.version]))
    head = cut(f"{title} (tools.{summary.name}): {_flat(summary.text)}".rstrip(": "), int(room * PURPOSE_SHARE))
    groups = within("Groups:", map(_group, summary.groups), int(room * GROUPS_SHARE))
    left = room - len(head) - len(groups) - 2
    return "\n".join(filter(None, [head, groups, _operations(index, summary, folder, left)]))


def _group(group: Mapping[str, Any]) -> str:
    paragraphs = [_flat(one) for one in str(group.get("text", "")).split("\n\n")]
    text = " ".join(one if one.endswith((".", "!", "?")) else f"{one}." for one in paragraphs if one)
    return cut(f"  {group['module']}: {text}" if text else f"  {group['module']}", GROUP_CHARACTERS)


def _operations(index: Index, summary: Summary, folder: str, room: int) -> str:
    under = f"{folder}/" if folder else ""
    lines = {
        block.name: cut(f"  {block.name}({_parameters(block.signature)}): {_first(block.docstring)}", LINE_CHARACTERS)
        for block in index.blocks()
        if block.kind is BlockKind.TOOL and block.path.startswith(under)
    }
    ordered = [lines[name] for name in summary.operations if name in lines]
    title = f"Operations ({len(ordered)}):"
    text = within(title, ordered, room - 40)
    shown = text.count("\n")
    return f"{text}\n  … and {len(ordered) - shown} more: search for them" if text and shown < len(ordered) else text


def _parameters(signature: str) -> str:
    """The names of the parameters; those with a default end with `=`."""
    try:
        (node,) = ast.parse(f"{signature}: ...").body
    except (SyntaxError, ValueError):
        return "…"
    if not isinstance(node, ast.FunctionDef):
        return "…"
    required = [item.arg for item in node.args.args]
    return ", ".join([*required, *(f"{item.arg}=" for item in node.args.kwonlyargs)])


def _first(docstring: str) -> str:
    return docstring.partition("\n")[0]


def _flat(text: str) -> str:
    return " ".join(text.split())
