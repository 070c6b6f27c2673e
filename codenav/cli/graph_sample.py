"""`codenav graph sample`: sub-graphs of a tool graph, and the requests that they solve."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.graph import graph_of, graph_options
from codenav.cli.options import base_url_option, counted, say, set_option

if TYPE_CHECKING:
    from codenav.toolgraph.back_instruction import BackInstruction


class Sizes(click.ParamType[range]):
    """A number of callables, `3`, or a range, `2..4`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """The numbers that are meant."""
        if isinstance(value, range):
            return value
        found = re.fullmatch(r"([1-5])(?:\.\.([1-5]))?", value.strip())
        least, most = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if least > most:
            self.fail(f"{value!r} is no number from 1 to 5, nor a range of them such as 2..4", param, ctx)
        return range(least, most + 1)


@click.command("sample")
@graph_options
@set_option
@click.option(
    "--kind",
    type=click.Choice(["node", "chain", "dag"]),
    default="chain",
    show_default=True,
    help="Shape of the sub-graphs.",
)
@click.option(
    "-n",
    "sizes",
    type=Sizes(),
    help="Callables in each: 1 to 5, or a range such as 2..4.  [default: 1 of kind node, else 2..5]",
)
@click.option(
    "--count", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Number of sub-graphs."
)
@click.option("--model", metavar="NAME", help="Model that writes the request that each solves, and rates it.")
@base_url_option
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same sub-graphs.")
def command(
    source: str | None,
    path: Path | None,
    python: str | None,
    kind: str,
    sizes: range | None,
    count: int,
    model: str | None,
    base_url: str | None,
    seed: int,
) -> None:
    """Draw different sub-graphs of a tool graph, as traces: one JSON object a line on stdout.

    A chain follows what is called next or takes a result, a dag takes results only, a node is a single callable.
    What was counted often, and what proved usable, is drawn first.

    With --model, a language model writes the request that each sub-graph solves, and rates it from 1 to 5 for
    naturalness, complexity and alignment. Sub-graphs that nobody would want are replaced by others.

    \b
    Examples:
      codenav graph sample --on pkg:networkx --kind chain -n 2..4 --count 20
      codenav graph sample --on openapi:shop.yaml --kind dag --model gpt-5 > requests.jsonl
    """
    from codenav.agents.models import open_model
    from codenav.core.config import load_config
    from codenav.core.errors import ModelFailed, UsageError
    from codenav.toolgraph.back_instruction import DRAWS, BackInstruction
    from codenav.toolgraph.callables import descriptions_of
    from codenav.toolgraph.sampling import Sampler, Shape

    shape = Shape(kind)
    sizes = sizes or (range(1, 2) if shape is Shape.NODE else range(2, 6))
    graph, name = graph_of(source, path, python)
    sampler = Sampler(graph, seed=seed)
    drawn = sampler.draw(shape, sizes)
    if model is None:
        made = shown = _print(trace.to_dict() for trace in itertools.islice(drawn, count))
    else:
        url = base_url or load_config().model.base_url
        opened = open_model(model, base_url=url, notice=lambda text: say(text, err=True))
        texts = descriptions_of(source, python=python) if source else {}
        writer = BackInstruction(opened, lambda id: texts.get(id) or graph.nodes[id].description)
        try:
            made = _print(one.to_dict() for one in writer.requests(drawn, count))
        finally:
            opened.close()
            shown = _tell(writer, model)
    what = f"{kind} of {sizes[0]}" + (f" to {sizes[-1]}" if len(sizes) > 1 else "") + " callables"
    if not shown:
        raise UsageError(
            f"the graph of {name} has no {what}", hint="another -n or --kind; or teach it: codenav graph learn"
        )
    if not made:
        raise ModelFailed(f"{model} wrote a request for none of {counted(shown, 'sub-graph')}", hint="another --model")
    if made < count:
        many = "five are shown to a model for each one, and no more"
        why = many if shown >= DRAWS * count else f"no other {what} was found in the graph"
        say(f"Note: {made} of {count}: {why}.", err=True)


def _print(documents: Iterable[dict[str, Any]]) -> int:
    """Print each as a line at once, so that what a model wrote is not lost with the rest. Return their number."""
    number = 0
    for document in documents:
        click.echo(json.dumps(document, ensure_ascii=False))
        number += 1
    return number


def _tell(writer: BackInstruction, model: str) -> int:
    """Tell what became of the sub-graphs that the model was shown. Return their number."""
    counts = writer.counts
    of_them = f"{counts.implausible} not plausible, {counts.unreadable} without a readable answer"
    say(f"{model} was shown {counted(counts.drawn, 'sub-graph')}: {of_them}. {counts.usage.tokens:,} tokens.", err=True)
    return counts.drawn
