"""Writes of a script in place, and changes of its lists: values take the place of values."""

from __future__ import annotations

import torch
from torch.export._rows import schemas

from ._known import Known, deep, leaves

__all__ = ["LIST_WRITES", "Writes", "is_shared"]

#: operators that change a list
LIST_WRITES = ("append", "extend", "insert", "pop", "reverse", "clear", "_set_item", "Delete")
#: operators that draw numbers, and whose results are not computed twice
_RANDOM = ("normal", "uniform", "bernoulli", "random", "exponential", "geometric", "cauchy", "log_normal")


def _run(name, arguments):
    """What an operator gives for the example."""
    real = {k: deep(v) for k, v in arguments.items()}
    return getattr(torch.ops.aten, name)(real.pop("self"), **real)


def is_shared(one, other):
    """Whether two tensors lie in one memory."""
    return (
        one.numel() > 0 and other.numel() > 0 and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    )


def _leads_to(known, view):
    """Whether a view is one of those that ``known`` was made by."""
    return known is view or (known.origin is not None and _leads_to(known.origin[0], view))


class Writes:
    """The part of a walk that follows what is written to."""

    def _list(self, node, name, inputs):
        """A change of a list, which has to lie where the list was made."""
        items, *given = inputs
        if not isinstance(items.example, list):
            raise self._refuse(node, f"aten::{name} of a list that is no list of values cannot be written")
        if name == "append" and id(items) in self._growing and self._growing[id(items)][0] == self._depth:
            self._growing[id(items)][1].append(given[0])
            return items
        if items.depth < 0:
            raise self._refuse(
                node, f"aten::{name} changes a list that is an attribute, and a file keeps none: copy it"
            )
        if items.depth < self._depth:
            raise self._refuse(node, f"aten::{name} changes a list of the outside in a branch or loop")
        if any(each.value is not None and name in ("insert", "pop", "_set_item", "Delete") for each in given[:1]):
            raise self._refuse(node, f"aten::{name} at a place that is computed cannot be written")
        if name == "extend":
            items.fixed.extend(given[0].fixed)
        elif name == "_set_item":
            items.fixed[given[0].fixed] = given[1]
        elif name == "Delete":
            del items.fixed[given[0].fixed]
        elif name in ("append", "reverse", "clear"):
            getattr(items.fixed, name)(*given)
        elif name == "insert":
            items.fixed.insert(given[0].fixed, given[1])
        else:
            return items.fixed.pop(*(each.fixed for each in given))
        return items

    def _in_place(self, node, name, schema, arguments, steps):
        """An operator in place: what it computes becomes the target's value, is put back into what the target is a view of,
        and all views of that are taken anew.
        """
        target, plain = arguments["self"], name[:-1]
        root = target.root
        views = [k for k in self._all if k.origin is not None and k.root is root]
        shared = [k for k in self._all if isinstance(k.example, torch.Tensor) and is_shared(k.example, target.example)]
        if any(k.root is not root for k in shared):
            raise self._refuse(
                node, f"aten::{name} writes to a tensor that others share (chunk, split, unbind): use {plain}"
            )
        if any(k.depth < self._depth for k in [root, *views]):
            raise self._refuse(node, f"aten::{name} writes to a tensor of the outside in a branch or loop: use {plain}")
        self._unsettle(node, name, root)
        x = target.example.detach()
        real = {k: deep(v) for k, v in arguments.items() if k != "self"}
        positional = [real[a.name] for a in schema.arguments[1:] if not a.kwarg_only]
        keywords = {a.name: real[a.name] for a in schema.arguments if a.kwarg_only and real.get(a.name) is not None}
        made = getattr(torch.ops.aten, name)(x.clone(), *positional, **keywords)
        if plain == "zero":
            plain, arguments = "fill", {"self": target, "value": Known(0)}
        elif plain != "copy" and plain not in schemas():
            raise self._refuse(node, f"aten::{name} cannot be written: use an operator that is not in place")
        computed = made
        if plain not in ("copy", "fill", "index_put") and not plain.startswith(_RANDOM):
            computed = getattr(torch.ops.aten, plain)(x, *positional, **keywords)
        found = self._emit(node, plain, arguments, computed, steps)
        if computed.dtype != made.dtype:  # of operands of a wider dtype
            found = self._emit(node, "_to_copy", {"self": found, "dtype": Known(made.dtype)}, made, steps)
        self._becomes(target, found)
        part = target
        while part.origin is not None:
            base = part.origin[0]
            self._becomes(base, self._put_back(node, part, steps))
            part = base
        for view in views:
            if not _leads_to(target, view):
                base, kind, given = view.origin
                self._becomes(view, self._emit(node, kind, given, _run(kind, given), steps))
        return target

    def _twin(self, known, memory_format=torch.preserve_format):
        """A tensor of the same elements that has memory of its own."""
        twin = Known(known.example.clone(memory_format=memory_format), known.value, self._depth)
        self._all.append(twin)
        return twin

    def _perhaps_a_view(self, node, name, arguments, concrete, steps):
        """What an operator gives that is a view at some sizes, and a copy at others."""
        source = arguments["self"]
        if name == "contiguous":
            found = self._twin(source, deep(arguments["memory_format"]))
        else:
            found = self._emit(node, name, arguments, concrete.clone(), steps)
        found.perhaps = source
        return found

    def _unsettle(self, node, name, root):
        """A write to ``root``: what may have its memory or not is not read from now on."""
        reached = [root]
        for one in reached:
            reached += [
                each
                for each in self._all
                if each.perhaps is not None and each.perhaps.root is one and each not in reached
            ]
            if one.perhaps is not None and one.perhaps.root not in reached:
                reached.append(one.perhaps.root)
        others = [*reached[1:], *(each for each in self._all if each.origin is not None and each.root in reached[1:])]
        if any(each.depth < self._depth for each in others):
            text = f"aten::{name} may write to a tensor of the outside in a branch or loop, as sizes decide: use {name[:-1]}"
            raise self._refuse(node, text)
        for each in others:
            each.unsettled = f"aten::{name} at {node.sourceRange()}"

    def settle(self, node, values):
        """Refuses what was written to or not, as sizes decide."""
        for write in (leaf.unsettled for each in values for leaf in leaves(each) if leaf.unsettled):
            text = f"a tensor is read that {write} changes or not, as sizes decide whether contiguous, reshape or flatten copy: clone it before"
            raise self._refuse(node, text)

    def _becomes(self, known, found):
        """``known`` stands for what ``found`` is from now on."""
        known.example, known.value = found.example, found.value
        if found in self._all:
            self._all.remove(found)

    def _put_back(self, node, part, steps):
        """What a tensor is after a view of it has been written to."""
        base, kind, given = part.origin
        x, y = base.example, part.example
        if kind in ("select", "slice", "diagonal"):
            names = {"self": base, "src": part, **{k: v for k, v in given.items() if k != "self"}}
            return self._emit(node, f"{kind}_scatter", names, _run(f"{kind}_scatter", names), steps)
        if kind == "narrow" and isinstance(start := deep(given["start"]), int):
            places = {
                "dim": given["dim"],
                "start": Known(start),
                "end": Known(start + deep(given["length"])),
                "step": Known(1),
            }
            names = {"self": base, "src": part, **places}
            if all(v.value is None for v in (given["start"], given["length"])):
                return self._emit(node, "slice_scatter", names, _run("slice_scatter", names), steps)
        if kind == "transpose":
            return self._emit(
                node, kind, {**given, "self": part}, y.transpose(deep(given["dim0"]), deep(given["dim1"])), steps
            )
        if kind == "t":
            return self._emit(node, kind, {"self": part}, y.t(), steps)
        if kind == "permute":
            order = [d % y.dim() for d in deep(given["dims"])]
            back = [order.index(d) for d in range(len(order))]
            return self._emit(node, kind, {"self": part, "dims": Known(back)}, y.permute(back), steps)
        if x.numel() == y.numel() and kind not in ("expand", "as_strided") and x.dtype == y.dtype:
            sizes = self._size([base], steps, node)
            return self._emit(node, "reshape", {"self": part, "shape": sizes}, y.reshape(x.shape), steps)
        raise self._refuse(node, f"a write to what aten::{kind} gives cannot be written: write to a tensor of its own")
