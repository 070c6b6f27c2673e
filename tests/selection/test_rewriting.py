"""The rewriting of requests from the turns before, and the settings of what orders hits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Fault

from codenav.agents.models import ChatModel, FunctionModel
from codenav.core.blocks import Hit, SearchResult
from codenav.core.config import load_config
from codenav.core.errors import RankingFailed, UsageError
from codenav.core.messages import Message
from codenav.core.protocols import Model
from codenav.core.setting import updated
from codenav.core.tool_selection import ToolSelection
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.selection.rewriting import Rewriter, prompt_of
from codenav.session.services import Services

TURNS = [
    Message("user", "Show the mugs of the shop"), Message("assistant", "There are a blue one and a red one."),
]  # fmt: skip


REQUEST = "Order the red one twice"


def rewriter(model: Model, told: list[str] | None = None, **settings: Any) -> Rewriter:
    return Rewriter(model, ToolSelection(**settings), tell=(told if told is not None else []).append)


@pytest.mark.parametrize(("trigger", "turns", "acts"), [(0, 0, False), (0, 1, True), (3, 2, False), (2, 2, True)])
def test_a_request_is_written_anew_from_the_turns_before(trigger: int, turns: int, acts: bool) -> None:
    asked: list[Any] = []

    def answer(messages: Sequence[Message]) -> str:
        asked.append(messages)
        return '"Order the red mug of the shop twice"\n'

    writer = rewriter(FunctionModel(answer), rewrite_turns=2, rewrite_trigger=trigger)
    assert writer.rewrite((), "") == ""
    written = writer.rewrite(TURNS[:turns], REQUEST)
    if not acts:
        assert written == REQUEST and not asked
        return
    assert written == "Order the red mug of the shop twice"
    ((system, user),) = asked
    assert system.role == "system" and "Do not answer" in system.content
    assert user.content == f"{TURNS[turns - 1].role}: {TURNS[turns - 1].content}\n\nuser: {REQUEST}"


def test_what_is_written_is_no_longer_than_allowed() -> None:
    writer = rewriter(FunctionModel(lambda messages: "word " * 1000), rewrite_tokens=16)
    assert len(writer.rewrite(TURNS, REQUEST)) == 64


@pytest.mark.parametrize(("reply", "why"), [(Fault(401, "who are you?"), "who are you?"), (" ... ", "wrote no words")])
def test_a_model_that_fails_is_skipped_or_ends_the_work(reply: Any, why: str) -> None:
    told: list[str] = []
    with ChatServer([reply] * 2) as server, closing(ChatModel("m", base_url=server.url)) as model:
        assert rewriter(model, told).rewrite(TURNS, REQUEST) == REQUEST
        with pytest.raises(RankingFailed, match=re.escape(why)):
            rewriter(model, rewrite_failure="abort").rewrite(TURNS, REQUEST)
    assert told[0].startswith("the request was not written anew") and why in told[0]


def test_the_model_is_asked_for_few_tokens_and_with_the_prompt_of_a_file(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Say it again.\n")
    with ChatServer(["Order the red mug"]) as server:
        settings = ToolSelection(rewrite_model="m", rewrite_tokens=50, rewrite_prompt=str(prompt), rankers=[Kept()])
        with Services(settings, base_url=server.url) as services:
            ranking = services.ranking(None, REQUEST, TURNS)
            assert ranking
            ranking.ranked(SearchResult("mug"), CombinedIndex([]), shown=1)
        (request,) = server.requests
    assert request.body["max_tokens"] == 50 and request.body["messages"][0]["content"] == "Say it again."


class Kept:
    """A ranker that leaves the order as it is."""

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits


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
