"""Models that need no server: a script, or a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from codenav.core.actions import Action
from codenav.core.errors import ModelFailed, NotFound, UsageError
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.usage import Usage, estimate_tokens

SCRIPTED = "scripted:"
"""The prefix of a model name that names a script file."""

_OPENING = re.compile(r"^[ \t]*<action>", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*<action>(.*?)</action>[ \t]*$", re.MULTILINE | re.DOTALL)


class FunctionModel:
    """A model that answers by calling a function.

    >>> model = FunctionModel(lambda messages: Done("42"))
    """

    def __init__(
        self, function: Callable[[Sequence[Message]], str | Action | Completion], *, name: str | None = None
    ) -> None:
        """`function` is called with the conversation; an `Action` that it returns is written as a model would."""
        self._function = function
        self._name = name or str(getattr(function, "__name__", type(function).__name__))

    @property
    def name(self) -> str:
        """The name as given, else that of the function."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """The function's answer. Tokens are estimated; `timeout` does not stop the function."""
        answer = self._function(messages)
        if isinstance(answer, Completion):
            return answer
        text = answer.to_xml() if isinstance(answer, Action) else answer
        return Completion(text, usage=estimated_usage(messages, text))

    def close(self) -> None:
        """Do nothing: this model holds no resources."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class ScriptedModel(FunctionModel):
    """A model that gives scripted answers in order, whatever it is asked.

    >>> model = ScriptedModel([Search("betweenness"), Code("print(1)"), Done("1")])
    """

    def __init__(self, script: Sequence[Action | str], *, name: str = "scripted") -> None:
        """`script` holds actions, or text as a model would write it. A last `done` that is sent back is given again."""
        super().__init__(self._next, name=name)
        self._script = list(script)
        self._played = 0

    def _next(self, messages: Sequence[Message]) -> Action | str:
        if self._played == len(self._script):
            if sent_back(self._script[-1], [message.content for message in messages]):
                return self._script[-1]
            raise ModelFailed(
                f"the script has no answer {self._played + 1}",
                hint=f"it holds {len(self._script)}; end it with an action of type done",
            )
        self._played += 1
        return self._script[self._played - 1]


def sent_back(answer: Action | str, messages: Sequence[str]) -> bool:
    """True if a scripted answer ended nothing although it is a `done`: the conversation goes on after it."""
    text = answer.to_xml() if isinstance(answer, Action) else answer
    return "<type>done</type>" in text and any(text.strip() == one.strip() for one in messages[-2:])


def estimated_usage(messages: Sequence[Message], text: str) -> Usage:
    """The usage of one request, with estimated tokens."""
    asked = sum(estimate_tokens(message.content) for message in messages)
    return Usage(requests=1, input_tokens=asked, output_tokens=estimate_tokens(text), estimated=True)


def load_script(path: str | Path) -> ScriptedModel:
    """Load a script from a text file: each `<action>…</action>` element is one answer, text between them is comment.

    The opening tag begins a line, and the closing tag ends one. The content of an element is played unchanged, so
    that a wrong answer can be scripted too.

    Raises:
        NotFound: there is no such file.
        UsageError: the file is not UTF-8 text, contains no answer, or an element is not closed.
    """
    return ScriptedModel(read_script(path), name=f"{SCRIPTED}{Path(path).name}")


def read_script(path: str | Path) -> list[str]:
    """Read the answers in a script file; raises as `load_script`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"no script {str(path)!r}", hint="name a file: --model scripted:FILE") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the script {str(path)!r}: {error}", hint="it must be UTF-8 text") from error
    answers = [match.group(1).strip() for match in _ANSWER.finditer(text)]
    left = _ANSWER.sub(lambda match: "\n" * match.group().count("\n"), text)
    unclosed = _OPENING.search(left)
    if unclosed:
        line = left.count("\n", 0, unclosed.start()) + 1
        raise UsageError(f"{path}, line {line}: <action> is never closed", hint="end it with </action>")
    if not answers:
        raise UsageError(
            f"the script {str(path)!r} contains no answer",
            hint="write each as <action><type>code</type><content>…</content></action>",
        )
    return answers
