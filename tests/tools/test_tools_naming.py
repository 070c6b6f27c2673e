"""Names in Python: always valid, stable, and readable where the text is."""

from __future__ import annotations

import keyword
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codenav.tools.naming import LONGEST, identifier, package_name, unique


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("listPets", "list_pets"),
        ("HTMLPage", "html_page"),
        ("userIDs", "user_ids"),
        ("OAuthToken", "oauth_token"),
        ("chat.postMessage", "chat_post_message"),
        ("GET /3/movie/{movie_id}", "get_3_movie_movie_id"),
        ("vote_count.gte", "vote_count_gte"),
        ("filter[name]", "filter_name"),
        ("X-Rate-Limit", "x_rate_limit"),
        ("from", "from_"),
        ("class", "class_"),
        ("None", "none"),
        ("async", "async_"),
        ("type", "type"),
        ("match", "match"),
        ("_", "unnamed"),
        ("", "unnamed"),
        ("$$$", "unnamed"),
        ("__init__", "init"),
        ("__class__", "class_"),
        ("2fa", "_2fa"),
        ("straße", "straße"),
        ("naïve", "naive"),
        ("Ünïcode Größe", "unicode_große"),
        ("商品一覧", "商品一覧"),
        ("ﬁle", "file"),
        ("a\u0000b\nc", "a_b_c"),
        ("../../etc/passwd", "etc_passwd"),
    ],
)
def test_identifier(text: str, name: str) -> None:
    assert identifier(text) == name


@given(st.text(max_size=300))
def test_an_identifier_is_one_and_stays_it(text: str) -> None:
    name = identifier(text)
    assert name.isidentifier() and not keyword.iskeyword(name)
    # As Python sees it: two names that differ only in form would be one.
    assert unicodedata.normalize("NFKC", name) == name
    assert len(name.encode()) <= LONGEST + 1
    assert not name.startswith("__")
    assert identifier(name) == name


@given(st.lists(st.text(max_size=5), max_size=30))
def test_unique_names_do_not_depend_on_those_after_them(texts: list[str]) -> None:
    def names(texts: list[str]) -> list[str]:
        taken: list[str] = []
        for text in texts:
            taken.append(unique(identifier(text), taken))
        return taken

    found = names(texts)
    assert len(set(found)) == len(found)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in found)
    half = len(texts) // 2
    assert names(texts[:half]) == found[:half]


def test_unique_counts_from_two() -> None:
    assert unique("a", ()) == "a"
    assert unique("a", {"a"}) == "a_2"
    assert unique("a", {"a", "a_2"}) == "a_3"
    assert unique("class_", {"class_"}) == "class_2"


@pytest.mark.parametrize(
    ("where", "title", "name"),
    [
        ("shop.yaml", "Anything", "shop"),
        ("/some/where/Shop-Orders.json", "", "shop_orders"),
        ("shop.openapi.yaml", "", "shop"),
        ("CheckoutService-v71.json", "Adyen Checkout API", "checkout_service_v71"),
        ("openapi.json", "Shop API", "shop_api"),
        ("openapi-v3.yaml", "Shop", "shop"),
        ("v1/swagger_2.0.json", "Shop", "shop"),
        ("openapi.json", "", "openapi"),
        ("http://localhost:8000/openapi.json", "Shop API", "shop_api"),
        ("http://localhost:8000/openapi.json", "", "localhost"),
        ("https://api.shop.example/", "", "shop"),
        ("https://www.example.com/v2", "", "example"),
        ("https://example.com/specs/pets.json?raw=1", "Other", "pets"),
        ("https://example.com/api", "!!!", "example"),
        ("///", "", "service"),
        ("C:\\specs\\shop.json", "", "shop"),
    ],
)
def test_package_name(where: str, title: str, name: str) -> None:
    assert package_name(where, title=title) == name


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_package_name_is_an_identifier(where: str, title: str) -> None:
    for place in (where, f"https://{where}", f"https://shop.example/{where}"):
        try:
            name = package_name(place, title=title)
        except ValueError:
            # "Invalid IPv6 URL": no address at all; reading refuses it before a name is needed.
            continue
        assert name.isidentifier() and not keyword.iskeyword(name)
