"""Records what a program computes while it runs once: a mode that sees every operator, and writes it down.

The program really runs, on real tensors. What it writes to is put back by whoever records (:mod:`._observe`).
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch
from torch import _pytree as pytree
from torch import _seams
from torch.overrides import DisableTorchFunction, TorchFunctionMode

from . import _indexing, _leaves, _reads, _rows, _views
from ._errors import UserError, UserErrorType
from ._places import Places
from ._tape import Call, Ref, Tape, Value
from ._views import Held, Root, Step

#: in place, by giving the tensor another shape and not other values
_METADATA = {"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "detach_", "as_strided_"}
#: answers about tensors that are no computation
_ANSWERS = {"result_type", "can_cast", "promote_types", "is_coalesced", "sparse_dim", "dense_dim", "_nnz"}


_recording = threading.local()


def is_recording() -> bool:
    """Whether this thread is within a block whose calls are recorded."""
    return getattr(_recording, "depth", 0) > 0


class Recorder(TorchFunctionMode):
    """A mode under which the calls of a block are recorded on ``tape``."""

    def __init__(self, named: dict[str, torch.Tensor], buffers: set[str], root: torch.nn.Module | None) -> None:
        self.tape = Tape()
        self.places = Places(root)
        self._held: dict[int, Held] = {}
        self._roots: dict[int, list[Held]] = {}
        self._buffers = buffers
        self._is_within = False  # a function of torch.library, which may look at values
        for name, tensor in named.items():
            self.tape.named[name] = self._begin(tensor, ("named", name))

    # --- what is known ---

    def _begin(self, tensor: torch.Tensor, source: Any) -> int:
        n = self.tape.new(tensor)
        self._hold(Held(tensor, n, Root(n, tensor, source=source)))
        return n

    def input(self, index: int, tensor: torch.Tensor) -> None:
        """Make a leaf of the arguments an input of the program."""
        known = self._held.get(id(tensor))
        self.tape.inputs[index] = known.n if known is not None else self._begin(tensor, ("input", index))

    def _hold(self, held: Held) -> None:
        self._held[id(held.tensor)] = held
        if held.tensor.numel() and held.tensor.layout == torch.strided:
            self._roots.setdefault(_memory(held.tensor), []).append(held)

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's value by now."""
        held = self._held.get(id(tensor)) or self._adopt(tensor)
        if held.version != held.root.version:
            held.n = self._view_again(held)
            held.version = held.root.version
        return held.n

    def _view_again(self, held: Held) -> int:
        n = held.root.n
        for step in held.path:
            arguments = {k: v for k, v in step.arguments.items() if k != "start_of_part"}
            results = self._emit(step.name, {"self": Ref(n), **arguments})
            n = results[step.index or 0]
        return n

    def _adopt(self, tensor: torch.Tensor) -> Held:
        """A tensor that no recorded operator gave: another face of a known one, or a constant."""
        family = self._roots.get(_memory(tensor), []) if tensor.layout == torch.strided and tensor.numel() else []
        for other in family:
            if _geometry(other.tensor) == _geometry(tensor) and other.tensor.dtype == tensor.dtype:
                held = Held(tensor, self.number(other.tensor), other.root, other.path, other.root.version)
                self._hold(held)
                return held
        if family:
            if any(other.root.source == "constant" for other in family):
                family = []
            else:
                raise self.refuse(
                    "takes a view of a tensor in a way that is not recorded (memory shared by .data, NumPy or set_)"
                )
        n = self.tape.new(tensor)
        self.tape.constants[n] = tensor.detach().clone()
        held = Held(tensor, n, Root(n, tensor, source="constant"))
        self._hold(held)
        return held

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is an input, a parameter, a buffer, or computed."""
        held = self._held.get(id(tensor))
        return held is not None and held.root.source != "constant"

    def refuse(self, what: str, kind: UserErrorType = UserErrorType.ANTI_PATTERN) -> UserError:
        """The error for the line that runs now."""
        return UserError(kind, f"{self.places.here()}: the program {what}")

    # --- calls ---

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__getitem__":
            return self._within(_indexing.read, *args)
        if name == "__setitem__":
            return self._within(_indexing.write, *args)
        if isinstance(func, torch._ops.OpOverload) and func.namespace != "aten":
            return self._registered(func, args, kwargs)
        if name == "to" or name not in _rows.schemas():
            return self._other(func, name, args, kwargs)
        if _seams.is_casting():
            raise self.refuse("runs under autocast, which a recording does not see: call .to(dtype) instead")
        if name in _reads.OPERATORS:
            raise self.refuse(f"asks torch.{name}", UserErrorType.DYNAMIC_CONTROL_FLOW)
        if kwargs.get("out") is not None:
            raise self.refuse(f"calls {name}(out=...): use its result")
        schema, arguments = _rows.bind(name, args, kwargs)
        if _rows.is_write(schema):
            return self._write(func, name, schema, arguments, args, kwargs)
        return self._read(func, name, schema, arguments, args, kwargs)

    def _within(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        with self:
            return function(*args, **kwargs)

    def _registered(self, func, args, kwargs):
        """An operator of ``torch.library``: one call, whatever its functions do."""
        schema = func._schema
        if any(a.is_write for a in schema.arguments):
            raise self.refuse(f"calls {func.name()}, which writes to its arguments: {schema}")
        arguments = schema.bind(func.name(), args, kwargs)
        before, self._is_within = self._is_within, True
        try:
            return self._read(func, schema.name, schema, arguments, args, kwargs, func)
        finally:
            self._is_within = before

    def _other(self, func, name, args, kwargs):
        if name == "to":
            return self._to(func, args, kwargs)
        composed = getattr(func, "_composed", None) or getattr(func, "__wrapped__", None)
        if composed is not None:  # of operators: F.normalize
            return self._within(composed, *args, **kwargs)
        result = func(*args, **kwargs)
        if name in _ANSWERS or not any(isinstance(r, torch.Tensor) for r in pytree.tree_leaves(result)):
            return result
        raise self.refuse(f"calls {name}, which is no operator of the core")

    def _to(self, func, args, kwargs):
        """``to`` is a conversion of the dtype, a copy, or nothing."""
        x = args[0]
        number = Ref(self.number(x))
        result = func(*args, **kwargs)
        if result is x:
            return x
        if result.device != x.device:
            raise self.refuse(f"moves a tensor from {x.device} to {result.device}")
        results = self._emit("_to_copy", {"self": number, "dtype": result.dtype}, [result])
        self._result(result, results[0])
        return result

    def _read(self, func, name, schema, arguments, args, kwargs, target=None):
        values = {key: self._refer(value) for key, value in arguments.items()}
        place = self.places.here()
        result = func(*args, **kwargs)
        leaves = list(result) if isinstance(result, (tuple, list)) else [result]
        if not any(isinstance(r, torch.Tensor) for r in leaves):
            return result
        numbers: list[int | None] = []
        views = [self._shares(arguments, r) for r in leaves]
        start = 0
        for i, (leaf, base) in enumerate(zip(leaves, views, strict=True)):
            if not isinstance(leaf, torch.Tensor):
                numbers.append(None)
                continue
            held = self._held.get(id(leaf))
            if held is not None and base is not None and leaf is base.tensor:
                numbers.append(self.number(leaf))  # the tensor itself: nothing was computed
                continue
            numbers.append(self.tape.new(leaf))
            if base is None:
                self._result(leaf, numbers[-1])
            else:
                rest = {k: v for k, v in values.items() if k not in ("self", "input", "A")}
                if isinstance(result, (tuple, list)) and "dim" in rest:
                    rest["dim"] %= max(base.tensor.dim(), 1)
                    rest["start_of_part"] = start
                    start += leaf.shape[rest["dim"]] if leaf.dim() == base.tensor.dim() else 1
                step = Step(name, rest, i if isinstance(result, (tuple, list)) else None)
                path = (*base.path, step)
                self._hold(Held(leaf, numbers[-1], base.root, path, base.root.version))
        if isinstance(result, torch.Tensor) and views[0] is not None and result is views[0].tensor:
            return result
        self._append(name, schema, values, numbers, isinstance(result, torch.Tensor), place, target)
        return result

    def _shares(self, arguments, result):
        """The argument whose memory the result is a view of, or None."""
        if not isinstance(result, torch.Tensor) or result.layout != torch.strided:
            return None
        first = next((v for v in arguments.values() if isinstance(v, torch.Tensor)), None)
        if first is None or first.layout != torch.strided or not result.numel():
            return None
        return self._held.get(id(first)) if _memory(first) == _memory(result) else None

    def _result(self, tensor: torch.Tensor, n: int) -> None:
        self._hold(Held(tensor, n, Root(n, tensor)))

    def _refer(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return Ref(self.number(value))
        if isinstance(value, (tuple, list)):
            return [self._refer(v) for v in value]
        return value

    def _write(self, func, name, schema, arguments, args, kwargs):
        target = next(iter(arguments.values()))
        if name in _METADATA or name in ("resize_", "set_", "resize_as_"):
            raise self.refuse(f"calls {name}, which changes the shape of a tensor in place: use {name[:-1]}")
        plain = name[:-1]
        number = self.number(target)
        held = self._held[id(target)]
        if held.root.source == "constant":
            raise self.refuse(
                f"calls {name} on a tensor that is neither an input nor a buffer: make it a buffer (register_buffer), "
                "or clone it first"
            )
        values = [self._refer(v) for v in list(arguments.values())[1:]]
        names = list(arguments)[1:]
        result = func(*args, **kwargs)
        before = self.tape.values[number]
        if name in ("copy_", "fill_"):
            n = self._copied(number, values[0], before)
        elif name == "zero_":
            n = self.emit("zeros_like", number)
        elif plain not in _rows.schemas():
            raise self.refuse(f"calls {name}, which has no form that does not write")
        else:
            n = self._emit(plain, {"self": Ref(number), **dict(zip(names, values, strict=True))}, [target])[0]
            if any(isinstance(v, Ref) and self.tape.values[v.n].dtype != before.dtype for v in values):
                n = self.emit("_to_copy", n, dtype=before.dtype)
        self._replace(held, n)
        return result

    def _copied(self, number: int, source: Any, into: Value) -> int:
        if not isinstance(source, Ref):
            return self.emit("full_like", number, source)
        n, value = source.n, self.tape.values[source.n]
        if value.dtype != into.dtype:
            n = self.emit("_to_copy", n, dtype=into.dtype)
        return n if value.shape == into.shape else self.emit("expand", n, into.shape)

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
            if which not in self._buffers:
                raise self.refuse(f"writes to parameter {which!r}")
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
        operator = _seams.operator(name)
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
            given = operator(*schema.positional(real), **{k: v for k, v in schema.named(real).items() if v is not None})
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
        self.tape.calls.append(Call(name, target, values, keywords, defaults, numbers, single, place))

    def leaf(self, name: str, target: Any, arguments: dict, function: Any) -> Any:
        """A function that is recorded as one call."""
        place = self.places.here()
        with DisableTorchFunction():
            values = {key: self._refer(value) for key, value in arguments.items()}
            result = function()
        leaves = list(result) if isinstance(result, (tuple, list)) else [result]
        numbers = [self.tape.new(leaf) for leaf in leaves]
        for leaf, n in zip(leaves, numbers, strict=True):
            self._result(leaf, n)
        single = isinstance(result, torch.Tensor)
        self.tape.calls.append(Call(name, target, values, frozenset(), {}, numbers, single, place))
        return result

    # --- the whole program ---

    def _value_read(self, tensor: torch.Tensor, what: str) -> None:
        if self.knows(tensor) and not self._is_within:
            raise self.refuse(
                f"{what}, and goes on by its value: an exported program cannot (torch.where chooses by values; "
                "torch.jit.script keeps if and while)",
                UserErrorType.DYNAMIC_CONTROL_FLOW,
            )

    @contextlib.contextmanager
    def recording(self) -> Any:
        """The block whose calls are recorded."""
        with (
            torch.no_grad(),
            self.places.following(),
            _leaves.standing_in(self),
            _reads.watching(self._value_read),
            _reads.refusing_scripts(self.refuse),
            self,
        ):
            _recording.depth = getattr(_recording, "depth", 0) + 1
            try:
                yield self
            finally:
                _recording.depth -= 1

    def finish(self, result: Any) -> Tape:
        """Take the program's result."""
        leaves, self.tape.out_spec = pytree.tree_flatten(result)
        self.tape.outputs = [Ref(self.number(x)) if isinstance(x, torch.Tensor) else x for x in leaves]
        return self.tape


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


def _memory(tensor):
    return tensor.untyped_storage().data_ptr()


def _geometry(tensor):
    return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
