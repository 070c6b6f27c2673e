"""`codenav tools list`, `show` and `stubs` as a user meets them, and packages of stubs against a real service."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav, offered
from tool_service import CLIENT, CLIENT_SECRET, KEY, PASSWORD, PNG, SHOP, TOKEN, USER, ToolService

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
    ran = codenav("tools", "list", f"openapi:{shop}")
    first, *rows, secrets = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert secrets.startswith(
        "Secrets (--secret NAME=VARIABLE): shop_key (header X-Api-Key), shop_query (query api_key),"
    )
    assert first == f"tools.shop  {len(rows)} tools  openapi:{shop}  Shop 1.2.0"
    assert "  shop.create_order          write    Order products for a customer." in rows
    assert "  shop.delete_order          destroy  Cancel an order and forget it." in rows
    document = codenav("tools", "list", f"openapi:{shop}", "--json").document
    jsonschema.validate(document, schemas.load("tools-list"))
    assert [row["name"] for row in document] == [row.split()[0] for row in rows]


@pytest.mark.parametrize("command", [("index",), ("tools", "list"), ("tools", "show", "create_order", "--on")])
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
        (("tools", "show", "zzz", "--on", "{shop}"), "no tool 'zzz'", "codenav tools list openapi:"),
        (("tools", "list", "pkg:networkx"), "pkg:networkx is no source of tools", "openapi:FILE"),
        (("tools", "list", "openapi:none.yaml"), "none.yaml", "Try: "),
        (("tools", "list", "openapi:"), "openapi: names nothing", "openapi:FILE or openapi:http://HOST/openapi.json"),
        (("tools", "list", "{shop}", "--no-refresh"), "has not been read", "codenav index openapi:"),
        (("tools", "stubs", "{shop}"), "--out", "Try "),
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
    assert "Kinds: TOOL 19" in codenav("sources", "show", f"openapi:{shop}").out
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
    assert codenav("tools", "list", "name:all").out.startswith("tools.shop  19 tools")
    assert codenav("sources", "remove", f"openapi:{shop}").code == 0
    assert codenav("sources", "show", f"openapi:{shop}").code == 2


def test_a_source_that_is_down_answers_from_the_state_before(service: ToolService) -> None:
    source = f"openapi:{service.url}/openapi.json"
    assert codenav("index", source).code == 0
    service.stop()
    ran = codenav("index", source)
    assert ran.code == 0 and ": using the state of " in ran.err
    assert codenav("search", "order", "--on", source, "--no-refresh").code == 0
    ran = codenav("index", f"{source}?other")
    assert ran.code == 4 and "Traceback" not in ran.err


def test_names_of_tools_are_completed(shop: Path) -> None:
    assert codenav("tools", "list", f"openapi:{shop}").code == 0
    found = offered("tools", "show", "--on", f"openapi:{shop}", "creat")
    assert list(found) == ["create_order"]
    assert offered("tools", "show", "--on", "openapi:none.yaml", "creat") == {}


USE = """
import tools.shop as shop
from tools.shop import ToolError, create_order, get_product_image, list_products, whoami_basic, whoami_oauth

for product in list_products(color="blue"):
    print(product["name"])
print(create_order(7, [{"product": 1, "quantity": 2}], note="soon")["id"])
print(get_product_image(1))
print(shop.upload_product_image(2, "mug.png", caption="A mug") is not None)
for ask in (whoami_basic, whoami_oauth, shop.whoami_bearer, shop.whoami_cookie, shop.whoami_query):
    print(ask())
try:
    shop.get_product(99)
except ToolError as error:
    print(error.status, error.body)
"""


def python(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code with the written stubs, without anything of codenav."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), **variables}
    return subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{code}"],
        cwd=folder, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_written_stubs_call_the_service_on_their_own(shop: Path, service: ToolService, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = codenav("tools", "stubs", f"openapi:{shop}", "--out", out, "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("tools-stubs"))
    assert ran.document[0]["package"] == "tools.shop" and ran.document[0]["tools"] == 19
    (out / "mug.png").write_bytes(PNG)
    secrets = {
        "TOOLS_SHOP_SHOP_KEY": KEY, "TOOLS_SHOP_SHOP_QUERY": KEY, "TOOLS_SHOP_SHOP_COOKIE": KEY,
        "TOOLS_SHOP_SHOP_BASIC": f"{USER}:{PASSWORD}", "TOOLS_SHOP_SHOP_BEARER": TOKEN,
        "TOOLS_SHOP_SHOP_OAUTH": f"{CLIENT}:{CLIENT_SECRET}",
    }  # fmt: skip
    done = python(USE, out, **secrets)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:5] == ["Mug", "Scarf", "1001", "product-1.png", "True"]
    assert (out / "product-1.png").read_bytes() == PNG
    assert len(lines) == 11 and lines[-1].startswith("404 {")
    assert [seen.line for seen in service.writes] == ["POST /orders", "POST /products/2/image"]
    name, kind, content = service.writes[1].parts()["image"]
    assert (name, kind, content) == ("mug.png", "image/png", PNG)


def test_written_stubs_say_what_they_lack(shop: Path, service: ToolService, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert codenav("tools", "stubs", f"openapi:{shop}", "--out", out).code == 0
    code = (
        "import tools.shop as shop\ntry:\n    shop.create_order(7, [{'product': 1, 'quantity': 2}])\n"
        "except shop.ToolError as error:\n    print(error)"
    )
    assert python(code, out).stdout == "this operation needs a secret; set TOOLS_SHOP_SHOP_KEY\n"
    wrong = python(code, out, TOOLS_SHOP_SHOP_KEY="not-it-5a").stdout
    assert wrong.startswith("401 ") and "not-it-5a" not in wrong
    service.stop()
    assert "does not answer" in python(code, out, TOOLS_SHOP_SHOP_KEY=KEY).stdout
    assert not service.writes[1:]


def test_written_stubs_are_clean_for_mypy(shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert codenav("tools", "stubs", f"openapi:{shop}", "--out", out).code == 0
    (out / "use.py").write_text(USE)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    for what in (["use.py"], ["-p", "tools"]):
        checked = subprocess.run([*mypy, *what], cwd=out, capture_output=True, text=True)
        assert checked.stdout == "", checked.stdout


def test_stubs_write_over_their_own_files_only(shop: Path, tmp_path: Path) -> None:
    out, source = tmp_path / "out", f"openapi:{shop}"
    assert codenav("tools", "stubs", source, "--out", out).code == 0
    text = shop.read_text()
    shop.write_text(text.replace("operationId: createOrder", "operationId: placeOrder"))
    assert codenav("tools", "stubs", source, "--out", out).code == 0
    operations = out / "tools" / "shop" / "_operations"
    assert (operations / "place_order.py").is_file() and not (operations / "create_order.py").exists()

    mine = operations / "place_order.py"
    mine.write_text("# mine\n")
    ran = codenav("tools", "stubs", source, "--out", out)
    assert ran.code == 2 and f"{mine}: there already, and not as codenav wrote it" in ran.err
    assert mine.read_text() == "# mine\n"
    foreign = tmp_path / "repo"
    (foreign / "tools" / "shop").mkdir(parents=True)
    (foreign / "tools" / "shop" / "__init__.py").write_text("MINE = 1\n")
    ran = codenav("tools", "stubs", source, "--out", foreign)
    assert ran.code == 2 and "there already" in ran.err
    assert [path.name for path in foreign.rglob("*.py")] == ["__init__.py"]


def test_two_specifications_in_one_folder(shop: Path, tmp_path: Path) -> None:
    out, second = tmp_path / "out", tmp_path / "second.yaml"
    second.write_text(SHOP.read_text())
    for path in (shop, second):
        assert codenav("tools", "stubs", f"openapi:{path}", "--out", out).code == 0
    done = python("from tools import second, shop\nprint(second.ToolError is shop.ToolError)", out)
    assert done.stdout == "True\n", done.stderr
