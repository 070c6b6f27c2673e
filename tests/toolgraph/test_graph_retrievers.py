"""`train_retriever`: what of the traces counts where several sources are trained on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retriever.made_examples import TOPICS, requests

from codenav.core.errors import UsageError
from codenav.toolgraph import retrievers
from codenav.toolgraph.retrievers import train_retriever


def test_traces_of_several_sources_count_once(tmp_path: Path) -> None:
    sources, names = [], list(TOPICS)
    for part in range(2):
        listed = [{"name": name[4:], "description": TOPICS[name][0]} for name in names[3 * part : 3 * part + 3]]
        path = tmp_path / str(part) / "set.json"
        path.parent.mkdir()
        path.write_text(json.dumps(listed))
        sources.append(f"tools:{path}")
    lines = [{"id": str(at), "request": text, "calls": [{"name": name}]} for at, (text, name) in enumerate(requests())]
    lines += [{"id": "other", "request": "Fly", "calls": [{"name": "set.unheard_of"}]}]
    lines += [{"id": f"no-{at}", "request": "Pay", "calls": [{"name": names[0]}], "verified": False} for at in range(3)]
    traces = tmp_path / "traces.jsonl"
    traces.write_text("".join(f"{json.dumps(line)}\n" for line in [*lines, {"id": "odd"}]))
    told: list[str] = []
    trained = train_retriever(sources, traces, tmp_path / "r", epochs=1, tell=told.append)
    assert (trained.requests, trained.callables) == (len(requests()), len(TOPICS))
    assert (trained.empty, trained.unverified, trained.unknown) == (1, 3, {"set.unheard_of": 1})
    assert len(told) == 1 and told[0].startswith("traces.jsonl, line 95, is left out: ")
    with pytest.raises(UsageError, match=r"left out: 3 not verified, 91 without .*, calls of set\.reserve_table, set"):
        train_retriever([_other(tmp_path)], traces, tmp_path / "s")


def test_of_many_requests_the_last_ones_are_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrievers, "MOST_REQUESTS", 80)
    (tmp_path / "set.json").write_text(json.dumps([{"name": name[4:]} for name in TOPICS]))
    lines = [{"id": str(at), "request": text, "calls": [{"name": name}]} for at, (text, name) in enumerate(requests())]
    (tmp_path / "traces.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    told, shares = list[str](), list[float]()
    trained = train_retriever(
        f"tools:{tmp_path / 'set.json'}", tmp_path / "traces.jsonl", tmp_path / "r", epochs=1, tell=told.append,
        done=shares.append,
    )  # fmt: skip
    assert trained.requests == 80 and told == ["of 90 requests the last 80 are trained on"]
    assert shares == sorted(shares) and shares[-1] == 1


def _other(folder: Path) -> Path:
    (folder / "lib").mkdir()
    (folder / "lib" / "a.py").write_text("def one():\n    pass\n\n\ndef two():\n    pass\n")
    return folder / "lib"
