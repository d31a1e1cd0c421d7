"""Calls that a recorder makes itself, and writes in place: these become calls of plain forms, whose results stand for the tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import _seams

from . import _nested, _rows, _views
from ._places import Places
from ._tape import Call, Ref, Tape, Value
from ._views import Held

#: in place, by giving the tensor another shape and not other values: what is a view otherwise, and all else
_VIEWED = {"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_"}
_METADATA = {"detach_", "as_strided_", "resize_", "set_", "resize_as_"}


#: what fills a tensor with random numbers, and the operator that gives such numbers
_DRAWN = {
    "cauchy_": "cauchy", "exponential_": "exponential", "geometric_": "geometric", "log_normal_": "log_normal",
    "normal_": "normal_functional", "random_": "random", "uniform_": "uniform",
}  # fmt: skip


class Writes:
    """What a recorder does about writes."""

    tape: Tape
    places: Places
    grad: bool
    number: Any
    refuse: Any
    busy: Any
    _held: dict[int, Held]
    _fresh: dict[int, torch.Tensor]
    _buffers: set[str]
    _refer: Any
    _hold: Any
    operator: Any
    _function_called: tuple[str, str] | None

    def _write(self, func, name, schema, arguments, args, kwargs):
        target = next(iter(arguments.values()))
        if name in _VIEWED and self._made_here(target):
            return self._viewed(func, name, args, kwargs)
        if name in _VIEWED or name in _METADATA:
            raise self.refuse(f"calls {name}, which changes the shape of a tensor in place: use {name[:-1]}")
        plain = name[:-1]
        number = self.number(target)
        held = self._held[id(target)]
        if held.root.source == "constant" and id(held.root.tensor) in self._fresh:
            held = self._own(held)
            number = self.number(target)
        if held.root.source == "constant":
            raise self.refuse(
                f"calls {name} on a tensor that is neither an input nor a buffer: make it a buffer (register_buffer), "
                "or clone it first"
            )
        values = [self._refer(v) for v in list(arguments.values())[1:]]
        names = list(arguments)[1:]
        self._check_writable(held.root)
        result = func(*args, **kwargs)
        before = self.tape.values[number]
        if name in ("copy_", "fill_"):
            n = self._copied(number, values[0], before)
        elif name == "zero_":
            n = self.emit("zeros_like", number)
        elif name in _DRAWN:
            n = self._numbers_drawn(_DRAWN[name], number, dict(zip(names, values, strict=True)), target)
        elif plain not in _rows.schemas():
            raise self.refuse(f"calls {name}, which has no form that does not write")
        else:
            n = self._emit(plain, {"self": Ref(number), **dict(zip(names, values, strict=True))}, [target])[0]
            if any(isinstance(v, Ref) and self.tape.values[v.n].dtype != before.dtype for v in values):
                n = self.emit("_to_copy", n, dtype=before.dtype)
        self._replace(held, n)
        return result

    def _made_here(self, tensor: torch.Tensor) -> bool:
        self.number(tensor)
        held = self._held[id(tensor)]
        return held.root.source is None or bool(held.path)

    def _viewed(self, func: Any, name: str, args: tuple, kwargs: dict) -> torch.Tensor:
        """A tensor that becomes a view of what it was."""
        view = self.operator(_seams.operator(name[:-1]), name[:-1], args, kwargs)
        result = func(*args, **kwargs)
        self._hold(replace(self._held[id(view)], tensor=result))
        return result

    def _numbers_drawn(self, name: str, like: int, arguments: dict, result: torch.Tensor) -> int:
        given = {"self": Ref(like), **{k: v for k, v in arguments.items() if k != "generator"}}
        n, operator = self.tape.new(result), getattr(torch.ops.aten, name).default
        self._note(Call(name, operator, given, frozenset(), {}, [n], True, self.places.here()))
        return n

    def _own(self, held: Held) -> Held:
        """A tensor that the program made by numbers is a copy of them in each run."""
        root = held.root
        root.n, root.source, root.version = self.emit("clone", root.n), None, root.version + 1
        return held

    def _copied(self, number: int, source: Any, into: Value) -> int:
        if not isinstance(source, Ref):
            return self.emit("full_like", number, source)
        n, value = source.n, self.tape.values[source.n]
        if value.dtype != into.dtype:
            n = self.emit("_to_copy", n, dtype=into.dtype)
        return n if value.shape == into.shape else self.emit("expand", n, into.shape)

    def _check_writable(self, root: Any) -> None:
        kind, which = root.source if isinstance(root.source, tuple) else (None, None)
        if kind == "operand":
            raise _nested.refuse_write(self)
        if kind == "named" and which not in self._buffers:
            raise self.refuse(f"writes to parameter {which!r}")

    def _replace(self, held: Held, n: int) -> None:
        """The tensor has a new value, and so has what shares its memory."""
        root = held.root
        values = [root.n]
        for step in held.path[:-1]:
            arguments = {k: v for k, v in step.arguments.items() if k != "start_of_part"}
            values.append(self._emit(step.name, {"self": Ref(values[-1]), **arguments})[step.index or 0])
        new = n
        for old, step in zip(reversed(values), reversed(held.path), strict=False):
            new = _views.undo(self, old, new, step)
        root.n, root.version = new, root.version + 1
        held.n, held.version = n, root.version
        kind, which = root.source if isinstance(root.source, tuple) else (None, None)
        if kind == "named":
            self.tape.written_buffers[which] = new
        elif kind == "input":
            self.tape.written_inputs[which] = new

    # --- calls that the recorder makes itself ---

    def emit(self, name: str, *args: Any, **kwargs: Any) -> int:
        """Call an operator on numbers of values and constants; the number of its result."""
        first, *rest = args
        rest = [Ref(r) if name.endswith("_scatter") and i == 0 else r for i, r in enumerate(rest)]
        schema, arguments = _rows.bind(name, (_stand_in(self, first), *rest), kwargs)
        key = next(iter(arguments))
        return self._emit(name, {**arguments, key: Ref(first)})[0]

    def _emit(self, name: str, arguments: dict, results: list | None = None) -> list[int]:
        """Append a call; without ``results`` the operator runs, to learn their shapes."""
        call = _seams.operator(name)
        schema = next(
            (s for s in _rows.schemas()[name] if set(arguments) <= {a.name for a in s.arguments}),
            _rows.schemas()[name][0],
        )
        names = {a.name: a for a in schema.arguments}
        if "self" in arguments and "self" not in names:
            arguments = {next(iter(names)) if k == "self" else k: v for k, v in arguments.items()}
        arguments = {a.name: arguments.get(a.name, a.default_value) for a in schema.arguments}
        if results is None:
            real = {k: _deep(self, v) for k, v in arguments.items()}
            with self.busy():
                given = call(*schema.positional(real), **{k: v for k, v in schema.named(real).items() if v is not None})
            results = list(given) if isinstance(given, (tuple, list)) else [given]
        else:
            given = results[0]
        numbers = [self.tape.new(r) for r in results]
        self._append(name, schema, arguments, numbers, isinstance(given, torch.Tensor), self.places.here())
        return numbers

    def _append(self, name, schema, values, numbers, single, place, target=None):
        keywords = frozenset(a.name for a in schema.arguments if a.kwarg_only)
        defaults = {a.name: a.default_value for a in schema.arguments if a.has_default}
        target = getattr(torch.ops.aten, name) if target is None else target
        self._note(Call(name, target, values, keywords, defaults, numbers, single, place))

    def _note(self, call):
        call.grad, call.function = self.grad, self._function_called
        self.tape.calls.append(call)


def _stand_in(record, n):
    """A tensor that looks like a value, for binding."""
    value = record.tape.values[n]
    return torch.empty(value.shape, dtype=value.dtype, device="meta")


def _deep(record, value):
    if isinstance(value, Ref):
        return _stand_in(record, value.n)
    if isinstance(value, list):
        return [_deep(record, v) for v in value]
    return value
