"""The cache of tool sources: what is read again, what stays, and what answers while a server is down."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from document_server import DocumentServer, Page

from codenav.core.errors import NotFound, StorageFull, Unavailable, UsageError
from codenav.tools.layout import State, forget, laid_out
from codenav.tools.places import parse
from codenav.tools.state_files import read_spec_of

TOOL = "  - name: {name}\n    text: {text}\n    url: /{name}\n"


def toolset(**tools: str) -> str:
    """A tool set file with these tools and their texts."""
    rows = "".join(TOOL.format(name=name, text=text) for name, text in tools.items())
    return f"name: bakery\nserver: http://127.0.0.1:1\nsets:\n- name: all\n  tools:\n{rows}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bakery.yaml"
    path.write_text(toolset(bake="Bake bread", sell="Sell bread"))
    return path


def files(state: State) -> dict[str, tuple[bytes, int]]:
    """Content and time of the operations of a state."""
    top = state.path / "operations"
    return {
        path.relative_to(top).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in top.rglob("*.tool")
    }


def test_a_file_is_read_again_when_its_content_changes_and_only_then(file: Path) -> None:
    place = parse(f"tools:{file}")
    first = laid_out(place, max_age=600.0)
    assert first.summary.name == "bakery" and list(first.summary.operations) == ["bake", "sell"]
    written = (first.path / "source.json").stat().st_mtime_ns
    os.utime(file)
    same = laid_out(place, max_age=0.0)
    assert same.path == first.path and (same.path / "source.json").stat().st_mtime_ns == written
    # Another text without another meaning: read, but nothing is written anew.
    file.write_text(file.read_text() + "# a remark\n")
    assert laid_out(place).path == first.path

    file.write_text(toolset(bake="Bake a cake", sell="Sell bread"))
    second = laid_out(place, max_age=600.0)
    assert second.path != first.path and first.path.is_dir()
    before, after = files(first), files(second)
    assert {path for path in before if before[path] != after[path]} == {"bakery/all/bake.tool"}
    assert laid_out(place, max_age=None).path == second.path


def test_no_refresh_reads_nothing(file: Path) -> None:
    place = parse(f"tools:{file}")
    with pytest.raises(NotFound, match="has not been read") as caught:
        laid_out(place, max_age=None)
    assert caught.value.hint == f"codenav index tools:{file}"
    first = laid_out(place)
    file.unlink()
    assert laid_out(place, max_age=None).path == first.path
    with pytest.raises(NotFound, match=r"bakery\.yaml"):
        laid_out(place)


def test_a_file_that_no_longer_can_be_read_is_an_error_and_the_state_before_stays(file: Path) -> None:
    place = parse(f"tools:{file}")
    first = laid_out(place)
    file.write_text("name: [")
    with pytest.raises(UsageError):
        laid_out(place)
    assert laid_out(place, max_age=None).path == first.path
    assert not list(first.path.parent.glob(".reading-*"))


def test_nothing_is_left_of_a_source_that_was_never_read(tmp_path: Path, codenav_home: Path) -> None:
    with pytest.raises(NotFound):
        laid_out(parse(f"tools:{tmp_path}/none.yaml"))
    assert not list((codenav_home / "cache").rglob("state.json"))
    assert not [path for path in codenav_home.rglob("tools/*") if path.is_dir()]


def test_a_server_is_asked_when_its_answer_is_old_and_the_state_before_answers_while_it_is_down() -> None:
    with DocumentServer({"/bakery.yaml": toolset(bake="Bake bread")}) as server:
        place = parse(f"tools:{server.url('/bakery.yaml')}")
        first = laid_out(place, max_age=600.0)
        laid_out(place, max_age=600.0)
        assert len(server.seen) == 1
        laid_out(place, max_age=0.0)
        assert len(server.seen) == 2
        server.pages["/bakery.yaml"] = toolset(bake="Bake a cake")
        assert laid_out(place, max_age=600.0).path == first.path
        second = laid_out(place, max_age=0.0)
        assert second.path != first.path

        server.pages["/bakery.yaml"] = Page(status=503)
        told: list[str] = []
        assert laid_out(place, max_age=0.0, notice=told.append).path == second.path
        (line,) = told
        assert line.endswith(f": using the state of {time.strftime('%Y-%m-%d')}") and "503" in line
        # It is not asked again at once.
        asked = len(server.seen)
        assert laid_out(place, max_age=600.0, notice=told.append).path == second.path
        assert (len(server.seen), len(told)) == (asked, 1)
        server.pages["/bakery.yaml"] = toolset(bake="Bake bread")
        assert laid_out(place, max_age=0.0).path == first.path


def test_a_server_that_is_down_at_first_is_an_error() -> None:
    with DocumentServer({"/bakery.yaml": Page(status=503)}) as server, pytest.raises(Unavailable):
        laid_out(parse(f"tools:{server.url('/bakery.yaml')}"))


def test_states_that_nothing_used_for_a_day_go(file: Path) -> None:
    place = parse(f"tools:{file}")
    first = laid_out(place)
    file.write_text(toolset(bake="Bake a cake"))
    second = laid_out(place)
    old = time.time() - 90_000
    os.utime(first.path, (old, old))
    file.write_text(toolset(bake="Bake a pie"))
    third = laid_out(place)
    assert not first.path.exists() and second.path.is_dir() and third.path.is_dir()
    forget(place)
    assert not third.path.parent.exists()
    forget(place)


def test_a_damaged_state_is_written_anew(file: Path) -> None:
    place = parse(f"tools:{file}")
    first = laid_out(place)
    (first.path / "source.json").write_text("{")
    with pytest.raises(NotFound, match="damaged"):
        laid_out(place)
    assert read_spec_of(laid_out(place).path).operations[0].name == "bake"
    (first.path.parent / "state.json").write_text('{"state": {"hash": "../../etc"}}')
    assert laid_out(place).path == first.path


def test_two_at_once_read_it_once_after_the_other(file: Path) -> None:
    place = parse(f"tools:{file}")
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(laid_out(place).path)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1


def test_a_cache_that_cannot_be_written_is_told(file: Path, codenav_home: Path) -> None:
    place = parse(f"tools:{file}")
    first = laid_out(place)
    folder = first.path.parent.parent
    forget(place)
    folder.rmdir()
    folder.write_text("a file in its place")
    with pytest.raises(StorageFull, match="cannot write to"):
        laid_out(place)


def test_the_state_holds_the_whole_specification(file: Path) -> None:
    state = laid_out(parse(f"tools:{file}"))
    spec = read_spec_of(state.path)
    assert [operation.name for operation in spec.operations] == ["bake", "sell"]
    assert spec.operations[0].path and spec.servers == ("http://127.0.0.1:1",)
    data = json.loads((state.path / "operations" / state.summary.operations["bake"]).read_text())
    assert data["import_line"] == "from tools.bakery import bake"
    assert read_spec_of(state.path, names=["sell"]).operations == spec.operations[1:]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openapi:specs/../shop.yaml", "openapi:{cwd}/shop.yaml"),
        ("openapi:https://example.com/a?b=c#d", "openapi:https://example.com/a?b=c"),
        ("mcp:python server.py --port 5", "mcp:python {cwd}/server.py --port 5"),
        ("mcp:./run 'a b'", "mcp:{cwd}/run 'a b'"),
        ("mcp:http://localhost:9000/mcp", "mcp:http://localhost:9000/mcp"),
        ("tools:~/x.yaml", "tools:{home}/x.yaml"),
    ],
)
def test_names_of_sources(spec: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").touch()
    place = parse(spec)
    assert place.name == name.format(cwd=tmp_path, home=Path.home())
    assert parse(place.name) == place and parse(place.name).key() == place.key()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openapi:", "openapi: names nothing"),
        ("mcp:  ", "mcp: names nothing"),
        ("mcp:python 'x", "mcp: the command cannot be read: No closing quotation"),
        ("openapi:ftp://example.com/x", "openapi: ftp:// is not supported"),
        ("tools:http://", "tools: this is not a URL"),
        ("tools:http://a:b@example.com/", "tools: a URL with a password in it"),
        ("tools:http://example.com:x/", "tools: this is not a URL: Port could not be cast to integer value as 'x'"),
        ("tools:a\0b", "tools: names nothing"),
    ],
)
def test_what_is_no_name_of_a_source(spec: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(spec)
    assert str(caught.value) == told and caught.value.hint
