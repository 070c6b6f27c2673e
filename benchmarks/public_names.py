"""Public names of installed packages, compared with what their own interpreter imports.

Usage: python benchmarks/public_names.py [--python EXECUTABLE] PACKAGE…

For each package: the blocks with a public name, the share whose import line gives that very object (the same file and
qualified name, or for what has neither the same name in the module that defines it), and the share of the documented
names (those in `__all__` of its public modules, else the public names of its top-level modules) that a block has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import codenav

INSIDE = r"""
import importlib, inspect, json, os, sys, warnings

warnings.simplefilter("ignore")
blocks, tops = json.load(open(sys.argv[1]))
places = {}
for block in blocks:
    places.setdefault((block["path"], block["qualname"]), []).append(block["lines"])


def got(import_line, expression):
    space = {}
    exec(import_line, space)
    value = space[expression.split(".")[0]]
    for part in expression.split(".")[1:]:
        value = inspect.getattr_static(value, part)
    return value


def bare(value):
    for _ in range(20):
        inner = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None) or getattr(value, "fget", None)
        if inner is None or inner is value:
            break
        value = inner
    return value


def same(block, value):
    plain = bare(value)
    code = getattr(plain, "__code__", None)
    if code is not None and block["kind"] in ("FUNCTION", "METHOD"):
        # Overloads and the setter of a property share the name.
        spans = places[block["path"], block["qualname"]]
        here = any(first <= code.co_firstlineno <= last for first, last in spans)
        if here and code.co_filename.endswith(block["path"]):
            return True
    if isinstance(plain, type) and block["kind"] == "CLASS" and "." not in block["qualname"]:
        module = sys.modules.get(plain.__module__)
        if (plain.__name__, getattr(module, "__file__", None)) == (block["name"], None):
            return True
        if getattr(module, "__file__", "").endswith(block["path"]) and plain.__qualname__ == block["qualname"]:
            return True
    # An instance, compiled code, a decorated object: the same name where it is defined.
    try:
        if got(f"from {block['module']} import {block['qualname'].split('.')[0]}", block["qualname"]) is value:
            return True
    except Exception:
        pass
    # A stub stands for compiled code, which is in no file of the index.
    return block["path"].endswith(".pyi")


right = left_out = 0
wrong = []
for block in blocks:
    try:
        fine = same(block, got(block["import_line"], block["expression"]))
        why = "another object"
    except ModuleNotFoundError:
        # It needs an extra that is not installed.
        left_out += 1
        continue
    except BaseException as error:
        fine, why = False, f"{type(error).__name__}: {error}"
    right += fine
    if not fine:
        wrong.append((block["public_name"], block["path"], why[:100]))

documented = set()
for top in tops:
    try:
        module = importlib.import_module(top)
    except BaseException:
        continue
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        try:
            value = getattr(module, name)
        except Exception:
            continue
        home = getattr(value, "__module__", None)
        inside = isinstance(home, str) and home.split(".")[0].strip("_") == top.split(".")[0]
        if inside and not inspect.ismodule(value) and callable(value):
            documented.add(f"{top}.{name}")
print(json.dumps({"right": right, "left_out": left_out, "wrong": wrong, "documented": sorted(documented)}))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=None)
    parser.add_argument("--wrong", type=int, default=0, help="how many wrong and missing names to print")
    parser.add_argument("packages", nargs="+")
    options = parser.parse_args()
    print(f"{'package':<16}{'blocks':>8}{'public':>8}{'imports it':>12}{'documented':>12}{'found':>8}{'build':>9}")
    for package in options.packages:
        started = time.monotonic()
        with codenav.index(f"pkg:{package}", python=options.python, rebuild=True) as index:
            seconds = time.monotonic() - started
            every = list(index.blocks())
        public = [block for block in every if block.public_name]
        tops = sorted({block.public_name.partition(".")[0] for block in public})
        asked = [{**block.to_dict(), "expression": block.expression, "text": ""} for block in public]
        with tempfile.TemporaryDirectory() as folder:
            question = Path(folder, "question.json")
            question.write_text(json.dumps([asked, tops]), encoding="utf-8")
            told = subprocess.run(
                [options.python or "python", "-I", "-c", INSIDE, str(question)],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
        answer = json.loads(told.splitlines()[-1])
        names = {block.public_name for block in public}
        documented = answer["documented"]
        found = [name for name in documented if name in names]
        right = f"{100 * answer['right'] / max(len(public) - answer['left_out'], 1):.1f} %"
        share = f"{100 * len(found) / max(len(documented), 1):.1f} %"
        print(
            f"{package:<16}{len(every):>8}{len(public):>8}{right:>12}{len(documented):>12}{share:>8}{seconds:>7.1f} s"
        )
        for name, path, why in answer["wrong"][: options.wrong]:
            print(f"    wrong: {name} ({path}): {why}")
        for name in [name for name in documented if name not in names][: options.wrong]:
            print(f"    missing: {name}")


if __name__ == "__main__":
    main()
