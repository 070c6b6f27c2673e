"""The data types that indexers make and searches return: blocks, hits, search results, changes of an index."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, ClassVar

from codenav.core.system.stored import Document


class BlockKind(StrEnum):
    """The kinds of blocks, read in any case (`BlockKind("function")`)."""

    FUNCTION = "FUNCTION"
    METHOD = "METHOD"
    CLASS = "CLASS"
    ASSIGNMENT = "ASSIGNMENT"
    IMPORT = "IMPORT"
    CONDITIONAL = "CONDITIONAL"
    DOCUMENT = "DOCUMENT"
    TOOL = "TOOL"
    EPISODE = "EPISODE"

    @classmethod
    def _missing_(cls, value: object) -> BlockKind | None:
        wanted = value.upper() if isinstance(value, str) else None
        return next((kind for kind in cls if kind.value == wanted), None)


@dataclass(frozen=True, slots=True)
class LineSpan:
    """A range of lines, 1-based, both ends included."""

    start: int
    end: int

    def to_list(self) -> list[int]:
        """`[start, end]`, as stored."""
        return [self.start, self.end]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """The unit of an index: a function, a method, a class, an assignment, a section of a document, …

    A class block shows the class with the signatures of its methods; every method is a separate block.
    """

    id: str
    """Stable hash of source, path, qualname, kind and text (`block_id`)."""
    kind: BlockKind
    name: str
    """Last part of `qualname`; for a section of a document, its title."""
    qualname: str
    """Dotted name inside the file, as in `function.__qualname__` without `<locals>`."""
    path: str
    """Relative to the root of the source, with `/`."""
    lines: LineSpan
    text: str
    """The source, decorators included; for a class, its header, docstring and the signatures of its methods."""
    signature: str = ""
    """The prototype, `def f(x: int = 1) -> str`; for a class its header, for a section its title line."""
    docstring: str = ""
    language: str = ""
    """`python`, `markdown`, `restructuredtext`, …"""
    source: str = ""
    """The source that contains the block: `pkg:stripe@12.1.0`, or an absolute path."""
    module: str = ""
    """The module that defines it: of Python its dotted name, else `tokio::task`, `axios/lib/axios.js`; empty if that
    cannot be imported, and where nothing of its package is offered."""
    public_name: str = ""
    """The shortest name under which the source offers it, `networkx.density`, `tokio::spawn`; empty if private."""
    import_line: str = ""
    """The statement to import it, by its public name if it has one; empty if that is impossible."""
    calls: tuple[str, ...] = ()
    """Names that the block calls, as written (`np.mean`, `self.fit`), each once, in order."""

    @property
    def expression(self) -> str:
        """The Python that stands for it after its import line: `Graph.add_edge`."""
        imported = self.import_line.rpartition(" import ")[2]
        top, dot, inner = self.qualname.partition(".")
        return f"{imported if self.import_line.startswith('from ') else top}{dot}{inner}"

    def to_dict(self) -> dict[str, Any]:
        """The stored form, of JSON types."""
        return {
            "id": self.id,
            "kind": self.kind.value,
            "name": self.name,
            "qualname": self.qualname,
            "path": self.path,
            "lines": self.lines.to_list(),
            "text": self.text,
            "signature": self.signature,
            "docstring": self.docstring,
            "language": self.language,
            "source": self.source,
            "module": self.module,
            "public_name": self.public_name,
            "import_line": self.import_line,
            "calls": list(self.calls),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CodeBlock:
        """Make a block from its stored form; unknown keys are ignored."""
        return cls(
            **{key: data[key] for key in _PLAIN_FIELDS},
            **{key: data[key] for key in _LATER_FIELDS if key in data},
            kind=BlockKind(data["kind"]),
            lines=LineSpan(*data["lines"]),
            calls=tuple(data["calls"]),
        )


_PLAIN_FIELDS = (
    "id", "name", "qualname", "path", "text", "signature", "docstring", "language", "source",
    "import_line",
)  # fmt: skip
_LATER_FIELDS = ("module", "public_name")
"""Fields that records of earlier versions lack."""


def block_id(source: str, path: str, qualname: str, kind: BlockKind, text: str, ordinal: int = 0) -> str:
    """The id of a block: 16 hexadecimal digits that stay the same as long as the block's own text does.

    `ordinal` counts blocks that are otherwise identical (the same overload twice in one file).
    """
    parts = "\0".join((source, path, qualname, kind.value, text, str(ordinal)))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


Instance = tuple[CodeBlock | None, Sequence[CodeBlock]]
"""The class that a name at module level is an instance of, None for another block, and its public methods."""


@dataclass(frozen=True, slots=True)
class Vote:
    """A share in the place of a hit."""

    name: str
    """`usability`, `next`, `resource`, `rank`, `episodes`, `dense`, `rerank`, …"""
    weight: float
    """The amount that it adds to the score by which hits are ordered, that of the first stage being 0 to 1."""
    because: str = ""
    """The reason in a few words: `after shop.list_products`, `episode 20261123-…: "order two mugs"`."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A change of a hit's place by a ranker."""

    place: int
    """The place that the first stage gave it, 1 for the first; 0 if the first stage did not find it."""
    votes: tuple[Vote, ...]
    """What moved it, largest first."""

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        votes = [{"name": vote.name, "weight": round(vote.weight, 4), "because": vote.because} for vote in self.votes]
        return {"from": self.place, "votes": votes}


class Hit:
    """A match: the fields of its block as attributes, with `score` and `why`.

    The block is loaded on first access of a field that is not here: kind and path are where the search knew them.
    """

    __slots__ = ("_block", "_load", "_why", "id", "kind", "moved", "path", "remark", "score", "weight")

    def __init__(
        self,
        id: str,
        *,
        kind: BlockKind | None = None,
        path: str | None = None,
        score: float,
        why: str | Callable[[CodeBlock], str],
        load: Callable[[], CodeBlock],
    ) -> None:
        """`why` may be worked out from the block, on access."""
        self.id, self.score, self._why = id, score, why
        if kind is not None:
            self.kind = kind
        if path is not None:
            self.path = path
        self.weight = 1.0
        """From 0 to 1: orders hits of equal score. Checks of tools lower it, and `remark` says so."""
        self.remark = ""
        """An addition to `why`."""
        self.moved: Moved | None = None
        """The change of its place by a `protocols.Ranker`; None if it stayed."""
        self._load = load
        self._block: CodeBlock | None = None

    @classmethod
    def of(cls, block: CodeBlock, *, score: float = 0.0, why: str = "") -> Hit:
        """Make a hit for a block in memory."""
        return cls(block.id, kind=block.kind, path=block.path, score=score, why=why, load=lambda: block)

    @property
    def why(self) -> str:
        """The reason of the match: `name: exact`, `name: part`, the fields that were searched, or `meaning`."""
        return f"{self._why if isinstance(self._why, str) else self._why(self.block)}{self.remark}"

    @why.setter
    def why(self, value: str | Callable[[CodeBlock], str]) -> None:
        self._why = value

    @property
    def block(self) -> CodeBlock:
        """The whole block."""
        if self._block is None:
            self._block = self._load()
        return self._block

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.block, name)

    def __repr__(self) -> str:
        return f"<Hit {self.kind.value} {self.path} {self.id} score={self.score:.2f}>"

    def to_dict(self) -> dict[str, Any]:
        """The block's stored form with `score`, `why`, and `moved` if a ranker moved it."""
        moved = {"moved": self.moved.to_dict()} if self.moved else {}
        return {**self.block.to_dict(), "score": round(self.score, 4), "why": self.why, **moved}


NAMED = 1000.0
"""The score of a block whose name is made of just the words of a query, times its prior, which is 1/16 to 1."""
TOWERING = 4.0
"""The ratio in which such a score is at least to the best of the others: words alone have scores of up to 10 each."""


def named(scores: Sequence[float]) -> int:
    """The number of the first scores, best first, that are those of blocks which a query names in full."""
    for count, (score, following) in enumerate(pairwise(scores), 1):
        if score < NAMED / 16:
            return 0
        if score >= TOWERING * following:
            return count
    return 0


def beside_best(scores: Sequence[float]) -> list[float]:
    """Scores, best first, beside the best of them, 0 to 1. Those of blocks that a query names in full have 1 more.

    Beside these, all others would be alike.
    """
    first = named(scores)
    tops = [scores[0] if scores else 0.0] * first + [scores[first] if first < len(scores) else 0.0] * (
        len(scores) - first
    )
    shares = [score / top if top > 0 else 0.0 for score, top in zip(scores, tops, strict=True)]
    return [share + 1 if place < first else share for place, share in enumerate(shares)]


@dataclass(frozen=True)
class SearchResult(Sequence[Hit]):
    """The hits of one query, best first: a sequence of `Hit`."""

    query: str
    """The query as it was asked."""
    hits: Sequence[Hit] = ()
    total: int = 0
    """Number of all matches, those beyond `hits` included."""
    read_as: str = ""
    """The query as it was understood, in the query language."""
    repairs: Sequence[str] = ()
    """The repairs that were needed to understand it, one sentence each."""
    advice: Sequence[str] = ()
    """What to ask instead, one sentence each, if it found nothing or has an unknown field."""

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: Any) -> Any:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def to_dict(self) -> dict[str, Any]:
        """The document of `codenav search --json`."""
        return {
            "query": self.query,
            "read_as": self.read_as,
            "repairs": list(self.repairs),
            **({"advice": list(self.advice)} if self.advice else {}),
            "total": self.total,
            "hits": [hit.to_dict() for hit in self.hits],
        }


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The statistics by which the words of a query are scored, of one index or of several together."""

    blocks: int
    """Number of all blocks."""
    counts: Mapping[tuple[str, str], int]
    """Number of blocks that hold a word, by field and word."""
    lengths: Mapping[str, float]
    """Mean number of words in a field. A field that is not there is scored without regard to its length elsewhere."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file in an index, saved to detect changes."""

    size: int
    """Bytes."""
    mtime_ns: int
    """-1 if the file changed so close to the build that its time proves nothing: its content decides next time."""
    digest: str
    """Hash of the content; all else is only a shortcut."""
    ctime_ns: int = 0
    inode: int = 0
    """These tell a file that took another's place with its size and time. 0 in an index that was written without them:
    such a file is compared by content once."""
    module: str = ""
    """The dotted name to import it by, which its blocks tell; another one has the file parsed again."""
    public: str = ""
    """A hash of the public names of what it defines, which its blocks tell, too."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The blocks of one file, prepared for a store by `protocols.WritableIndex.pack`."""

    content: Any
    """Data that only that store can read."""
    kinds: Mapping[str, int]
    """Number of blocks by kind; kinds without blocks are missing."""
    languages: Mapping[str, int]

    @classmethod
    def of(cls, blocks: Sequence[CodeBlock], content: Any) -> Packed:
        """Make packed blocks from `content`, with the counts of these blocks."""
        kinds = Counter(block.kind.value for block in blocks)
        return cls(content, dict(kinds), dict(Counter(block.language for block in blocks if block.language)))

    def __len__(self) -> int:
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class FileChange:
    """A new or changed file: `blocks` replace all blocks of `path` in the index.

    `blocks` is None if only `state` changed (touched, same content).
    """

    path: str
    state: FileState
    blocks: Sequence[CodeBlock] | Packed | None


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """A file that is gone: its blocks are removed from the index."""

    path: str


@dataclass(frozen=True, slots=True)
class FileSkip(Document):
    """A file that was left out of the index, and the reason (`binary`, `larger than 1 MB`, `index: false`).

    One whose path is `*.lua` stands for all files with that extension, whose language is not read.
    """

    path: str
    reason: str

    @property
    def is_kind(self) -> bool:
        """True if it stands for all files of a kind."""
        return self.path.rpartition("/")[2].startswith("*.")


Change = FileChange | FileRemoval | FileSkip
"""A change for `WritableIndex.apply`. The skips of one call replace all earlier ones."""


@dataclass(frozen=True)
class IndexStats(Document):
    """The statistics of an index and of its last build."""

    source: str
    store: str
    """`embedded` or `elasticsearch`."""
    files: int = 0
    """Files in the index."""
    blocks: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    """Version of each packaged source: `{"networkx": "3.6.1"}`."""
    built: str = ""
    """Time of the last change of the content: ISO 8601, UTC."""
    skipped: Sequence[FileSkip] = ()
    reused_files: int = 0
    """Files that the last build did not parse again."""
    seconds: float = 0.0
    """Wall clock of the last build."""

    stored: ClassVar[Sequence[str]] = (
        "source", "store", "files", "blocks", "reused_files", "skipped", "seconds",
        "kinds", "languages", "versions", "built",
    )  # fmt: skip
    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}

    def to_dict(self, *, details: bool = True) -> dict[str, Any]:
        """The document of `codenav sources list --json`; without `details` that of `codenav index --json`."""
        detailed = () if details else ("kinds", "languages", "versions", "built")
        return {name: value for name, value in super().to_dict().items() if name not in detailed}


@dataclass(frozen=True)
class StoredIndex(IndexStats):
    """The entry of an index in the catalogue of its store."""

    key: str = ""
    """Its name in the store."""
    size_bytes: int = 0
    """Space on disk."""
    notice: str = ""
    """The reason why it cannot be used as it is, or ""; with a reason, the counts are zero and `source` is the key."""
