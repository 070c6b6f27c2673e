"""What speaks for and against a result, as numbers; `judging` weighs them."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Sequence

from codenav.planner.calls import Result
from codenav.planner.finding import DOC, MET, TYPE, Described
from codenav.planner.goals import Goal
from codenav.planner.literals import WORD, Kind
from codenav.planner.reading import Clause
from codenav.planner.words import DERIVED, Language, likeness
from codenav.planner.writing import Value, is_in_name, is_name
from codenav.signatures.callables import CallableSignature
from codenav.signatures.names import parts

MOSTLY = 0.7
"""Of the uses in examples."""
NEXT_TO = 0.6
"""What a word counts that stands right beside a literal which was used: `10 vertices`, `rate 0.05`."""
_IS_EXPORTED = re.compile(r"from \w+ import")
_COUNTING = frozenset(("count", "size", "len", "length", "total", "num", "number", "n", "cardinality"))
"""Words in the names of what counts whatever its object holds."""
_MOMENT = re.compile(r"(?:\w*date|\w*time|timestamp)", re.IGNORECASE)
"""Types of what answers when something is."""
_SPAN = re.compile(r"\w*(?:delta|duration|period|interval)", re.IGNORECASE)
"""Types of what answers how long something is."""
_DATED = re.compile(r"'\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?'")
"""A text that says so."""
_NUMBER = re.compile(r"(?:[\w.]+\('?)?-?\d+(?:\.\d*)?(?:e[-+]?\d+)?\b(?!\S*[-:/]\d)")
_DIGITS = re.compile(r"(?<=[a-z_])\d+(?![a-z])", re.IGNORECASE)
"""In a name, of which there are others with other digits: `sha256`; the one in `hex2bin` is a word."""
_NO_LETTER = re.compile(r"[\W_]")
_NAN = re.compile(r"\bnan\b")
_CONTAINERS = ("list", "tuple", "dict", "set", "frozenset", "OrderedDict", "defaultdict", "Counter")
LONG = 300
"""Characters of what is more than one would ask for."""
_PLAIN = ("int", "float", "complex", "str", "bool", "bool_")


def evidence(result: Result, goal: Goal, known: Language) -> dict[str, float]:
    """By name; nearly all between 0 and 1."""
    return {
        **_of_words(result, goal, known),
        **_of_literals(result, goal),
        **_of_calls(result, goal, known),
        **_of_value(result, goal),
        **_of_question(result, goal, known),
    }


def _of_words(result: Result, goal: Goal, known: Language) -> dict[str, float]:
    """How much of the clause the names and docstrings of the calls stand for, the last one's above all."""
    meaning, last = goal.meaning, result.calls[-1]
    met = met_beside(result)
    if not result.builtin:
        # `Which date is Easter?` is answered by a date.
        kinds = parts(result.type)
        met |= {
            word: max(met.get(word, 0.0), TYPE) for word in meaning.words for kind in kinds if likeness(word, kind) == 1
        }
    weights = meaning.weights
    named = [meaning.in_name(call) for call in result.calls]
    stands = {word: max(met.get(word, 0.0), max(one[word] for one in named)) for word in meaning.words}
    head = next((word for word in meaning.words if weights[word] >= 0.5), "")
    noun = head_noun(goal.clause)
    own = named[-1]
    owned = max(own.values(), default=0.0)
    best = max((meaning.score(call) for call in result.calls), default=0.0)
    unasked = meaning.unasked(Described.item(last))
    if not goal.last and last.kind == "class" and is_main(last) and known.making.issuperset(meaning.words):
        # `Parse "<p>a</p>" and …` asks for the object that the package is about.
        unasked, best = 0, goal.top
    digits = set(_DIGITS.findall(last.name)) - set(re.findall(r"\d+", goal.clause.text))
    finds = is_found(result)
    given, got = goal.clause.aims
    returned = {word: TYPE * max((likeness(word, part) for part in parts(result.type)), default=0.0) for word in got}
    reached = sum(max(own[word], returned[word]) for word in got) / len(got) if got else 0.5
    return {
        "share": meaning.share(result.calls, met),
        "in_names": sum(weights[word] * stands[word] for word in meaning.words) / (sum(weights.values()) or 1.0),
        "head": max(stands.get(head, 0.0), 0.0) if head else 1.0,
        "own": owned,
        "gap": max(0.0, goal.top - best),
        "score": best,
        "unasked": min(unasked, 4),
        "digits": float(bool(digits)),
        # What is found under a literal is what it stands for.
        "exact": float(finds or (not unasked and owned >= 0.8 and not _is_other_number(last, meaning.words))),
        "noun": own.get(noun, 0.0) if noun else 0.5,
        "no_noun": float(bool(noun) and stands.get(noun, 1.0) < MET),
        "target": reached,
        "source": max((own[word] for word in given), default=0.0) * (1 - reached),
    }


def _of_literals(result: Result, goal: Goal) -> dict[str, float]:
    """Whether all that the clause gives went in, and each where it fits."""
    left_out = len(unused(result, goal))
    wanted = [value for value in result.used if value in goal.wanted]
    heading = direction(result.calls[-1].name, wanted, goal.clause)
    return {
        "unused": left_out,
        "all_used": float(bool(goal.wanted) and not left_out),
        "forward": float(heading > 0),
        "backward": float(heading < 0),
        "words": min(2, sum(_is_doubtful(value) for value in result.used)),
        "named": min(result.named, 3),
        "guessed": min(result.guessed, 3),
        "swapped": min(result.swapped, 2),
        "worst": result.worst,
        "packed": float(result.packed),
        "elsewhere": float(bool(goal.earlier) and not result.linked and goal.clause.refers_back),
        "unlinked": float(bool(goal.earlier) and not result.linked and not goal.clause.refers_back),
    }


def _of_calls(result: Result, goal: Goal, known: Language) -> dict[str, float]:
    """What was called: whether it is what the package is for, or something that nobody asks for."""
    last = result.calls[-1]
    makes = bool(known.making & set(goal.meaning.words[:1]))
    is_class = goal.last and last.kind == "class" and not makes
    keyed = last.expression.endswith("]") or is_looked_up(result)
    # `and give the year` asks a date for just that.
    offered = last.kind in ("member", "value") and not keyed and not goal.meaning.literally(last)
    # A file has to be opened first.
    opens = any(value.literal is not None and value.literal.there for value in result.used)
    finds = is_found(result) or last.name == "__iter__"
    made_before = {call.expression for before in goal.earlier for call in before.calls}
    return {
        "main": float(is_main(last)),
        "of_main": float(any(is_main(call) or _is_of_main(call) for call in result.calls)),
        "calls": max(0, len({call.expression for call in result.calls[:-1]} - made_before) - opens - finds),
        "prior": goal.meaning.prior(Described.item(last)),
        "exported": float(bool(_IS_EXPORTED.match(last.import_line))),
        "holds": float(is_class and not tells(result)),
        "class": float(is_class),
        "inherited": float(offered and last.module.partition(".")[0] in sys.stdlib_module_names),
        "generic": float(all(part in known.making for part in parts(last.name)) and last.kind != "class"),
        "private": float(any(re.match(r"_(?!_)", call.name) for call in result.calls)),
        "shown": float(last.shown > 0),
        "often_shown": max(call.shown for call in result.calls),
        "key": float(last.kind == "value" and keyed),
        "attribute": float(last.kind in ("value", "property") and not keyed),
    }


def _of_value(result: Result, goal: Goal) -> dict[str, float]:
    """What came out: something new, of which kind, how long."""
    nothing = result.nothing
    # What a text was read into may show it, where a clause goes on with it.
    final = goal.last or result.builtin
    return {
        "named_file": float(names_file(result)),
        "container": float(result.type in _CONTAINERS),
        "object": float(not result.builtin and not is_number(result)),
        "plain": float(result.type in _PLAIN),
        "file": float(bool(result.files)),
        "contains": float(final and _contains(result)),
        "zero": float(is_number(result) and result.repr.strip("'") in ("0", "0.0", "-1", "-1.0", "nan")),
        "nan": float(bool(_NAN.search(result.repr[:LONG]))),
        "long": float(len(result.repr) > LONG),
        "same": float(result.same),
        "none": float(nothing and result.repr == "None"),
        "empty": float(nothing and result.repr != "None"),
        "echo": float(
            (final and result.echo) or is_raw(result) or any(result.repr == before.repr for before in goal.earlier)
        ),
    }


def _of_question(result: Result, goal: Goal, known: Language) -> dict[str, float]:
    """Whether it is an answer of the kind that was asked for: yes or no, a number, a moment."""
    clause = goal.clause
    whether, is_bool = clause.asks_whether, result.type in ("bool", "bool_")
    counts = known.asks(clause.bare) == "count"
    when = "when" in goal.meaning.words[:1]
    amount = bool(re.match(known.patterns["amount"], clause.bare, re.IGNORECASE))
    number, last = is_number(result), result.calls[-1]
    told = number or bool(_SPAN.fullmatch(result.type))
    unnamed = max(goal.meaning.in_name(last).values(), default=0.0) < MET
    return {
        "silent": float(result.opaque and goal.last and not result.files and not counts),
        "counted": float(counts and result.type in ("int", "float")),
        "measured": float(counts and number and not is_tally(last) and unnamed),
        "no_number": float(counts and result.type in ("bool", "str")),
        "not_asked_whether": float(is_bool and not whether),
        "no_yes_or_no": float(whether and not is_bool),
        "moment": float(when and is_moment(result)),
        "no_moment": float(when and not is_moment(result)),
        "amount": float(amount and told),
        "no_amount": float(amount and not told),
    }


def _is_doubtful(value: Value) -> bool:
    """Whether it may be no value at all: a word, but neither a name nor a number or a sign that is spelled out."""
    spelled = value.literal is not None and value.literal.kind is Kind.SPELLED
    return value.is_word and not (spelled or is_name(value))


def met_beside(result: Result) -> dict[str, float]:
    """Words that what went into a result stands for."""
    found: dict[str, float] = {}
    for value in result.used:
        if value.literal is not None:
            found |= dict.fromkeys((*value.literal.before[:1], value.literal.after), NEXT_TO)
    return found | {word: 1.0 for value in result.used for word in value.words}


def misses_aim(result: Result, goal: Goal) -> bool:
    """Whether nothing that was called has to do with the form that is asked for: `into LaTeX`."""
    forms = {one.text.lower() for one in goal.clause.literals if one.kind is Kind.CODE} & goal.clause.aims[1]
    met = met_beside(result)
    told = [f"{call.module}.{call.expression} {call.doc}".lower() for call in result.calls]
    each = [goal.meaning.qualities(call) for call in result.calls]
    known = [one for one in forms if met.get(one) or any(one in text for text in told)]
    return any(form not in known and all(one.get(form, 0.0) < DOC for one in each) for form in forms)


def unused(result: Result, goal: Goal) -> set[Value]:
    """Literals that did not go in, and are not in the name of a call either: `xxh32` for 32 bits."""
    return {value for value in goal.wanted - result.used if not any(is_in_name(value, call) for call in result.calls)}


def head_noun(clause: Clause) -> str:
    """What is asked for: the last word of the first phrase; `delta` of `the Black-Scholes delta of a put`."""
    first = clause.literals[0].start - clause.start if clause.literals else len(clause.text)
    found = ""
    for number, match in enumerate(WORD.finditer(clause.text[:first])):
        word = match.group().lower()
        if word in clause.known.stop or (not number and word in clause.known.verbs):
            if found:
                break
            continue
        found = word.rpartition("-")[2]
    return found if found in clause.words else ""


_DIRECTED = (
    re.compile(r"(?P<given>\w+?)(?:_?to_|(?<=[A-Za-z])2(?=[A-Za-z])|_2_|To(?=[A-Z]))(?P<got>\w+)"),
    re.compile(r"(?P<got>\w+?)(?:_from_|From(?=[A-Z]))(?P<given>\w+)"),
    re.compile(r"(?:from_?)(?P<given>\w+)(?P<got>)", re.IGNORECASE),
    # `to_json`, `toJSON`, `tojson`, and not `top_names`.
    re.compile(r"(?:[Tt]o_|[Tt]o(?=[A-Z\d]|[a-z]+$)|[Aa]s_)(?P<got>\w+)(?P<given>)"),
)


def direction(name: str, values: Iterable[Value], clause: Clause) -> int:
    """Above 0 where a name says that it takes what the clause gives and gives what it asks for, below 0 the reverse."""
    match = next((found for pattern in _DIRECTED if (found := pattern.fullmatch(name.lstrip("_")))), None)
    if match is None:
        return 0
    given, got = (set(words) for words in clause.aims)
    if asked := re.match(clause.known.patterns["asked_of"], clause.bare, re.IGNORECASE):
        # `What is the web name of "#ff6347"?`
        got.update(word.lower() for word in WORD.findall(asked["what"]))
    for value in values:
        if value.literal is None:
            continue
        ending = value.literal.text.rpartition(".")[2].lower() if value.literal.kind is Kind.FILE else ""
        if ending and not value.literal.there:
            got.add(ending)
            continue
        given.update(word for word in (*value.literal.before[:3], value.literal.after, ending) if word)
    given -= clause.known.stop | got

    def among(piece: str, words: Iterable[str]) -> bool:
        return any(likeness(word, part) >= DERIVED for part in parts(piece) for word in words)

    right = among(match["given"], given) + among(match["got"], got)
    return right - among(match["got"], given) - among(match["given"], got)


def _contains(result: Result) -> bool:
    """Whether a text that went in is in what it shows."""
    texts = [value.code.strip("'\"") for value in result.used if value.literal is not None and value.type == "str"]
    return any(len(text) > 3 and text in result.repr for text in texts)


RAW = 5
"""Bytes that are no text, at the beginning of what was made of a file."""


def is_raw(result: Result) -> bool:
    """Whether it shows the bytes of a file that it was given, and nothing that was read in them."""
    there = any(value.literal is not None and value.literal.there for value in result.used)
    return there and not result.files and result.repr[:LONG].count("\\x") >= RAW


def names_file(result: Result) -> bool:
    """Whether a result only shows the name of a file that it was given."""
    return not result.files and any(
        value.literal is not None and value.literal.kind is Kind.FILE and value.literal.text in result.repr
        for value in result.used
    )


def makes_files(result: Result, goal: Goal) -> int:
    """1 where a result made the new files that the clause names, -1 where it did not; 0 where it names none."""
    new = {
        value.literal.text
        for value in goal.wanted
        if value.literal is not None and value.literal.kind is Kind.FILE and not value.literal.there
    }
    if not new:
        return 0
    return 1 if new <= set(result.files) else -1


def is_looked_up(result: Result) -> bool:
    """Whether a literal was looked up in a dict that is none of the request."""
    last = result.calls[-1]
    if not (last.name == "get" and last.kind == "member" and last.module == "builtins"):
        return False
    literals = [value for value in result.used if value.literal is not None and not value.is_word]
    return bool(literals) and all(value.type != "dict" for value in literals)


def is_found(result: Result) -> bool:
    """Whether a literal was looked up, and something is there."""
    return is_looked_up(result) and not result.nothing


def is_main(item: CallableSignature) -> bool:
    """Whether a package is named after a callable, or its examples use nothing else as often."""
    return item.shown >= MOSTLY or item.name.lower() == item.module.partition(".")[0].lower()


def _is_other_number(item: CallableSignature, words: Sequence[str]) -> bool:
    """Whether a name is the singular of a word or its plural: `record` for the records."""
    last = item.name.lower().rpartition("_")[2]
    return last not in words and (f"{last}s" in words or last.removesuffix("s") in words)


def is_moment(result: Result) -> bool:
    """Whether it says when something is."""
    return bool(_MOMENT.fullmatch(result.type)) or bool(_DATED.fullmatch(result.repr))


def is_number(result: Result) -> bool:
    """Whether it is a number, with or without its unit."""
    return result.type not in ("str", "bytes", "bool") and bool(_NUMBER.match(result.repr))


def is_tally(item: CallableSignature) -> bool:
    """Whether it is named for counting: `num_edges`, `size`."""
    return bool(_COUNTING & set(parts(item.name)))


def _is_of_main(item: CallableSignature) -> bool:
    """Whether it is a member of the class that a package is named after."""
    return item.kind in ("method", "property") and item.owner.lower() == item.module.partition(".")[0].lower()


def tells(result: Result) -> bool:
    """Whether a value shows anything that did not go into it."""
    given = " ".join(value.code for value in result.used)
    plain = _NO_LETTER.sub("", given).lower()
    inside = re.sub(r"^[\w.]+\(", "", result.repr)
    shown = [piece.strip("'") for piece in re.findall(r"\d+(?:\.\d+)?|'[^']+'", inside)]
    # `00-1B-63` is `00:1b:63`.
    return any(piece not in given and _NO_LETTER.sub("", piece).lower() not in plain for piece in shown)


_COUNTS_EACH = re.compile(r"[^{]*\{(?:'[^']*'|\"[^\"]*\"|\([^()]*\)|[^:'\",]+): \d+[,}]")
"""A mapping to whole numbers."""
UNNAMED = -0.25
"""How well a number that no name says to be a count answers how many there are."""


def meets_criterion(result: Result, goal: Goal, known: Language) -> float:
    """1 where a call is named for what is to be highest or lowest, -1 where none is, or for what is to be counted."""
    wanted = criterion(goal.clause, known)
    if not wanted or wanted not in goal.meaning.words or wanted in met_beside(result):
        return 0
    counts = known.asks(goal.clause.bare) == "count"
    if counts and (result.echo or _COUNTS_EACH.match(result.repr)):
        # How many each one has is not how many there are.
        return -1
    if all(goal.meaning.in_name(call)[wanted] < MET for call in result.calls):
        # `How many seconds long is it?` asks for a measure; names of calls need not say the unit.
        last = result.calls[-1]
        measures = counts and is_number(result) and last.module != "builtins"
        return 0 if measures and is_tally(last) else UNNAMED if measures else -1
    # What an object can be gone through for is no measure.
    return int(not counts and not (result.opaque or result.as_text))


def criterion(clause: Clause, known: Language) -> str:
    """The word for what is to be counted, highest or lowest; empty where nothing says it."""
    kind = known.asks(clause.bare)
    if kind == "count":
        counted = re.search(known.asking_of("count") + r"\W+(\w+)", clause.bare, re.IGNORECASE)
        return counted[1].lower() if counted else ""
    if kind:
        return next((after for word, after in itertools.pairwise(clause.words) if word in known.asking), "")
    return ""
