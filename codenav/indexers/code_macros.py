"""Blanking out of C and C++ macros in places where the grammar allows none; all offsets stay the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codenav.indexers.code_branches import spaces

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = rb"\b[A-Z][A-Z0-9_]{2,99}+\b"
_ARGUMENTS = rb"(?:[ \t]*+\((?:[^()\n]++|\([^()\n]{0,200}+\)){0,400}+\))"
_SQUARES = rb"(?:\[\[[^\[\]]{0,300}+\]\]\s*)"
_GAP = rb"(?:\s|//[^\n]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/)*+"
_TYPES = rb"(?:void|bool|char|short|int|long|float|double|signed|unsigned|_Bool|u?int(?:8|16|32|64|ptr)_t|s?size_t)"
_STARTS = (
    rb"(?:static|inline|extern|typedef|struct|union|enum|class|template|virtual|explicit|constexpr|friend|namespace)"
)

_PLAIN = re.compile(
    # The parser takes a comment for the end of a macro.
    rb"^[ \t]*+(?:(?P<directive>#(?:[^\n\\]|\\\n|\\)*+)"
    # A macro in place of a keyword: `TRY {`.
    rb"|(?<=[ \t])(?:\}[ \t]*)?(?P<keyword>" + _NAME + rb")(?=[ \t]*\{[ \t]*$))"
    # The first characters of all that follows, so that few places are looked at closely.
    rb"|\b(?=[A-Z_cstu])(?:"
    # `typedef word __attribute__((__may_alias__)) item;`, `__asm { mov eax, 1 }`.
    rb"(?P<attribute>__attribute__\s*\(\((?:[^()]++|\((?:[^()]++|\([^()]*+\)){0,20}+\)){0,50}+\)\))"
    rb"|__?asm\s*(?P<asm>\{[^{}]*+\})"
    # Words of CUDA: `__device__ __constant__ float table[3];`, `struct __align__(16) item {`.
    rb"|(?P<cuda>__(?:constant|device|global|host|managed|shared)__\b|__align__\s*\([^()\n]*+\))"
    # In the head of a class: `class QT_EXPORT Widget {`, and `enum`, which has no second name either.
    rb"|(?:class|struct|union)\s+(?P<head>" + _SQUARES + rb"*+" + _NAME + _ARGUMENTS + rb"?\s+(?:" + _NAME + _ARGUMENTS
    + rb"?\s+|" + _SQUARES + rb")*?)"
    rb"(?=[A-Za-z_]\w*(?:::\w+)*\s*(?:final\s*)?(?:[<{]|:(?!\s*\d)))"
    # Before a word that begins a declaration or is a whole type: `LUA_API int (lua_type)(`.
    rb"|(?P<before>" + _NAME + _ARGUMENTS + rb"?)(?=\s" + _GAP + rb"(?:(?:const|volatile)\s+)*+(?:(?:" + _TYPES
    + rb"|" + _STARTS + rb"|operator\s+(?!new\b|delete\b)\w+)\b|~\w+\s*\())"
    # `typedef DWORD (WINAPI *link)(LPCTSTR);`, `typedef list_of(item) items;`.
    rb"|typedef\s+[\w\s*]{0,200}?\(\s*(?P<convention>" + _NAME + rb"(?:\s+" + _NAME + rb")*+)"
    rb"(?=\s*\*+\s*\w+\s*\)\s*\()"
    rb"|typedef\s+\w+(?P<of>\s*\([^()]*\))(?=[\s*&]+\w+\s*;)"
    # At the beginning of a line. The call of a macro that a body follows: `TEST_IMPL(name) {`.
    rb"|(?<![^\n])(?:(?P<call>" + _NAME + rb"[ \t]*\((?:[^(){};]++|\([^(){};]*+\)){0,400}+\))(?=\s*\{)"
    # `GIT_EXTERN(int) git_open(`, of which the type stays.
    rb"|" + _NAME + rb"(?P<type>[ \t]*\([ \t]*[A-Za-z_][\w \t*]*\))(?=\s*[*&]*\w+\s*\()"
    # `ABSL_FLAG(bool, quick, {}, "help");`, whose arguments are no expressions.
    rb"|" + _NAME + rb"[ \t]*\((?=[^;\n]{0,400}(?:\{|\b" + _TYPES + rb"\b))"
    rb"(?P<arguments>(?:[^()]++|\((?:[^()]++|\([^()]*+\)){0,200}+\)){0,200}+)\)(?![ \t]*[\w*&]|\s*\{)))",
    re.MULTILINE,
)  # fmt: skip

_REF = re.compile(rb"\bref(?=\s+partial\s+struct\b)")

_INNER_COMMENT = re.compile(rb"(?P<comment>/\*.*?\*/)|/\*.*", re.DOTALL)
_LINE = re.compile(
    # `NLOHMANN_JSON_NAMESPACE_BEGIN`, `Q_OBJECT`, `JSON_PRIVATE_UNLESS_TESTED:`.
    rb"^[ \t]*(?P<line>" + _NAME + _ARGUMENTS + rb"?[ \t]*:?)(?=[ \t]*(?://[^\n]*|/\*[^\n]*)?\n(?!\s*[{;]))",
    re.MULTILINE,
)
_AFTER = re.compile(
    # `void Lock() EXCLUSIVE_LOCK_FUNCTION();`, `int f(void) NOEXCEPT {`.
    rb"\)(?:\s*(?:const|override|final|noexcept|volatile|&&?)\b)*+\s*(?P<after>(?:" + _NAME + _ARGUMENTS + rb"?\s*)++)"
    rb"(?=[;{=]|:(?!:)|->|(?:const|override|final|noexcept)\b)"
    rb"|\)\s*(?P<lower>(?!(?:const|override|final|noexcept|volatile|try|return|break|continue|do|else|goto|throw)\b)[a-z_]\w*)(?=\s*[;{])"
)
_POINTER = re.compile(
    # `(PASCAL FAR *name)(`, `(WINAPI name)(`.
    rb"\(\s*(?P<pointer>\w+(?:\s+\w+)*)(?=\s*\*+\s*(?:const\s+)?\w*\s*\)\s*\()|\(\s*(?P<plain>"
    + _NAME
    + rb")(?=\s+\w+\s*\)\s*\()"
)
_PARAMETER = re.compile(
    # `(IN SOCKET socket, _Out_ HANDLE *handle)`.
    rb"[(,]\s*(?P<parameter>[A-Z_][A-Z0-9_]*|_[A-Z]\w*_)(?="
    + _ARGUMENTS
    + rb"?\s+(?!const\s*[*&])(?:(?:const|struct)\s+)*\w+[\s*&]+\w+\s*[,)])"
)
_MEMBER = re.compile(
    # `int count GUARDED_BY(mutex);`
    rb"(?:[\w>*&]\s+|[*&>])(?!(?:"
    + _TYPES
    + rb"|const|return|else|struct|inline|static|extern|constexpr)\b)[A-Za-z_]\w*(?:\[[^\n\]]*\])?"
    rb"\s+(?P<member>"
    + _NAME
    + _ARGUMENTS
    + rb")(?=\s*[;={])|\busing\s+\w+\s+(?P<alias>"
    + _NAME
    + _ARGUMENTS
    + rb"?)(?=\s*=)"
)
_AROUND = re.compile(
    # `int *NULLABLE item,`; `CURLcode CURL_DEPRECATED(8, "") curl_add(`; `INLINE List::List(int size) : size(size)`.
    rb"[*&]\s*(?P<pointer>(?!(?:const|volatile|restrict|__restrict)\b)\b[A-Za-z_]\w*+)(?=\s+\w+\s*[,)=])"
    rb"|(?P<between>\b(?!(?:if|for|while|switch|return|sizeof|defined|else)\b)[A-Za-z_]\w*+"
    + _ARGUMENTS
    + rb")(?=\s+[*&]*\w+\s*\()"
    rb"|(?P<inline>"
    + _NAME
    + _ARGUMENTS
    + rb"?)(?=\s+(?:[\w:<>]+::)?~?\w+\s*+\((?:[^(){};]++|\([^(){};]*+\))*+\)\s*(?:\w+\s*)?:(?!:))"
)
_HEAD = re.compile(
    rb"(?P<words>(?:\b[A-Za-z_][\w:]*+(?:<[^<>;(){}]*+>)?(?:\s*[*&][\s*&]*+|\s++)){2,10})\(?\s*[A-Za-z_~][\w:~]*\s*\)?\s*\("
)
_WORD = re.compile(rb"(?P<pointer>[*&]\s*)?(?P<word>[A-Za-z_][\w:]*(?:<[^<>]*>)?)")
_SPECIFIERS = frozenset(
    b"auto const constexpr consteval explicit extern friend inline mutable register restrict static thread_local "
    b"typedef typename virtual volatile".split()
)
_TAGS = frozenset((b"struct", b"union", b"enum", b"class"))
_STATEMENTS = frozenset(
    b"return else case goto new delete throw sizeof using namespace template operator if for while do "
    b"switch define".split()
)
_WHOLE = re.compile(_TYPES)


def without_plain_macros(data: bytes) -> bytes:
    """The source without the macros that are known by what follows them; `TEST(…) {` becomes a function `T`."""
    return _PLAIN.sub(_blank, data)


def without_ref(data: bytes) -> bytes:
    """C# without the `ref` of `ref partial struct`, which the parser does not know."""
    return _REF.sub(b"   ", data)


def without_macros(data: bytes, root: Node) -> bytes:
    """The source without what may be a macro in those declarations that could not be parsed."""
    changed = bytearray(data)
    for start, end in broken(root, data):
        piece = bytes(changed[start:end])
        for pattern in (_LINE, _AFTER, _MEMBER, _AROUND, _POINTER, _PARAMETER):
            piece = pattern.sub(_blank, piece)
        changed[start:end] = _HEAD.sub(_one_type, piece)
    return bytes(changed)


def _blank(found: re.Match[bytes]) -> bytes:
    whole = found.group()
    if found.lastgroup is None:
        return whole
    if found.lastgroup == "directive":
        return _INNER_COMMENT.sub(_blank, whole) if b"/*" in whole and b"\\\n" in whole else whole
    start, end = found.span(found.lastgroup)
    at = found.start()
    text = found.group(found.lastgroup)
    if found.lastgroup == "type":
        return b" " * (start - at) + text.replace(b"(", b" ").replace(b")", b" ")
    if found.lastgroup == "call":
        # As a function with a type: `T  T    (    ) {`.
        name, opening = text[: text.index(b"(")].rstrip(), text.index(b"(")
        shown = (name[:1] + b" " * (len(name) - 2) + name[:1]).ljust(opening)
        shown += b"(" + spaces(text[opening + 1 : -1]) + b")"
    elif found.lastgroup == "comment":
        shown = re.sub(rb"[^\n\\]|\\(?!\n)", b" ", text)
    else:
        shown = spaces(text)
    return whole[: start - at] + shown + whole[end - at :]


def _one_type(found: re.Match[bytes]) -> bytes:
    """The words before a name that is declared, reduced to specifiers and a single type."""
    whole, words = found.group(), found["words"]
    parts = list(_WORD.finditer(words))
    spelled = [part["word"] for part in parts]
    if not _STATEMENTS.isdisjoint(spelled):
        return whole
    others = []
    typed = False
    for number, part in enumerate(parts):
        word = part["word"]
        if word in _SPECIFIERS or word in _TAGS:
            continue
        if (number and spelled[number - 1] in _TAGS) or _WHOLE.fullmatch(word):
            typed = True
        else:
            others.append((part, any(before["pointer"] for before in parts[: number + 1])))
    if not typed:
        kept = [number for number, (_, pointed) in enumerate(others) if not pointed]
        if kept:
            del others[kept[-1]]
    for part, _ in others:
        start, end = part.span("word")
        words = words[:start] + b" " * (end - start) + words[end:]
    return words + whole[len(words) :]


_BODIES = {"compound_statement", "preproc_def", "preproc_function_def", "initializer_list", "enumerator_list", "block"}


def broken(root: Node, data: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of declarations with an error, up to the brace or semicolon after it; not the bodies of functions."""
    found = []
    stack = [(root, 0, True)]
    while stack:
        node, begin, around = stack.pop()
        for child in node.children:
            start = child.start_byte if around else begin
            if child.is_error or child.is_missing:
                end = child.end_byte
                ends = (at for at in (data.find(b"{", end), data.find(b";", end)) if at >= 0)
                found.append((_before(child) if around else start, min(ends, default=len(data) - 1) + 1))
            elif child.has_error and child.type not in _BODIES:
                stack.append((child, start, child.type in _ITEMS))
    last = 0
    for start, stop in sorted(found):
        if stop > last:
            yield max(start, last), stop
            last = stop


def _before(error: Node) -> int:
    """Where the declaration of an error begins that is not in a declaration itself."""
    previous = error.prev_sibling
    if previous is None or previous.type in ("{", "}", "comment") or previous.type.startswith(("#", "preproc")):
        return error.start_byte
    near = previous.end_point.row >= error.start_point.row - 1 and previous.end_byte - previous.start_byte < 500
    return previous.start_byte if near else error.start_byte


_ITEMS = {
    "translation_unit", "declaration_list", "field_declaration_list", "linkage_specification", "preproc_if",
    "preproc_ifdef", "preproc_else", "preproc_elif", "namespace_definition", "compilation_unit", "ERROR",
}  # fmt: skip
