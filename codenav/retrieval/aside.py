"""The paths of tests, of examples and of vendored code, by the habits of each language."""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache

from codenav.core.blocks import CodeBlock

_TESTS = (
    r"(?:^|/)(?:tests|javatests|unittests|testsuites?|test[-_]?data|e2e|__tests__|__mocks__|__(?:test)?fixtures__"
    r"|tests[._-][^/]*|[^/]*[._-](?:unit|integration|functional)?tests(?:\.[^/]*)?"
    r"|(?-i:[^/]*[a-z0-9]Tests|[^/]+\.(?:[A-Z][a-z]+)?Test)|src/(?:test|(?-i:[a-z]+Test))[^/]*/(?:java|kotlin|cpp))/"
)
"""Folders of tests in every language. Not `testing`: that of numpy, of Go or of Angular is there for their users."""

_OTHERS = r"(?:^|/)test/"
_C = ".c .h .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .cu .cuh .inl .ipp .ixx .tpp"

_LANGUAGES = {
    # Below the top, `test` is a module to import: django.test. Its own tests are in `tests`.
    ".py .pyi .pyw .pyx .pxd .pxi": (
        r"^test/|(?:^|/)(?:test_[^/]*|[^/]*_tests?\.\w+|conftest\.\w+|tests\.\w+|test/test(?!case|ing|util)\w+\.\w+)$"
    ),
    # `spec` in the sources is likely to be about a specification.
    ".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte": (
        _OTHERS + r"|^(?:(?!src/|lib/|app/)[^/]+/)*specs?/|^tests?\.\w+$"
        r"|(?:[._-]tests?|\.specs?|[.-]e2e-spec)(?:-d)?\.\w+$"
    ),
    ".go": _OTHERS + r"|_test\.go$",
    ".java": _OTHERS + r"|(?-i:[a-z0-9](?:Tests?|TestCase|IT))\.java$",
    ".cs": _OTHERS + r"|(?-i:[a-z0-9](?:Tests?|Specs))\.cs$",
    # Below `lib` is what a gem is made of: lib/rack/test/utils.rb.
    ".rb .rake": r"^(?:(?!lib/)[^/]+/)*(?:test|specs?)/|_(?:test|spec)\.rb$",
    # A capital is that of a namespace: Symfony\Contracts\Service\Test is there to be extended.
    ".php": r"(?:^|/)(?-i:test)/|^test/",
    ".rs": r"^test/|(?:/|_)tests\.rs$|_test\.rs$",
    _C: (_OTHERS + r"|[_-](?:unit)?tests?\.\w+$|(?:^|/)test[_-][^/]*$|(?-i:[a-z0-9](?:Unit)?Tests?)\.\w+$"),
}
"""By the extension: the paths of tests beside those in `_TESTS`."""

_VENDORED = (
    r"(?:^|/)(?:_?vendor(?:ed|s)?|(?:third|3rd)[-_]?party|externs?|externals|godeps|_deps|node_modules"
    r"|bower_components|jspm_packages|pods|carthage)/|^(?:deps|external|subprojects|submodules)/"
)
"""Below the top, `deps` and `external` are mostly what a program depends on, in its own words."""

_EXAMPLES = r"(?:^|/)(?:examples?|demos?|samples?|tutorials?|cookbook|benchmarks?)/"


@lru_cache(maxsize=10_000)
def is_test(path: str) -> bool:
    """True for a file of tests or of what only they need; `path` is relative to its source, with `/`."""
    return _tests(_extension(path)).search(_before_java(path)) is not None


@lru_cache(maxsize=10_000)
def is_vendored(path: str) -> bool:
    """True for a file that was copied from another project; `path` is relative to its source, with `/`."""
    return _vendored(_extension(path) in _C.split()).search(_before_java(path)) is not None


def is_aside(block: CodeBlock) -> bool:
    """True if the block is in a test, which Rust has in a module of the tested file, or in vendored code."""
    in_file = block.language == "rust" and block.qualname.startswith(("tests.", "test."))
    return in_file or is_test(block.path) or is_vendored(block.path)


@lru_cache(maxsize=10_000)
def is_example(path: str) -> bool:
    """True for a file that shows how a project is used; `path` is relative to its source, with `/`."""
    return _compiled(_EXAMPLES).search(_before_java(path)) is not None


@cache
def _tests(extension: str) -> re.Pattern[str]:
    # Compiled when it is needed: all together would cost the start of a search ten milliseconds.
    language = next((paths for extensions, paths in _LANGUAGES.items() if extension in extensions.split()), _OTHERS)
    return _compiled(f"{_TESTS}|{language}")


@cache
def _vendored(native: bool) -> re.Pattern[str]:
    return _compiled(rf"{_VENDORED}|(?:^|/)(?:deps|external)/" if native else _VENDORED)


@cache
def _compiled(paths: str) -> re.Pattern[str]:
    return re.compile(paths, re.IGNORECASE)


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _before_java(path: str) -> str:
    """The path without what is below `src/main`, which the layout of Maven and Gradle keeps free of tests.

    There `org/springframework/test` is a library, and `orm/jpa/vendor` a package of its own.
    """
    main = f"/{path}".find("/src/main/")
    return path if main < 0 else path[:main] + "/"
