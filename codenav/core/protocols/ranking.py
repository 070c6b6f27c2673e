"""The contracts of what orders hits again: rankers, and encoders of texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from codenav.core.blocks import Hit, Vote

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Ranker(Protocol):
    """An order of hits by more than the query: by the request, and by what was called so far."""

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the same hits, best first; the votes in `moved` tell what moved a hit.

        `calls`: names of what the episode called so far, as by `traces.callable_name`, in order. The next ranker goes
        by this order, and by the scores, which may be others. No text of a hit is loaded, and nothing is written. If it
        cannot rank it returns the hits as they came: a search never fails because of its order.
        """
        ...


@runtime_checkable
class Bringing(Protocol):
    """A ranker that also knows blocks which no word of a query finds."""

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> Mapping[str, Sequence[Vote]]:
        """Return what speaks for further blocks, by their ids, the best first; none for a query that names or filters.

        `known`: the ids of blocks that were found, or that need not be found again. The other arguments are as in
        `Ranker.rank`, which ranks what is brought. A block may have left the index. No text is loaded.
        """
        ...


class Encoder(Protocol):
    """Texts as vectors, near to each other where the texts mean the same."""

    @property
    def name(self) -> str:
        """The name under which vectors are kept: other vectors have another name."""
        ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> npt.NDArray[np.float32]:
        """Return a row of length 1 for each text, or of zeros for a text of which nothing is known.

        `query`: the texts are looked for, rather than looked through.

        Raises:
            Unavailable: its model or server does not answer, or not in the right form.
        """
        ...
