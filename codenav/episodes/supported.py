"""The search for the numbers and names of an answer in the results of the replay of its summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codenav.core.execution import Replayed
from codenav.episodes.figures import Pool, numbers_in
from codenav.episodes.outputs import small_reprs
from codenav.episodes.written_down import Code

MOST_TOLD = 8
"""Missing numbers and names that are reported."""
NAME_CHARACTERS = 100
"""Characters of the longest quotation that counts as a name."""
BARE_WORDS = 3
"""Words of the longest answer that is a name itself, if all begin with a capital; a single word needs none."""
_QUOTED = re.compile(
    rf"`+([^`\n]{{1,{NAME_CHARACTERS}}})`+|“([^”\n]{{1,{NAME_CHARACTERS}}})”|\"([^\"\n]{{1,{NAME_CHARACTERS}}})\""
    rf"|(?<!\w)['‘]([^'’\n]{{1,{NAME_CHARACTERS}}})['’](?!\w)"
)
_NAMED = re.compile(r"(?:\b(?:is|are|was|were|named|called)|:)\s+(?:\*\*)?([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)*)")
_PLAIN = frozenset({
    "yes", "no", "true", "false", "none", "done", "ok", "the", "a", "an", "it", "this", "there", "these", "in", "node",
    "python", "see", "i", "we", "all", "both", "each", "not",
})  # fmt: skip
"""Words that name nothing although they may begin with a capital."""
_YES = re.compile(r"\W*(yes|true|no|false)\b", re.IGNORECASE)


def unsupported(
    answer: str,
    replayed: Replayed,
    *,
    script: str,
    request: str,
    known: Sequence[str] = (),
    outputs: Sequence[str] = (),
    unmarked: bool = True,
) -> list[str]:
    """The numbers and names of an answer that nothing supports, in order.

    The replay's output and variables, further `outputs`, or the request, support numbers, also rounded or reformatted;
    the script and `known` (names of files, sources, versions) also support quoted names. A name without quotes is a
    capitalised word after `is` or a colon, or an answer of a word or two; it counts if `unmarked` names do.
    """
    held = replayed.held
    output = Pool().add(held.numbers, held.many, [request, *small_reprs(held), *held.texts]).add_output(replayed.output)
    for text in outputs:
        output.add_output(text)
    numbers, _ = Code([script]).constants()
    output.add(one for one in numbers if one >= 10 or one != int(one))
    named = Pool(text="\n".join([output.text, script, *replayed.files, *known]).casefold())
    printed = Pool(text="\n".join([output.text, request, *replayed.files]).casefold())
    lacking: list[str] = []
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(answer)]
    # A quotation is searched for as a whole, with its numbers.
    rest = _QUOTED.sub(" ", answer)
    for name in dict.fromkeys(quoted):
        if len(lacking) >= MOST_TOLD:
            break
        if not named.names(name) and not _all_numbers(name, output):
            lacking.append(name)
    versions = " ".join(known)
    for number in numbers_in(rest):
        if number.text in versions and re.search(rf"(?<![\d.]){re.escape(number.text)}(?![\d.])", versions):
            continue
        if not output.holds(number) and not _all_numbers(number.text.replace(",", " "), output):
            lacking.append(number.text)
    if unmarked:
        lacking += [name for name in _bare_names(answer) if not printed.names(name)]
        lacking += _contradiction(answer, replayed.output) + _another(answer, replayed)
    return list(dict.fromkeys(lacking))[:MOST_TOLD]


def _all_numbers(text: str, pool: Pool) -> bool:
    numbers = list(numbers_in(text))
    return bool(numbers) and not re.search(r"[^\W\d_]", text) and all(map(pool.holds, numbers))


def _bare_names(answer: str) -> list[str]:
    found = [match[1] for match in _NAMED.finditer(answer)]
    words = [] if _QUOTED.search(answer) else answer.strip(" .!*").split()
    if len(words) == 1 or (1 < len(words) <= BARE_WORDS and all(word[0].isupper() for word in words)):
        found += [] if any(numbers_in(answer)) else [" ".join(words)]
    return [name for name in found if not all(word.casefold() in _PLAIN for word in re.findall(r"\w+", name))]


def _another(answer: str, replayed: Replayed) -> list[str]:
    """Texts of the data that the answer names in place of the one that the replay printed last."""
    texts = {text for text in replayed.held.texts if 1 < len(text) <= NAME_CHARACTERS}
    lines = [line.strip().strip("'\"") for line in replayed.output.splitlines() if line.strip()]
    if not lines or lines[-1] not in texts or lines[-1].casefold() in answer.casefold():
        return []
    words = set(re.findall(r"\w[\w.'’-]*\w", answer))
    return sorted(text for text in texts if text in words and text[0].isupper())


def _contradiction(answer: str, output: str) -> list[str]:
    """The yes or no of an answer that contradicts the True or False at the end of the replay."""
    said = _YES.match(answer)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if said is None or last not in ("True", "False"):
        return []
    return [] if (said[1].casefold() in ("yes", "true")) == (last == "True") else [said[1]]
