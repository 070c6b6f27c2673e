"""Plain words in a whole repository, in which documents, examples and tests have the words of the code."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest

import codenav
from codenav.retrieval.source_index import SourceIndex

_PAGE = "\n## {0} an order\n\nTo {0} an order, take its number. Customers who {0} an order often {0} others, too.\n"

FILES = {
    "shop/orders.py": '''
        def cancel_order(number, reason=None):
            return number

        def ship(parcel):
            def weigh_parcel(scale):
                """The weight of a parcel."""

            return weigh_parcel

        def weight_of_parcel(parcel):
            return parcel
        ''',
    "examples/refund.py": '''
        def refund(customer):
            """Pay the money back to a customer."""
        ''',
    "shop/money.py": '''
        def pay_back(customer, currency):
            """Give the customer the money back."""
        ''',
    "docs/guide.md": "# Orders\n" + "".join(map(_PAGE.format, ("cancel", "change", "repeat", "delay"))),
    "docs/deployment.md": "# In a cluster\n\nEach replica needs a volume; start three behind the balancer.\n",
    "src/lib.rs": '''
        fn round(price: f64) -> f64 { price }

        /// Cents of a price, rounded.
        pub fn cents(price: f64) -> i64 { 0 }

        mod tests {
            /// The price is rounded to whole cents.
            fn rounded_price_in_whole_cents() {}
        }
        ''',
}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourceIndex]:
    root = tmp_path_factory.mktemp("repository")
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dedent(text), encoding="utf-8")
    with codenav.index(root) as index:
        yield index


@pytest.mark.parametrize(
    ("query", "first", "later"),
    [
        ("how do I cancel an order?", "cancel_order", "Orders > cancel an order"),
        ("weigh a parcel", "weight_of_parcel", "ship.weigh_parcel"),
        ("pay the money back", "pay_back", "refund"),
        ("price rounded to whole cents", "cents", "tests.rounded_price_in_whole_cents"),
    ],
)
def test_what_is_there_to_be_called_comes_before_what_tells_of_it(
    repository: SourceIndex, query: str, first: str, later: str
) -> None:
    found = [hit.qualname for hit in repository.search(query)]

    assert found[0] == first
    assert later in found


def test_what_only_a_document_tells_is_found_there(repository: SourceIndex) -> None:
    assert repository.search("run replicas behind a balancer")[0].qualname == "In a cluster"
