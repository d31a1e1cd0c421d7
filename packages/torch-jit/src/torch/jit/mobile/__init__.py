"""Programs for devices without Python.  There is one kind of archive: what is saved for the lite interpreter is read by
:func:`torch.jit.load` and ``torch-run`` as well, and any archive of :func:`torch.jit.save` is read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._seams import absent_function

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

__all__ = ["LiteScriptModule"]

_NO_BYTECODE = "archives hold no bytecode: a program is its text, in program.txt and below code/"
_REASONS = {
    "_backport_for_mobile": _NO_BYTECODE,
    "_backport_for_mobile_to_buffer": _NO_BYTECODE,
    "_get_mobile_model_contained_types": _NO_BYTECODE,
    "_get_model_bytecode_version": _NO_BYTECODE,
    "_get_model_ops_and_info": "overloads have other names here than in PyTorch; module.inlined_graph has the operators",
    "_export_operator_list": "overloads have other names here than in PyTorch; module.inlined_graph has the operators",
}
globals().update((name, absent_function("torch.jit.mobile", name, reason)) for name, reason in _REASONS.items())


class LiteScriptModule:
    """A loaded program that can only be called."""

    def __init__(self, module: torch.jit.ScriptModule) -> None:
        self._c = module

    def __call__(self, *input: Any) -> Any:
        return self._c(*input)

    def find_method(self, method_name: str) -> bool:
        """Whether the program has a method of this name."""
        return self._c._c._type().find_method(method_name) is not None

    def forward(self, *input: Any) -> Any:
        return self._c(*input)

    def run_method(self, method_name: str, *input: Any) -> Any:
        """Call a method by its name."""
        return self._c._method_named(method_name)(*input)


def _load_for_lite_interpreter(f: str | os.PathLike | BinaryIO, map_location: Any = None) -> LiteScriptModule:
    """Read a program from an archive.

    >>> import io
    >>> net = torch.jit.script(torch.nn.ReLU())
    >>> file = io.BytesIO(net._save_to_buffer_for_lite_interpreter())
    >>> torch.jit.mobile._load_for_lite_interpreter(file)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return LiteScriptModule(torch.jit.load(f, map_location))
