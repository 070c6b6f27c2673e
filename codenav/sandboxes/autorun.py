"""Files that tools run on their own when a folder is entered, opened, tested or pushed. Copying one out is reported.

Files that run only when a person names them are not listed: scripts, notebooks, container files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

RUNNERS = (
    # Shells that enter the folder
    (".envrc", "direnv"),
    (".env", "direnv, editors, docker compose"),
    (".autoenv*", "autoenv"),
    (".tool-versions mise.toml .mise.toml .mise/ .rtx.toml", "mise, asdf"),
    ("flake.nix shell.nix devbox.json devenv.nix", "nix"),
    ("Makefile GNUmakefile", "make, and the shell's completion for it"),
    # Shells and programs that start in the folder, or have it as their home folder
    (".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout "
     ".kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession fish/*.fish conf.d/*.fish", "the shell"),
    (".gitconfig git/config", "git"),
    (".ssh/", "ssh"),
    (".config/ .local/", "programs at their start, where it is a home folder"),
    (".screenrc .tmux.conf .curlrc .wgetrc .psqlrc .sqliterc .mailcap .npm-init.js", "the program of that name"),
    ("autostart/*.desktop systemd/user/*", "the desktop at login"),
    (".gdbinit .lldbinit .pdbrc .pdbrc.py", "the debugger"),
    (".Rprofile .Renviron .RData", "R"),
    (".irbrc .pryrc .ghci .ocamlinit .octaverc startup.m startup.jl", "an interpreter"),
    # Editors
    (".vscode/ *.code-workspace", "VS Code"),
    (".devcontainer/ .devcontainer.json", "VS Code, dev containers"),
    (".idea/ .fleet/ *.iml", "JetBrains"),
    (".zed/ .nova/ .vs/ *.sublime-project", "the editor"),
    (".exrc .vimrc .gvimrc .nvimrc .nvim.lua .lvimrc .vim/", "vim"),
    (".dir-locals.el .dir-locals-2.el .emacs .emacs.d/", "Emacs"),
    (".claude/ .cursor/ .gemini/ .codex/ .mcp.json .cursorrules claude.md agents.md gemini.md", "coding agents"),
    # Python
    (".venv/ venv/", "editors, which start its interpreter, and shells that activate it"),
    ("conftest.py pytest.ini .pytest.ini", "pytest"),
    ("sitecustomize.py usercustomize.py *.pth *.egg-link", "Python, at its start"),
    (".ipython/ ipython_config.py ipython_kernel_config.py .jupyter/ jupyter_*config.py jupyter_*config.json",
     "IPython, Jupyter"),
    ("setup.py setup.cfg pyproject.toml tox.ini noxfile.py", "pip, pytest and other tools of Python"),
    ("mypy.ini .mypy.ini .flake8 pylintrc .pylintrc .coveragerc", "linters"),
    # Hooks and pushes
    (".pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.y*ml .lefthook.y*ml .husky/ .githooks/ .overcommit.yml",
     "git hooks"),
    (".github/ .gitlab-ci.yml .circleci/ .buildkite/ .drone.yml .travis.yml azure-pipelines.yml jenkinsfile "
     "bitbucket-pipelines.yml", "the build server, when it is pushed"),
    # Other languages: files that package managers, editors and completions load
    ("package.json .npmrc .yarnrc .yarnrc.yml .yarn/ .pnp.* .pnpmfile.cjs bunfig.toml deno.json", "npm, yarn"),
    ("node_modules/", "editors, npx"),
    (".eslintrc* .prettierrc* .babelrc* .stylelintrc* tsconfig.json", "tools of JavaScript"),
    (".*rc.js .*rc.cjs .*rc.mjs *.config.js *.config.cjs *.config.mjs *.config.ts gulpfile.js gruntfile.js",
     "tools of JavaScript"),
    ("build.rs cargo.toml .cargo/ rust-toolchain rust-toolchain.toml", "cargo, rust-analyzer"),
    ("Gemfile rakefile .rubocop.yml mix.exs package.swift build.zig platformio.ini *.csproj directory.build.*",
     "language servers of editors"),
    ("build.gradle build.gradle.kts settings.gradle settings.gradle.kts init.gradle .mvn/ build.sbt .bazelrc "
     "cmakelists.txt cmakepresets.json", "builds that editors start"),
    ("autorun.inf desktop.ini", "the desktop"),
)  # fmt: skip
"""File name patterns, and the tool that runs them.

A pattern that ends in / matches a folder and everything below it. A pattern with a / inside matches the last
components of a path. Case is ignored.
"""

_PATTERNS = [(pattern.casefold(), tool) for patterns, tool in RUNNERS for pattern in patterns.split()]


def runner_of(parts: Sequence[str]) -> str:
    """Return the tool that runs the file with this relative name on its own, or an empty string if none is known."""
    folded = [part.casefold() for part in parts]
    for pattern, tool in _PATTERNS:
        if pattern.endswith("/"):
            if pattern[:-1] in folded[:-1]:
                return tool
        elif fnmatchcase("/".join(folded[-1 - pattern.count("/") :]), pattern):
            return tool
    return "Python, in place of its own module" if _hides_a_module(parts) else ""


def _hides_a_module(parts: Sequence[str]) -> bool:
    """True if a file takes the place of a standard library module: Python searches the current folder first."""
    if len(parts) == 2 and parts[1] == "__init__.py":
        return parts[0] in sys.stdlib_module_names
    name, _, ending = parts[0].partition(".")
    return len(parts) == 1 and (ending in ("py", "pyc") or ending.endswith("so")) and name in sys.stdlib_module_names
