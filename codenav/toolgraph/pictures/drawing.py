"""A picture of a tool graph as SVG, and as one HTML page with zoom and search that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files

import orjson

from codenav.toolgraph.pictures.scene import LOOKS, Line, Look, Mark, Scene, cut, labels_of
from codenav.toolgraph.showing import RELATIONS

MARGIN = 24.0
LEGEND = 250.0
"""Pixels of the legend, right of the graph."""
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


def svg(scene: Scene) -> str:
    """The picture as an SVG document: title, graph, legend. It refers to nothing outside."""
    width = scene.width + LEGEND + 3 * MARGIN
    height = max(scene.height + 3 * MARGIN + 24, 120 + 20 * (len(scene.groups) + len(LOOKS)))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{FONT}" font-size="11">',
        f"<title>{text(scene.title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        markers(),
        f'<text x="{MARGIN}" y="{MARGIN + 4}" font-size="16" font-weight="600" fill="#1d2733">'
        f"{text(scene.title)}</text>",
        f'<g transform="translate({MARGIN} {2 * MARGIN + 8})">',
        *shapes(scene),
        *_labels(scene),
        "</g>",
        f'<g transform="translate({scene.width + 2 * MARGIN:.0f} {2 * MARGIN + 8})" fill="#1d2733">',
        *_legend(scene),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def markers() -> str:
    """The arrow heads, one for each kind of edge."""
    heads = "".join(
        f'<marker id="head-{kind.value}" viewBox="0 0 6 6" refX="5.2" refY="3" markerWidth="7" markerHeight="7" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L6 3L0 6z" fill="{look.colour}"/></marker>'
        for kind, look in LOOKS.items()
    )
    return f"<defs>{heads}</defs>"


def shapes(scene: Scene) -> Iterator[str]:
    """The edges and the nodes, without labels. `data-n` of a node and `data-e` of an edge are their places."""
    yield '<g class="edges" fill="none">'
    for number, line in enumerate(scene.lines):
        yield (
            f'<path data-e="{number}" d="{_path(scene, line)}" {_stroke(LOOKS[line.kind])} '
            f'stroke-width="{line.width:.1f}" stroke-opacity="{0.25 + 0.45 * line.weight:.2f}" '
            f'marker-end="url(#head-{line.kind.value})"/>'
        )
    yield "</g>"
    yield '<g class="nodes" stroke="#ffffff" stroke-width="1.2">'
    for number, mark in enumerate(scene.marks):
        yield _shape(number, mark, scene.groups[mark.group].colour)
    yield "</g>"


def _shape(number: int, mark: Mark, colour: str) -> str:
    title = f"<title>{text(mark.id)}: {text(mark.facts)}</title>"
    if mark.square:
        side = 2 * mark.radius
        return (
            f'<rect data-n="{number}" x="{mark.x - mark.radius:.1f}" y="{mark.y - mark.radius:.1f}" width="{side:.1f}" '
            f'height="{side:.1f}" rx="3" fill="{colour}">{title}</rect>'
        )
    return f'<circle data-n="{number}" cx="{mark.x}" cy="{mark.y}" r="{mark.radius}" fill="{colour}">{title}</circle>'


def _stroke(look: Look) -> str:
    return f'stroke="{look.colour}"' + (f' stroke-dasharray="{look.dashes}"' if look.dashes else "")


def _path(scene: Scene, line: Line) -> str:
    """The curve of an edge, from rim to rim: bent to its left, so that there and back differ."""
    one, other = scene.marks[line.source], scene.marks[line.target]
    if line.source == line.target:
        # A loop above the node.
        side, above = one.radius * 0.6, one.y - one.radius * 0.8
        start, control, end = (one.x - side, above), (one.x, one.y - one.radius - 26), (one.x + side, above)
    else:
        x, y = other.x - one.x, other.y - one.y
        bend = 0.12
        control = ((one.x + other.x) / 2 + y * bend, (one.y + other.y) / 2 - x * bend)
        start = _towards((one.x, one.y), control, one.radius)
        end = _towards((other.x, other.y), control, min(other.radius + 1.5, (math.hypot(x, y) or 1.0) / 2))
    return f"M{start[0]:.1f} {start[1]:.1f}Q{control[0]:.1f} {control[1]:.1f} {end[0]:.1f} {end[1]:.1f}"


def _towards(point: tuple[float, float], other: tuple[float, float], by: float) -> tuple[float, float]:
    x, y = other[0] - point[0], other[1] - point[1]
    length = math.hypot(x, y) or 1.0
    return point[0] + x / length * by, point[1] + y / length * by


def _labels(scene: Scene) -> Iterator[str]:
    yield (
        '<g fill="#1d2733" stroke="#ffffff" stroke-width="2.5" stroke-linejoin="round" paint-order="stroke" '
        'dominant-baseline="central">'
    )
    for number, left, middle in labels_of(scene):
        yield f'<text x="{left:.1f}" y="{middle:.1f}">{text(scene.marks[number].label)}</text>'
    yield "</g>"


def _legend(scene: Scene) -> Iterator[str]:
    row = 0
    for group in scene.groups:
        yield f'<circle cx="7" cy="{row}" r="6" fill="{group.colour}"/>'
        yield f'<text x="20" y="{row + 4}">{text(cut(group.name, 34))} ({group.count})</text>'
        row += 20
    row += 12
    present = {line.kind for line in scene.lines}
    for kind, look in LOOKS.items():
        if kind in present:
            yield f'<path d="M0 {row}h16" {_stroke(look)} stroke-width="2.4"/>'
            yield f'<text x="24" y="{row + 4}">{look.name}</text>'
            row += 20
    if present:
        yield f'<text x="0" y="{row + 4}" fill="#5b6673">wider: heavier; larger: used more</text>'
        row += 18
    if scene.left_out:
        yield f'<text x="0" y="{row + 4}" fill="#5b6673">{text(scene.left_out)}</text>'


def html(scene: Scene) -> str:
    """The page: the picture, its data, and the script that moves it. No other script may run in it."""
    folder = files("codenav.toolgraph.pictures")
    page = folder.joinpath("picture_template.html").read_text(encoding="utf-8")
    script = folder.joinpath("picture.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    kinds = {
        kind.value: {
            "colour": look.colour,
            "line": look.style,
            "names": {"legend": look.name, "out": RELATIONS[kind][0], "in": RELATIONS[kind][1]},
        }
        for kind, look in LOOKS.items()
    }
    data = {"nodes": scene.marks, "edges": scene.lines, "groups": scene.groups, "kinds": kinds}
    parts = {
        "title": text(scene.title),
        "font": FONT,
        "script_hash": f"sha256-{digest}",
        "left_out": text(scene.left_out),
        "markers": markers(),
        "shapes": "\n".join(shapes(scene)),
        # Within a script element only "<" could end it.
        "data": orjson.dumps(data).decode().replace("<", "\\u003c"),
        "script": script,
    }
    # One walk, so that nothing in a part is taken for the name of another.
    pieces = page.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def text(value: str) -> str:
    """Text of a scene for XML: no character that XML forbids, and no tag."""
    return escape(value.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))
