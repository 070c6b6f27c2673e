"""A service and brokers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tool_service import CLIENT, CLIENT_SECRET, KEY, PASSWORD, TOKEN, USER, ToolService
from tool_specs import Calls, shop, trouble

from codenav.core.options import ToolOptions

Open = Callable[..., Calls]

VARIABLES = {
    "shop_key": ("SHOP_KEY", KEY),
    "shop_query": ("SHOP_QUERY", KEY),
    "shop_cookie": ("SHOP_COOKIE", KEY),
    "shop_basic": ("SHOP_BASIC", f"{USER}:{PASSWORD}"),
    "shop_bearer": ("SHOP_BEARER", TOKEN),
    "shop_oauth": ("SHOP_OAUTH", f"{CLIENT}:{CLIENT_SECRET}"),
}


@pytest.fixture
def service() -> Iterator[ToolService]:
    """The service, fresh."""
    with ToolService() as started:
        yield started


@pytest.fixture
def calls(service: ToolService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A function that opens a broker for the shop and its troubles; secrets are the names of schemes."""
    for variable, value in VARIABLES.values():
        monkeypatch.setenv(variable, value)
    opened: list[Calls] = []

    def make(*secrets: str, allow: str = "all", **more: Any) -> Calls:
        fields = {name: more.pop(name) for name in ("server", "handlers", "tool_timeout", "approve") if name in more}
        given = {name: VARIABLES[name][0] for name in secrets} | more.pop("more_secrets", {})
        specs = more.pop("specs", None) or [shop(service.url), trouble(service.url)]
        made = Calls(tmp_path, specs, ToolOptions(allow=allow, secrets=given, **fields), **more)
        opened.append(made)
        return made

    yield make
    for made in opened:
        made.broker.close()
