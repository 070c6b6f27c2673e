"""This machine's pip settings for indexes, proxies and certificates, for use by pip in a build."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from codenav.core.errors import UsageError

PASSED = (
    "index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "proxy", "cert", "client-cert",
    "timeout", "retries", "pre", "prefer-binary", "only-binary", "no-binary", "no-build-isolation", "use-feature",
    "use-deprecated",
)  # fmt: skip
"""Settings that say where pip gets packages and which ones. All others concern the machine that pip runs on."""

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE")
_ADDRESSES = ("index-url", "extra-index-url", "find-links")


@dataclass
class PipSettings:
    """Environment variables and files for the programs of a build."""

    env: dict[str, str] = field(default_factory=dict)
    proxies: dict[str, str] = field(default_factory=dict)
    """The variables of `env` that other programs use too."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Certificates, by their names in the build."""
    secrets: list[str] = field(default_factory=list)
    """Texts that must not be shown."""

    @classmethod
    def of_user(cls, build: str) -> PipSettings:
        """Collect this user's settings: pip's configuration files, its environment variables, proxies.

        `build` is the folder inside that files are put into.

        Raises:
            UsageError: a file that a setting names cannot be read.
        """
        made = cls()
        values = pip_values()
        for key in ("cert", "client-cert"):
            if values.get(key):
                values[key] = made._file(values[key], f"{key}.pem", build)
        for key in sorted(set(values) & set(PASSED)):
            made.env[f"PIP_{key.replace('-', '_').upper()}"] = values[key]
        made.env["PIP_CONFIG_FILE"] = os.devnull
        for name in PROXIES:
            # Most programs know only one of the two spellings.
            value = os.environ.get(name) or os.environ.get(name.upper())
            if value:
                made.proxies[name] = made.proxies[name.upper()] = value
        made.env.update(made.proxies)
        for name in _CERTIFICATES:
            if os.environ.get(name):
                made.env[name] = made._file(os.environ[name], f"{name}.pem", build)
        addresses = " ".join(values.get(key, "") for key in _ADDRESSES).split()
        made.take_secrets([*addresses, values.get("proxy", ""), *made.proxies.values()])
        return made

    def take_secrets(self, addresses: list[str]) -> None:
        """Keep the passwords of addresses from being shown, both as written and with escapes decoded."""
        for address in addresses:
            password = _password(address)
            self.secrets += [one for one in (password, unquote(password)) if one and one not in self.secrets]
        # Longer ones first: a password may begin with another one.
        self.secrets.sort(key=len, reverse=True)

    def _file(self, path: str, name: str, build: str) -> str:
        try:
            self.files[name] = Path(path).expanduser().read_bytes()
        except OSError as error:
            raise UsageError(
                f"cannot read {path}, which pip is told to use: {error.strerror}", hint="pip config list"
            ) from error
        return f"{build}/{name}"


def pip_values() -> dict[str, str]:
    """Return pip's settings by their long options, from its own files and variables (pip, "Configuration")."""
    values: dict[str, str] = {}
    for path in _files(os.environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise UsageError(f"pip's configuration {path} cannot be read: {error}", hint="pip config debug") from error
        for section in ("global", "install"):
            if parser.has_section(section):
                values.update({key.replace("_", "-"): " ".join(value.split()) for key, value in parser.items(section)})
    for name, value in os.environ.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE" and value:
            values[name.removeprefix("PIP_").lower().replace("_", "-")] = " ".join(value.split())
    return values


def _files(environment: Mapping[str, str]) -> list[Path]:
    """Return pip's configuration files. Later ones take precedence."""
    named = environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    own = Path(environment.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    shared = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    found = [Path(folder, "pip", "pip.conf") for folder in shared if folder] + [Path("/etc/pip.conf")]
    found += [Path("~/.pip/pip.conf").expanduser(), own / "pip" / "pip.conf"]
    if environment.get("VIRTUAL_ENV"):
        found.append(Path(environment["VIRTUAL_ENV"], "pip.conf"))
    return [*found, *([Path(named)] if named else [])]


def _password(address: str) -> str:
    """Return the password as written in an address, or an empty string. A user without a password is a token."""
    try:
        parts = urlsplit(address)
        return parts.password or parts.username or ""
    except ValueError:
        return ""
