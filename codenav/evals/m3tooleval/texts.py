"""The texts that the agent is given about M3ToolEval: descriptions of the library or of all tools, and guidelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codenav.evals.m3tooleval.adapt import BROWSER, PACKAGE, file_of, module_of
from codenav.evals.m3tooleval.upstream import Domain, Tool
from codenav.evals.task import Mode

LEVELS = ("none", "names", "descriptions", "prototypes", "library")
"""Levels of the description in code-use; anything else is the path of a file."""

LINES: Mapping[str, str] = {
    "message_decoder": "turns hexadecimal into text, reverses texts, undoes a Caesar cipher, and finds the length of "
    "a text and the smallest or largest of some values",
    "dna_sequencer": "counts nucleotides, checks DNA, and converts between DNA, mRNA and amino acids",
    "trade_calculator": "converts prices, computes tariffs and final trade values, and evaluates expressions",
    "travel_itinerary_planning": "finds flights and hotels, and adds up what a trip costs",
    "web_browsing": f"a `{BROWSER}` for the pages of a shop of magical goods and its staff, and a calculator",
}
"""One line on each file, by upstream's module."""

_ONE_FILE = f"The library `{PACKAGE}` has these files. The tools for a request are all in one of them:"

_SEARCH_GUIDELINE = "Find the file for the request first, then search inside it: (file_path: *{file})."
_GUIDELINES = (
    f"Browse with a `{BROWSER}` object, made without arguments. Take one action at a time, a click or a scroll: print "
    "what it returns and read it before the next. Write no loops and no clever code for browsing.",
    "A page that says that it shows page m of n has more below as long as m is smaller than n: scroll down.",
    "Use what you have read on a page as it is; nothing has to be parsed.",
    "Once you have the result, bind it alone to a variable named `answer`, as a value of the type that was asked for, "
    "and give the same value in `done`, with no other words.",
)


def described(domains: Sequence[Domain], mode: Mode, level: str, *, paths_only: bool) -> str:
    """The description of the code base, without guidelines.

    In tool-use it names every tool with upstream's description, whatever the level. `paths_only` is for the level
    `library`: the file paths without a line on each (table 4 of the CodeNav paper).
    """
    if mode is Mode.TOOL_USE:
        return _all_tools(domains, prototypes=True)
    if level == "library":
        lines = [
            f"- {file_of(domain)}" + ("" if paths_only or domain.name not in LINES else f": {LINES[domain.name]}")
            for domain in domains
        ]
        return "\n".join([_ONE_FILE, *lines])
    if level == "names":
        names = [f"- {file_of(domain)}: {', '.join(map(_called, _own(domain)))}" for domain in domains]
        return "\n".join([_ONE_FILE, *names])
    return "" if level == "none" else _all_tools(domains, prototypes=level == "prototypes")


def guided(domains: Sequence[Domain], mode: Mode) -> str:
    """The guidelines, which ask of the agent what those of the CodeNav paper ask."""
    search = [_SEARCH_GUIDELINE.format(file=file_of(domains[-1]))] if mode is Mode.CODE_USE else []
    return "\n".join(["Guidelines:", *(f"- {one}" for one in [*search, *_GUIDELINES])])


def _all_tools(domains: Sequence[Domain], *, prototypes: bool) -> str:
    """All tools, file by file: upstream's descriptions and, with `prototypes`, upstream's signatures."""
    parts = [_ONE_FILE]
    for domain in domains:
        own = _own(domain)
        roots = ", ".join(dict.fromkeys(tool.root for tool in own))
        lines = [f"\n{file_of(domain)}", f"from {module_of(domain)} import {roots}"]
        if any(tool.kind == "method" for tool in own):
            lines.append(f"browser = {BROWSER}()")
        for number, tool in enumerate(own, 1):
            text = "\n    ".join(tool.description.strip().splitlines())
            lines.append(f"[{number}] {_called(tool)}: {text}")
            if prototypes:
                lines.append(f"    Signature: {'browser.' if tool.kind == 'method' else ''}{tool.signature}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _own(domain: Domain) -> list[Tool]:
    """The tools that the domain's file defines; the others are Python's own `max`, `min` and `sum`."""
    return [tool for tool in domain.tools if tool.root]


def _called(tool: Tool) -> str:
    return f"browser.{tool.name}" if tool.kind == "method" else tool.name
