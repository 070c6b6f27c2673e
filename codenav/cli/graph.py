"""`codenav graph`: what is called after what, and whose result goes into which call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import counted, joined, json_option, one_line, print_json, python_option, reading_options, say
from codenav.core.errors import NotFound, StorageFull, UsageError

if TYPE_CHECKING:
    from codenav.toolgraph.graph import ToolGraph

ENDINGS = (".html", ".svg")


@click.group("graph", cls=LazyGroup, modules={"sample": "graph_sample"})
def command() -> None:
    """Learn, show, draw and sample tool graphs: what is called after what, whose result goes into which call.

    \b
    Examples:
      codenav graph learn --on pkg:networkx
      codenav graph show --on pkg:networkx
      codenav graph show shop.create_order --on openapi:shop.yaml
      codenav graph show --on pkg:networkx --out networkx.html
      codenav graph sample --on pkg:networkx --kind chain -n 2..4
    """


graph_options = joined(
    click.option(
        "--on", "source", metavar="SOURCE", shell_complete=completing.sources, help="Source whose graph is meant."
    ),
    click.option(
        "--graph",
        "path",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File with a graph: JSON that codenav wrote, or actions and tools by hand, in YAML.",
    ),
    python_option,
)
"""The options that name a graph: the arguments of `graph_of`."""


@command.command("learn")
@click.option(
    "--from",
    "given",
    multiple=True,
    metavar="FILE|SOURCE|episodes",
    help="Traces in a file that ends in .jsonl or .json, the code of a source, or the episodes on this machine;"
    " repeatable. Without it, the code of the --on SOURCE itself.",
)
@click.option(
    "--on", "source", required=True, metavar="SOURCE", shell_complete=completing.sources,
    help="Source whose graph learns, as for `codenav index`.",
)  # fmt: skip
@click.option(
    "--forget",
    "forgetting",
    is_flag=True,
    help="Take the same out again: traces, episodes, or what was read from code.",
)
@reading_options
@json_option
def learn(given: tuple[str, ...], source: str, forgetting: bool, as_json: bool, **options: Any) -> None:
    """Teach the graph of a source what is called after what, and whose result goes into which call.

    Traces and episodes count once, however often they are learnt. What was read from code is replaced by what is read
    now: tests, examples, documentation and specifications.

    \b
    Examples:
      codenav graph learn --on pkg:networkx
      codenav graph learn --on pkg:networkx --from ./my-notebooks
      codenav graph learn --on openapi:shop.json --from traces.jsonl
      codenav graph learn --on openapi:shop.json --from episodes
    """
    from codenav.cli.display import opening, print_unknown, printing_few
    from codenav.toolgraph.teaching import teach

    with printing_few() as tell, opening([source], options) as keywords:
        taught = teach(source, given, forgetting=forgetting, tell=tell, **keywords)
    if as_json:
        print_json(taught.to_dict())
        return
    print_unknown(taught.unknown, taught.source)
    for line in _lines(taught):
        say(line)


def _lines(taught: Any) -> list[str]:
    found = []
    if taught.tests or taught.examples or taught.docs or taught.specs:
        parts = [counted(getattr(taught, field), what) for field, what in _READ.items() if getattr(taught, field)]
        found.append(f"read {', '.join(parts)}")
    if taught.traces or taught.again or taught.empty:
        new = f"learnt {counted(taught.traces, 'trace')}"
        new += f", {taught.unverified} of them not verified" if taught.unverified else ""
        new += f"; {taught.again} were known" if taught.again else ""
        new += f"; {counted(taught.empty, 'trace')} without a call of {taught.source}" if taught.empty else ""
        found.append(new)
    if taught.forgotten:
        found.append(f"forgot {counted(taught.forgotten, 'trace')}")
    found.append(
        f"the graph of {taught.source} has {counted(taught.nodes, 'node')} and {counted(taught.edges, 'edge')}"
    )
    return found


_READ = {"tests": "test", "examples": "example", "docs": "documented example", "specs": "specified flow"}


@command.command("show")
@click.argument("name", default="")
@graph_options
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Most edges of one relation, or most nodes.",
)
@click.option(
    "--out",
    metavar="FILE.html|.svg",
    type=click.Path(path_type=Path),
    help="Draw a picture instead; the ending names the format.",
)
@click.option(
    "--hops", type=click.IntRange(min=1), metavar="N", help="Most edges between NAME and what is drawn.  [default: 1]"
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
def show(
    name: str,
    source: str | None,
    path: Path | None,
    python: str | None,
    limit: int,
    out: Path | None,
    hops: int | None,
    nodes: int,
    as_json: bool,
) -> None:
    """Print the size of a tool graph, or the node NAME: how usable it proved, and its edges with their weights.

    The end of a name, or the public name, will do. With --out the graph, or what is near NAME, is drawn.

    \b
    Examples:
      codenav graph show --on pkg:networkx
      codenav graph show create_order --on openapi:shop.yaml
      codenav graph show order --graph actions.yaml
      codenav graph show create_order --on openapi:shop.yaml --hops 2 --out order.svg
    """
    if hops is not None and not (name and out):
        raise click.UsageError("--hops goes with NAME and --out FILE.")
    if out is not None:
        _check_place(out)
    graph, title = graph_of(source, path, python)
    node = node_of(graph, name, source, python)
    if out is not None:
        _draw(graph, f"{title}: around {node}" if node else title, node, hops or 1, nodes, out, as_json)
        return
    from codenav.toolgraph.showing import show

    shown = show(graph, node, limit=limit)
    if as_json:
        print_json(shown.to_dict())
        return
    for line in shown.lines():
        say(one_line(line))


def _check_place(out: Path) -> None:
    """Check where a picture should go. Raises UsageError, NotFound."""
    if out.is_dir():
        raise UsageError(f"{out} is a folder", hint="name a file")
    if out.suffix.lower() == ".png":
        raise UsageError(
            "no PNG is drawn", hint=f"--out {out.with_suffix('.svg')}: a browser or rsvg-convert makes one of it"
        )
    if out.suffix.lower() not in ENDINGS:
        raise UsageError(f"--out: {out.name} is no picture", hint=f"a name that ends in {', '.join(ENDINGS)}")
    if not out.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {out.absolute().parent}", hint="make it, or name another file")


def _draw(graph: ToolGraph, title: str, around: str, hops: int, most: int, out: Path, as_json: bool) -> None:
    from codenav.core.system.atomic_files import write_whole
    from codenav.toolgraph.pictures import drawing
    from codenav.toolgraph.pictures.scene import scene_of

    scene = scene_of(graph, title, around=around, hops=hops, most=most)
    data = (drawing.html if out.suffix.lower() == ".html" else drawing.svg)(scene).encode()
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


def graph_of(source: str | None, path: Path | None, python: str | None) -> tuple[ToolGraph, str]:
    """The graph that the options name, and a name for it.

    Raises:
        UsageError: neither or both are named, or what is there is no graph.
        NotFound: there is no such source or file, or the source has no graph.
    """
    if (source is None) == (path is None):
        raise UsageError("name one graph", hint="--on SOURCE for the one of a source, or --graph FILE")
    if path is not None:
        from codenav.toolgraph import storage

        return storage.read(path), path.stem
    from codenav.core.config import load_config
    from codenav.core.system.interpreter import find_interpreter
    from codenav.indexers.sources import key_of
    from codenav.toolgraph.folders import GraphFolder, graphs_dir

    assert source is not None
    key = key_of(source, find_interpreter(python or load_config().sandbox.python))
    folder = GraphFolder(graphs_dir() / key)
    if not folder.file.exists():
        raise NotFound(f"{source} has no tool graph", hint=f"codenav graph learn --on {source}")
    return folder.read().graph, source


def node_of(graph: ToolGraph, name: str, source: str | None, python: str | None) -> str:
    """The id of a node that is named as for `codenav show`; else the name itself.

    Only the graph of a source has the code beside it that such a name leads to.
    """
    if not name or source is None or any(f".{id}".endswith(f".{name}") for id in graph.nodes):
        return name
    from codenav.core.errors import CodeNavError
    from codenav.core.traces import callable_name
    from codenav.navigation import verbs

    try:
        found = verbs.show(name, on=source, python=python)
    except CodeNavError:
        return name
    return callable_name(found[0]) or name
