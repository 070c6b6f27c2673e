"""The contract of an index store, as checks that anybody can run against an implementation."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from codenav.core.blocks import (
    BlockKind,
    Change,
    CodeBlock,
    FileChange,
    FileRemoval,
    FileSkip,
    FileState,
    LineSpan,
    block_id,
)
from codenav.core.protocols import WritableIndex

OpenStore = Callable[[str], WritableIndex]
"""A function that opens the store with a name, empty at first; the same name opens the same store again."""


@dataclass(frozen=True)
class CheckRow:
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str
    """The expected and the actual result; empty if the check passed."""


def run_checks(open_store: OpenStore) -> Iterator[CheckRow]:
    """Run every check on a separate store; never raises."""
    for check in CHECKS:
        name = check.__name__.removeprefix("_").replace("_", " ")
        try:
            check(partial(open_store, name))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            yield CheckRow(name, False, f"{type(error).__name__}: {error} (line {last.lineno}: {last.line})")
        else:
            yield CheckRow(name, True, "")


class Broken(Exception):
    """Raised if a store does not fulfil the contract."""


def block(name: str, path: str = "a.py", *, kind: str = "FUNCTION", line: int = 1, text: str = "") -> CodeBlock:
    """A small block for a check."""
    text = text or f"def {name}():\n    return 1"
    return CodeBlock(
        id=block_id("check", path, name, BlockKind(kind), text, line),
        kind=BlockKind(kind),
        name=name,
        qualname=name,
        path=path,
        lines=LineSpan(line, line + 1),
        text=text,
        signature=f"def {name}()",
        language="python",
        source="check",
    )


def change(path: str, *blocks: CodeBlock) -> FileChange:
    """The change that makes a file consist of just these blocks."""
    return FileChange(path, FileState(len(blocks), 0, str(len(blocks))), blocks)


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Broken(f"{what}: expected {wanted!r}, got {found!r}")


def _names(store: WritableIndex, query: str) -> list[str]:
    return [hit.name for hit in store.search(query)]


def _an_empty_store_answers(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    result = store.search("anything")
    _expect("hits", (list(result), result.total), ([], 0))
    _expect("get", store.get("0" * 16), None)
    _expect("blocks, files", (store.stats().blocks, dict(store.files())), (0, {}))


def _blocks_come_back_whole(opened: Callable[[], WritableIndex]) -> None:
    store, one = opened(), block("load_model", text="def load_model():\n    '\x00 \ud800 \U0001f600'")
    store.apply([change("a.py", one)], versions={"check": "1"})
    _expect("get", store.get(one.id), one)
    _expect("hit", store.search("load_model")[0].block, one)
    _expect("versions", dict(store.stats().versions), {"check": "1"})


def _a_file_is_replaced_and_removed(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("first"), block("second", line=3)), change("b.py", block("third", "b.py"))])
    store.apply([change("a.py", block("fourth"))])
    _expect("replaced", _names(store, "first OR second OR fourth"), ["fourth"])
    store.apply([FileRemoval("b.py"), FileRemoval("never-there.py")])
    _expect("removed", (_names(store, "*"), list(store.files())), (["fourth"], ["a.py"]))
    _expect("blocks", store.stats().blocks, 1)


def _a_stream_that_raises_changes_nothing(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("before"))])

    def changes() -> Iterator[Change]:
        yield change("a.py", block("after"))
        raise LookupError("on purpose")

    try:
        store.apply(changes())
    except LookupError:
        pass
    else:
        raise Broken("the error of the stream did not come through")
    for one in (store, opened()):
        _expect("state", _names(one, "before OR after"), ["before"])


def _a_store_reopens(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("kept")), FileSkip("b.bin", "binary")], started=time.monotonic() - 2.5)
    store.close()
    store.close()
    again = opened()
    _expect("hits", _names(again, "kept"), ["kept"])
    _expect("files", again.files(), {"a.py": FileState(1, 0, "1")})
    _expect("skipped", list(again.stats().skipped), [FileSkip("b.bin", "binary")])
    _expect("seconds since the start of the build", again.stats().seconds >= 2.5, True)


def _a_touched_file_keeps_its_blocks(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("kept"))])
    store.apply([FileChange("a.py", FileState(1, 99, "1", 98, 97, "a"), None)])
    _expect("state", opened().files(), {"a.py": FileState(1, 99, "1", 98, 97, "a")})
    _expect("hits", (_names(store, "kept"), store.stats().reused_files), (["kept"], 1))


def _equal_scores_are_ordered(opened: Callable[[], WritableIndex]) -> None:
    store, paths = opened(), [f"{letter}.py" for letter in "dbca"]
    twins = [(5, "return 1"), (3, "return 1"), (1, "return 2"), (1, "return 3"), (1, "return 4")]
    store.apply(
        change(path, *(block("same", path, line=line, text=f"def same():\n    {text}") for line, text in twins))
        for path in paths
    )
    wanted = sorted((each.path, each.lines.start, each.id) for each in store.blocks())
    for query in ("name:same", "type:FUNCTION", "*", "sam*"):
        for limit in (0, 1, 5, 18, 20, 100):
            result = store.search(query, limit=limit)
            _expect(f"{query}, limit {limit}", [(hit.path, hit.lines.start, hit.id) for hit in result], wanted[:limit])
            _expect("total", result.total, 20)


def _all_blocks_come_in_order(opened: Callable[[], WritableIndex]) -> None:
    store, names = opened(), [f"{folder}/{letter}.py" for folder in ("b", "a") for letter in "zyx"]
    _expect("none yet", list(store.blocks()), [])
    made = {path: [block("thing", path, line=line) for line in range(200, 0, -1)] for path in names}
    store.apply(change(path, *blocks) for path, blocks in made.items())
    wanted = [each for path in sorted(made) for each in reversed(made[path])]
    _expect("blocks", list(store.blocks()) == wanted, True)


def _a_changed_store_ranks_like_a_new_one(opened: Callable[[], WritableIndex]) -> None:
    def files(numbers: range, word: str) -> Iterator[Change]:
        for number in numbers:
            path = f"f{number:02}.py"
            text = f"def {word}_{number % 7}():\n    load {'model ' * (number % 5)} {word if number % 3 else 'other'}"
            yield change(path, block(f"{word}_{number % 7}", path, text=text))

    store = opened()
    store.apply(files(range(60), "first"))
    for begin in (0, 10, 20, 30):
        store.apply(files(range(begin, begin + 10), "second"))
    store.apply([FileRemoval(f"f{number:02}.py") for number in range(50, 60)])
    found = {query: [(hit.path, hit.score) for hit in store.search(query)] for query in _RANKED}
    store.apply([FileRemoval(path) for path in list(store.files())])
    _expect("blocks of none", (store.stats().blocks, list(store.blocks())), (0, []))
    store.apply([*files(range(40), "second"), *files(range(40, 50), "first")])
    for query, old in found.items():
        fresh = [(hit.path, hit.score) for hit in store.search(query)]
        _expect(f"hits of {query}", [path for path, _ in old], [path for path, _ in fresh])
        far = [pair for pair in zip(old, fresh, strict=True) if abs(pair[0][1] / pair[1][1] - 1) > 0.1]
        _expect(f"scores of {query} over a tenth apart", far, [])


_RANKED = ("load model", "first", "second_3", "model AND NOT second", "fir*", "other")


def _kinds_narrow(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("thing"), block("thing", kind="CLASS", line=5))])
    result = store.search("thing", kinds=[BlockKind.CLASS])
    _expect("kinds", ([hit.kind for hit in result], result.total), ([BlockKind.CLASS], 1))
    _expect("no kind", store.search("thing", kinds=[]).total, 0)
    _expect("type", store.search("type: class AND thing").total, 1)


def _the_query_language_is_understood(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    text = "def shortest_path(graph):\n    '''Find a way.'''\n    return np.mean(graph)"
    store.apply([
        change("lib/paths.py", block("shortest_path", "lib/paths.py", line=10, text=text)),
        change("lib/io.py", block("loadModel", "lib/io.py"), block("detect", "lib/io.py", line=30)),
    ])  # fmt: skip
    for query, wanted in LANGUAGE.items():
        _expect(query, sorted(_names(store, query)), sorted(wanted))


LANGUAGE: dict[str, Sequence[str]] = {
    "shortest_path": ["shortest_path"],
    "short": ["shortest_path"],
    "path": ["shortest_path"],
    "load model": ["loadModel"],
    '"load model"': ["loadModel"],
    '"shortest path"': ["shortest_path"],
    '"path shortest"': [],
    "np.mean": ["shortest_path"],
    "np.median": [],
    "shortest AND way": ["shortest_path"],
    "shortest AND NOT way": [],
    "NOT shortest": ["loadModel", "detect"],
    "detect OR loadModel": ["detect", "loadModel"],
    "detec*": ["detect"],
    "*test_p*": ["shortest_path"],
    "d?tect": ["detect"],
    "/d.*t/": ["detect"],
    "detcet~1": ["detect"],
    "file_path:lib/io.py": ["detect", "loadModel"],
    "file_path:*paths.py": ["shortest_path"],
    "file_path:io AND det*": ["detect"],
    "lines:[11 TO 29]": ["shortest_path"],
    "language:python AND name:detect": ["detect"],
    "source:check AND detect": ["detect"],
}
"""Queries on three functions, and the names that each query finds."""


def _any_text_is_a_query(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    store.apply([change("a.py", block("detect"))])
    for query in MESSY:
        store.search(query)


MESSY = (
    "", " ", "(", ")", '"', "'", "*", "?", "~", "^", "/", "\\", ":", "AND", "NOT", "()", "[", "lines:[1 TO", "a AND (",
    "type:", "type:?", "/(/", "/a{9999}/", "/.*.*.*x.*y/", "***", "\x00", "\ud800", "\u4eba", "a" * 60_000,
    "a " * 9_000, "(" * 900, "NOT " * 900, "*a" * 300, "?" * 300, "a~9", '"a b"~99', "x^1e9", "-" * 300,
    "file_path:*[*", "lines:[9 TO 1]",
)  # fmt: skip
"""Malformed queries that every store must survive."""


def _every_script_is_found(opened: Callable[[], WritableIndex]) -> None:
    store = opened()
    words = {"人脸检测": "脸检", "größe": "GRÖSSE", "детектор_лиц": "лиц", "naïve_bayes": "naïve"}
    store.apply([change("a.py", *(block(name, line=line) for line, name in enumerate(words, start=1)))])
    for name, query in words.items():
        wanted = [name] if name != "größe" else []
        _expect(query, _names(store, query), wanted)
    _expect("one character", _names(store, "人"), ["人脸检测"])


def _a_reader_sees_old_or_new(opened: Callable[[], WritableIndex]) -> None:
    store = opened()

    def state(letter: str) -> list[Change]:
        return [change(path, *(block(f"{letter}_{n}", path, line=n) for n in range(1, 9))) for path in ("a.py", "b.py")]

    store.apply(state("old"))
    seen: set[tuple[int, int]] = set()
    writing = threading.Event()

    def read() -> None:
        while True:
            last = writing.is_set()
            reader = opened()
            letters = [name[:3] for name in _names(reader, "*")]
            seen.add((letters.count("old"), letters.count("new")))
            reader.close()
            if last:
                return

    failed: list[str] = []

    def reading() -> None:
        try:
            read()
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=reading)
    thread.start()
    for letter in ("new", "old", "new"):
        store.apply(state(letter))
    writing.set()
    thread.join()
    _expect("errors of the reader", failed, [])
    _expect("mixed states", seen - {(16, 0), (0, 16)}, set())
    _expect("last state", (0, 16) in seen, True)


CHECKS = (
    _an_empty_store_answers, _blocks_come_back_whole, _a_file_is_replaced_and_removed,
    _a_stream_that_raises_changes_nothing, _a_store_reopens, _a_touched_file_keeps_its_blocks,
    _equal_scores_are_ordered, _all_blocks_come_in_order, _a_changed_store_ranks_like_a_new_one,
    _kinds_narrow, _the_query_language_is_understood, _any_text_is_a_query,
    _every_script_is_found, _a_reader_sees_old_or_new,
)  # fmt: skip
