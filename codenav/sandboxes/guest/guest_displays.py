"""Pictures and rich representations of a step: of its last expression, of what it shows, of open figures."""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Tuple

import guest_hints
from guest_describe import guarded

Picture = Tuple[str, bytes]

_METHODS = (
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("image/svg+xml", "_repr_svg_"),
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)
"""Media types and the methods that make them, the best one first."""


def rich(value: Any) -> list[Picture]:
    """The rich representation of a value: the first of `_METHODS` that it has, else its figure or bundle."""
    if isinstance(value, type):
        return []
    for mime, name in _METHODS:
        made = _bytes(_called(value, name), mime)
        if made:
            return [(mime, made)]
    if type(value).__name__ == "Figure" and type(value).__module__.startswith("matplotlib."):
        return guarded(lambda: _draw(value)) or []
    bundle = _called(value, "_repr_mimebundle_")
    if isinstance(bundle, tuple) and bundle:
        bundle = bundle[0]
    return from_bundle(bundle) if isinstance(bundle, dict) else []


def from_bundle(bundle: Mapping[str, Any]) -> list[Picture]:
    """The best of several representations of one value."""
    for mime, _ in _METHODS:
        made = _bytes(bundle.get(mime), mime)
        if made:
            return [(mime, made)]
    return []


def _called(value: Any, name: str) -> Any:
    method = guarded(lambda: getattr(value, name, None))
    return guarded(method) if callable(method) else None


def _bytes(data: Any, mime: str) -> bytes | None:
    if isinstance(data, tuple) and data:
        data = data[0]
    if mime == "application/json":
        # A text is taken for JSON that was written already.
        made = data
        if data is not None and not isinstance(data, (str, bytes)):
            made = guarded(lambda: json.dumps(data, allow_nan=False))
        return made.encode("utf-8", "backslashreplace") if isinstance(made, str) else made
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        return None
    if mime in ("image/png", "image/jpeg"):
        import base64

        return bytes(guarded(lambda: base64.b64decode(data)) or b"")
    return data.encode("utf-8", "backslashreplace")


def within(pictures: list[Picture], limit: int) -> list[Picture]:
    """The pictures that fit into `limit` bytes together."""
    kept, total = [], 0
    for mime, data in pictures:
        if total + len(data) <= limit:
            kept.append((mime, data))
            total += len(data)
    return kept


# Figures of matplotlib

_drawn: weakref.WeakSet[Any] = weakref.WeakSet()
"""Figures that this step has shown."""


def figures() -> list[Picture]:
    """Draw the open figures of matplotlib that were not shown yet, and close all."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    found: list[Picture] = []
    for number in guarded(plots.get_fignums) or []:
        found += guarded(lambda number=number: _draw(plots.figure(number))) or []  # type: ignore[misc]
    guarded(lambda: plots.close("all"))
    _drawn.clear()
    return found


def _draw(figure: Any) -> list[Picture]:
    if figure in _drawn:
        return []
    data = _png(figure)
    _drawn.add(figure)
    return [("image/png", data)]


def _png(figure: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


# Values shown in the middle of a step

_shown: list[Picture] = []


def take_shown() -> list[Picture]:
    """Return the pictures that `show()` and `display()` have made since the last call."""
    taken = list(_shown)
    _shown.clear()
    return taken


def display(*values: Any, raw: bool = False, **_: Any) -> None:
    """Show values in the middle of a step, as IPython does; with `raw` each is a dict of media types."""
    for value in values:
        pictures = from_bundle(value) if raw and isinstance(value, dict) else rich(value)
        _shown.extend(pictures)
        if not pictures:
            print(repr(value))


def _hook_pyplot(module: Any) -> None:
    def show(*_: Any, **__: Any) -> None:
        for number in module.get_fignums():
            _shown.extend(_draw(module.figure(number)))

    module.show = show


def _hook_pillow(module: Any) -> None:
    module.Image.show = display


def _hook_plotly(module: Any) -> None:
    def show(figure: Any, *_: Any, **__: Any) -> None:
        html = module.to_html(figure, include_plotlyjs="cdn", full_html=False)
        _shown.append(("text/html", str(html).encode("utf-8", "backslashreplace")))

    module.show = show


def _hook_getpass(module: Any) -> None:
    module.getpass = guest_hints.refuse_password


def _hook_pdb(module: Any) -> None:
    module.set_trace = guest_hints.refuse_debugger


def _hook_reduction(module: Any) -> None:
    module.ForkingPickler.reducer_override = guest_hints.reduce_for_children


def _hook_ipython(module: Any) -> None:
    module.display = display


class Hooks:
    """A finder for `sys.meta_path` that makes `show()` of a library a display, and has others say what is missing."""

    _after: Mapping[str, Callable[[Any], None]] = {
        "matplotlib.pyplot": _hook_pyplot,
        "PIL.Image": _hook_pillow,
        "plotly.io": _hook_plotly,
        "IPython.display": _hook_ipython,
        "getpass": _hook_getpass,
        "pdb": _hook_pdb,
        "multiprocessing.reduction": _hook_reduction,
    }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give, with a loader that runs a hook after the module."""
        hook = self._after.get(name)
        if hook is None:
            return None
        for finder in list(sys.meta_path):
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                _run_after(found.loader, hook)
                return found
        return None


def _run_after(loader: Any, hook: Callable[[Any], None]) -> None:
    run = getattr(loader, "exec_module", None)
    if run is None:
        return

    def exec_module(module: Any) -> None:
        run(module)
        guarded(lambda: hook(module))

    loader.exec_module = exec_module
