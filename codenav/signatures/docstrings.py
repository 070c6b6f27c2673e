"""Types of parameters and results in docstrings: reST, Google and NumPy styles."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REST = re.compile(r":param\s+(?:(?P<type>[^:\n]+?)\s+)?(?P<name>\*{0,2}\w+)\s*:(?P<text>[^\n]*)")
_REST_TYPE = re.compile(r":type\s+(\w+)\s*:\s*([^\n]+)")
_REST_RETURN = re.compile(r":rtype\s*:\s*([^\n]+)")
_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters)\s*:\s*\n(?P<body>(?:[ \t]+[^\n]*\n?|\s*\n)+)", re.MULTILINE)
_GOOGLE_ITEM = re.compile(
    r"^(?P<indent>[ \t]+)(?P<name>\*{0,2}\w+)\s*(?:\((?P<type>[^)]*)\))?\s*:(?P<text>[^\n]*)", re.MULTILINE
)
_GOOGLE_RETURN = re.compile(r"^Returns\s*:\s*\n[ \t]+(?P<type>[\w.\[\], |]+?)\s*:", re.MULTILINE)
_DASHES = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]+--?[ \t]+(?P<text>[^\n]+(?:\n[ \t]+(?![ \t]*\w+[ \t]+--?[ \t])[^\n]+)*)", re.MULTILINE
)
_NUMPY = re.compile(r"^Parameters\s*\n-{3,}\s*\n(?P<body>.*?)(?=^\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL)
_NUMPY_ITEM = re.compile(
    r"^(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::\s*(?P<type>[^\n]*))?\n(?P<text>(?:[ \t]+[^\n]*\n?)*)",
    re.MULTILINE,
)
_NUMPY_RETURN = re.compile(r"^Returns\s*\n-{3,}\s*\n(?P<first>[^\n]+)", re.MULTILINE)  # fmt: skip


def described_parameters(doc: str) -> Mapping[str, tuple[str, str]]:
    """Parameters by name: type and description, both perhaps empty."""
    found: dict[str, tuple[str, str]] = {}
    for match in _REST.finditer(doc):
        found[match["name"].lstrip("*")] = (match["type"] or "", match["text"].strip())
    for match in _REST_TYPE.finditer(doc):
        found[match[1]] = (match[2].strip(), found.get(match[1], ("", ""))[1])
    if google := _GOOGLE.search(doc):
        items = list(_GOOGLE_ITEM.finditer(google["body"]))
        indent = min((len(match["indent"]) for match in items), default=0)
        for match in items:
            if len(match["indent"]) == indent:
                found.setdefault(match["name"].lstrip("*"), (match["type"] or "", match["text"].strip()))
    if numpy := _NUMPY.search(doc):
        for match in _NUMPY_ITEM.finditer(numpy["body"]):
            for name in match["names"].split(","):
                text = " ".join((match["text"] or "").split())
                found.setdefault(name.strip().lstrip("*"), ((match["type"] or "").strip(), text))
    for match in _DASHES.finditer(doc):
        found.setdefault(match["name"], ("", " ".join(match["text"].split())))
    return {name: (type_ or class_in(text), text) for name, (type_, text) in found.items()}


_CLASS = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+\b|(?<=`)[A-Z]\w+(?=`)")


def class_in(text: str) -> str:
    """The name in a description that can only be a class: `The PhoneNumber object to be formatted`."""
    match = _CLASS.search(text)
    return match[0] if match else ""


def described_return(doc: str) -> str:
    """The type of the result; empty where the docstring does not say it."""
    if match := _REST_RETURN.search(doc) or _GOOGLE_RETURN.search(doc):
        return match[1].strip()
    if match := _NUMPY_RETURN.search(doc):
        name, colon, type_ = match["first"].partition(":")
        return (type_ if colon else name).strip()
    match = re.search(r"\b[Rr]eturns? (?:an? |the )?(?:new |resulting )?`*([A-Z]\w*[a-z]\w*)\b", doc)
    return match[1] if match else ""


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, in one line."""
    return re.split(r"(?<=[a-z)])\.(?:\s|$)|\n\s*\n", " ".join(text[:400].split("\n\n")[0].split()))[0]
