"""Services in searches and in sessions: real servers, the command line, the record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from command_line import codenav
from ranking_servers import RankingServer, Reply

import codenav as package
from codenav.agents.models import ScriptedModel
from codenav.core.actions import Done, Search
from codenav.core.errors import RankingFailed, UsageError
from codenav.core.tool_selection import ToolSelection
from codenav.session.session import Session

NAMES = ["order_mug", "order_song", "find_mug", "mug_of_the_day", "drop_mug", "paint_mug"]
WORDS = {"paint_mug": "Colour a vessel in red.", "drop_mug": "Let it fall."}


@pytest.fixture
def shop(tmp_path: Path, codenav_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    lines = [f'def {name}(mug):\n    """{WORDS.get(name, "About a mug.")}"""\n    return 1\n' for name in NAMES]
    (folder / "actions.py").write_text("\n\n".join(lines))
    return folder


def names(found: Any) -> list[str]:
    return [hit.name for hit in found]


def test_a_search_is_reranked_and_the_document_says_so(shop: Path) -> None:
    asked = {"on": shop, "request": "colour a mug in red", "vectors": False}
    with RankingServer(rerank="tei") as server:
        found = package.search("mug", **asked, rerank_url=f"{server.url}/rerank")
        assert names(found)[0] == "paint_mug" != names(package.search("mug", **asked))[0]
        assert names(package.search("mug", **asked, rerank_url=server.url, rerank=False))[0] != "paint_mug"
    (vote, *_), place = found[0].moved.votes, found[0].moved.place
    assert vote.name == "rerank" and vote.weight == 1 and place > 1
    assert found.to_dict()["hits"][0]["moved"]["from"] == place


def test_a_search_by_meaning_goes_to_the_server_of_embeddings(shop: Path) -> None:
    with RankingServer() as server:
        found = package.search("colour vessel", on=shop, embeddings=f"{server.url}/v1", vectors=False)
        sent = len(server.requests)
        package.search("red vessel", on=shop, embeddings=f"{server.url}/v1", vectors=False)
    assert names(found)[0] == "paint_mug"
    # The vectors of blocks are kept: the second search encodes its query only, and asks for the name of the model.
    assert [len(request.body.get("input", ())) for request in server.requests[sent:]] == [0, 1]


def test_the_command_tells_what_failed_and_goes_on_or_ends(shop: Path) -> None:
    with RankingServer(replies=[Reply(body="<html>")] * 2) as server:
        asked = ("search", "mug", "--on", str(shop), "--set", f"rerank.url={server.url}")
        skipped = codenav(*asked)
        assert skipped.code == 0 and "Note: the search is not reranked: the rerank service" in skipped.err
        assert "web page" in skipped.err and "order_mug" in skipped.out
        ended = codenav(*asked, "--set", "rerank.failure=abort")
        assert ended.code == 4 and ended.err.startswith("Error: the rerank service") and not ended.out


def test_requests_of_a_session_are_written_anew_and_rank_its_searches(shop: Path) -> None:
    model = ScriptedModel([Search("mug"), Done("a red one"), Search("mug"), Done("done")])
    with RankingServer() as server, ChatServer(["Colour a vessel in red"]) as writer:
        settings = ToolSelection(
            rerank_url=server.url, rerank_api_key="secret-key", rewrite_model="writer", rewrite_tokens=40
        )
        os.environ["OPENAI_BASE_URL"] = writer.url
        try:
            with Session(on=shop, model=model, selection=settings, sandbox="process") as session:
                first = session.run("What is there?")
                second = session.run("Do it with the red one")
        finally:
            del os.environ["OPENAI_BASE_URL"]
    assert first.status == second.status == "done"
    assert [request.body["query"] for request in server.requests] == [
        "mug\nWhat is there?", "mug\nColour a vessel in red",
    ]  # fmt: skip
    (asked,) = writer.requests
    told = asked.body["messages"][-1]["content"]
    assert told == "user: What is there?\n\nassistant: a red one\n\nuser: Do it with the red one"
    assert asked.body["max_tokens"] == 40
    record = json.dumps(second.to_dict())
    assert '"rerank"' in record and "secret-key" not in record


def test_a_failure_that_is_to_end_the_work_ends_the_search(shop: Path) -> None:
    with RankingServer(replies=[Reply(403, {"error": "no"})]) as server, pytest.raises(RankingFailed, match="403: no"):
        package.search("mug", on=shop, rerank_url=server.url, rerank_failure="abort")
    with pytest.raises(UsageError, match="is no address"):
        package.search("mug", on=shop, rerank_url="localhost:1")
    with pytest.raises(UsageError, match="rerank_top must be"):
        package.search("mug", on=shop, rerank_top=-1)
