"""`codenav train-retriever`: train what finds callables by meaning, on requests and what answered them."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from codenav.cli.options import base_url_option, counted, json_option, on_option, print_json, reading_options, say


@click.command("train-retriever")
@click.option(
    "--from", "learn_from", required=True, metavar="episodes|FILE|docstrings",
    help="What is learnt from: the verified episodes on this machine, a file of traces, or the first lines of "
    "docstrings, where nobody has asked for anything yet.",
)  # fmt: skip
@on_option()
@click.option("--out", required=True, metavar="DIR", help="Directory of the retriever; an older one is replaced.")
@click.option(
    "--base",
    metavar="DIR",
    help="Tune the encoder in this directory of sentence-transformers, instead of the vectors that codenav ships: "
    "slower by far. It needs the extra train.",
)
@click.option(
    "--negatives",
    metavar="MODEL",
    help="Model that describes callables which only look like those that were called: three of each, for 200 at most.",
)
@base_url_option
@click.option(
    "--epochs",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="Times that each request is seen; 0 means 10, or fewer for many requests; 2 with --base.  [default: 0]",
)
@reading_options
@json_option
def command(
    learn_from: str,
    sources: tuple[str, ...],
    out: str,
    base: str | None,
    negatives: str | None,
    base_url: str | None,
    epochs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a retriever, without a GPU or further packages. Searches use it with --embeddings DIR.

    Some of the requests are held out. The retriever is written only if these are answered better with it than without
    it; with docstrings these are first lines of docstrings themselves, which says little about requests of people. Only
    this command trains: repeat it when there are new episodes.

    \b
    Examples:
      codenav train-retriever --from episodes --on openapi:shop.json --out ./retriever
      codenav train-retriever --from traces.jsonl --on openapi:shop.json --out ./retriever --json
      codenav train-retriever --from docstrings --on pkg:networkx --out ./retriever
      codenav search --request 'Mugs in stock?' --on openapi:shop.json --embeddings ./retriever
    """
    from codenav.agents.models import open_model
    from codenav.cli.display import notice, opening, print_unknown, printing_few
    from codenav.toolgraph.retrievers import train_retriever

    model = open_model(negatives, base_url=base_url or "", notice=notice) if negatives else None
    try:
        with printing_few() as tell, opening(sources, options) as keywords:
            trained = train_retriever(
                sources, learn_from, out, base=base, epochs=epochs, negatives=model, tell=tell,
                done=partial(keywords["progress"].share, "Training"), **keywords,
            )  # fmt: skip
    finally:
        if model is not None:
            model.close()
    if as_json:
        print_json(trained.to_dict())
        return
    print_unknown(trained.unknown, ", ".join(trained.sources))
    learnt = f"trained on {counted(trained.requests, 'request')} for {counted(trained.callables, 'callable')}"
    learnt += f", with {counted(trained.lures, 'negative')} of {negatives}" if trained.lures else ""
    learnt += f", in {trained.seconds:.1f} s"
    left = [(trained.unverified, "not verified"), (trained.empty, "without a request or a known call")]
    learnt += "".join(f"; {number} {why}" for number, why in left if number)
    say(learnt)
    own = trained.weights is None
    judged_on = "first lines of the docstrings themselves, not requests" if own else "requests"
    for name, before in trained.before.items():
        after = trained.after[name]
        say(f"{name:<10} {before:5.1f} before, {after:5.1f} after, on {trained.held_out} held-out {judged_on}")
    if trained.weights:
        say("weights    " + ", ".join(f"{name} {value:.2f}" for name, value in trained.weights.items()))
    say(f"use it with --embeddings {out}")
