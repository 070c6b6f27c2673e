"""The prompt for small models: three moves and one worked example, of another field than the request."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codenav.agents.small.moves import ANSWER, CODE, Move
from codenav.core.messages import Message

RULES = """\
You answer a request with Python code that is run for you. Each of your messages is exactly one of:
- a block of Python. What it prints comes back to you; its variables stay for your next block.
- SEARCH: a few words, to be offered other functions.
- ANSWER: the answer, as it was printed.
Import what is offered as it is written there, call it with the values of the request, and print the result."""


@dataclass(frozen=True)
class Example:
    """A worked example: what is asked and offered, the code, what it prints, the answer."""

    request: str
    offers: str
    code: str
    printed: str
    answer: str

    def messages(self) -> list[Message]:
        """The example as a conversation that went before."""
        return [
            Message("user", asked(self.request, self.offers)),
            Message("assistant", str(Move(CODE, self.code))),
            Message("user", shown(self.printed)),
            Message("assistant", str(Move(ANSWER, self.answer))),
        ]


EXAMPLES = (
    Example(
        "Which parcel of order 7 is the heaviest?",
        "from acme.orders import parcels_of\n# parcels_of(order: int) -> list[Parcel]\n"
        "#   The parcels of an order; each has a name and its grams.",
        "from acme.orders import parcels_of\n\n"
        "heaviest = max(parcels_of(7), key=lambda parcel: parcel.grams)\nprint(heaviest.name)",
        "red box",
        "red box",
    ),
    Example(
        "Until which day is the library card of Ada valid?",
        "from acme.cards import card_of\n# card_of(reader: str) -> Card\n#   Find the card of a reader.\n"
        "from acme.cards import valid_until\n# valid_until(card: Card, *, grace=0) -> date\n"
        "#   The last day on which a card can be used.",
        "from acme.cards import card_of, valid_until\n\nprint(valid_until(card_of('Ada')))",
        "2031-05-04",
        "2031-05-04",
    ),
)


def example_for(request: str) -> Example:
    """The example that shares the fewest words with the request: what they share leaks into the answer."""
    words = _words(request)
    return min(EXAMPLES, key=lambda example: len(words & _words(example.request + example.offers)))


def asked(request: str, offers: str, *, files: str = "", variables: str = "") -> str:
    """The message that puts a request, with what is there for it."""
    parts = [f"Request: {request}"]
    if files:
        parts.append(f"Files in the current folder:\n{files}")
    if variables:
        parts.append(f"Variables from before: {variables}")
    return "\n\n".join([*parts, f"Offered:\n{offers}"])


def shown(printed: str) -> str:
    """The message that tells what a block printed."""
    return f"Printed:\n{printed}" if printed else "Nothing was printed. Print the result."


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.casefold()))
