"""Recall of the expected APIs by our search, with no model: the APIs that a query finds, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from codenav.core.protocols import Index
from codenav.evals.api_bank.code_base import Api
from codenav.evals.api_bank.dialogues import Dialogue
from codenav.session.api import index

PLACES = (1, 3, 5, 10)
"""The numbers of APIs, from the first, in which an expected one is looked for."""
HITS = 200
"""Blocks that a search may return: several are of one API."""

QUERIES: Mapping[str, Callable[[Dialogue], str]] = {
    "last message": lambda dialogue: str(dialogue.chat[-1]["text"]),
    "dialogue": lambda dialogue: "\n".join(str(one["text"]) for one in dialogue.chat if one["role"] != "API"),
}
"""The queries: the last message of the user, or all messages up to it. Each is put as plain text."""


def recall(code_base: Path, apis: Sequence[Api], dialogues: Sequence[Dialogue]) -> dict[str, dict[str, float]]:
    """For each query of `QUERIES` the recall in %: `recall@1` to `recall@10` over expected calls, `all@5` over samples.

    `all@5` is the share of samples whose expected APIs are all among the first five. `dialogues` are samples.
    """
    names = {f"apis/{api.module}.py": api.name for api in apis}
    table = {}
    with index(code_base) as opened:
        for title, query in QUERIES.items():
            ranked = [_ranked(opened, query(dialogue), names) for dialogue in dialogues]
            table[title] = recall_of(ranked, [[call.name for call in dialogue.gold] for dialogue in dialogues])
    return table


def recall_of(ranked: Sequence[Sequence[str]], expected: Sequence[Sequence[str]]) -> dict[str, float]:
    """The figures of `recall` for APIs as they were ranked, and those that were expected, sample by sample."""
    pairs = list(zip(ranked, expected, strict=True))
    total = sum(map(len, expected))
    found = {place: sum(name in first[:place] for first, gold in pairs for name in gold) for place in PLACES}
    whole = sum(all(name in first[:5] for name in gold) for first, gold in pairs)
    return {
        **{f"recall@{place}": 100 * count / total if total else 0.0 for place, count in found.items()},
        "all@5": 100 * whole / len(pairs) if pairs else 0.0,
    }


def _ranked(opened: Index, query: str, names: Mapping[str, str]) -> list[str]:
    # Words are asked for, not syntax: a colon or a quotation mark of a message is none.
    plain = " ".join("".join(one if one.isalnum() or one in "'-" else " " for one in query).split())
    hits = opened.search(plain, limit=HITS)
    return list(dict.fromkeys(names[hit.path] for hit in hits if hit.path in names))
