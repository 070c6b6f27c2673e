"""README's example of tools, from the checkout: its commands against the service that ships with it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import codenav

from codenav import Code, Done, ScriptedModel, run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text().replace("\\\n", " ")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of the service, on a free port, with the checkout as the current folder and the key that README sets."""
    for name, value in re.findall(r"^export (\w*SHOP\w*)=(\S+)$", README, re.MULTILINE):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)
    command = re.findall(r"^python (examples/\S+) &", README, re.MULTILINE)
    with subprocess.Popen([sys.executable, *command, "0"], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        yield service.stdout.readline().strip()
        service.terminate()


def lines(start: str) -> list[str]:
    """The words of README's command that begins so."""
    (found,) = re.findall(rf"^codenav ({start} [^#\n]*examples/shop\.yaml[^#\n]*)", README, re.MULTILINE)
    return shlex.split(found)


def test_its_commands_work(shop: str) -> None:
    listed = codenav(*lines("tools show"))
    assert listed.code == 0 and "shop.create_order" in listed.out and "shop_key (header X-Key)" in listed.out, listed
    called = codenav(*lines("tools call"), "--server", shop)
    assert called.code == 0 and [one["name"] for one in called.document] == ["Blue mug", "Red mug"], called
    checked = codenav("tools", "check", "openapi:examples/shop.yaml", "--strict", "--server", shop)
    assert checked.code == 0, checked


def test_its_run_orders_what_is_asked_for(shop: str, tmp_path: Path) -> None:
    words = lines("run")
    given = dict(zip(words[2::2], words[3::2], strict=True))
    code = """
from tools.shop import create_order, find_products
mug = find_products(q="blue mug")[0]
order = create_order(customer=7, lines=[{"product": mug["id"], "quantity": 2}])
print(order["total"])
"""
    result = run(
        words[1], on=given["--on"], secret=[given["--secret"]], allow=given["--allow"], server=shop,
        model=ScriptedModel([Code(code), Done("17.0")]), work_dir=tmp_path,
    )  # fmt: skip
    assert [call.status for call in result.steps[0].observation.calls] == [200, 201], result
    assert result.steps[0].observation.calls[1].answer["total"] == 17.0
