"""Features of a result: the evidence for and against it, as numbers; `scoring` weighs them."""

from __future__ import annotations

import re

from codenav.planner.calls import Result
from codenav.planner.goal import Goal
from codenav.planner.language import language, likeness
from codenav.planner.reading import Clause, matches
from codenav.planner.relevance import MET, TYPE, Described
from codenav.planner.values import Value, is_in_name
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts, words_in

NEXT_TO = 0.6
"""The quality with which a literal that was used stands for the word right beside it: `10 vertices`, `rate 0.05`."""
RAW = 5
"""Number of bytes that are no text, at the beginning of what was made of a file, for it to be raw."""
LONG = 300
"""Maximum characters of what a result shows that are looked at."""
UNNAMED = -0.25
"""The worth of a number that no name says to be a count, as an answer to how many there are."""
_IS_EXPORTED = re.compile(r"from \w+ import")
_COUNTING = words_in("count size len length total num number n cardinality")
"""Words in the names of what counts whatever its object holds."""
_NUMBER = re.compile(r"(?:[\w.]+\('?)?-?\d+(?:\.\d*)?(?:e[-+]?\d+)?\b(?!\S*[-:/]\d)")
_COUNTS_EACH = re.compile(r"[^{]*\{(?:'[^']*'|\"[^\"]*\"|\([^()]*\)|[^:'\",]+): \d+[,}]")
"""A mapping to whole numbers."""
_CONTAINERS = words_in("list tuple dict set frozenset OrderedDict defaultdict Counter")
_PLAIN = ("int", "float", "complex", "str", "bool", "bool_")


def features(result: Result, goal: Goal) -> dict[str, float]:
    """The features of a result by name; nearly all between 0 and 1."""
    return {
        **_of_words(result, goal),
        **_of_literals(result, goal),
        **_of_calls(result, goal),
        **_of_value(result, goal),
        **_of_question(result, goal),
    }


def _of_words(result: Result, goal: Goal) -> dict[str, float]:
    """Features of the words: the part of the clause that calls explain by name and docstring, the last above all."""
    meaning, last = goal.meaning, result.calls[-1]
    met = met_beside(result)
    for kind in [] if result.builtin else parts(result.type):
        # `Which date is Easter?` is answered by a date.
        met |= {word: max(met.get(word, 0.0), TYPE) for word in meaning.words if likeness(word, kind) == 1}
    own = meaning.in_name(last)
    owned = max(own.values(), default=0.0)
    best = max((meaning.score(call) for call in result.calls), default=0.0)
    unasked = meaning.unasked(Described.item(last))
    return {
        "share": meaning.share(result.calls, met),
        "own": owned,
        "gap": max(0.0, goal.top - best),
        "score": best,
        "unasked": min(unasked, 4),
        # A value found under a literal is what it stands for.
        "exact": float((is_found(result) and not result.nothing) or (not unasked and owned >= 0.8)),
    }


def _of_literals(result: Result, goal: Goal) -> dict[str, float]:
    """Features of the literals: whether all that the clause gives went in, and each where it fits."""
    left_out, fit = len(unused(result, goal)), result.fit
    # A word that is no name may be no value at all.
    doubtful = [one for one in result.used if one.is_word and not one.is_name]
    return {
        "unused": left_out,
        "all_used": float(bool(goal.wanted) and not left_out),
        "words": min(2, len(doubtful)),
        "named": min(fit.named, 3),
        "guessed": min(fit.guessed, 3),
        "worst": fit.worst,
        "packed": float(fit.packed),
        "unlinked": float(bool(goal.earlier) and not result.linked),
    }


def _of_calls(result: Result, goal: Goal) -> dict[str, float]:
    """Features of the calls: whether one is what the package is for, or something that nobody asks for."""
    last, making = result.calls[-1], language().making
    is_class = goal.last and last.kind == "class" and not making & set(goal.meaning.words[:1])
    # A file has to be opened first.
    opens = any(value.is_there for value in result.used)
    made_before = {call.expression for before in goal.earlier for call in before.calls}
    before = {call.expression for call in result.calls[:-1]} - made_before
    return {
        "main": float(is_main(last)),
        "calls": max(0, len(before) - opens - (last.name == "__iter__" or is_found(result))),
        "prior": goal.meaning.prior(Described.item(last)),
        "exported": float(bool(_IS_EXPORTED.match(last.import_line))),
        "class": float(is_class),
        "generic": float(all(part in making for part in parts(last.name)) and last.kind != "class"),
    }


def _of_value(result: Result, goal: Goal) -> dict[str, float]:
    """Features of the value: whether it is something new, and of which kind."""
    # The object that a text was read into may show it, where a clause goes on with it.
    final = goal.last or result.builtin
    texts = [value.code.strip("'\"") for value in result.used if value.literal is not None and value.type == "str"]
    raw = any(value.is_there for value in result.used) and not result.files and result.repr[:LONG].count("\\x") >= RAW
    repeats = any(result.repr == before.repr for before in goal.earlier)
    return {
        "container": float(result.type in _CONTAINERS),
        "plain": float(result.type in _PLAIN),
        "file": float(bool(result.files)),
        "contains": float(final and any(len(text) > 3 and text in result.repr for text in texts)),
        "zero": float(is_number(result) and result.repr.strip("'") in ("0", "0.0", "-1", "-1.0", "nan")),
        "none": float(result.nothing and result.repr == "None"),
        "empty": float(result.nothing and result.repr != "None"),
        "echo": float((final and result.echo) or raw or repeats),
    }


def _of_question(result: Result, goal: Goal) -> dict[str, float]:
    """Features of the question: whether the answer is of the kind asked for: yes or no, a number, a moment."""
    clause = goal.clause
    whether, is_bool = clause.asks_whether, result.type in ("bool", "bool_")
    counts = language().asks(clause.bare) == "count"
    return {
        "silent": float(result.opaque and goal.last and not result.files and not counts),
        "counted": float(counts and result.type in ("int", "float")),
        "no_number": float(counts and result.type in ("bool", "str")),
        "not_asked_whether": float(is_bool and not whether),
        "no_yes_or_no": float(whether and not is_bool),
    }


def met_beside(result: Result) -> dict[str, float]:
    """The words that the values in a result stand for, with how well they do."""
    found: dict[str, float] = {}
    for value in result.used:
        if value.literal is not None:
            found |= dict.fromkeys((*value.literal.before[:1], value.literal.after), NEXT_TO)
    return found | {word: 1.0 for value in result.used for word in value.words}


def unused(result: Result, goal: Goal) -> set[Value]:
    """The literals that did not go in, and are not in the name of a call either: `xxh32` for 32 bits."""
    return {value for value in goal.wanted - result.used if not any(is_in_name(value, call) for call in result.calls)}


def makes_files(result: Result, goal: Goal) -> int:
    """1 where a result made the new files that the clause names, -1 where it did not; 0 where it names none."""
    new = {one.literal.text for one in goal.wanted if one.literal is not None and one.literal.is_new_file}
    return 0 if not new else 1 if new <= set(result.files) else -1


def is_found(result: Result) -> bool:
    """True if a literal was looked up in a dict that is none of the request."""
    last = result.calls[-1]
    looks = last.name == "get" and last.kind == "member" and last.module == "builtins"
    return looks and all(value.type != "dict" for value in result.used)


def is_main(item: CallableSignature) -> bool:
    """True if a package is named after a callable."""
    return item.name.lower() == item.module.partition(".")[0].lower()


def is_number(result: Result) -> bool:
    """True if a result is a number, with or without its unit."""
    return result.type not in ("str", "bytes", "bool") and bool(_NUMBER.match(result.repr))


def is_tally(item: CallableSignature) -> bool:
    """True if a callable is named for counting: `num_edges`, `size`."""
    return bool(_COUNTING & set(parts(item.name)))


def meets_criterion(result: Result, goal: Goal) -> float:
    """1 where a call is named for what is to be highest or lowest, -1 where none is, or for what is to be counted."""
    wanted, counts = criterion(goal.clause), language().asks(goal.clause.bare) == "count"
    if wanted not in goal.meaning.words or wanted in met_beside(result):
        return 0
    if counts and (result.echo or _COUNTS_EACH.match(result.repr)):
        # The number that each one has is not how many there are.
        return -1
    if all(goal.meaning.in_name(call)[wanted] < MET for call in result.calls):
        # `How many seconds long is it?` asks for a measure; names of calls need not say the unit.
        last = result.calls[-1]
        measures = counts and is_number(result) and last.module != "builtins"
        return 0 if measures and is_tally(last) else UNNAMED if measures else -1
    # What an object can be gone through for is no measure.
    return int(not counts and not (result.opaque or result.as_text))


def criterion(clause: Clause) -> str:
    """The word for what is to be counted, highest or lowest; empty where nothing says it."""
    known = language()
    kind = known.asks(clause.bare)
    if kind == "count":
        counted = re.search(known.asking_of("count") + r"\W+(\w+)", clause.bare, re.IGNORECASE)
        return counted[1].lower() if counted else ""
    pairs = zip(clause.words, clause.words[1:], strict=False) if kind else ()
    return next((after for word, after in pairs if word in known.asking), "")


def draws_nothing(result: Result, goal: Goal) -> bool:
    """True if a picture is asked for, and what came out is an object that nothing has drawn."""
    verb = goal.meaning.words[0] if goal.meaning.words else ""
    if not verb or matches("picturing", verb) is None or result.files or not (result.opaque or result.as_text):
        return False
    own = [part for call in result.calls for part in parts(f"{call.expression} {call.name}")]
    # A graph that the clause names draws nothing, though `graph` may mean a plot elsewhere.
    draws = [part for part in own if not any(likeness(part, word) == 1 for word in goal.meaning.words[1:])]
    return not any(language().likeness(verb, part) for part in draws)
