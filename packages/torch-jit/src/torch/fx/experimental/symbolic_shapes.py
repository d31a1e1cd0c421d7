"""Questions about symbolic sizes, which exported graphs have (``torch.SymInt``); everywhere else a size is an int, and the answers
follow from that.
"""

import torch
from torch import _pytree as pytree
from torch._seams import SymNode

__all__ = [
    "ConstraintViolationError", "GuardOnDataDependentSymNode", "definitely_false", "definitely_true", "free_symbols", "free_unbacked_symbols",
    "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious",
    "SymNode", "has_free_symbols", "has_free_unbacked_symbols", "has_static_value", "is_concrete_bool", "is_concrete_int", "is_symbolic",
    "parallel_and", "parallel_or", "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip


_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision that needs a value that is not known: an export raises it where a program goes on by the value of a tensor."""

    def __init__(self, cond=None, *args):
        super().__init__(*args)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """A size that was said to change (``mark_dynamic``), and that the program holds to the one it has."""


def free_symbols(val) -> set:
    """The names in sizes of a value, or of values in a nesting.

    >>> free_symbols(torch.ones(2))
    set()
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    >>> sorted(map(str, free_symbols(program.graph.output_node().args[0][0].meta["val"])))
    ['rows']
    """
    numbers = []
    for leaf in pytree.tree_leaves(val):
        numbers += [leaf, *leaf.shape] if isinstance(leaf, torch.Tensor) else [leaf]
    return {s for n in numbers if isinstance(n, (torch.SymInt, torch.SymFloat)) for s in n.node.expr.free_symbols}


def free_unbacked_symbols(val) -> set:
    """The names of numbers that only values of tensors tell: ``u0``."""
    return {s for s in free_symbols(val) if s[:1] == "u" and s[1:].isdigit()}


def has_free_symbols(val) -> bool:
    """Whether there is a name in a size."""
    return bool(free_symbols(val))


def has_free_unbacked_symbols(val) -> bool:
    """Whether there is a number that only values of tensors tell."""
    return bool(free_unbacked_symbols(val))


def is_symbolic(val) -> bool:
    """Whether a number has a name.

    >>> is_symbolic(3)
    False
    """
    return isinstance(val, _SYMBOLIC)


def _answered(x):
    """What a condition was for the example."""
    return bool(x.node.hint) if isinstance(x, _SYMBOLIC) else bool(x)


def statically_known_true(x) -> bool:
    """Whether a condition on sizes holds, for any that may come.

    >>> statically_known_true(torch.ones(2).size(0) == 2)
    True
    """
    return False if isinstance(x, _SYMBOLIC) else bool(x)


guard_or_false = definitely_true = statically_known_true


def guard_or_true(a) -> bool:
    """Whether a condition on sizes holds; where that depends on the size, True."""
    return True if isinstance(a, _SYMBOLIC) else bool(a)


def guard_bool(a) -> bool:
    """Whether a condition on sizes holds, for the sizes of the example where it depends on them."""
    return _answered(a)


guard_size_oblivious = guard_bool


def statically_known_false(x) -> bool:
    """Whether a condition on sizes does not hold, for any that may come."""
    return False if isinstance(x, _SYMBOLIC) else not x


definitely_false = statically_known_false


def guard_int(a) -> int:
    """The int: that of the example, of a number with a name."""
    return int(a)


def guard_float(a) -> float:
    """The float: that of the example, of a number with a name."""
    return float(a)


def guard_scalar(a):
    """The number itself: that of the example, of one with a name."""
    return a.node.hint if isinstance(a, _SYMBOLIC) else a


def is_concrete_int(a) -> bool:
    """Whether it is an int."""
    return isinstance(a, int)


def is_concrete_bool(a) -> bool:
    """Whether it is a bool."""
    return isinstance(a, bool)


def has_static_value(a) -> bool:
    """Whether it is a number."""
    return isinstance(a, (bool, int, float))


def sym_and(x, *others) -> bool:
    """Whether all conditions hold."""
    return all(map(statically_known_true, (x, *others)))


def sym_or(x, *others) -> bool:
    """Whether one of the conditions holds."""
    return any(map(statically_known_true, (x, *others)))


parallel_and, parallel_or = sym_and, sym_or


def sym_eq(x, y) -> bool:
    """Whether two sizes, or tuples of sizes, are equal."""
    return x == y


def _absent(name):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"torch.fx.experimental.symbolic_shapes.{name}: sizes get their names from an export here, and not from an environment of one's own"
        )

    doc = "Raises NotImplementedError: sizes get their names from an export here, and not from an environment of one's own."
    return type(name, (), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


for _name in (
    "DimConstraints", "DimDynamic", "ShapeEnv", "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint",
    "SubclassSymbolicContext",
):  # fmt: skip
    globals()[_name] = _absent(_name)
