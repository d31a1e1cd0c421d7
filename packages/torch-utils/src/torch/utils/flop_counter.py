"""How many floating point operations products and convolutions take, forward and backward, in all and by module.

One product of matrices (m, k) and (k, n) is 2 m k n: a multiplication and an addition count one each. Operators element by
element count nothing. Only shapes decide, so a model on the Meta device is counted without computing it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import _seams
from torch._seams import need

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.nn import Module
    from typing_extensions import Self


flop_registry: dict[str, Callable[..., int]] = dict(_seams.flop_formulas())
#: the operators that are noted
SEEN = frozenset(flop_registry)
_active = threading.Lock()


def register_flop_formula(targets: str | list[str], get_raw: bool = False) -> Callable:
    """Decorator: the function counts the operators of these names, from the shapes of their arguments and ``out_shape``.

    Those that are seen are ``mm``, ``bmm``, ``mv``, ``dot``, ``matmul``, ``linear``, ``addmm``, ``convolution`` and the like.
    """
    names = [targets] if isinstance(targets, (str, bytes)) or not isinstance(targets, (list, tuple)) else list(targets)
    names = [_name("register_flop_formula", n) for n in names]

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        flop_registry.update(dict.fromkeys(names, formula))
        return formula

    return register


def _name(who, target) -> str:
    """The name of an operator that is noted; ValueError for others, whose formulas would count nothing."""
    name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
    if name not in SEEN:
        raise ValueError(f"{who}: {name!r} is not seen; those that are: {', '.join(sorted(SEEN))}")
    return name


class _Counts(dict):
    """Counts by operator of ``torch.ops.aten``, found under one of its overloads and its name as well."""

    def __missing__(self, operator: Any) -> int:
        name = operator if isinstance(operator, str) else getattr(operator, "__name__", None)
        found = getattr(torch.ops.aten, name.partition(".")[0], None) if name else None
        if found is None or found not in self:
            raise KeyError(operator)
        return self[found]


def _aten(op: str, arguments: Any) -> Any:
    """The operator that a call counts for: products are those of matrices, or of batches of them, that they come to."""
    name = op.removesuffix("_")
    if op == "linear":
        name = "addmm" if len(arguments) > 2 and arguments[2] is not None else "mm"
    elif op == "matmul":
        a, b = len(arguments[0]), len(arguments[1])
        if b == 1:
            name = "dot" if a == 1 else "mv"
        else:
            name = "mm" if (a <= 2 and b == 2) or a > 2 == b else "bmm"
    return getattr(torch.ops.aten, name)


class FlopCounterMode:
    """Context that counts.

    Args:
        mods: without effect: modules are found by themselves
        depth: of the table that is shown at the end
        display: show it
        custom_mapping: formulas by operator name, before those that are registered

    Example:
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Callable] | None = None,
    ) -> None:
        self.depth, self.display = depth, display
        own = {_name("FlopCounterMode: custom_mapping", k): f for k, f in (custom_mapping or {}).items()}
        self._formulas = {**flop_registry, **own}
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._tracker: Any = None

    def get_total_flops(self) -> int:
        """All that was counted."""
        self._settle()
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By path of module (``"Global"`` is all), by operator of ``torch.ops.aten``."""
        self._settle()
        return {path: _Counts(counts) for path, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """What was counted, by module and operator, down to some depth of modules."""
        self._settle()
        total = max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        for path, counts in sorted(self.flop_counts.items(), key=lambda item: (item[0] != "Global", item[0])):
            level = path.count(".") + (path != "Global")
            if level > (self.depth if depth is None else depth):
                continue
            rows.append(_row(" " * level + path, sum(counts.values()), total))
            rows += [_row(" " * level + f" - {op}", flops, total) for op, flops in counts.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])

    def __enter__(self) -> Self:
        if not _active.acquire(blocking=False):
            raise RuntimeError("FlopCounterMode: another one is counting; they cannot be nested or run side by side")
        self.flop_counts.clear()
        self._tracker = _tracker(self._settle)
        if self._tracker is not None:
            self._tracker.__enter__()
        _seams.take_notes()
        _seams.note_calls(True)
        return self

    def __exit__(self, *error: Any) -> None:
        _seams.note_calls(False)
        self._settle()
        if self._tracker is not None:
            self._tracker.__exit__(*error)
            self._tracker = None
        _active.release()
        if self.display:
            print(self.get_table())

    def _settle(self) -> None:
        """Give what was noted since the last time to the modules at work."""
        if self._tracker is None and not _active.locked():
            return
        parents = self._tracker.parents if self._tracker is not None else {"Global"}
        for op, arguments, results in _seams.take_notes():
            if op in self._formulas:
                flops = self._formulas[op](*arguments, out_shape=results[0])
                operator = _aten(op, arguments)
                for path in parents:
                    self.flop_counts[path][operator] += flops


def _tracker(settle: Callable[[], None]):
    """A tracker of modules that settles before another one is at work; None without torch-nn."""
    try:
        need("nn")
    except ModuleNotFoundError:
        return None
    from .module_tracker import ModuleTracker

    class Tracker(ModuleTracker):
        def _before(self, module, inputs):
            settle()
            super()._before(module, inputs)

        def _after(self, module, inputs, output):
            settle()
            super()._after(module, inputs, output)

        def _enter_backward(self, path):
            settle()
            super()._enter_backward(path)

        def _leave_backward(self):
            settle()
            super()._leave_backward()

    return Tracker()


def _row(name: str, flops: int, total: int) -> tuple[str, str, str]:
    unit, scale = next(((u, s) for u, s in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)) if flops >= s), ("", 1))
    return name, f"{flops / scale:.3f}{unit}" if scale > 1 else str(flops), f"{100 * flops / total:.2f}%"


# The formulas under their own names.
__getattr__, __dir__ = _seams.later(
    globals(),
    names=dict.fromkeys(
        (
            "mm_flop", "mv_flop", "matmul_flop", "linear_flop", "addmm_flop", "addmv_flop", "addr_flop", "conv_flop", "conv_flop_count",
            "conv_backward_flop",
        ),
        "_flops",
    ),
    base="torch",
)  # fmt: skip
