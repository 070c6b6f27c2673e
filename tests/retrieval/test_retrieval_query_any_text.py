"""Any text is a query: the parser never raises, is deterministic, and reads its own rendering as the same tree."""

from __future__ import annotations

import sys
import unicodedata

from drawn import drawn
from hypothesis import example, given
from hypothesis import strategies as st

from codenav.retrieval.planning import plan
from codenav.retrieval.query.parser import parse
from codenav.retrieval.query.tree import Node, all_of, any_of, boosted, flattened, negated, preferring, render
from retrieval.queries import ALL

TEXT = r"""a load AND OR NOT and not ( ) " ' * ? ~ ^ / \ : + - ! && || [ ] { } , ; | = < > @ # . `
type: kind: text: name: file_path: path: lines: language: source: doc: signature: calls: class: def: nmae: type= name=
FUNCTION functon CLASS [10·TO·20] {1·TO·*} 5-9 >=3 ~1 ^2 ^0.5 x* *y* a?b np.mean foo.bar.baz a::b f(x load_model(
self.x[0] List[int] /a.*b/ /(x|y)+/ /np.a/ "a·b" 'q·r' "a"·OR·"b" OR·CLASS OR·b.py 人脸 é Å ﬁ İ “ -> == **kw *.py
a/b.py b.py:3 src\x @p 0 1.5 a^2 b~0.7 TO NEAR XOR ADJ pkg:x@1 _ __init__ ٣ ² ⅓ C++ \b \w+ .* def class func import
from File·"a.py" {a,b} README.md https://a.b/c/d/blob/m/e.py#L1 \AND \def js go ```"""
PIECES = [*TEXT.split(), "\ud800", "\x00", "\u2028", "\u00a0", "\u200b", "\n"]
"""Pieces of the language and of code; `·` is a space."""
ODD = [
    char
    for char in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(char) != "Cs"
    and (
        char.isspace()
        or unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Zs", "Mn")
        or unicodedata.normalize("NFKC", char) != char
        or len(char.lower()) > 1
    )
]
"""Characters that a normal form changes, or that may change a neighbour; white space, controls, invisible ones."""
PLACES = [
    'File "a%sb.py", line 3, in f', 'file_path:"a%sb.py"', "file_path:a\\%sb.py", "path:*%s*", 'source:"%s"',
    "e\\%s.py", "calls:a%sb", 'calls:"a%sb"', "%sname:x", "name%s:x", "na%sme:x", "name:%sx", "a%sAND%sb", "NOT%sa",
    "a^%s2", "a~%s1", "lines:%s1-2", "lines:[%s1 TO 2]", "/a%sb/", "a%sb*", "f(%sx)", '"a%sb"', "%s", "a%sb",
    "a.%sb.c", "a/b%s.py:3", "(%s)", "type:FUNC%sTION", "language:%s", "language:py%sthon", "from a%s import b",
    "def a%s(x)", "class:%sX", "a\\%sb", "%s-a", '{"name":"%s"}', "```py%s\na```", "x^%s", "e%s\u0301",
    "file_path:x\\%s\u0301", "source:<\\%s\u0338",
]  # fmt: skip
"""Places in a query for such a character."""

pasted = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " "])), max_size=14).map(
    lambda pieces: "".join(piece.replace("·", " ") + gap for piece, gap in pieces)
)
any_text = st.text(st.characters(), max_size=40)
odd = st.builds(
    lambda place, char, more: place.replace("%s", char) + more,
    st.sampled_from(PLACES),
    st.text(st.sampled_from(ODD), min_size=1, max_size=2),
    st.sampled_from(["", " x", ' OR "b"', "é", "\u0301"]),
)
PATHS = r"""
a b.py .py / ./ ../ .. . // * ** **/ /**/ ? { } , {a,b} :3 :3-5 #L3-L9 C: C:/ ~/ /home/ /tmp/x/ site-packages/ \ \* :
::f [x] é $ @ - + ; ' " ( ) await new & .c"""
"""Pieces of paths."""

paths = st.builds(
    lambda field, parts: field + "".join(parts),
    st.sampled_from(["", "file_path:", "path: ", 'path:"', "file_path:a.py OR ", "calls:", "source:", "path:("]),
    st.lists(st.sampled_from([*PATHS.split(), " "]), min_size=1, max_size=7),
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A query of the table with some pieces put in or cut out."""
    query = draw(st.sampled_from(ALL))[0]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(query)))
        piece = draw(st.one_of(st.sampled_from(["", *PIECES]), st.sampled_from(ODD))).replace("·", " ")
        query = query[:at] + piece + query[at + draw(st.integers(0, 3)) :]
    return query


@drawn(1000)
@example("LINE:0TO0}")
@example("PATH:\\**")
@example("lines:<0")
@example('File "a\u2028b.py", line 3')
@example("lang:x +def")
@example('path:"/C:/*/ /')
@example("file_path:a\\\u0308")
@example("path:s{,.y:3}")
@example("file_path:b.y../#L3")
@example("file_path:/home/./x")
@example("calls:await new await x")
@example("/[p\u0130]/")
@example('type:+"FN""CLASS')
@example("path:a'''''b")
@given(st.one_of(pasted, damaged(), any_text, paths, odd, st.builds("{} {}".format, odd, pasted)))
def test_any_text_is_a_query_and_its_reading_is_read_the_same_way(query: str) -> None:
    found = parse(query)
    assert parse(query) == found
    again = parse(found.read_as)
    assert again.tree == found.tree
    assert again.read_as == found.read_as
    assert not again.repairs or not found.read_as
    plan(found.tree)


leaves = st.sampled_from([query for query, read_as, _ in ALL if read_as]).map(lambda query: parse(query).tree)


def _joined(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(children, min_size=2, max_size=4)
    return st.one_of(
        several.map(all_of),
        several.map(any_of),
        children.map(negated),
        st.builds(preferring, children, children),
        st.builds(boosted, children, st.sampled_from([0.5, 2.0, 3.25])),
    )


@drawn(500)
@given(st.recursive(leaves, _joined, max_leaves=8))
def test_any_tree_is_read_back_from_its_rendering(node: Node) -> None:
    low = flattened(node, 8)
    found = parse(render(low))
    assert found.tree == low
    assert not found.repairs
