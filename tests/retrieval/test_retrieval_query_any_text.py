"""Any text is a query: the parser never raises, is deterministic, and reads its own rendering as the same tree."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from retrieval.queries import ALL

from codenav.retrieval.plan import plan
from codenav.retrieval.query import parse
from codenav.retrieval.query_tree import Node, all_of, any_of, boosted, flattened, negated, preferring, render

TEXT = r"""a load AND OR NOT and not ( ) " ' * ? ~ ^ / \ : + - ! && || [ ] { } , ; | = < > @ # . `
type: kind: text: name: file_path: path: lines: language: source: doc: signature: calls: class: def: nmae: type= name=
FUNCTION functon CLASS [10·TO·20] {1·TO·*} 5-9 >=3 ~1 ^2 ^0.5 x* *y* a?b np.mean foo.bar.baz a::b f(x load_model(
self.x[0] List[int] /a.*b/ /(x|y)+/ /np.a/ "a·b" 'q·r' "a"·OR·"b" OR·CLASS OR·b.py 人脸 é Å ﬁ İ “ -> == **kw *.py
a/b.py b.py:3 src\x @p 0 1.5 a^2 b~0.7 TO NEAR XOR ADJ pkg:x@1 _ __init__ ٣ ² ⅓ C++ \b \w+ .* def class func import
from File·"a.py" {a,b} README.md https://a.b/c/d/blob/m/e.py#L1 \AND \def js go ```"""
PIECES = [*TEXT.split(), "\ud800", "\x00", "\u2028", "\u00a0", "\u200b", "\n"]
"""Pieces of the language and of code; `·` is a space."""

pasted = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " "])), max_size=14).map(
    lambda pieces: "".join(piece.replace("·", " ") + gap for piece, gap in pieces)
)
any_text = st.text(st.characters(), max_size=40)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A query of the table with some pieces put in or cut out."""
    query = draw(st.sampled_from(ALL))[0]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(query)))
        piece = draw(st.sampled_from(["", *PIECES])).replace("·", " ")
        query = query[:at] + piece + query[at + draw(st.integers(0, 3)) :]
    return query


@settings(max_examples=1000, deadline=None, derandomize=True)
@example("LINE:0TO0}")
@example("PATH:\\**")
@example("lines:<0")
@given(st.one_of(pasted, damaged(), any_text))
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


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.recursive(leaves, _joined, max_leaves=8))
def test_any_tree_is_read_back_from_its_rendering(node: Node) -> None:
    low = flattened(node, 8)
    found = parse(render(low))
    assert found.tree == low
    assert not found.repairs
