"""A picture of a tool graph as PNG, drawn with matplotlib."""

from __future__ import annotations

import io
import warnings
from typing import Any

from codenav.core.errors import MissingExtra
from codenav.core.system.terminal_text import neutral
from codenav.toolgraph.pictures.scene import EDGE_COLOURS, LABEL, Scene, cut, labels_of
from codenav.toolgraph.pictures.svg import EDGE_NAMES, MARGIN, curve_of

DOTS = 100
"""Dots per inch: a pixel of the scene is `ZOOM` dots."""
ZOOM = 1.5
LEGEND = 270.0
INK, SOFT = "#1d2733", "#5b6673"
DASHES = {"resource": (0, (4, 2)), "weak_resource": (0, (1, 1.5)), "substitute": (0, (1, 3))}


def png(scene: Scene) -> bytes:
    """The picture, as `picture_svg.svg` draws it.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib, which draws PNG,", "pictures") from error
    from matplotlib import patheffects
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path

    width, height = scene.width + LEGEND + 2 * MARGIN, max(scene.height + 3 * MARGIN, 24.0 * (len(scene.groups) + 9))
    points = 72 / DOTS * ZOOM
    figure = Figure(figsize=(width * ZOOM / DOTS, height * ZOOM / DOTS), dpi=DOTS, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), frameon=False)
    axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - 2 * MARGIN, -2 * MARGIN), xticks=(), yticks=())
    for line in scene.lines:
        curve = Path(curve_of(scene, line), [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        axes.add_patch(
            FancyArrowPatch(
                path=curve, arrowstyle="-|>", mutation_scale=7 * points, linewidth=line.width * points, zorder=1,
                color=EDGE_COLOURS[line.kind], alpha=0.25 + 0.45 * line.weight, shrinkA=0, shrinkB=0,
                linestyle=DASHES.get(line.kind.value, "solid"), capstyle="butt", joinstyle="miter",
            )
        )  # fmt: skip
    for mark in scene.marks:
        side = 2 * mark.radius
        shape = (
            FancyBboxPatch((mark.x - side / 2, mark.y - side / 2), side, side, boxstyle="round,pad=0,rounding_size=3")
            if mark.square
            else Circle((mark.x, mark.y), mark.radius)
        )
        shape.set(facecolor=scene.groups[mark.group].colour, edgecolor="white", linewidth=1.2 * points, zorder=2)
        axes.add_patch(shape)
    halo = [patheffects.withStroke(linewidth=2.5 * points, foreground="white")]
    size = LABEL * points
    plain: dict[str, Any] = {"fontsize": size, "color": INK, "va": "center", "parse_math": False, "zorder": 3}
    for number, left, middle in labels_of(scene):
        axes.text(left, middle, neutral(scene.marks[number].label), path_effects=halo, **plain)
    axes.text(0, -MARGIN, neutral(scene.title), fontsize=16 * points, weight="bold", color=INK, parse_math=False)
    handles = [
        Line2D([], [], linestyle="", marker="o", color=group.colour, markersize=12 * points,
               label=f"{neutral(cut(group.name, 34))} ({group.count})".lstrip("_"))
        for group in scene.groups
    ]  # fmt: skip
    present = {line.kind for line in scene.lines}
    handles += [
        Line2D([], [], color=EDGE_COLOURS[kind], linewidth=2.4 * points, label=name,
               linestyle=DASHES.get(kind.value, "solid"))
        for kind, name in EDGE_NAMES.items() if kind in present
    ]  # fmt: skip
    told = "\n".join(filter(None, ("wider: heavier; larger: used more", scene.left_out)))
    legend = axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(scene.width + MARGIN, 0), frameon=False, fontsize=size,
        bbox_transform=axes.transData, borderaxespad=0, labelcolor=INK, title=told, title_fontsize=size,
        alignment="left",
    )  # fmt: skip
    legend.get_title().set(color=SOFT, parse_math=False)
    for label in legend.get_texts():
        label.set_parse_math(False)
    data = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that the font has not are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(data, format="png", dpi=DOTS)
    return data.getvalue()
