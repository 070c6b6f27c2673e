"""The parser of a model's answer: gives one action, or the rule that was broken. Never raises, whatever the text."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping

from codenav.agents.plain import find_plain
from codenav.agents.tags import Found, find_actions
from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, InvalidAction

_SYNONYMS = {
    "search": ("es_search", "search_code", "code_search", "retrieve", "retrieval", "query", "find"),
    "code": ("python", "py", "python3", "ipython", "execute", "execute_code", "exec", "run", "run_code", "run_python"),
    "code_summary": ("codesummary", "summary_code", "final_code"),
    "ask": ("ask_user", "question", "clarify", "request_user_message"),
    "done": ("final_answer", "final", "answer", "finish", "finished", "complete", "submit"),
}
"""Names that models write for the types, habits from other agents included. `summary` is none: it may be prose."""
_TYPE_OF = {synonym: type_ for type_, synonyms in _SYNONYMS.items() for synonym in synonyms}

_EXAMPLES = {
    "search": '(type: FUNCTION) AND "shortest path"',
    "code": "print(1 + 1)",
    "code_summary": 'total = 1 + 1\nprint("total:", total)',
    "ask": "Which of the two files do you mean?",
    "done": "The answer to the request.",
}

_FENCE = re.compile(r"```[ \t]*(?P<language>[\w+-]*)[ \t]*\n")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#0?39|#x27);")
_LITERAL = re.compile(
    r"'''(?:.*?'''|.*)|\"\"\"(?:.*?\"\"\"|.*)|'(?:[^'\\\n]|\\.)*+'?|\"(?:[^\"\\\n]|\\.)*+\"?|#[^\n]*", re.DOTALL
)
"""A string or a comment in Python, accurate enough to tell what is outside of them."""


def parse(text: str, actions: Mapping[str, type[Action]], *, truncated: bool = False) -> Action | InvalidAction:
    """The action in an answer; `actions` maps the available types to their classes.

    Private thinking is left out, and the last complete action counts. Where that is `done` and the same answer holds
    other actions, the last of those counts: the answer was written before their results were there. Where no action is
    complete, the end of the text closes the last one, unless `truncated` says that the server cut it.

    An answer without the tags is read by `find_plain`.
    """
    found = find_actions(text) or [item for item in find_plain(text) if item.type != "code" or Code.type in actions]
    if not found:
        return _invalid("truncated" if truncated else "no_action", actions)
    whole = [item for item in found if item.closed]
    if not whole and truncated:
        return _invalid("truncated", actions, type_=_known(found[-1].type, actions))
    whole = whole or found[-1:]
    chosen = whole[-1]
    if _known(chosen.type, actions) == Done.type:
        earlier = [item for item in whole if _known(item.type, actions) not in ("", Done.type) and item.content.strip()]
        chosen = earlier[-1] if earlier else chosen
    return _checked(chosen, actions)


def _checked(found: Found, actions: Mapping[str, type[Action]]) -> Action | InvalidAction:
    type_ = _known(found.type, actions)
    if not type_:
        return _invalid("unknown_type", actions, wrote=" ".join(found.type.split())[:40])
    content = _clean(found.content, actions[type_])
    if not content.strip():
        return _invalid("empty_content", actions, type_=type_)
    return actions[type_](content=content, thought=found.thought)


def _known(written: str, actions: Mapping[str, type[Action]]) -> str:
    """The available type that the model means; empty where there is none."""
    name = "_".join(written.strip().strip("\"'`*. ").lower().replace("-", " ").split())
    if name in actions:
        return name
    meant = _TYPE_OF.get(name, "")
    return meant if meant in actions else ""


def _clean(content: str, kind: type[Action]) -> str:
    """The content without what models wrap around it: line ends, CDATA, code fences, escaped brackets."""
    content = _inner(content)
    stripped = content.strip()
    if stripped.startswith("<![CDATA[") and stripped.endswith("]]>"):
        content = _inner(stripped.removeprefix("<![CDATA[").removesuffix("]]>"))
    if issubclass(kind, (Ask, Done)):
        # The text is for a person, who may have asked for a fence or an entity.
        return content
    if "<" not in content and ">" not in content and _ENTITY.search(_LITERAL.sub("", content)):
        content = html.unescape(content)
    content = _unfenced(content)
    if issubclass(kind, (Code, CodeSummary)):
        first = next((line for line in content.splitlines() if line.strip()), "")
        # Python that begins with an indented line cannot run: the whole block was indented with the tags.
        return textwrap.dedent(content) if first[:1] in (" ", "\t") else content
    return content


def _inner(content: str) -> str:
    """The content without the line ends next to the tags, or stripped where none follows the opening tag."""
    opening = _LINE_END.match(content)
    if not opening:
        return content.strip()
    content = content[opening.end() :]
    before, newline, rest = content.rpartition("\n")
    if not newline or rest.strip(" \t"):
        return content.rstrip()
    return before.removesuffix("\r")


def _unfenced(content: str) -> str:
    """The inside of a content that is a single code block; any other content unchanged."""
    stripped = content.strip()
    opening = _FENCE.match(stripped)
    if not opening:
        return content
    body = stripped[opening.end() :]
    if body.endswith("```") and body.count("```") == 1:
        return body.removesuffix("```").removesuffix("\n")
    return body if "```" not in body else content


def _invalid(rule: str, actions: Mapping[str, type[Action]], *, type_: str = "", wrote: str = "") -> InvalidAction:
    """The error for a broken rule: the rule in one sentence and the right form, for the available types."""
    types = ", ".join(actions)
    sentence = {
        "no_action": "Your answer holds no action, so nothing was done.",
        "unknown_type": f"There is no action of type {wrote!r}, so nothing was done. The types are: {types}.",
        "empty_content": f"The <content> of your {type_} action is empty, so nothing was done.",
        "truncated": "Your answer was cut off before its action was complete, so nothing was done. "
        "Think and write less: one small step.",
    }[rule]
    example = type_ or next(iter(actions), "")
    form = Action(_EXAMPLES.get(example, "what the action needs"), "Why you take this step.", example).to_xml()
    lines = [sentence, f"Write exactly one action, in this form (types: {types}):", "", form]
    if rule == "no_action" and Done.type in actions:
        lines += ["", "If your text was the answer to the request, send it again as the content of a done action."]
    return InvalidAction("\n".join(lines), rule)
