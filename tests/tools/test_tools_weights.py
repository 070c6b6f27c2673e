"""Weights of tools in search results: shown in `why`, heeded among hits of equal score, left out if strict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind
from codenav.indexers.build import build
from codenav.indexers.sources import Source, together
from codenav.retrieval.combined import CombinedIndex
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.source_index import SourceIndex
from codenav.tools import weights
from codenav.tools.model import Operation, ToolSpec
from codenav.tools.state_files import write_state
from codenav.tools.weights import Checked

WORDS = "Count the mugs on a shelf of the shop."


def spec(name: str, *operations: tuple[str, str]) -> ToolSpec:
    """A specification with operations by name and title."""
    made = [Operation(one, one, title=title, result={"type": "integer"}) for one, title in operations]
    return ToolSpec(name, "tools", title=name, operations=tuple(made))


@pytest.fixture
def shelves(tmp_path: Path) -> Source:
    """Tools of equal words: without weights they are in the order of their paths."""
    state = tmp_path / "state"
    state.mkdir()
    write_state(spec("shelves", *((f"count_{letter}", WORDS) for letter in "abcdefghijkl")), state)
    return Source("tools:x", "tools:x", "x", state, tools=state)


@contextmanager
def opened(source: Source, folder: Path) -> Iterator[SourceIndex]:
    index = EmbeddedIndex(folder, source=source.name)
    build(source, index)
    with SourceIndex(source, index) as found:
        yield found


def lower(source: Source, *paths: str) -> None:
    """Note that trials of these tools failed."""
    assert source.tools
    weights.save(source.tools, {path: Checked(trial="its trial: 500") for path in paths})


def test_rules_rate_each_tool_when_its_state_is_written(tmp_path: Path) -> None:
    write_state(spec("shop", ("good", WORDS), ("bad", "todo")), tmp_path)
    found = weights.read(tmp_path)
    assert list(found) == ["shop/bad.tool"]
    assert found["shop/bad.tool"].weight == 0.67
    assert found["shop/bad.tool"].reasons == ("a placeholder for a description: 'todo'",)
    written = json.loads((tmp_path / weights.FILE).read_text())["shop/bad.tool"]
    assert written["rating"] == {"completeness": 3, "readability": 1, "findings": list(found["shop/bad.tool"].reasons)}


def test_a_failed_trial_and_a_silent_server_halve_the_weight() -> None:
    good = Checked()
    assert good.weight == 1
    assert replace(good, trial="404").weight == 0.5
    assert replace(good, trial="404", server="no answer").weight == 0.25
    assert replace(good, trial="404", server="no answer").reasons == ("404", "no answer")


def test_hits_of_equal_score_are_ordered_by_weight(shelves: Source, tmp_path: Path) -> None:
    with opened(shelves, tmp_path / "index") as index:
        before = index.search("mugs shelf")
        assert len({hit.score for hit in before}) == 1
        assert [hit.name for hit in before] == [f"count_{letter}" for letter in "abcdefghijkl"]
        assert "weight" not in before[0].why
        lower(shelves, "shelves/count_a.tool", "shelves/count_c.tool")
        after = index.search("mugs shelf")
        assert [hit.name[-1] for hit in after] == [*"bdefghijkl", "a", "c"]
        assert after[10].why.endswith("weight 0.5 (its trial: 500)")
        assert after.to_dict()["hits"][10]["why"] == after[10].why
        assert after.total == before.total == 12


def test_a_limit_cuts_after_the_order_by_weight(shelves: Source, tmp_path: Path) -> None:
    lower(shelves, *(f"shelves/count_{letter}.tool" for letter in "abcdefghij"))
    with opened(shelves, tmp_path / "index") as index:
        whole = [hit.id for hit in index.search("type:TOOL")]
        for limit in range(14):
            found = index.search("type:TOOL", limit=limit)
            assert [hit.id for hit in found] == whole[:limit]
            assert found.total == 12
        assert [hit.name[-1] for hit in index.search("type:TOOL", limit=3)] == ["k", "l", "a"]


def test_a_better_score_wins_over_a_weight(tmp_path: Path) -> None:
    write_state(spec("s", ("count_mugs", "Mugs: count mugs."), ("other", WORDS)), tmp_path)
    source = Source("tools:x", "tools:x", "x", tmp_path, tools=tmp_path)
    lower(source, "s/count_mugs.tool")
    with opened(source, tmp_path / "index") as index:
        assert [hit.name for hit in index.search("count mugs")] == ["count_mugs", "other"]


def test_strict_leaves_tools_out_that_a_check_found_wanting(shelves: Source, tmp_path: Path) -> None:
    lower(shelves, *(f"shelves/count_{letter}.tool" for letter in "abcdefghij"))
    with opened(shelves, tmp_path / "index") as index:
        index.strict = True
        for limit in (1, 2, 100):
            found = index.search("mugs shelf", limit=limit)
            assert [hit.name for hit in found] == ["count_k", "count_l"][:limit]
            assert found.total == 2
        assert [block.name for block in index.blocks()] == ["count_k", "count_l"]
        ids = [block.id for block in index.whole.blocks()]
        assert sum(index.get(id) is not None for id in ids) == 2
        index.strict = False
        assert len(list(index.blocks())) == 12
        assert sum(index.get(id) is not None for id in ids) == 12


def test_several_sources_in_one_index_and_several_indexes(shelves: Source, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_state(spec("annex", ("count_z", WORDS)), other)
    annex = Source("tools:y", "tools:y", "y", other, tools=other)
    lower(shelves, *(f"shelves/count_{letter}.tool" for letter in "bcdefghijkl"))
    lower(annex, "annex/count_z.tool")
    both = together("name:both", [shelves, annex])
    with opened(both, tmp_path / "both") as index:
        found = index.search("mugs shelf")
        assert found[0].name == "count_a"
        assert all(hit.why.endswith("weight 0.5 (its trial: 500)") for hit in found[1:])
        assert index.search("mugs", kinds=[BlockKind.CLASS]).total == 0
    lower(annex)
    with ExitStack() as ending:
        indexes = [
            ending.enter_context(opened(source, tmp_path / name)) for name, source in (("1", shelves), ("2", annex))
        ]
        # Without text, all hits have one score.
        found = CombinedIndex(indexes).search("type:TOOL")
        assert [hit.name for hit in found[:2]] == ["count_z", "count_a"]


def test_a_damaged_file_of_checks_weighs_nothing(shelves: Source, tmp_path: Path) -> None:
    assert shelves.tools
    with opened(shelves, tmp_path / "index") as index:
        for text in ("{", "[1]", '{"a": 7}', '{"a": {"rating": 3}}'):
            (shelves.tools / weights.FILE).write_text(text)
            assert index.search("mugs shelf").total == 12
