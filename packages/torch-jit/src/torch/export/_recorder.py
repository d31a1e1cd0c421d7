"""Records what a program computes while it runs once: a mode that sees every operator, and writes it down.

The program really runs, on real tensors. What it writes to is put back by whoever records (:mod:`._observe`).
"""

from __future__ import annotations

import collections
import contextlib
import threading
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import _pytree as pytree
from torch import _seams
from torch.compiler._guards import PLAIN
from torch.overrides import DisableTorchFunction, TorchFunctionMode

from . import _beneath, _grad_blocks, _indexing, _leaves, _nested, _reads, _rows
from ._errors import UserError, UserErrorType
from ._numbers import Facts
from ._places import Places, plain
from ._tape import Call, Ref, Tape, where
from ._values import Values
from ._views import Held, Root, Step
from ._writes import Writes

#: functions that make a tensor of numbers
_FRESH = {"tensor", "as_tensor", "asarray"}
#: answers about tensors, and constants of the program, that are no computation
_ANSWERS = {
    *_FRESH, "result_type", "can_cast", "promote_types", "is_coalesced", "sparse_dim", "dense_dim", "_nnz",
}  # fmt: skip


def _copied(x, dtype=None, device=None, requires_grad=False, pin_memory=False):
    copy = x.detach().to(dtype=dtype, device=device, copy=True)
    return copy.requires_grad_() if requires_grad else copy


def _converted(x, dtype=None, device=None):
    return x if dtype in (None, x.dtype) and device is None else x.to(dtype=dtype, device=device)


def _as_array(x, dtype=None, device=None, copy=None, requires_grad=None):
    x = x.to(dtype=dtype, device=device, copy=True) if copy else _converted(x, dtype, device)
    return x.detach() if requires_grad is False else x


_MADE_OF_ONE = {"tensor": _copied, "as_tensor": _converted, "asarray": _as_array}


_recording = threading.local()


def is_recording() -> bool:
    """Whether this thread is within a block whose calls are recorded."""
    return getattr(_recording, "depth", 0) > 0


#: why programs with quantized tensors are refused, and what to do
QUANTIZED = (
    "exported programs compute in floats and plain integers. Export the model of floats, before convert_fx or convert; "
    "torch.jit.trace and torch.jit.script keep quantized models"
)


class Recorder(Writes, Values, TorchFunctionMode):
    """A mode under which the calls of a block are recorded on ``tape``."""

    def __init__(
        self, named: dict[str, torch.Tensor], buffers: set[str], root: torch.nn.Module | None, forced: dict[int, Any] | None = None
    ) -> None:  # fmt: skip
        self.tape = Tape()
        self.places = Places(root)
        self.facts = Facts(lambda what: self.refuse(what, UserErrorType.DYNAMIC_CONTROL_FLOW), self.check)
        self._forced = forced or {}
        self._numbers: dict[int, Any] = {}
        self._preserved: frozenset[str] = frozenset()
        self._depth = 0  # of calls that are recorded as one
        self._inner: Recorder | None = None
        self._held: dict[int, Held] = {}
        self._roots: dict[int, list[Held]] = {}
        self._buffers = buffers
        #: told of each tensor that is met, and the number of its value
        self.met: Callable[[int, torch.Tensor], Any] | None = None
        self._fresh: dict[int, torch.Tensor] = {}  # made by the program, by numbers
        self._is_within = False  # a function of torch.library, which may look at values
        self.grad = self.tape.grad = torch.is_grad_enabled()
        self._function_called: tuple[str, str] | None = None
        self._counts: collections.Counter[str] = collections.Counter()
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

    def count(self, index: int, number: int) -> None:
        """Make an int among the arguments an input of the program."""
        self.tape.inputs[index] = self.tape.new_number(int(number))

    def _hold(self, held: Held) -> None:
        self._held[id(held.tensor)] = held
        if self.met is not None:
            self.met(held.n, held.tensor)
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
        family = self._family(tensor)
        for other in family:
            if _geometry(other.tensor) == _geometry(tensor) and other.tensor.dtype == tensor.dtype:
                held = Held(tensor, self.number(other.tensor), other.root, other.path, other.root.version)
                self._hold(held)
                return held
        if family:
            if any(other.root.source == "constant" for other in family):
                family = []
            else:
                if any(getattr(each, "is_quantized", False) for each in (tensor, *(other.tensor for other in family))):
                    raise self.refuse(f"makes a quantized tensor: {QUANTIZED}")
                raise self.refuse(
                    "takes a view of a tensor in a way that is not recorded (memory shared by .data, NumPy or set_)"
                )
        return self._from_outside(tensor)

    def _family(self, tensor):
        """What is known of the memory that a tensor looks at."""
        return self._roots.get(_memory(tensor), []) if tensor.layout == torch.strided and tensor.numel() else []

    def _from_outside(self, tensor):
        n = self.tape.new(tensor)
        self.tape.constants[n], self.tape.origins[n] = tensor.detach().clone(), where(tensor)
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

    def __torch_function__(self, func: Any, classes: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _seams.is_unrecorded():
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if self._function_called is None:
            with self._calling(func, name):
                return self._called(func, name, args, kwargs)
        return self._called(func, name, args, kwargs)

    @contextlib.contextmanager
    def _calling(self, func, name):
        """The outermost function of torch that the program calls, which its operators are noted with."""
        self._counts[name] += 1
        kind = "function" if isinstance(func, types.FunctionType) else "builtin_function_or_method"
        self._function_called = f"{name}_{self._counts[name]}", f"{kind}.{name}"
        try:
            yield
        finally:
            self._function_called = None

    def _called(self, func, name, args, kwargs):
        if func in _nested.HANDLERS:
            with self.busy():
                return _nested.call(self, func, args, kwargs)
        if getattr(func, "__module__", None) == "torch.autograd._gradients":  # whose operators are seen one by one
            return func(*args, **kwargs)
        if (name == "to" or name in _rows.schemas()) and _beneath.is_needed(args, kwargs):
            return func(*args, **kwargs)
        with self.busy():
            return self._function(func, name, args, kwargs)

    def _function(self, func, name, args, kwargs):
        if name == "__getitem__":
            return self._within(_indexing.read, *args)
        if name == "__setitem__":
            return self._within(_indexing.write, *args)
        if isinstance(func, _seams.RegisteredPacket):
            overload = _overload(func, args, kwargs)
            return func(*args, **kwargs) if overload is None else self._within(overload, *args, **kwargs)
        if isinstance(func, torch._ops.OpOverload) and func.namespace != "aten":
            return self._registered(func, args, kwargs)
        if name == "to" or name not in _rows.schemas():
            return self._other(func, name, args, kwargs)
        return self.operator(func, name, args, kwargs)

    def operator(self, func: Any, name: str, args: tuple, kwargs: dict) -> Any:
        """Record a call of an operator of the core."""
        if name in _reads.OPERATORS:
            raise self.refuse(f"asks torch.{name}", UserErrorType.DYNAMIC_CONTROL_FLOW)
        if kwargs.get("out") is not None:
            raise self.refuse(f"calls {name}(out=...): use its result")
        if any(isinstance(each, torch.Generator) for each in (*args, *kwargs.values())):
            raise self.refuse(
                f"gives {name} a generator, whose numbers no program keeps: leave it out, and call torch.manual_seed"
            )
        schema, arguments = _rows.bind(name, args, kwargs)
        if _rows.is_write(schema):
            return self._write(func, name, schema, arguments, args, kwargs)
        return self._read(func, name, schema, arguments, args, kwargs)

    def _within(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        before, self._depth = self._depth, 0
        try:
            with self:
                return function(*args, **kwargs)
        finally:
            self._depth = before

    is_busy = property(lambda self: self._depth > 0 or self._is_within or _seams.is_unrecorded())

    @contextlib.contextmanager
    def busy(self) -> Any:
        """A block whose operators are not recorded one by one: the call that makes them is."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def innermost(self) -> Recorder:
        """Who records now: this one, or that of a function within."""
        return self if self._inner is None else self._inner.innermost()

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
        data = "obj" if name == "asarray" else "data"
        if name in _FRESH and (args or data in kwargs):
            given, *rest = [*args, *(() if args else (kwargs.pop(data),))]
            if isinstance(given, torch.Tensor):
                return self._within(_MADE_OF_ONE[name], given, *rest, **kwargs)
            if any(isinstance(each, torch.Tensor) and self.knows(each) for each in pytree.tree_leaves(given)):
                raise self.refuse(
                    f"gives torch.{name} a list in which there are tensors, whose values would be constants: "
                    "torch.stack makes one tensor of several"
                )
            args = (given, *rest)
        result = func(*args, **kwargs)
        if name in _FRESH:
            self.fresh(result)
        if name in _ANSWERS or not any(isinstance(r, torch.Tensor) for r in pytree.tree_leaves(result)):
            return result
        raise self.refuse(f"calls {name}, which is no operator of the core")

    def fresh(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor that the program makes of numbers, a new one in each run."""
        self._fresh[id(tensor)] = tensor
        return tensor

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
        rows = _rows.found_in_values(name, arguments, leaves)
        if rows is not None:
            result, leaves = self._with_rows(result, leaves, *rows)
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
        if rows is not None:
            self._unknown(numbers[rows[1][0]], rows[0], leaves[rows[1][0]].shape[rows[0]], 0)
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

    def leaf(self, name: str, target: Any, arguments: dict, function: Any) -> Any:
        """A function that is recorded as one call."""
        place = self.places.here()
        with DisableTorchFunction(), self.busy():
            values = {key: self._refer(value) for key, value in arguments.items()}
            result = function()
        leaves = list(result) if isinstance(result, (tuple, list)) else [result]
        numbers = [self.tape.new(leaf) for leaf in leaves]
        for leaf, n in zip(leaves, numbers, strict=True):
            self._result(leaf, n)
        single = isinstance(result, torch.Tensor)
        self._note(Call(name, target, values, frozenset(), {}, numbers, single, place))
        return result

    # --- modules ---

    def preserve(self, names: tuple[str, ...]) -> None:
        """Keep the form of the calls of these modules."""
        self._preserved = frozenset(names)

    def _module_called(self, name, args, kwargs):
        self.tape.modules.append(name)
        if plain(name) not in self._preserved:
            return lambda result: None
        arguments = self._leaves_of((args, kwargs))

        def done(result):
            self.tape.module_calls[name] = (*arguments, *self._leaves_of(result))

        return done

    def _leaves_of(self, tree):
        leaves, spec = pytree.tree_flatten(tree)
        return [Ref(self.number(x)) if isinstance(x, torch.Tensor) else x for x in leaves], spec

    # --- functions within ---

    def nested(self, lifted: list[Ref]) -> Any:
        """A recorder for a function within; what it takes from here is added to ``lifted``."""
        from ._within import Within

        return Within(self, lifted)

    def again(self, function: Any, operands: Any) -> Any:
        """Call a function as a part of this program."""
        return self._within(function, *operands)

    def plainly(self, tensor: torch.Tensor) -> Any:
        """The value of a tensor in this run."""
        return self._plainly(tensor)

    def apart(self, function: Any) -> Any:
        """What a function gives, without recording it."""
        before, self._is_within = self._is_within, True
        try:
            with DisableTorchFunction():
                return _leaves.unseen(function)
        finally:
            self._is_within = before

    def higher_order(self, name: str, arguments: dict, results: list) -> None:
        """One call of an operator that takes functions."""
        numbers = [self.tape.new(r) for r in results]
        for tensor, n in zip(results, numbers, strict=True):
            self._result(tensor, n)
        target = getattr(torch.ops.higher_order, name)
        self._note(Call(name, target, arguments, frozenset(), {}, numbers, False, self.places.here()))

    # --- the whole program ---

    @contextlib.contextmanager
    def recording(self) -> Any:
        """The block whose calls are recorded."""
        with (
            torch.no_grad(),
            _grad_blocks.watching(self),
            self.places.following(self._module_called),
            _leaves.standing_in(self),
            _reads.watching(self._value_read),
            _reads.refusing_scripts(self.refuse),
            _reads.refusing_data(self.refuse),
            _beneath.Beneath(self),
            self,
        ):
            _recording.depth = getattr(_recording, "depth", 0) + 1
            try:
                yield self
            finally:
                _recording.depth -= 1

    def finish(self, result: Any) -> Tape:
        """Take the program's result."""
        self.tape.bounds = self.facts.bounds
        leaves, self.tape.out_spec = pytree.tree_flatten(result)
        for leaf in leaves:
            kind = type(leaf)
            if not isinstance(leaf, (torch.Tensor, *PLAIN)) and not kind.__module__.startswith("torch"):
                raise UserError(
                    UserErrorType.INVALID_OUTPUT,
                    f"export: the result has a {kind.__qualname__}: a program gives tensors, numbers, texts and None, in "
                    "lists, tuples, dicts and what torch.utils._pytree.register_pytree_node names",
                )
        self.tape.outputs = [Ref(self.number(x)) if isinstance(x, torch.Tensor) else x for x in leaves]
        return self.tape


def _overload(packet, args, kwargs):
    """The overload of a name of ``torch.ops`` that a call is for; None where none is."""
    found = list(packet._overloads.values())
    for each in found if len(found) > 1 else ():
        try:
            each._schema.bind(each.name(), args, kwargs, types=True)
        except RuntimeError:
            continue
        return each
    return found[0] if len(found) == 1 else None


def _memory(tensor):
    return tensor.untyped_storage().data_ptr()


def _geometry(tensor):
    return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
