"""Sources that mean no good, or were damaged: each file is skipped or cut, counted and named, and the run goes on."""

from __future__ import annotations

import os
import random
import shutil
import threading
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav

from codenav.core import schemas

GOOD = "def found_again(x: int) -> int:\n    return x\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A source with one good file."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD)
    return folder


def indexed(root: Path) -> dict[str, str]:
    """Index a source with the real command; what was skipped or cut, which both commands tell alike."""
    built = codenav("index", root, "--json")
    assert built.code == 0, built.err
    jsonschema.validate(built.document, schemas.load("index"))
    shown = codenav("sources", "list", root, "--json").document
    jsonschema.validate(shown, schemas.load("sources-show"))
    assert shown["skipped"] == built.document["skipped"]
    assert (shown["files"], shown["blocks"]) == (built.document["files"], built.document["blocks"])
    return {skip["path"]: skip["reason"] for skip in shown["skipped"]}


def names(root: Path, query: str) -> list[str]:
    """The names that a search finds, without another build."""
    ran = codenav("search", query, "--on", root, "--no-refresh", "--json", "--limit", "100")
    assert ran.code == 0, ran.err
    return [hit["name"] for hit in ran.document["hits"]]


def test_content_that_no_parser_was_made_for(root: Path) -> None:
    noise = random.Random(1).randbytes(400_000)
    files: dict[str, bytes] = {
        "brackets.py": b"def before(): pass\n" + b"[" * 200_000,
        "generated.py": b"VALUES = [\n" + b"    1234567,\n" * 420_000 + b"]\n",
        "deep.py": b"x = " + b"(" * 20_000 + b")" * 20_000 + b"\ndef after_deep(): pass\n",
        "program.py": b"\x7fELF\x02\x01\x01\0" + noise,
        "noise.md": noise.replace(b"\0", b"\1"),
        "latin.py": 'def prüfe(größe):\n    """Größe prüfen."""\n'.encode("latin-1"),
        "marked.py": b"\xef\xbb\xbfdef marked(): pass\n",
        "wide.py": "def wide(): pass\n".encode("utf-16"),
        "nul.py": b"def before_nul(): pass\n" + b"#" * 9000 + b"\n\0\ndef after_nul(): pass\n",
        "windows.py": b"def windows():\r\n    return 1\r\n\r\ndef second():\r\n    return 2\r\n",
        "old_mac.py": b"def old_mac():\r    return 1\r",
        "tabs.py": b"class Tabs:\n\tdef one(self):\n\t\tpass\n        def two(self):\n\t\tpass\n",
        "empty.py": b"",
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    assert (root / "generated.py").stat().st_size > 5_000_000
    skipped = indexed(root)
    assert skipped.pop("generated.py") == "larger than 1 MB"
    assert skipped.pop("program.py") == "binary"
    assert set(skipped) <= {"brackets.py", "deep.py", "noise.md"}
    assert all(reason.startswith("cut: ") for reason in skipped.values())
    found = set(names(root, "type: (FUNCTION OR METHOD)"))
    assert found >= {
        "found_again", "before", "after_deep", "prüfe", "marked", "wide", "before_nul", "after_nul", "windows",
        "second", "old_mac", "one", "two",
    }  # fmt: skip
    text = codenav("sources", "list", root).out
    assert "Skipped or cut, " in text
    assert "  generated.py: larger than 1 MB\n" in text
    assert "  program.py: binary\n" in text


def test_names_that_no_terminal_should_see(root: Path) -> None:
    strange = [
        "line\nbreak.py",
        "\x1b[31mred.py",
        "\u202egnp.py",
        "tab\t.py",
        "-rf.py",
        "a b.py",
        "ü.py",
        "x" * 240 + ".py",
    ]
    for number, name in enumerate(strange):
        (root / name).write_text(f"def strange_{number}(): pass\n")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.py")).write_text("def cafe(): pass\n")
    (root / "end\n  good.py: fine.py").write_bytes(b"\0")
    assert indexed(root) == {"caf?.py": "name is not UTF-8", "end\n  good.py: fine.py": "binary"}
    assert len(names(root, "strange_*")) == len(strange)
    shown = codenav("sources", "list", root).out
    assert "  end\\n  good.py: fine.py: binary\n" in shown
    lines = codenav("search", "strange_*", "--on", root, "--no-refresh").out
    assert lines.count("\n") == 2 * len(strange)
    assert "\x1b" not in lines and "\u202e" not in lines and "line\\nbreak.py:1" in lines


def test_files_that_change_and_vanish_while_they_are_read(root: Path) -> None:
    """Eight builds while another thread writes, renames and removes; each ends well, and the last one is right."""
    for number in range(30):
        (root / f"m{number}.py").write_text(f"def moving_{number}(): pass\n")
    ended = threading.Event()

    def disturb() -> None:
        chance = random.Random(2)
        while not ended.is_set():
            path = root / f"m{chance.randrange(30)}.py"
            match chance.randrange(4):
                case 0:
                    path.unlink(missing_ok=True)
                    path.write_text(f"def changed_{chance.randrange(1000)}(): pass\n" * chance.randrange(1, 400))
                case 1:
                    path.unlink(missing_ok=True)
                case 2:
                    shutil.rmtree(root / "folder", ignore_errors=True)
                    (root / "folder").mkdir()
                    (root / "folder" / "inner.py").write_text("def inner(): pass\n")
                case 3:
                    path.unlink(missing_ok=True)
                    path.symlink_to("good.py")

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        import codenav as package

        for _ in range(8):
            with package.index(root) as index:
                assert "found_again" in [hit.name for hit in index.search("found_again")]
    finally:
        ended.set()
        thread.join()
    codenav("index", root)
    expected = {path.name for path in root.rglob("*.py") if path.is_file() and not path.is_symlink()}
    with package.index(root) as index:
        assert {hit.path.rpartition("/")[2] for hit in index.search("*", limit=100_000)} == expected


def test_a_directory_of_many_packages(root: Path) -> None:
    for number in range(30):
        package = root / f"package{number}" / "src" / f"pack{number}"
        package.mkdir(parents=True)
        (root / f"package{number}" / "pyproject.toml").write_text(f'[project]\nname = "package{number}"\n')
        (package / "__init__.py").write_text(f'"""Package {number}."""\n\ndef entry_{number}():\n    return {number}\n')
        (package / "core.py").write_text(f"class Core{number}:\n    def work(self):\n        return {number}\n")
    assert indexed(root) == {}
    stats = codenav("sources", "list", root, "--json").document
    assert stats["kinds"]["CLASS"] == stats["kinds"]["METHOD"] == 30
    assert names(root, "name: Core12") == ["Core12"]
