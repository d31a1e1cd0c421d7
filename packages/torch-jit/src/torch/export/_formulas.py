"""Formulas over names of sizes, as texts: ``b % 2 == 0``, ``ceil((b / 64))``. They are read, computed, and made rules of a graph.

>>> evaluate("ceil((b / 64)) + 1", {"b": 65})
3
>>> rule("2*b", {"b": Size(0, 1)})
Formula(function=<built-in function mul>, left=2, right=Size(n=0, dim=1))
"""

from __future__ import annotations

import ast
import functools
import math
import operator

from torch._seams import SizeExpression as Expression

from ._sizes import Formula, Size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FAILURES", "FUNCTIONS", "checked", "evaluate", "expression", "names_in", "rule", "tree"]

#: what computing a formula may raise, for sizes that it is not for
FAILURES = (ArithmeticError, ValueError, TypeError)
_MOST_BITS = 128  #: of a power of ints, and of a number that is shifted to the left

_OPERATORS: dict[Any, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
#: functions of one number
FUNCTIONS: dict[str, Any] = {
    "abs": operator.abs, "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "round": round, "float": float,
}  # fmt: skip
_SIGNS = {
    operator.truediv: "/", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<",
    operator.rshift: ">>",
}  # fmt: skip
_PLAIN = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)


@functools.lru_cache(4096)  # programs ask at each call
def tree(text: str) -> ast.expr:
    """A formula taken apart."""
    return ast.parse(text, mode="eval").body


def checked(node: ast.AST, text: str) -> None:
    """ValueError for what is no comparison or formula of sizes: some are read from files."""
    if isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        return
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS):
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        parts = [node.operand]
    elif isinstance(node, ast.Call) and _is_function(node):
        parts = node.args
    else:
        raise ValueError(f"a guard is a comparison of sizes, got {text}")
    for part in parts:
        checked(part, text)


def _is_function(node):
    return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and len(node.args) == 1 and not node.keywords


def names_in(text: str) -> set[str]:
    """The sizes that a formula is about."""
    called = {id(node.func) for node in ast.walk(tree(text)) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree(text)) if isinstance(node, ast.Name) and id(node) not in called}


def evaluate(text: str, sizes: dict[str, int]) -> Any:
    """What a formula gives for some sizes. One of ``FAILURES`` where it gives nothing."""
    return eval(_code(text), _GLOBALS, sizes)


@functools.lru_cache(4096)
def _code(text):
    node = ast.parse(text, mode="eval")
    checked(node.body, text)
    return compile(ast.fix_missing_locations(_Bounded().visit(node)), "<sizes>", "eval")


class _Bounded(ast.NodeTransformer):
    """Powers and shifts of ints are those of this module, which end soon."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Pow, ast.LShift)):
            name = "power" if isinstance(node.op, ast.Pow) else "shift"
            return ast.Call(ast.Name(f" {name}", ast.Load()), [node.left, node.right], [])
        return node


def _power(a, b):
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and a.bit_length() * b > _MOST_BITS:
        raise OverflowError(f"{a} ** {b} is no size")
    return a**b


def _shift(a, b):
    if a and b > _MOST_BITS:
        raise OverflowError(f"{a} << {b} is no size")
    return a << b


_GLOBALS = {"__builtins__": {}, **FUNCTIONS, " power": _power, " shift": _shift}


def rule(text: str, sizes: dict[str, Any]) -> Any:
    """A formula as a rule over what its names stand for."""
    return _rule(tree(text), sizes)


def _rule(node, sizes):
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        return Formula(FUNCTIONS[node.func.id], _rule(node.args[0], sizes))
    if isinstance(node, ast.UnaryOp):
        inner = _rule(node.operand, sizes)
        return Formula(operator.mul, inner, -1) if isinstance(inner, (Size, Formula)) else -inner
    return Formula(_OPERATORS[type(node.op)], _rule(node.left, sizes), _rule(node.right, sizes))


def expression(found: Any) -> Expression | None:
    """A rule over expressions as one of them; None where it says what those do not."""
    if not isinstance(found, Formula):
        return Expression.of(found)
    left = expression(found.left)
    right = None if found.right is None else expression(found.right)
    if left is None or (right is None and found.right is not None):
        return None
    if right is None:
        name = next((name for name, function in FUNCTIONS.items() if function is found.function), None)
        return None if name is None else left.called(name)
    if found.function in _PLAIN:
        return found.function(left, right)
    sign = _SIGNS.get(found.function)
    return None if sign is None else left.apart(sign, right)
