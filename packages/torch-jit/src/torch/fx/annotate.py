"""Types on values while a program is traced."""

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val, type):
    """``val``; where it is a Proxy, its node gets the type, which the program text then shows.

    >>> import torch
    >>> print(torch.fx.symbolic_trace(lambda x: annotate(x + 1, torch.Tensor)).code.strip().splitlines()[1].strip())
    add : torch.Tensor = x + 1;  x = None
    """
    if isinstance(val, Proxy):
        if val.node.type is not None:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new "
                               f"type is {type}. This could happen if you tried to annotate a function parameter value (in which "
                               "case you should use the type slot on the function signature) or you called annotate on the same "
                               "value twice")  # fmt: skip
        val.node.type = type
    return val
