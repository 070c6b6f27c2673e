"""Models without a server, opening a model by its name, and the probe for the doctor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer, Fault, Hang

from codenav.agents.models import ChatModel, FunctionModel, ScriptedModel, load_script, open_model, probe
from codenav.core.actions import Code, Done
from codenav.core.errors import ModelFailed, ModelNotConfigured, NotFound, UsageError
from codenav.core.messages import Completion, Message

ASK = [Message("user", "word " * 8)]

SCRIPT = """A conversation, for readers.

<action>
<thought>look</thought>
<type>search</type>
<content>
x
</content>
</action>

Then a wrong one, and code that mentions "</action>" in a line:

<action>just prose</action>
  <action><type>code</type><content>
print("</action>", 1)
</content></action>
"""


def test_a_script_is_played_in_order_and_runs_out() -> None:
    model = ScriptedModel([Code("1"), "prose"])
    first = model.complete(ASK)
    assert first.text == Code("1").to_xml()
    assert (first.usage.requests, first.usage.input_tokens, first.usage.estimated) == (1, 10, True)
    assert model.complete(ASK).text == "prose"
    for _ in range(2):
        with pytest.raises(ModelFailed, match="the script has no answer 3"):
            model.complete(ASK)
    model.close()
    assert model.name == "scripted"
    assert repr(model) == "ScriptedModel('scripted')"


def test_a_function_answers_with_text_an_action_or_a_completion() -> None:
    def echo(messages: object) -> str:
        return "echo"

    assert FunctionModel(echo).name == "echo"
    assert FunctionModel(echo).complete(ASK).text == "echo"
    assert FunctionModel(lambda messages: Done(messages[0].role), name="f").complete(ASK).text == Done("user").to_xml()
    whole = Completion("x", truncated=True)
    assert FunctionModel(lambda messages: whole).complete(ASK) is whole


def test_a_script_file(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(SCRIPT)
    model = load_script(path)
    assert model.name == "scripted:talk.txt"
    texts = [model.complete(ASK).text for _ in range(3)]
    assert texts[0].startswith("<thought>look</thought>\n<type>search</type>")
    assert texts[1] == "just prose"
    assert 'print("</action>", 1)' in texts[2]
    with pytest.raises(ModelFailed, match="no answer 4"):
        model.complete(ASK)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "contains no answer"),
        (b"only comment, and <action> in a line", "contains no answer"),
        (b"a\n<action>x</action>\n\n<action>\nnever closed", "line 4: <action> is never closed"),
        (b"\xff\xfe", "cannot read the script"),
    ],
)
def test_a_script_file_that_is_none(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as caught:
        load_script(path)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_a_script_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no script"):
        open_model(f"scripted:{tmp_path / 'none.txt'}")
    with pytest.raises(UsageError, match="cannot read"):
        open_model(f"scripted:{tmp_path}")


def test_opening_by_name(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(SCRIPT)
    assert isinstance(open_model(f"scripted:{path}"), ScriptedModel)
    model = open_model(" qwen3 ", base_url="http://localhost:8000/v1")
    assert isinstance(model, ChatModel)
    assert model.name == "qwen3"


@pytest.mark.parametrize("name", ["", "  ", "planner"])
def test_no_model_says_how_to_get_one(name: str) -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        open_model(name)
    assert caught.value.exit_code == 4
    assert all(way in caught.value.hint for way in ("codenav models get", "--model NAME --base-url URL"))
    assert ("planner" in str(caught.value)) == (name == "planner")


def test_the_configured_model_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODENAV_MODEL", "qwen3")
    names = [open_model(given, base_url="http://127.0.0.1:9/v1").name for given in ("", "gpt-5")]
    assert names == ["qwen3", "gpt-5"]


class TestProbe:
    def test_a_listed_model(self, chat_server: ChatServer) -> None:
        chat_server.models = ["a", "llama:latest"]
        assert probe("a", chat_server.url) == (True, f"{chat_server.url} has a", "")
        assert probe("llama", chat_server.url)[0]
        assert chat_server.chats == []

    def test_a_model_of_a_server_without_a_list_is_asked(self, chat_server: ChatServer) -> None:
        chat_server.script = ["ready"]
        chat_server.models = []
        ok, detail, _ = probe("b", chat_server.url)
        assert (ok, detail) == (True, f"{chat_server.url} answers as b; it does not say which models it has")

    def test_a_server_that_takes_any_name(self, chat_server: ChatServer) -> None:
        chat_server.script = ["ready"]
        ok, detail, hint = probe("test-modle", chat_server.url)
        assert (ok, hint) == (False, "did you mean 'test-model'? It has: test-model")
        assert detail == f"{chat_server.url} has no model 'test-modle' in its list, though it may answer to any name"

    def test_a_model_that_is_listed_by_its_file(self, chat_server: ChatServer) -> None:
        chat_server.models = ["/models/Qwen3-8B.Q4_K_M.gguf"]
        assert probe("Qwen3-8B.Q4_K_M", chat_server.url)[0]

    def test_an_unknown_model(self, chat_server: ChatServer) -> None:
        chat_server.strict = True
        ok, detail, hint = probe("test-modle", chat_server.url)
        assert (ok, hint) == (False, "did you mean 'test-model'? It has: test-model")
        assert "has no model 'test-modle'" in detail

    def test_a_wrong_key(self, chat_server: ChatServer) -> None:
        chat_server.key = "x"
        ok, detail, hint = probe("m", chat_server.url)
        assert (ok, hint) == (False, "check OPENAI_API_KEY")
        assert "401" in detail

    def test_what_cannot_be_reached_or_is_not_set(self, tmp_path: Path) -> None:
        assert "cannot reach" in probe("m", "http://127.0.0.1:1/v1")[1]
        assert "no key" in probe("m", "")[1]
        assert "no model is configured" in probe("", "")[1]
        assert "not an HTTP URL" in probe("m", "localhost")[1]
        assert "no script" in probe("scripted:none.txt", "")[1]

    def test_a_script(self, tmp_path: Path) -> None:
        path = tmp_path / "talk.txt"
        path.write_text(SCRIPT)
        assert probe(f"scripted:{path}", "") == (True, f"{path}: 3 answers", "")

    def test_a_server_that_breaks(self, chat_server: ChatServer) -> None:
        chat_server.script = [Fault(400, "no")]
        chat_server.models = []
        assert probe("m", chat_server.url)[0] is False

    def test_a_server_that_hangs(self, chat_server: ChatServer) -> None:
        chat_server.script = [Hang()]
        chat_server.models = []
        ok, detail, _ = probe("m", chat_server.url, timeout=0.5)
        assert not ok
        assert "no answer" in detail


def test_the_chat_server_runs_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(SCRIPT)
    program = Path(__file__).parent.parent / "chat_server.py"
    process = subprocess.Popen([sys.executable, program, path], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        model = ChatModel("any", base_url=process.stdout.readline().strip())
        talk = [*ASK]
        for expected in ("<type>search</type>", "just prose", "<type>code</type>"):
            answer = model.complete(talk).text
            assert expected in answer
            talk += [Message("assistant", answer), Message("user", "go on")]
        model.close()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_importing_the_models_loads_no_client() -> None:
    clients = ("openai", "httpx", "httpx2", "pydantic")
    program = f"import sys, codenav.agents.models; print([m for m in {clients} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_last_answer_that_is_sent_back_is_given_again() -> None:
    model = ScriptedModel([Done("1"), Done("2")])
    assert model.complete(ASK).text == Done("1").to_xml()
    assert model.complete(ASK).text == Done("2").to_xml()
    said = [*ASK, Message("assistant", Done("2").to_xml()), Message("user", "Compute it.")]
    assert model.complete(said).text == Done("2").to_xml()
    with pytest.raises(ModelFailed, match="no answer 3"):
        model.complete(ASK)
