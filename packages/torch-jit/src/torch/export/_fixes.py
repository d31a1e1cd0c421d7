"""What an error of an export suggests, put into the ``dynamic_shapes`` that it was about."""

from __future__ import annotations

import ast
import operator

from torch import _pytree as pytree

from ._dims import Dim
from ._errors import UserError, UserErrorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEAD = "Suggested fixes:"
_UNREADABLE = (SyntaxError, ValueError, AttributeError, RecursionError, MemoryError)  # the last two of deep nesting
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """``dynamic_shapes`` with the fixes that the message of a :class:`UserError` suggests.

    >>> batch, rows = Dim("batch"), Dim("rows")
    >>> refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\\n  rows = batch", {"x": {0: batch}, "y": {0: rows}})
    {'x': {0: Dim('batch', min=0)}, 'y': {0: Dim('batch', min=0)}}
    >>> refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\\n  batch = 3", ({0: 2 * batch + 1},))
    ({0: 7},)
    """
    _, head, text = msg.partition(_HEAD)
    if not head:
        raise _invalid(f"the message has no {_HEAD!r}: {msg[:200]!r}")
    known = {d.name: d for d in map(_root, pytree.tree_leaves(dynamic_shapes)) if d is not None}
    fixes = _Fixes(known, _formulas(text.partition(_HEAD)[0]))
    return pytree.tree_map(fixes.mended, dynamic_shapes)


def _invalid(what):
    return UserError(UserErrorType.INVALID_INPUT, f"refine_dynamic_shapes_from_suggested_fixes: {what}")


def _root(leaf):
    return leaf.root or leaf if isinstance(leaf, Dim) else None


def _formulas(text):
    """The fixes by name: the lines that assign something, up to the first that does not."""
    found = {}
    for line in text.strip().splitlines():
        try:
            (node,) = ast.parse(line.strip()).body
            (target,) = node.targets  # type: ignore[attr-defined]
            found[target.id] = node.value  # type: ignore[attr-defined]
        except _UNREADABLE:
            break
    if not found:
        raise _invalid(f"there is no line like 'batch = 4' behind {_HEAD!r}, got {text[:200]!r}")
    return found


class _Fixes:
    def __init__(self, known: dict[str, Dim], formulas: dict[str, ast.expr]) -> None:
        self._known, self._formulas = known, formulas
        used = {n.id for formula in formulas.values() for n in ast.walk(formula) if isinstance(n, ast.Name)}
        for name in formulas:
            if name not in known and name not in used:
                raise _invalid(f"a fix is for {name}, and the Dims are {', '.join(known) or 'none'}")
        self._found: dict[str, Any] = {}
        for name in formulas:
            self._fix(name, ())

    def mended(self, leaf: Any) -> Any:
        """What stands in the place of a Dim; all else stays."""
        root = _root(leaf)
        if root is None or root.name not in self._found:
            return leaf
        fix = self._found[root.name]
        return fix if leaf.root is None else leaf.scale * fix + leaf.shift

    def _fix(self, name, followed):
        """What a name becomes; ``followed`` are the names whose fixes led to it."""
        if name in followed:
            raise _invalid(f"the fixes go round: {' = '.join((*followed, name))}")
        if name not in self._found:
            try:
                self._found[name] = self._value((*followed, name), self._formulas[name])
            except (RecursionError, MemoryError):
                raise _invalid(f"the fix of {name} is nested too deeply") from None
        return self._found[name]

    def _value(self, followed, node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            return self._named(followed, node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._value(followed, node.left), self._value(followed, node.right)
            if isinstance(node.op, ast.Sub) and isinstance(right, Dim):
                raise _invalid(
                    f"the fix of {followed[-1]} takes {right} away from {left}; sizes grow with those they follow"
                )
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Dim":
            try:
                (said,) = map(ast.literal_eval, node.args)
                return Dim(said, **{str(k.arg): ast.literal_eval(k.value) for k in node.keywords})
            except (ValueError, TypeError):  # no literals, other arguments
                pass
        raise _invalid(
            f"the fix of {followed[-1]} must be an int, Dim(...), another name or a sum or product, got {ast.unparse(node)!r}"
        )

    def _named(self, followed, other):
        if other in self._formulas and other != followed[-1]:
            return self._fix(other, followed)
        if other not in self._known:
            raise _invalid(f"the fix of {followed[-1]} follows {other}, and the Dims are {', '.join(self._known)}")
        return self._known[other]
