"""Names of secrets: of the schemes of a specification, or of a header or query parameter that a person writes out.

`Authorization: Bearer {}` is a header of each call, `?api_key={}` a parameter of its query; `SPEC.` before a name means
one source of several.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from codenav.core.errors import UsageError
from codenav.core.system.terminal_text import few
from codenav.tools.model import Scheme, ToolSpec

HEADER = "--secret 'Authorization: Bearer {}=VARIABLE'"
_WRITTEN = re.compile(
    r"(?:(?P<spec>\w+)\.)?(?:(?P<header>[\w!#$%&'*+.^`|~-]+):\s*|\?(?P<query>[^=&\s]+)=)(?P<text>[^\r\n]*)", re.ASCII
)
_MOST = 20


def written(name: str) -> tuple[str, Scheme, str] | None:
    """The source, the scheme and the text behind the value that a written-out name means; None for other names.

    The source is empty where the name has none.
    """
    match = _WRITTEN.fullmatch(name)
    if match is None:
        return None
    before, _, after = match["text"].partition("{}")
    place, wire = ("header", match["header"]) if match["header"] else ("query", match["query"])
    return match["spec"] or "", Scheme(name, "key", place, wire, before), after


def check_names(names: Iterable[str], specs: Sequence[ToolSpec]) -> None:
    """Check the names of secrets against the sources that they are for.

    Raises:
        UsageError: no source takes a secret of that name, or a written-out one fits several.
    """
    schemes = {scheme.name for spec in specs for scheme in spec.schemes}
    schemes |= {f"{spec.name}.{scheme.name}" for spec in specs for scheme in spec.schemes}
    processes = {spec.name for spec in specs if "command" in spec.transport}
    for name in names:
        form = written(name)
        if name in schemes:
            continue
        if form is not None:
            _check_written(name, form[0], [spec.name for spec in specs if not spec.transport])
        # What else is named goes to the process of an MCP server: it does not say what it wants.
        elif not processes or ("." in name and name.partition(".")[0] not in processes):
            raise _unknown(name, specs)


def scheme_texts(spec: ToolSpec) -> Iterator[str]:
    """The secrets of a source, each with how it is sent."""
    if "command" in spec.transport:
        yield f"{spec.name}.NAME (a variable of its process)"
    for scheme in spec.schemes:
        how = f"{scheme.place} {scheme.wire}".strip() if scheme.type == "key" else scheme.type
        yield f"{scheme.name} ({how})"


def _check_written(name: str, source: str, over_http: Sequence[str]) -> None:
    shown = re.split("[:=]", name)[0]
    if "{}" not in name:
        # What stands there may be the secret itself: it is not repeated.
        raise UsageError(f"the secret {shown!r} has no {{}} where its value goes", hint=HEADER)
    if source and source not in over_http:
        known = ", ".join(over_http) or "none"
        raise UsageError(f"there is no source {source!r} to send {shown!r} to", hint=f"sources with an API: {known}")
    if not source and len(over_http) != 1:
        if over_http:
            named = " or ".join(f"{one}.{name}" for one in over_http[:3])
            raise UsageError(f"{shown!r} would go to each of several sources", hint=f"name one: {named}")
        raise UsageError(f"no source here takes a header or query parameter, so {shown!r} would not be sent")


def _unknown(name: str, specs: Sequence[ToolSpec]) -> UsageError:
    known = [scheme.name for spec in specs for scheme in spec.schemes]
    told = [one for spec in specs for one in scheme_texts(spec)]
    if not told:
        names = " and ".join(spec.name for spec in specs)
        why = f"{names} names no way to log in" if specs else "no source here has tools"
        return UsageError(f"there is no secret {name!r}: {why}", hint=f"{HEADER} sends a header")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return UsageError(
        f"there is no secret {name!r}; there are {few(told, _MOST)}",
        hint=f"did you mean {near[0]!r}?" if near else f"{HEADER} sends a header of your own",
    )
