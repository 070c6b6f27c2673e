"""Questions to a person: which of several sources a request is about, and values that nothing holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from command_line import codenav
from pseudo_terminal import END_OF_INPUT, on_terminal
from tool_service import PASSWORD, USER, ToolService

import codenav as package
from codenav.agents.models.scripted import ScriptedModel
from codenav.core.actions import Action, Ask, Code, Done, Search, SearchObservation
from codenav.core.errors import UsageError
from codenav.environments.endings import NOBODY

PLAIN: dict[str, Any] = {"sandbox": "bubblewrap", "checks_lint": False, "checks_types": False}
CLEAR, UNCLEAR = "How much hay does a field of the farm give at harvest?", "How many are there?"
ACTIONS: list[Action] = [Search("count"), Done("12")]
SCRIPT = "".join(f"<action><type>{one.type}</type><content>\n{one.content}\n</content></action>\n" for one in ACTIONS)
BOOK = "from tools.hotel import book_room\nprint(book_room(guest_email='ann@made.up', nights=2))"


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    """Two code bases with a function of the same name."""
    for name, about in (("farm", "Fields of a farm, their hay and harvest."), ("zoo", "Animals of a zoo.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(
            f'"""{about}"""\n\n\ndef count() -> int:\n    """Count what there is: {about}"""\n    return 12\n'
        )
    return [tmp_path / "farm", tmp_path / "zoo"]


@pytest.fixture
def hotel(tmp_path: Path) -> str:
    """A list of functions that one handler of this process answers."""
    parameters = {
        "type": "object",
        "required": ["guest_email", "nights"],
        "properties": {"guest_email": {"type": "string"}, "nights": {"type": "integer"}},
    }
    path = tmp_path / "hotel.json"
    path.write_text(json.dumps([{"name": "book_room", "description": "Book a room.", "parameters": parameters}]))
    return f"tools:{path}"


class Person:
    """A callback that answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: str | None) -> None:
        self.asked: list[str] = []
        self._answers = iter(answers)

    def __call__(self, question: str) -> str | None:
        self.asked.append(question)
        return next(self._answers)


def run(request: str, on: Sequence[Path] | str, actions: list[Action] = ACTIONS, **more: Any) -> package.EpisodeResult:
    return package.run(request, on=on, model=ScriptedModel(actions), **PLAIN, **more)


def first_source(result: package.EpisodeResult) -> str:
    """The source of the first hit of the first search, by the name of its folder."""
    seen = next(one.observation for one in result.steps if isinstance(one.observation, SearchObservation))
    assert {Path(hit.source).name for hit in seen.results[0]} == {"farm", "zoo"}, "both are searched"
    return Path(seen.results[0].hits[0].source).name


def asks(result: package.EpisodeResult) -> list[str]:
    return [step.observation.text for step in result.steps if isinstance(step.action, Ask)]


def test_the_source_that_a_request_fits_is_searched_first_and_nobody_is_asked(both: list[Path]) -> None:
    person, told = Person(), list[str]()
    for on in (both, both[::-1]):
        result = run(CLEAR, on, ask=person, notice=told.append)
        assert first_source(result) == "farm" and not asks(result)
    assert person.asked == [] and len(told) == 2
    assert told[0].endswith("/farm is searched first: the request fits its description best")
    assert told[1] in package.load_episode(result.id).notices
    # A search whose own words fit the other source finds that one first.
    assert first_source(run(CLEAR, both, [Search("count animals of the zoo"), Done("12")])) == "zoo"


def test_a_request_that_fits_none_is_asked_about_and_the_answer_stays(both: list[Path]) -> None:
    person = Person("zoo")
    result = run(UNCLEAR, both, ask=person)
    assert first_source(result) == "zoo" and asks(result) == ["Answer: zoo"]
    assert person.asked[0].startswith("Which source is this request about?\n1 ") and "\n2 " in person.asked[0]
    recorded = package.load_episode(result.id)
    assert asks(recorded) == ["Answer: zoo"] and any("searched first" in notice for notice in recorded.notices)
    # What was answered is not asked again, and the model is told of it.
    again = package.resume("last", model=ScriptedModel([*ACTIONS]), ask=person, **PLAIN)
    assert first_source(again) == "zoo" and len(person.asked) == 1 and not asks(again)
    assert f"{person.asked[0]} zoo" in again.description


def test_an_answer_that_is_no_choice_is_asked_for_once_more(both: list[Path]) -> None:
    for answers, first in ((("9", "2"), "zoo"), (("9", "neither"), ""), (("all",), ""), ((None,), "")):
        person = Person(*answers)
        result = run(UNCLEAR, both, ask=person)
        assert len(person.asked) == len(answers) and len(set(person.asked)) == 1
        assert asks(result)[-1] == (f"Answer: {answers[-1]}" if answers[-1] else NOBODY)
        told = list(package.load_episode(result.id).notices)
        left = ["'neither' names none of the sources: all are searched alike"] if "neither" in answers else []
        assert (len(told) == 1 and first_source(result) == first) if first else told == left


def test_nobody_there_means_that_all_are_searched_without_a_word(both: list[Path]) -> None:
    cases: list[dict[str, Any]] = [{}, {"ask": Person("zoo"), "max_questions": 0}]
    for more in cases:
        result = run(UNCLEAR, both, **more)
        assert [step.action for step in result.steps] == ACTIONS and not package.load_episode(result.id).notices


def test_a_larger_model_is_asked_before_a_person_is(both: list[Path], chat_server: ChatServer) -> None:
    chat_server.script = ["2", *ACTIONS, "0: several do", *ACTIONS]
    for first, asked in (("zoo", 0), ("farm", 1)):
        person = Person("1")
        result = package.run(
            UNCLEAR, on=both, model="large", base_url=chat_server.url, profile="full", ask=person, **PLAIN
        )
        assert first_source(result) == first and len(person.asked) == asked
        assert result.usage.requests == 3 and sum(step.usage.requests for step in result.steps) == 3


def test_answers_given_beforehand_come_first_and_those_left_over_are_told(both: list[Path]) -> None:
    person, told = Person("hay"), list[str]()
    actions: list[Action] = [Ask("Which year?"), Ask("Of what?"), Ask("Anything else?"), Done("12")]
    result = run(UNCLEAR, both, actions, ask=person, answer=["1", "2024"], notice=told.append)
    assert asks(result) == ["Answer: 1", "Answer: 2024", "Answer: hay", NOBODY], "three are all"
    assert person.asked == ["Of what?"]
    run(CLEAR, both, answer=["1", "2"], notice=told.append)
    assert told[-1] == "no question came for '1', '2' (--answer)"
    with pytest.raises(UsageError, match="an answer is empty"):
        run(CLEAR, both, answer=[" "])


def test_answers_on_the_command_line(both: list[Path], tmp_path: Path) -> None:
    script = tmp_path / "a.actions"
    script.write_text(SCRIPT)
    common = ("--on", both[0], "--on", both[1], "--sandbox", "bubblewrap", "--model", f"scripted:{script}")
    ran = codenav("run", UNCLEAR, *common, "--answer", "zoo", "--answer", "more")
    assert ran.code == 0 and "zoo is searched first: that was the answer" in ran.err, ran.err
    assert ran.err.count("no question came for 'more' (--answer)") == 1
    empty = codenav("run", UNCLEAR, *common, "--answer", "")
    assert empty.code == 2 and "an answer is empty" in empty.err and "Traceback" not in empty.err


def test_a_terminal_answers_or_goes_away(both: list[Path], tmp_path: Path) -> None:
    script = tmp_path / "a.actions"
    script.write_text(SCRIPT)
    common = ("--on", both[0], "--on", both[1], "--sandbox", "bubblewrap", "--model", f"scripted:{script}")
    for typed, told in (("2\n", "zoo is searched first"), (END_OF_INPUT, "nobody is there to answer")):
        code, shown = on_terminal("run", UNCLEAR, *common, answers={"A number, a name, or all": typed})
        assert code == 0 and told in shown and shown.rstrip().splitlines()[-1].startswith("12"), shown


def booked(hotel: str, actions: list[Action], **more: Any) -> tuple[package.EpisodeResult, list[str]]:
    """A run that may book rooms, and the addresses that were sent."""
    sent: list[str] = []

    def book_room(guest_email: str, nights: int) -> str:
        sent.append(guest_email)
        return "booked"

    request = more.pop("request", "Book a room for Ann, two nights.")
    return run(request, hotel, actions, handlers={"book_room": book_room}, **{"allow": "all", **more}), sent


def test_a_value_that_nothing_holds_is_asked_for_before_it_is_sent(hotel: str) -> None:
    person = Person("ann@real.org")
    right = BOOK.replace("made.up", "real.org")
    twice = (
        f"try:\n    {BOOK.replace(chr(10), chr(10) + '    ')}\nexcept RuntimeError as error:\n    print(error)\n{BOOK}"
    )
    result, sent = booked(hotel, [Code(twice), Code(right), Done("booked")], ask=person)
    assert sent == ["ann@real.org"] and len(person.asked) == 1
    assert "hotel.book_room needs guest_email, and nothing so far holds 'ann@made.up'" in person.asked[0]
    said = "the person says that guest_email is 'ann@real.org', not 'ann@made.up'"
    assert said in result.steps[0].observation.text and not result.steps[0].observation.ok
    assert result.steps[1].observation.ok and result.summary.verified and "real.org" in result.summary.code


def test_what_was_answered_is_known_after_a_resume(hotel: str) -> None:
    right = BOOK.replace("made.up", "real.org")
    booked(hotel, [Code(BOOK), Done("FAILED: refused")], ask=Person("ann@real.org"))
    sent: list[str] = []

    def book_room(guest_email: str, nights: int) -> str:
        sent.append(guest_email)
        return "booked"

    handlers = {"book_room": book_room}
    model = ScriptedModel([Code(right), Done("booked")])
    package.resume("last", model=model, handlers=handlers, allow="all", ask=Person(), **PLAIN)
    assert sent == ["ann@real.org"]


@pytest.mark.parametrize("answer", ["keep", "", None])
def test_a_value_that_is_kept_or_that_nobody_answers_for_is_sent(hotel: str, answer: str | None) -> None:
    result, sent = booked(hotel, [Code(BOOK), Code(BOOK), Done("booked")], ask=Person(answer))
    assert sent == ["ann@made.up"] * 2
    told = [notice for notice in package.load_episode(result.id).notices if "check it" in notice]
    assert len(told) == (answer is None)


def test_values_that_something_holds_are_not_asked_about(hotel: str) -> None:
    person = Person()
    printed = Code("guest = '@'.join(['ann', 'made.up'])\nprint(guest)")
    computed = BOOK.replace("'ann@made.up'", "'@'.join(['ann', 'made.up'])")
    assert booked(hotel, [Code(BOOK), Done("1")], ask=person, request="Book two nights (ANN@MADE.UP).")[1]
    assert booked(hotel, [printed, Code(BOOK), Done("1")], ask=person)[1]
    assert booked(hotel, [Code(computed), Done("1")], ask=person)[1]
    # A call that is not made needs no value.
    assert not booked(hotel, [Code(BOOK), Done("1")], ask=person, allow="read")[1]
    assert not booked(hotel, [Code(BOOK), Done("1")], ask=person, allow="dry-run")[1]
    assert person.asked == []


def test_a_value_is_asked_for_on_the_terminal_while_the_call_waits(
    shop: str, service: ToolService, tmp_path: Path
) -> None:
    login = "from tools.shop import login\nprint(login(user='{}', password='{}')['session'])"
    codes = [login.format("ann@made.up", PASSWORD), login.format(USER, PASSWORD)]
    script = tmp_path / "login.actions"
    code = "".join(f"<action><type>code</type><content>\n{one}\n</content></action>\n" for one in codes)
    script.write_text(f"{code}<action><type>done</type><content>\nsession-1\n</content></action>\n")
    code, shown = on_terminal(
        "run", f"Log in; the password is {PASSWORD}.", "--on", shop, "--allow", "write", "--sandbox", "bubblewrap",
        "--secret", "shop_key=SHOP_KEY", "--set=checks.types=no", "--model", f"scripted:{script}",
        answers={"nothing so far holds 'ann@made.up'": f"{USER}\n"},
    )  # fmt: skip
    assert code == 0, shown
    assert [seen.form()["user"] for seen in service.writes] == [[USER]]
    assert f"the person says that user is '{USER}'" in shown or "session-1" in shown


def test_a_small_model_searches_the_source_that_a_person_names(both: list[Path], chat_server: ChatServer) -> None:
    chat_server.script = ["```python\nimport zoo\nprint(zoo.count())\n```", "ANSWER: 12"]
    result = package.run(
        UNCLEAR, on=both, model="small", base_url=chat_server.url, profile="small", tries=1, ask=Person("zoo"),
        **PLAIN,
    )  # fmt: skip
    assert [step.action.type for step in result.steps[:3]] == ["ask", "search", "code"] and result.answer == "12"
    offers = result.steps[1].observation.text
    assert offers.index("zoo") < offers.index("farm")
    # It is shown no question, and has no move for one.
    assert "Which source" not in json.dumps(chat_server.chats)
