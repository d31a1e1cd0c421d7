"""Programs for several sizes: made of a function when its second set of sizes comes."""

from __future__ import annotations

import sys

import torch
from torch._dynamo import config

from ._backends import native
from ._guards import layout_of
from ._observer import Observer
from ._outside import is_argument
from ._sizes import Size, Space, shapes_watched

__all__ = ["Resized", "resized"]

#: kinds of nodes that are about sizes only
_OF_SIZES = frozenset((
    "aten::size", "aten::add", "aten::sub", "aten::mul", "aten::floordiv", "aten::remainder", "aten::Int", "prim::Constant",
    "prim::NumToTensor", "prim::ListConstruct",
))  # fmt: skip


class Resized(Observer):
    """Watches a call in which some sizes of arguments may change. ``free`` says which: path of a tensor -> its dims."""

    def __init__(self, free):
        super().__init__()
        self.free, self.space, self.takes_sizes = free, Space(self, {}), True
        self.dims = []  # of each variable, in order: (slot, dim)

    def layout(self, value, source):
        """What is guarded of an input: sizes that may change are not."""
        dims = self.free.get(source, ()) if is_argument(source) else ()
        kind, dtype, sizes, strides, device, needs_grad = layout_of(value)
        if dims:
            sizes = tuple(-1 if i in dims else n for i, n in enumerate(sizes))
            for i in dims:
                self.space.free[len(self.inputs), i] = f"d{len(self.dims)}"
                self.dims.append((self.guards.slot(source), i))
        return kind, dtype, sizes, None if self.free else strides, device, needs_grad

    @staticmethod
    def numbers(value):
        """A size that may change is a number to an operator, which is recorded with what it follows from."""
        return value.noted() if isinstance(value, Size) else value

    def where(self):
        self.space.told(_caller())
        return super().where()

    def run(self, function, args, kwargs):
        with shapes_watched(self.space):
            return super().run(function, args, kwargs)

    def close(self, low):
        """Guards of the sizes: what was asked about them; those of 0 and 1 are programs of their own."""
        if self.tracer.forget_ints() or self.space.pending:
            self.stop("a size becomes a number of the program")
        names = [f"d{i}" for i in range(len(self.dims))]
        conditions = [f"{name} >= {low}" for name in names] + self.space.conditions
        asked = eval(f"lambda {', '.join(names)}: {' and '.join(conditions)}", {"__builtins__": {}})
        self.guards.steps.append(("sizes", self.dims[0][0], asked, list(self.dims)))
        for node in list(self.graph.nodes()):
            if node.kind() == "prim::NumToTensor" and not node.output().uses():
                node.destroy()


def _caller():
    return sys._getframe(2)


def changed(before, now):
    """The dims of arguments that two observations differ in, by source; None where they differ in more than sizes."""
    free = {}
    if before.keys() != now.keys():
        return None
    for source, (kind, dtype, sizes, _, device, needs_grad) in before.items():
        other = now[source]
        if (kind, dtype, device, needs_grad) != (other[0], other[1], other[4], other[5]) or len(sizes) != len(other[2]):
            return None
        dims = tuple(i for i, (a, b) in enumerate(zip(sizes, other[2])) if a != b)
        if dims and (kind is not torch.Tensor or any(sizes[i] < 2 or other[2][i] < 2 for i in dims)):
            return None
        if dims:
            free[source] = dims
    return free


def _static(value, dims):
    """Whether one of these dims is marked as one that never changes."""
    marks = getattr(value, "_dynamo_static_indices", ())
    return any(i in marks for i in dims)


def _with_sizes(value, source, layouts, free):
    """An argument as it was in another call: its tensors with the sizes that they had there."""
    if source in free:
        _, dtype, sizes, strides, device, needs_grad = layouts[source]
        made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
        return made.zero_().requires_grad_(needs_grad)
    if isinstance(value, torch.Tensor):
        return value
    if type(value) in (list, tuple):
        return type(value)(_with_sizes(v, ("index", source, i), layouts, free) for i, v in enumerate(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_sizes(v, ("index", source, i), layouts, free) for i, v in enumerate(value)))
    if type(value) is dict:
        return {k: _with_sizes(v, ("key", source, k), layouts, free) for k, v in value.items()}
    return value


def _signature(graph):
    """What a graph consists of, with its values by number."""
    numbers, lines = {}, []

    def number(value):
        return numbers.setdefault(value.unique(), len(numbers))

    for value in graph.inputs():
        number(value)
    for node in graph.nodes():
        held = node.output().toIValue() if node.kind() == "prim::Constant" else None
        if isinstance(held, torch.Tensor):
            held = tuple(held.shape), held.dtype, held.tolist()
        lines.append((node.kind(), repr(held), [number(v) for v in node.inputs()]))
        for value in node.outputs():
            number(value)
    lines.append([number(v) for v in graph.outputs()])
    return lines


def _work(graph):
    """The operators of tensors that a graph calls, in order."""
    return [
        node.kind()
        for node in graph.nodes()
        if node.kind() not in _OF_SIZES or any(v.type().kind() == "TensorType" for v in node.outputs())
        if node.kind() not in ("prim::NumToTensor", "prim::Constant")
    ]


def resized(compiled, args, kwargs, finish, observer, graph, before):
    """Steps of a program for the sizes of this call, of an earlier one, and others; None where there is none. A function that
    was watched twice in vain is not watched again.

    ``observer`` has watched this call, ``graph`` is its program; ``before`` are layouts of the arguments of another call.
    """
    if compiled.dynamic is False or compiled.backend is not native or compiled.in_vain >= 2:
        return None
    if any(node.hasEffects() for node in graph.nodes() if node.kind() != "aten::set_grad_enabled"):
        return None
    free = changed(before, observer.layouts)
    if not free or not all(map(is_argument, free)):
        return None
    if any(_static(observer.known_at[source], dims) for source, dims in free.items()):
        return None
    if not (config.automatic_dynamic_shapes or compiled.dynamic):
        marked = (getattr(observer.known_at[source], "_dynamo_dynamic_indices", ()) for source in free)
        if not all(set(dims) <= set(marks) for dims, marks in zip(free.values(), marked)):
            return None
    random = any(node.isNondeterministic() for node in graph.nodes())
    if random and any(node.kind() == "prim::ListUnpack" for node in graph.nodes()):
        return None
    compiled.in_vain += 1
    there = tuple(_with_sizes(a, ("index", ("args",), i), before, free) for i, a in enumerate(args))
    named = {k: _with_sizes(v, ("key", ("kwargs",), k), before, free) for k, v in kwargs.items()}
    state = torch.get_rng_state() if random else None
    found = []
    try:
        for given, names in ((args, kwargs), (there, named)):
            watcher = Resized(free)
            result = watcher.run(compiled.function, given, names)
            if watcher.reason is not None:
                return None
            watcher.close(2)
            steps = finish(watcher, result, compiled) if watcher.reason is None else None
            if watcher.reason is not None:
                return None
            found.append((watcher, steps))
    except Exception:  # whatever goes wrong with sizes that may change, goes right with those that do not
        return None
    finally:
        if state is not None:
            torch.set_rng_state(state)
    (watcher, steps), (other, _) = found
    if _signature(watcher.graph) != _signature(other.graph) or watcher.space.conditions != other.space.conditions:
        return None
    if _work(watcher.graph) != _work(graph):
        return None
    compiled.in_vain -= 1
    return watcher, steps
