"""Gates and secrets: which calls may be made, what they carry, and where a secret is never seen."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tool_service import CLIENT_SECRET, KEY, PASSWORD, ToolService

from codenav.errors import Unavailable, UsageError
from codenav.options import ToolOptions

LINES = [{"product": 1, "quantity": 2}]


@pytest.mark.parametrize("way", ["key", "query", "cookie", "basic", "bearer", "oauth"])
def test_each_way_to_log_in(service: ToolService, calls: Any, way: str) -> None:
    call = calls(f"shop_{way}")
    assert call(f"shop.whoami_{way}") == {"value": {"user": "ada"}}
    refused = calls()(f"shop.whoami_{way}")["refused"]
    assert f"--secret shop_{way}=VARIABLE" in refused


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
    from codenav.broker.broker import Broker

    with pytest.raises(Unavailable) as missing:
        Broker([], ToolOptions(secrets=["shop_key=NO_SUCH_VARIABLE"]))
    assert "NO_SUCH_VARIABLE" in str(missing.value) and missing.value.exit_code == 4
    with pytest.raises(UsageError) as wrong:
        Broker([], ToolOptions(secrets=["sk-123456789"]))
    assert "sk-1" not in str(wrong.value)
    with pytest.raises(UsageError):
        Broker([], ToolOptions(allow="everything"))


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
    questions: list[str] = []

    def confirm(question: str) -> bool:
        questions.append(question)
        return len(questions) != 2

    call = calls("shop_key", allow="ask", confirm=confirm)
    assert "value" in call("shop.list_orders")
    assert "value" in call("shop.create_order", customer=7, lines=LINES, note="\x1b[2J")
    assert "did not allow" in call("shop.create_order", customer=7, lines=LINES)["refused"]
    assert "value" in call("shop.delete_order", order_id=1001)
    assert len(questions) == 3 and len(service.writes) == 2
    assert questions[0].startswith("Let the code call shop.create_order(customer=7, lines=[{'product': 1,")
    assert "\x1b" not in questions[0]
    # A call with wrong arguments asks nobody.
    call("shop.create_order", customer="x", lines=LINES)
    assert len(questions) == 3
    assert "--allow write" in calls("shop_key", allow="ask")("shop.create_order", customer=7, lines=LINES)["refused"]
