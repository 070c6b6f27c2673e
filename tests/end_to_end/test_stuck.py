"""A model that does the same again with nothing new: told at the second time, ended as failed at the fourth."""

from __future__ import annotations

from pathlib import Path

import codenav
from codenav.core.actions import Action

FAILS = codenav.Code("1 / 0")


def run(library: Path, *actions: Action) -> codenav.EpisodeResult:
    return codenav.run("Go.", on=library, model=codenav.ScriptedModel(list(actions)), checks_types=False)


def notes(result: codenav.EpisodeResult) -> list[str]:
    return [step.observation.note for step in result.steps]


def test_the_same_failing_code(library: Path) -> None:
    # An agent draws failing code again before it runs, so a script plays each repetition twice.
    result = run(library, FAILS, *[FAILS] * 6, codenav.Done("never"))
    assert result.status == "failed" and result.exit_code == 1
    assert result.reason == "the model is stuck: the same code failed 4 times with nothing new (code: 1 / 0)"
    assert len(result.steps) == 4
    first, second, third, _ = notes(result)
    assert first == ""
    assert second.startswith("This is the second time: the same code failed, and nothing new came of it.")
    assert third.endswith("Do something else; once more ends the work.")
    assert codenav.load_episode(result.id).steps[1].observation.text.endswith(second)


def test_an_error_that_other_code_repeats(library: Path) -> None:
    result = run(library, *(codenav.Code(f"x = {number}\nmissing_name") for number in range(4)))
    assert result.status == "failed" and "the same error 4 times" in result.reason


def test_the_same_search_with_nothing_new(library: Path) -> None:
    search = codenav.Search("harvest zebra")
    result = run(library, search, *[search] * 9)
    assert result.status == "failed" and "the same search" in result.reason and "harvest zebra" in result.reason


def test_the_same_question_that_nobody_answers(library: Path) -> None:
    result = run(library, *[codenav.Ask("Which field?")] * 4)
    assert "the same step with the same answer 4 times" in result.reason


def test_work_that_goes_on_is_not_stuck(library: Path) -> None:
    """The same test after each change, output that looks the same, and pages of one search are no repetition."""
    tries = [
        action
        for number in range(5)
        for action in (codenav.Code(f"changed = {number}"), codenav.Code("assert changed == 4"))
    ]
    silent = [codenav.Code(f"len({'x' * number!r}); None") for number in range(5)]
    result = run(library, *tries, *silent, codenav.Done("5"))
    assert (result.status, result.answer) == ("done", "5")
    assert not any(notes(result))
