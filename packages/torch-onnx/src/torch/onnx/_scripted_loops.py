"""Branches and loops of a script as blocks of the file, or turn by turn."""

from __future__ import annotations

import torch

from ._known import Known, operand, value_of
from ._program import Block, Step
from ._scripted_sizes import sizes_of
from .errors import SymbolicValueError

__all__ = ["Blocks"]

#: loops are written turn by turn up to so many
_MOST_TURNS = 1024


class Blocks:
    """The part of a walk that writes blocks."""

    def _of_filled(self, node, name, inputs, steps):
        """``stack``, ``cat``, ``len`` or an element of a list that a loop has filled."""
        whole = inputs[0].stacked
        if name == "len":
            return self._emit(node, "sym_size", {"self": whole, "dim": Known(0)}, len(inputs[0].example), steps)
        if name == "__getitem__":
            try:
                found = inputs[0].fixed[inputs[1].example]
            except IndexError:
                raise self._refuse(node, f"the example asks for what is not there: {inputs[1].example}") from None
            return self._emit(
                node, "select", {"self": whole, "dim": Known(0), "index": inputs[1]}, found.example, steps
            )
        rank = whole.example.dim() if name == "stack" else whole.example.dim() - 1
        dim = self._fixed(node, inputs[1], f"aten::{name} with a dim") % rank
        places = {"self": whole, "source": Known([0]), "destination": Known([dim])}
        moved = self._emit(node, "movedim", places, whole.example.movedim(0, dim), steps) if dim else whole
        if name == "stack":
            return moved
        ends = {"self": moved, "start_dim": Known(dim), "end_dim": Known(dim + 1)}
        return self._emit(node, "flatten", ends, moved.example.flatten(dim, dim + 1), steps)

    def _block(self, block, inputs, env):
        inner = {**env, **dict(zip([v.debugName() for v in block.inputs()], inputs, strict=True))}
        steps: list[Step] = []
        self._depth += 1
        try:
            for node in block.nodes():
                self._node(node, inner, steps)
        finally:
            self._depth -= 1
        outputs = [inner[v.debugName()] for v in block.outputs()]
        self.settle(block.owningNode(), outputs)
        return steps, outputs

    def _if(self, node, condition, env, steps):
        blocks = list(node.blocks())
        if condition.value is None:
            inner = dict(env)
            taken = blocks[0 if condition.fixed else 1]
            for each in taken.nodes():
                self._node(each, inner, steps)
            return [inner[v.debugName()] for v in taken.outputs()]
        raising = [any(each.kind() == "prim::RaiseException" for each in block.nodes()) for block in blocks]
        if any(raising) and not all(raising):  # what a program checks while it runs is left away
            inner = dict(env)
            for each in blocks[raising.index(False)].nodes():
                self._node(each, inner, steps)
            return [inner[v.debugName()] for v in blocks[raising.index(False)].outputs()]
        both = [self._block(block, [], env) for block in blocks]
        results = []
        for one, two in zip(*(outputs for _, outputs in both), strict=True):
            if type(one.example) is not type(two.example) or isinstance(one.example, (list, tuple)):
                raise self._refuse(node, "branches that give lists, or things of two kinds, cannot be written")
            varies = isinstance(one.example, torch.Tensor) and (
                one.moves or two.moves or one.example.shape != two.example.shape
            )
            sizes = _in_both(sizes_of(one), sizes_of(two))
            found = self._fresh("if", one.example if condition.example else two.example, varies, sizes)
            if isinstance(one.example, torch.Tensor):
                if one.example.dtype != two.example.dtype or one.example.dim() != two.example.dim():
                    raise self._refuse(
                        node, "branches that give tensors of two dtypes, or with other dims, cannot be written"
                    )
            results.append(found)
        step = Step(
            "prim.if", {"condition": value_of(condition)}, [r.value for r in results], place=str(node.sourceRange())
        )
        step.blocks = [Block([], inner, [operand(o) for o in outputs]) for inner, outputs in both]
        if step.results:  # else it has no effect
            steps.append(step)
        return results

    def _loop(self, node, inputs, env, steps):
        """A loop as a node; turn by turn where it changes what lies outside and its turns are known; else as a node that
        gives the elements of the lists that it fills.
        """
        known, count = len(self._all), len(steps)
        try:
            return self._loop_node(node, inputs, env, steps, False)
        except SymbolicValueError:
            del self._all[known:], steps[count:]
        trips, going = inputs[:2]
        if trips.value is None and going.value is None and trips.fixed <= _MOST_TURNS:
            lists = [(each, list(each.example)) for each in env.values() if isinstance(each.example, list)]
            found = self._turns(node, inputs, env, steps)
            if found is not None:
                return found
            for each, before in lists:
                each.example[:] = before
            del self._all[known:], steps[count:]
        return self._loop_node(node, inputs, env, steps, True)

    def _turns(self, node, inputs, env, steps):
        """A loop of turns that are known, one after another; None where a value decides whether it goes on."""
        trips, going, *carried = inputs
        (block,) = node.blocks()
        for turn in range(trips.fixed if going.fixed else 0):
            inner = {**env, **dict(zip([v.debugName() for v in block.inputs()], [Known(turn), *carried], strict=True))}
            for each in block.nodes():
                self._node(each, inner, steps)
            going, *carried = (inner[v.debugName()] for v in block.outputs())
            if going.value is not None:
                return None
            if not going.fixed:
                break
        return carried

    def _loop_node(self, node, inputs, env, steps, fills):
        trips, going, *carried = inputs
        (block,) = node.blocks()
        for before in carried:
            if isinstance(before.example, (list, tuple)) or before.example is None:
                raise self._refuse(node, "loops that carry lists cannot be written")
        names = [next(iter(n.inputs())).debugName() for n in block.nodes() if n.kind() == "aten::append"]
        lists = [env[each] for each in dict.fromkeys(names) if each in env]
        lists = [each for each in lists if fills and each.example == [] and each.depth <= self._depth]
        sizes, kept, found = [sizes_of(each) for each in carried], self._growing, None
        try:
            while found is None:  # until no turn changes the sizes that are certain
                self._growing = {id(each): (self._depth + 1, []) for each in lists}
                found = self._written_loop(node, inputs, env, steps, block, sizes, lists)
        finally:
            self._growing = kept
        return found

    def _written_loop(self, node, inputs, env, steps, block, sizes, lists):
        """What a loop gives; None, with fewer ``sizes`` of what it carries, where a turn changes one of them."""
        trips, going, *carried = inputs
        self._depth += 1
        values = (self._fresh("carried", c.example, sizes=known) for c, known in zip(carried, sizes, strict=True))
        entry = [self._fresh("turn", 0), *values]
        self._depth -= 1
        inner, (going_on, *after) = self._block(block, entry, env)
        before = [list(each) for each in sizes]
        sizes[:] = [_in_both(known, sizes_of(a)) for known, a in zip(sizes, after, strict=True)]
        if sizes != before:
            return None
        grown = [self._growing[id(each)][1] for each in lists]
        if any(len(each) != 1 for each in grown):
            raise self._refuse(node, "a loop that appends to a list more than once in a turn cannot be written")
        appended = [each[0] for each in grown]
        filled = [[] for _ in lists]

        def note():
            for whole, each in zip(filled, lists, strict=True):
                whole.append(self._growing[id(each)][1].pop().example)

        note()
        values = [c.example for c in carried]
        keep, turn = going.example, 0
        if keep and trips.example > 0:  # the rest of the example, for what comes after
            values, keep, turn = [a.example for a in after], going_on.example, 1
        while keep and turn < trips.example:
            self._count += 1
            _, (again, *then) = self._block(
                block, [Known(turn), *(Known(v, e.value) for v, e in zip(values, entry[1:], strict=True))], env
            )
            note()
            values, keep, turn = [t.example for t in then], again.example, turn + 1
        results = []
        for value, before, body, known in zip(values, entry[1:], after, sizes, strict=True):
            if isinstance(value, torch.Tensor) and (
                body.example.dtype != before.example.dtype or value.dim() != before.example.dim()
            ):
                raise self._refuse(node, "a loop whose tensors change their dtype or number of dims cannot be written")
            results.append(self._fresh("loop", value, True, known))  # of other sizes a turn may give another one
        stacks = []
        for each, items in zip(lists, filled, strict=True):
            if not turn or any(not isinstance(i, torch.Tensor) or i.shape != items[0].shape for i in items):
                raise self._refuse(node, "a loop fills a list with what are no tensors of one shape, or has no turn")
            each.stacked = self._fresh("stacked", torch.stack(items[:turn]), moves=True)
            each.example = [Known(i) for i in items[:turn]]
            stacks.append(each.stacked)
        forever = trips.value is None and trips.fixed >= 2**62
        step = Step(
            "prim.loop", {"trips": None if forever else value_of(trips), "going": operand(going), "first": [operand(c) for c in carried]},
            [r.value for r in (*results, *stacks)], place=str(node.sourceRange()),
        )  # fmt: skip
        step.blocks = [Block([e.value for e in entry], inner, [operand(o) for o in (going_on, *after, *appended)])]
        if step.results:  # else it has no effect
            steps.append(step)
        return results


def _in_both(one, two):
    """The sizes that are the same; None for others."""
    return [a if a == b else None for a, b in zip(one, two)]
