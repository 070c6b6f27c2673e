"""The language of a file that its extension alone does not tell, and files that are read together with another."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codenav.core.blocks import FileSkip
from codenav.core.errors import UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers.build import BuildReport, build
from codenav.indexers.code_blocks import GENERATED, code_blocks
from codenav.indexers.file_blocks import file_blocks, script_of
from codenav.indexers.place import Place
from codenav.indexers.sources import resolve
from codenav.indexers.walk import Found, walk

Tree = Callable[[Mapping[str, str | bytes]], Path]
Build = Callable[[Path], BuildReport]


def languages(root: Path) -> dict[str, str]:
    return {found.path: found.language for found in walk(root) if isinstance(found, Found)}


@pytest.mark.parametrize(
    ("first", "language"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3.11 -u", "python"),
        ("#! /usr/bin/env -S FOO=1 python -X dev", "python"),
        ("#!/usr/bin/env -S -i python3", "python"),
        ("#!/usr/bin/env -S uv run --script", "python"),
        ("#!python", "python"),
        ("#!/opt/venv/bin/pypy3\r", "python"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/usr/bin/nodejs --harmony", "javascript"),
        ("#!/usr/bin/env -S deno run --allow-net", "typescript"),
        ("#!/usr/bin/env ruby -w", "ruby"),
        ("#!/usr/local/bin/php -q", "php"),
        ("#!/bin/sh", ""),
        ("#!/bin/bash python", ""),
        ("#!/usr/bin/env pythonista", ""),
        ("#!/usr/bin/perl", ""),
        (" #!/usr/bin/env python", ""),
        ("# !/usr/bin/env python", ""),
        ("#!", ""),
        ("\ufeff#!/usr/bin/env python", ""),
        ("import os", ""),
        ("", ""),
    ],
)
def test_a_script_is_known_by_its_first_line(tree: Tree, first: str, language: str) -> None:
    root = tree({"run": f"{first}\nx = 1\n"})
    assert languages(root) == ({"run": language} if language else {})
    assert [found for found in walk(root) if isinstance(found, FileSkip)] == []


def test_only_files_without_an_extension_are_opened(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "#!/usr/bin/env python3\n"
    root = tree(
        {
            "bin/tool": script,
            "bin/tool.cgi": script,
            ".hidden": script,
            "hidden/.gitignore": "x\n",
            "hidden/x": script,
            "big": script + "#" * 2_000_000,
            "binary": b"#!/usr/bin/env python3\n\0",
            "Makefile": "all:\n",
        }
    )
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("bin/tool")
    (root / "closed").write_text(script)
    (root / "closed").chmod(0)
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(str(path)) or real(path, *rest, **more))
    found = languages(root)
    found.pop("closed", None)  # The superuser reads all.
    assert found == {"bin/tool": "python", "binary": "python"}
    assert not {"tool.cgi", ".hidden", "x", "pipe", "link"} & {os.path.basename(path) for path in opened}
    opened.clear()
    languages(root)
    assert not {"tool", "Makefile"} & {os.path.basename(path) for path in opened}
    assert [skip.path for skip in walk(root) if isinstance(skip, FileSkip)] == ["big"]


def test_a_script_that_was_changed_is_asked_again(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"run": "#!/usr/bin/env python3\ndef go(): pass\n", "a.py": ""})
    built(root)
    assert [block.qualname for block in index.blocks] == ["go"]
    tree({"run": "#!/usr/bin/env ruby\ndef stop\nend\n"})
    built(root)
    assert [(block.qualname, block.language) for block in index.blocks] == [("stop", "ruby")]
    tree({"run": "plain text, and no script any more\n"})
    built(root)
    assert index.blocks == [] and set(index.files()) == {"a.py"}


def test_a_script_can_be_named_itself(tree: Tree, index: Any, built: Build, interpreter: Interpreter) -> None:
    root = tree({"run": "#!/usr/bin/env python3\ndef go(): pass\n", "data": "1 2 3\n"})
    built(root / "run")
    assert [block.qualname for block in index.blocks] == ["go"]
    with pytest.raises(UsageError, match="not of a type that is indexed"):
        resolve(str(root / "data"), interpreter)


def test_names_that_stand_for_a_language(tree: Tree) -> None:
    root = tree(dict.fromkeys(["Rakefile", "Gemfile", "Gemfile.lock", "lib/tasks/db.rake", "x.gemspec", "config.ru",
                               "app.pyw", "fast.pyx", "fast.pxd", "api.pxd", "part.pxi", "View.vue", "Nav.svelte",
                               "README", "rakefile.txt"], "x = 1\n"))  # fmt: skip
    assert languages(root) == {
        "Gemfile": "ruby",
        "README": "text",
        "Rakefile": "ruby",
        "Nav.svelte": "component",
        "View.vue": "component",
        "api.pxd": "cython",
        "app.pyw": "python",
        "config.ru": "ruby",
        "fast.pyx": "cython",
        "lib/tasks/db.rake": "ruby",
        "part.pxi": "cython",
        "rakefile.txt": "text",
        "x.gemspec": "ruby",
    }


@pytest.fixture
def built(index: Any, interpreter: Interpreter) -> Build:
    """Builds the index of a folder."""
    return lambda root: build(resolve(str(root), interpreter), index)


MODULE = '''\
from ._fast import add, scale

class Matrix:
    """A matrix."""
    def rows(self): return 1

def norm(x): return x

LIMIT = 3
'''
STUB = """\
from typing import overload, TypeVar
from ._fast import add as add
_T = TypeVar("_T")
LIMIT: int
EXACT: float
class Matrix:
    def rows(self) -> int: ...
    def columns(self) -> int: ...
class _Only: ...
class Vector:
    def length(self) -> float: ...
@overload
def scale(x: int) -> int: ...
@overload
def scale(x: float) -> float: ...
def norm(x: float) -> float: ...
def __getattr__(name: str) -> object: ...
"""


def test_a_stub_adds_to_its_module_what_that_does_not_define(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"pkg/__init__.py": "", "pkg/mod.py": MODULE, "pkg/mod.pyi": STUB})
    built(root)
    blocks = [block for block in index.blocks if block.path == "pkg/mod.pyi"]
    assert [block.qualname for block in blocks] == [
        "EXACT", "Matrix.columns", "Vector", "Vector.length", "scale", "scale", "__getattr__",
    ]  # fmt: skip
    lines = {block.qualname: block.import_line for block in blocks}
    assert lines["scale"] == "from pkg.mod import scale" and lines["Matrix.columns"] == "from pkg.mod import Matrix"
    assert {block.qualname for block in index.blocks if block.path == "pkg/mod.py"} >= {"Matrix.rows", "norm", "LIMIT"}


def test_a_stub_of_a_compiled_module_is_read_whole(tree: Tree, index: Any, built: Build) -> None:
    built(tree({"pkg/__init__.py": "", "pkg/mod.pyi": STUB, "pkg/mod.so": b"\0"}))
    assert {"Matrix", "norm", "_Only", "imports"} <= {block.qualname for block in index.blocks}


def test_a_stub_beside_cython(tree: Tree, index: Any, built: Build) -> None:
    root = tree({"pkg/__init__.py": "", "pkg/mod.pyx": "cpdef double norm(double x): return x\n", "pkg/mod.pyi": STUB})
    built(root)
    assert [block.path for block in index.blocks if block.qualname == "norm"] == ["pkg/mod.pyx"]
    assert [block.path for block in index.blocks if block.qualname == "Vector"] == ["pkg/mod.pyi"]


def test_a_stub_that_is_named_itself_is_read_whole(tree: Tree, index: Any, built: Build) -> None:
    built(tree({"mod.py": MODULE, "mod.pyi": STUB}) / "mod.pyi")
    assert {"norm", "Vector", "_Only"} <= {block.qualname for block in index.blocks}


def test_a_stub_is_read_again_when_its_module_changes(tree: Tree, index: Any, built: Build) -> None:
    def stubbed() -> set[str]:
        return {block.qualname for block in index.blocks if block.path == "a.pyi"}

    root = tree({"a.py": "def f(): pass\n", "a.pyi": "def f() -> int: ...\ndef g() -> int: ...\n"})
    built(root)
    assert stubbed() == {"g"}
    assert built(root).reused_files == 2
    tree({"a.py": "def g(): pass\n"})
    built(root)
    assert stubbed() == {"f"}
    (root / "a.py").unlink()
    built(root)
    assert stubbed() == {"f", "g"}
    tree({"a.py": "f = g = None\ndef f(): pass\ndef g(): pass\n"})
    built(root)
    assert stubbed() == set() and "a.pyi" in index.files()


@pytest.mark.parametrize("module", [b"\0", b"def f(:\n", "x".encode("utf-16"), b"#" * 1_000_001], ids=range(4))
def test_a_module_that_cannot_be_read_takes_nothing_from_its_stub(
    tree: Tree, index: Any, built: Build, module: bytes
) -> None:
    built(tree({"a.py": module, "a.pyi": "def g() -> int: ...\n"}))
    assert "g" in {block.qualname for block in index.blocks}


COMPONENT = """\
<!-- <script>function no() {}</script> -->
<template>
  <div @click="save">{{ name }} <span v-if="a < b">x</span></div>
</template>

<script lang="ts">
export const LIMIT = 3;
</script>

<script setup lang="ts" generic="T extends Foo<Bar>">
import { ref } from "vue";

// Saves it.
async function save(user: User): Promise<void> {
  await api.post(user);
}
</script>

<style scoped>
.a { color: red }
</style>
"""


def test_the_scripts_of_a_component_are_read_where_they_stand() -> None:
    blocks, reason = file_blocks(COMPONENT, Place("s", "User.vue"), "component")
    assert blocks is not None and not reason
    assert [(b.qualname, b.lines.start, b.lines.end, b.language) for b in blocks] == [
        ("LIMIT", 7, 7, "typescript"),
        ("imports", 11, 11, "typescript"),
        ("save", 13, 16, "typescript"),
    ]
    assert (blocks[2].docstring, blocks[2].calls) == ("Saves it.", ("api.post",))
    assert blocks[2].text.endswith("{\n  await api.post(user);\n}")


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("<script>let a</script>", "javascript", "let a"),
        ("<SCRIPT LANG=tsx>let a</SCRIPT >", "tsx", "let a"),
        ("<script lang='coffee'>a</script>", "javascript", "a"),
        ("<script src='x.js'></script>", "javascript", ""),
        ("<script>let a", "javascript", ""),
        ("<script " + "a" * 1000, "javascript", ""),
        ("<template>é<p/></template>", "javascript", ""),
        ("<script" * 20_000, "javascript", ""),
        ("<!--" * 20_000, "javascript", ""),
        ("", "javascript", ""),
    ],
    ids=range(10),
)
def test_any_text_is_a_component(text: str, language: str, code: str) -> None:
    script, found = script_of(text)
    assert (script.strip(), found, len(script)) == (code, language, len(text))


def test_what_cython_made_is_left_out() -> None:
    text = "/* Generated by Cython 3.0.11 */\n\nint f(void) { return 1; }\n"
    assert code_blocks(text, Place("s", "a.c"), "c") == (None, GENERATED)
