"""Negatives that a model writes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from retriever.made_examples import TOPICS, examples

from codenav.agents.models import FunctionModel
from codenav.core.errors import CodeNavError, ModelFailed, ModelUnreachable
from codenav.core.messages import Completion, Message
from codenav.retrieval.dense import making
from codenav.retrieval.dense.examples import EACH, GIVEN_UP, lures_of
from codenav.retrieval.dense.training import Prepared
from codenav.retrieval.dense.words import WordVectors

GOOD = ["Cancel a place to eat.", "Rate a restaurant.", "List what is served.", "One too many."]


def test_what_a_model_writes_becomes_negatives_of_the_callable() -> None:
    asked: list[str] = []

    def answer(messages: Sequence[Message]) -> str:
        asked.append(messages[-1].content)
        return f"Here they are:\n```json\n{json.dumps(GOOD)}\n```"

    data = lures_of(examples(), FunctionModel(answer))
    assert len(asked) == len(TOPICS) and all("Book a place" in text for text in asked if "reserve_table" in text)
    assert data.lures[0] == [f"reserve_table {line}" for line in GOOD[:EACH]]
    prepared = Prepared.of(data, WordVectors())
    assert len(prepared.texts) == len(TOPICS) * (1 + EACH)
    assert [len(places) for places in prepared.lures] == [EACH] * len(TOPICS)
    assert prepared.texts[prepared.lures[5][0]].size, "the text of a lure, not that of a callable"
    assert making.make([data], epochs=2).report.after["ndcg@5"] > 50


@pytest.mark.parametrize("text", ["", "I cannot.", "[1, 2, null]", "[unclosed", '{"a": [', "]["])
def test_answers_that_are_no_list_are_told_once(text: str) -> None:
    answers = iter([json.dumps(GOOD)])
    told: list[str] = []
    data = lures_of(examples(), FunctionModel(lambda messages: next(answers, text)), tell=told.append)
    assert len(data.lures) == 1
    assert len(told) == 1 and told[0].endswith(
        f"wrote nothing usable about {len(TOPICS) - 1} of {len(TOPICS)} callables"
    )
    asked: list[int] = []
    with pytest.raises(CodeNavError, match="wrote no negatives at all"):
        lures_of(examples(), FunctionModel(lambda messages: asked.append(1) or text))
    assert len(asked) == GIVEN_UP < len(TOPICS)


def test_a_model_that_does_not_answer_ends_it() -> None:
    def down(messages: Sequence[Message]) -> Completion:
        raise ModelUnreachable("nobody is there")

    with pytest.raises(ModelUnreachable):
        lures_of(examples(), FunctionModel(down))


def test_a_model_that_fails_each_time_is_asked_a_few_times() -> None:
    def broken(messages: Sequence[Message]) -> Completion:
        raise ModelFailed("out of memory")

    with pytest.raises(CodeNavError, match="wrote no negatives at all: out of memory"):
        lures_of(examples(), FunctionModel(broken))
