"""The fit of a value's type to a parameter's annotation, docstring and default."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache

from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts, stem, words_in

UNTYPED, DECLARED, EXACT = 0.5, 1.0, 1.3
"""The worth of a fit where a parameter does not state its type, where it states that of the value, and where the
value is of the very class."""
ALIAS = 0.1
"""The worth where it names a type that may stand for a plain one."""
SENTINEL = 0.15
"""The worth where its default is of another type, which may only say that nothing was given."""
_WORDS_OF = {
    "str": r"\bstr\b|string|\btext\b|AnyStr|bytes|\bname\b|\burl\b|regex|pattern",
    "path": r"path|file|\bfp\b|stream|\bIO\b",
    "int": r"\bint\b|integer|\bnumber\b|numeric|scalar|index",
    "float": r"float|\breal\b|\bnumber\b|numeric|scalar|double|Decimal|complex",
    "bool": r"\bbool",
    "list": r"\blist\b|sequence|iterable|array|collection|\bset\b|vector|Iterator",
    "tuple": r"tuple|pair|sequence|iterable|array|coordinate|point",
    "dict": r"\bdict\b|\bmap|\bitems\b",
    "set": r"\bset\b|iterable|collection",
    "date": r"date|time",
    "bytes": r"\bbytes?\b|bytearray|buffer|binary|octet",
}
_ANY_SEQUENCE = re.compile(r"\b(?:Sequence|Iterable|Collection)\[(?:typing\.)?(?:Hashable|Any|object|_?[A-Z]+)\]")
_ANYTHING = re.compile(r"\bany\b|\bobject\b|\bT\b|_T\b|typing\.Any|hashable|\bnodes?\b", re.IGNORECASE)


def is_open_file(parameter: Parameter) -> bool:
    """True if a parameter takes an open file, and not its name."""
    if re.search(r"[Pp]ath|\bstr\b(?!\])|file ?name", parameter.type) or re.search(
        r"file ?name|\bpath\b", parameter.text
    ):
        return False
    return bool(
        re.search(r"\b\w*IO\b|file[- ](?:object|like)|stream", f"{parameter.type} {parameter.text}")
        or re.fullmatch(r"f|fp|fh|fd|fileobj|file_?object|stream|handle", parameter.name)
    )


_MEMBERS = re.compile(r"\b(tuple|list|set|\w*sequence|\w*iterable|\w*collection|iterator)\[[^\[\]]*\]", re.IGNORECASE)
"""A container with the types of its members, which are not its own."""


def type_fit(type_: str, parameter: Parameter) -> float:
    """The fit of a type to what a parameter says of its own; 0 where it cannot go there."""
    # An alias tells by its parts: `NumberOrString`.
    told = parameter.type if type_ in ("list", "tuple", "set", "dict") else _MEMBERS.sub(r"\1", parameter.type)
    wanted = " ".join([told, *parts(told)]) if told else ""
    if parameter.type.startswith("~"):
        # A type variable: its types are not said.
        return UNTYPED
    names = {"path": ("path", "str"), "date": ("date", "str"), "int": ("int", "float")}.get(type_, (type_,))
    if (
        type_ == "path"
        and parameter.default not in ("True", "False")
        and not is_open_file(parameter)
        and re.search(r"path|file|\bio\b", f"{parameter.type} {parameter.name}", re.IGNORECASE)
    ):
        return EXACT
    if wanted:
        if any(re.search(_WORDS_OF.get(name, rf"\b{re.escape(name)}\b"), wanted, re.IGNORECASE) for name in names):
            return DECLARED
        if _ANYTHING.search(wanted) or (type_ == "str" and _ANY_SEQUENCE.search(parameter.type)):
            return UNTYPED
        if type_ in ("int", "float", "complex") and re.search(r"array[- _]?like", wanted, re.IGNORECASE):
            return UNTYPED
        if _of_default(type_, names, parameter) == DECLARED:
            # A docstring may tell of one of two types: `headers`.
            return UNTYPED
        known = any(re.search(pattern, wanted, re.IGNORECASE) for pattern in _WORDS_OF.values())
        if known or re.search(r"\bgraph\b|frame|matrix|image|model|geometry", wanted):
            return 0.0
        # A class of the package, or another name for a plain type: `UnparsedVersion`.
        return ALIAS if re.search(r"[A-Z]", wanted) else 0.2
    return UNTYPED if parameter.default in ("", "None") else _of_default(type_, names, parameter)


def _of_default(type_: str, names: Sequence[str], parameter: Parameter) -> float:
    """The fit of a type, by its `names`, to the default of a parameter."""
    if re.match(r"<(?:class|function|built-in)", parameter.default):
        # The default is a function or a class.
        return 0.0
    try:
        default = type(ast.literal_eval(parameter.default)).__name__
    except (ValueError, SyntaxError):
        return 0.2
    if default in names or (default == "float" and type_ == "int") or {default, type_} == {"list", "tuple"}:
        return DECLARED
    return 0.0 if default == "bool" else SENTINEL


BUILTIN = words_in("str int float bool list tuple dict set bytes complex NoneType")
"""Types whose values come from anywhere: a parameter that takes one does not say where the value comes from."""


_CONTAINER = re.compile(
    r"(?:typing\.|collections\.abc\.)?\b(?:Dict|List|Tuple|Set|dict|list|tuple|set|Mapping|Sequence|Iterable)\[.*\]"
)
"""A container with the types of its members, which say nothing of where it comes from."""
_SAYS_NOTHING = words_in(
    """optional union none any callable or of a an the default like self object numpy np instance type typing"""
)


def type_words(parameter: Parameter) -> list[str]:
    """The words of a parameter's type that tell where a value may come from, else those of its name."""
    outer = _CONTAINER.sub("", parameter.type)
    words = [word for word in parts(outer) if word not in _SAYS_NOTHING and word not in BUILTIN]
    return list(dict.fromkeys(words)) or parts(parameter.name)


def likely_gives(item: CallableSignature, parameter: Parameter) -> float:
    """The likelihood that a callable gives what a parameter takes, 0 to 1: by its result, its bases, its name."""
    wanted = {stem(word) for word in type_words(parameter)}
    if wanted & {stem(word) for word in parts(item.returns)}:
        return 1.0
    if wanted & {stem(word) for base in item.bases for word in parts(base)}:
        return 0.8
    if wanted & {stem(word) for word in parts(item.name)}:
        return 0.7
    return 0.1 if item.kind == "class" else 0.0 if item.returns else 0.3


_FILES = re.compile(
    r"path|file|fname|\bfp\b|\bf\b|\bfn|src|source|input|output|stream|\bin\b|\bout|dest|\bto\b|archive|document"
    r"|\bdoc\b|uri|url|\bio\b|location|target|text|data|string|content|template|\bargs?\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"text|str|content|data|source|markup|html|xml|code|body|template|\bs\b|json|yaml|toml|lines|buf|bytes|value|arg",
    re.IGNORECASE,
)
"""Parts of the names of parameters that may take what a file holds."""
_TEXT = re.compile(r"text|str|markup|html|xml|body|template|\bs\b|lines|code|content", re.IGNORECASE)
_WRITTEN = re.compile(r"(?:^|_)(?:out(?:put|file|path|fn|name)?|dst)(?:_|$)|(?:^|_)dest|^save_", re.IGNORECASE)
"""Names of parameters for files that are to be made."""
_PATH = re.compile(r"path\b|file(?:_?name)?$|[Pp]athLike", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def choices(parameter: Parameter) -> frozenset[str]:
    """The words that a parameter's annotation, default or description quote."""
    told = f"{parameter.type} {parameter.default} {parameter.text}"
    return frozenset(re.findall(r"(?<![\w'\"`])['\"`]{1,2}([A-Za-z][\w-]*)['\"`]{1,2}(?!\w)", told))


def takes_text(parameter: Parameter) -> bool:
    """True if a parameter that may take what a file holds takes nothing else."""
    return bool(_TEXT.search(parameter.name))


def is_output(parameter: Parameter) -> bool:
    """True if a parameter takes a file that is to be made."""
    return bool(_WRITTEN.search(parameter.name))


def is_path(parameter: Parameter) -> bool:
    """True if a parameter takes the name of a file, by its own name and its type."""
    return bool(_PATH.search(f"{parameter.name} {parameter.type}"))


def may_be_file(parameter: Parameter) -> bool:
    """True if a parameter that may be left out may take a file, by its name, its type and its default."""
    told = f"{parameter.name} {parameter.name.replace('_', ' ')} {parameter.type} {parameter.default}"
    return is_open_file(parameter) or bool(_FILES.search(told))


def content_type(parameter: Parameter, ending: str, *, text: bool) -> str:
    """`str` or `bytes`: the type as which a parameter takes a file's contents; empty where it takes the file itself.

    `text`: True if files with that ending hold text.
    """
    told = re.sub(r"file[- ](?:like|object)", "", f"{parameter.name} {parameter.type}")
    takes_file = is_open_file(parameter) or re.search(r"path|file|\bfn|\bfp\b|PathLike", told, re.IGNORECASE)
    if takes_file or (parameter.type and type_fit("str", parameter) < DECLARED):
        return ""
    readable = text and not re.search(r"path|file|url", parameter.text, re.IGNORECASE)
    if not (readable or _CONTENT.search(parameter.name) or parameter.name == ending):
        return ""
    plain = text or bool(re.search(r"\bstr\b", parameter.type))
    return "bytes" if "bytes" in parameter.type or not plain else "str"
