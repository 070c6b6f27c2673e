"""A picture of a tool graph as SVG, complete in itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from codenav.core.system.terminal_text import neutral
from codenav.toolgraph.nodes import EdgeKind
from codenav.toolgraph.pictures.scene import EDGE_COLOURS, Line, Mark, Scene, cut, labels_of

MARGIN = 24.0
LEGEND = 250.0
"""Pixels of the legend, right of the graph."""
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
EDGE_NAMES = {
    EdgeKind.NEXT: "called after",
    EdgeKind.RESOURCE: "only it gives",
    EdgeKind.WEAK_RESOURCE: "gives, as others do",
    EdgeKind.CALL: "action calls",
    EdgeKind.SUBSTITUTE: "can replace",
}
DASHES = {EdgeKind.RESOURCE: "6 3", EdgeKind.WEAK_RESOURCE: "2 3", EdgeKind.SUBSTITUTE: "1 3"}


def svg(scene: Scene) -> str:
    """The picture as an SVG document: title, graph, legend. It refers to nothing outside."""
    width = scene.width + LEGEND + 3 * MARGIN
    height = max(scene.height + 3 * MARGIN + 24, 120 + 20 * (len(scene.groups) + len(EDGE_NAMES)))
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
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L6 3L0 6z" fill="{colour}"/></marker>'
        for kind, colour in EDGE_COLOURS.items()
    )
    return f"<defs>{heads}</defs>"


def shapes(scene: Scene) -> Iterator[str]:
    """The edges and the nodes, without labels. `data-n` of a node and `data-e` of an edge are their places."""
    yield '<g class="edges" fill="none">'
    for number, line in enumerate(scene.lines):
        dash = f' stroke-dasharray="{DASHES[line.kind]}"' if line.kind in DASHES else ""
        yield (
            f'<path data-e="{number}" d="{path_of(scene, line)}" stroke="{EDGE_COLOURS[line.kind]}" '
            f'stroke-width="{line.width:.1f}" stroke-opacity="{0.25 + 0.45 * line.weight:.2f}"{dash} '
            f'marker-end="url(#head-{line.kind.value})"/>'
        )
    yield "</g>"
    yield '<g class="nodes" stroke="#ffffff" stroke-width="1.2">'
    for number, mark in enumerate(scene.marks):
        yield _shape(number, mark, scene.groups[mark.group].colour)
    yield "</g>"


def _shape(number: int, mark: Mark, colour: str) -> str:
    title = f"<title>{text(mark.id)}: {text(mark.facts.told)}</title>"
    if mark.square:
        side = 2 * mark.radius
        return (
            f'<rect data-n="{number}" x="{mark.x - mark.radius:.1f}" y="{mark.y - mark.radius:.1f}" width="{side:.1f}" '
            f'height="{side:.1f}" rx="3" fill="{colour}">{title}</rect>'
        )
    return f'<circle data-n="{number}" cx="{mark.x}" cy="{mark.y}" r="{mark.radius}" fill="{colour}">{title}</circle>'


def curve_of(scene: Scene, line: Line) -> tuple[tuple[float, float], ...]:
    """Start, control point and end of an edge, from rim to rim: bent to its left, so that there and back differ."""
    one, other = scene.marks[line.source], scene.marks[line.target]
    if line.source == line.target:
        # A loop above the node.
        return (
            (one.x - one.radius * 0.6, one.y - one.radius * 0.8),
            (one.x, one.y - one.radius - 26),
            (one.x + one.radius * 0.6, one.y - one.radius * 0.8),
        )
    x, y = other.x - one.x, other.y - one.y
    length = math.hypot(x, y) or 1.0
    bend = 0.12
    control = ((one.x + other.x) / 2 + y * bend, (one.y + other.y) / 2 - x * bend)
    start = _towards((one.x, one.y), control, one.radius)
    end = _towards((other.x, other.y), control, min(other.radius + 1.5, length / 2))
    return start, control, end


def path_of(scene: Scene, line: Line) -> str:
    """The curve of an edge as an SVG path."""
    (x, y), (bend_x, bend_y), (to_x, to_y) = curve_of(scene, line)
    return f"M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}"


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
    for kind, name in EDGE_NAMES.items():
        if kind in present:
            dash = f' stroke-dasharray="{DASHES[kind]}"' if kind in DASHES else ""
            yield f'<path d="M0 {row}h16" stroke="{EDGE_COLOURS[kind]}" stroke-width="2.4"{dash}/>'
            yield f'<text x="24" y="{row + 4}">{name}</text>'
            row += 20
    if present:
        yield f'<text x="0" y="{row + 4}" fill="#5b6673">wider: heavier; larger: used more</text>'
        row += 18
    if scene.left_out:
        yield f'<text x="0" y="{row + 4}" fill="#5b6673">{text(scene.left_out)}</text>'


def text(value: str) -> str:
    """Text from outside for XML: no character that XML forbids, and no tag."""
    return escape(neutral(value).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))
