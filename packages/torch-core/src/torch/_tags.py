"""What a library may say of an operator that it registers."""

from enum import IntEnum

Tag = IntEnum(
    "Tag",
    [
        "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated", "inplace_view",
        "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides", "needs_fixed_stride_order",
        "nondeterministic_bitwise", "nondeterministic_seeded", "out", "pointwise", "pt2_compliant_tag", "reduction", "view_copy",
    ],
    module="torch",
    start=0,
)  # fmt: skip
Tag.__doc__ = "What a library says of an operator, as ``torch.library.define(..., tags=...)`` takes it."
