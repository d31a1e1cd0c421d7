"""Reads of a tensor's values, from which a program would go on in Python: refused, with the line that reads."""

from __future__ import annotations

import contextlib
import sys

import torch
from torch.jit import _native
from torch.jit._threads import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: methods of Tensor that leave the program: what the error says they do
READS = {
    "__bool__": "asks whether a tensor is true", "item": "calls .item()", "tolist": "calls .tolist()",
    "numpy": "calls .numpy()", "__int__": "makes an int of a tensor", "__float__": "makes a float of a tensor",
    "__complex__": "makes a complex of a tensor", "__index__": "uses a tensor as an index of Python",
    "__array__": "makes a NumPy array of a tensor", "__contains__": "asks whether a value is in a tensor",
    "is_nonzero": "calls .is_nonzero()",
}  # fmt: skip
#: operators that give numbers
OPERATORS = {"equal", "allclose", "is_nonzero"}


def watching(read: Callable[[torch.Tensor, str], Any]) -> Any:
    """While the block runs, ``read(tensor, what)`` is called before values are read; where it gives a tuple of one, that is read."""
    unbound = here(lambda self: iter(torch.unbind(self, 0)), torch.Tensor.__iter__)
    replaced = [(torch.Tensor, "__iter__", unbound)]
    for name, what in READS.items():
        method = torch.Tensor.__dict__.get(name)
        if method is None:
            method = getattr(torch.Tensor, name, None)
            if method is None or name.startswith("__"):
                continue
        replaced.append((torch.Tensor, name, here(_asking(method, what, read), method)))
    return _native.Replaced(replaced)


def refusing_scripts(refuse: Callable[[str], Exception]) -> Any:
    """While the block runs, calls of compiled programs raise ``refuse(what)``: what they compute is not seen."""
    api = sys.modules.get("torch.jit._script.api")
    if api is None:  # nothing was compiled
        return contextlib.nullcontext()

    def refused(self, *args, **kwargs):
        raise refuse(
            "calls what torch.jit.script made, which a recording does not see: call the Python that it was made of"
        )

    return _native.Replaced(
        [(kind, "__call__", here(refused, kind.__call__)) for kind in (api.ScriptFunction, api.ScriptModule)]
    )


def refusing_data(refuse: Callable[[str], Exception]) -> Any:
    """While the block runs, tensors are given no other memory (``x.data = y``): a recording does not see it."""
    before = torch.Tensor.__dict__["data"]

    def assigned(tensor, value):
        raise refuse("assigns to .data, which a recording does not see: use copy_")

    return _native.Replaced([(torch.Tensor, "data", property(before.__get__, here(assigned, before.__set__)))])


def _asking(method, what, read):
    def asked(self, *args, **kwargs):
        found = read(self, what)
        return method(self, *args, **kwargs) if found is None else found[0]

    return asked
