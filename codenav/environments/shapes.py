"""The shapes and lengths of the variables of a sandbox, as a person and a model are told them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from codenav.core.errors import CodeNavError
from codenav.core.protocols import Sandbox

SHAPES_SECONDS = 10.0
"""Time to ask for the shapes of variables."""
_SHAPES = """print(*(
    '%s\\t%s' % (name, '×'.join(map(str, shape)) if isinstance(shape, tuple) else len(value))
    for name, value, shape in [(one, globals()[one], getattr(globals()[one], 'shape', None)) for one in {names!r}]
    if not isinstance(value, type)
    and (isinstance(shape, tuple) or isinstance(value, (list, tuple, dict, set, frozenset)))
), sep='\\n')"""
"""An expression, so that no name of the user's is bound."""


def shapes_of(sandbox: Sandbox, names: Sequence[str]) -> dict[str, str]:
    """Return the shape or length of variables that have one, by name: `120×4`, `12`."""
    if not names:
        return {}
    with suppress(CodeNavError):
        shown = sandbox.run(_SHAPES.format(names=tuple(names)), timeout=SHAPES_SECONDS).stdout
        return dict(line.split("\t", 1) for line in shown.splitlines() if "\t" in line)
    return {}
