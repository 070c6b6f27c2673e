"""Calls through the broker to a real service: values, files, errors, bounds, repeats, redirects, interrupts."""

from __future__ import annotations

import base64
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tool_service import PNG, ToolService
from tool_specs import Calls, shop

from codenav.core.execution import ToolCall
from codenav.core.options import ToolOptions
from codenav.tools.broker.broker import MOST_CALLS
from codenav.tools.broker.transport import ANSWER_BYTES

LINES = [{"product": 1, "quantity": 2}]


def error_of(answer: Any) -> tuple[int | None, str]:
    assert set(answer) == {"error"}, answer
    assert "\n" not in answer["error"]["message"]
    return answer["error"]["status"], answer["error"]["message"]


def refusal_of(answer: Any) -> str:
    assert set(answer) == {"refused"}, answer
    assert "\n" not in answer["refused"]
    return str(answer["refused"])


def test_reads_and_writes(service: ToolService, calls: Any) -> None:
    call = calls("shop_key")
    found = call("shop.list_products", q="mug", tags=["kitchen", "gift"])
    assert [item["id"] for item in found["value"]] == [1]
    assert service.log[-1].query == "q=mug&tags=kitchen&tags=gift"
    assert call("shop.create_order", customer=7, lines=LINES)["value"]["total"] == 17.0
    assert service.writes[-1].json() == {"customer": 7, "lines": LINES}
    assert call("shop.update_order", order_id=1001, note="é")["value"]["note"] == "é"
    assert call("shop.delete_order", order_id=1001) == {"value": None}
    assert call("shop.echo", body="äöü\n")["value"] == "äöü\n"
    assert [seen.line for seen in service.writes] == [
        "POST /orders", "PUT /orders/1001", "DELETE /orders/1001", "POST /echo",
    ]  # fmt: skip


def test_the_record_of_a_call(calls: Any) -> None:
    call = calls("shop_key")
    call("shop.create_order", customer=7, lines=LINES)
    made = call.last
    assert (made.tool, made.effect, made.outcome, made.status, made.tries) == (
        "shop.create_order", "write", "ok", 201, 1,
    )  # fmt: skip
    assert made.arguments == {"customer": 7, "lines": LINES} and made.answer["id"] == 1001
    assert made.bytes > 50 and 0 < made.seconds < 20 and '"id": 1001' in made.shown
    assert ToolCall.from_dict(made.to_dict()).tool == made.tool
    call("shop.get_order", order_id=5)
    assert (call.last.outcome, call.last.status) == ("error", 404)
    assert call.last.answer == {"message": "there is no order 5"}


def test_files_out_and_in(service: ToolService, calls: Any) -> None:
    call = calls("shop_key")
    file = call("shop.get_product_image", product_id=1)["file"]
    assert (file["name"], file["type"], base64.b64decode(file["data"])) == ("product-1.png", "image/png", PNG)
    assert call.last.answer == {"$file": {"name": "product-1.png", "type": "image/png", "bytes": len(PNG)}}
    sent = {"$file": {"name": "../new.png", "type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}}
    answer = call("shop.upload_product_image", product_id=3, image=sent, caption="A plate")
    assert answer["value"]["bytes"] == 4 and answer["value"]["caption"] == "A plate"
    assert call.last.arguments["image"] == {"$file": {"name": "../new.png", "type": "image/png", "bytes": 4}}
    assert service.writes[-1].parts()["image"][2] == b"\x89PNG"


def test_the_name_of_a_file_has_no_folders(calls: Any) -> None:
    call = calls()
    for name in ("../../etc/passwd", "..\\..\\x.png", "/etc/passwd", "a/b", ".bashrc", "a\x1b[2Jb", "x" * 400, ""):
        file = call("trouble.named", name=name)["file"]
        assert 0 < len(file["name"]) <= 100
        assert not set(file["name"]) & set("/\\\x1b") and not file["name"].startswith(".")


def test_an_error_status_is_an_error_with_status_and_body(calls: Any) -> None:
    call = calls()
    for status in (400, 401, 403, 404, 418, 429, 500, 503, 599):
        found, message = error_of(call("trouble.status_write", status=status))
        assert found == status and message.startswith(f"trouble.status_write answered {status}")
        assert message.endswith(f"status {status} was asked for") or status in (401, 403, 429, 503)


def test_answers_that_are_not_what_was_promised(calls: Any) -> None:
    call = calls()
    assert error_of(call("trouble.html")) == (
        200, "trouble.html answered 200 with a web page where JSON is promised: Please log in",
    )  # fmt: skip
    assert call("trouble.empty") == {"value": None}
    assert "JSON that cannot be read" in error_of(call("trouble.broken"))[1]
    assert call("trouble.wrong")["value"] == {"ok": "perhaps", "list": 3}
    assert call.last.shown.startswith("""not what the specification promises: ['ok']: "perhaps" is not of type""")
    assert call.last.shown.endswith('{"ok": "perhaps", "list": 3}') and call.last.outcome == "ok"


def test_large_answers_are_cut_and_told(calls: Any) -> None:
    call = calls()
    assert len(call("trouble.large", bytes=ANSWER_BYTES - 2)["value"]) == ANSWER_BYTES - 2
    for arguments in ({}, {"squeezed": True}, {"bytes": ANSWER_BYTES}):
        status, message = error_of(call("trouble.large", **arguments))
        assert status == 200 and "over 8 MiB" in message
        assert call.last.outcome == "failed"
    assert "over 8 MiB" in error_of(call("trouble.endless"))[1]


def test_answers_that_never_end_and_slow_ones_end_in_time(calls: Any) -> None:
    call = calls(tool_timeout=1.0)
    for tool, arguments in (("endless", {"slowly": True}), ("slow", {"seconds": 20}), ("slow_write", {"seconds": 20})):
        began = time.monotonic()
        status, message = error_of(call(f"trouble.{tool}", **arguments))
        assert status is None and "within the time of the call" in message
        assert ("may have been carried out" in message) == (tool == "slow_write")
        assert time.monotonic() - began < 10, tool


def test_a_call_ends_with_the_time_of_its_step(calls: Any) -> None:
    call = calls()
    call.broker.begin("request", 0.5)
    began = time.monotonic()
    error_of(call("trouble.slow", seconds=20))
    assert time.monotonic() - began < 10
    assert "the time of this step is over" in refusal_of(call("shop.list_products"))
    call.broker.begin("request", 20)
    assert "value" in call("shop.list_products")


def test_idempotent_calls_are_tried_again_and_others_never(service: ToolService, calls: Any) -> None:
    call = calls()
    for tool, fault in (("flaky", "500"), ("flaky_put", "503"), ("flaky", "dropped"), ("flaky", "429")):
        service.state.failed.clear()
        assert call(f"trouble.{tool}", fault=fault, times=2)["value"]["ok"] is True, (tool, fault)
        assert call.last.tries == 3
    for fault in ("500", "429", "dropped"):
        service.state.failed.clear()
        before = len(service.writes)
        status, message = error_of(call("trouble.flaky_post", fault=fault))
        assert len(service.writes) - before == 1 and call.last.tries == 1, fault
        assert fault != "dropped" or (status is None and "may have been carried out" in message)


def test_retry_after_is_followed_in_seconds_and_as_a_date(service: ToolService, calls: Any) -> None:
    import email.utils

    call = calls()
    began = time.monotonic()
    assert "value" in call("trouble.flaky", fault="429", after="1.2")
    assert time.monotonic() - began >= 1.2
    service.state.failed.clear()
    date = email.utils.formatdate(time.time() + 2, usegmt=True)
    began = time.monotonic()
    assert "value" in call("trouble.flaky", fault="503", after=date)
    assert time.monotonic() - began >= 0.8
    service.state.failed.clear()
    began = time.monotonic()
    status, message = error_of(call("trouble.flaky", fault="429", after="3600"))
    assert status == 429 and "to be tried again after 3600" in message and time.monotonic() - began < 10


def test_a_server_that_is_not_there(service: ToolService, calls: Any) -> None:
    call = calls("shop_key")
    service.stop()
    for tool, arguments in (("shop.list_products", {}), ("shop.create_order", {"customer": 7, "lines": LINES})):
        status, message = error_of(call(tool, **arguments))
        assert status is None and "connection refused" in message
        assert call.last.outcome == "failed"
    other = calls(server="http://no-such-host.invalid", specs=[shop("http://127.0.0.1:1")])
    assert "unknown host" in error_of(other("shop.list_products"))[1]


def test_redirects_stay_on_the_server(service: ToolService, calls: Any) -> None:
    call = calls()
    assert call("trouble.moved") == {"value": {"ok": True}}
    with ToolService() as other:
        for target in (
            other.url + "/stolen",
            "//localhost:1/x",
            "http://127.0.0.1.evil.example/",
            "file:///etc/passwd",
        ):
            service.elsewhere = target
            status, message = error_of(call("trouble.elsewhere"))
            assert status == 302 and "not followed" in message
            error_of(call("trouble.elsewhere_write"))
        assert other.log == []
    assert "redirects in a row" in error_of(call("trouble.circle"))[1]


def test_a_spec_without_an_address_names_the_option(calls: Any, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    call = Calls(folder, [shop("/v1")], ToolOptions())
    assert "--server URL" in refusal_of(call("shop.list_products"))


def test_an_interrupt_ends_a_call_at_once(service: ToolService, calls: Any) -> None:
    call = calls()
    threading.Timer(0.3, call.broker.cancel).start()
    began = time.monotonic()
    status, message = error_of(call("trouble.slow", seconds=20))
    assert status is None and "interrupted" in message and time.monotonic() - began < 10
    # Nothing is left of it for the next call.
    assert call("trouble.slow", seconds=0) == {"value": {"ok": True}}
    threading.Timer(0.3, call.broker.cancel).start()
    began = time.monotonic()
    error_of(call("trouble.flaky", fault="429", after="20"))
    assert time.monotonic() - began < 10


def test_a_step_makes_two_hundred_calls(service: ToolService, calls: Any) -> None:
    call = calls()
    answers = [call("shop.get_product", product_id=0) for _ in range(MOST_CALLS)]
    assert all("at least 1" in answer["refused"] for answer in answers)
    assert "200 calls" in refusal_of(call("shop.get_product", product_id=1))
    assert service.log == []
    call.broker.begin("request", None)
    assert "value" in call("shop.get_product", product_id=1)


FORGED: list[tuple[str, dict[str, Any]]] = [
    ("tools/shop/get_products", {"arguments": {}}),
    ("tools/shops/get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop/../shop/get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop/get_product/x", {"arguments": {"product_id": 1}}),
    ("tools/", {}),
    ("tools/shop/get_product", {"arguments": {"product_id": 1}, "server": "http://localhost:1"}),
    ("tools/shop/get_product", {"arguments": [1]}),
    ("tools/shop/get_product", {"arguments": None}),
    ("tools/shop/get_product", {}),
    ("tools/shop/__init__", {"arguments": {}}),
    ("tools//get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop/GET_PRODUCT", {"arguments": {"product_id": 1}}),
    ("shop/get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop.get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop:get_product", {"arguments": {"product_id": 1}}),
    ("tools/shop/get_product", {"arguments": {"product_id": 1}, "headers": {"Host": "x"}}),
    ("tools/shop/get_product", {"arguments": {"product_id": 1, "path": "/orders"}}),
    ("tools/shop/echo", {"arguments": {"body": {"$file": {"name": "a", "type": "", "data": "YQ=="}}}}),
    ("tools/shop/create_order", {"arguments": {"customer": 7, "lines": [], "note": "x" * 201}}),
    ("tools/shop/get_product", {"product_id": 1}),
    ("tools/shop/get_product", {"arguments": {f"a{n}": 1 for n in range(10_000)}}),
]


def test_forged_calls_send_nothing(service: ToolService, calls: Any) -> None:
    call = calls()
    for name, arguments in FORGED:
        refusal_of(call.broker(name, arguments))
        assert service.log == [] and call.last.outcome == "refused", name


def test_proxies_of_the_environment_are_not_for_loopback(
    service: ToolService, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ToolService() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert "value" in calls()("shop.list_products")
        assert (len(service.log), proxy.log) == (1, [])
        other = calls(server="http://api.example.invalid")
        other("shop.list_products")
        assert [seen.path for seen in proxy.log][:1] == ["http://api.example.invalid/products"]


def test_nesting_of_any_depth_is_told(calls: Any) -> None:
    nested: Any = "x"
    for _ in range(800):
        nested = [nested]
    call = calls()
    assert "\n" not in str(call("shop.create_order", customer=7, lines=nested))
    assert call.last.outcome in ("refused", "error")


def test_functions_of_this_process(tmp_path: Path, calls: Any) -> None:
    from codenav.tools.model import Effect, Operation, Parameter, ToolSpec

    number = {"type": "integer"}
    spec = ToolSpec(
        "maths", "tools",
        operations=tuple(
            Operation(name, name, effect=Effect.READ, parameters=(Parameter("a", "a", "body", number, required=True),))
            for name in ("double", "fails", "odd", "slow", "nobody")
        ),
    )  # fmt: skip

    def fails(a: int) -> None:
        raise ValueError(f"not {a}\nat all")

    handlers = {
        "double": lambda a: {"twice": 2 * a}, "fails": fails, "odd": lambda a: {1, 2}, "slow": lambda a: time.sleep(a),
    }  # fmt: skip
    call = calls(specs=[spec], handlers=handlers, tool_timeout=1.0)
    assert call("maths.double", a=4) == {"value": {"twice": 8}}
    assert error_of(call("maths.fails", a=1)) == (None, "maths.fails: ValueError: not 1 at all")
    assert "TypeError" in error_of(call("maths.odd", a=1))[1]
    assert "no answer within 1 s" in error_of(call("maths.slow", a=20))[1]
    assert "handlers={'nobody'" in refusal_of(call("maths.nobody", a=1))
    assert "expected int" in refusal_of(call("maths.double", a="x"))


def test_tls_that_fails_is_told_and_not_tried_again(service: ToolService, calls: Any) -> None:
    call = calls(server=service.url.replace("http:", "https:"))
    status, message = error_of(call("shop.list_products"))
    assert status is None and "TLS failed" in message and call.last.tries == 1
