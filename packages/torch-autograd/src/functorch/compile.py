"""Functions and modules as graphs for compilers of one's own; it needs torch-jit."""

from torch import _seams

_NAMES = (
    "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module", "default_partition",
    "make_boxed_compiler", "make_boxed_func", "min_cut_rematerialization_partition", "nop",
)  # fmt: skip

__all__ = list(_NAMES)

__getattr__, __dir__ = _seams.later(globals(), names=dict.fromkeys(_NAMES, "fx._aot_autograd"), base="torch")
