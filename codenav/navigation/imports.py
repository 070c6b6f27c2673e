"""The import statements in a text, and the names that they bind."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_STATEMENT = re.compile(
    r"""^[ \t]*(?:(?:if|else|elif|try|except|finally|with)\b[^\n#'"]*:[ \t]*)?
    (?: from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|(?:\\\n|[^\n;])*)
      | import[ \t]+(?P<modules>(?:\\\n|[^\n;])*) )""",
    re.MULTILINE | re.VERBOSE,
)
_COMMENT = re.compile(r"#[^\n]*")
_ITEM = re.compile(r"(?P<name>\*|\w[\w.]*)(?:\s+as\s+(?P<alias>\w+))?")


@dataclass(frozen=True, slots=True)
class Import:
    """The origin of a name that an import binds."""

    module: str
    """As written, without the leading dots."""
    level: int = 0
    """Leading dots: 0 is an absolute import."""
    name: str = ""
    """The name imported from the module, `*`, or "" for the module itself."""

    def absolute(self, module: str, *, is_package: bool) -> str:
        """The dotted name of the module imported from, for an import in `module`; empty if the dots lead outside."""
        if not self.level:
            return self.module
        parts = module.split(".") if module else []
        drop = self.level - is_package
        if drop > len(parts):
            return ""
        return ".".join([*parts[: len(parts) - drop], *filter(None, [self.module])])


def imports_in(text: str) -> tuple[dict[str, Import], list[Import]]:
    """The names that import statements anywhere in Python source bind, and the star imports.

    Read with a regular expression, as the text of a block need not be a whole statement.
    """
    bound: dict[str, Import] = {}
    stars: list[Import] = []
    if "import" not in text:
        return bound, stars
    for found in _STATEMENT.finditer(text):
        items = _COMMENT.sub("", found["names"] or found["modules"] or "")
        for item in _ITEM.finditer(items.replace("\\\n", " ")):
            name, alias = item["name"], item["alias"]
            if found["modules"] is not None:
                # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
                bound[alias or name.partition(".")[0]] = Import(name if alias else name.partition(".")[0])
            elif name == "*":
                stars.append(Import(found["module"], len(found["dots"]), "*"))
            else:
                bound[alias or name] = Import(found["module"], len(found["dots"]), name)
    return bound, stars


def imports_of(tree: ast.AST) -> list[str]:
    """The import statements in code, anywhere in it."""
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
