"""Names in Python for whatever a specification names in its own way."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Container
from urllib.parse import urlsplit

LONGEST = 100
"""Bytes of an identifier: it becomes the name of a file, which may have 255 on all common systems."""

GENERIC = frozenset({
    "api", "apis", "definition", "docs", "index", "json", "oas", "oas2", "oas3", "openapi", "openapi2", "openapi3",
    "schema", "spec", "specification", "swagger", "toolset", "tools", "yaml", "yml",
})  # fmt: skip
"""Words that name a kind of file rather than a service."""

# "listPets" and "HTMLPage", but not the plural of an acronym: "userIDs".
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
VERSION = re.compile(r"v?\d+")


def identifier(text: str, *, otherwise: str = "unnamed") -> str:
    """An identifier in snake_case for a text: ASCII where that is a matter of accents, never empty, never a keyword.

    Keywords get a trailing underscore, a leading digit a leading one. Other underscores at the ends go, so no name is
    private or means something to Python (`__init__`). Letters of other scripts stay.

    >>> identifier("listPetsByID"), identifier("filter[from]"), identifier("class"), identifier("2fa")
    ('list_pets_by_id', 'filter_from', 'class_', '_2fa')
    """
    plain = text
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    plain = WORDS.sub("_", plain.replace("OAuth", "Oauth")).lower()
    if plain.isascii():
        plain = re.sub(r"[^a-z0-9]", "_", plain)
    else:
        # Python compares identifiers in this form; two passes, because lower case can come apart again ("İ").
        plain = unicodedata.normalize("NFKC", plain)
        plain = "".join(letter if f"a{letter}".isidentifier() else "_" for letter in plain)
        plain = unicodedata.normalize("NFKC", plain)
    name = re.sub(r"_+", "_", plain).encode(errors="ignore")[:LONGEST].decode(errors="ignore").strip("_")
    name = name or otherwise
    if not name.isidentifier():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def unique(name: str, taken: Container[str]) -> str:
    """The name, or the first of `name_2`, `name_3`, … that is not taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name.rstrip('_')}_{number}", number + 1
    return found


def package_name(where: str, *, title: str = "") -> str:
    """The name of the package for a file or URL: from its stem, else from the title, else from the host.

    >>> package_name("specs/shop.yaml"), package_name("http://localhost:8000/openapi.json", title="Shop API")
    ('shop', 'shop_api')
    """
    parts = urlsplit(where) if re.match(r"https?://", where, re.IGNORECASE) else None
    path = parts.path if parts else where.replace("\\", "/")
    # "shop.openapi.yaml": the ending, and words before it that name a kind of file.
    pieces = [piece for piece in path.rstrip("/").rpartition("/")[2].split(".") if piece]
    pieces = pieces[:-1] if len(pieces) > 1 and not VERSION.fullmatch(pieces[-1]) else pieces
    while len(pieces) > 1 and is_generic(pieces[-1]) and not VERSION.fullmatch(pieces[-1].lower()):
        pieces.pop()
    stem = ".".join(pieces)
    if stem and not is_generic(stem):
        return identifier(stem, otherwise="service")
    if re.search(r"\w", title):
        return identifier(title, otherwise="service")
    labels = [label for label in (parts.hostname or "").split(".") if label] if parts else []
    named = [label for label in labels[:-1] if label not in ("www", "api")] or labels
    return identifier("_".join(named) or stem, otherwise="service")


def is_generic(text: str) -> bool:
    """True if all words name a kind of file or a version."""
    words = [word for word in re.split(r"[\W_]+", text.lower()) if word]
    return all(word in GENERIC or VERSION.fullmatch(word) for word in words)
