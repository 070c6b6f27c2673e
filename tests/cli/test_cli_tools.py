"""`codenav tools show --on` and `show` as a user meets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav
from tool_service import ToolService

from codenav.core import schemas


@pytest.fixture
def service() -> Iterator[ToolService]:
    with ToolService() as made:
        yield made


@pytest.fixture
def shop(service: ToolService, tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    return service.write(tmp_path / "specs")


def test_list_shows_names_effects_and_titles(shop: Path) -> None:
    ran = codenav("tools", "show", "--on", f"openapi:{shop}")
    first, *rows, secrets = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert secrets.startswith(
        "Secrets (--secret NAME=VARIABLE): shop_key (header X-Api-Key), shop_query (query api_key),"
    )
    assert first == f"tools.shop  {len(rows)} tools  openapi:{shop}  Shop 1.2.0"
    assert "  shop.create_order          write    Order products for a customer." in rows
    assert "  shop.delete_order          destroy  Cancel an order and forget it." in rows
    document = codenav("tools", "show", "--on", f"openapi:{shop}", "--json").document
    jsonschema.validate(document, schemas.load("tools-list"))
    assert [row["name"] for row in document] == [row.split()[0] for row in rows]


@pytest.mark.parametrize("command", [("index",), ("tools", "show", "--on"), ("tools", "show", "create_order", "--on")])
def test_a_secret_that_no_source_takes_is_an_error(
    shop: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SHOP_KEY", "a-value")
    ran = codenav(*command, f"openapi:{shop}", "--secret", "shop_kye=SHOP_KEY")
    assert ran.code == 2 and "there is no secret 'shop_kye'; there are shop_key" in ran.err, ran


def test_show_finds_a_tool_by_any_of_its_names(shop: Path) -> None:
    ran = codenav("tools", "show", "create_order", "--on", f"openapi:{shop}")
    heading, line, secrets, blank, signature, *_ = ran.out.splitlines()
    assert (ran.code, ran.err, blank) == (0, "", "")
    assert heading == f"TOOL shop.create_order  write  openapi:{shop}"
    assert (line, secrets) == ("from tools.shop import create_order", "Secrets (--secret NAME=VARIABLE): shop_key")
    assert signature.startswith("def create_order(customer: int, lines: Sequence[Mapping[str, Any]], *, note: str")
    assert "        customer: Number of the customer. At least 1. Example: 7." in ran.out.splitlines()
    for name in ("shop.create_order", "tools.shop.create_order", "createOrder"):
        document = codenav("tools", "show", name, "--on", f"openapi:{shop}", "--json").document
        jsonschema.validate(document, schemas.load("tools-show"))
        assert (document["name"], document["block"]["kind"]) == ("shop.create_order", "TOOL")
        assert document["operation"]["path"] == "/orders"


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("tools", "show", "creat_order", "--on", "{shop}"), "no tool 'creat_order'", "create_order"),
        (("tools", "show", "zzz", "--on", "{shop}"), "no tool 'zzz'", "codenav tools show --on openapi:"),
        (("tools", "show", "--on", "pkg:networkx"), "pkg:networkx is no source of tools", "openapi:FILE"),
        (("tools", "show", "--on", "openapi:none.yaml"), "none.yaml", "Try: "),
        (
            ("tools", "show", "--on", "openapi:"),
            "openapi: names nothing",
            "openapi:FILE or openapi:http://HOST/openapi.json",
        ),
        (("tools", "show", "--on", "{shop}", "--no-refresh"), "has not been read", "codenav index openapi:"),
        (("index", "{shop}l"), "there is no file", "did you mean openapi:"),
    ],
)
def test_what_cannot_be_is_told_with_exit_code_2(arguments: tuple[str, ...], said: str, hint: str, shop: Path) -> None:
    ran = codenav(*(one.format(shop=f"openapi:{shop}") for one in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err and hint in ran.err, ran.err
    assert "Traceback" not in ran.err


def test_a_name_that_two_sources_have(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "second.yaml"
    other.write_text(shop.read_text())
    both = ("--on", f"openapi:{shop}", "--on", f"openapi:{other}")
    ran = codenav("tools", "show", "create_order", *both)
    assert ran.code == 2 and "several sources have create_order" in ran.err
    assert "shop.create_order or second.create_order" in ran.err
    assert codenav("tools", "show", "second.create_order", *both).code == 0


def test_tools_in_the_commands_for_code(shop: Path, tmp_path: Path) -> None:
    ran = codenav("index", f"openapi:{shop}", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["blocks"] == ran.document["files"] == 19
    assert "Kinds: TOOL 19" in codenav("sources", "list", f"openapi:{shop}").out
    assert f"openapi:{shop}  19 files" in codenav("sources", "list").out
    shown = codenav("show", "shop.create_order", "--on", f"openapi:{shop}", "--no-refresh")
    assert shown.out.startswith("TOOL create_order  shop/orders/create_order.tool:1-"), shown
    assert codenav("callers", "create_order", "--on", f"openapi:{shop}").code == 0
    outline = codenav("outline", f"openapi:{shop}").out
    assert "shop/orders/create_order.tool\n  def create_order(" in outline
    assert "tools.shop.orders: Orders of customers." in codenav("describe", f"openapi:{shop}").out
    found = codenav("search", "(type: TOOL) AND cancel", "--on", f"openapi:{shop}").out
    assert found.startswith(
        "TOOL       delete_order  from tools.shop import delete_order  shop/orders/delete_order.tool:1"
    )
    named = codenav("index", f"openapi:{shop}", "--name", "all")
    assert named.code == 0 and "19 files" in named.out
    assert codenav("tools", "show", "--on", "name:all").out.startswith("tools.shop  19 tools")
    assert codenav("sources", "remove", f"openapi:{shop}").code == 0
    assert codenav("sources", "list", f"openapi:{shop}").code == 2


def test_a_source_that_is_down_answers_from_the_state_before(service: ToolService) -> None:
    source = f"openapi:{service.url}/openapi.json"
    assert codenav("index", source).code == 0
    service.stop()
    ran = codenav("index", source)
    assert ran.code == 0 and ": using the state of " in ran.err
    assert codenav("search", "order", "--on", source, "--no-refresh").code == 0
    ran = codenav("index", f"{source}?other")
    assert ran.code == 4 and "Traceback" not in ran.err
