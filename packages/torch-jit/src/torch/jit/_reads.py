"""What a program reads of tensors while it is traced: sizes become values of the graph, other reads become constants,
which a warning tells.

While a trace runs, methods of ``torch.Tensor`` stand in for its own; for other threads they do what those do.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import warnings

import torch

from . import _ir as ir
from ._attention import attention_in
from ._recurrent import standing_in
from ._resizes import resizing_in

_lock = threading.Lock()
_made = []
_thread = threading.local()


class TracerWarning(Warning):
    """A trace would not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings():
        """Hide such warnings where libraries cause them; there are none."""


def current():
    """The tracer of this thread, or None."""
    return getattr(_thread, "tracer", None)


def _is_own(frame):
    name = frame.f_globals.get("__name__") or ""
    return name == "torch" or name.startswith("torch.")


def _warn_of(tensor, text, frame):
    """Warns where a value of a tensor becomes a constant. Of torch's own code that is read which depends on more than sizes:
    what that does with sizes holds for any."""
    tracer = current()
    if tracer is None or not ir._native._tracing() or not tracer.has_value(tensor):
        return
    if _is_own(frame):
        name, value = frame.f_globals["__name__"], tracer.value_of(tensor)
        asks_scale = name.startswith("torch.ao.") and value.node().kind() == "prim::GetAttr"  # which a layer holds
        if asks_scale or text in _OF_SIZE or name.startswith("torch.jit.") or _is_of_sizes(value):
            return
        while frame.f_back is not None and _is_own(frame):
            frame = frame.f_back
    warn(text, frame)


def _is_of_sizes(value):
    """Whether a value of the graph is computed of nothing but sizes and constants."""
    open_values, seen = [value], set()
    while open_values:
        node = open_values.pop().node()
        if node.kind() in ("prim::NumToTensor", "prim::Constant") or node in seen:
            continue
        if node.kind() in ("prim::Param", "prim::GetAttr") or len(seen) > 50:
            return False
        seen.add(node)
        open_values += node.inputs()
    return True


def warn(text, frame):
    """A TracerWarning that names the line of a frame."""
    place = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        f"{text} might cause the trace to be incorrect: the value is a constant of the trace from here on, whatever the inputs are",
        TracerWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        registry=place,
    )


def _reads(name, text):
    def read(self, *args, **kwargs):
        _warn_of(self, text, sys._getframe(1))
        return getattr(_own(name), "__get__")(self, type(self))(*args, **kwargs)  # noqa: B009

    read.__name__ = name
    return read


def _sizes(self, tracer):
    recording = ir._native.Recording(None)
    try:
        graph, value = tracer.graph, tracer.value_of(self)
        sizes = []
        for dim, size in enumerate(tuple(_own("shape").__get__(self))):
            sizes.append(made := torch.tensor(size))
            tracer.set_value(made, graph.call("prim::NumToTensor", [graph.call("size", [value, dim])]))
        return TracedSize(sizes)
    finally:
        recording.end()


class TracedSize(tuple):
    """The sizes of a tensor while tracing: tensors of one element each."""

    __slots__ = ()

    def numel(self):
        """Their product."""
        product = 1
        for size in self:
            product = size * product
        return product

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return TracedSize(found) if isinstance(index, slice) else found


#: modules of torch whose functions are composed of operators, as users' are
_LAYERS = (
    "torch.nn.functional",
    "torch.nn.modules",
    "torch.nn.utils",
    "torch._operators",
    "torch.functional",
    "torch.linalg",
    "torch.special",
    "torch.fft",
)


def _sized(frame):
    """The tracer, when users' code or a composed function asks for sizes, which are values of the graph there."""
    tracer = current()
    if tracer is None or not ir._native._tracing():
        return None
    name = frame.f_globals.get("__name__") or ""
    return tracer if name.startswith(_LAYERS) or not (name == "torch" or name.startswith("torch.")) else None


def _shape(self):
    tracer = _sized(sys._getframe(1))
    if tracer is None or not tracer.has_value(self):
        return _own("shape").__get__(self)
    return _sizes(self, tracer)


def _size(self, dim=None):
    tracer = _sized(sys._getframe(1))
    if tracer is None or not tracer.has_value(self):
        return _own("size").__get__(self)() if dim is None else _own("size").__get__(self)(dim)
    sizes = _sizes(self, tracer)
    return sizes if dim is None else sizes[dim]


def _numel(self):
    tracer = _sized(sys._getframe(1))
    number = _own("numel").__get__(self)()
    if tracer is None or not tracer.has_value(self):
        return number
    recording = ir._native.Recording(None)
    try:
        made = torch.tensor(number)
        count = tracer.graph.call("numel", [tracer.value_of(self)])
        tracer.set_value(made, tracer.graph.call("prim::NumToTensor", [count]))
        return made
    finally:
        recording.end()


def _index(self):
    number = _own("__index__").__get__(self)()
    tracer = current()
    if tracer is not None and ir._native._tracing() and tracer.has_value(self):
        tracer.note_int(number, tracer.value_of(self))
    return number


def read_by_operators(tensor, what):
    """Told by the core: a tensor stands where an operator takes a number, or an index an int."""
    tracer = current()
    if tracer is None or not tracer.has_value(tensor):
        return
    if what == ir._native.READ_AS_INDEX:
        tracer.note_int(_own("__index__").__get__(tensor)(), tracer.value_of(tensor))
    elif what == ir._native.READ_AS_NUMBER and not (tensor.is_floating_point() or tensor.is_complex() or tensor.dim()):
        tracer.note_int(int(_own("item")(tensor)), tracer.value_of(tensor))
    elif what == ir._native.READ_AS_NUMBER:
        _warn_of(tensor, "Converting a tensor to a Python number", sys._getframe(1))
    elif what in ("equal", "allclose"):
        _warn_of(tensor, f"Asking torch.{what} about a tensor", sys._getframe(1))


_OF_SIZE = "Using len to get tensor shape", "Iterating over a tensor"


def _standins():
    texts = {
        "__bool__": "Converting a tensor to a Python boolean",
        "__int__": "Converting a tensor to a Python integer",
        "__float__": "Converting a tensor to a Python float",
        "__len__": _OF_SIZE[0],
        "__iter__": _OF_SIZE[1],
        "item": "Converting a tensor to a Python number",
        "tolist": "Converting a tensor to a Python list",
        "numpy": "Converting a tensor to a NumPy array",
        "__array__": "Converting a tensor to a NumPy array",
    }
    made = {name: _reads(name, text) for name, text in texts.items()}
    return made | {"shape": property(_shape), "size": _size, "numel": _numel, "nelement": _numel, "__index__": _index}


def _layer_standins():
    """What stands for functions of Python that are operators of PyTorch's programs, by its place."""
    base, attention = torch.nn.RNNBase, importlib.import_module("torch.nn.functional.attention")
    attend = (attention, "_attend")
    if not hasattr(*attend):  # of torch-nn 0.1.0
        attend = torch.nn.functional, "scaled_dot_product_attention"
    resizes = importlib.import_module("torch.nn.functional.interpolate")  # a function has this name as well
    layers = standing_in({name: getattr(base, name) for name in ("forward", "_run", "_first_state")}, current, _sizes)
    return {
        **{(base, name): standin for name, standin in layers.items()},
        (resizes, "_run"): resizing_in(resizes._run, current, _sizes),
        attend: attention_in(getattr(*attend), getattr(attention, "_composed", getattr(*attend)), current),
    }


def _replaced():
    """The methods and layers that are others while a thread traces; made once, for all threads."""
    with _lock:
        if not _made:
            layers = [(owner, name, standin) for (owner, name), standin in _layer_standins().items()]
            _made.append(
                ir._native.Replaced(
                    [*((torch.Tensor, name, standin) for name, standin in _standins().items()), *layers]
                )
            )
        return _made[0]


def _own(name):
    """The method of tensors as it is when nobody traces."""
    return _made[0].before[name]


@contextlib.contextmanager
def watching(tracer):
    """A block in which this thread's reads are those of a tracer."""
    with _replaced():
        outer, _thread.tracer = current(), tracer
        try:
            yield
        finally:
            _thread.tracer = outer
