"""The sets that the benchmark of retrieval reads: what cannot be judged or learnt from is one clear line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import retrieval_sets

TOOLS = [{"id": "orders", "name": "list_orders"}, {"id": "mugs", "name": "list_mugs"}]
REQUEST = {"id": "1", "query": "show my orders", "gold": ["orders"]}


def made(folder: Path, *requests: Any, tools: list[dict[str, Any]] = TOOLS) -> Path:
    """A set in a folder."""
    folder.mkdir(parents=True)
    for name, items in (("tools.jsonl", tools), ("dev.jsonl", requests)):
        (folder / name).write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
    return folder


def test_the_requests_of_the_set_with_the_same_name_are_learnt_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "judged" / "shop", REQUEST)
    made(tmp_path / "judged" / "bar", REQUEST)
    made(tmp_path / "learnt" / "shop", {**REQUEST, "id": "2"}, {**REQUEST, "id": "3", "gold": ["nobody"]})
    bar, shop = retrieval_sets.read(tmp_path / "judged", tmp_path / "learnt")
    assert ([one.id for one in shop.judged], [one.id for one in shop.train]) == (["1"], ["2"])
    assert not bar.train
    told = capsys.readouterr().err
    assert "shop: 1 requests want no tool, or an unknown one" in told
    assert f"{tmp_path / 'learnt'} has nothing to learn from for bar" in told


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([], "has no request to judge"),
        ([{**REQUEST, "gold": ["nobody"]}], "has no request to judge"),
        ([{**REQUEST, "gold": "orders"}], "dev.jsonl:1 has no list of ids for 'gold'"),
        ([REQUEST, {**REQUEST, "query": None}], "dev.jsonl:2 has no text for 'query'"),
        ([{"id": "1", "query": "orders"}], "dev.jsonl:1 has no 'gold'"),
    ],
)
def test_what_cannot_be_judged(tmp_path: Path, requests: list[Any], told: str) -> None:
    with pytest.raises(SystemExit, match=told):
        retrieval_sets.read(made(tmp_path / "shop", *requests), None)


def test_a_folder_without_sets_is_named_whether_it_is_judged_or_learnt_from(tmp_path: Path) -> None:
    shop, nothing = made(tmp_path / "shop", REQUEST), tmp_path / "nothing"
    for data, train in ((nothing, None), (shop, nothing)):
        with pytest.raises(SystemExit, match="nothing has no set"):
            retrieval_sets.read(data, train)


def test_other_sets_than_the_judged_ones_are_nothing_to_learn_from(tmp_path: Path) -> None:
    judged = made(tmp_path / "judged" / "shop", REQUEST).parent
    learnt = made(tmp_path / "learnt" / "bar", {**REQUEST, "id": "2"}).parent
    made(learnt / "pub", {**REQUEST, "id": "2"})
    with pytest.raises(SystemExit, match="learnt has no request to learn from for shop"):
        retrieval_sets.read(judged, learnt)
    with pytest.raises(SystemExit, match="judged has no set pub: shop"):
        retrieval_sets.read(judged, None, only=["pub"])
