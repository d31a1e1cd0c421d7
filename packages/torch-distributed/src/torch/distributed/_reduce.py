"""How values of several ranks become one."""

from __future__ import annotations

import warnings

TYPE_CHECKING = False

__all__ = ["ReduceOp", "reduce_op"]

KINDS = ("", "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "UNUSED")
"""The names of the kinds by the number that stands in messages."""


class ReduceOp:
    """One way to reduce: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``, ``BOR``, ``BXOR``.

    ``AVG`` divides the sum by the number of ranks (floating dtypes only); PREMUL_SUM, made by
    :func:`torch.distributed._make_nccl_premul_sum`, multiplies by a factor first.

    >>> from torch.distributed import ReduceOp
    >>> ReduceOp.SUM, ReduceOp.SUM == ReduceOp.SUM, ReduceOp.MAX.name
    (<ReduceOp.SUM>, True, 'MAX')
    """

    __module__ = "torch.distributed"
    __slots__ = ("factor", "name")

    if TYPE_CHECKING:  # set below
        SUM: ReduceOp
        AVG: ReduceOp
        PRODUCT: ReduceOp
        MIN: ReduceOp
        MAX: ReduceOp
        BAND: ReduceOp
        BOR: ReduceOp
        BXOR: ReduceOp
        PREMUL_SUM: ReduceOp

    def __init__(self, kind="SUM", factor=None):
        name = kind.name if isinstance(kind, ReduceOp) else kind
        if name not in KINDS[1:]:
            raise ValueError(f"ReduceOp: no reduction is called {kind!r}")
        self.name, self.factor = name, factor

    @property
    def value(self) -> int:
        """The number of the kind."""
        return KINDS.index(self.name)

    @property
    def op(self):
        """The kind without its factor."""
        return getattr(type(self), self.name)

    def __eq__(self, other):
        return isinstance(other, ReduceOp) and (self.name, self.factor) == (other.name, other.factor)

    def __hash__(self):
        return hash(self.name)

    def __int__(self):
        return self.value

    def __repr__(self):
        return f"<ReduceOp.{self.name}>" if self.factor is None else f"<ReduceOp.{self.name} by {self.factor}>"

    def __reduce__(self):
        return ReduceOp, (self.name, self.factor)


for _name in KINDS[1:]:
    setattr(ReduceOp, _name, ReduceOp(_name))
ReduceOp.RedOpType = ReduceOp


class _Old:
    """``reduce_op.SUM`` of 2018, now ``ReduceOp.SUM``.

    >>> torch.distributed.reduce_op.SUM == torch.distributed.ReduceOp.SUM
    True
    """

    def __getattr__(self, name):
        if name not in KINDS[1:]:
            raise AttributeError(f"torch.distributed.reduce_op has no {name}")
        warnings.warn("torch.distributed.reduce_op is now called ReduceOp", FutureWarning, stacklevel=2)
        return getattr(ReduceOp, name)


reduce_op = _Old()


def premul_sum(factor) -> ReduceOp:
    """The sum of all ranks' values after each was multiplied by ``factor``."""
    return ReduceOp("PREMUL_SUM", factor)


def check(what: str, op, dtype) -> ReduceOp:
    """``op`` as a ReduceOp that ``dtype`` has; TypeError or ValueError otherwise."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{what}: op must be a ReduceOp, got {op!r}")
    if op.name == "UNUSED" or (op.name == "PREMUL_SUM" and op.factor is None):
        raise ValueError(f"{what}: {op!r} does not say how to reduce")
    if op.name in ("AVG", "PREMUL_SUM") and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"{what}: {op!r} is for floating and complex dtypes, got {dtype}; sum and divide by yourself")
    if op.name in ("MIN", "MAX") and dtype.is_complex:
        raise ValueError(f"{what}: {op!r} has no meaning for {dtype}: complex numbers have no order")
    if op.name in ("BAND", "BOR", "BXOR") and (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"{what}: {op!r} is for integers and bool, got {dtype}")
    return op
