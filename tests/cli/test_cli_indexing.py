"""`codenav index` and its kin: several sources, stores, builds that meet, are killed or find the disk full."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav, start
from elasticsearch_server import Server

from codenav.core import schemas
from codenav.retrieval.embedded.catalog import EmbeddedStore
from codenav.retrieval.source_index import stored_index


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    return write(tmp_path / "shapes", {"shapes.py": "def area(width):\n    return width\n", "README.md": "# Shapes\n"})


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    return write(tmp_path / "colours", {"colours.py": "def area(hue):\n    return hue\n", "README.md": "# Colours\n"})


@pytest.fixture
def yes(tmp_path: Path) -> str:
    """A model that answers at once."""
    (tmp_path / "script.actions").write_text("<action><type>done</type><content>yes</content></action>")
    return f"scripted:{tmp_path / 'script.actions'}"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


# Several sources -----------------------------------------------------------------------------------------------


def test_several_sources_in_one_index(shapes: Path, colours: Path) -> None:
    built = codenav("index", shapes, colours, "--name", "pair", "--json")
    assert built.code == 0, built.err
    jsonschema.validate(built.document, schemas.load("index"))
    assert (built.document["source"], built.document["files"]) == ("name:pair", 4)
    ran = codenav("search", "area", "--on", "name:pair")
    assert re.findall(r"^FUNCTION +area  (from \S+ import area)  (\S+)  (\S+)$", ran.out, re.MULTILINE) == [
        ("from colours import area", "colours/colours.py:1", str(colours)),
        ("from shapes import area", "shapes/shapes.py:1", str(shapes)),
    ]
    found = codenav("search", f"source: {colours} AND area", "--on", "name:pair", "--json").document
    assert [hit["source"] for hit in found["hits"]] == [str(colours)]
    assert found["hits"][0]["import_line"] == "from colours import area"
    shown = codenav("sources", "list", "name:pair", "--json").document
    jsonschema.validate(shown, schemas.load("sources-show"))
    assert shown["parts"] == [str(shapes), str(colours)]
    assert f"Sources: {shapes}, {colours}\n" in codenav("sources", "list", "name:pair").out
    (shapes / "shapes.py").unlink()
    assert codenav("index", "name:pair", "--json").document["files"] == 3
    assert codenav("index", colours, "--name", "pair", "--json").document["files"] == 2
    assert codenav("sources", "remove", "name:pair").code == 0
    assert codenav("search", "area", "--on", "name:pair").code == 2
    assert codenav("sources", "list", "--json").document == []


def test_several_indexes_in_one_search(shapes: Path, colours: Path) -> None:
    built = codenav("index", shapes, colours)
    assert [line.split(": ")[0] for line in built.out.splitlines()] == [str(shapes), str(colours)]
    documents = codenav("index", shapes, colours, "--json").document
    jsonschema.validate(documents, schemas.load("index-list"))
    assert [document["source"] for document in documents] == [str(shapes), str(colours)]
    ran = codenav("search", "name: area", "--on", shapes, "--on", colours)
    assert {line.split("  ")[-1] for line in ran.out.splitlines() if "area  " in line} == {str(shapes), str(colours)}
    assert str(shapes) not in codenav("search", "name: area", "--on", shapes).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{root}", "{root}", "--name", "twice"), "is named twice"),
        (("{root}", "--name", "../up"), "is not a valid index name"),
        (("name:nothing",), "codenav index SOURCE… --name nothing"),
        (("{root}", "no/such/folder", "--name", "half"), "no such file or folder"),
        (("pkg:networkx==1.0",), ", but 3."),
        (("pkg:networkx==",), "pkg:NAME==VERSION"),
        (("git:{root}",), "does not appear to be a git repository"),
        (("git:ext::touch",), "transports are"),
    ],
)
def test_sources_that_are_not_there(shapes: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = codenav("index", *(argument.format(root=shapes) for argument in arguments))
    assert ran.code == (4 if "appear" in said else 2), ran.err
    assert said in ran.err and "Try: " in ran.err
    assert len(ran.err.splitlines()) == 2
    assert ran.out == ""
    assert codenav("sources", "list", "--json").document == []


def test_a_repository_is_indexed_searched_shown_and_removed(shapes: Path, codenav_home: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(shapes)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    source = f"git:file://{shapes}@v1"
    built = codenav("index", f"git:{shapes}@v1", "--json").document
    assert (built["source"], built["files"]) == (source, 2)
    assert "area" in codenav("search", "area", "--on", source).out
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout[:12]
    assert f"Versions: shapes {commit}\n" in codenav("sources", "list", source).out
    assert codenav("index", f"git:{shapes}@v2").code == 2
    shutil.rmtree(shapes)
    again = codenav("index", source)
    assert again.code == 0
    assert f"using commit {commit}" in again.err
    assert codenav("sources", "remove", source).code == 0
    assert list((codenav_home / "git").iterdir()) == []


# Stores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("index",), ("run", "x", "--on")])
def test_an_option_that_the_store_does_not_have_is_refused(shapes: Path, yes: str, command: tuple[str, ...]) -> None:
    model = ("--model", yes) if command[0] == "run" else ()
    ran = codenav(*command, shapes, "--set", "elasticsearch.url=http://localhost:1", *model)
    assert ran.code == 2, ran.err
    assert "elasticsearch.url goes with --store elasticsearch" in ran.err
    if command[0] == "index":
        unused = codenav("index", shapes, env={"CODENAV_ELASTICSEARCH_URL": "http://localhost:1"})
        assert unused.code == 0, unused.err


@pytest.mark.parametrize("command", [("index",), ("run", "x", "--on")])
def test_elasticsearch_without_a_server_is_refused(shapes: Path, yes: str, command: tuple[str, ...]) -> None:
    model = ("--model", yes) if command[0] == "run" else ()
    ran = codenav(*command, shapes, *model, env={"CODENAV_STORE": "elasticsearch"})
    assert ran.code == 2, ran.err
    assert "codenav elasticsearch up" in ran.err
    nobody = codenav(
        *command, shapes, *model, "--store", "elasticsearch", "--set", "elasticsearch.url=http://localhost:1"
    )
    assert nobody.code == 4, nobody.err
    assert "http://localhost:1" in nobody.err and "Traceback" not in nobody.err


def test_an_unknown_store_in_the_configuration_is_told(shapes: Path) -> None:
    ran = codenav("index", shapes, env={"CODENAV_STORE": "elastic"})
    assert (ran.code, ran.out) == (2, "")
    assert "embedded, elasticsearch" in ran.err


def test_the_embedded_store_passes_its_check(codenav_home: Path) -> None:
    ran = codenav("doctor", "--store", "embedded", "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("rows"))
    assert len(ran.document) >= 10 and all(row["ok"] for row in ran.document)
    assert not (codenav_home / "indexes").exists(), "the user's own indexes are not touched"


def test_every_command_works_on_elasticsearch(elasticsearch: Server, shapes: Path, colours: Path, yes: str) -> None:
    options = ("--store", "elasticsearch", "--set", f"elasticsearch.url={elasticsearch.url}")
    built = codenav("index", shapes, colours, "--name", "pair", *options, "--json")
    assert built.code == 0, built.err
    assert (built.document["store"], built.document["files"]) == ("elasticsearch", 4)
    (shapes / "new.py").write_text("def fresh(): pass\n")
    found = codenav("search", "fresh", "--on", "name:pair", *options, "--json")
    assert [hit["path"] for hit in found.document["hits"]] == ["shapes/new.py"], found.err
    configured = {"CODENAV_STORE": "elasticsearch", "CODENAV_ELASTICSEARCH_URL": elasticsearch.url}
    ran = codenav("run", "Yes?", "--on", "name:pair", "--model", yes, env=configured)
    assert (ran.code, ran.out) == (0, "yes\n"), ran.err
    assert codenav("sources", "list", "name:pair", "--json", env=configured).document["files"] == 5
    assert "name:pair" in codenav("sources", "list", env=configured).out
    assert codenav("sources", "remove", "name:pair", *options).code == 0
    assert codenav("sources", "list").err == "No index yet. Try: codenav index .\n", "nothing went into the other store"


# Builds that meet ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def being_built(codenav_home: Path, key: str):  # type: ignore[no-untyped-def]
    """As if another process were building the index."""
    with EmbeddedStore(codenav_home / "indexes").build_lock(key, wait=False) as free:
        assert free
        yield


def test_a_search_and_a_run_answer_from_the_old_state_while_a_build_runs(
    shapes: Path, codenav_home: Path, yes: str
) -> None:
    codenav("index", shapes)
    (shapes / "new.py").write_text("def fresh(): pass\n")
    with being_built(codenav_home, stored_index(shapes).key):
        ran = codenav("search", "area OR fresh", "--on", shapes, "--json")
        answered = codenav("run", "Yes?", "--on", shapes, "--model", yes)
    assert ran.code == 0, ran.err
    assert [hit["name"] for hit in ran.document["hits"]] == ["area"]
    assert ran.err == f"Note: another process is building the index of {shapes}: answering from the state before it\n"
    assert (answered.code, answered.out) == (0, "yes\n"), answered.err
    assert "answering from the state before it" in answered.err


def test_a_second_build_and_a_search_without_a_state_wait_and_say_so(shapes: Path, codenav_home: Path) -> None:
    codenav("index", shapes)
    key = stored_index(shapes).key
    for command in (("index",), ("search", "area", "--on")):
        with being_built(codenav_home, key):
            process = start(*command, shapes)
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line == f"Note: another process is building the index of {shapes}: waiting for it\n"
            assert process.poll() is None
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0 and out
        shutil.rmtree(codenav_home / "indexes")


def test_two_builds_at_once_end_well(shapes: Path) -> None:
    for number in range(100):
        (shapes / f"m{number}.py").write_text(f"def f{number}(): pass\n" * 50)
    running = [start("index", shapes, "--json") for _ in range(3)]
    ended = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ended
    documents = [json.loads(out) for out, _ in ended]
    assert {document["blocks"] for document in documents} == {documents[0]["blocks"]}
    assert sorted(document["reused_files"] for document in documents)[1:] == [102, 102], "only one has parsed"


# Builds that do not come to their end --------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A source whose build takes seconds; indexed once, then changed throughout."""
    root = tmp_path / "large"
    write(root, {f"m{n}.py": f"def old_{n}(): pass\n" for n in range(150)})
    assert codenav("index", root).code == 0
    changed = "".join(f"def fresh_{n}(a, b=1):\n    '''Say {n}.'''\n    return a + b\n" for n in range(40))
    write(root, {f"m{n}.py": changed for n in range(150)})
    return root


def holds(root: Path, query: str) -> int:
    ran = codenav("search", query, "--on", root, "--no-refresh", "--json", "--limit", "0")
    assert ran.code == 0, ran.err
    total: int = ran.document["total"]
    return total


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_build_that_is_killed_leaves_the_old_index(large: Path, codenav_home: Path, ending: signal.Signals) -> None:
    (folder,) = (codenav_home / "indexes").iterdir()
    before = {path.name for path in folder.glob("gen-*")}
    process = start("index", large)
    while not {path.name for path in folder.glob("gen-*")} - before:
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, ending)
    process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if ending is signal.SIGKILL else 130)
    assert (holds(large, "old_*"), holds(large, "fresh_*")) == (150, 0)
    assert codenav("index", large).code == 0
    assert (holds(large, "old_*"), holds(large, "fresh_*")) == (0, 6_000)
    assert len(list(folder.glob("gen-*"))) <= 2, "what the killed build wrote is gone"


def test_a_full_disk_leaves_the_old_index(large: Path, codenav_home: Path, tmp_path: Path) -> None:
    """A real one: CODENAV_HOME is a small tmpfs in a mount namespace of its own."""
    small = tmp_path / "small-disk"
    small.mkdir()
    command = f"{sys.executable} -m codenav"
    lines = (
        f"cp -r {codenav_home}/. {small}; {command} index {large}; echo code $?;"
        f" {command} search 'old_*' --on {large} --no-refresh --json --limit 0; ls {small}/indexes/*"
    )
    bwrap = shutil.which("bwrap")
    assert bwrap
    ran = subprocess.run(
        [bwrap, "--dev-bind", "/", "/", "--size", str(700 << 10), "--tmpfs", str(small), "--", "sh", "-c", lines],
        capture_output=True, text=True, env={**os.environ, "CODENAV_HOME": str(small)}, timeout=120,
    )  # fmt: skip
    assert "code 4\n" in ran.stdout, ran.stdout + ran.stderr
    assert "Error: the index cannot be written: No space left on device\nTry: free some space" in ran.stderr
    assert '"total": 150' in ran.stdout
    assert ran.stdout.count("gen-") == 1, "what was written of the new state is gone"


def test_an_index_that_nobody_may_write_still_answers(shapes: Path, codenav_home: Path) -> None:
    """A real one: CODENAV_HOME is mounted read-only."""
    assert codenav("index", shapes).code == 0
    (shapes / "more.py").write_text("def volume(): pass\n")
    bwrap = shutil.which("bwrap")
    assert bwrap

    def read_only(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [bwrap, "--dev-bind", "/", "/", "--ro-bind", codenav_home, codenav_home, "--", sys.executable, "-m"]
        return subprocess.run([*command, "codenav", *arguments], capture_output=True, text=True, timeout=120)

    for told, options in (("answering from the state before it", ()), ("", ("--no-refresh",))):
        ran = read_only("search", "name: area OR name: volume", "--on", shapes, *options)
        assert ran.returncode == 0, ran.stderr
        assert [line for line in ran.stdout.splitlines() if line.startswith("FUNCTION")] == [
            "FUNCTION   area  from shapes import area  shapes.py:1"
        ]
        assert told in ran.stderr and "1 match" in ran.stderr
    shown = read_only("show", "area", "--on", shapes, "--no-refresh")
    assert "return width" in shown.stdout, shown.stderr
    refused = read_only("index", shapes)
    assert refused.returncode == 4
    assert refused.stderr.startswith("Error: the index cannot be written: Read-only file system\nTry: ")


# Versions of the format ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("index",), ("run", "Yes?", "--on")])
def test_an_index_of_an_older_format_is_built_anew_and_that_is_told_once(
    shapes: Path, codenav_home: Path, yes: str, command: tuple[str, ...]
) -> None:
    options = ("--model", yes) if command[0] == "run" else ()
    codenav("index", shapes)
    manifests = list((codenav_home / "indexes").rglob("manifest.json"))
    for manifest in manifests:
        manifest.write_text(re.sub(r'"format": ?\d+', '"format":0', manifest.read_text()))
    assert "the next use builds it anew: it was made by another version of codenav" in codenav("sources", "list").out
    shown = codenav("sources", "list", shapes)
    assert (shown.code, "unreadable" in shown.out, "0 files" in shown.out) == (0, True, False), shown.err
    ran = codenav(*command, shapes, *options)
    assert ran.code == 0, ran.err
    notice = f"Note: the index of {shapes} is built anew: it was made by another version of codenav\n"
    assert ran.err.count(notice) == ran.err.count("Note: ") == 1
    assert "built anew" not in codenav(*command, shapes, *options).err
