"""The scripts of a Vue or Svelte component, where they stand in its file."""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"<!--|<script\b(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>",
    re.IGNORECASE,
)
_COMMENT_END = re.compile("-->")
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_LANGUAGE = re.compile(r"\slang\s*=\s*[\"']?(\w+)", re.IGNORECASE)
_LANGUAGES = {"ts": "typescript", "typescript": "typescript", "tsx": "tsx"}


def script_of(text: str) -> tuple[str, str]:
    """The file with blanks for all but its scripts, and their language."""
    pieces, position, copied, language = [], 0, 0, "javascript"
    while (opening := _OPENING.search(text, position)) is not None:
        is_script = opening["attributes"] is not None
        end = (_SCRIPT_END if is_script else _COMMENT_END).search(text, opening.end())
        if end is None:
            break
        position = end.end()
        if is_script:
            pieces += [_blank(text[copied : opening.end()]), text[opening.end() : end.start()]]
            copied = end.start()
            named = _LANGUAGE.search(opening["attributes"])
            language = _LANGUAGES.get(named[1].lower(), language) if named else language
    return "".join([*pieces, _blank(text[copied:])]), language


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
