"""One run of a function, watched: which operators it calls, what it reads from outside, what it does that no graph can.

The run is the program's own: it computes the result of the first call. Whatever is not understood makes the
observation void (``stop``), and the run goes on as plain Python.
"""

from __future__ import annotations

import collections
import enum
import functools
import gc
import operator
import os
import sys
import threading
import types
import weakref

import torch
from torch.jit import _ir as ir
from torch.jit import _trace

from . import _attributes, _calls, _instrument, _special
from ._guards import Guards, is_plain, layout_of, of_class, state_of_thread
from ._tables import (
    DICTS,
    HEAP,
    INDEXED,
    Operator,
    has_dict,
    is_quiet,
    module_class,
    of_torch,
    tensor_classes,
    tensors_in,
)

_HERE = os.path.dirname(os.path.abspath(__file__))
_thread = threading.local()
#: how many leaves a container from outside may have
_MOST = 512


def current():
    """The observation of this thread, or None."""
    return getattr(_thread, "observer", None)


class Reason:
    """Why a program is not captured, and where."""

    def __init__(self, text, frames):
        self.text, self.frames = text, frames

    def __str__(self):
        at = self.frames[-1] if self.frames else None
        return f"{self.text} ({at[0]}:{at[1]} in {at[2]})" if at else self.text

    __repr__ = __str__


class Watch:
    """What instrumented code calls, for one function with the variables around it."""

    def __init__(self, observer, cells):
        self.observer, self.cells = observer, cells
        for name in (
            "load",
            "attr",
            "call",
            "item",
            "sliced",
            "iter",
            "store",
            "store_item",
            "augmented",
            "augment",
            "manager",
            "imported",
            "compared",
            "raised",
            "caught",
            "place",
        ):
            setattr(self, name, getattr(observer, name))

    def cell(self, value, name):
        """A variable of an enclosing function was read."""
        if self.observer.reason is None:
            self.observer.outside_value(value, ("cell", self.cells[name]))
        return value


class Observer:
    """Watches one call; ``__torch_watch`` within the functions that run."""

    def __init__(self):
        self.guards, self.reason = Guards(), None
        self.graph = ir.Graph()
        self.tracer = ir._native.Tracer(self.graph)
        self.tracer.set_observing(True)
        self.tracer.set_reads(self.read)
        self.recording, self.working = None, False
        self.strange = None  # a class of arguments that cannot be captured, where others can
        self.inputs, self.input_of = [], {}  # slots of tensors; id -> number
        self.examples = []
        self.known = {}  # id -> (object, source, whether it stands under the arguments)
        self.outside = set()  # ids of containers and objects that were there before
        self.kept, self.codes, self.trusted = [], set(), 0
        self.made = set()  # ids of objects that were made within
        self.loose = set()  # ids of objects that another one of their class may stand for
        self.tensors = set()
        self.constant_values = set()
        self.state = state_of_thread()
        self.grad = self.entry_grad = torch.is_grad_enabled()
        self.error = None  # what a function that is followed raised
        self.sets_grad = self.catches = False

    # --- void ---

    def stop(self, text, frame=None):
        """The observation is void; what is void once stays so."""
        if self.reason is None:
            self.reason = Reason(text, _frames(frame or sys._getframe(1)))
            if self.recording is not None:
                self.recording.end()

    def read(self, tensor, what):
        """Told by the core: a value of a tensor became a number of the program."""
        self.stop(f"a value of a tensor is read ({what})", sys._getframe(1))

    # --- what comes from outside ---

    def outside_value(self, value, source, of_arguments=False):
        """Guard a value that the function reads from outside, and remember where it comes from."""
        if self.reason is not None:
            return value
        guards = self.guards
        if is_plain(value):
            guards.check("equal", source, value)
            return value
        seen = self.known.get(id(value))
        if seen is not None:
            if seen[1] != source:
                guards.check("same", source, guards.slot(seen[1]))
            return value
        kind = type(value)
        self.known[id(value)] = (value, source, of_arguments)
        self.guards.slot(source)
        self.outside.add(id(value))
        if isinstance(value, torch.Tensor):
            return self._tensor(value, source)
        if kind in (list, tuple, torch.Size) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            if len(value) > _MOST:
                self.stop(f"{_say(source)} has {len(value)} items")
                return value
            guards.check("type", source, kind)
            guards.check("len", source, len(value))
            for i, item in enumerate(tuple(value)):
                self.outside_value(item, ("index", source, i), of_arguments)
        elif kind in (dict, *DICTS):
            names = list(value)
            if len(names) > _MOST or not all(map(is_plain, names)):
                self.stop(f"{_say(source)} has keys that are no texts or numbers, or too many")
                return value
            guards.check("type", source, kind)
            guards.check("keys", source, tuple(names))
            for name in names:
                self.outside_value(value[name], ("key", source, name), of_arguments)
        elif kind in (set, frozenset):
            if not all(map(is_plain, value)):
                self.stop(f"{_say(source)} is a set of objects")
                return value
            guards.check("type", source, kind)
            guards.check("keys", source, tuple(value))
        elif kind is slice:
            guards.check("type", source, slice)
            for name in ("start", "stop", "step"):
                self.outside_value(getattr(value, name), ("attr", source, name), of_arguments)
        elif str(kind.__module__).startswith("torch.fx"):
            self.strange = kind
            self.stop(f"{_say(source)} is a {kind.__qualname__}")
        elif of_arguments and not _is_fixed(value) and has_dict(value):
            guards.check("type", source, kind)
            self.loose.add(id(value))
        elif kind is types.MethodType:
            guards.check("type", source, kind)
            self.outside_value(value.__func__, ("attr", source, "__func__"))
            self.outside_value(value.__self__, ("attr", source, "__self__"), of_arguments)
        elif kind is functools.partial:
            guards.check("type", source, kind)
            for name in ("func", "args", "keywords"):
                self.outside_value(getattr(value, name), ("attr", source, name), of_arguments)
        elif isinstance(value, types.BuiltinFunctionType) and not isinstance(
            value.__self__, (type(None), types.ModuleType, type)
        ):
            self.stop(f"{_say(source)} is a method of a {type(value.__self__).__qualname__}")
        elif _is_fixed(value) or has_dict(value) or isinstance(value, Operator):
            guards.check("is", source, value)
            if isinstance(value, module_class()):
                guards.check("type", source, kind)
        else:
            self.stop(f"{_say(source)} is a {kind.__module__}.{kind.__qualname__}, which is not followed")
        return value

    def _tensor(self, value, source):
        if type(value) is not torch.Tensor and type(value) not in tensor_classes():
            self.strange = type(value)
            self.stop(f"{_say(source)} is a tensor of the class {type(value).__qualname__}")
            return value
        if value.layout is not torch.strided or value.device.type == "meta" or getattr(value, "is_nested", False):
            self.stop(f"{_say(source)} is a tensor of layout {value.layout} on {value.device}")
            return value
        guards = self.guards
        guards.check("tensor", source, layout_of(value))
        slot = guards.slot(source)
        v = self.graph.addInput(f"input_{len(self.inputs)}", ir.TensorType.get())
        if self.tracer.has_value(value):
            self.stop(f"{_say(source)} is a tensor that has been in use before it was read")
        self.tracer.set_value(value, v)
        self.input_of[id(value)] = len(self.inputs)
        self.inputs.append(slot)
        self.examples.append(value)
        self.tensors.add(id(value))
        self.kept.append(value)
        return value

    def told_apart(self):
        """Slots of objects that must not be one: where another object may stand for what was seen, it could be any of its class."""
        loose = {type(self.known[i][0]) for i in self.loose}
        kinds = (list, dict, set, tuple, *loose)
        apart = [v for v in self.known.values() if isinstance(v[0], kinds) and not (type(v[0]) is tuple and not v[0])]
        return [self.guards.slot(source) for _, source, _ in apart]

    def arguments(self, args, kwargs):
        """What the function is called with."""
        self.guards.check("len", ("args",), len(args))
        self.guards.check("keys", ("kwargs",), tuple(kwargs))
        for i, value in enumerate(args):
            self.outside_value(value, ("index", ("args",), i), True)
        for name, value in kwargs.items():
            self.outside_value(value, ("key", ("kwargs",), name), True)

    # --- what instrumented code calls ---

    def load(self, value, name):
        """A global or builtin was read."""
        frame = sys._getframe(1)
        if self.reason is None:
            space = frame.f_globals
            if name in space:
                self.outside_value(value, ("key", ("const", space), name))
            else:
                self.guards.check("absent", ("const", space), name)
        return value

    def attr(self, value, name):
        """``value.name``."""
        if self.reason is not None:
            return getattr(value, name)
        return _attributes.attribute(self, value, name)

    def call(self, function):
        """``function(...)``: what is called in its place."""
        if self.reason is None and _calls.is_strange(function):
            self.stop(f"{_calls.named(function)}() is called")
        if self.reason is not None:
            return function
        return lambda *args, **kwargs: _calls.call(self, function, args, kwargs)

    def apply(self, function, *args):
        """``function(*args)``, watched."""
        return _calls.call(self, function, args, {})

    def item(self, value, key):
        """``value[key]``."""
        if self.reason is None and type(value) not in INDEXED:
            if isinstance(of_class(type(value), "__getitem__"), types.FunctionType):
                return self.apply(self.method(value, "__getitem__"), key)
            if isinstance(value, torch.Tensor):
                key = self.place(key)
            elif type(value) is collections.defaultdict and id(value) in self.outside and key not in value:
                self.stop("a defaultdict from outside gets a key")
        return value[key]

    def place(self, key):
        """An index of a tensor: one that is a tensor without dims is read as a number; a list of numbers is a constant."""
        if self.reason is None:
            if type(key) is tuple:
                return tuple(map(self.place, key))
            if type(key) is list and key and all(type(k) is int for k in key):
                recording = ir._native.Recording(None)
                made = torch.tensor(key)
                recording.end()
                self.give_constant(made)
                return made
            for t in tensors_in(key):
                if t.dim() == 0 or t.dtype in (torch.bool, torch.uint8):
                    self.stop("a tensor is an index by its value")
        return key

    def sliced(self, value):
        """``value[a:b]``."""
        if type(value) not in INDEXED and not isinstance(value, torch.Tensor):
            self.stop(f"a {type(value).__qualname__} is sliced")
        return value

    def iter(self, value):
        """``for each in value``."""
        if self.reason is None and type(value) not in INDEXED:
            if not isinstance(value, torch.Tensor) and isinstance(
                of_class(type(value), "__iter__"), types.FunctionType
            ):
                return self.apply(self.method(value, "__iter__"))
            if isinstance(value, torch.Tensor):
                return iter(value.unbind(0)) if value.dim() else iter(value)
        return value

    def method(self, value, name):
        """A method that the class of a value has, guarded."""
        self.class_has(type(value), name)
        return types.MethodType(of_class(type(value), name), value)

    def class_has(self, kind, name):
        """Guard what a class has under a name."""
        if self.reason is None and kind.__flags__ & HEAP:
            self.guards.check("class", ("const", kind), name, of_class(kind, name))

    def store(self, value, name):
        """``value.name = ...``: the value, if it was made within."""
        if self.reason is None and (
            id(value) in self.outside or not has_dict(value) or isinstance(value, torch.Tensor)
        ):
            self.stop(f"the attribute {name} of a {type(value).__qualname__} is set", sys._getframe(1))
        return value

    def store_item(self, value, in_place=False):
        """``value[...] = ...``."""
        if self.reason is None and not isinstance(value, torch.Tensor):
            if id(value) in self.outside or type(value) not in (list, dict, *DICTS):
                self.stop(f"an item of a {type(value).__qualname__} from outside is set", sys._getframe(1))
            elif in_place and any(id(v) in self.outside and not isinstance(v, torch.Tensor) for v in _values(value)):
                self.stop("an item of a container is changed in place", sys._getframe(1))
        return value

    def augmented(self, value):
        """``name += ...``."""
        if (
            self.reason is None
            and id(value) in self.outside
            and not isinstance(value, torch.Tensor)
            and not is_plain(value)
        ):
            if type(value) is not tuple:
                self.stop(f"a {type(value).__qualname__} from outside is changed in place", sys._getframe(1))

    def augment(self, value, name, op, later):
        """``value.name += later()``: of a tensor, a call in place that needs no store."""
        held = self.attr(value, name)
        made = _IN_PLACE[op](held, later())
        if made is held and isinstance(made, torch.Tensor):
            return
        self.store(value, name)
        setattr(value, name, made)

    def compared(self, value):
        """``value is ...``: objects are told apart by the guards, numbers and texts are not."""
        if self.reason is None and type(value) in (int, float, complex, str, bytes):
            self.stop(f"a {type(value).__name__} is compared by identity")
        return value

    def raised(self, error):
        """``raise error``."""
        self.error = error() if isinstance(error, type) and issubclass(error, BaseException) else error
        return self.error

    def caught(self):
        """``except``: of what another than the function itself raised. No program says it, and values may decide."""
        if sys.exc_info()[1] is not self.error:
            self.stop("an exception is caught", sys._getframe(1))

    def manager(self, value):
        """``with value:``."""
        return value if self.reason is not None else _special.manager(self, value)

    def imported(self, value, module, name, level):
        """``from module import name`` within a function."""
        if self.reason is None:
            frame = sys._getframe(1)
            module = _absolute(module, level, frame.f_globals)
            space = vars(sys.modules[module]) if module in sys.modules else {}
            if isinstance(value, types.ModuleType):
                return value
            if space.get(name) is value:
                self.outside_value(value, ("key", ("const", space), name))
            else:
                self.stop(f"{name} is imported from {module}")
        return value

    # --- beneath ---

    def follow(self, function, args, kwargs):
        """Call a function of Python, watched."""
        self.working = True
        try:
            code = _instrument.instrumented(function.__code__)
        except _instrument.Opaque as why:
            code = None
            self.stop(f"{function.__qualname__} cannot be followed: {why}")
        finally:
            self.working = False
        if code is None:
            return function(*args, **kwargs)
        for value, source in _defaults(function):
            self.outside_value(value, source)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        self.catches = self.catches or code in _instrument.catching
        if code not in self.codes:
            _add_codes(self.codes, code)
        self.kept.append(function)
        own = {**cells, _instrument.WATCH: types.CellType(Watch(self, cells))}
        made = types.FunctionType(
            code,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            tuple(own[n] for n in code.co_freevars),
        )
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__ = function.__qualname__
        return made(*args, **kwargs)

    def trust(self, function, args, kwargs):
        """Call what depends on its arguments alone and is not to be looked into."""
        self.trusted += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.trusted -= 1

    def profile(self, frame, event, arg):
        """Python's own account of what runs: a function that is neither followed nor trusted makes the observation void."""
        if event != "call" or self.reason is not None or self.working:
            return
        code = frame.f_code
        if code in self.codes:
            return
        file = code.co_filename
        if (
            file.startswith(_HERE)
            or file in _QUIET
            or (file == "<string>" and code.co_name in ("__init__", "__new__", "__eq__", "<lambda>"))
        ):
            return
        if file.startswith(("<frozen importlib", _IMPORTLIB)) or (
            is_quiet(file) or (self.trusted and of_torch(file) is not None)
        ):
            return
        self.stop(f"{code.co_name} ({os.path.basename(file)}:{code.co_firstlineno}) runs by itself", frame.f_back)

    def where(self):
        """Called before each operator is recorded: modes that it runs in are part of the program."""
        grad = torch.is_grad_enabled()
        if grad != self.grad:
            self.grad, self.sets_grad = grad, True
            self.graph.call("aten::set_grad_enabled", [grad])
        if state_of_thread()[1:] != self.state[1:]:
            self.stop("modes of operators are changed")
        frame = sys._getframe(1)
        while frame is not None and of_torch(frame.f_code.co_filename) is not None:
            frame = frame.f_back
        if frame is None:
            return None
        return (frame.f_code.co_filename, frame.f_lineno, 0, ""), ""

    def result(self, value):
        """Tensors that a call in C gave have to be known to the recording."""
        for t in tensors_in(value):
            if self.tracer.has_value(t) and t.layout is torch.strided:
                if id(t) not in self.tensors:
                    self.tensors.add(id(t))
                    self.kept.append(t)
                continue
            return False
        return True

    def give_constant(self, tensor):
        """A tensor that the program makes of numbers: a new one at each call."""
        recording = ir._native.Recording(None)
        try:
            constant = self.graph.insertConstant(tensor.clone())
            self.constant_values.add(constant.unique())
            value = self.graph.call("clone", [constant])
            value.inferTypeFrom(tensor)
            self.tracer.set_value(tensor, value)
        finally:
            recording.end()
        self.tensors.add(id(tensor))
        self.kept.append(tensor)

    def run(self, function, args, kwargs):
        """Call the function, watched from its arguments to its result."""
        outer, _thread.observer = current(), self
        try:
            with _special.reads_watched():
                self.arguments(args, kwargs)
                if type(function) is not types.FunctionType:
                    self.outside_value(function, ("const", function))
                ir._native._set_finder(_trace._where)
                self.recording = ir._native.Recording(self.tracer)
                before, collects = sys.getprofile(), gc.isenabled()
                gc.disable()  # what is collected would run its callbacks here
                sys.setprofile(self.profile)
                try:
                    return (
                        _calls.call(self, function, args, kwargs) if self.reason is None else function(*args, **kwargs)
                    )
                finally:
                    sys.setprofile(before)
                    if collects:
                        gc.enable()
                    self.recording.end()
        except BaseException as error:
            self.stop(f"it raised {type(error).__name__}")
            strip(error)
            raise
        finally:
            _thread.observer = outer
            self.tracer.set_reads(_nothing)  # it would keep this alive


_IN_PLACE = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv, "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod, "Pow": operator.ipow, "LShift": operator.ilshift, "RShift": operator.irshift, "BitOr": operator.ior,
    "BitXor": operator.ixor, "BitAnd": operator.iand, "MatMult": operator.imatmul,
}  # fmt: skip
_IMPORTLIB = os.path.join(os.path.dirname(os.__file__), "importlib") + os.sep
_QUIET = frozenset(
    (
        _trace.__file__,
        torch._parts.__file__,
        ir.__file__,
        weakref.__file__,
        weakref.WeakSet.__init__.__code__.co_filename,
    )
)


def _nothing(tensor, what):
    """Reads after the run are nobody's affair."""


def strip(error):
    """Leave the frames of the user's program in a traceback, and not those that watch it."""
    frames, tb = [], error.__traceback__
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(_HERE):
            frames.append(tb)
        tb = tb.tb_next
    kept = None
    for tb in reversed(frames):
        kept = types.TracebackType(kept, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    error.__traceback__ = kept


def _frames(frame):
    """The frames of the user's program up to a frame, the innermost last."""
    found = []
    while frame is not None and len(found) < 40:
        code = frame.f_code
        if of_torch(code.co_filename) is None:
            found.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return tuple(reversed(found))


def _add_codes(codes, code):
    codes.add(code)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _add_codes(codes, inner)


def _is_fixed(value):
    """Whether an object means the same for as long as it is the same: functions, classes, modules of layers."""
    fixed = (
        type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, enum.Enum,
    )  # fmt: skip
    return isinstance(value, (*fixed, module_class()))


def _defaults(function):
    """Default values of parameters, with where they stand."""
    at = ("attr", ("const", function), "__defaults__")
    for i, value in enumerate(function.__defaults__ or ()):
        yield value, ("index", at, i)
    for name, value in (function.__kwdefaults__ or {}).items():
        yield value, ("key", ("attr", ("const", function), "__kwdefaults__"), name)


def _values(container):
    return container.values() if isinstance(container, dict) else container


def _absolute(module, level, space):
    if not level:
        return module
    package = (space.get("__package__") or space.get("__name__", "")).split(".")
    base = package[: len(package) - level + 1]
    return ".".join([*base, module] if module else base)


def _say(source):
    """A source as a program writes it."""
    kind, *rest = source
    if kind == "args":
        return "the arguments"
    if kind == "kwargs":
        return "the arguments by name"
    if kind == "const":
        return getattr(rest[0], "__name__", "") or type(rest[0]).__name__
    if kind == "cell":
        return "a variable of an enclosing function"
    above = rest[0]
    if kind == "index":
        return f"argument {rest[1]}" if above == ("args",) else f"{_say(above)}[{rest[1]}]"
    if kind == "key":
        return str(rest[1]) if above == ("kwargs",) or above[0] == "const" else f"{_say(above)}[{rest[1]!r}]"
    return f"{_say(above)}.{rest[1]}"
