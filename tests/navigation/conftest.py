"""A small package in which every rule of resolution has its case, and networkx as it is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.retrieval.source_index import SourceIndex

FILES = {
    "shop/__init__.py": "from .orders import *\nfrom .store import Store\n",
    "shop/store.py": '''
class Base:
    def load(self):
        """Read it all."""
        return []

    def rare_inherited(self):
        return self.load()


class Store(Base):
    def get(self, key):
        self.rare_inherited()
        return self.load()[key]

    def load(self):
        return super().load()

    @property
    def size(self):
        return len(self.load())

    @size.setter
    def size(self, value):
        self.resize(value)


class Other:
    def get(self, key):
        return key
''',
    "shop/orders.py": """
import math

import shop.store as shelves
from shop.store import Store as Shelf


def place(store: Shelf, unknown, count=1):
    from shop.prices import price

    def inner():
        return price(count)

    store.get(count)
    made = shelves.Store()
    made.get(2)
    unknown.get(3)
    unknown.rare_inherited()
    unknown.append(4)
    math.sqrt(5)
    count(6)
    cancel(7)
    return inner()


def cancel(order):
    return Shelf.get(order)


def _private():
    return place(None, None)
""",
    "shop/prices.py": """
def price(count: int) -> int:
    return abs(count)


class Basket:
    def append(self): ...
""",
    "shop/tests/test_orders.py": '''
import shop


def test_place():
    shop.place(shop.Store(), None)


def place():
    """A helper of the tests that has the name of what it tests."""
''',
    "docs/guide.md": "# Guide\n\nText.\n\n## Ordering\n\nMore.\n",
}


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the small code base: only to be read."""
    root = tmp_path_factory.mktemp("shop") / "code"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.lstrip("\n"))
    return root


@pytest.fixture(scope="session")
def shop_index(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourceIndex]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CODENAV_HOME", str(tmp_path_factory.mktemp("shop-home")))
        index = codenav.index(shop)
    with index:
        yield index


@pytest.fixture(scope="session")
def own_home(networkx_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CODENAV_HOME with networkx for these tests, because whoever reads an index may write beside it."""
    return shutil.copytree(networkx_home, tmp_path_factory.mktemp("navigation") / "home")


@pytest.fixture
def networkx(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceIndex]:
    monkeypatch.setenv("CODENAV_HOME", str(own_home))
    with codenav.index("pkg:networkx", refresh=False) as index:
        yield index
