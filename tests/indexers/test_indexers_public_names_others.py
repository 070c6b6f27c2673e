"""Public names of packages in JavaScript, TypeScript and Rust."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codenav.core.system.interpreter import Interpreter
from codenav.indexers.build import build
from codenav.indexers.sources import resolve

Tree = Callable[[Mapping[str, str | bytes]], Path]

MODULE = '{"name": "p", "type": "module", "exports": "./index.js"}'
AREA = "export function area(r) { return r }\nexport function volume(r) { return r }\n"
SCRIPTS = {
    "several hops, one by another name": {
        "package.json": MODULE,
        "index.js": "export { shown as area } from './a.js'\n",
        "a.js": "import { area } from './b'\nexport {\n  area as shown, // the only one\n}\n",
        "b.js": AREA,
    },
    "stars in a circle, and an index of a folder": {
        "package.json": MODULE,
        "index.js": "export * from './shapes'\n",
        "shapes/index.js": "export * from './a.js'\n",
        "shapes/a.js": "export * from './index.js'\nexport const area = (r) => r\nfunction volume() {}\n",
    },
    "the default of another file": {
        "package.json": MODULE,
        "index.js": "import area from './area.js'\nexport { area }\n",
        "area.js": "export default function area(r) { return r }\nfunction volume() {}\n",
    },
    "a name taken out of an object": {
        "package.json": MODULE,
        "index.js": "import p from './p.js'\nconst { area } = p\nexport { area }\n",
        "p.js": "import { area } from './b.js'\nconst p = {}\np.area = area\nexport default p\n",
        "b.js": AREA,
    },
    "the sources of what is built": {
        "package.json": '{"name": "p", "main": "dist/cjs/p.cjs", "module": "dist/p.mjs", "types": "dist/p.d.ts"}',
        "dist/p.mjs": "function area(r) { return r }\nfunction volume(r) { return r }\nexport { area, volume }\n",
        "src/index.ts": "export { area } from './b'\nexport type { Shape } from './b'\n",
        "src/b.ts": AREA.replace("(r)", "(r: number)"),
    },
    "conditions": {
        "package.json": '{"name": "p", "exports": {".": {"types": "./p.d.ts", "import": "./esm.js"}}}',
        "esm.js": "export function area(r) { return r }\n",
        "p.d.ts": "export declare function area(r: number): number\n",
    },
}
"""Packages that make `p.area` of a function, and nothing public of any `volume`."""


@pytest.mark.parametrize("how", SCRIPTS)
def test_what_a_package_of_modules_offers(how: str, index: Any, interpreter: Interpreter, tree: Tree) -> None:
    build(resolve(str(tree(SCRIPTS[how])), interpreter), index)
    (offered,) = [block for block in index.blocks if block.kind == "FUNCTION" and block.public_name]
    assert (offered.public_name, offered.import_line) == ("p.area", "import { area } from 'p'")
    assert not [block for block in index.blocks if block.name == "volume" and block.public_name]


COMMON = {
    "package.json": '{"name": "@s/shop"}',
    "index.js": "'use strict'\nmodule.exports = require('./lib/shop')\n",
    "lib/shop.js": "var proto = require('./application')\nexports = module.exports = createShop\n"
    "function createShop() { var inner = function () {} }\nfunction hidden() {}\n"
    "exports.application = proto\nexports.Router = require('router')\n",
    "lib/application.js": "var app = exports = module.exports = {}\napp.use = function use(f) { return f }\n",
    "lib/table.js": "const parse = require('./parse')\nmodule.exports = { parse, other: 3 }\n",
}
TABLE = {
    "package.json": '{"name": "p"}',
    "index.js": "function area(r) { return r }\nfunction volume() {}\nconst limits = { volume }\nmodule.exports = {\n"
    "  size: area, // its name\n  more: { volume, deep: [volume] },\n  sum: require('./sum').sum,\n  last: 3,\n}\n",
    "sum.js": "exports.sum = function sum(a, b) { return a + b }\n",
}


def test_what_a_package_of_requires_offers(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    build(resolve(str(tree(COMMON)), interpreter), index)
    names = {block.qualname: (block.public_name, block.import_line) for block in index.blocks if block.public_name}
    assert names == {
        "createShop": ("@s/shop", "const shop = require('@s/shop')"),
        "app": ("@s/shop.application", "const { application } = require('@s/shop')"),
        "app.use": ("@s/shop.application.use", "const { application } = require('@s/shop')"),
        "Router": ("@s/shop.Router", "const { Router } = require('@s/shop')"),
    }
    assert {block.module for block in index.blocks if block.name == "hidden"} == {"@s/shop/lib/shop.js"}


def test_what_a_table_of_names_offers(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    build(resolve(str(tree(TABLE)), interpreter), index)
    names = {block.qualname: block.public_name for block in index.blocks if block.kind == "FUNCTION"}
    assert names == {"area": "p.size", "volume": "", "sum": "p.sum"}


def test_packages_beside_each_other_and_below_a_name(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    files = {
        "a/package.json": '{"name": "a", "exports": {".": "./index.js", "./deep": "./deep.js"}}',
        "a/index.js": "export * as shapes from './deep.js'\nexport { Price } from 'b'\n",
        "a/deep.js": AREA,
        "b/package.json": '{"name": "b", "main": "b.js"}',
        "b/b.js": "export class Price { sum() {} #secret() {} }\n",
        "c/package.json": '{"name": ["no name"]}',
        "c/index.js": AREA,
    }
    build(resolve(str(tree(files)), interpreter), index)
    names = {(block.path, block.qualname): block.public_name for block in index.blocks if block.public_name}
    assert names == {
        ("a/deep.js", "area"): "a.shapes.area",
        ("a/deep.js", "volume"): "a.shapes.volume",
        ("b/b.js", "Price"): "a.Price",
        ("b/b.js", "Price.sum"): "a.Price.sum",
    }


CRATE = {
    "Cargo.toml": '[package]\nname = "shape-kit"\n',
    "src/lib.rs": "//! Shapes.\nmacro_rules! cfg_rt { ($($i:item)*) => { $($i)* } }\n"
    "cfg_rt! {\n    pub mod task;\n    pub use task::spawn;\n}\nmod inner;\npub mod round;\n"
    "pub use self::inner::{deep::{self, Cube as Box3}, *};\npub(crate) use inner::hidden;\n"
    "#[doc(hidden)]\npub mod private {\n    pub fn f() {}\n}\n",
    "src/task/mod.rs": "mod spawn;\npub use spawn::spawn;\npub use crate::task::spawn as again;\n",
    "src/task/spawn.rs": "pub fn spawn() {\n    pub fn local() {}\n}\nfn helper() {}\n",
    "src/inner.rs": "pub mod deep {\n    pub struct Cube;\n    impl Cube {\n        pub fn side(&self) {}\n"
    "        fn secret(&self) {}\n    }\n    impl Drop for Cube {\n        fn drop(&mut self) {}\n    }\n}\n"
    'pub const unsafe extern "C" fn area() {}\npub(crate) fn hidden() {}\n#[macro_export]\n'
    "macro_rules! shape { () => {} }\n",
    "src/round.rs": '#[path = "ball_file.rs"]\npub mod ball;\npub use ball::*;\n',
    "src/ball_file.rs": "pub use super::*;\npub trait Ball {\n    fn roll(&self);\n}\n",
    "src/tests.rs": "pub fn area() {}\n",
}


def test_what_a_crate_offers(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    build(resolve(str(tree(CRATE)), interpreter), index)
    names = {block.qualname: block.public_name for block in index.blocks if block.public_name}
    assert names == {
        "spawn": "shape_kit::spawn",
        "deep.Cube": "shape_kit::Box3",
        "deep.Cube.side": "shape_kit::Box3::side",
        "deep.Cube.drop": "shape_kit::Box3::drop",
        "area": "shape_kit::area",
        "shape": "shape_kit::shape",
        "Ball": "shape_kit::round::Ball",
        "Ball.roll": "shape_kit::round::Ball::roll",
    }
    lines = {block.name: (block.import_line, block.module) for block in index.blocks}
    assert lines["side"] == ("use shape_kit::Box3;", "shape_kit::inner")
    assert lines["helper"] == ("", "shape_kit::task::spawn")
    assert lines["secret"] == ("", "shape_kit::inner")


def test_crates_beside_each_other(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    files = {
        "a/Cargo.toml": '[package]\nname = "a"\n[lib]\npath = "a.rs"\n',
        "a/a.rs": "pub use long_core::deep::Error;\npub use serde::Serialize;\n",
        "core/Cargo.toml": '[package]\nname = "long_core"\n',
        "core/src/lib.rs": "pub mod deep;\n",
        "core/src/deep.rs": "pub struct Error;\n",
        "broken/Cargo.toml": "[package\n",
    }
    build(resolve(str(tree(files)), interpreter), index)
    assert [block.public_name for block in index.blocks if block.name == "Error"] == ["a::Error"]


def test_a_name_that_a_package_begins_to_offer(index: Any, interpreter: Interpreter, tree: Tree) -> None:
    root = tree({"package.json": MODULE, "index.js": "export {}\n", "b.js": AREA, "c.js": "export const side = 1\n"})
    source = resolve(str(root), interpreter)
    build(source, index)
    assert {block.module for block in index.blocks} == {""}
    (root / "index.js").write_text("export { area } from './b.js'\n")
    assert build(source, index).reused_files == 0
    assert [block.public_name for block in index.blocks if block.name == "area"] == ["p.area"]
    (root / "index.js").write_text("export { volume } from './b.js'\n")
    assert build(source, index).reused_files == 1
