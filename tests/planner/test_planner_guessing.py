"""What the planner says of its own answers: the chance, what else it may be, and what of the request went unused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import codenav, without_evidence
from made_up import function, meaning, needs

import codenav as api
from codenav.actions import Done, Guess
from codenav.environments.endings import DoneEnvironment
from codenav.episodes.record import EpisodeResult
from codenav.planner.answers import OTHERS, PIECES, WIDTH, Claim, chances, one_line, unused_pieces
from codenav.planner.calls import Fit, Result
from codenav.planner.features import meets_criterion
from codenav.planner.goal import Goal, Seen
from codenav.planner.reading import read
from codenav.planner.scoring import certainty, doubt
from codenav.planner.values import Value
from codenav.signatures.callables import CallableSignature


def goal(request: str) -> Goal:
    clause = read(request)[0]
    told = tuple(Value.of(literal) for literal in clause.literals)
    return Goal(clause, meaning(*clause.words), told, frozenset(value for value in told if not value.is_word))


def result(
    of: CallableSignature, shown: str, type_: str = "str", used: frozenset[Value] = frozenset(), **more: bool
) -> Result:
    return Result("result_1", type_, shown, Fit((of,), used, (f"result_1 = {of.name}()",)), **more)


def unused(request: str, of: CallableSignature, *used: str, shown: str = "1", reduced: bool = False) -> list[str]:
    clauses = read(request)
    told = [Value.of(literal) for clause in clauses for literal in clause.literals]
    taken = frozenset(value for value in told if value.literal is not None and value.literal.text in used)
    done = result(of, shown, "int", taken)
    return unused_pieces(request, clauses, [done], [one.start for one in clauses] if reduced else [])


DEGREE = function("degree", needs("graph"), needs("node"), doc="The degree of a node in a graph.")


@pytest.mark.parametrize(
    ("request_", "used", "pieces"),
    [
        ("What is the degree of node 3 in the graph?", ["3"], []),
        ("What is the degree of the graph from 0 to 33?", [], ["0 to 33"]),
        ("What is the degree of the graph from 0 to 33?", ["0"], ["33"]),
        ("Draw the graph in the style of Monet", [], ["Draw", "style of Monet"]),
        ("Give the degree of node 3 and what is its value?", ["3"], ["and what is its value"]),
        ("Which node has the degree and what is its value?", [], ["and what is its value"]),
        ("Give the degree of node 3 with 'fig' jam", ["3"], ["'fig' jam"]),
        ("Compute the degree of the graph, then dance", [], ["dance"]),
        ("Please compute the degree", [], []),
    ],
)
def test_what_no_call_took_or_stands_for_is_told_as_it_is_written(
    request_: str, used: list[str], pieces: list[str]
) -> None:
    assert unused(request_, DEGREE, *used) == pieces
    assert all(piece in request_ for piece in pieces)


def test_the_lowest_is_unused_where_nothing_was_taken_of_a_collection() -> None:
    assert unused("Which node has the lowest degree?", DEGREE) == ["lowest"]
    assert unused("Which node has the lowest degree?", DEGREE, reduced=True) == []
    assert unused("Which node has the lowest degree?", function("lowest_degree", doc="Of a node.")) == []


def test_what_came_out_may_hold_what_was_asked_for() -> None:
    review = function("review", doc="A review.")
    assert unused("Give the review and its verdict", review, shown="{'verdict': 3}") == []
    assert unused("Give the review and its verdict", review, shown="{'stars': 3}") == ["verdict"]


def test_pieces_are_few_and_short() -> None:
    many = "Give the degree. " + ". ".join(f"{word * 30} {word * 40} {word * 50}" for word in "abcdefgh")
    pieces = unused(many, DEGREE)
    assert len(pieces) == PIECES and all(len(piece) <= 80 for piece in pieces)


def claim(goal_: Goal, best: Result, worth: float, chance: float, others: dict[str, float]) -> Claim:
    for shown, value in {best.repr: worth, **others}.items():
        one = best if shown == best.repr else result(function("other"), shown, "int")
        goal_.scored[id(one)] = one, value
        goal_.worths[Seen.of(one)] = value
    return Claim(goal_, best, best, chance)


@pytest.mark.parametrize(("worth", "chance"), [(0.9, 0.8), (0.6, 0.46), (0.99, 0.99)])
def test_chances_of_other_answers_are_on_the_scale_of_the_claimed_one(worth: float, chance: float) -> None:
    asked = goal("Compute the other degree")
    best = result(DEGREE, "3", "int")
    told = [(one.repr, share) for one, share in chances(claim(asked, best, worth, chance, {"4": 0.5, "5": 0.2}))]
    assert [shown for shown, _ in told][:1] in ([], ["4"]) and "3" not in dict(told)
    assert sum(dict(told).values()) <= 1 - chance + 1e-9
    assert all(share <= chance for share in dict(told).values())


def test_what_is_never_claimed_is_no_next_best_answer() -> None:
    asked = goal("Compute the degree of 7")
    took = frozenset(asked.wanted)
    best = result(DEGREE, "3", "int", took)
    told = claim(asked, best, 0.9, 0.8, {})
    left_out, echo = result(DEGREE, "4", "int"), result(DEGREE, "7", "int", took)
    rival = result(DEGREE, "5", "int", took)
    for one in (left_out, echo, rival):
        asked.scored[id(one)] = one, 0.6
    assert [one.repr for one, _ in chances(told)] == ["5"]


def test_an_answer_is_told_in_one_short_line() -> None:
    assert one_line(result(DEGREE, "'a\\n b'")) == "a b"
    assert one_line(result(DEGREE, "np.float64(1.5)", "float64")) == "1.5"
    assert len(one_line(result(DEGREE, repr("x" * 500)))) == WIDTH


def test_the_line_says_all_three() -> None:
    told = Guess(0.624, (("33", 0.14), ("3", 0.05)), ("from 0 to 33",))
    assert told.told == 'a guess: 62 % likely; next best: 33 (14 %), 3 (5 %); unused: "from 0 to 33"'
    assert Guess(1.0).told == "a guess: 100 % likely"
    assert Guess.from_dict(json.loads(json.dumps(told.to_dict()))) == told
    assert Guess((1 / 3), (("100%", 0.5),)).told == "a guess: 33 % likely; next best: 100% (50 %)"


def test_an_answer_takes_its_guess_along_and_a_failure_its_hint() -> None:
    done = DoneEnvironment().respond(Done("3", guess=Guess(0.5)))
    assert (done.guess, done.to_data()) == (Guess(0.5), {"gave_up": False})
    gave_up = DoneEnvironment().respond(Done("FAILED: no", guess=Guess(0.5), hint="say it otherwise"))
    assert (gave_up.guess, gave_up.hint, gave_up.text) == (None, "say it otherwise", "no")


def test_a_mapping_to_whole_numbers_does_not_say_how_many_there_are() -> None:
    asked = goal("How many triangles are in the graph?")
    triangles = function("triangles", needs("graph"))
    assert meets_criterion(result(triangles, "{0: 18, 1: 12}", "dict"), asked) == -1
    for shown, type_ in (("[(0, 1, 2)]", "list"), ("{'a': 'b', 'c': 3}", "dict"), ("45", "int")):
        assert meets_criterion(result(triangles, shown, type_), asked) == 0


def test_an_object_that_says_nothing_is_no_measure() -> None:
    asked = goal("What is the shortest path in the graph?")
    path = function("path_graph")
    assert meets_criterion(result(path, "Graph with 2 nodes", "Graph", as_text=True), asked) == 0
    assert meets_criterion(result(path, "[0, 1]", "list"), asked) == 1


def chance(of: Result, asked: Goal) -> float:
    """The chance of a result that is nearly sure by itself."""
    asked.scored[id(of)] = of, 0.99
    return certainty(of, asked)


def test_a_picture_is_no_object_that_only_says_what_it_is() -> None:
    for verb in ("Plot", "Draw"):
        asked = goal(f"{verb} the star graph")
        star = result(function("star_graph"), "Graph with 2 nodes", "Graph", as_text=True)
        assert chance(star, asked) == 0.0 and "no picture" in doubt(star, asked)
        drawn = result(function("draw_star_graph"), "Graph with 2 nodes", "Graph", as_text=True)
        assert chance(drawn, asked) > 0.0
    asked = goal("Make the star graph")
    assert chance(result(function("star_graph"), "Graph with 2 nodes", "Graph", as_text=True), asked) > 0.0


STALL = '''
"""A stall."""


def price(fruit: str, market: str = "north") -> float:
    """The price of a fruit; the market makes no difference."""
    return len(fruit) * 1.5


def discount(fruit: str, percent: int = 10) -> float:
    """What a fruit costs less."""
    return len(fruit) * percent / 100


def scores(fruits: list) -> list:
    """The score of each fruit."""
    return [(fruit, 9 - len(fruit)) for fruit in fruits]


def bonds(fruits: list) -> list:
    """The bond of each fruit to each other, as pairs of weights."""
    return [(1, 5), (1, 3), (2, 4)]
'''


@pytest.fixture
def stall(tmp_path: Path) -> Path:
    folder = tmp_path / "stall"
    folder.mkdir()
    (folder / "stall.py").write_text(STALL)
    return folder


@pytest.fixture
def networkx(with_networkx: Path) -> str:
    """The source, indexed in this test's CODENAV_HOME."""
    return "pkg:networkx"


def ask(request: str, on: str | Path) -> EpisodeResult:
    return api.run(request, on=on, model="planner", lint=False, types=False)


def test_what_a_call_gives_the_same_without_was_not_used(stall: Path) -> None:
    told = ask("What is the price of 'fig' at 'south'?", stall)
    assert told.status == "failed" and "takes 'south'" in told.reason, told.answer
    assert ask("What is the discount of 'fig' of 20?", stall).answer == "0.6"


def test_pairs_have_no_lowest_one(stall: Path) -> None:
    told = ask("Which of the bonds of ['kiwi', 'fig'] is lowest?", stall)
    assert told.status == "failed" or "lowest" in " ".join(told.guess.unused if told.guess else ()), told.answer


@pytest.mark.parametrize(
    ("request_", "answer", "unused_"),
    [
        ("shortest path from 0 to 33 in the karate club graph", "[0, 8, 33]", ()),
        ("Which node of the karate club graph has the lowest degree?", "11", ()),
        (
            "Which node of the karate club graph has the highest betweenness and what is its value?",
            "0",
            ("and what is its value",),
        ),
    ],
)
def test_wrong_claims_on_a_real_package_are_right_or_say_what_is_left(
    networkx: str, request_: str, answer: str, unused_: tuple[str, ...]
) -> None:
    told = ask(request_, networkx)
    assert (told.answer, told.summary.verified) == (answer, True), told.reason
    assert told.guess is not None and tuple(told.guess.unused) == unused_
    assert 0.45 <= told.guess.chance <= 1 and len(told.guess.others) <= OTHERS


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("degree of node 33 in the karate club graph", "33"),
        ("plot the karate club graph", "no picture"),
        ("Draw the karate club graph in the style of Monet", "monet"),
    ],
)
def test_wrong_claims_on_a_real_package_are_no_longer_made(networkx: str, request_: str, why: str) -> None:
    told = ask(request_, networkx)
    assert (told.status, told.exit_code, told.answer) == ("failed", 1, "") and why in told.reason
    assert told.guess is None and "karate_club_graph(" in told.hint


def test_a_person_sees_it_also_with_quiet_and_afterwards(networkx: str) -> None:
    request = "How many triangles are in the karate club graph?"
    ran = codenav("run", request, "--on", networkx, "--quiet")
    assert (ran.code, without_evidence(ran.out)) == (0, "45\nsummary: reproduced\n"), ran.err
    assert re.fullmatch(r"a guess: \d\d % likely; next best: 0\.25\d+ \(\d+ %\), 34 \(\d+ %\)[^\n]*\n", ran.err)
    shown = codenav("episodes", "show", "last").out
    assert f"Guess    {ran.err.removeprefix('a guess: ').strip()}" in shown
    document = codenav("episodes", "show", "last", "--json").document
    assert list(document["guess"]) == ["chance", "others", "unused"] and document["guess"]["unused"] == []


def test_what_is_no_guess_says_nothing_of_chances(stall: Path) -> None:
    ran = codenav("run", "print(6 * 7)", "--on", stall, "--quiet")
    assert (ran.code, without_evidence(ran.out), ran.err) == (0, "42\nsummary: reproduced\n", "")


def test_a_failure_says_what_to_try(networkx: str) -> None:
    ran = codenav("run", "Send an e-mail to 'ann@example.org'", "--on", networkx, "--quiet")
    assert ran.code == 1 and "\nTry: " in ran.err and "Nearest" not in ran.err and "(" in ran.err.split("Try:")[1]


def test_a_record_from_before_has_no_guess() -> None:
    lines = [
        '{"event":"run_started","format":1,"id":"","request":"r","started":"","model":"planner","sources":[],'
        '"description":"","prompt":"","sandbox":{},"work_dir":"","limits":{"steps":1,"seconds":1.0,"tokens":0,'
        '"invalid_actions":5},"codenav":"0.1.0"}',
        '{"event":"run_ended","status":"done","answer":"3","summary":{"code":"","verified":false,"reason":""},"usage":'
        '{"requests":0,"input_tokens":0,"output_tokens":0,"seconds":0,"estimated":false},"seconds":1.0,"reason":"",'
        '"hint":"","exit_code":0}',
    ]
    before = EpisodeResult.from_events(lines)
    assert (before.answer, before.guess, before.to_dict()["guess"]) == ("3", None, None)
    lines[1] = lines[1].replace('"exit_code"', '"guess":{"chance":0.5,"others":[],"unused":["x"]},"exit_code"')
    assert EpisodeResult.from_events(lines).guess == Guess(0.5, (), ("x",))
