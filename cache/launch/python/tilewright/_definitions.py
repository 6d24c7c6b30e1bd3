# SPDX-License-Identifier: Apache-2.0
"""What the definitions of the built-in ops say of a call: dims, attributes and arguments. A wheel has them as ops.json;
an install or the sources as kernels/OP/OP.toml. Formulas are Python but for `/`, which divides whole numbers, and
`select`. Functions without state."""
from __future__ import annotations

import ast
import functools
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from ._library import Error, UsageError

_KEPT = ("name", "summary", "dims", "dtypes", "attributes", "args", "tensor_cores")
_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
_FUNCTIONS = {"select": lambda condition, yes, no: yes if condition else no, "sizeof": _BYTES.__getitem__,
              "ceil_div": lambda a, b: -(-a // b), "round_up": lambda a, b: -(-a // b) * b, "min": min, "max": max}


def read(folder: pathlib.Path) -> list[dict[str, Any]]:
    """The ops of a folder as kernels/."""
    try:
        import tomllib
    except ImportError:
        raise Error("reading definitions takes Python 3.11; the wheel has them ready for any") from None
    ops = []
    for file in sorted(folder.glob("*/*.toml")):
        if file.stem == file.parent.name:
            head = file.read_text(encoding="utf-8").partition("\n[[")[0]
            op = tomllib.loads(head)["op"]
            ops.append({key: op[key] for key in _KEPT if key in op})
    return ops


def load() -> list[dict[str, Any]]:
    """Those of $TILEWRIGHT_KERNELS_DIR, else of this package, else of the install or the sources that it lies in."""
    package = pathlib.Path(__file__).resolve().parent
    folders = [package.parents[1] / "share" / "tilewright" / "kernels", package.parents[3] / "kernels"]
    if os.environ.get("TILEWRIGHT_KERNELS_DIR"):
        folders = [pathlib.Path(os.environ["TILEWRIGHT_KERNELS_DIR"])]
    elif (package / "ops.json").exists():
        return list(json.loads((package / "ops.json").read_text(encoding="utf-8")))
    for folder in folders:
        if any(folder.glob("*/*.toml")):
            return read(folder)
    raise Error(f"the definitions of the ops are neither in {package / 'ops.json'} nor in "
                f"{' nor in '.join(map(str, folders))}; name their folder in TILEWRIGHT_KERNELS_DIR")


@functools.cache
def _tree(formula: str | int) -> ast.expr:
    return ast.parse(str(formula).replace("/", "//"), mode="eval").body


def value(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    return eval(compile(ast.Expression(tree), "<formula>", "eval"), {"__builtins__": {}, **_FUNCTIONS}, dict(names))


def _names(tree: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(_FUNCTIONS)


def evaluate(formula: str | int, names: Mapping[str, Any]) -> Any:
    """Its value, with dims, attributes and `dtype` by name. Extents may be torch's symbols."""
    return value(_tree(formula), names)


def names_in(formula: str | int) -> set[str]:
    return _names(_tree(formula))


def resolved(formula: str | int, names: Mapping[str, Any]) -> ast.expr:
    """Without the `select` that attributes decide."""
    tree = _tree(formula)
    while isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "select":
        tree = tree.args[1 if value(tree.args[0], names) else 2]
    return tree


def solve(formula: ast.expr, extent: Any, names: dict[str, Any], where: str) -> None:
    """Adds to `names` the dim that makes the formula this extent; raises a UsageError where it cannot be."""
    if isinstance(formula, ast.Name) and formula.id not in names:
        names[formula.id] = extent
        return
    if _names(formula) <= set(names):
        wanted = value(formula, names)
        if wanted != extent:
            raise UsageError(f"{where} is {extent}; it must be {ast.unparse(formula)} = {wanted}, as in the arguments "
                             "before")
        return
    assert isinstance(formula, ast.BinOp)
    left, right, kind = formula.left, formula.right, type(formula.op)
    if kind is ast.Mult:
        factor = value(left, names)
        if extent % factor != 0:
            raise UsageError(f"{where} is {extent}; it must be a multiple of {factor}")
        solve(right, extent // factor, names, where)
    elif kind is ast.FloorDiv:
        solve(left, extent * value(right, names), names, where)
    else:
        assert kind is ast.Add
        solve(left, extent - value(right, names), names, where)
