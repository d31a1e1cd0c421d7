"""An operator whose result has a wider dtype than its arguments."""

import torch

__all__ = ["OutDtypeOperator", "out_dtype"]


class OutDtypeOperator:
    """Calls ``op`` on its tensors in ``output_dtype``: products of int8 come as int32 without running over.

    >>> from torch._higher_order_ops.out_dtype import out_dtype
    >>> a = torch.full((1, 2), 100, dtype=torch.int8)
    >>> out_dtype(torch.ops.aten.mm.default, torch.int32, a, a.T)
    tensor([[20000]], dtype=torch.int32)
    """

    def __call__(self, op, output_dtype, *args):
        if not isinstance(output_dtype, torch.dtype):
            raise TypeError(f"out_dtype: expected a torch.dtype as second argument, got {type(output_dtype).__name__}")
        return op(*(a.to(output_dtype) if isinstance(a, torch.Tensor) else a for a in args))


out_dtype = OutDtypeOperator()
