"""`codenav graph draw`: a picture of a tool graph."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.graph_files import graph_of, graph_options, node_of
from codenav.cli.options import counted, json_option, print_json, say
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole

ENDINGS = (".html", ".svg")


@click.command("draw")
@graph_options
@click.option(
    "--out",
    metavar="FILE.html|.svg",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write; its ending names the format.",
)
@click.option("--around", default="", metavar="NAME", help="Draw this node with what is near it.")
@click.option(
    "--hops",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --around: most edges between NAME and what is drawn.  [default: 1]",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1, max=2000),
    default=500,
    show_default=True,
    metavar="N",
    help="Most nodes to draw: those that are used most.",
)
@json_option
def command(
    source: str | None,
    path: Path | None,
    python: str | None,
    out: Path,
    around: str,
    hops: int | None,
    nodes: int,
    as_json: bool,
) -> None:
    """Draw a tool graph: groups have colours, heavier edges are wider, what is used more is larger.

    An HTML page has zoom, search and the edges of each node, and needs no network.

    \b
    Examples:
      codenav graph draw --on pkg:networkx --out networkx.html
      codenav graph draw --on openapi:shop.yaml --around create_order --hops 2 --out order.svg
    """
    if hops is not None and not around:
        raise click.UsageError("--hops goes with --around NAME.")
    from codenav.toolgraph.pictures import drawing
    from codenav.toolgraph.pictures.scene import scene_of

    ending = out.suffix.lower()
    if out.is_dir():
        raise UsageError(f"{out} is a folder", hint="name a file")
    if ending == ".png":
        raise UsageError(
            "no PNG is drawn", hint=f"--out {out.with_suffix('.svg')}: a browser or rsvg-convert makes one of it"
        )
    if ending not in ENDINGS:
        raise UsageError(f"--out: {out.name} is no picture", hint=f"a name that ends in {', '.join(ENDINGS)}")
    if not out.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {out.absolute().parent}", hint="make it, or name another file")
    graph, name = graph_of(source, path, python)
    around = node_of(graph, around, source, python)
    title = f"{name}: around {around}" if around else name
    scene = scene_of(graph, title, around=around, hops=hops or 1, most=nodes)
    data = (drawing.html if ending == ".html" else drawing.svg)(scene).encode()
    try:
        write_whole(out, data)
    except OSError as error:
        raise StorageFull(f"cannot write {out}: {error.strerror}", hint="name another file with --out") from error
    if as_json:
        print_json(
            {
                "file": str(out.absolute()),
                "nodes": len(scene.marks),
                "edges": len(scene.lines),
                "bytes": len(data),
                "left_out": scene.left_out,
            }
        )
        return
    say(f"{out}: {counted(len(scene.marks), 'node')}, {counted(len(scene.lines), 'edge')}")
    if scene.left_out:
        say(scene.left_out, err=True)
