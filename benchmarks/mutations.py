"""The two readers of Python files on mutated files: the blocks of the quick one beside those of the syntax tree.

    python benchmarks/mutations.py [--count 15000] [--seed 1] [--show 20] [FOLDER…]

Real files (of the standard library and what is installed, or in the folders) of at most 40 KB get one to three
mutations: tokens deleted, repeated, swapped, or taken from another file; lines joined by a backslash; names beyond
ASCII, which Unicode may normalise; strings with other prefixes, quotes, escapes and joints; comments, decorators,
nested calls, type parameters and expressions in f-strings. Files that are no Python any more, for the Python that runs
this, or that the quick reader leaves to the tree, do not count. Every field of every block has to be the same: the bar
is 0 differences.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sysconfig
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from codenav.core.blocks import CodeBlock
from codenav.indexers.parsing import PARSE_SECONDS
from codenav.indexers.place import Identity, Place
from codenav.indexers.python_blocks import parsed_blocks
from codenav.indexers.python_draft import finish
from codenav.indexers.python_formatted import Irregular
from codenav.indexers.python_regular_file import regular_drafts
from codenav.indexers.python_tree import parse

LARGEST = 40_000
"""Bytes of the largest file that is mutated."""
_PLACE = Place("mutations", "a.py", "pkg.a")
_TOKEN = re.compile(
    r"""[rRbBuUfFtT]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |\#[^\n]*|\w+|\n[ ]*|[ ]+|->|:=|\*\*|//|[<>=!]=|[^\w\s]""",
    re.VERBOSE | re.DOTALL,
)
_NAMES = (
    "ﬁ", "ﬁle", "𝔘", "𝔘nit.𝒻", "ª", "µ", "é", "e\u0301", "ſelf", "名", "K", "x\u200d", "ℌ.ℌ", "℘", "·a", "𝟘", "ﾊﾟ",
    "ﬁ.ﬁ(ﬁ)",
)  # fmt: skip
_STRINGS = (
    '"a" \\\n    "b"', "'a' 'b'", '"""a\\\nb"""', "'a\\\n  b'", 'f"{a(b)}"', 'f\'{a("k")}\'', 'f"{{a(b)}}"',
    'f"{a!r:>{b(c)}}"', "f'{a}' 'b(c)'", "rb'a\\(b)'", "u'é'", 'f"""{\na(b)\n}"""', "'\\N{DIGIT ONE}'",
    "'\\u00e9\\x41\\101'", "b'a' b'b'", 'fr"{a}\\(b(c)"', "f'{a:{b()}}{{c(d)}}'", 'f\'{a["b"](c)}\'',
    'f"{lambda_(x)} {{}} {y(z)}"', "''''a'''", '"#a(b)"', "f'a(b) {c}'", "f'{a.b(c)}{d.e (f)}'", "f'{a}(b)'",
    "f'{(a)(b)}'", "f'}} {a(b)} {{'", "f'{x:%H(y)}'", "t'{a(b)}'", "f'{{{a(b)}}}'", "f'{a(b)=}'", 'f\'{f"{a(b)}"}\'',
    'f\'{"}"}{a(b)}\'', 'f\'{"a(b)"}\'', "f'\\N{DIGIT ONE}{a(b)}'", "rf'\\{a(b)}'", "f'\\{a(b)}'",
    "f'{a if(b) else c}'", "f'{not(b)}'", "f'{a. b(c)}'", "f'{é(b)}'", "f'{ﬁ(b)}'", "'' ''", '("a"\n    "b")',
    "('a')", "'a',", "'a'.b(c)", "'a' % b", "'a' if b else c", "'''\n    a\n      b\n    '''", '"\\\na"',
)  # fmt: skip
_PIECES = (
    "(", ")", "[", "]", "{", "}", ":", ",", "=", "@", ".", "#", "\\\n", "\n", " ", "  ", "\t", "\x0c", ";", "'", '"',
    '"""', "\\", "def", "class", "async", "match", "case", "type", "if", "else", "lambda", "pass", "import", "from",
    "print", "exec", "await", "not", "in", "is", "return", "yield", "del", "assert", "...", "->", ":=", "**", "*",
    "0", "1.", "1_0", "0x_f", "soft", "_", "__name__", "TYPE_CHECKING", "\\\n\\\n", "\r", "\x0b", "\xa0", "\u2028",
    "\ufeff", "$", "?", "`", "!",
)  # fmt: skip
_CALLS = (
    "a(b)(c)", "a (b)", "a\n(b)", "a. b(c)", "a .b(c)", "a.\\\n    b(c)", "(a\n.b\n.c(d))", "a[0](b)", "a().b()",
    "(a)(b)", "(a.b)(c)", "(lambda: a)(b)", "a.b[c].d(e)", "await a(b)", "not a(b)", "print(a)", "exec(a)",
    "1 .real(a)", "1..real(a)", "1.5.is_integer()", "x.class_(a)", "None(a)", "True.a(b)", "'a'.join(b)", "[a](b)",
    "{a}(b)", "a(*b, **c)", "a(b for b in c(d))", "a(b=c(d))", "a(# b(c)\n)", "a(  # x\n    b)", "match(a)",
    "case(a)", "type(a)", "_(a)", "a if(b)else c", "a in(b)", "return_(a)", "yield_(a)", "super().a(b)",
    "super(a, b).c(d)", "a@b(c)", "a.match(b)", "self.print(a)", "a.\\\n\\\nb(c)", "a\\\n(b)", "a.b \\\n  .c(d)",
    "type (a)", "0xfor(a)", "1if(a)else 2", "...(a)", "a...b(c)", "a.(b)", "lambda:(a)", "lambda(a): b",
    "x[a(b):c(d)]", "a(b)[c](d).e(f)",
)  # fmt: skip
_LINES = (
    "@a", "@a.b(c)", "@(a)", "@a\n# b", "@a[b](c)", "# def a(b):", "pass", "...", "x: int", "x: int = a(b)",
    "x = y = a(b)", "x, y = a(b)", "type A = b", "type A[T] = list[T]", "type = a(b)", "type: int = 1", "type(a)",
    "type[a] = b", "match a:\n    case b: c(d)", "match = a(b)", "match: int = 3", "match[a] = b", "match(a)",
    "match (a):\n    case (b):\n        pass", "print(a)", "print a(b)", "print >>a, b(c)", "exec 'a' in b",
    "exec(a)", "def f[T](a: T) -> T: return g(a)", "def f(a, /, b, *, c): pass", "class A[T: int](B[T]): pass",
    "class A: x = 1; y = 2", "class A: pass", "async def f(): await g()", "def f(): 'doc'",
    'def f():\n    "a" \\\n    "b"', "def f(): return", "def f(\n): pass", "if a: b(c)",
    "if a: pass\nelif b: c(d)\nelse: e(f)", "if __name__ == '__main__': a()", "try: a(b)\nexcept* c: d(e)",
    "with a(b) as c, d(e): f(g)", "with (a(b) as c, d(e)): f(g)", "for a in b(c): d(e)", "while a(b): c(d)",
    "else: pass", "lambda: a(b)", "global a", "nonlocal a", "del a(b)", "assert a(b), c(d)", "raise a(b) from c(d)",
    "return a(b)", "yield a(b)", "import a", "from a import b", "from a import (\n    b,\n)", "from . import *",
    "x = (yield)", "x = [a(b) for b in c(d) if e(f)]", "x += a(b)", "x.y = a(b)", "x[a(b)] = c(d)", "(x) = a(b)",
    "[x] = a(b)", "*x, y = a(b)", "x: 'a(b)' = c(d)", "x = 'a'\n'doc'", "x: int\n'doc'", "'doc'", "'a' \\\n'b'",
    "f'a{b(c)}'", "b'doc'", "('doc')", "'doc', 1", "u'doc'", "if (a :=\n    b(c)):\n    pass", "x = \\\n    a(b)",
    "x \\\n= a(b)", "def \\\n    f(): pass", "class \\\n  A: pass", "def f \\\n  (a): pass", "@ \\\n a", "@a \\\n",
    "async \\\n def f(): pass",
)  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """The pieces of a text; together they are the text."""
    pieces, at = [], 0
    for found in _TOKEN.finditer(text):
        if found.start() > at:
            pieces.append(text[at : found.start()])
        pieces.append(found.group())
        at = found.end()
    pieces.append(text[at:])
    return pieces


def _place(pieces: Sequence[str], draw: random.Random, fits: Callable[[str], bool]) -> int:
    """One of the places whose piece fits; any if none does."""
    for _ in range(40):
        at = draw.randrange(len(pieces))
        if fits(pieces[at]):
            return at
    return draw.randrange(len(pieces))


def _is_name(piece: str) -> bool:
    return piece.isidentifier()


def _is_string(piece: str) -> bool:
    return piece[-1:] in ("'", '"')


def _delete(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = draw.randrange(len(pieces))
    del pieces[at : at + draw.choice((1, 1, 1, 2, 5))]


def _repeat(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = draw.randrange(len(pieces))
    size = draw.choice((1, 1, 2, 8))
    pieces[at:at] = pieces[at : at + size]


def _swap(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    one, two = draw.randrange(len(pieces)), draw.randrange(len(pieces))
    two = min(one + 1, len(pieces) - 1) if draw.random() < 0.5 else two
    pieces[one], pieces[two] = pieces[two], pieces[one]


def _transplant(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at, begin = draw.randrange(len(pieces)), draw.randrange(len(other))
    pieces[at:at] = other[begin : begin + draw.choice((1, 3, 10))]


def _piece(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    pieces.insert(draw.randrange(len(pieces)), draw.choice(_PIECES))


def _join(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = _place(pieces, draw, lambda piece: not piece.strip(" ") and bool(piece))
    pieces[at] = draw.choice((" \\\n", "\\\n", " \\\n        ", "\\\n\\\n"))


def _other_name(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    old = pieces[_place(pieces, draw, _is_name)]
    name = draw.choice(_NAMES)
    if draw.random() < 0.5:
        pieces[_place(pieces, draw, _is_name)] = name if draw.random() < 0.7 else old + name
        return
    for at, piece in enumerate(pieces):
        if piece == old:
            pieces[at] = name


def _other_string(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = _place(pieces, draw, _is_string if draw.random() < 0.7 else _is_name)
    if draw.random() < 0.3 and _is_string(pieces[at]):
        prefix = draw.choice(("f", "r", "b", "u", "rf", "Rb", "t", "fb", "F", "x"))
        pieces[at] = prefix + pieces[at].lstrip("rRbBuUfFtT")
    else:
        pieces[at] = draw.choice(_STRINGS)


def _call(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    pieces[_place(pieces, draw, _is_name)] = draw.choice(_CALLS)


def _line(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = _place(pieces, draw, lambda piece: piece.startswith("\n"))
    indent = pieces[at] if pieces[at].startswith("\n") else "\n"
    pieces.insert(at, indent + draw.choice(_LINES).replace("\n", indent))


def _comment(pieces: list[str], draw: random.Random, other: Sequence[str]) -> None:
    at = _place(pieces, draw, lambda piece: piece.startswith("\n"))
    pieces.insert(
        at, draw.choice(("  # a(b)", "  # it's", '  # """', "#", "\n# x", "\n        # deep", "  # \\", "# def f():"))
    )


MUTATIONS = (
    _delete, _repeat, _swap, _transplant, _piece, _join, _other_name, _other_string, _call, _line, _comment,
    _other_string, _call, _line,
)  # fmt: skip


def mutated(text: str, other: str, draw: random.Random) -> str:
    """The text with one to three mutations; pieces of `other` may be put into it."""
    pieces, spare = tokens_of(text), tokens_of(other)
    for _ in range(draw.choice((1, 1, 2, 3))):
        draw.choice(MUTATIONS)(pieces, draw, spare)
        pieces = pieces or [""]
    return "".join(pieces)


def quick_blocks(text: str) -> list[CodeBlock]:
    """The blocks by the quick reader.

    Raises:
        Irregular: it leaves the text to the tree.
    """
    drafts, calls = regular_drafts(text, path=_PLACE.path, module=_PLACE.module)
    seen: Counter[Identity] = Counter()
    return [finish(draft, text, _PLACE, calls, seen) for draft in drafts]


def difference(text: str) -> str | None:
    """The first field in which the readers differ, with both values; "" for none, None if one does not read it."""
    try:
        quick = quick_blocks(text)
    except Irregular:
        return None
    if not is_valid(text) or parse(text.encode(), 10 * PARSE_SECONDS).has_error:
        return None
    parsed, _ = parsed_blocks(text, _PLACE, 10 * PARSE_SECONDS)
    for one, two in zip(quick, parsed, strict=False):
        for field in fields(CodeBlock):
            mine, theirs = getattr(one, field.name), getattr(two, field.name)
            if mine != theirs and field.name != "id":
                return f"{field.name} of {two.qualname}: {mine!r:.300} and by the tree {theirs!r:.300}"
    return "" if len(quick) == len(parsed) else f"blocks: {len(quick)} and by the tree {len(parsed)}"


def is_valid(text: str) -> bool:
    """True if Python can compile the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def corpus(folders: Sequence[Path]) -> list[Path]:
    """The files to be mutated, in order."""
    files = {file for folder in folders for file in folder.rglob("*.py")}
    return sorted(file for file in files if 0 < file.stat().st_size <= LARGEST)


def drawn(files: Sequence[Path], seed: int) -> Iterator[tuple[Path, str]]:
    """Files, each with its mutated text, without end."""
    draw = random.Random(seed)
    while True:
        path, other = draw.choice(files), draw.choice(files)
        try:
            text, spare = path.read_text(encoding="utf-8"), other.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        yield path, mutated(text, spare, draw)


def main() -> None:
    """Print the counts, and the first differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=15_000, help="mutated files that both readers read")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differences to print")
    asked = parser.parse_args()
    files = corpus(asked.folders or [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib")])
    if not files:
        parser.error("no Python files there")
    texts = drawn(files, asked.seed)
    compared = left = 0
    kinds: Counter[str] = Counter()
    started = time.process_time()
    while compared < asked.count:
        path, text = next(texts)
        found = difference(text)
        compared += found is not None
        left += found is None
        if found:
            kinds[found.partition(" of ")[0].partition(":")[0]] += 1
            if kinds.total() <= asked.show:
                print(f"{path}: {found}")
    print(f"{compared} mutated files read by both ({left} more by one or none): {kinds.total()} differ")
    for kind, count in kinds.most_common():
        print(f"    {kind}: {count}")
    print(f"{time.process_time() - started:.0f} s of processor time, seed {asked.seed}")
    print(f"bar: 0 differences, {'NOT met' if kinds else 'met'}")


if __name__ == "__main__":
    main()
