"""Requests that share no word with what answers them, for tests of training."""

from __future__ import annotations

from collections.abc import Mapping

from codenav.retrieval.dense.examples import Examples

TOPICS = {
    "set.reserve_table": ("Book a place to eat.", "restaurant dinner hungry"),
    "set.current_forecast": ("Tell the weather of a city.", "rain umbrella sunny"),
    "set.transfer_money": ("Send an amount to an account.", "rent wire owe"),
    "set.play_song": ("Start a piece of music.", "tune dance listen"),
    "set.book_flight": ("Buy a seat on a plane.", "airport travel holiday"),
    "set.translate": ("Say a text in another language.", "french german dictionary"),
}
WORDINGS = ("Help me with {}", "I need {} today", "{} please", "What about {}?", "Do something for {}")


def requests() -> list[tuple[str, str]]:
    """Each request with the name of what answered it: two words of a topic in several wordings."""
    found = []
    for name, (_, words) in TOPICS.items():
        one, two, three = words.split()
        pairs = (f"{one} and {two}", f"{two} with {three}", f"{three} or {one}")
        found += [(wording.format(pair), name) for wording in WORDINGS for pair in pairs]
    return found


def nothing(request: str) -> Mapping[int, float]:
    """A first stage that knows one callable, whatever is asked."""
    return {0: 1.0}


def examples(count: int | None = None, first=nothing) -> Examples:
    """The requests as examples."""
    names = list(TOPICS)
    kept = requests()[:count]
    return Examples(
        names,
        [f"{name} {said}" for name, (said, _) in TOPICS.items()],
        [request for request, _ in kept],
        [[names.index(name)] for _, name in kept],
        first,
    )
