"""What READMEs and docstrings show of the use of a package."""

from __future__ import annotations

import pytest
from codenav.planner.examples import Examples, illustrated, pieces

from codenav.signatures.callables import CallableSignature, Parameter

MARKDOWN = """
# Counters

A counter for one-time passwords:

```python
import otp
counter = otp.HOTP("secret")
counter.at(0)  # the first password
counter.at(1401, digits=6)
```

```console
$ otp --help
```
"""
REST = """
Counters
~~~~~~~~

A counter for one-time passwords::

    import otp
    counter = otp.HOTP("secret")
    counter.at(0)  # the first password
    counter.at(1401, digits=6)

More text.
"""
PROMPTS = """A counter for one-time passwords:

>>> import otp
>>> counter = otp.HOTP("secret")
>>> counter.at(0)  # the first password
'755224'
>>> counter.at(1401, digits=6)
'404243'

More text.
"""


@pytest.mark.parametrize("text", [MARKDOWN, REST, PROMPTS])
def test_calls_are_found_with_what_they_are_made_on(text: str) -> None:
    found = Examples([text])
    first, second = found.of("at", "HOTP")
    assert (first.on, first.arguments, first.prose) == ("HOTP", ("int",), "the first password")
    assert (second.arguments, second.keywords) == (("int",), {"digits": "int"})
    (made,) = found.of("HOTP")
    assert made.arguments == ("str",) and "A counter for one-time passwords" in made.prose
    assert found.makers("at") == ["HOTP"]
    assert not found.of("at") and not found.of("at2", "HOTP")
    assert found.names[0] == "at"


def test_what_is_no_python_and_what_cannot_be_parsed_is_passed_over() -> None:
    text = "```sh\nls(1)\n```\n```python\ndef f(:\nprint(x)\nmake(1)\nout: 5 !\nmake('a')\n```\n```\nbare(2)\n```"
    found = Examples([text])
    assert sorted(found.names) == ["bare", "make"]
    assert [one.arguments for one in found.of("make")] == [("int",), ("str",)]


@pytest.mark.parametrize("text", ["", "```", ">>>", "::\n\n", "```python\n" + "(" * 5_000 + "\n```", "\x00>>> a\n"])
def test_any_text_can_be_read(text: str) -> None:
    assert not Examples([text])
    list(pieces(text))


def test_a_callable_gets_what_is_shown_of_it() -> None:
    parameters = (
        Parameter("count", "POSITIONAL_OR_KEYWORD", True),
        Parameter("digits", "KEYWORD_ONLY", False, "float"),
    )
    at = CallableSignature("from otp import HOTP", "HOTP.at", "method", "HOTP", parameters, module="otp")
    seen = illustrated(at, Examples([MARKDOWN]))
    assert seen.shown == 1.0 and "the first password" in seen.said
    # An annotation says more than an example.
    assert [(one.type, one.shown) for one in seen.parameters] == [("int", True), ("float", True)]
    other = CallableSignature("from otp import at", "at", "function", module="otp")
    assert illustrated(other, Examples([MARKDOWN])) == other


def test_what_other_packages_make_the_arguments_with() -> None:
    found = Examples([
        ">>> from PIL import Image\n>>> import numpy as np\n>>> import hashes\n"
        ">>> picture = Image.open('a.png')\n>>> hashes.rough(picture, width=np.array([1]))\n"
        ">>> hashes.fine(hashes.rough(1))"
    ])  # fmt: skip
    image, array = ("from PIL import Image", "Image.open"), ("import numpy as np", "np.array")
    assert found.makers_of_arguments("rough") == [image, array]
    assert found.makers_of_arguments("fine") == [("import hashes", "hashes.rough")]
    assert found.makers_of_arguments("open") == []
