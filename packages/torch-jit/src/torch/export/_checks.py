"""What a call of an exported program must be like: as the example, but for sizes that may change."""

from __future__ import annotations

import torch
from torch import _pytree as pytree
from torch._seams import SizeExpression as Expression

from ._errors import GuardError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _in_order_of(spec, value):
    """A nesting whose dicts have their keys in the order of a spec, where they have the same keys."""
    if spec.is_leaf():
        return value
    children = spec.children()
    if isinstance(value, dict) and type(value) is spec.type and isinstance(spec.context, list):
        if set(value) != set(spec.context):
            return value
        return type(value)((k, _in_order_of(child, value[k])) for k, child in zip(spec.context, children, strict=True))
    if type(value) in (tuple, list) and type(value) is spec.type and len(value) == len(children):
        return type(value)(_in_order_of(child, part) for child, part in zip(children, value, strict=True))
    return value


class Leaves:
    """Takes the arguments of a call apart, in the order of the program's inputs, and looks at each."""

    def __init__(self, program: Any, names: list[str], check: bool) -> None:
        call = program.call_spec
        self._names, self._spec, self._arguments, self._check = names, call.in_spec, call.forward_arg_names, check
        self._ranges, self._guards = program.range_constraints, program._guards
        nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
        specs = program.graph_signature.input_specs
        self._expected = [
            (n.meta.get("val"), n.meta.get("sizes"))
            for n, s in zip(nodes, specs, strict=True)
            if s.kind.name == "USER_INPUT"
        ]

    def __call__(self, args: tuple, kwargs: dict) -> list:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._spec:
            leaves, spec = pytree.tree_flatten(_in_order_of(self._spec, (args, kwargs)))
        if spec != self._spec:
            leaves = self._in_order(args, kwargs)
        if self._check:
            known: dict[str, int] = {}
            for name, leaf, (expected, sizes) in zip(self._names, leaves, self._expected, strict=True):
                self._look(name, leaf, expected, sizes, known)
            for guard in self._guards:
                if guard.names <= set(known) and not guard.holds(known):
                    said = ", ".join(f"{name} is {known[name]}" for name in sorted(guard.names))
                    raise GuardError(f"Guard failed: {guard}, where {said}")
        return leaves

    def is_flat(self) -> bool:
        """Whether each argument is a leaf itself."""
        return all(each.is_leaf() for group in self._spec.children() for each in group.children())

    def _in_order(self, args, kwargs):
        """The leaves when arguments come by name instead of position, or in another order."""
        names = self._arguments
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        count = (
            len(self._spec.child(0).children())
            if hasattr(self._spec, "child")
            else len(self._spec.children()[0].children())
        )
        if len(args) <= len(names) and set(values) == set(names):
            again = (tuple(values[n] for n in names[:count]), {n: values[n] for n in names[count:]})
            leaves, spec = pytree.tree_flatten(_in_order_of(self._spec, again))
            if spec == self._spec:
                return leaves
        raise ValueError(
            f"the program was exported for the arguments ({', '.join(names)}) in the form {self._spec}: "
            f"got {len(args)} by position, and {', '.join(kwargs) or 'none'} by name"
        )

    def _look(self, name, leaf, expected, sizes, known):
        if isinstance(expected, torch.SymInt):
            if type(leaf) is not int:
                raise GuardError(f"{name}: the program was exported for an int, got {leaf!r}")
            low, high = self._ranges.get(str(expected), (leaf, leaf))
            if not low <= leaf <= high:
                raise GuardError(f"Guard failed: {low} <= {name} <= {high} ({expected}), got {leaf}")
            known[str(expected)] = leaf
            return
        if not isinstance(expected, torch.Tensor):
            if type(leaf) is not type(expected) or leaf != expected:
                raise GuardError(f"{name}: the program was exported for {expected!r}, got {leaf!r}")
            return
        if not isinstance(leaf, torch.Tensor):
            raise GuardError(f"{name}: expected a tensor, got {type(leaf).__name__}")
        if leaf.dtype != expected.dtype or leaf.dim() != expected.dim():
            raise GuardError(
                f"{name}: the program was exported for {expected.dtype} with {expected.dim()} dims, "
                f"got {leaf.dtype} with {leaf.dim()}"
            )
        for dim, (size, wanted) in enumerate(zip(leaf.shape, sizes, strict=True)):
            self._size(name, dim, size, wanted, known)

    def _size(self, name, dim, size, wanted, known):
        if isinstance(wanted, int):
            if size != wanted:
                raise GuardError(f"Guard failed: {name}.size()[{dim}] == {wanted}, got {size}")
            return
        if not wanted.isidentifier():
            self._derived(name, dim, size, wanted, known)
            return
        low, high = self._ranges.get(wanted, (0, size))
        if not low <= size <= high:
            raise GuardError(f"Guard failed: {low} <= {name}.size()[{dim}] <= {high} ({wanted}), got {size}")
        if known.setdefault(wanted, size) != size:
            raise GuardError(
                f"Guard failed: {name}.size()[{dim}] is {size}, and {wanted} is {known[wanted]} in another input"
            )

    def _derived(self, name, dim, size, wanted, known):
        """A size that follows from one with a name: ``4*b``."""
        if (linear := Expression.of_text(wanted).linear()) is None:
            return
        root, scale, shift = linear
        if (size - shift) % scale:
            raise GuardError(
                f"Guard failed: {name}.size()[{dim}] is of the form {wanted}, where {root} is an int: got {size}"
            )
        of_root = (size - shift) // scale
        low, high = self._ranges.get(root, (0, of_root))
        if not low <= of_root <= high:
            raise GuardError(
                f"Guard failed: {name}.size()[{dim}] is {wanted} with {low} <= {root} <= {high}, got {size}"
            )
        if known.setdefault(root, of_root) != of_root:
            raise GuardError(
                f"Guard failed: {name}.size()[{dim}] is {wanted}, got {size}, and {root} is {known[root]} in another input"
            )
