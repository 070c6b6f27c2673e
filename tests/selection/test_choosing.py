"""The choice among many tools: limits, threshold, what is kept anyway, failures, and the rewriting of requests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Fault
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_servers import RankingServer, Reply

from codenav.agents.models import ChatModel, FunctionModel
from codenav.core.config import load_config
from codenav.core.errors import ModelFailed, ModelRefused, Unavailable, UsageError
from codenav.core.messages import Message
from codenav.core.setting import updated
from codenav.core.tool_selection import ToolSelection
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.selection.choosing import Choice, EncoderScorer, Rewriter, ToolSelector, prompt_of
from codenav.retrieval.selection.rerank import RerankServer
from codenav.session.services import Services

TOOLS = [
    ("list", "list the products of the shop"), ("order", "order a product"), ("delete", "delete a user"),
    ("rate", "rate a product of the shop"), ("weather", "forecast for a city"),
]  # fmt: skip
REQUEST = "order a product of the shop"


class Fixed:
    """A scorer that knows its scores."""

    def __init__(self, *scores: float) -> None:
        self.scores, self.asked = scores, 0

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked += 1
        return self.scores[: len(texts)]


def chosen(scores: Sequence[float], keep: Sequence[str] = (), **settings: Any) -> Choice:
    selector = ToolSelector(ToolSelection(**{"rerank_trigger": 0, **settings}), scorer=Fixed(*scores))
    return selector.choose(REQUEST, TOOLS[: len(scores)], keep=keep)


def test_the_best_are_kept_in_the_order_in_which_they_were_given() -> None:
    found = chosen([0.1, 0.9, 0.3, 0.8, 0.2], rerank_top=3)
    assert found.ids == ("order", "delete", "rate") and found.ranked == ("order", "rate", "delete")
    assert found.scores["weather"] == 0.2 and found.query == REQUEST and not found.notes


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"rerank_top": 0}, 5), ({"rerank_top": 2}, 2), ({"rerank_percent": 40}, 2), ({"rerank_percent": 41}, 3),
        ({"rerank_percent": 1}, 1), ({"rerank_percent": 60, "rerank_top": 2}, 2), ({"rerank_threshold": 0.3}, 3),
        ({"rerank_threshold": 0.95}, 0), ({"rerank_threshold": 0.25, "rerank_top": 1}, 1),
    ],
)  # fmt: skip
def test_limits(limits: dict[str, Any], kept: int) -> None:
    assert len(chosen([0.1, 0.9, 0.3, 0.8, 0.2], **limits).ids) == kept


def test_what_the_conversation_called_is_kept() -> None:
    found = chosen([0.1, 0.9, 0.3, 0.8, 0.2], rerank_top=1, keep=["weather", "unknown"])
    assert found.ids == ("order", "weather")


@settings(max_examples=50)
@given(
    scores=st.lists(st.floats(-10, 10), min_size=1, max_size=5), top=st.integers(0, 6),
    percent=st.floats(0.001, 100), threshold=st.floats(-5, 5), keep=st.sets(st.sampled_from([id for id, _ in TOOLS])),
)  # fmt: skip
def test_whatever_the_settings_what_is_kept_is_the_best(
    scores: list[float], top: int, percent: float, threshold: float, keep: set[str]
) -> None:
    found = chosen(scores, sorted(keep), rerank_top=top, rerank_percent=percent, rerank_threshold=threshold)
    given = [id for id, _ in TOOLS[: len(scores)]]
    assert list(found.ids) == [id for id in given if id in found.ids] and set(found.ids) == set(found.ranked)
    assert keep & set(given) <= set(found.ids)
    by_score = set(found.ids) - keep
    left = [found.scores[id] for id in given if id not in found.ids]
    assert not by_score or not left or min(found.scores[id] for id in by_score) >= max(left) or threshold
    assert not top or len(by_score) <= top


def test_below_the_trigger_nobody_is_asked() -> None:
    scorer = Fixed(0.1, 0.2, 0.3, 0.4, 0.5)
    selector = ToolSelector(ToolSelection(rerank_trigger=6, rerank_top=1), scorer=scorer)
    assert selector.choose(REQUEST, TOOLS) == Choice(tuple(id for id, _ in TOOLS))
    assert scorer.asked == 0 and selector.choose(REQUEST, []).ids == ()
    assert ToolSelector(ToolSelection(rerank_top=1)).choose(REQUEST, TOOLS).ids == tuple(id for id, _ in TOOLS)


def test_a_service_that_fails_is_skipped_or_ends_the_work() -> None:
    with RankingServer(replies=[Reply(body={"results": []})] * 2) as server:
        scorer = RerankServer(server.url)
        found = ToolSelector(ToolSelection(rerank_top=1), scorer=scorer).choose(REQUEST, TOOLS)
        assert found.ids == tuple(id for id, _ in TOOLS) and not found.scores
        assert "nothing was ranked: the rerank service" in found.notes[0]
        with pytest.raises(Unavailable, match="0 scores for 5 texts"):
            ToolSelector(ToolSelection(rerank_failure="abort"), scorer=scorer).choose(REQUEST, TOOLS)


def test_an_encoder_scores_too() -> None:
    with RankingServer() as server:
        scorer = EncoderScorer(open_encoder(server.url))
        found = ToolSelector(ToolSelection(rerank_top=1), scorer=scorer).choose("order a product", TOOLS)
    assert found.ids == ("order",) and found.scores["order"] == pytest.approx(1, abs=1e-6)


TURNS = [
    Message("user", "Show the mugs of the shop"), Message("assistant", "There are a blue one and a red one."),
    Message("user", "Order the red one twice"),
]  # fmt: skip


def rewriting(**settings: Any) -> tuple[ToolSelector, list[Any]]:
    asked: list[Any] = []

    def answer(messages: Sequence[Message]) -> str:
        asked.append(messages)
        return '"Order the red mug of the shop twice"\n'

    options = ToolSelection(rerank_trigger=0, **settings)
    rewriter = Rewriter(
        FunctionModel(answer), turns=options.rewrite_turns, tokens=options.rewrite_tokens,
        trigger=options.rewrite_trigger,
    )  # fmt: skip
    return ToolSelector(options, scorer=Fixed(1, 2, 3, 4, 5), rewriter=rewriter), asked


def test_a_request_is_written_anew_from_the_turns_before() -> None:
    selector, asked = rewriting(rewrite_turns=2)
    assert selector.choose(TURNS, TOOLS).query == "Order the red mug of the shop twice"
    (system, user), *_ = asked
    assert system.role == "system" and "Do not answer" in system.content
    assert user.content == "assistant: There are a blue one and a red one.\n\nuser: Order the red one twice"


@pytest.mark.parametrize(("trigger", "turns", "acts"), [(0, 1, False), (0, 2, True), (3, 3, False), (2, 3, True)])
def test_the_trigger_of_rewriting(trigger: int, turns: int, acts: bool) -> None:
    selector, asked = rewriting(rewrite_trigger=trigger)
    query, notes = selector.query(TURNS[-turns:])
    assert bool(asked) is acts and notes == () and (query == TURNS[-1].content) is not acts


def test_what_is_written_is_no_longer_than_allowed() -> None:
    rewriter = Rewriter(FunctionModel(lambda messages: "word " * 1000), tokens=16)
    assert len(rewriter.rewritten(TURNS)) == 64


def test_a_model_that_fails_is_skipped_or_ends_the_work() -> None:
    with ChatServer([Fault(401, "who are you?")] * 2) as server, closing(ChatModel("m", base_url=server.url)) as model:
        skipping = ToolSelector(ToolSelection(), scorer=Fixed(*range(5)), rewriter=Rewriter(model))
        found = skipping.choose(TURNS, TOOLS)
        assert found.query == TURNS[-1].content and "the request was not written anew" in found.notes[0]
        aborting = ToolSelector(ToolSelection(rewrite_failure="abort"), scorer=Fixed(), rewriter=Rewriter(model))
        with pytest.raises(ModelRefused):
            aborting.choose(TURNS, TOOLS)
    silent = Rewriter(FunctionModel(lambda messages: " ... "))
    with pytest.raises(ModelFailed, match="wrote no words"):
        silent.rewritten(TURNS)


def test_the_model_is_asked_for_few_tokens_and_with_the_prompt_of_a_file(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Say it again.\n")
    with ChatServer(["Order the red mug"]) as server:
        settings = ToolSelection(rewrite_model="m", rewrite_tokens=50, rewrite_prompt=str(prompt))
        with Services(settings, base_url=server.url) as services:
            assert services.selector.query(TURNS)[0] == "Order the red mug"
        (request,) = server.requests
    assert request.body["max_tokens"] == 50 and request.body["messages"][0]["content"] == "Say it again."


def test_prompts_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the prompt"):
        prompt_of(str(tmp_path / "none.md"))
    (tmp_path / "empty.md").touch()
    with pytest.raises(UsageError, match="is empty"):
        prompt_of(str(tmp_path / "empty.md"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rerank_url": "host:1"}, "is no address"), ({"embeddings": "file://x"}, "is no address"),
        ({"rerank_failure": "ignore"}, "one of skip, abort: ignore"), ({"rerank_percent": 0}, "above 0 and at most"),
        ({"rerank_percent": float("nan")}, "above 0"), ({"rewrite_tokens": 1}, "at least 16"),
        ({"rerank_seconds": 0}, "above 0"), ({"rerank_top": -1}, "0 \\(no limit\\) or above"),
    ],
)  # fmt: skip
def test_impossible_settings(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ToolSelection(**settings).checked()


def test_every_setting_is_a_key_of_the_configuration(codenav_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codenav_home.mkdir(exist_ok=True)
    (codenav_home / "config.toml").write_text('rerank_url = "http://localhost:1/rerank"\nrerank_top = 7\n')
    monkeypatch.setenv("CODENAV_RERANK_API_KEY", "secret")
    found = updated(load_config().selection, {"rerank_top": 3})
    expected = ToolSelection(rerank_url="http://localhost:1/rerank", rerank_top=3, rerank_api_key="secret")
    assert found == expected and "secret" not in repr(found)
    assert found.secrets() == {"rerank api key": "secret"}
    (codenav_home / "config.toml").write_text("rerank_percent = 101.0\n")
    with pytest.raises(UsageError, match=r"rerank\.percent in .* must be above 0 and at most 100"):
        load_config()
