"""A client of the shop of examples/shop_service.py. The variable SHOP_URL names its address."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen


class ShopClient:
    """A connection to the shop."""

    def __init__(self, url: str | None = None) -> None:
        """`url` is that of SHOP_URL, unless given."""
        self.url = (url or os.environ["SHOP_URL"]).rstrip("/")

    def find_products(self, words: str = "") -> list[dict[str, Any]]:
        """Find products by words of their name. Each is a dict with id, name and price in euros."""
        with urlopen(f"{self.url}/products?{urlencode({'q': words})}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found
