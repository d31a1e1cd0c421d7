"""What a recorder does about numbers that only values of tensors tell: ``.item()``, and how many elements ``nonzero`` finds."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import _seams
from torch.overrides import DisableTorchFunction

from . import _reads
from ._errors import UserErrorType
from ._numbers import Facts, Truth
from ._places import Places
from ._sizes import Size
from ._tape import Call, Ref, Tape, Unknown

#: elements of a tensor of which a list may be made
_LISTED = 64


class Values:
    """What a recorder does about values."""

    tape: Tape
    places: Places
    facts: Facts
    number: Any
    refuse: Any
    knows: Any
    _forced: dict[int, Any]
    _numbers: dict[int, Any]
    _is_within: bool
    _append: Any
    _note: Any

    def _unknown(self, n: int, dim: int | None, seen: Any, low: float) -> str:
        name = f"u{len(self.tape.unknown)}"
        self.tape.unknown.append(Unknown(name, n, dim, seen, self.places.here()))
        self.facts.bounds[name] = [low, float("inf")]
        return name

    def _with_rows(self, result, leaves, dim, which):
        """Results of an operator that finds as many elements as this run is to see."""
        size = self._forced.get(len(self.tape.unknown))
        if size is None:
            return result, leaves
        others = list(leaves)
        for i in which:
            have = leaves[i].shape[dim]
            shape = [size if d == dim else s for d, s in enumerate(leaves[i].shape)]
            others[i] = leaves[i].index_select(dim, torch.arange(size) % have) if have else leaves[i].new_zeros(shape)
        if isinstance(result, torch.Tensor):
            return others[0], others
        return type(result)(others) if type(result) in (tuple, list) else tuple(others), others

    def value_of(self, tensor: torch.Tensor) -> Any:
        """``tensor.item()`` as a number of the program: an operator gives it when the program runs."""
        at = self.number(tensor)
        if at not in self._numbers:
            value = self._plainly(tensor)
            forced = self._forced.get(len(self.tape.unknown))
            value = value if forced is None else type(value)(forced)
            n = self.tape.new_number(value)
            schema, arguments = _Item, {"self": Ref(at)}
            self._append("item", schema, arguments, [n], True, self.places.here())
            if isinstance(value, bool):
                self._numbers[at] = Truth(
                    operator.eq, self.facts.integer(int(value), Size(n, None), f"item_{n}"), 1, self.facts
                )
            else:
                name = self._unknown(n, None, value, float("-inf"))
                kind = self.facts.integer if isinstance(value, int) else self.facts.real
                self._numbers[at] = kind(value, Size(n, None), name)
        return self._numbers[at]

    def _plainly(self, tensor):
        before, self._is_within = self._is_within, True
        try:
            with DisableTorchFunction():
                return tensor.item()
        finally:
            self._is_within = before

    def _listed(self, tensor):
        with self:
            return [self.value_of(part) if part.dim() == 0 else self._listed(part) for part in torch.unbind(tensor, 0)]

    def check(self, condition: Any, message: Any) -> None:
        """``torch._check`` of a condition that is known when the program runs."""
        self.facts.state(condition)
        arguments = {"function": condition.function.__name__, "left": condition.left, "right": condition.right}
        text = str(message()) if callable(message) else f"Runtime assertion failed for expression {condition}"
        self._note(
            Call("_check", torch.ops.aten._assert_scalar, arguments, frozenset(), {"text": text}, [], True, self.places.here())
        )  # fmt: skip
        if not condition.value:
            raise RuntimeError(text)

    def _value_read(self, tensor: torch.Tensor, what: str) -> tuple | None:
        if self._is_within or _seams.is_unrecorded() or not self.knows(tensor):
            return None
        if tensor.numel() == 1 and not tensor.is_complex():
            if what == _reads.READS["item"]:
                return (self.value_of(tensor),)
            if what in (_reads.READS["__int__"], _reads.READS["__index__"], _reads.READS["__float__"]):
                number = self.value_of(tensor)
                if not isinstance(number, Truth):
                    return (float(number) if what == _reads.READS["__float__"] else int(number),)
        if what == _reads.READS["tolist"] and not tensor.is_complex() and tensor.numel() <= _LISTED:
            return (self.value_of(tensor) if tensor.dim() == 0 else self._listed(tensor),)
        raise self.refuse(
            f"{what}, and goes on by its value: an exported program cannot (torch.where chooses by values; torch.cond "
            "keeps both branches)",
            UserErrorType.DYNAMIC_CONTROL_FLOW,
        )


class _Item:
    """The schema of ``item``: there is no row that gives a number."""

    arguments = ()
