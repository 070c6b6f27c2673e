"""The options of what chooses and orders: encoders, a rerank service, and the rewriting of requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import click

from codenav.cli.options import Seconds, default_of, long_option, with_options
from codenav.cli.sections import section
from codenav.core.tool_selection import FAILURES, SelectionKeywords, ToolSelection

_ENCODER = section(
    "Ranking",
    click.option(
        "--embeddings",
        metavar="DIR|URL",
        help="Encoder for meaning: a directory of sentence-transformers or of codenav train-retriever, or a server "
        "with /v1/embeddings.  [default: none]",
    ),
    click.option("--embeddings-model", metavar="NAME", help="Model of that server.  [default: the only one it lists]"),
    click.option(
        "--embeddings-dimensions",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Numbers of a vector; 0 leaves them to the model.  {default_of('embeddings_dimensions')}",
    ),
)
_RERANK = section(
    "Rerank service",
    click.option(
        *long_option(ToolSelection, "rerank_url"),
        metavar="URL",
        help="Rerank service that orders the first hits again. Its key: CODENAV_RERANK_API_KEY.  [default: none]",
    ),
    click.option("--rerank-model", metavar="NAME", help="Model of that service.  [default: its own]"),
    click.option(
        "--rerank-seconds",
        type=Seconds(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Time limit for ordering one list of hits.  {default_of('rerank_seconds')}",
    ),
    click.option(
        "--rerank-trigger",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Least number of hits for which the service is asked.  {default_of('rerank_trigger')}",
    ),
    click.option(
        "--rerank-top",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Most hits that it puts first; 0 is no limit.  {default_of('rerank_top')}",
    ),
    click.option(
        "--rerank-percent",
        type=click.FloatRange(min=0, max=100, min_open=True),
        metavar="PERCENT",
        help=f"Most hits that it puts first, in per cent.  {default_of('rerank_percent')}",
    ),
    click.option(
        "--rerank-threshold",
        type=float,
        metavar="SCORE",
        help=f"Score below which it puts none first; 0 is off.  {default_of('rerank_threshold')}",
    ),
    click.option(
        "--rerank-failure",
        type=click.Choice(FAILURES),
        help=f"If it fails: keep the order, or end with an error.  {default_of('rerank_failure')}",
    ),
)
_REWRITING = section(
    "Rewriting of requests",
    click.option(
        "--rewrite",
        metavar="MODEL",
        help="Model that writes a request anew from the last turns before hits are ranked by it.  [default: none]",
    ),
    click.option(
        "--rewrite-trigger",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Turns above which the model is asked; 0 is no condition.  {default_of('rewrite_trigger')}",
    ),
    click.option(
        "--rewrite-turns",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Last turns that it sees; 0 means all.  {default_of('rewrite_turns')}",
    ),
    click.option(
        "--rewrite-tokens",
        type=click.IntRange(min=16),
        metavar="N",
        help=f"Most tokens that it may write.  {default_of('rewrite_tokens')}",
    ),
    click.option("--rewrite-prompt", metavar="FILE", help="Prompt in place of the built-in one."),
    click.option(
        "--rewrite-failure",
        type=click.Choice(FAILURES),
        help=f"If it fails: take the request as it is, or end with an error.  {default_of('rewrite_failure')}",
    ),
)


def searching_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a search by services. Their values are keywords of `ToolSelection`: see `selection_of`."""
    return with_options((_ENCODER, _RERANK), command)


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of `ToolSelection` but the keys of servers, which ps would show."""
    return with_options((_ENCODER, _RERANK, _REWRITING), command)


def selection_of(options: dict[str, Any]) -> SelectionKeywords:
    """Remove these options from a command's options, and return them as keywords."""
    known = SelectionKeywords.__annotations__
    return cast(SelectionKeywords, {name: options.pop(name) for name in list(options) if name in known})
