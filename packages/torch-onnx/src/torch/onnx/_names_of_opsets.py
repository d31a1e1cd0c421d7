"""What ``torch.onnx.symbolic_opset11`` and the like have: names that can be imported, and say what to do instead."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def refusing(opset: int) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module."""

    def of_module(name):
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*args, **kwargs):
            raise NotImplementedError(
                f"torch.onnx.symbolic_opset{opset}.{name}: rules of this stack are chosen by the opset of the export; "
                "a function of one's own writes nodes by g.op"
            )

        return refuse

    return of_module
