"""One run of a function, watched: which operators it calls, what it reads from outside, what it does that no graph can.

The run is the program's own: it computes the result of the first call. Whatever is not understood makes the
observation void (``stop``), and the run goes on as plain Python.
"""

from __future__ import annotations

import abc
import collections.abc
import contextlib
import enum
import gc
import os
import sys
import threading
import types
import weakref

import torch
from torch._dynamo import config
from torch.jit import _ir as ir
from torch.jit import _trace

from . import _calls, _instrument, _opaque, _special, _transforms
from ._effects import CONTENTS, Effects
from ._found import Found
from ._guards import Guards, state_of_thread, writes_to
from ._hooks import Hooks
from ._match import Matches
from ._outside import Outside
from ._own import Operators
from ._sizes import shapes_watched
from ._tables import is_quiet, of_torch, tensors_in

_HERE = os.path.dirname(os.path.abspath(__file__))
_thread = threading.local()


def _finds_module(frame):
    """Whether a frame is of a finder of modules, which other packages put into ``sys.meta_path``, or of what that calls."""
    for _ in range(8):
        if frame is None or frame.f_back is None:
            return False
        if frame.f_code.co_name == "find_spec":
            return frame.f_back.f_code.co_filename.startswith(_IMPORTING)
        frame = frame.f_back
    return False


def current():
    """The observation of this thread, or None."""
    return getattr(_thread, "observer", None)


_ANSWERS = ("equal", "allclose")


class Reason:
    """Why a program is not captured, and where."""

    def __init__(self, text, frames, foreseen=False):
        self.text, self.frames = text, frames
        self.foreseen = foreseen  # whether it was told from the source, and nothing has run yet

    def __str__(self):
        at = self.frames[-1] if self.frames else None
        return f"{self.text} ({at[0]}:{at[1]} in {at[2]})" if at else self.text

    __repr__ = __str__

    def way_out(self):
        """What to do about it, for who wants the whole function captured."""
        found = next((way for words, way in _WAYS_OUT if any(w in self.text for w in words)), "")
        return f"{found}without fullgraph=True the function runs in parts, around this line"


#: by words of a reason: what a program can do in its place
_WAYS_OUT = (
    (("__bool__ of", "is_nonzero of", "__contains__ of", "is a condition"), "torch.where chooses by values, torch.cond and torch.while_loop keep both ways in the program; "),
    (("is read that values decide", "is taken apart whose size"),
     "what depends on the number of rows can follow the compiled function, or count a mask (mask.sum()) as a tensor; "),
    (("item of", "tolist of", "__int__ of", "__float__ of", "__index__ of", "__complex__ of", "numpy of", "__array__ of", "is read"),
     "keep the number in its tensor (x * y.sum() in place of x * y.sum().item()), or read it outside of the compiled function; "),
    (("nonzero", "unique of", "masked_select of", "an index by its value", "goes by the values", "a mask picks"),
     "torch.where(mask, x, 0) and sums of masks keep the size, torch.nonzero_static(size=...) says one; "),
    (("print() is called", "is to be printed"), "print outside of the compiled function; "),
    (("counts", "grows"), "keep what counts in a tensor, or in an object among the arguments; "),
)  # fmt: skip


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
            "parts",
            "store",
            "store_item",
            "augmented",
            "augment",
            "manager",
            "imported",
            "compared",
            "is_truth",
            "raised",
            "caught",
            "place",
            "store_place",
            "binary",
            "unary",
            "comparison",
            "truth",
            "is_a",
            "has",
            "is_sequence",
            "is_mapping",
            "between",
            "without",
            "has_part",
            "part",
        ):
            setattr(self, name, getattr(observer, name))

    def cell(self, value, name):
        """A variable of an enclosing function was read."""
        if self.observer.reason is None and not self.observer.is_set(self.cells[name], CONTENTS, value):
            return self.observer.outside_value(value, ("cell", self.cells[name]))
        return value

    def sets(self, *names):
        """Variables of enclosing functions, and of the module, may be set."""
        frame = sys._getframe(1)
        for name in names:
            if name in self.cells:
                self.observer.may_set(self.cells[name], CONTENTS, name)
            elif name in frame.f_code.co_names:
                self.observer.may_set(frame.f_globals, name, name)
            else:
                self.observer.may_set(None, CONTENTS, name)


class Observer(Outside, Hooks, Effects, Operators, Matches):
    """Watches one call; ``__torch_watch`` within the functions that run."""

    def __init__(self, whole=False, lifts=False, takes_numbers=False):
        self.guards, self.reason = Guards(), None
        # whether numbers may be read of tensors, since there is a run after this one in which they are values; and where
        # the first one was
        self.takes_numbers = takes_numbers or whole or config.capture_scalar_outputs
        self.first_read = None
        self.unasked = False  # whether a program for all sizes is one that nobody asked for
        self.lifts = lifts  # whether numbers that change from call to call become inputs
        # tensors with as many rows as values say, where they may stand in the program
        self.found = Found(self) if whole or (lifts and config.capture_dynamic_output_shape_ops) else None
        self.whole = whole  # whether nothing else will do than a program of the whole function
        self.graph = ir.Graph()
        self.tracer = ir._native.Tracer(self.graph)
        self.tracer.set_observing(True)
        self.tracer.set_reads(self.read)
        self.recording, self.working, self.in_operator = None, False, False
        self.strange = None  # a class of arguments that cannot be captured, where others can
        self.inputs, self.input_of = [], {}  # slots of tensors; id -> number
        self.dtypes = {}  # of the inputs of the graph, by number
        self.examples, self.layouts, self.known_at = [], {}, {}  # of tensors among the arguments, by source
        self.versions = {}  # of tensors among the inputs, by number: how often they had been written to
        self.bumps = {}  # how often they were while the function ran
        self.bare = []  # (tensor, value of its ``.data``), which is written to without being counted
        self.plain = {}  # ints and floats that were read, by source
        self.known = {}  # id -> (object, source, whether it stands under the arguments)
        self.outside = set()  # ids of containers and objects that were there before
        self.kept, self.codes, self.trusted = [], set(_DRIVERS), 0
        self.own = set()  # codes of what watches
        self.made = set()  # ids of objects that were made within
        self.named = set()  # ids of dicts that were made within and have attributes
        self.changed = {}  # (id, name of an attribute or None): what was changed that was there before
        self.seen = set()  # (id, name) of attributes of objects from outside that were read
        self.ids = set()  # what id() gave
        self.blocks = 0  # how many blocks of the graph what runs stands in
        self.loose = {}  # id of an object that another one of its class may stand for -> its source
        self.tensors = set()
        self.constant_values = set()
        self.state = state_of_thread()
        self.grad = self.entry_grad = torch.is_grad_enabled()
        self.error = None  # what a function that is followed raised
        self.sets_grad = self.writes = False
        self.tries = self.catches = (
            False  # whether what is followed has an ``except``; whether an operator stands before one
        )
        self.copies = {}  # that operators take in the place of tensors
        self.transforms, self.transforming = 0, None  # how many of torch.func run, and which runs its own code
        self.transformed = set()  # ids of functions that they gave
        self.replaced = {}  # (id of a module, name): the tensor in place of its own (functional_call)
        self.late = (
            None  # why the observation is void, noticed within a call that is being recorded, which has to end first
        )
        self.asks = False  # whether the code asks if it is being compiled
        self.settles = False  # whether the code looks around for what later calls find at hand
        self.takes_sizes = False  # whether sizes may become numbers of the graph

    # --- void ---

    def stop(self, text, frame=None, frames=None):
        """The observation is void; what is void once stays so."""
        if self.reason is None:
            self.reason = Reason(text, frames or frames_of(frame or sys._getframe(1)))
            if self.transforms or self.copies:  # those stay in force until the run has ended
                self.tracer.mute()
            elif self.recording is not None:
                self.recording.end()

    def read(self, tensor, what):
        """Told by the core: a value of a tensor became a number of the program."""
        if not self.in_operator and what not in _ANSWERS:  # those are noticed where they are called
            self.stop(f"a value of a tensor is read ({what})", sys._getframe(1))

    def may_read(self, tensor, most=1):
        """Whether the numbers that a tensor holds may be read here: a few, whose count is fixed."""
        if not self.takes_numbers or self.reason is not None or self.working or self.in_operator or self.transforms:
            return False
        count = tensor.numel()
        return type(count) is int and 0 < count <= most and tensor.dtype in _NUMBERS and self.tracer.has_value(tensor)

    def read_number(self, tensor):
        """The number that a tensor holds."""
        self.first_read = self.first_read or frames_of(sys._getframe(1))
        held = self.stand_in(tensor)
        return _opaque.unwatched(self, lambda: _special.unwatched("item")(held))

    def read_index(self, tensor, frame):
        """The int that a tensor holds, where C asks for it, called from a frame."""
        return self.read_number(tensor)

    def read_list(self, tensor):
        """The numbers of a tensor, in lists of lists."""
        return [self.read_list(row) for row in tensor.unbind(0)] if tensor.dim() else self.read_number(tensor)

    # --- beneath ---

    def follow(self, function, args, kwargs):
        """Call a function of Python, watched."""
        self.working, profile = True, sys.getprofile()
        sys.setprofile(None)  # a call of it for each step through a syntax tree takes longer than the step
        try:
            code = _instrument.instrumented(function.__code__)
        except _instrument.Opaque as why:
            code = None
            self.stop(f"{function.__qualname__} cannot be followed: {why}")
        finally:
            self.working = False
            sys.setprofile(profile)
        if code is None:
            return function(*args, **kwargs)
        self.guards.check("code", self.source_of(function), function.__code__)
        for value, source in _defaults(function, self.source_of(function)):
            self.outside_value(value, source)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for cell in cells.values():
            if cell == types.CellType() and (id(cell), CONTENTS) not in self.changed:
                self.guards.is_empty(cell)
        self.tries = self.tries or code in _instrument.catching
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
        """Call what depends only on its arguments and is not to be looked into."""
        self.trusted += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.trusted -= 1

    def aside(self, function, args, kwargs):
        """Call what this program does not depend on, and whether it computes with tensors all the same."""
        before, working = sum(1 for _ in self.graph.nodes()), self.working
        self.working = True
        try:
            result = function(*args, **kwargs)
        finally:
            self.working = working
        return result, sum(1 for _ in self.graph.nodes()) > before

    def profile(self, frame, event, arg):
        """Python's own account of what runs: a function that is neither followed nor trusted makes the observation void."""
        if event != "call" or self.reason is not None or self.working:
            return
        code = frame.f_code
        if code in self.codes or code in self.own:
            return
        file = code.co_filename
        if (
            file.startswith(_HERE)
            or file in _QUIET
            or (file == "<string>" and code.co_name in ("__init__", "__new__", "__eq__", "<lambda>"))
        ):
            self.own.add(code)
            return
        if (file.startswith(_IMPORTING) or _finds_module(frame)) or (
            is_quiet(file) or (self.trusted and _stands_in_torch(frame))
        ):
            return
        asks = frame
        while asks.f_code.co_name == "__getattribute__":  # isinstance asks an object for its class
            asks = asks.f_back
        if asks is not frame and asks.f_code.co_filename.startswith(_HERE):
            return
        self.stop(f"{code.co_name} ({os.path.basename(file)}:{code.co_firstlineno}) runs by itself", frame.f_back)

    def where(self):
        """Called before each operator is recorded: modes that it runs in are part of the program."""
        grad = torch.is_grad_enabled()
        if grad != self.grad:
            self.grad, self.sets_grad = grad, True
            self.graph.call("aten::set_grad_enabled", [grad])
        if _but_for_casts(state_of_thread()) != _but_for_casts(self.state):
            self.late = self.late or "modes of operators are changed"
        frame = sys._getframe(1)
        if self.tries and not self.catches:
            self.catches = _is_tried(frame)
        while frame is not None and of_torch(frame.f_code.co_filename) is not None:
            frame = frame.f_back
        if frame is None:
            return None
        return frame.f_code.co_filename, frame.f_lineno, 0, ""

    @staticmethod
    def frames_of(frame):
        """The frames of the user's program up to a frame, the innermost last."""
        return frames_of(frame)

    @staticmethod
    def beside(left, right):
        """Operands of which one is a tensor, as the operator takes them."""
        return left, right

    @staticmethod
    def numbers(value, place=None):
        """An argument of an operator, as the operator takes it; ``place`` is its number or its name."""
        return value

    def result(self, value):
        """Tensors that a call in C gave have to be known to the recording."""
        found = tensors_in(value)
        if self.transforms:
            found = (each for t in found for each in _transforms.behind(t))
        for t in found:
            if self.tracer.has_value(t) and t.layout is torch.strided:
                if id(t) not in self.tensors:
                    self.tensors.add(id(t))
                    self.kept.append(t)
                continue
            if self.transforms and self.tracer.has_alias(t):  # the primal of a dual number
                continue
            return False
        return True

    def data_of(self, tensor):
        """``tensor.data``."""
        found, recording = tensor.data, ir._native.Recording(None)
        value = self.graph.call("detach", [self.tracer.value_of(tensor)])
        value.inferTypeFrom(found)
        self.tracer.set_value(found, value)
        recording.end()
        self.tensors.add(id(found))
        self.kept.append(found)
        self.bare.append((tensor, value))
        return found

    def uncounted(self):
        """Which inputs are written to, some of them through ``.data``: by number, with how many of the writes count. What is saved
        for a gradient is told by that count, which is set when all is done: where there are gradients, there is no such program.
        """
        aliases = self.graph.alias_db() if self.bare else None
        written = [tensor for tensor, value in self.bare if aliases.has_writers(value)]
        if not written:
            return {}
        kinds = (v.type() for node in self.graph.nodes() for v in node.outputs())
        if any(kind.kind() == "TensorType" and kind.requires_grad() for kind in kinds):
            self.stop("data is written to beside gradients")
        elif any(id(tensor) not in self.input_of for tensor in written):
            self.stop("the data of a result is written to")
        elif any(self.input_of[id(tensor)] not in self.bumps for tensor in written):
            self.stop("the data of an inference tensor is written to")
        inputs = enumerate(self.graph.inputs())
        return {i: self.bumps[i] for i, value in inputs if i in self.bumps and aliases.has_writers(value)}

    def keep_constant(self, tensor):
        """A tensor that nothing writes to, the same at each call."""
        before, first = self.graph.insertPoint(), next(iter(self.graph.nodes()), None)
        if first is not None:  # for all blocks to see
            self.graph.setInsertPoint(first)
        constant = self.graph.insertConstant(tensor)
        self.graph.setInsertPoint(before)
        self.constant_values.add(constant.unique())
        self.tracer.set_value(tensor, constant)
        self.tensors.add(id(tensor))
        self.kept.append(tensor)

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

    def _sizes_watched(self):
        """A block in which sizes that only values tell are not read."""
        return shapes_watched(self.found) if self.found and not self.takes_sizes else contextlib.nullcontext()

    def _recorded(self, function, args, kwargs):
        """Call the function, recorded; Ctrl-C may come after each step, also of what ends it."""
        before, collects = sys.getprofile(), gc.isenabled()
        try:
            self.recording = ir._native.Recording(self.tracer)
            try:
                gc.disable()  # what is collected would run its callbacks here
                try:
                    sys.setprofile(self.profile)
                    return (
                        _calls.call(self, function, args, kwargs) if self.reason is None else function(*args, **kwargs)
                    )
                finally:
                    sys.setprofile(before)
            finally:
                if collects:
                    gc.enable()
        finally:
            if self.recording is not None:
                self.recording.end()

    def run(self, function, args, kwargs):
        """Call the function, watched from its arguments to its result."""
        outer, _thread.observer = current(), self
        try:
            with _special.reads_watched, self._sizes_watched():
                args, kwargs = self.arguments(args, kwargs)
                if type(function) is not types.FunctionType:
                    self.outside_value(function, ("const", function))
                self.tracer.locate_by(self.where)
                try:
                    return self._recorded(function, args, kwargs)
                finally:
                    now = {i: writes_to(self.stand_in(self.examples[i])) for i in self.versions}
                    self.bumps = {i: now[i] - n for i, n in self.versions.items() if n is not None}
                    if self.late is not None:
                        self.stop(self.late)
        except BaseException as error:
            Observer.stop(self, f"it raised {type(error).__name__}")
            strip(error)
            raise
        finally:
            _thread.observer = outer
            self.tracer.set_reads(_nothing)  # these would keep this alive
            self.tracer.locate_by(None)


#: what runs the generators of context managers; they are followed themselves
_DRIVERS = frozenset(
    (
        *(vars(contextlib._GeneratorContextManager)[name].__code__ for name in ("__enter__", "__exit__")),
        torch.nn.Module._missing.__code__,  # what hasattr() and getattr() with a default come to
        torch.nn.modules.module._MissingAttribute.__init__.__code__,
    )
)
#: of tensors whose numbers are those of programs
_NUMBERS = frozenset(
    d for d in vars(torch).values() if isinstance(d, torch.dtype) and not d.is_complex and d is not torch.uint64
)
_IMPORTING = ("<frozen importlib", os.path.join(os.path.dirname(os.__file__), "importlib") + os.sep)
_QUIET = frozenset(
    (
        _trace.__file__,
        torch._parts.__file__,
        ir.__file__,
        weakref.__file__,
        enum.__file__,
        weakref.WeakSet.__init__.__code__.co_filename,
        abc.ABCMeta.__instancecheck__.__code__.co_filename,
        collections.abc.Sized.__subclasshook__.__func__.__code__.co_filename,
    )
)


def _stands_in_torch(frame):
    """Whether a frame is of torch, or of a context manager of Python's own in torch."""
    while frame is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = frame.f_back
    return frame is not None and of_torch(frame.f_code.co_filename) is not None


def _but_for_casts(state):
    """What of a thread's state has to stay: casts of autocast are recorded as what they are, and gradients have their mode."""
    return state[1:3] + state[5:]


def _nothing(tensor, what):
    """Reads after the run do not count."""


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


def _is_tried(frame):
    """Whether a frame, or one of those that called it, stands where ``except`` would catch an error."""
    while frame is not None:
        for first, last in _instrument.catching.get(frame.f_code, ()):
            if first <= frame.f_lineno <= last:
                return True
        frame = frame.f_back
    return False


def frames_of(frame):
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


def _defaults(function, of):
    """Default values of parameters, with where they stand in a function that comes from ``of``."""
    at = ("attr", of, "__defaults__")
    for i, value in enumerate(function.__defaults__ or ()):
        yield value, ("index", at, i)
    for name, value in (function.__kwdefaults__ or {}).items():
        yield value, ("key", ("attr", of, "__kwdefaults__"), name)
