"""Assembly of a GPU within an element-wise operator."""

from .._ops import HigherOrderOperator


class InlineAsmElementwiseOp(HigherOrderOperator):
    """Raises NotImplementedError when called: no compiler of kernels is there to put the assembly into."""

    def __call__(self, *inputs, asm_str, constraints, dtype, is_pure=True, pack=1):
        raise NotImplementedError(f"{self._name}: no compiler of GPU kernels is part of this stack to take {asm_str!r}")


inline_asm_elementwise = InlineAsmElementwiseOp("inline_asm_elementwise")
