"""Gates and secrets: which calls may be made, what they carry, and where a secret is never seen."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tool_service import CLIENT_SECRET, KEY, PASSWORD, ToolService
from tool_specs import Calls, operation, shop

from codenav.core.approval import Approval, Question
from codenav.core.errors import Unavailable, UsageError
from codenav.core.options import ToolOptions
from codenav.tools.broker.flights import Flight
from codenav.tools.broker.request import Request
from codenav.tools.broker.transport import Http
from codenav.tools.model import ToolSpec

LINES = [{"product": 1, "quantity": 2}]


def test_each_way_to_log_in(calls: Any) -> None:
    none = calls()
    for way in ("key", "query", "cookie", "basic", "bearer", "oauth"):
        assert calls(f"shop_{way}")(f"shop.whoami_{way}") == {"value": {"user": "ada"}}
        assert f"--secret shop_{way}=VARIABLE" in none(f"shop.whoami_{way}")["refused"]


def test_an_operation_may_carry_a_key_elsewhere(service: ToolService, calls: Any, tmp_path: Path) -> None:
    from tool_specs import SCHEMES, operation

    from codenav.tools.model import ToolSpec

    elsewhere = {"in_query": "query", "in_cookie": "cookie", "in_body": "body"}
    spec = ToolSpec(
        "moved", "openapi", servers=(service.url,), schemes=SCHEMES,
        operations=tuple(
            operation(name, "POST", "/reflect", security=(("shop_key",),), key_places={"shop_key": place})
            for name, place in elsewhere.items()
        ),
    )  # fmt: skip
    call = calls("shop_key", specs=[spec])
    for name in elsewhere:
        assert "value" in call(f"moved.{name}")
    assert service.log[0].asked == {"X-Api-Key": [KEY]}
    assert service.log[1].cookies == {"X-Api-Key": KEY}
    assert service.log[2].form() == {"X-Api-Key": [KEY]}
    assert not any("x-api-key" in seen.headers for seen in service.log)


def test_the_first_alternative_that_is_complete_is_taken(service: ToolService, calls: Any) -> None:
    assert "value" in calls("shop_bearer")("shop.whoami_either")
    assert "x-api-key" not in service.log[-1].headers
    assert "value" in calls("shop_key", "shop_cookie")("shop.whoami_either")
    assert service.log[-1].headers["x-api-key"] == KEY and "authorization" not in service.log[-1].headers
    told = calls("shop_key")("shop.whoami_either")["refused"]
    assert "shop_bearer or shop_key with shop_cookie" in told


def test_a_token_is_fetched_once_and_again_after_a_refusal(service: ToolService, calls: Any) -> None:
    call = calls("shop_oauth")
    for _ in range(3):
        assert "value" in call("shop.whoami_oauth")
    assert [seen.path for seen in service.log].count("/oauth/token") == 1
    service.state.tokens.clear()
    assert call("shop.whoami_oauth")["error"]["status"] == 401
    assert "value" in call("shop.whoami_oauth")


def test_wrong_secrets_are_told_by_name_and_never_by_value(
    service: ToolService, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = calls("shop_key", "shop_oauth", "shop_basic")
    monkeypatch.setenv("SHOP_KEY", "wrong-key-0815")
    monkeypatch.setenv("SHOP_OAUTH", "client:wrong-secret-4711")
    monkeypatch.setenv("SHOP_BASIC", "no-colon-here")
    call = calls("shop_key", "shop_oauth", "shop_basic")
    told = call("shop.whoami_key")["error"]["message"]
    assert "shop_key (SHOP_KEY)" in told
    assert "no token for shop_oauth" in call("shop.whoami_oauth")["error"]["message"]
    assert "USER:PASSWORD" in call("shop.whoami_basic")["refused"]
    said = json.dumps([made.to_dict() for made in call.made])
    assert not any(secret in said for secret in ("wrong-key-0815", "wrong-secret-4711", "no-colon-here"))


def test_secrets_are_masked_wherever_an_answer_repeats_them(service: ToolService, calls: Any) -> None:
    call = calls("shop_key", "shop_basic", "shop_oauth")
    call("shop.whoami_oauth")
    token = service.state.tokens[-1]
    for arguments in ({}, {"status": 200}, {"status": 401}, {"status": 500}):
        answer = json.dumps(call("trouble.tell", **arguments))
        assert KEY not in answer and "[secret shop_key]" in answer
    forms = (KEY, base64.b64encode(KEY.encode()).decode(), KEY.encode().hex(), PASSWORD, CLIENT_SECRET, token)
    answer = call("shop.echo", body=" ".join(forms))["value"]
    assert not any(form in answer for form in forms), answer
    record = json.dumps([made.to_dict() for made in call.made])
    assert not any(form in record for form in forms)


def test_variables_that_are_not_set_or_not_named(calls: Any) -> None:
    from codenav.tools.broker.broker import Broker

    with pytest.raises(Unavailable) as missing:
        Broker([], ToolOptions(secrets=["shop_key=NO_SUCH_VARIABLE"]))
    assert "NO_SUCH_VARIABLE" in str(missing.value) and missing.value.exit_code == 4
    with pytest.raises(UsageError) as wrong:
        Broker([], ToolOptions(secrets=["sk-123456789"]))
    assert "sk-1" not in str(wrong.value)
    with pytest.raises(UsageError):
        Broker([], ToolOptions(allow="everything"))


def bare(url: str, name: str = "hub") -> ToolSpec:
    """A specification without security schemes, as GitHub's is."""
    return ToolSpec(name, "openapi", servers=(url,), operations=(
        operation("ask", "GET", "/reflect"), operation("bearer", "GET", "/whoami/bearer"),
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Authorization: Bearer {}", ("authorization", "Bearer {}")), ("authorization:{}", ("authorization", "{}")),
        ('Authorization: Token token="{}", x', ("authorization", 'Token token="{}", x')),
        ("hub.X-Api-Key: {}", ("x-api-key", "{}")), ("?api_key={}", ("api_key", "{}")),
        ("hub.?token=a-{}", ("token", "a-{}")),
    ],
)  # fmt: skip
def test_a_header_or_query_that_a_person_writes_out(
    service: ToolService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, sent: tuple[str, str]
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hub-token=4711")
    for given in ([f"{written}=HUB_TOKEN"], {written: "HUB_TOKEN"}):
        call = Calls(tmp_path, [bare(service.url)], ToolOptions(secrets=given))
        with call.broker:
            answer = call("hub.ask")
        seen = service.log[-1]
        name, value = sent[0], sent[1].format("hub-token=4711")
        assert (seen.asked.get(name) == [value]) if "?" in written else (seen.headers[name] == value)
        assert "4711" not in str(answer) and "[secret " in str(answer) and "4711" not in str(call.last.to_dict())


def test_a_written_header_opens_what_a_scheme_without_value_would_close(service: ToolService, calls: Any) -> None:
    call = calls(specs=[shop(service.url)], more_secrets={"Authorization: Bearer {}": "SHOP_BEARER"})
    assert call("shop.whoami_bearer") == {"value": {"user": "ada"}}
    assert service.log[-1].headers["authorization"].startswith("Bearer ")


@pytest.mark.parametrize(
    ("name", "told", "hint"),
    [
        ("shop_kye", "no secret 'shop_kye'; there are shop_key (header X-Api-Key), shop_query", "'shop_key'"),
        ("nothing.like_it", "there is no secret 'nothing.like_it'; there are", "Authorization: Bearer {}=VARIABLE"),
        ("hub.shop_key", "there is no secret 'hub.shop_key'", "shop_key"),
        ("Authorization: Bearer", "the secret 'Authorization' has no {}", "Authorization: Bearer {}=VARIABLE"),
        ("Authorization: Bearer {}", "would go to each of several sources", "shop.Authorization: Bearer {}"),
        ("shopp.Authorization: {}", "there is no source 'shopp'", "shop, hub"),
    ],
)  # fmt: skip
def test_names_of_secrets_that_no_source_takes(
    service: ToolService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str, hint: str
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hub-token-4711")
    with pytest.raises(UsageError) as wrong:
        Calls(tmp_path, [shop(service.url), bare(service.url)], ToolOptions(secrets={name: "HUB_TOKEN"}))
    assert told in str(wrong.value) and hint in (wrong.value.hint or "") and wrong.value.exit_code == 2


def test_a_refusal_says_how_a_key_is_given_where_the_document_names_none(service: ToolService, tmp_path: Path) -> None:
    call = Calls(tmp_path, [bare(service.url)], ToolOptions())
    with call.broker:
        told = call("hub.bearer")["error"]["message"]
    assert "hub names no way to log in: --secret 'Authorization: Bearer {}=VARIABLE'" in told


def test_a_specification_names_servers_in_private_networks_only_where_it_may(
    service: ToolService, tmp_path: Path
) -> None:
    """One at an address: its own origin. A file: this machine. All else: with --set allow_private=yes or --server."""

    def asked(name: str, address: str, its: str, kept: bool = False, **options: Any) -> dict[str, Any]:
        spec = replace(bare(its, name), address=address, allow_private=kept)
        call = Calls(tmp_path, [spec], ToolOptions(tool_timeout=2.0, **options))
        with call.broker:
            return dict(call(f"{name}.ask"))

    far, here = "https://shop.example/openapi.json", service.url
    port = here.rpartition(":")[2]
    assert "value" in asked("file", "", here) and "value" in asked("own", f"{here}/openapi.json", here)
    assert "value" in asked("named", far, here, server=here)
    assert "value" in asked("run", far, here, allow_private=True) and "value" in asked("kept", far, here, True)
    sent = len(service.log)
    for number, (address, server) in enumerate([
        (far, here), (far, f"http://localhost:{port}"), (far, "http://[::ffff:127.0.0.1]:1"), (far, "http://0.0.0.0:1"),
        ("", "http://10.0.0.1:1"), ("", "http://169.254.169.254"), ("http://10.0.0.2/openapi.json", "http://10.0.0.1:1"),
    ]):  # fmt: skip
        told = asked(f"no_{number}", address, server).get("refused", "")
        assert "is in a private network: refused; --set allow_private=yes" in told, (address, server)
    assert len(service.log) == sent


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(service: ToolService) -> None:
    port = service.url.rpartition(":")[2]
    request = Request("GET", f"http://shop.example:{port}/reflect", [], None)
    with closing(Http()) as http:
        http._once(request, Flight(time.monotonic() + 5), threading.Event(), reuse=True, address="127.0.0.1")
    assert service.log[-1].headers["host"] == f"shop.example:{port}"


@pytest.mark.parametrize(
    ("allow", "passing"), [("read", 1), ("write", 2), ("all", 3)],
)  # fmt: skip
def test_gates(service: ToolService, calls: Any, allow: str, passing: int) -> None:
    call = calls("shop_key", allow=allow)
    asked = (
        ("shop.list_orders", {}),
        ("shop.create_order", {"customer": 7, "lines": LINES}),
        ("shop.delete_order", {"order_id": 1001}),
    )
    answers = [call(tool, **arguments) for tool, arguments in asked]
    assert ["value" in answer for answer in answers] == [number < passing for number in range(3)]
    for number, option in ((1, "--allow write"), (2, "--allow all")):
        if number >= passing:
            assert option in answers[number]["refused"]
    assert len(service.writes) == passing - 1


def test_the_gate_ask_asks_for_each_write_anew(service: ToolService, calls: Any) -> None:
    questions: list[Question] = []

    def confirm(question: Question) -> bool | Approval:
        questions.append(question)
        return Approval(False, reason="one is \x1benough") if len(questions) == 2 else True

    call = calls("shop_key", allow="ask", confirm=confirm)
    assert "value" in call("shop.list_orders")
    assert "value" in call("shop.create_order", customer=7, lines=LINES, note="\x1b[2J")
    refused = call("shop.create_order", customer=7, lines=LINES)["refused"]
    assert "did not allow shop.create_order: one is" in refused and "\x1b" not in refused
    assert "value" in call("shop.delete_order", order_id=1001)
    assert len(questions) == 3 and len(service.writes) == 2
    assert str(questions[0]).startswith("Let the code call shop.create_order(customer=7, lines=[{'product': 1,")
    assert "\x1b" not in str(questions[0])
    assert [(one.tool, one.earlier) for one in questions[:2]] == [("shop.create_order", 0), ("shop.create_order", 1)]
    assert questions[0].arguments["customer"] == 7
    # A call with wrong arguments asks nobody.
    call("shop.create_order", customer="x", lines=LINES)
    assert len(questions) == 3
    assert "--allow write" in calls("shop_key", allow="ask")("shop.create_order", customer=7, lines=LINES)["refused"]


@pytest.mark.parametrize(
    ("answer", "asked"),
    [(True, [1, 2, 3, 4, 5]), (Approval(True, calls=3), [1, 4]), (Approval(True, calls=None), [1])],
    ids=["once", "three", "all"],
)
def test_an_approval_holds_for_as_many_calls_as_it_says(calls: Any, answer: bool | Approval, asked: list[int]) -> None:
    """The gate asks also where the option lets writes pass; a list asks again, and so does another run."""
    numbers: list[int] = []
    answers: list[Any] = []

    def confirm(question: Question) -> bool | Approval:
        numbers.append(len(answers) + 1)
        return answer

    call = calls("shop_key", allow="write", approve="writes", confirm=confirm)
    call.broker.begin("one", None)
    for _ in range(5):
        answers.append(call("shop.delete_order", order_id=1001))
    assert numbers == asked and not any("refused" in one for one in answers)
    for _ in range(2):
        answers.append(call("shop.create_order", customer=7, lines=LINES))
    assert numbers[len(asked) :] == [6, 7]
    call.broker.begin("another", None)
    call("shop.delete_order", order_id=1001)
    assert numbers[-1] == 8


def test_a_dry_run_checks_and_records_and_sends_nothing_that_writes(service: ToolService, calls: Any) -> None:
    call = calls("shop_key", allow="dry-run", approve="writes")
    assert "value" in call("shop.list_orders")
    assert call("shop.create_order", customer=7, lines=LINES) == {"value": "not sent (dry run)"}
    assert (call.last.outcome, call.last.arguments["customer"]) == ("dry-run", 7)
    assert "customer" in call("shop.create_order", customer="x", lines=LINES)["refused"]
    assert service.writes == []
