"""docs/models.md against the configuration itself."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from command_line import ROOT

from codenav.core.config import Config, load_config

PAGE = (ROOT / "docs" / "models.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| ([^|]*) \|", re.MULTILINE)


def test_every_key_stands_in_the_table_with_its_variable_in_the_order_of_the_file() -> None:
    rows = [(key, variable) for key, variable, _ in ROW.findall(PAGE)]
    assert rows == [(item.name, f"CODENAV_{item.name.upper()}") for item in fields(Config)]


def test_the_defaults_in_the_table_are_those_of_the_code() -> None:
    told = {key: default.strip().strip("`") for key, _, default in ROW.findall(PAGE)}
    for item in fields(Config):
        # An empty default is told in words.
        default = str(item.default).lower() if isinstance(item.default, bool) else str(item.default)
        assert item.default == "" or told[item.name] == default, item.name


@pytest.mark.parametrize("variable", [variable for _, variable, _ in ROW.findall(PAGE)])
def test_each_variable_is_read(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = variable.removeprefix("CODENAV_").lower()
    kind = type(getattr(Config, name))
    written, value = ("false", False) if kind is bool else ("90", kind("90"))
    monkeypatch.setenv(variable, written)
    assert getattr(load_config(), name) == value


def test_the_servers_own_variable_is_no_setting_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert load_config().base_url == ""
