"""Neural networks as plain Python: modules, layers, losses, initialisation."""

from __future__ import annotations

from torch import _seams

from . import functional as functional
from . import init as init
from . import modules as modules
from .modules import *  # noqa: F403
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


if not TYPE_CHECKING:
    del utils  # noqa: F821  (that of modules; torch.nn.utils is loaded at first use)

# Loaded at first use: submodules, and the names they hold.
_LATE = {
    "attention": None,
    "common_types": None,
    "grad": None,
    "intrinsic": None,
    "parallel": None,
    "qat": None,
    "quantizable": None,
    "quantized": None,
    "utils": None,
    "DataParallel": "parallel",
    "summary": "_summary",
}


if TYPE_CHECKING:  # what type checkers see; at run time these come when asked for
    from . import attention as attention
    from . import common_types as common_types
    from . import grad as grad
    from . import intrinsic as intrinsic
    from . import parallel as parallel
    from . import qat as qat
    from . import quantizable as quantizable
    from . import quantized as quantized
    from . import utils as utils
    from ._summary import summary as summary
    from .parallel import DataParallel as DataParallel
else:

    def __getattr__(name):
        import importlib

        if name in _LATE:
            module = importlib.import_module(f"{__name__}.{_LATE[name] or name}")
            value = module if _LATE[name] is None else getattr(module, name)
        elif name in modules._LATE:
            value = getattr(modules, name)
        else:
            from .modules.module import _did_you_mean

            raise AttributeError(f"module 'torch.nn' has no attribute {name!r}{_did_you_mean(name, __dir__())}")
        globals()[name] = value
        return value


def __dir__():
    return sorted({*globals(), *modules._LATE, *_LATE})


_seams.complete_package(__name__)
_seams.complete_package(modules.__name__)  # now that its names were taken over: `import *` reads the dictionary


def factory_kwargs(kwargs: Any) -> Any:
    """The entries of ``kwargs`` that tensor factories take (device, dtype, memory_format); TypeError for any other."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = set(kwargs) - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {sorted(unexpected)}")
    given = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & set(kwargs):
        if key in given:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        given[key] = kwargs[key]
    return given


__all__ = [name for name in __dir__() if not name.startswith("_") and name not in ("grad", "attention", "modules")]
