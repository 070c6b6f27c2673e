"""References between documents: `$ref` within a file, into files beside it, and to other addresses."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from codenav.core.errors import UsageError
from codenav.tools.addresses import bare, is_url, origin, shown
from codenav.tools.documents import parse, read_file
from codenav.tools.fetching import fetch

MOST_DOCUMENTS = 10_000
"""Documents that one may refer to. DigitalOcean's has 2,500."""
MOST_HOPS = 100
"""References one after the other."""


TEXTS = ("summary", "description")
"""Keys that count beside the reference of a parameter or an answer: those that OpenAPI 3.1 has there."""


class Unresolved(Exception):
    """A reference that leads nowhere; the message is a sentence without its place."""


@dataclass(frozen=True, slots=True)
class Place:
    """A value and where it stands: what its own references are relative to."""

    value: Any
    document: str
    """Address of the document: a URL, or the path of a file."""
    pointer: str
    """JSON pointer of the value in it."""
    parts: tuple[Place, ...] = ()
    """The places that a reference with keys beside it makes one of; the first one that has a key counts."""

    def at(self, *keys: object) -> Place:
        """The place further down; its value is None if there is none."""
        part = next((part for part in self.parts if keys and keys[0] in part.value), None)
        if part is not None:
            return part.at(*keys)
        value, pointer = self.value, self.pointer
        for key in keys:
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
                value = value[key]
            else:
                value = None
            pointer = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        return Place(value, self.document, pointer)


class Documents:
    """Documents with references in them."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        """The documents by their addresses, or by other names."""

    def resolve(self, place: Place, *, beside: Container[str] | None = TEXTS, hops: int = MOST_HOPS) -> Place:
        """The value at a place, references followed; of the keys beside them those in `beside` win, None is all.

        Raises:
            Unresolved: a reference leads nowhere or round in a circle.
            CodeNavError: it is refused, or its document cannot be read.
        """
        value = place.value
        if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
            return place
        if not hops:
            raise Unresolved("its references lead round in a circle")
        found = self.resolve(self.target(value["$ref"], place.document, hops=hops), beside=beside, hops=hops - 1)
        own = {key: item for key, item in value.items() if key != "$ref" and (beside is None or key in beside)}
        if not own or not isinstance(found.value, Mapping):
            return found
        parts = Place(own, place.document, place.pointer), *(found.parts or (found,))
        return Place({**found.value, **own}, found.document, found.pointer, parts)

    def target(self, reference: str, document: str, *, hops: int = MOST_HOPS) -> Place:
        """The place that a reference in a document names.

        Raises:
            Unresolved, CodeNavError: as `resolve`.
        """
        address, fragment = urldefrag(reference)
        if address:
            document = self._open(address, document)
        value = self.documents[document]
        if fragment and not fragment.startswith("/"):
            raise Unresolved(f"`$ref` {reference!r} is no JSON pointer")
        place = Place(value, document, "")
        for part in fragment.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(place.value, Mapping) and key not in place.value and hops:
                place = self.resolve(place, hops=hops - 1)
            value = place.value
            if isinstance(value, Mapping) and key in value:
                place = place.at(key)
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                place = place.at(int(key))
            else:
                raise Unresolved(f"`$ref` {reference!r} leads nowhere")
        return place

    def _open(self, address: str, document: str) -> str:
        """The key of the document at an address that another one names."""
        raise Unresolved(f"`$ref` {address!r} is not in the document")


class Library(Documents):
    """The documents that a specification consists of, read when they are referred to."""

    def __init__(self, where: str, *, allow_private: bool = False) -> None:
        """Read the named document.

        Raises:
            CodeNavError: as `fetch` and `read_file`.
        """
        super().__init__()
        self.allow_private = allow_private
        self.folder: Path | None = None
        self.trusted: tuple[str, str, int] | None = None
        if is_url(where):
            self.trusted = origin(where)
            content, found = fetch(where, trusted=self.trusted, allow_private=allow_private)
            self.main = urldefrag(found).url
            self.documents[self.main] = parse(content, shown(where))
        else:
            path = Path(where).expanduser()
            value = read_file(path)
            path = path.resolve()
            self.main, self.folder = str(path), home_of(path)
            self.documents[self.main] = value
        root = self.documents[self.main]
        own = root.get("$self") if isinstance(root, Mapping) else None
        # Version 3.2: the address that a document gives to itself. Only that it means itself is believed.
        self.own = own if isinstance(own, str) else ""

    @property
    def root(self) -> Place:
        """The whole named document."""
        return Place(self.documents[self.main], self.main, "")

    @property
    def address(self) -> str:
        """The URL of the named document, without a password in it; empty if it is a file."""
        return "" if self.folder else bare(self.main)

    def _open(self, address: str, document: str) -> str:
        """The key of the document at an address that another one names."""
        key = self.main if address == self.own else self._key(address, document)
        if key in self.documents:
            return key
        if len(self.documents) >= MOST_DOCUMENTS:
            raise UsageError(f"{shown(self.main)} refers to more than {MOST_DOCUMENTS:,} documents")
        if is_url(key):
            content, _ = fetch(key, trusted=self.trusted, allow_private=self.allow_private)
            self.documents[key] = parse(content, shown(key))
        else:
            try:
                self.documents[key] = read_file(Path(key))
            except UsageError as error:
                raise Unresolved(f"`$ref` to a document that cannot be read: {error}") from error
        return key

    def _key(self, address: str, document: str) -> str:
        if is_url(address):
            return address
        if is_url(document):
            key = urljoin(document, address)
            if not is_url(key):
                raise UsageError(f"{shown(document)} refers to {address!r}, which is no address of HTTP: refused")
            return key
        path = address.removeprefix("file://") if address.lower().startswith("file://") else address
        if "://" in path or "\0" in path:
            raise UsageError(f"{document} refers to {address!r}, which is neither a file nor an address of HTTP")
        found = (Path(document).parent / unquote(path)).resolve()
        if self.folder is None or not found.is_relative_to(self.folder):
            raise UsageError(
                f"{document} refers to {address!r}, outside of the folder of the named document: refused",
                hint="a document may refer to files of its git repository, else to those below its own folder",
            )
        return str(found)


def home_of(path: Path) -> Path:
    """The folder whose files a document may refer to: that of its repository, else its own.

    A home folder that is a repository, of settings, is none of a specification.
    """
    found = next((folder for folder in path.parents if (folder / ".git").exists()), None)
    return path.parent if found is None or Path.home().resolve().is_relative_to(found) else found
