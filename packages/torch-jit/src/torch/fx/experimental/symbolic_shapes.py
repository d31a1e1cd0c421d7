"""Questions about symbolic sizes. There are none in this stack: every size is an int, and the answers follow from that."""

import torch

__all__ = [
    "ConstraintViolationError", "GuardOnDataDependentSymNode", "definitely_false", "definitely_true", "free_symbols", "free_unbacked_symbols",
    "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious",
    "has_free_symbols", "has_free_unbacked_symbols", "has_static_value", "is_concrete_bool", "is_concrete_int", "is_symbolic",
    "parallel_and", "parallel_or", "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision that needs a value that is not known: an export raises it where a program goes on by the value of a tensor."""

    def __init__(self, cond=None, *args):
        super().__init__(*args)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """A size that was said to change (``mark_dynamic``), and that the program holds to the one it has."""


def free_symbols(val) -> set:
    """The symbols in sizes of a value: none.

    >>> free_symbols(torch.ones(2))
    set()
    """
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val) -> bool:
    """False: no size is symbolic."""
    return False


has_free_unbacked_symbols = is_symbolic = has_free_symbols


def _known(value, kind, asker):
    if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
        raise NotImplementedError(f"{asker}: symbolic sizes are not part of this stack, got {value!r}")
    return kind(value)


def statically_known_true(x) -> bool:
    """Whether a condition on sizes holds.

    >>> statically_known_true(torch.ones(2).size(0) == 2)
    True
    """
    return _known(x, bool, "statically_known_true")


guard_or_false = guard_or_true = guard_size_oblivious = guard_bool = definitely_true = statically_known_true


def statically_known_false(x) -> bool:
    """Whether a condition on sizes does not hold."""
    return not _known(x, bool, "statically_known_false")


definitely_false = statically_known_false


def guard_int(a) -> int:
    """The int."""
    return _known(a, int, "guard_int")


def guard_float(a) -> float:
    """The float."""
    return _known(a, float, "guard_float")


def guard_scalar(a):
    """The number itself."""
    return _known(a, lambda value: value, "guard_scalar")


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
            f"torch.fx.experimental.symbolic_shapes.{name}: symbolic sizes are not part of this stack"
        )

    doc = "Raises NotImplementedError: symbolic sizes are not part of this stack."
    return type(name, (), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


for _name in (
    "DimConstraints", "DimDynamic", "ShapeEnv", "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint",
    "SubclassSymbolicContext", "SymNode",
):  # fmt: skip
    globals()[_name] = _absent(_name)
