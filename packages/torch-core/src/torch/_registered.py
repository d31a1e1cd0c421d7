"""Operators that programs bring, by namespace: a schema, functions by device, and what else is known of each. torch.library
writes here, torch.ops reads.

A call binds its arguments by the schema and goes through the layers of torch._C as every operator does (``_add_operator``):
autocast, autograd, vmap, modes. There it takes the first that there is:

1. with a tensor that requires a gradient: a function for Autograd, else the derivative that was registered;
2. the function for the device of its tensors ("CPU", "CUDA", "Meta", where a fake serves as well);
3. one for every device ("CompositeExplicitAutograd", "CompositeImplicitAutograd").
"""

import functools
import threading
from dataclasses import replace
from sys import modules

from . import _C
from ._dispatch import asks, offer
from ._overloads import IN_ROWS, OpOverload, OpOverloadPacket
from ._parts import need
from ._schemas import Schema

PACKETS: dict[tuple[str, str], "Packet"] = {}
OPERATORS: dict[str, dict[str, "Operator"]] = {}  # namespace: name with overload: operator
WAITING: dict[str, dict] = {}  # qualified name: what was registered before the operator was defined
LOCK = threading.RLock()

#: names that programs give to devices, and those of the keys
DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "hpu": "HPU"}
FOR_ALL = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")
KEYS = {
    *DEVICE_KEYS.values(),
    *FOR_ALL,
    "Autograd",
    *(f"{layer}{key}" for layer in ("Autograd", "Autocast") for key in DEVICE_KEYS.values()),
    "PrivateUse1",
}
AUTOCAST = {f"Autocast{key}" for key in DEVICE_KEYS.values()}
KEYS |= {
    "ADInplaceOrView",
    "BackendSelect",
    "Functionalize",
    "SparseCPU",
    "QuantizedCPU",
}


#: numbers of dispatch keys (core/include/torch/core/device.h), the first of which are those of devices
DEVICES, META, WRAPPED, AUTOGRAD = ("CPU", "CUDA", "Meta"), 2, 5, 6

FUNCTION_OF_CPP, FUNCTION_OF_PYBIND = type(_C._operator("add")), type(len)

#: what extensions bound by pybind11, as tuples that _C._take_registrations gives: functions of types that rows lack
BOUND = []
#: classes of extensions that could not be registered, in words
REFUSED = []

#: functions (operator, arguments by name) -> result or NotImplemented, for calls with tensors that are wrappers
around = []


class Operator(OpOverload):
    """One operator: ``torch.ops.namespace.name.overload``."""

    def __init__(self, namespace, schema, tags=()):
        self.namespace, self._schema, self.tags = namespace, replace(schema, namespace=namespace), list(tags)
        self.kernels, self.fake, self.backward, self.setup_context = {}, None, None, None
        self.autocast, self.disabled = {}, set()
        self.batch_rule, self.dispatch_rules = None, {}
        self.symm_mem_args = None  # frozenset of names, from Library.register_symm_mem_args
        self.opaque = False  # whether gradients stop at its functions, as at those of torch.library.custom_op
        self.__name__ = f"{schema.name}.{self._overloadname}"
        self.__qualname__, self.__module__ = self.__name__, f"torch._ops.{namespace}"
        self.__doc__ = str(self._schema)

    @property
    def overloadpacket(self):
        """All overloads of the name."""
        return getattr(Namespace(self.namespace), self._schema.name)

    @property
    def _overloadname(self):
        return self._schema.overload or "default"

    _opname = property(lambda self: self._schema.name)

    @property
    def _qualified_op_name(self):
        return f"{self.namespace}::{self._schema.name}"

    def name(self):
        """As schemas name it: ``mylib::add.Tensor``."""
        overload = self._schema.overload
        return f"{self._qualified_op_name}.{overload}" if overload else self._qualified_op_name

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._schema.name}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self._schema.name}.{self._overloadname}"

    def has_kernel_for_dispatch_key(self, key):
        """Whether a function was registered for the key itself."""
        return getattr(key, "name", key) in self.kernels

    def __call__(self, *args, **kwargs):
        if overridden(args, kwargs):
            from .overrides import handle_torch_function

            return handle_torch_function(self, (*args, *kwargs.values()), *args, **kwargs)
        arguments = self._schema.bind(self.name(), args, kwargs)
        if (own := self._autocast_kernel(arguments)) is not None:
            return self._plain(own, arguments)
        if self.autocast and (dtype := self._autocast_dtype(list(_tensors(arguments.values())))) is not None:
            arguments = {k: _cast(v, dtype) for k, v in arguments.items()}
        return self.call(arguments)

    def call(self, arguments):
        """The result for arguments by name, through all layers."""
        if (row := self._row) is None:
            result = self._without_row(arguments)
            self._note_changes(arguments)
            return result
        try:
            result = row(*self._schema.positional(arguments), **self._schema.named(arguments))
        except TypeError:
            if (wrong := self._schema.misfit(self.name(), arguments)) is not None:
                raise RuntimeError(wrong) from None
            raise
        return list(result) if self._schema.returns == ["Tensor[]"] else result

    @functools.cached_property
    def _row(self):
        """The operator of torch._C that calls go through; None where the schema has types that it has not."""
        text = self._schema.as_row(self.namespace)
        if text is None:
            return None
        IN_ROWS[text] = self
        return _C._add_operator(text, self._at_key)

    def _at_key(self, key, *values):
        """What the operator does at a dispatch key of a call, for values in the schema's order; NotImplemented: go on below."""
        arguments = dict(zip((a.name for a in self._schema.arguments), values, strict=True))
        if key <= META:
            return self._plain(self._kernel(DEVICES[key]), arguments)
        if key == WRAPPED:
            for take in around:
                if (result := take(self, arguments)) is not NotImplemented:
                    return result
        if key == AUTOGRAD and need("autograd").is_grad_enabled():
            return self._recorded(arguments, _device_of(_tensors(values)))
        return NotImplemented

    def _recorded(self, arguments, device):
        for key in (f"Autograd{device}", "Autograd"):
            if key in self.kernels:
                return self._plain(self.kernels[key], arguments)
        if self.backward is not None or self.opaque:
            from ._registered_gradients import apply

            return apply(self, arguments)
        return self._plain(self._kernel(device), arguments)  # gradients pass through what it consists of

    def _plain(self, function, arguments):
        if type(function) in (FUNCTION_OF_CPP, FUNCTION_OF_PYBIND):  # which have no names
            try:
                return function(*(arguments[a.name] for a in self._schema.arguments))
            except TypeError:
                if (wrong := self._schema.misfit(self.name(), arguments)) is not None:
                    raise RuntimeError(wrong) from None
                raise
        result = function(*self._schema.positional(arguments), **self._schema.named(arguments))
        if self._has_numbers:  # tensors are looked at by torch._C
            return self._schema.result(self.name(), result)
        return result

    @functools.cached_property
    def _has_numbers(self):
        return self._row is None or any(kind != "Tensor" and kind != "Tensor[]" for kind in self._schema.returns)

    def _without_row(self, arguments):
        """The same steps for an operator whose arguments torch._C does not know: lists of numbers or of lists, texts."""
        tensors = list(_tensors(arguments.values()))
        keys = [WRAPPED, DEVICES.index(_device_of(tensors)) if _device_of(tensors) in DEVICES else 0]
        if any(t.requires_grad for t in tensors):
            keys.insert(0, AUTOGRAD)
        for key in keys:
            if key <= META and (found := asks(list(arguments.values()))) is not None:
                return offer(self, self._schema.positional(arguments), self._schema.named(arguments), found)
            if (result := self._at_key(key, *arguments.values())) is not NotImplemented:
                return result
        raise AssertionError(f"{self.name()}: no dispatch key answered")

    def _note_changes(self, arguments):
        """Raises the versions of tensors that were written to, as rows do by themselves."""
        autograd = modules.get("torch.autograd") if self._schema.written else None
        if autograd is not None:  # or nothing keeps tensors for a backward pass
            for tensor in _tensors([arguments[name] for name in self._schema.written]):
                if not tensor.is_inference():
                    autograd.graph.increment_version(tensor)

    def _kernel(self, device):
        pull()
        if device == "Meta" and self.fake is not None:
            return self.fake
        for key in (device, *(FOR_ALL if device != "Meta" or not self.opaque else ())):
            if key in self.kernels and key not in self.disabled:
                return self.kernels[key]
        if device == "Meta":
            raise NotImplementedError(
                f"{self.name()}: no function is registered for tensors of device 'meta': add one by torch.library.register_fake"
            )
        found = ", ".join(sorted(self.kernels)) or "none"
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{device}' backend: functions are registered for {found}"
        )

    def _autocast_kernel(self, arguments):
        """The function that was registered for autocast on the device of the tensors, where that is on; else None."""
        if self.kernels.keys().isdisjoint(AUTOCAST):
            return None
        import torch

        device = _device_of(list(_tensors(arguments.values())))
        function = self.kernels.get(f"Autocast{device}")
        return function if function is not None and torch.is_autocast_enabled(device.lower()) else None

    def _autocast_dtype(self, tensors):
        for device, dtype in self.autocast.items():
            if any(t.device.type == device for t in tensors):
                import torch

                if torch.is_autocast_enabled(device):
                    return dtype
        return None


def _device_of(tensors):
    """The key of the first device that is not the CPU."""
    for tensor in tensors:
        if tensor.device.type != "cpu":
            return DEVICE_KEYS[tensor.device.type]
    return "CPU"


def overridden(args, kwargs):
    """Whether an argument brings ``__torch_function__``, or a mode is there to see the call."""
    overrides = modules.get("torch.overrides")
    if overrides is None and all(
        type(a) is _C.Tensor or not hasattr(type(a), "__torch_function__") for a in (*args, *kwargs.values())
    ):
        return False
    from .overrides import has_torch_function

    return has_torch_function((*args, *kwargs.values()))


def _tensors(values):
    for value in values:
        if isinstance(value, _C.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, _C.Tensor))


def _cast(value, dtype):
    if isinstance(value, _C.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype != _C.float64 else value
    return type(value)(_cast(item, dtype) for item in value) if isinstance(value, (list, tuple)) else value


def define(namespace, text, tags=()):
    """A new operator by its schema; RuntimeError when there is one of that name."""
    schema = Schema.parse(text)
    with LOCK:
        operators = OPERATORS.setdefault(namespace, {})
        if schema.full_name in operators:
            raise RuntimeError(
                f"Tried to register an operator ({namespace}::{schema}) with the same name and overload name multiple times"
            )
        operator = operators[schema.full_name] = Operator(namespace, schema, tags)
        for name, value in WAITING.pop(operator.name(), {}).items():
            current = getattr(operator, name)
            if not isinstance(current, dict):
                setattr(operator, name, value)
            else:
                current.update({key: _of_schema(item, operator) for key, item in value.items()})
    return operator


def forget(operator):
    """Take an operator out."""
    with LOCK:
        OPERATORS.get(operator.namespace, {}).pop(operator._schema.full_name, None)


def pull():
    """Take over what C++ programs registered by TORCH_LIBRARY since the last time; RuntimeError names the lines of what is
    wrong, and the rest is there."""
    wrong = [REFUSED.pop(0) for _ in range(len(REFUSED))]
    bound = [BOUND.pop(0) for _ in range(len(BOUND))]
    for namespace, name, schema, key, function, file, line in [*_C._take_registrations(), *bound]:
        where = f" (registered at {file}:{line})"
        try:
            if schema:
                define(namespace, schema)
            if function is not None:
                qualified = f"{namespace}::{name}"
                known = operator = find(qualified)
                known = vars(known) if known is not None else WAITING.get(qualified, {})
                if key not in KEYS:
                    raise RuntimeError(
                        f"TORCH_LIBRARY_IMPL: no such dispatch key: {key!r}; there are {', '.join(sorted(KEYS))}"
                    )
                if key in known.get("kernels", {}):
                    raise RuntimeError(f"there is already a function registered for {qualified} and key {key}")
                if operator is not None:
                    function = _of_schema(function, operator)
                note(qualified, kernels={key: function})
        except RuntimeError as error:
            wrong.append(f"{error}{where}")
    if wrong:
        raise RuntimeError("\n".join(wrong))


def _of_schema(function, operator):
    """A boxed function of C++, which comes as a capsule, with the signature of its operator; others as they are."""
    if type(function).__name__ != "PyCapsule":
        return function
    if (text := operator._schema.as_row(operator.namespace)) is not None:
        return _C._operator_of_boxed(function, text)

    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"{operator.name()}: its function of C++ cannot be called, since its schema has types or results that such "
            f"functions are not given here: {operator._schema}"
        )

    return refuse


def split(qualified):
    """Namespace and name of ``namespace::name.overload``.

    >>> split("mylib::add.Tensor")
    ('mylib', 'add.Tensor')
    """
    namespace, colons, name = qualified.partition("::")
    if not colons or not namespace or not name or "::" in name:
        raise ValueError(f"expected the name of an operator as 'namespace::name', got {qualified!r}")
    return namespace, name.removesuffix(".default")


def find(qualified):
    """The operator of that name, or None."""
    namespace, name = split(qualified)
    return OPERATORS.get(namespace, {}).get(name)


def note(qualified, **known):
    """Tell what is known of an operator; it may be defined later."""
    with LOCK:
        if (operator := find(qualified)) is None:
            namespace, name = split(qualified)
            waiting = WAITING.setdefault(f"{namespace}::{name}", {})
        else:
            waiting = vars(operator)
        for name, value in known.items():
            if isinstance(value, dict):
                waiting.setdefault(name, {}).update(value)
            else:
                waiting[name] = value


class Packet(OpOverloadPacket):
    """The overloads of one name: ``torch.ops.namespace.name``; a call takes the first whose schema fits."""

    def __init__(self, namespace, name, overloads):
        self._qualified_op_name, self.__name__, self._overloads = f"{namespace}::{name}", name, overloads
        self.__module__ = f"torch.ops.{namespace}"

    def overloads(self):
        """The names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_overloads" or name not in self._overloads:
            raise AttributeError(f"The underlying op of '{self._qualified_op_name}' has no overload name '{name}'")
        return self._overloads[name]

    def __call__(self, *args, **kwargs):
        if overridden(args, kwargs):
            from .overrides import handle_torch_function

            return handle_torch_function(self, (*args, *kwargs.values()), *args, **kwargs)
        if len(self._overloads) == 1:
            return next(iter(self._overloads.values()))(*args, **kwargs)
        troubles = []
        for operator in self._overloads.values():
            try:
                operator._schema.bind(operator.name(), args, kwargs, types=True)
            except RuntimeError as error:
                troubles.append(str(error))
            else:
                return operator(*args, **kwargs)
        raise RuntimeError(f"{self._qualified_op_name}: no overload takes these arguments:\n" + "\n".join(troubles))

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._qualified_op_name.replace('::', '.')}')>"

    __str__ = lambda self: self._qualified_op_name.replace("::", ".")


class Namespace:
    """``torch.ops.namespace``: the operators that programs registered under it."""

    def __init__(self, name):
        self._name = self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        pull()
        operators = OPERATORS.get(self._name, {})
        found = {op._overloadname: op for op in list(operators.values()) if op._schema.name == name}
        if not found:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'", name=name, obj=self)
        packet = PACKETS.get((self._name, name))
        if packet is None:
            packet = PACKETS.setdefault((self._name, name), Packet(self._name, name, found))
        packet._overloads = found
        return packet

    def __dir__(self):
        return sorted({op._schema.name for op in OPERATORS.get(self._name, {}).values()})

    def __repr__(self):
        return f"<namespace torch.ops.{self._name}>"
