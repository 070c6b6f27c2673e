"""A language: the table of its grammar in one file, here Bash. As `codenav/indexers/bash.py` it needs one more row:

from codenav.indexers.bash import BASH
LANGUAGE_RULES = {…, "bash": BASH}
"""

from __future__ import annotations

from codenav.indexers.code_rules import FUNCTION, Rules

BASH = Rules(
    name="bash",
    extensions=".sh .bash",
    package="tree_sitter_bash",
    definitions={"function_definition": FUNCTION},
    calls={"command": ("name", "name")},
    ignored=frozenset({"comment"}),
)
