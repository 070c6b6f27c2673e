"""docs/reference.md against the settings and commands, and each setting in the file, the environment and `--set`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT

from codenav.core import config
from codenav.core.config import PARTS, SETTINGS, Config, load_config
from codenav.core.errors import UsageError
from codenav.core.options import FORMER
from codenav.core.setting import Setting, settings_of

CONFIGURED = [one for one in SETTINGS.values() if one.configured]
BY_KIND = {
    "text": ("some", "some"), "whole": ("90", 90), "number": ("90", 90.0), "switch": ("no", False),
    "list": ("a,b", ["a", "b"]), "size": ("1g", 1 << 30),
}  # fmt: skip


def text_and_value(one: Setting) -> tuple[str, Any]:
    """A text that the setting can have, and the value that it stands for."""
    if one.choices:
        return one.choices[-1], one.choices[-1]
    if one.most is not None and one.most < 90:
        return ("0.5", 0.5) if one.most == 1 else ("7", 7)
    return BY_KIND[one.kind]


def configured_value(one: Setting) -> Any:
    (part,) = [name for name, kind in PARTS.items() if one.keyword in settings_of(kind)]
    return getattr(getattr(load_config(), part), one.attribute)


def test_the_page_is_what_the_script_writes() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    assert made["page"]() == (ROOT / "docs" / "reference.md").read_text(), "python docs/make_reference.py"


@pytest.mark.parametrize("one", CONFIGURED, ids=lambda one: one.key)
def test_each_setting_is_read_from_the_file_the_variable_and_set(
    one: Setting, codenav_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, value = text_and_value(one)
    section, _, name = one.key.rpartition(".")
    toml = str(value).lower() if isinstance(value, bool) else f'"{text}"' if one.kind == "size" else repr(value)
    codenav_home.mkdir(exist_ok=True)
    (codenav_home / "config.toml").write_text(f"[{section}]\n{name} = {toml}" if section else f"{name} = {toml}")
    assert configured_value(one) == value
    (codenav_home / "config.toml").write_text(f"{one.keyword} = {toml}")  # as before there were sections
    assert configured_value(one) == value
    (codenav_home / "config.toml").unlink()
    monkeypatch.setenv(one.variable, text)
    assert configured_value(one) == value
    monkeypatch.delenv(one.variable)
    monkeypatch.setattr(config, "_given", {})
    if one.secret:
        with pytest.raises(UsageError, match="ps would show"):
            config.set_value(one.key, text)
        return
    config.set_value(one.key, text)
    assert configured_value(one) == value


def test_names_of_the_version_before_are_read(codenav_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(FORMER.values()) <= set(SETTINGS) and not set(FORMER) & set(SETTINGS)
    codenav_home.mkdir(exist_ok=True)
    (codenav_home / "config.toml").write_text('limit_steps = 3\nrewrite = "m"\n')
    monkeypatch.setenv("CODENAV_LIMIT_TOKENS", "9")
    found = load_config()
    assert (found.limits.steps, found.limits.tokens, found.selection.rewrite_model) == (3, 9, "m")


def test_without_configuration_the_defaults_of_the_classes_hold() -> None:
    found = load_config()
    for name, kind in PARTS.items():
        for one in settings_of(kind).values():
            assert getattr(getattr(found, name), one.attribute) == one.usual, one.key
    assert found.limits == Config().limits and found.resources == Config().resources


def test_the_servers_own_variable_is_no_setting_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert load_config().model.base_url == ""
