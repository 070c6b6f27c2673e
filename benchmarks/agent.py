"""The agent with a small model: 100 plain requests, beside the model alone and smolagents with the same model.

    python benchmarks/agent.py --model gguf:FILE                              # all rows, the tuned half
    python benchmarks/agent.py --model gguf:FILE --rows small --half put-away # its totals, and nothing else of it
    python benchmarks/agent.py --model NAME --base-url URL [--key KEY]        # a server that runs already
    python benchmarks/agent.py … --rows small --kinds one,joined --only treys --verbose
    python benchmarks/agent.py … --row no-search:profile=small,CODENAV_SOMETHING=off
    python benchmarks/agent.py … --row mine:max_steps=3 --again               # asks again what was asked before
    python benchmarks/agent.py --print                                        # the tables, and asks nothing

40 requests of one call, 20 of some calls joined, 10 on files, 10 on the tools of a local service, and 20 on code that
no model has seen: a repository written for this, and two packages under other names. Once, the packages are installed
into a virtual environment in codenav's cache; then each request's own script runs there, and what it prints is the
right answer (`gold.json` shows them). Half of each kind is put away, drawn by the digests of the ids; nobody tunes on
it, and only its totals are told.

Each answer is a line of `benchmarks/results/agent/ROW.jsonl`: a run that was broken off goes on with the next request.
A row that is named by `--row NAME:key=value,…` runs `codenav run --set key=value …`, keys in capitals being environment
variables. Nothing is learned from one request to the next: records and tool graphs are removed, indexes stay.

`solved`: the right answer and no other one. `none`: no answer. `unwarned`: wrong, and at least two of three tries
agreed, or nothing was said about agreement. Seconds are whole processes, the index being there. smolagents counts as
solved also where the answer came after its step limit.

`agent_loop.py` measures the loop itself: its own time, runs that are killed, a store of many records.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import agent_setup
from agent_requests import NONE, PUT_AWAY, SOLVED, TUNED, WRONG, Request, half, read, score
from agent_rows import KEY, Model, Row, serving
from measure import machine

from codenav.evals.scores import wilson

RESULTS = Path(__file__).parent / "results" / "agent"
ROWS = {
    "alone": Row("alone"),
    "smolagents": Row("smolagents"),
    "full": Row("full", ("--set=profile=full",)),
    "small": Row("small", ("--set=profile=small",)),
}
KINDS = ("one", "joined", "files", "service", "unseen")


def digest(request: Request) -> str:
    """What an old answer must belong to if it is to count: the same request."""
    return hashlib.sha256(f"{request.id} {request.on} {request.text} {request.files}".encode()).hexdigest()[:12]


def warned(agreement: str) -> bool:
    """True if fewer than two of three tries gave the answer, or there was one only: codenav says "check it"."""
    same, _, tries = agreement.partition(" of ")
    return same.isdigit() and tries.isdigit() and (int(same) < 2 or 3 * int(same) < 2 * int(tries))


def known(row: str) -> dict[str, dict[str, Any]]:
    """The lines of a row, the newest of each request."""
    file = RESULTS / f"{row}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {line["digest"]: line for line in map(json.loads, lines)}


def asked(row: Row, requests: Sequence[Request], gold: dict[str, Any], model: Model, again: bool, tell: bool) -> None:
    """Ask what is not known yet, and write each answer down at once."""
    old = {} if again else known(row.name)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    ).stdout.strip()
    left = [request for request in requests if digest(request) not in old]
    RESULTS.mkdir(parents=True, exist_ok=True)
    for number, request in enumerate(left, 1):
        found = row.ask(request, model)
        line = {
            "row": row.name, "id": request.id, "digest": digest(request),
            "score": score(request, gold[request.id], found["answer"]), "warned": warned(found["agreement"]), **found,
            "model": model.name, "commit": commit,
        }  # fmt: skip
        with (RESULTS / f"{row.name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if tell:
            answer = f"{line['answer'] or line['reason']!s:.100}".replace("\n", "\\n")
            print(f"{row.name} {line['score']:<6} {line['seconds']:>6.1f} s  {request.id}: {answer}", flush=True)
        elif sys.stderr.isatty():
            print(f"\r{row.name} {number}/{len(left)} ", end="", file=sys.stderr, flush=True)


def table(rows: Iterable[str], requests: Sequence[Request], gold: dict[str, Any]) -> None:
    """Print a line for each row and kind."""
    print(
        f"{'row':<14}{'kind':<9}{'n':>4}" + "".join(f"{word:>20}" for word in (SOLVED, WRONG, "unwarned", NONE)), end=""
    )
    print(f"{'median s':>10}{'tokens':>8}{'first prompt':>14}")
    for row in rows:
        lines = known(row)
        for kinds in [*([kind] for kind in KINDS), KINDS]:
            found = [(one, lines[digest(one)]) for one in requests if one.kind in kinds and digest(one) in lines]
            if found and (len(kinds) == 1 or len({one.kind for one, _ in found}) > 1):
                print(_cells(row, "all" if len(kinds) > 1 else kinds[0], found, gold))


def _cells(row: str, kind: str, found: Sequence[tuple[Request, dict[str, Any]]], gold: dict[str, Any]) -> str:
    words = [score(request, gold[request.id], line["answer"]) for request, line in found]
    unwarned = sum(word == WRONG and not line["warned"] for word, (_, line) in zip(words, found, strict=True))
    counts = [words.count(SOLVED), words.count(WRONG), unwarned, words.count(NONE)]
    shares = [f"{count} {100 * count / len(found):.0f} % {_interval(count, len(found))}" for count in counts]
    seconds, tokens, prompts = ([line[key] for _, line in found] for key in ("seconds", "tokens", "prompt"))
    return (
        f"{row:<14}{kind:<9}{len(found):>4}" + "".join(f"{share:>20}" for share in shares)
        + f"{statistics.median(seconds):>10.1f}{statistics.median(tokens):>8.0f}"
        + f"{statistics.median(prompts):>8.0f} ≤{max(prompts):>4}"
    )  # fmt: skip


def _interval(count: int, trials: int) -> str:
    low, high = wilson(count, trials)
    return f"({low:.0f}–{high:.0f})"


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="gguf:FILE, or the name of a model on --base-url")
    parser.add_argument("--base-url", default="", help="a server that runs already")
    parser.add_argument("--key", default=KEY, help="its key")
    parser.add_argument("--rows", default="", help=f"of {','.join(ROWS)}; without --row all of them")
    parser.add_argument("--row", action="append", default=[], type=Row.parse, help="NAME:key=value,… of codenav run")
    parser.add_argument("--half", choices=[TUNED, PUT_AWAY], default=TUNED)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", metavar="TEXT", nargs="+", help="requests of the tuned half whose id holds it")
    parser.add_argument("--again", action="store_true", help="ask also what was asked before")
    parser.add_argument("--verbose", action="store_true", help="each answer of the tuned half")
    parser.add_argument("--print", action="store_true", help="what is known, and ask nothing")
    options = parser.parse_args()
    if options.half == PUT_AWAY and (options.only or options.verbose):
        parser.error("the half that is put away is told by its totals alone")
    if unknown := [name for name in options.rows.split(",") if name and name not in ROWS]:
        parser.error(f"unknown row {unknown[0]}: one of {', '.join(ROWS)}, or --row NAME:key=value")
    named = [ROWS[name] for name in options.rows.split(",") if name] + options.row
    more = [Row(file.stem) for file in sorted(RESULTS.glob("*.jsonl")) if options.print and file.stem not in ROWS]
    rows = named or [*ROWS.values(), *more]
    everything = read()
    requests = [
        one
        for one in half(everything, options.half)
        if one.kind in options.kinds.split(",") and (not options.only or any(text in one.id for text in options.only))
    ]
    if not requests:
        sys.exit(f"no request of the half {options.half} is like that")
    gold = agent_setup.prepare(
        everything, smolagents=not options.print and any(row.name == "smolagents" for row in rows)
    )
    if not options.print:
        # So that what it started ends with it.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if not options.model:
            parser.error("--model is missing")
        print(machine(), flush=True)
        model = Model(options.model, options.base_url, options.key)
        for rivals in (True, False):
            chosen = [row for row in rows if row.rival == rivals]
            with serving(model) if rivals and chosen else contextlib.nullcontext(model) as served:
                for row in chosen:
                    asked(row, requests, gold, served, options.again, options.verbose)
    table([row.name for row in rows], requests, gold)


if __name__ == "__main__":
    main()
