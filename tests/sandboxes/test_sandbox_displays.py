"""Pictures of real libraries, and of objects that show themselves."""

from __future__ import annotations

import pytest

from codenav.core.execution import Outcome, SandboxSpec
from codenav.sandboxes import start

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""

PNG, SVG, HTML = "image/png", "image/svg+xml", "text/html"


def kinds(execution):
    assert execution.outcome is Outcome.OK, execution.error
    return [display.mime for display in execution.displays]


@pytest.fixture(scope="module")
def plots(python):
    """A sandbox with the libraries of this interpreter, matplotlib imported, which takes a while."""
    with start("bubblewrap", SandboxSpec(python)) as opened:
        execution = opened.run("import matplotlib.pyplot as plt", timeout=120)
        assert (execution.outcome, execution.stderr) == (Outcome.OK, "")
        yield opened


def test_an_open_figure_is_shown_at_the_end_of_its_step(plots):
    assert kinds(plots.run("plt.plot([1, 2])\nplt.title('a')\n1", timeout=60)) == [PNG]
    execution = plots.run("print(plt.get_fignums())")
    assert (execution.stdout, kinds(execution)) == ("[]\n", [])


def test_a_figure_that_was_shown_and_closed_is_not_lost_and_comes_once(plots):
    code = "for n in range(2):\n    plt.plot([1, n])\n    plt.show()\n    plt.close()\n"
    execution = plots.run(code, timeout=60)
    assert kinds(execution) == [PNG, PNG]
    assert execution.displays[0].data != execution.displays[1].data
    assert execution.stderr == ""
    assert kinds(plots.run("plt.plot([1, 2]); plt.show(); plt.show()", timeout=60)) == [PNG]


def test_a_figure_as_the_last_expression_is_shown_once(plots):
    assert kinds(plots.run("figure, _ = plt.subplots()\nfigure", timeout=60)) == [PNG]
    assert kinds(plots.run("figure", timeout=60)) == [PNG]
    assert kinds(plots.run("from matplotlib.figure import Figure\nFigure()", timeout=60)) == [PNG]


def test_a_figure_of_a_step_that_fails_is_shown(plots):
    execution = plots.run("plt.plot([1, 2])\n1 / 0", timeout=60)
    assert (execution.outcome, [display.mime for display in execution.displays]) == (Outcome.ERROR, [PNG])


def test_saving_a_figure_still_works(plots):
    code = "plt.plot([3, 4])\nplt.show()\nplt.savefig('f.png')\nlen(open('f.png', 'rb').read()) > 5000"
    assert plots.run(code, timeout=60).stdout == "True\n"


def test_a_picture_is_shown_by_its_value_and_by_show(plots):
    code = "from PIL import Image\npicture = Image.new('RGB', (3, 2), 'red')\npicture.show()\npicture"
    execution = plots.run(code, timeout=60)
    assert kinds(execution) == [PNG, PNG]
    assert execution.displays[0].data.startswith(b"\x89PNG")


def test_figures_of_plotly_are_shown_as_html(plots):
    pytest.importorskip("plotly")
    code = "import plotly.graph_objects as go\nfigure = go.Figure(go.Bar(y=[1, 2]))\nfigure.show()\nfigure"
    execution = plots.run(code, timeout=120)
    assert kinds(execution) == [HTML, HTML]
    assert b"plotly" in execution.displays[0].data


@pytest.mark.parametrize(
    ("method", "mime"),
    [
        ("def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n1'", PNG),
        ("def _repr_png_(self): return 'iVBORw0KGgox'", PNG),
        ("def _repr_svg_(self): return '<svg></svg>'", SVG),
        ("def _repr_html_(self): return '<b>b</b>'", HTML),
        ("def _repr_html_(self): return ('<b>b</b>', {})", HTML),
        ("def _repr_mimebundle_(self): return {'text/html': '<b>b</b>', 'text/plain': 'b'}", HTML),
        ("def _repr_mimebundle_(self): return {'text/html': '<b>b</b>', 'image/svg+xml': '<svg/>'}, {}", SVG),
    ],
)
def test_objects_that_show_themselves(box, method, mime):
    assert kinds(box.run(f"class Mine:\n    {method}\nMine()")) == [mime]


@pytest.mark.parametrize(
    "method",
    [
        "def _repr_html_(self): raise SystemExit",
        "def _repr_html_(self): return 5",
        "def _repr_mimebundle_(self): return []",
        "def _repr_mimebundle_(self): return {'text/html': 3}",
        "def _repr_png_(self): return 'not base64'",
        "_repr_html_ = None",
        "def __getattr__(self, name): raise KeyboardInterrupt",
        "def __getattr__(self, name): return self",
    ],
)
def test_objects_that_fail_to_show_themselves_are_printed(box, method):
    execution = box.run(f"class Mine:\n    {method}\n    def __repr__(self): return 'Mine()'\nMine()")
    assert (kinds(execution), execution.stdout) == ([], "Mine()\n")


def test_the_modules_of_a_step_are_found_as_ever(plots):
    code = "import importlib.util\nimportlib.util.find_spec('PIL.Image').origin.endswith('Image.py')"
    assert plots.run(code).stdout == "True\n"
    assert plots.run("import matplotlib.pyplot.nothing").error.type == "ModuleNotFoundError"


KINDS = """
class Shown:
    def __init__(self, kind, data):
        setattr(self, f'_repr_{kind}_', lambda: data)
"""


@pytest.mark.parametrize(
    ("kind", "data", "mime", "shown"),
    [
        ("markdown", "'# Title'", "text/markdown", b"# Title"),
        ("latex", "'$x^2$'", "text/latex", b"$x^2$"),
        ("json", "{'a': [1]}", "application/json", b'{"a": [1]}'),
        ("jpeg", "b'\\xff\\xd8\\xff\\xe0rest'", "image/jpeg", b"\xff\xd8\xff\xe0rest"),
        ("jpeg", "b'no picture'", None, b""),
        ("json", "'{not json'", None, b""),
        ("json", "float('nan')", None, b""),
        ("markdown", "b'\\xff\\xfe'", None, b""),
    ],
)
def test_a_value_shows_itself_as(plots, kind, data, mime, shown):
    found = plots.run(f"{KINDS}\nShown({kind!r}, {data})").displays
    assert [(one.mime, one.data) for one in found] == ([(mime, shown)] if mime else [])


def test_what_is_displayed_and_is_no_json_is_printed(box):
    code = "class Shown:\n    def _repr_json_(self): return [float('nan')]\n    def __repr__(self): return 'itself'\n"
    assert (box.run(code + "display(Shown())").stdout, box.run("Shown()").stdout) == ("itself\n", "itself\n")


def test_display_is_there_and_shows_at_once(plots):
    code = f"{KINDS}\ndisplay(Shown('latex', '$a$'), 5)\ndisplay({{'text/html': '<b>x</b>'}}, raw=True)\nprint('after')"
    done = plots.run(code)
    assert done.stdout == "5\nafter\n"
    assert [(one.mime, one.data) for one in done.displays] == [("text/latex", b"$a$"), (HTML, b"<b>x</b>")]
    plots.run("import builtins\ndel builtins.display")
    assert plots.run("display(1)").stdout == "1\n"
