"""A picture of a tool graph as one HTML page with zoom and search. It loads nothing, and its policy forbids it to."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

import orjson

from codenav.core.system.terminal_text import neutral
from codenav.toolgraph.nodes import EdgeKind
from codenav.toolgraph.pictures.scene import EDGE_COLOURS, Scene
from codenav.toolgraph.pictures.svg import EDGE_NAMES, FONT, markers, shapes, text
from codenav.toolgraph.showing import INCOMING, OUTGOING

DESCRIPTION = 400
"""Most characters of a description in the page."""
LINES = {EdgeKind.RESOURCE: "dashed", EdgeKind.WEAK_RESOURCE: "dotted", EdgeKind.SUBSTITUTE: "dotted"}
"""The look in the legend of the kinds of edges that `picture_svg.DASHES` has; others are solid."""


def html(scene: Scene) -> str:
    """The page: the picture, its data, and the script that moves it. No other script may run in it."""
    folder = files("codenav.toolgraph.pictures")
    page = folder.joinpath("picture_template.html").read_text(encoding="utf-8")
    script = folder.joinpath("picture.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": text(scene.title),
        "font": FONT,
        "script_hash": f"sha256-{digest}",
        "left_out": text(scene.left_out),
        "markers": markers(),
        "shapes": "\n".join(shapes(scene)),
        # Within a script element only "<" could end it.
        "data": orjson.dumps(_data(scene)).decode().replace("<", "\\u003c"),
        "script": script,
    }
    # One walk, so that nothing in a part is taken for the name of another.
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _data(scene: Scene) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "id": neutral(mark.id),
                "label": neutral(mark.label),
                "x": mark.x,
                "y": mark.y,
                "r": mark.radius,
                "group": mark.group,
                "importance": round(mark.importance, 3),
                "told": mark.facts.told,
                "description": neutral(mark.facts.description)[:DESCRIPTION],
            }
            for mark in scene.marks
        ],
        "edges": [
            {
                "kind": line.kind.value,
                "source": line.source,
                "target": line.target,
                "weight": line.weight,
                "label": neutral(line.label),
            }
            for line in scene.lines
        ],
        "groups": [
            {"name": neutral(group.name), "colour": group.colour, "count": group.count} for group in scene.groups
        ],
        "kinds": {
            kind.value: {
                "colour": EDGE_COLOURS[kind],
                "line": LINES.get(kind, "solid"),
                "names": {"legend": EDGE_NAMES[kind], "out": OUTGOING[kind], "in": INCOMING[kind]},
            }
            for kind in EDGE_NAMES
        },
    }
