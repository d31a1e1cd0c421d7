"""What other distributions may lean on: names of torch-core that are no part of ``torch`` and yet stay as they are.

``torch.nn``, ``torch.autograd`` and the others import from here, and from no other private module. A name keeps its
meaning within an interface number (``torch._C.interface``); a test holds the distributions to it.

>>> from torch import _seams
>>> _seams.operator("add")(torch.ones(1), 2)
tensor([3.])
"""

from __future__ import annotations

from . import _C

if not hasattr(
    _C, "interface"
):  # another torch lies over ours; of its imports, this is the first that comes to a file of ours
    from . import _install

    raise ImportError(_install.overwritten())

from ._C import (
    Registered,
    UntypedStorage,
)
from ._C import _begin_range as begin_range
from ._C import _casts as is_casting
from ._C import _crc32c as crc32c
from ._C import _disabled_torch_dispatch_impl as no_torch_dispatch
from ._C import _disabled_torch_function_impl as no_torch_function
from ._C import _end_range as end_range
from ._C import _from_handle as from_handle
from ._C import _handle as handle
from ._C import _is_dispatched as is_dispatched
from ._C import _is_watched as is_watched
from ._C import _operator as operator
from ._C import _profiling as is_profiling
from ._C import _rows as rows
from ._C import _storage_from_buffer as storage_from_buffer
from ._C import _swap as swap
from ._C import _tensor_over as tensor_over
from ._lazy import later as later

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see of the names below
    from ._handles import RemovableHandle as RemovableHandle
    from ._operators.casting import in_float32 as in_float32
    from ._operators.casting import in_lower_precision as in_lower_precision
    from ._operators.out import of_tensors as of_tensors
    from ._typed import checked as checked

#: name: "module:name there", imported when first asked for
LATER = {
    # --- the profiler: ranges are above ---
    "start_profile": "_cold:start_profile",
    "stop_profile": "_cold:stop_profile",
    "note_calls": "_cold:note_calls",
    "take_notes": "_cold:take_notes",
    "set_hook": "_cold:set_hook",
    "flop_formulas": "_flops:formulas",
    # --- functions of Python under autocast ---
    "in_float32": "_operators.casting:in_float32",
    "in_lower_precision": "_operators.casting:in_lower_precision",
    # --- functions of Python whose arguments are tensors ---
    "of_tensors": "_operators.out:of_tensors",
    # --- steps of optimizers for lists of tensors ---
    "fused_sgd": "_operators.fused:_fused_sgd_",
    "fused_adam": "_operators.fused:_fused_adam_",
    "fused_adamw": "_operators.fused:_fused_adamw_",
    "step_on_cuda": "_cuda.steps:step",
    # --- times of a device, of the plug-in for CUDA ---
    "start_device_times": "_cuda._native:start_device_times",
    "stop_device_times": "_cuda._native:stop_device_times",
    # --- element-wise calls in few launches, of the plug-in for CUDA ---
    "in_list_on_cuda": "_cuda.listed:in_list",
    "norms_on_cuda": "_cuda.norms:norms",
    # --- attention and steps of recurrent layers, of the plug-in for CUDA ---
    "attention_on_cuda": "_cuda.attention:attend",
    "lstm_step_on_cuda": "_cuda.cells:lstm_step",
    "gru_step_on_cuda": "_cuda.cells:gru_step",
    "recurrence_on_cuda": "_cuda.cells:recurrence",
    # --- examples of torch.func.vmap, and whoever else sees operators ---
    "is_batched": "_functorch._batches:is_batchedtensor",
    "is_seen": "_functorch._batches:is_seen",
    # --- tensors without memory, of classes that answer operators ---
    "is_hollow": "_copying:is_hollow",
    "make_hollow": "_C:_hollow",
    # --- modes of __torch_dispatch__ ---
    "modes": "_dispatch:modes",
    "push_mode": "_dispatch:push",
    "pop_mode": "_dispatch:pop",
    "set_modes": "_dispatch:set_modes",
    # --- modes of __torch_function__ ---
    "function_modes": "overrides:_get_current_function_mode_stack",
    "set_function_modes": "overrides:_set_modes",
    "without_modes": "_dispatch:without_modes",
    # --- operators of programs ---
    "around_registered": "_registered:around",
    "pull_registered": "_registered:pull",
    "RegisteredOperator": "_registered:Operator",
    "RegisteredPacket": "_registered:Packet",
    "HigherOrderOperator": "_ops:HigherOrderOperator",
    "OpOverload": "_ops:OpOverload",
    "OpOverloadPacket": "_ops:OpOverloadPacket",
    "Schema": "_schemas:Schema",
    "of_schema": "_overloads:of_schema",
    "stands_in": "_overloads:stands_in",
    # --- settings of the compiler ---
    "is_freezing": "_inductor.config:is_freezing",
    # --- sizes with names ---
    "SizeExpression": "_symbols:Expression",
    "SymNode": "_symbols:SymNode",
    "named_size": "_symbols:named",
    "numbers_of_sizes_read": "_symbols:numbers_read",
    "size_of_text": "_symbols:of_text",
    # --- annotations ---
    "raise_error_container_parameter_missing": "_jit_internal:raise_error_container_parameter_missing",
    # --- parts, and what is missing ---
    "absent_class": "_absent:absent_class",
    "absent_function": "_absent:absent_function",
    "need": "_parts:need",
    "require": "_parts:require",
    "missing": "_parts:missing",
    "install_command": "_install:command",
    "complete_package": "_lazy:complete",
    "checked": "_typed:checked",
    "typed_arguments": "_typed:typed_arguments",
    # --- hooks ---
    "RemovableHandle": "_handles:RemovableHandle",
    "add_hook": "_handles:add_hook",
    # --- tensors in files, and printing ---
    "PickledStorage": "_copying:PickledStorage",
    "warn_of_hooks": "_copying:warn_of_hooks",
    "unrecorded": "overrides:_Unrecorded",
    "is_unrecorded": "overrides:_is_unrecorded",
    "rebuilt_quantized": "_quantized.tensor:rebuilt",
    "nested_over": "nested._strided:_nested_view_from_buffer",
    "jagged_over": "nested._jagged:Jagged",
    "print_wrappers": "_printing:wrappers",
}

__all__ = [
    "Registered", "UntypedStorage", "begin_range", "crc32c", "end_range", "from_handle", "handle", "is_casting",
    "is_profiling", "is_dispatched", "is_watched", "later", "no_torch_dispatch", "no_torch_function", "operator", "rows", "storage_from_buffer", "swap", "tensor_over",
]  # fmt: skip

__getattr__, _ = later(globals(), names=LATER, base="torch")


def __dir__() -> list[str]:
    return sorted([*__all__, *LATER])
