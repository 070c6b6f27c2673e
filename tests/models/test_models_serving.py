"""Local models behind their own server: real weights of 135M, whose answers are nonsense that nothing here rests on."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer
from command_line import codenav, start
from local_model import weights

from codenav.agents.models import ChatModel, LocalModel, Traits, open_model, traits_of
from codenav.agents.models.local import memory, serving
from codenav.agents.models.local.gguf import read_header
from codenav.agents.models.neighbours import neighbours
from codenav.core.errors import ModelFailed, ModelNotConfigured, StorageFull, UsageError
from codenav.core.messages import Message

HELLO = [Message("user", "Hello!")]
STORY = [Message("user", "Write a long story about a farm and everybody who lives there.")]
WITHIN = 300.0


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Servers with one thread: on a busy machine, threads that wait for each other are twenty times slower."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    serving.stop()
    os.sched_setaffinity(0, before)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def opened(told: list[str]) -> Iterator[Callable[..., LocalModel]]:
    """Opens the model, for answers of so many tokens."""
    models: list[LocalModel] = []

    def opened(max_tokens: int = 4) -> LocalModel:
        models.append(LocalModel(f"gguf:{weights()}", notice=told.append, max_tokens=max_tokens))
        return models[-1]

    yield opened
    for model in models:
        model.close()


def until(what: Callable[[], object], within: float = WITHIN) -> None:
    deadline = time.monotonic() + within
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def status_of(server: serving.Server, key: str) -> int:
    asked = urllib.request.Request(f"{server.url}/models", headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_one_server_serves_all_and_only_this_user(
    opened: Callable[..., LocalModel], told: list[str], codenav_home: Path
) -> None:
    with_both = [opened(), opened()]
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda model=model: answers.append(model.complete(HELLO, timeout=WITHIN).text))
        for model in with_both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 2
    [server] = serving.running()
    assert set(told) <= {f"loading the model {server.name}, about 1 s"}
    assert traits_of(with_both[0]) == Traits(134515008.0, 8192, local=True, grammar=True)
    with_key = ChatModel(server.name, base_url=server.url, api_key=server.key)
    assert with_key.traits == traits_of(with_both[0])
    with_key.close()
    assert (status_of(server, server.key), status_of(server, "another")) == (200, 401)
    for path, mode in ((server.folder, 0o700), (server.folder / "state.json", 0o600), (server.folder / "used", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert server.key not in Path(f"/proc/{server.owner.pid}/cmdline").read_text()
    listed = codenav("models", "list", "--json").document
    assert [other["path"] for other in listed["others"]] == [str(weights())] and server.key not in json.dumps(listed)
    assert codenav("models", "stop").out == f"stopped {server.name}\n"
    assert not serving.running() and codenav("models", "stop").err == "No model is running.\n"


def test_a_server_that_dies_in_mid_answer_is_started_again(opened: Callable[..., LocalModel], told: list[str]) -> None:
    model = opened(60)
    model.complete(HELLO, timeout=WITHIN)
    [server] = serving.running()
    killer = threading.Timer(0.3, os.kill, (server.owner.pid, signal.SIGKILL))
    killer.start()
    answer = model.complete(STORY, timeout=WITHIN)
    killer.join()
    assert answer.text and answer.usage.requests == 2
    assert [line for line in told if "ended: it was killed" in line and "starting it again" in line]
    assert serving.running()[0].owner != server.owner


def test_it_ends_when_nobody_uses_it_but_not_in_mid_answer(
    opened: Callable[..., LocalModel], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODENAV_KEEP_ALIVE", "1")
    model = opened(120)
    # The first one imports the client, which may take longer than the second.
    model.complete(HELLO, timeout=WITHIN)
    told.clear()
    model.complete(STORY, timeout=WITHIN)
    assert not any("starting it again" in line for line in told)
    until(lambda: not serving.running())
    # It is simply started anew for whoever comes later.
    assert model.complete(HELLO, timeout=WITHIN).text


def test_a_kill_of_codenav_leaves_no_server(tmp_path: Path) -> None:
    (tmp_path / "farm.py").write_text("FIELDS = 7\n")
    env = {"CODENAV_KEEP_ALIVE": "2"}
    with start("run", "How many fields?", "--on", tmp_path, "--model", f"gguf:{weights()}", env=env) as process:
        until(serving.running)
        os.kill(process.pid, signal.SIGKILL)
    until(lambda: not serving.running())


def test_files_that_cannot_be_served_are_told_before_anything_starts(tmp_path: Path) -> None:
    data = weights().read_bytes()
    for name, content, said in (
        ("page.gguf", b"<!DOCTYPE html>", "is not a GGUF file"),
        ("short.gguf", data[: 4 << 20], "is cut short"),
        ("base.gguf", data.replace(b"tokenizer.chat_template", b"tokenizer.chat_templatX"), "has no chat template"),
        ("later.gguf", None, "no file"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=said):
            open_model(f"gguf:{tmp_path / name}")
        (tmp_path / name).unlink(missing_ok=True)
    # The header is whole, and the last weights are not there.
    (tmp_path / "end.gguf").write_bytes(data[:-1000])
    model = LocalModel(f"gguf:{tmp_path / 'end.gguf'}")
    with pytest.raises(ModelFailed, match=r"ended while it loaded: .*(load|bounds|corrupt)"):
        model.complete(HELLO, timeout=WITHIN)


def test_any_beginning_of_a_file_is_refused_with_one_line(tmp_path: Path) -> None:
    with weights().open("rb") as file:
        head = file.read(2 << 20)
    for size in [*range(0, 600, 7), *range(600, len(head), 97_001)]:
        (tmp_path / "cut.gguf").write_bytes(head[:size])
        with pytest.raises(UsageError):
            read_header(tmp_path / "cut.gguf")


@pytest.fixture
def small(codenav_home: Path) -> Callable[..., None]:
    """Write a catalogue with the model as installed; it needs so many bytes of memory."""

    def write(needs: int = 1) -> None:
        size = weights().stat().st_size
        entry = {"title": "Small", "licence": "Apache-2.0", "parameters": 1.3e8, "context": 8192, "memory": needs}
        told = {"smol": {**entry, "bytes": size, "sha256": "0" * 64}}
        (codenav_home / "models.json").write_text(json.dumps(told))
        (codenav_home / "models").mkdir(exist_ok=True)
        link = codenav_home / "models" / "smol.gguf"
        link.unlink(missing_ok=True)
        link.symlink_to(weights())

    return write


def test_the_installed_one_is_the_model_of_those_who_name_none(small: Callable[..., None], told: list[str]) -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        open_model("")
    assert "codenav models get" in caught.value.hint and "--base-url" in caught.value.hint
    small()
    model = open_model("", notice=told.append, max_tokens=4)
    assert (model.name, told) == ("local:smol", [])
    assert model.complete(HELLO, timeout=WITHIN).text
    again = open_model("local", base_url="http://localhost:1/v1", notice=told.append)
    assert again.name == "local:smol" and told[-1].endswith("is not asked: local:smol is served by codenav itself")
    with pytest.raises(ModelNotConfigured, match="but no model of it"):
        open_model("", base_url="http://localhost:1/v1")
    assert "smol is on this machine" in codenav("doctor", "--json").out
    model.close()


def test_too_little_memory_is_one_sentence(small: Callable[..., None]) -> None:
    small(10**15)
    ran = codenav("run", "x", "--on", __file__, "--model", "local:smol", "--sandbox", "process")
    assert ran.code == 4 and "Error: smol needs 1000000.0 GB of memory, and " in ran.err
    assert "Traceback" not in ran.err


def test_free_memory_is_that_of_the_tightest_limit(tmp_path: Path) -> None:
    assert memory.free(tmp_path, tmp_path) is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   4000 kB\n")
    assert memory.free(tmp_path, tmp_path) == 4000 << 10
    for name, text in (("max", "3000000\n"), ("current", "2000000\n"), ("stat", "anon 5\ninactive_file 500000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert memory.free(tmp_path, tmp_path) == 1_500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free(tmp_path, tmp_path) == 4000 << 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(codenav_home: Path) -> None:
    folder = codenav_home / "models" / f"serving-{os.geteuid()}"
    folder.mkdir(parents=True)
    os.chown(folder, 12345, 12345)
    with pytest.raises(StorageFull, match="belongs to somebody else"):
        LocalModel(f"gguf:{weights()}")


@pytest.mark.nightly
def test_the_doctor_probes_a_local_model() -> None:
    rows = {
        row["name"]: row
        for row in codenav("doctor", "--model", f"gguf:{weights()}", "--probe", "--json", within=WITHIN).document
    }
    for name in ("answer", "streaming", "token counts", "temperature 0", "seed", "grammar", "context"):
        assert rows[name]["ok"], rows[name]
    assert rows["context"]["detail"].startswith("8,192 tokens; a longer prompt is refused")


def test_the_doctor_probes_a_server_that_can_do_little() -> None:
    refused = ("stop", "seed", "response_format", "stream_options")
    with ChatServer(lambda body: "ready", refuses=refused) as server:
        at = ("--model", "test-model", "--base-url", server.url)
        ran = codenav("doctor", *at, "--probe", "--json")
    rows = {row["name"]: row for row in ran.document}
    assert rows["answer"]["ok"] and "Traceback" not in ran.err
    for name in ("stop", "grammar", "JSON schema", "python block", "context"):
        assert not rows[name]["ok"], rows[name]
    with ChatServer() as gone:
        pass
    ran = codenav("doctor", "--model", "x", "--base-url", gone.url, "--probe", "--json")
    rows = {row["name"]: row for row in ran.document}
    assert not rows["answer"]["ok"] and "streaming" not in rows


def test_the_doctor_finds_servers_of_this_machine() -> None:
    with ChatServer(models=["qwen3", "llama3"]) as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        [found] = neighbours({port: "Ollama", 9: "nobody"})
    assert (found.program, found.url, found.models) == ("Ollama", f"http://localhost:{port}/v1", ["qwen3", "llama3"])
    assert all(request.method == "GET" for request in server.requests)


def test_traits_are_empty_where_nobody_tells_them() -> None:
    with ChatServer() as server:
        model = ChatModel("test-model", base_url=server.url)
        assert model.traits == Traits(local=True)
        model.close()
    gone = ChatModel("test-model", base_url=server.url)
    assert gone.traits == Traits(local=True)
    gone.close()
    assert traits_of(object()) == Traits()
