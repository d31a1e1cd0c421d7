"""Functions that take functions: run by themselves, and one node each in graphs, under the names of ``torch.ops.higher_order``."""

from .._ops import HIGHER_ORDER
from .._registered import Namespace
from . import wrap as _wrap  # noqa: F401  (it has a name of torch.ops.higher_order)
from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .out_dtype import out_dtype
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "out_dtype", "scan", "while_loop"]


class _HigherOrder(Namespace):
    """``torch.ops.higher_order``: the operators that take functions."""

    def __getattr__(self, name):
        if name in HIGHER_ORDER:
            return HIGHER_ORDER[name]
        return super().__getattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *HIGHER_ORDER})


namespace = _HigherOrder("higher_order")
