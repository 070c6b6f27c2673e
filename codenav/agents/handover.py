"""The ledger: what is left of steps that a conversation no longer shows, made from the steps and not by a model."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence

from codenav.core.actions import AskObservation, CodeObservation, SearchObservation, Step
from codenav.core.system.syntax import parsed
from codenav.core.system.terminal_text import flattened
from codenav.core.usage import estimate_tokens

LINE = 160
"""Characters of one line: a call, a signature, an answer."""
FINDINGS = 300
"""Most tokens of what the model adds. Notes that are appended, and not rewritten each time, keep their details (ACE,
arXiv 2510.04618)."""
REQUEST = """\
The conversation is too long: the steps so far will no longer be shown to you. codenav itself keeps a list of the \
variables, the calls that worked, signatures, files, and questions with their answers. Write what else you found out \
that the rest of the work needs, in at most 200 words of plain text. No action now."""
_BUILTINS = frozenset(dir(builtins))


def ledger(steps: Sequence[Step], state: str, *, tokens: int) -> str:
    """Return the list of what steps have come to, in about that many tokens; of the longest parts the oldest goes.

    `state` has the variables of the sandbox, a line each.
    """
    parts = {
        "Variables": state.splitlines(),
        "Calls that worked": list(_calls(steps).values()),
        "Signatures seen": list(_signatures(steps).values()),
        "Files written": list(dict.fromkeys(name for step in steps for name in _files(step))),
        "Asked and answered": list(_answers(steps)),
    }
    kept = {name: [flattened(line, LINE) for line in lines] for name, lines in parts.items() if lines}
    left_out = dict.fromkeys(kept, 0)
    while sum(map(_size, kept.values())) > tokens:
        longest = max(kept, key=lambda name: _size(kept[name]))
        half = len(kept[longest]) // 2 or 1
        left_out[longest] += half
        kept[longest] = kept[longest][half:]
    written = [
        "\n".join([f"{name}:", *[f"({count} older ones left out)" for count in [left_out[name]] if count], *lines])
        for name, lines in kept.items()
    ]
    return "\n\n".join(written)


def _size(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines))


def _ran(steps: Sequence[Step]) -> Iterator[tuple[Step, CodeObservation]]:
    for step in steps:
        if isinstance(step.observation, CodeObservation) and step.observation.ok:
            yield step, step.observation


def _calls(steps: Sequence[Step]) -> Mapping[str, str]:
    """The newest call of each function in code that ended well, by its name."""
    found: dict[str, str] = {}
    for step, seen in _ran(steps):
        tree = parsed(seen.chosen or step.action.content)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) not in _BUILTINS:
                found.pop(name, None)
                found[name] = ast.unparse(node)
    return found


def _signatures(steps: Sequence[Step]) -> Mapping[str, str]:
    """The blocks that searches found, as import line and signature."""
    seen = (step.observation for step in steps)
    hits = [hit for one in seen if isinstance(one, SearchObservation) for result in one.results for hit in result]
    blocks = [hit.block for hit in hits if hit.block.signature and hit.block.import_line]
    return {block.id: f"{block.import_line} # {block.signature}" for block in blocks}


def _files(step: Step) -> Sequence[str]:
    return step.observation.execution.files if isinstance(step.observation, CodeObservation) else ()


def _answers(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step.observation, AskObservation):
            yield f"{step.action.content.strip()} → {step.observation.text}"
