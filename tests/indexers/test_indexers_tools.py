"""Tool sources as sources like any other: blocks in both stores, builds, named indexes, names that clash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import codenav
from codenav.cli.sandbox_build import contents
from codenav.core.actions import Search
from codenav.core.blocks import BlockKind
from codenav.core.errors import NotFound, UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.environments import SearchEnvironment
from codenav.indexers.build import build
from codenav.indexers.place import Place
from codenav.indexers.sources import Source, key_of, lasting, resolve
from codenav.indexers.tool_blocks import tool_blocks
from codenav.navigation.verbs import describe
from codenav.retrieval.embedded.index import EmbeddedIndex
from codenav.retrieval.source_index import remove_index
from codenav.retrieval.watching import watch
from codenav.session.importing import importable_text, paths_of
from codenav.session.sandbox_factory import labels_of

TOOLSET = """
name: {name}
title: A bakery
version: "3"
server: http://127.0.0.1:1
sets:
- name: goods
  intent: [Find out what the bakery sells]
  guidance: Ask for the goods first; they have numbers.
  examples:
  - request: What is there with nuts?
    calls: [{{tool: find_goods, arguments: {{kind: nuts}}}}]
  tools:
  - name: find_goods
    text: {text}
    url: /goods
    parameters:
      kind: {{type: string, text: A kind of goods, required: true, enum: [bread, nuts]}}
  - name: order_goods
    text: Order goods of the bakery.
    url: /orders
    method: POST
    parameters:
      number: {{type: integer, text: The number of the goods, required: true}}
"""


def toolset(folder: Path, *, name: str = "bakery", text: str = "Find goods by their kind.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(TOOLSET.format(name=name, text=text))
    return path


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    return toolset(tmp_path / "specs")


def found(path: Path, python: Interpreter) -> Source:
    return resolve(f"tools:{path}", python, max_age=0.0)


def test_a_source_of_tools(bakery: Path, interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bakery.parent)
    with pytest.raises(NotFound, match="has not been read"):
        resolve("tools:bakery.yaml", interpreter)
    source = resolve("tools:bakery.yaml", interpreter, max_age=0.0)
    assert source.name == lasting(source) == f"tools:{bakery}"
    assert source.key == key_of("tools:bakery.yaml", interpreter) == key_of(source.name, interpreter)
    assert dict(source.versions) == {"bakery": "3"}
    assert source.modules == ("tools.bakery", "tools.bakery.goods")
    assert source.summary.startswith("A bakery")
    assert source.tools and source.import_paths == (source.tools / "stubs",)
    assert [file.path for file in source.files()] == ["bakery/goods/find_goods.tool", "bakery/goods/order_goods.tool"]


def test_a_tool_is_a_block_with_a_typed_signature_and_an_import_line(bakery: Path) -> None:
    with codenav.index(f"tools:{bakery}") as index:
        blocks = {block.name: block for block in index.blocks()}
        assert dict(index.stats().kinds) == {"TOOL": 2} and dict(index.stats().languages) == {"python": 2}
        block = blocks["find_goods"]
        assert (block.kind, block.qualname, block.language, block.calls) == (BlockKind.TOOL, "find_goods", "python", ())
        assert block.signature == 'def find_goods(kind: Literal["bread", "nuts"]) -> Any'
        assert block.import_line == "from tools.bakery import find_goods"
        assert block.path == "bakery/goods/find_goods.tool" and block.source == f"tools:{bakery}"
        assert block.docstring.startswith("Find goods by their kind.\n\nGET /goods: reads.")
        (hit,) = index.search("order goods", kinds=[BlockKind.TOOL], limit=1)
        assert hit.name == "order_goods"
        assert [hit.name for hit in index.search("(type: TOOL) AND (doc: kind)")] == ["find_goods"]


def test_a_changed_operation_costs_its_own_block(bakery: Path) -> None:
    with codenav.index(f"tools:{bakery}") as index:
        before = {block.name: block.id for block in index.blocks()}
    toolset(bakery.parent, text="Find goods, whatever they are.")
    with codenav.index(f"tools:{bakery}") as index:
        assert index.report and index.report.reused_files == 1
        after = {block.name: block.id for block in index.blocks()}
    assert after["order_goods"] == before["order_goods"] and after["find_goods"] != before["find_goods"]
    with codenav.index(f"tools:{bakery}") as index:
        assert index.report and index.report.reused_files == 2


def test_the_prompt_names_the_kind_only_where_there_are_tools(bakery: Path, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def f(): pass\n")
    with codenav.index(tmp_path / "code") as index:
        assert "TOOL" not in SearchEnvironment(index).facts()["kinds"]
    with codenav.index([f"tools:{bakery}", tmp_path / "code"], name="both") as index:
        environment = SearchEnvironment(index)
        assert environment.facts()["kinds"].endswith("DOCUMENT, TOOL")
        text = environment.respond(Search("find goods")).text
    assert "from tools.bakery import find_goods" in text
    assert 'def find_goods(kind: Literal["bread", "nuts"]) -> Any\n    """Find goods by their kind.' in text
    assert "call(" not in text
    with codenav.index("name:both") as index:
        paths = [block.path for block in index.blocks()]
    assert paths == [
        "bakery/bakery/goods/find_goods.tool", "bakery/bakery/goods/order_goods.tool", "code/a.py",
    ]  # fmt: skip


def test_the_description_has_intent_guidance_and_operations(bakery: Path) -> None:
    text = describe(f"tools:{bakery}")
    assert text.splitlines()[0] == "A bakery 3 (tools.bakery)"
    assert "tools.bakery.goods: For requests such as: Find out what the bakery sells. Ask for the goods first" in text
    assert 'Example: What is there with nuts?: find_goods(kind="nuts")' in text
    assert "  find_goods(kind): Find goods by their kind." in text
    # What is not in a block is not forgotten by the cache of descriptions.
    bakery.write_text(bakery.read_text().replace("they have numbers", "they have names"))
    assert "they have names" in describe(f"tools:{bakery}")


def test_the_sentence_on_imports(bakery: Path, tmp_path: Path, interpreter: Interpreter) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("")
    sources = [resolve(str(tmp_path / "code"), interpreter), found(bakery, interpreter)]
    assert importable_text(sources) == (
        f"Importable: a ({tmp_path}/code); tools.bakery (tools:{bakery}). Functions of tools.bakery are answered by "
        "services outside of the sandbox; a call that fails raises ToolError (from tools.bakery import ToolError) with "
        "message, status and body."
    )
    assert paths_of(sources) == [tmp_path / "code", *sources[1].import_paths]


def test_two_sources_of_one_name_in_a_run_are_refused(bakery: Path, tmp_path: Path, interpreter: Interpreter) -> None:
    other = found(toolset(tmp_path / "more"), interpreter)
    with pytest.raises(UsageError, match=r"are both imported as tools\.bakery"):
        paths_of([found(bakery, interpreter), other])
    assert paths_of([other, other]) == list(other.import_paths)


@pytest.mark.parametrize("hiding", ["tools/__init__.py", "tools.py"])
def test_a_package_tools_of_another_source_is_refused(
    hiding: str, bakery: Path, tmp_path: Path, interpreter: Interpreter
) -> None:
    root = tmp_path / "repo"
    (root / hiding).parent.mkdir(parents=True)
    (root / hiding).write_text("")
    sources = [found(bakery, interpreter), resolve(str(root), interpreter)]
    with pytest.raises(UsageError) as caught:
        paths_of(sources)
    assert (
        str(caught.value) == (f"{root / hiding} hides tools.bakery of tools:{bakery}: both are imported as tools")
        and caught.value.hint
    )
    with pytest.raises(UsageError, match="hides"):
        codenav.sandbox("bubblewrap", on=[f"tools:{bakery}", root])
    with pytest.raises(UsageError, match="hides"):
        codenav.sandbox("bubblewrap", on=f"tools:{bakery}", work_dir=root)


def test_a_watched_specification_is_followed(bakery: Path) -> None:
    watching = watch([f"tools:{bakery}"])
    try:
        assert next(watching).stats.blocks == 2
        text = bakery.read_text()
        bakery.write_text(text[: text.index("  - name: order_goods")])
        update = next(watching)
        assert update.removed == ("bakery/goods/order_goods.tool",) and update.stats.blocks == 1
    finally:
        watching.close()


def test_the_index_can_be_removed_when_the_file_is_gone(bakery: Path, codenav_home: Path) -> None:
    codenav.index(f"tools:{bakery}").close()
    bakery.unlink()
    with codenav.index(f"tools:{bakery}", refresh=False) as index:
        assert index.stats().blocks == 2
    remove_index(f"tools:{bakery}")
    assert not list(codenav_home.rglob("*.tool"))


def test_a_tool_file_anywhere_else_is_no_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(): pass\n")
    (tmp_path / "evil.tool").write_text(json.dumps({"operation": {"name": "f"}}))
    with codenav.index(tmp_path) as index:
        assert [block.path for block in index.blocks()] == ["a.py"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"operation": 5}', '{"operation": {"name": "a"}}'])
def test_a_damaged_tool_file_is_left_out(text: str) -> None:
    assert tool_blocks(text, Place("tools:x", "a.tool")) is None


def test_a_specification_without_an_operation_is_told(bakery: Path, interpreter: Interpreter) -> None:
    source = found(bakery, interpreter)
    for path in (source.root / "bakery" / "goods").iterdir():
        path.unlink()
    with pytest.raises(UsageError, match="describes no operation"):
        build(source, EmbeddedIndex(bakery.parent / "store", source=source.name))


def test_stubs_are_no_part_of_an_image(bakery: Path, tmp_path: Path, interpreter: Interpreter) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("")
    code, packages = contents([str(tmp_path / "code"), f"tools:{bakery}"], interpreter)
    assert ([one.name for one in code], packages) == (["code"], [])
    sources = [resolve(str(tmp_path / "code"), interpreter), found(bakery, interpreter)]
    assert labels_of(sources) == [str(tmp_path / "code")]
