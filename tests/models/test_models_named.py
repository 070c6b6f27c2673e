"""Models under names of one's own: the tables `[models.NAME]` of the configuration file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from chat_server import Answer, ChatServer
from command_line import codenav

from codenav.agents.models import open_model
from codenav.core.config import load_config
from codenav.core.errors import Unavailable, UsageError
from codenav.core.messages import Message

KEY = "sk-big-0123456789abcdef"
ASK = [Message("user", "What is six times seven?")]


def configure(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)


@pytest.fixture
def big(codenav_home: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    monkeypatch.setenv("BIG_KEY", KEY)
    configure(
        codenav_home,
        f'[models.big]\nmodel = "gpt-5"\nbase_url = "{chat_server.url}"\nkey = "BIG_KEY"\nmax_tokens = 777\n'
        "temperature = 0.5\ntop_p = 0.9\nseed = 3\nprice_in = 2.0\nprice_out = 8.0\n",
    )
    return chat_server


def test_its_server_key_and_settings_are_those_of_the_table(big: ChatServer) -> None:
    big.script = [Answer("42")]
    with closing(open_model("big", base_url="http://localhost:1/v1")) as model:
        assert (model.name, model.complete(ASK).text) == ("gpt-5", "42")
    sent = big.chats[-1]
    assert {name: sent[name] for name in ("model", "max_tokens", "temperature", "top_p", "seed")} == {
        "model": "gpt-5", "max_tokens": 777, "temperature": 0.5, "top_p": 0.9, "seed": 3,
    }  # fmt: skip
    assert big.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_what_a_run_costs_is_in_its_record_and_on_the_screen(big: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    text = f"<action><type>done</type><content>{KEY}</content></action>"
    big.script = [Answer(text, usage={"prompt_tokens": 1000, "completion_tokens": 250})]
    ran = codenav("run", "How many acres?", "--on", tmp_path, "--model", "big", "--sandbox", "bubblewrap")
    # Nothing holds the number in it, but a part of a secret is not asked for.
    assert ran.code == 0 and "$0.0040" in ran.err and "0123456789" not in ran.err, ran.err
    record = codenav("episodes", "show", "last", "--json").document
    assert record["usage"]["dollars"] == pytest.approx(0.004) and record["model"] == "gpt-5"
    assert KEY not in str(record)


def test_its_context_bounds_an_answer(codenav_home: Path, chat_server: ChatServer) -> None:
    configure(codenav_home, f'[models.cramped]\nmodel = "m"\nbase_url = "{chat_server.url}"\ncontext = 2048\n')
    chat_server.script = [Answer("42")]
    with closing(open_model("cramped")) as model:
        model.complete(ASK)
    assert 1024 < chat_server.chats[0]["max_tokens"] < 2048


def test_its_profile_is_that_of_the_table(codenav_home: Path, chat_server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    configure(codenav_home, f'[models.tiny]\nmodel = "m"\nbase_url = "{chat_server.url}"\nprofile = "small"\n')
    chat_server.script = lambda body: "SEARCH: acres"
    codenav("run", "How many acres?", "--on", tmp_path / "farm.py", "--model", "tiny", "--max-steps", "2")
    assert "grammar" in chat_server.chats[0] and chat_server.chats[0]["model"] == "m"


def test_the_doctor_asks_the_server_of_the_table_with_its_key(big: ChatServer) -> None:
    big.key, big.models = KEY, ["gpt-5"]
    rows = {row["name"]: row for row in codenav("doctor", "--model", "big", "--json").document}
    assert (rows["model"]["ok"], rows["model"]["detail"]) == (True, f"{big.url} has gpt-5"), rows["model"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[models.big]\nmodle = "x"\n', "unknown key 'models.big.modle'"),
        ('[models]\nbig = "gpt-5"\n', "models.big in"),
        ('models = "gpt-5"\n', "is no section"),
        (f'[models.big]\nkey = "{KEY}"\n', "models.big.key in"),
        ("[models.big]\ntemperature = 3.5\n", "temperature in [models.big]"),
        ("[models.big]\nmax_tokens = 0\n", "max_tokens in [models.big]"),
        ('[models.big]\nprofile = "medium"\n', "profile in [models.big]"),
        ("[models.big]\nseed = 1.5\n", "seed in [models.big]"),
        ('[models.big]\naction_format = "xml"\n', "action_format in [models.big]"),
    ],
)
def test_a_table_that_is_wrong_is_told_in_one_sentence(codenav_home: Path, text: str, told: str) -> None:
    configure(codenav_home, text)
    with pytest.raises(UsageError) as raised:
        load_config()
    said = f"{raised.value} {raised.value.hint}"
    assert told in said and str(codenav_home) in said and KEY not in said


def test_a_key_without_a_value_is_told_and_not_repeated(codenav_home: Path) -> None:
    configure(codenav_home, '[models.big]\nkey = "abcdef0123456789"\n')
    with pytest.raises(Unavailable) as raised:
        open_model("big", base_url="http://localhost:1/v1")
    assert "abcdef" not in f"{raised.value} {raised.value.hint}"
