"""Plain words: the plan for what is described rather than named, `hash a password`.

Each word counts by the field in which it tells most, as one field of `dis_max` does ("Disjunction max query", Lucene):
a block that has all of the words is then before one that has one of them everywhere. The factors were found on 90
queries of django, pandas, scikit-learn, sqlalchemy and networkx and the development half of benchmarks/plain, where
all of them equal is about as good.
"""

from __future__ import annotations

from collections.abc import Iterable

from codenav.core.blocks import NAMED
from codenav.retrieval import analysis, meaning
from codenav.retrieval.plan import Best, Constant, Join, Match, Plan, Sequence, Weighted
from codenav.retrieval.query import tree
from codenav.retrieval.stems import STOP, stem

STEMMED = (("name_stems", 0.8), ("owner_stems", 1.0), ("summary_stems", 1.0))
WRITTEN = (("text_parts", 0.8), ("doc_parts", 0.5), ("name_prefixes", 0.3))
"""Factors of a match by field; the first are compared by stems, the others as written."""
INFLECTED = 0.3
"""Factor of the plural or singular of a word in a docstring: what is asked for as a song is described by songs."""
SHARE, SHARE_OF_MANY = 0.15, 0.4
"""The share that counts of a word's matches in further fields, for `FEW` words and for `MANY`. Few words are mostly all
there; of the many words of a request a block has some, and it tells more that they are in its name and in its text."""
FEW, MANY = 6, 12
COVERED = 2.0
"""Factor of the bonus for all of the words in the summary, from three words on."""
FEWEST_COVERED = 3
VERBATIM = 1.0
"""Factor of the bonus for the words as they stand in a docstring, from as many words on."""
NEAR, NEAREST, LEAST_NEAR = 0.8, 8, 0.4
"""Factor of a near word beside the word itself, the most near words of one, and the least cosine of a near word."""


def words(node: tree.Node) -> tuple[str, ...]:
    """The words of a query that describe what is looked for, without stop words; fewer than two name it."""
    match node:
        case tree.And(children):
            return tuple(dict.fromkeys(word for child in children for word in words(child)))
        case tree.Or(children) if len(children) > 1 and all(_is_plain(child) for child in children):
            return telling(word for child in children for word in identifiers(child))
    return ()


def telling(identifiers: Iterable[str]) -> tuple[str, ...]:
    """The parts of identifiers, each once and in lower case; stop words only if there is nothing else."""
    parts = [part for word in identifiers for part in analysis.part_tokens(word)]
    return tuple(dict.fromkeys([part for part in parts if part not in STOP] or parts))


def compounds(children: Iterable[tree.Node]) -> list[tree.Node]:
    """The words of a group that have parts: `load_model`, `np.mean`, `one-hot`."""
    return [child for child in children if len(telling(identifiers(child))) > 1]


def described(found: Iterable[str], *, near: bool) -> tuple[Plan, ...]:
    """The clauses for words; with `near`, of up to `MANY` words for those of near meaning too: more need none."""
    by_stem: dict[str, list[str]] = {}
    for word in found:
        by_stem.setdefault(stem(word), []).append(word)
    known, share = set(by_stem), _share(len(by_stem))
    near = near and len(by_stem) <= MANY
    clauses: list[Plan] = [_word(stemmed, same, known, share, near=near) for stemmed, same in by_stem.items()]
    if len(by_stem) >= FEWEST_COVERED:
        covered = Join(required=tuple(Match("summary_stems", stemmed) for stemmed in by_stem))
        clauses.append(Weighted(covered, COVERED))
    return tuple(clauses)


def verbatim(children: Iterable[tree.Node]) -> tuple[Plan, ...]:
    """The bonuses for words as they stand, stop words included: as a name, or in a docstring.

    A name that is made of just these words comes first even where nobody is likely to mean it.
    """
    parts = [part for child in children for word in identifiers(child) for part in analysis.part_tokens(word)]
    named = Constant(Match("name_words", analysis.as_set(parts)), NAMED)
    if len(parts) < FEWEST_COVERED:
        return (named,)
    return named, Weighted(Sequence("doc_parts", tuple(parts)), VERBATIM)


def _share(count: int) -> float:
    """The share that counts of a word's matches in further fields, beside a number of words."""
    many = min(max((count - FEW) / (MANY - FEW), 0.0), 1.0)
    return SHARE + many * (SHARE_OF_MANY - SHARE)


def _word(stemmed: str, same: list[str], known: set[str], share: float, *, near: bool) -> Plan:
    parts: list[Plan] = [Weighted(Match(field, stemmed), factor) for field, factor in STEMMED]
    for word in same:
        shorter = analysis.MIN_PREFIX <= len(word) <= analysis.MAX_PREFIX
        parts += [Weighted(Match(field, word), factor) for field, factor in WRITTEN if shorter or field[:4] != "name"]
        if (inflected := _inflected(word)) and inflected not in same:
            parts.append(Weighted(Match("doc_parts", inflected), INFLECTED))
        if near:
            for other, cosine in meaning.neighbours(word, NEAREST):
                stemmed = stem(other)
                if cosine >= LEAST_NEAR and stemmed not in known:
                    factor = NEAR * cosine**2
                    parts += [Weighted(Match(field, stemmed), factor) for field in ("name_stems", "summary_stems")]
    return Best(tuple(parts), share)


def _inflected(word: str) -> str:
    """The singular of an English plural, else the plural; empty for what is no word of letters."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return ""
    if word.endswith("s") and not word.endswith("ss"):
        return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def _is_plain(node: tree.Node) -> bool:
    return isinstance(node, tree.Words | tree.Phrase) and node.field == "text"


def identifiers(node: tree.Node) -> list[str]:
    """The identifiers that a word of a query holds, as written."""
    return [word for text in getattr(node, "words", ()) for word in analysis.words(text)]
