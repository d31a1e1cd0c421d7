"""Records a function within a program."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from . import _leaves, _reads
from ._errors import UserErrorType
from ._recorder import Recorder
from ._tape import Ref
from ._views import Held, Root


class Within(Recorder):
    """Records a function that a program gives to an operator; what it reads of the program around becomes an operand."""

    def __init__(self, outer: Recorder, lifted: list[Ref]) -> None:
        super().__init__({}, set(), None)
        self._outer, self.places, self.lifted, self._operands = outer, outer.places, lifted, {}
        self.facts.refuse = outer.facts.refuse
        self.grad = self.tape.grad = outer.innermost().grad

    def operand(self, index: int, tensor: torch.Tensor) -> int:
        """Make a tensor an operand of the function."""
        known = self._held.get(id(tensor))
        n = self.tape.inputs[index] = known.n if known is not None else self._begin(tensor, ("operand", index))
        return n

    def lifted_as(self, ref: Ref) -> int | None:
        """The number here of a value of the program around."""
        return self._operands.get(ref.n)

    def _from_outside(self, tensor):
        ref = Ref(self._outer.number(tensor))
        if (n := self._operands.get(ref.n)) is not None:
            self._hold(Held(tensor, n, Root(n, tensor, source=("operand", self.lifted.index(ref)))))
            return self._held[id(tensor)]
        n = self._begin(tensor, ("operand", len(self.lifted)))
        if ref not in self.lifted:
            self.lifted.append(ref)
        self._operands[ref.n] = n
        return self._held[id(tensor)]

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is an operand, computed, or known around."""
        return super().knows(tensor) or self._outer.knows(tensor)

    def value_of(self, tensor: torch.Tensor) -> Any:
        """No number is taken within: an operand would have to carry it out."""
        raise self.refuse(
            "takes a number of a tensor within a function of torch.cond or of a loop: take it before, and give it as an operand",
            UserErrorType.DYNAMIC_CONTROL_FLOW,
        )

    @contextlib.contextmanager
    def recording_within(self) -> Any:
        """The function's block, within that of the program."""
        self._outer._inner = self
        try:
            with _leaves.standing_in(self), _reads.watching(self._value_read), self:
                yield
        finally:
            self._outer._inner = None
