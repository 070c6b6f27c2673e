"""Whole runs whose code calls tools: a real service, the real client and broker, and a sandbox without a network."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chat_server import ChatServer
from command_line import Ran, codenav, start, without_evidence
from pseudo_terminal import INTERRUPT, on_terminal
from tool_service import KEY, TROUBLE, ToolService

import codenav as package
from codenav import CheckOptions, SandboxOptions, ScriptedModel, Session
from codenav.core import schemas
from codenav.core.actions import Action, Code, CodeSummary, Done, Search
from codenav.core.options import ToolOptions

Run = Callable[..., Ran]
REQUEST = "Order two blue mugs for customer 7"
FIND = "from tools.shop import create_order, list_orders, list_products\nmugs = list_products(q='mug', color='blue')"
ORDER = "order = create_order(customer=7, lines=[{'product': mugs[0]['id'], 'quantity': 2}])"
LIST = "mine = list_orders(customer=7)\nprint(len(mine), mine[-1]['total'])"
SCRIPT = f"{FIND}\n{ORDER}\n{LIST}\n"
NO_CHECKS = CheckOptions(lint=False, types=False)
UNCHECKED = ("--set=checks.types=no", "--set=checks.lint=no")


@pytest.fixture
def trouble(service: ToolService, tmp_path: Path) -> str:
    return f"openapi:{service.write(tmp_path, TROUBLE)}"


@pytest.fixture
def order(run: Run, shop: str) -> Run:
    """`codenav run` on the shop, with its key and the right to write."""

    def command(*more: str) -> Ran:
        key = ("--secret", "shop_key=SHOP_KEY")
        return run(REQUEST, "--on", shop, *key, "--allow", "write", "--set=checks.lint=no", *more)

    return command


@pytest.fixture
def docker(docker_engine: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Docker as keywords of `codenav.sandbox`."""
    monkeypatch.setenv("DOCKER_HOST", docker_engine.host)
    return {"backend": "docker", "image": docker_engine.base_image()}


def last() -> dict[str, Any]:
    ran = codenav("episodes", "show", "last", "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.document
    jsonschema.validate(document, schemas.load("episode"))
    return document


def lines(home: Path) -> list[dict[str, Any]]:
    """The lines of the newest record."""
    record = max((home / "episodes").glob("*/events.jsonl"))
    found = [json.loads(line) for line in record.read_text().splitlines()]
    for line in found:
        jsonschema.validate(line, schemas.load("event"))
    return found


def holding(folder: Path, secret: str) -> list[Path]:
    """The files below a folder that contain a secret."""
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def calls(document: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    made = [
        call for step in document["steps"] if step["action"]["type"] == "code" for call in step["observation"]["calls"]
    ]
    return [(call["tool"], call["outcome"], call["status"]) for call in made]


def three_calls(
    order: Run, chat_server: ChatServer, service: ToolService, sandbox: list[str], codenav_home: Path
) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    chat_server.script = [
        Code(f"import os, socket\nsocket.create_connection(({host!r}, {port}), 2)"),
        Code(FIND),
        Code(f"{ORDER}\nprint(order['id'], os.environ.get('SHOP_KEY'))"),
        Code(LIST),
        CodeSummary(SCRIPT),
        Done("Order 1001: 17.0"),
    ]
    ran = order(*sandbox)
    assert ran.code == 0, ran.err
    assert without_evidence(ran.out).splitlines()[-1] == "summary: reproduced"
    assert [seen.line for seen in service.log] == ["GET /products", "POST /orders", "GET /orders"]
    assert service.writes[0].headers["x-api-key"] == KEY

    events = lines(codenav_home)
    names = [(event["event"], event.get("number") or event.get("step", {}).get("number")) for event in events]
    assert [name for name in names if name[0] != "run_ended"][1:] == [
        ("acted", 1), ("observed", 1), ("acted", 2), ("called", 2), ("observed", 2), ("acted", 3), ("called", 3),
        ("observed", 3), ("acted", 4), ("called", 4), ("observed", 4), ("acted", 5), ("observed", 5), ("acted", 6),
        ("observed", 6),
    ]  # fmt: skip
    write = next(event for event in events if event["event"] == "called" and event["number"] == 3)
    assert (write["tool"], write["effect"], write["status"], write["tries"]) == ("shop.create_order", "write", 201, 1)
    assert write["arguments"] == {"customer": 7, "lines": [{"product": 1, "quantity": 2}]}
    assert write["answer"]["id"] == 1001 and write["bytes"] > 50 and write["seconds"] > 0
    assert not any("calls" in event["step"]["observation"] for event in events if event["event"] == "observed")

    record = last()
    assert record["steps"][0]["observation"]["outcome"] == "error", "the network was there"
    assert record["steps"][2]["observation"]["stdout"] == "1001 None\n"
    assert calls(record) == [
        ("shop.list_products", "ok", 200), ("shop.create_order", "ok", 201), ("shop.list_orders", "ok", 200),
    ]  # fmt: skip
    assert record["calls"] == []
    shown = chat_server.chats[3]["messages"][-1]["content"]
    assert "Calls to tools:\n- shop.create_order: 201, 0." in shown and '"total": 17.0' in shown
    assert "   call shop.create_order → 201, 0." in ran.err
    assert "call shop.create_order → 201" in codenav("episodes", "show", "last").out
    everything = f"{ran.out}{ran.err}{json.dumps(chat_server.chats)}{json.dumps(record)}"
    assert KEY not in everything
    assert holding(codenav_home / "episodes", KEY) == []


def killed_after_a_write(
    order: Run, chat_server: ChatServer, service: ToolService, sandbox: list[str], codenav_home: Path
) -> None:
    chat_server.script = [
        Code(FIND),
        Code(f"{ORDER}\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        Code(LIST),
        CodeSummary(SCRIPT),
        Done("17.0"),
    ]
    ran = order(*sandbox)
    assert ran.code == 0, ran.err
    record = last()
    assert [step["observation"]["outcome"] for step in record["steps"][:3]] == ["ok", "crashed", "ok"]
    assert "- shop.create_order: 201" in record["steps"][1]["shown"] and '"id": 1001' in record["steps"][1]["shown"]
    assert [event["tool"] for event in lines(codenav_home) if event["event"] == "called"] == [
        "shop.list_products", "shop.create_order", "shop.list_orders",
    ]  # fmt: skip
    assert [seen.line for seen in service.writes] == ["POST /orders"]
    assert without_evidence(ran.out).splitlines()[-1] == "summary: reproduced"


def test_three_calls_with_one_write_and_no_network(
    order: Run, chat_server: ChatServer, service: ToolService, codenav_home: Path
) -> None:
    three_calls(order, chat_server, service, ["--sandbox", "bubblewrap"], codenav_home)


def test_three_calls_in_docker(
    order: Run, chat_server: ChatServer, service: ToolService, docker: dict[str, str], codenav_home: Path
) -> None:
    three_calls(order, chat_server, service, ["--sandbox", "docker", "--image", docker["image"]], codenav_home)


def test_a_worker_that_is_killed_after_a_write(
    order: Run, chat_server: ChatServer, service: ToolService, codenav_home: Path
) -> None:
    killed_after_a_write(order, chat_server, service, ["--sandbox", "bubblewrap"], codenav_home)


@pytest.mark.nightly
def test_a_worker_that_is_killed_in_docker(
    order: Run, chat_server: ChatServer, service: ToolService, docker: dict[str, str], codenav_home: Path
) -> None:
    killed_after_a_write(order, chat_server, service, ["--sandbox", "docker", "--image", docker["image"]], codenav_home)


def test_a_state_that_is_rebuilt_gets_the_answers_from_before(shop: str, service: ToolService) -> None:
    rebuilt(shop, service, {"backend": "bubblewrap"})


@pytest.mark.nightly
def test_a_state_that_is_rebuilt_in_docker(shop: str, service: ToolService, docker: dict[str, str]) -> None:
    rebuilt(shop, service, docker)


def test_codenav_is_killed_right_after_a_write(
    chat_server: ChatServer, shop: str, service: ToolService, codenav_home: Path
) -> None:
    chat_server.script = [Code(f"{FIND}\n{ORDER}\nimport time; time.sleep(60)")]
    process = start(
        "run", REQUEST, "--on", shop, "--secret", "shop_key=SHOP_KEY", "--allow", "write", *UNCHECKED,
        "--model", "m", "--base-url", chat_server.url,
    )  # fmt: skip
    with process:
        until = time.monotonic() + 60
        while (
            not any(path.stat().st_size for path in (codenav_home / "episodes").glob("*/events.jsonl"))
            or lines(codenav_home)[-1].get("tool") != "shop.create_order"
        ):
            assert time.monotonic() < until
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    record = last()
    assert record["status"] == "interrupted" and record["under_way"]["number"] == 1 and record["steps"] == []
    assert [(call["by"], call["number"], call["tool"]) for call in record["calls"]] == [
        ("step", 1, "shop.list_products"), ("step", 1, "shop.create_order"),
    ]  # fmt: skip
    assert "call shop.create_order → 201" in codenav("episodes", "show", "last").out
    assert len(service.writes) == 1


def rebuilt(shop: str, service: ToolService, backend: dict[str, str]) -> None:
    options: dict[str, Any] = {"secret": ["shop_key=SHOP_KEY"], "allow": "write", "snapshots": False}
    with package.sandbox(on=shop, **options, **backend) as box:
        assert box.run(f"{FIND}\n{ORDER}").ok
        done = box.run("import os; os._exit(1)")
        assert done.notice.startswith("state rebuilt"), done.notice
        assert box.run("order['id'], len(mugs)").stdout == "(1001, 1)\n"
        kept = box.checkpoint()
        box.run("del order")
        box.restore(kept)
        assert box.run("order['id']").stdout == "1001\n"
    assert [seen.line for seen in service.log] == ["GET /products", "POST /orders"]


def test_without_a_gate_that_allows_it_nothing_is_written(
    run: Run, chat_server: ChatServer, shop: str, service: ToolService
) -> None:
    chat_server.script = [Code(f"{FIND}\n{ORDER}"), Done("FAILED: it may only read")]
    ran = run(REQUEST, "--on", shop, "--secret", "shop_key=SHOP_KEY", "--set=checks.lint=no")
    assert ran.code == 1
    record = last()
    assert calls(record) == [("shop.list_products", "ok", 200), ("shop.create_order", "refused", None)]
    shown = record["steps"][0]["shown"]
    assert "--allow write" in shown and "ToolError" in shown
    assert "only calls that read are allowed" in record["prompt"]
    assert re.search(r"call shop\.create_order → refused, \d\.\d\d s: shop\.create_order is a write", ran.err), ran.err
    assert service.writes == []


def test_a_replay_sends_what_reads_and_nothing_that_writes(
    order: Run, chat_server: ChatServer, service: ToolService
) -> None:
    chat_server.script = [
        Code(FIND),
        CodeSummary(FIND.replace("q='mug', color='blue'", "color='blue', q='Mug'")),
        # Caught or not, and whatever the rest of the script computes: this is not what the session did.
        CodeSummary(f"{FIND}\ntry:\n    {ORDER}\nexcept Exception as error:\n    print(type(error).__name__)"),
        Done("1"),
    ]
    ran = order()
    assert ran.code == 0, ran.err
    record = last()
    good, bad = (step["observation"] for step in record["steps"] if step["action"]["type"] == "code_summary")
    assert good["verified"], good
    assert not bad["verified"] and bad["verdict"] == "not verified"
    assert bad["reason"] == (
        "the script makes a call that the session had not made in just this way, and a replay sends none: "
        "shop.create_order"
    )
    assert ran.out.splitlines()[-1] == f"summary: not compared: {bad['reason']}"
    assert [(call["by"], call["number"], call["tool"]) for call in record["calls"]] == [
        ("replay", 2, "shop.list_products")
    ]
    assert [seen.line for seen in service.log] == ["GET /products", "GET /products"]


def test_answers_come_in_their_order(shop: str, service: ToolService) -> None:
    """What was read after a write is not what was read before it, also for a script that reads once."""
    actions: list[Action] = [
        Code("from tools.shop import create_order, list_orders\nbefore = len(list_orders(customer=7))"),
        Code("create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])"),
        Code("after = len(list_orders(customer=7))"),
        CodeSummary(
            "from tools.shop import create_order, list_orders\n"
            "create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])\nafter = len(list_orders(customer=7))"
        ),
        Done("1"),
    ]
    result = package.run(
        REQUEST, on=shop, model=ScriptedModel(actions), sandbox="bubblewrap", checks_lint=False, checks_types=False,
        secret={"shop_key": "SHOP_KEY"}, allow="write",
    )  # fmt: skip
    assert "after" in result.steps[3].observation.to_data()["compared"], result.steps[3].observation.text
    assert [seen.line for seen in service.log] == ["GET /orders", "POST /orders", "GET /orders"]


def test_cancelling_a_step_ends_its_call(trouble: str, service: ToolService) -> None:
    model = ScriptedModel([Code("from tools.trouble import slow\nslow(seconds=30)"), Done("never")])
    with Session(on=trouble, model=model, sandbox="bubblewrap", checks=NO_CHECKS) as session:
        episode = session.episode("Wait.")

        def cancel() -> None:
            while not service.log:
                time.sleep(0.02)
            began.append(time.monotonic())
            session.cancel()

        began: list[float] = []
        threading.Thread(target=cancel).start()
        result = episode.run()
        assert time.monotonic() - began[0] < 15
    assert result.status == "interrupted"
    (call,) = result.steps[0].observation.calls  # type: ignore[attr-defined]
    assert (call.tool, call.outcome, call.status) == ("trouble.slow", "failed", None)
    assert f"trouble.slow: failed, {call.seconds:.2f} s" in result.steps[0].observation.text


def test_ctrl_c_ends_a_call_and_the_record_has_it(chat_server: ChatServer, trouble: str, service: ToolService) -> None:
    chat_server.script = [Code("from tools.trouble import slow_write\nslow_write(seconds=30)")]
    arguments = (
        "--allow", "write", "--set=checks.types=no", "--set=checks.lint=no", "--model", "m", "--base-url",
        chat_server.url,
    )  # fmt: skip
    with start("run", "Wait.", "--on", trouble, *arguments) as process:
        until = time.monotonic() + 60
        while not service.writes:
            assert time.monotonic() < until
            time.sleep(0.05)
        began = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
        assert (process.returncode, time.monotonic() - began < 15) == (130, True)
    record = last()
    assert record["status"] == "interrupted" and record["under_way"]["number"] == 1
    (call,) = record["calls"]
    assert (call["tool"], call["by"], call["outcome"], call["tries"]) == ("trouble.slow_write", "step", "failed", 1)
    assert len(service.writes) == 1


def test_a_step_that_takes_too_long_ends_its_call(trouble: str) -> None:
    actions: list[Action] = [Code("from tools.trouble import slow\nslow(seconds=30)"), Done("none")]
    result = package.run(
        "Wait.",
        on=trouble,
        model=ScriptedModel(actions),
        sandbox="bubblewrap",
        checks_lint=False,
        checks_types=False,
        code_timeout=1.5,
    )
    observation = result.steps[0].observation
    assert observation.to_data()["outcome"] in ("timeout", "error"), observation.text
    assert [(call.tool, call.outcome) for call in observation.calls] == [("trouble.slow", "failed")]  # type: ignore[attr-defined]
    assert result.steps[0].seconds < 15


@pytest.mark.parametrize(("answer", "orders", "outcome"), [("y\n", 1, "ok"), ("n\n", 0, "refused")])
def test_the_gate_that_asks(
    shop: str, service: ToolService, tmp_path: Path, answer: str, orders: int, outcome: str
) -> None:
    script = tmp_path / "order.actions"
    script.write_text(
        f"<action><type>code</type><content>\n{FIND}\n{ORDER}\n</content></action>\n"
        "<action><type>done</type><content>\nover\n</content></action>\n"
    )
    code, shown = on_terminal(
        "run", REQUEST, "--on", shop, "--secret", "shop_key=SHOP_KEY", "--allow", "ask", *UNCHECKED,
        "--model", f"scripted:{script}", answers={"[N]: ": answer},
    )  # fmt: skip
    assert code == 0, shown
    assert shown.count("Let the code call shop.create_order(customer=7, lines=") == 1, shown
    assert len(service.writes) == orders
    assert calls(last())[1][:2] == ("shop.create_order", outcome)


def test_a_question_that_is_interrupted_ends_the_run(shop: str, service: ToolService, tmp_path: Path) -> None:
    script = tmp_path / "order.actions"
    script.write_text(f"<action><type>code</type><content>\n{FIND}\n{ORDER}\n</content></action>\n")
    code, shown = on_terminal(
        "run", REQUEST, "--on", shop, "--secret", "shop_key=SHOP_KEY", "--allow", "ask", *UNCHECKED,
        "--model", f"scripted:{script}", answers={"[N]: ": INTERRUPT}, seconds=30,
    )  # fmt: skip
    assert code == 130, shown
    assert service.writes == []
    assert last()["status"] == "interrupted"


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--secret", "shop_key"), 2, "a secret is not NAME=VARIABLE"),
        (("--secret", f"shop_key={KEY}"), 2, "the secret 'shop_key' names no variable"),
        (("--secret", "shop_key=A", "--secret", "shop_key=B"), 2, "the secret 'shop_key' is named twice"),
        (("--secret", "shop_key=NOT_SET"), 4, "the variable NOT_SET is not set"),
        (("--server", "localhost:8000"), 2, "the server is no address: 'localhost:8000'"),
        (("--allow", "delete"), 2, "'delete' is not one of"),
        (("--set=answer_characters=3",), 2, "answer_characters in --set must be"),
    ],
)
def test_options_that_are_wrong(shop: str, tmp_path: Path, options: tuple[str, ...], code: int, told: str) -> None:
    script = tmp_path / "done.actions"
    script.write_text("<action><type>done</type><content>\nover\n</content></action>\n")
    ran = codenav("run", REQUEST, "--on", shop, "--model", f"scripted:{script}", *options)
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert told in ran.err and "Traceback" not in ran.err and KEY not in ran.err


def test_configuration_and_answer_length(run: Run, chat_server: ChatServer, shop: str, codenav_home: Path) -> None:
    codenav_home.mkdir(exist_ok=True)
    (codenav_home / "config.toml").write_text('allow = "write"\nanswer_characters = 90\n')
    chat_server.script = [Code("from tools.shop import list_products\nfound = list_products()"), Done("4")]
    assert run("How many products?", "--on", shop, "--set=checks.lint=no").code == 0
    record = last()
    (call,) = record["steps"][0]["observation"]["calls"]
    assert len(call["shown"]) <= 90 and len(call["answer"]) == 4
    assert "create or change something are allowed" in record["prompt"]
    (codenav_home / "config.toml").write_text("answer_characters = 10\n")
    ran = run("How many products?", "--on", shop)
    assert ran.code == 2 and "answer_characters in" in ran.err and "at least 80 and at most 100000" in ran.err


def test_a_session_without_tools_says_nothing_of_them(
    run: Run, chat_server: ChatServer, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    chat_server.script = [Code("1 + 1"), Done("2")]
    ran = run("One and one?", "--on", library, "--secret", "shop_key=SHOP_KEY", "--set=checks.lint=no")
    assert ran.code == 0 and "no source here has tools" in ran.err
    record = last()
    assert "ToolError" not in record["prompt"] and "A function of `tools`" not in record["prompt"]
    assert record["steps"][0]["observation"]["calls"] == []


def test_a_record_that_cannot_be_written_stops_the_calls(shop: str, service: ToolService) -> None:
    """A listener that fails where the record would: the call went out, no further one does, and the run ends."""
    from codenav.core.errors import StorageFull
    from codenav.core.events import Event, ToolCalled

    def full(event: Event) -> None:
        if isinstance(event, ToolCalled):
            raise StorageFull("no room for the record")

    code = f"{FIND}\ntry:\n    {ORDER}\nexcept Exception as error:\n    said = str(error)"
    tools = ToolOptions(secrets=["shop_key=SHOP_KEY"], allow="write")
    model = ScriptedModel([Code(code), Done("never")])
    sandbox = SandboxOptions("bubblewrap")
    with Session(on=shop, model=model, sandbox=sandbox, checks=NO_CHECKS, tools=tools, listeners=[full]) as session:
        result = session.run(REQUEST)
    assert (result.status, result.reason, result.exit_code) == ("error", "no room for the record", 4)
    assert [seen.line for seen in service.log] == ["GET /products"]


def test_a_specification_that_quotes_the_key_does_not_tell_it(
    order: Run, chat_server: ChatServer, service: ToolService, shop: str
) -> None:
    path = Path(shop.removeprefix("openapi:"))
    path.write_text(path.read_text().replace("A small shop", f"Log in with {KEY}. A small shop").replace(
        "List the orders of a customer.", f"List the orders of a customer. The key is {KEY}."
    ))  # fmt: skip
    chat_server.script = [Search("list orders of a customer"), Done("none")]
    ran = order("--json", "--stream")
    assert ran.code == 0, ran.err
    told = json.dumps(chat_server.chats)
    assert "The key is [secret shop_key]" in told and "Log in with [secret shop_key]" in told
    assert KEY not in told + ran.out + ran.err


def test_the_stream_holds_the_calls(order: Run, chat_server: ChatServer) -> None:
    chat_server.script = [Code(FIND), Done("1")]
    ran = order("--json", "--stream")
    events = [json.loads(line) for line in ran.out.splitlines()]
    for event in events:
        jsonschema.validate(event, schemas.load("event"))
    assert [event["event"] for event in events[:4]] == ["run_started", "acted", "called", "observed"]
    assert (events[2]["tool"], events[2]["by"]) == ("shop.list_products", "step")


def test_exports_say_what_they_need(order: Run, chat_server: ChatServer, shop: str, tmp_path: Path) -> None:
    chat_server.script = [Code(FIND), Done("1")]
    assert order().code == 0
    script, notebook = tmp_path / "out.py", tmp_path / "out.ipynb"
    assert codenav("episodes", "show", "last", "--script", script).code == 0
    assert codenav("episodes", "show", "last", "--notebook", notebook).code == 0
    for text in (script.read_text(), notebook.read_text()):
        assert f"codenav sandbox start --name NAME --on {shop}" in text
        assert "shop.list_products" in text and "sys.path" not in text


def test_a_named_sandbox(shop: str, service: ToolService, codenav_home: Path) -> None:
    started = codenav(
        "sandbox", "start", "--name", "shop", "--sandbox", "bubblewrap", "--on", shop, "--secret", "shop_key=SHOP_KEY",
        "--allow", "write",
    )  # fmt: skip
    assert started.code == 0, started.err
    try:
        owner = json.loads((codenav_home / "sandboxes" / "shop" / "sandbox.json").read_text())["owner"]["pid"]
        for name in ("cmdline", "environ"):
            assert KEY.encode() not in Path(f"/proc/{owner}/{name}").read_bytes()
        ran = codenav("sandbox", "exec", "shop", "-c", f"{FIND}\n{ORDER}\norder['id']")
        assert (ran.code, ran.out) == (0, "1001\n"), ran.err
        assert "call shop.create_order → 201, 0." in ran.err
        ran = codenav("sandbox", "exec", "shop", "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        assert ran.code == 1
        assert codenav("sandbox", "exec", "shop", "-c", "order['id']").out == "1001\n"
        logged = codenav("sandbox", "ps", "shop", "--json").document
        jsonschema.validate(logged, schemas.load("sandbox-logs"))
        assert [call["tool"] for call in logged[0]["calls"]] == ["shop.list_products", "shop.create_order"]
        assert holding(codenav_home / "sandboxes", KEY) == []
    finally:
        codenav("sandbox", "stop", "shop")
    assert [seen.line for seen in service.log] == ["GET /products", "POST /orders"]
