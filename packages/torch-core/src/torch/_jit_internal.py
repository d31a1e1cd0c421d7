"""Names of the module in which PyTorch's scripts and layers find ``torch.jit``'s marks."""

from typing import Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035

from torch.jit import export, ignore, interface, is_scripting, unused  # noqa: F401
from torch.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3  # noqa: F401


def _copy_to_script_wrapper(fn):
    """A mark of a method that compiled modules keep; it stays as it is."""
    return fn


def _overload(func):
    """A mark of one of several forms of a function; the last definition is the one that runs."""
    return func


_overload_method = _overload


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """One function of two, chosen by a bool argument.

    >>> from torch._jit_internal import boolean_dispatch
    >>> size = boolean_dispatch("whole", 1, False, lambda x, whole: len(x), lambda x, whole=False: len(x) / 2, "m", "size")
    >>> size([1, 2]), size([1, 2], whole=True)
    (1.0, 2)
    """

    def chosen(*args, **kwargs):
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__name__, chosen.__module__ = func_name or "chosen", module_name or __name__
    return chosen
