"""A script (torch.jit.script) as a :class:`.Program`: branches and loops are kept as blocks.

The graph is walked once on the example, so that dtypes and dims are known; a branch that the example does not take is
walked too. Calls of methods are written out in place. Sizes of the example hold, but where ``moving`` says that they may
change, and within loops.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch.export._rows import schemas

from ._known import Computed, Known, constant, deep, holds_filled, holds_tensors, leaves, value_of
from ._program import Program, Step, Value
from ._scripted_loops import Blocks
from ._scripted_numbers import TEXT, Numbers
from ._scripted_sizes import certain
from ._scripted_writes import LIST_WRITES, Writes, is_shared
from .errors import OnnxExporterError, SymbolicValueError
from .symbolic_helper import scalar_type_to_pytorch_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _options(name, size, *rest):
    """What an operator that resizes is given, as ``interpolate`` takes it: scales come as a list, or one by one."""
    corners, scales = (None, rest) if "nearest" in name else (rest[0], rest[1:])
    scale = scales[0] if isinstance(scales[0].example, (list, tuple)) else Known(list(scales))
    of_size = size.example is not None
    return {
        "mode": _RESIZES[name], "antialias": name.endswith("_aa"), "align_corners": corners, "size": size if of_size else None,
        "scale_factor": None if of_size else scale,
    }  # fmt: skip


#: operators of programs that resize images, by the mode of ``interpolate``
_RESIZES = {
    **{f"upsample_nearest{n}d": "nearest" for n in (1, 2, 3)}, **{f"_upsample_nearest_exact{n}d": "nearest-exact" for n in (1, 2, 3)},
    "upsample_linear1d": "linear", "upsample_bilinear2d": "bilinear", "upsample_bicubic2d": "bicubic", "upsample_trilinear3d": "trilinear",
    "_upsample_bilinear2d_aa": "bilinear", "_upsample_bicubic2d_aa": "bicubic",
}  # fmt: skip
#: recurrent layers of programs, by the mode of the module
_LAYERS = {f"aten::{name.lower()}": name for name in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU")}


def einsum(equation, operands):
    """``torch.einsum`` with names for its arguments."""
    return torch.einsum(equation, *operands)


#: operators of programs that are functions of Python, and their parameters
_FUNCTIONS = {
    "aten::scaled_dot_product_attention": (F.scaled_dot_product_attention, (
        "query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa",
    )),
    "aten::einsum": (einsum, ("equation", "operands")),
}  # fmt: skip


class Walk(Numbers, Writes, Blocks):
    """Walks a method's graph."""

    def __init__(self, module: torch.nn.Module, moving: bool) -> None:
        self.program = Program([], [], [])
        self._names = {id(m): name for name, m in module.named_modules()}
        self._held: dict[int, Known] = {}
        self._counted: list[tuple[Any, Step]] = []
        self._attributes: dict[tuple[int, str], tuple[Any, Known]] = {}
        self._moving, self._depth, self._count = moving, 0, 0
        self._parameters = {id(p) for p in module.parameters()}
        self._all: list[Known] = []
        self._growing: dict[
            int, tuple[int, list[Known]]
        ] = {}  # lists that a loop appends to: its depth, what it appends

    # --- values ---

    def _fresh(
        self, name: str, concrete: Any, moves: bool = False, sizes: Sequence[int | str | None] | None = None
    ) -> Known:
        """A new value; where its sizes may change, those that are known stand in ``sizes``."""
        self._count += 1
        if isinstance(concrete, torch.Tensor):
            shape = tuple(concrete.shape)
            if moves or self._loose:
                told = sizes or [None] * concrete.dim()
                shape = tuple(f"d{self._count}_{i}" if size is None else size for i, size in enumerate(told))
            known = Known(concrete, Value(f"{name}_{self._count}", concrete.dtype, shape), self._depth)
        else:
            dtype = (
                torch.bool
                if isinstance(concrete, bool)
                else torch.float64
                if isinstance(concrete, float)
                else torch.int64
            )
            known = Known(concrete, Value(f"{name}_{self._count}", dtype, (), number=True))
        self._all.append(known)
        return known

    @property
    def _loose(self) -> bool:
        return self._moving or self._depth > 0

    def _varies(self, name: str, arguments: dict[str, Known]) -> bool:
        """Whether what an operator gives may have another size than on the example."""
        if self._loose or _is_sized_by_values(name, arguments):
            return True
        given = [(k, leaf) for k, each in arguments.items() for leaf in leaves(each) if leaf.value is not None]
        return any(each.moves if isinstance(each.example, torch.Tensor) else k not in _OF_ELEMENTS for k, each in given)

    def hold(self, owner: Any, name: str, tensor: torch.Tensor) -> Known:
        """A tensor of a module."""
        if id(tensor) not in self._held:
            path = ".".join(filter(None, [self._names.get(id(owner), ""), name]))
            value = Value(path, tensor.dtype, tuple(tensor.shape), constant=tensor.detach())
            self._held[id(tensor)] = Known(tensor, value)
            self.program.held.append(value)
            if id(tensor) in self._parameters:
                self.program.parameters.add(path)
        return self._held[id(tensor)]

    def _attribute(self, owner: Any, name: str, value: Any) -> Known:
        """What is no tensor: one value, however often it is read; its lists are of no block, and are not changed."""
        return self._attributes.setdefault((id(owner), name), (owner, Known.of(value, depth=-1)))[1]

    # --- nodes ---

    def method(self, owner: Any, graph: Any, arguments: list[Known], steps: list[Step]) -> list[Known]:
        """What a graph gives for arguments."""
        return self.function(graph, [Known(owner), *arguments], steps)

    def function(self, graph: Any, arguments: list[Known], steps: list[Step]) -> list[Known]:
        env = dict(zip([v.debugName() for v in graph.inputs()], arguments, strict=True))
        for node in graph.nodes():
            self._node(node, env, steps)
        return [env[v.debugName()] for v in graph.outputs()]

    def _node(self, node, env, steps):
        try:
            self._read(node, env, steps)
        except Computed:
            raise self._refuse(node, f"{node.kind()} of what is computed cannot be written") from None
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            if self._depth == 0 or isinstance(error, (NotImplementedError, OnnxExporterError)):
                raise
            text = f"{node.kind()} fails in a branch or loop that is tried on the example, whether or not it is taken: {error}"
            raise self._refuse(node, text) from error

    def _read(self, node, env, steps):
        outputs = [v.debugName() for v in node.outputs()]
        if node.kind() in (
            "prim::Print",
            "prim::range_leave",
            "aten::set_grad_enabled",
        ):  # a model in a file says nothing, and has no gradients
            return
        inputs = [env[v.debugName()] for v in node.inputs()]
        if node.kind() != "prim::Constant" and [v.type().kind() for v in node.outputs()] == ["StringType"]:
            env[outputs[0]] = Known(TEXT)  # for messages only
            return
        kind = node.kind()
        if any(i.stacked is not None for i in inputs) and kind not in (
            "aten::stack",
            "aten::cat",
            "aten::len",
            "aten::__getitem__",
        ):
            raise self._refuse(
                node,
                f"{kind} of a list that a loop has filled cannot be written: torch.stack, torch.cat and an element can",
            )
        if any(id(i) in self._growing for i in inputs) and kind != "aten::append":
            raise self._refuse(node, f"{kind} of a list cannot be written within the loop that fills it")
        if kind not in ("aten::size", "aten::dim", "prim::dtype"):
            self.settle(node, inputs)
        short = kind.partition("::")[2]
        if kind == "prim::Constant":
            value = node.output().toIValue()
            held = isinstance(value, torch.Tensor) and value.dim() > 0
            found = [self.hold(None, f"constant_{len(self._held)}", value) if held else Known.of(value)]
        elif kind == "prim::GetAttr":
            owner, name = inputs[0].fixed, node.s("name")
            value = getattr(owner, name)
            found = [
                self.hold(owner, name, value)
                if isinstance(value, torch.Tensor)
                else self._attribute(owner, name, value)
            ]
        elif kind == "prim::CallMethod":
            owner, name = inputs[0].fixed, node.s("name")
            graph = owner.graph if name == "forward" else getattr(owner, name).graph
            found = self.method(owner, graph, inputs[1:], steps)
        elif kind == "prim::CallFunction":
            called = inputs[0].fixed
            resizes = sys.modules.get("torch.jit._resizes")  # which traces load
            plain = getattr(resizes, "PLAIN", {}).get(called.qualified_name)  # of torch-jit 0.1.0
            if plain is None:
                found = self.function(called.graph, inputs[1:], steps)
            elif options := dict(vars(plain)):
                found = [self._resized(node, plain, inputs[1:], options, steps)]
            else:
                found = self._composed(node, plain, inputs[1:], steps)
        elif kind == "prim::PythonOp" and node.hasAttribute("operator") and node.s("operator") in _RESIZES:
            found = [self._resized(node, node.ival("pyobj"), inputs, _options(node.s("operator"), *inputs[1:]), steps)]
        elif kind.startswith("aten::") and short in _RESIZES:
            options = _options(short, *inputs[1:])
            plain = {name: deep(each) if isinstance(each, Known) else each for name, each in options.items()}
            found = [self._resized(node, lambda x, *_: F.interpolate(x, **plain), inputs, options, steps)]
        elif kind in _FUNCTIONS:
            function, names = _FUNCTIONS[kind]
            given = dict(zip(names, inputs))
            called = {name: deep(each) for name, each in given.items()}
            found = [self._emit(node, function.__name__, given, function(**called), steps)]
        elif kind in _LAYERS:
            found = self._layers(node, _LAYERS[kind], inputs, steps)
        elif kind == "prim::PythonOp" and node.hasAttribute("operator"):
            found = self._composed(node, node.ival("pyobj"), inputs, steps)
        elif kind == "prim::dtype":
            found = [Known(scalar_type_to_pytorch_type.index(inputs[0].example.dtype))]
        elif kind == "prim::device":
            found = [Known(inputs[0].example.device)]
        elif kind == "prim::NumToTensor":
            found = [Known(torch.tensor(inputs[0].example), inputs[0].value, size=inputs[0].size)]
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            found = [Known(inputs, depth=self._depth)]
        elif kind == "prim::DictConstruct":
            found = [
                Known(
                    {
                        self._fixed(node, key, "a dict with a key"): each
                        for key, each in zip(inputs[::2], inputs[1::2], strict=True)
                    }
                )
            ]
        elif kind in ("prim::abs", "prim::int_pow"):
            found = [self._number(node, short.removeprefix("int_"), inputs, steps)]
        elif kind in ("prim::min", "prim::max"):
            found = [self._extreme(node, short, inputs, steps)]
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            found = inputs[0].fixed
        elif kind == "prim::TupleIndex":
            found = [inputs[0].fixed[self._fixed(node, inputs[1], "an element of a tuple at a place")]]
        elif kind == "prim::If":
            found = self._if(node, inputs[0], env, steps)
        elif kind == "prim::Loop":
            found = self._loop(node, inputs, env, steps)
        elif kind == "prim::unchecked_cast":
            found = inputs
        elif kind in ("aten::IntImplicit", "aten::FloatImplicit"):  # a number is asked for, and a tensor given
            found = self._operator(node, short.removesuffix("Implicit"), inputs, steps)
        elif kind == "prim::range_enter":
            found = [Known(0)]
        elif kind == "prim::Uninitialized":
            found = [Known(None)]
        elif kind == "prim::RaiseException":
            raise self._refuse(node, f"the program raises for the example: {inputs[0].example}")
        elif kind.startswith("aten::"):
            found = self._operator(node, short, inputs, steps)
        else:
            raise self._refuse(node, f"{kind} cannot be written")
        env.update(zip(outputs, found, strict=True))

    def _composed(self, node, function, inputs, steps):
        """A function of Python over operators: those that it calls for the example."""
        name = node.s("operator").partition(",")[0] if node.hasAttribute("operator") else function.__name__
        if name in ("quantized_lstm", "quantized_gru"):
            way_out = "export the model of floats, and quantize its file (onnxruntime.quantization)"
            raise self._refuse(node, f"{name} cannot be written: {way_out}")
        real = [deep(i) for i in inputs]
        at = [i for i, value in enumerate(real) if isinstance(value, torch.Tensor)]
        if self._varies("", dict(enumerate(inputs))):
            from torch.jit._script.composed import graph_of

            graph = graph_of(node)
            if graph is not None:
                return self.function(graph, inputs, steps)
            return self.function(self._traced(node, name, function, inputs, at), [inputs[i] for i in at], steps)

        ir = torch.jit._ir
        graph = ir.Graph()
        tracer = ir._native.Tracer(graph)
        for i in at:
            real[i] = real[i].detach().view_as(real[i])  # an input of its own, also where one is given twice
            tracer.set_value(real[i], graph.addInput())
        recording = ir._native.Recording(tracer)
        try:
            result = function(*real)
        finally:
            recording.end()
        graph.registerOutput(tracer.value_of(result))
        return self.function(graph, [inputs[i] for i in at], steps)

    def _traced(self, node, name, function, inputs, at):
        """The graph of a function of torch, which computes with sizes of tensors as a trace does."""
        computed = any(leaf.value is not None for i, each in enumerate(inputs) if i not in at for leaf in leaves(each))
        real = list(map(deep, inputs))

        def call(*tensors):
            given = dict(zip(at, tensors, strict=True))
            return function(*(given.get(i, value) for i, value in enumerate(real)))

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", torch.jit.TracerWarning)  # of what only the example tells
                traced = None if computed else torch.jit.trace(call, tuple(real[i] for i in at), check_trace=False)
        except torch.jit.TracerWarning:
            traced = None
        if traced is None:
            text = f"{name} cannot be written where sizes change, or in a block, with numbers that are computed"
            raise self._refuse(node, text)
        return traced.graph

    def _resized(self, node, function, inputs, options, steps):
        """An image of another size, by one call of ``interpolate``; a size of ``...`` is the last of the inputs."""
        defaults = {
            "size": None,
            "scale_factor": None,
            "align_corners": None,
            "antialias": False,
            "recompute_scale_factor": None,
        }
        given = {name: i if isinstance(i, Known) else Known(i) for name, i in {**defaults, **options}.items()}
        if given["size"].example is ...:
            given["size"] = inputs[-1]
        concrete = function(*map(deep, inputs))
        return self._emit(node, "interpolate", {"input": inputs[0], **given}, concrete, steps)

    def _layers(self, node, mode, inputs, steps):
        """Recurrent layers as one step."""
        x, states, params, biases, layers, dropout, train, both, batch_first = inputs
        states = states.fixed if mode == "LSTM" else [states]
        ways = 2 if both.fixed else 1
        each = len(params.fixed) // (layers.fixed * ways)
        plain = {
            "bias": biases.fixed, "layers": layers.fixed, "bidirectional": both.fixed, "mode": mode,
            "projected": each % 2 == 1, "dropout": float(dropout.fixed) if train.fixed else 0.0,
        }  # fmt: skip
        turned = lambda known: self._emit(
            node,
            "transpose",
            {"self": known, "dim0": Known(0), "dim1": Known(1)},
            known.example.transpose(0, 1),
            steps,
        )
        x = turned(x) if batch_first.fixed else x
        function = getattr(torch, mode.lower())
        given = deep(Known(states)) if mode == "LSTM" else deep(states[0])
        found = function(x.example, given, deep(params), biases.fixed, layers.fixed, 0.0, False, both.fixed, False)
        arguments = {"input": x, "states": Known(states), "weights": params, **{k: Known(v) for k, v in plain.items()}}
        varies = self._varies("recurrent", arguments)
        results = [self._fresh(mode.lower(), each, varies, certain("recurrent", arguments, each)) for each in found]
        self._append(node, "recurrent", arguments, results, steps)
        return [turned(results[0]) if batch_first.fixed else results[0], *results[1:]]

    def _refuse(self, node, text):
        return SymbolicValueError(f"{node.sourceRange()}: {text}")

    # --- operators ---

    def _operator(self, node, name, inputs, steps):
        if name in LIST_WRITES and isinstance(inputs[0].example, list):
            found = self._list(node, name, inputs)
            return [found] if list(node.outputs()) else []
        if inputs and inputs[0].stacked is not None:
            return [self._of_filled(node, name, inputs, steps)]
        if name in ("list", "copy") and isinstance(inputs[0].example, list):
            return [Known(list(inputs[0].fixed), depth=self._depth)]
        if name in ("add", "mul") and any(isinstance(each.example, list) for each in inputs[:2]):
            return [self._of_lists(node, name, inputs)]
        if name == "tensor" and all(leaf.value is None for each in inputs for leaf in leaves(each)):
            dtype = inputs[1].fixed if len(inputs) > 1 else None
            dtype = dtype if dtype is None else scalar_type_to_pytorch_type[dtype]
            return [self.hold(None, f"constant_{len(self._held)}", torch.tensor(deep(inputs[0]), dtype=dtype))]
        if name == "numel" and isinstance(inputs[0].example, torch.Tensor):
            sizes = self._size(inputs[:1], steps, node).fixed
            return [functools.reduce(lambda a, b: self._number(node, "mul", [a, b], steps), sizes, Known(1))]
        if name == "len" and inputs[0].parts is not None:
            self._counted.append((node, inputs[0].parts))
        tensors = [i for i in inputs if isinstance(deep(i), torch.Tensor) or holds_tensors(i)]
        if name == "size":
            return [self._size(inputs, steps, node)]
        if name in _OF_DTYPES and len(inputs) == len(tensors) == 1:
            return [Known(getattr(inputs[0].example, name)())]
        if name == "is_grad_enabled":
            return [Known(False)]
        if name == "to":
            return [self._converted(node, inputs, steps)]
        if name == "Bool" and tensors:
            return [
                self._emit(
                    node, "_to_copy", {"self": inputs[0], "dtype": Known(torch.bool)}, bool(inputs[0].example), steps
                )
            ]
        if name == "Int" and tensors and inputs[0].example.dtype == torch.int64 and inputs[0].example.dim() == 0:
            return [Known(int(inputs[0].example), _unless_constant(inputs[0].value), size=inputs[0].size)]
        if name in ("Int", "Float", "item") and tensors and not inputs[0].example.is_complex():
            kind = {"Int": int, "Float": float}.get(name, lambda x: x.item())
            return [self._emit(node, "item", {"self": inputs[0]}, kind(inputs[0].example), steps)]
        if name == "slice" and isinstance(inputs[0].example, list):
            ends = (self._fixed(node, each, "a part of a list with an end") for each in inputs[1:])
            return [Known(inputs[0].fixed[slice(*ends)])]
        if name == "__getitem__" and isinstance(inputs[0].example, (list, dict)):
            return [self._item(node, *inputs, steps)]
        gives_tensor = [str(v.type()) for v in node.outputs()] == ["Tensor"]
        if not (tensors or gives_tensor) or name in ("dim", "len", "__is__", "__isnot__"):
            return [self._number(node, name, inputs, steps)]
        text = node.schema().partition("::")[2]
        schema = next((s for s in schemas().get(name, ()) if text.startswith(s.text.partition(" -> ")[0].split("(")[0]) and len(s.arguments) == len(inputs)
                       and [a.name for a in s.arguments] == _parameters(text)), None)  # fmt: skip
        if schema is None:
            raise self._refuse(node, f"aten::{name} with arguments ({text}) cannot be written")
        arguments = {a.name: _typed(a.type, i) for a, i in zip(schema.arguments, inputs, strict=True)}
        for each in _CHOOSING & arguments.keys():
            for leaf in leaves(arguments[each]):
                self._fixed(node, leaf, f"aten::{name} with a {each}")
        if schema.arguments[0].is_write:
            return [self._in_place(node, name, schema, arguments, steps)]
        real = {k: deep(v) for k, v in arguments.items()}
        positional = [real[a.name] for a in schema.arguments if not a.kwarg_only]
        keywords = {a.name: real[a.name] for a in schema.arguments if a.kwarg_only and real[a.name] is not None}
        concrete = getattr(torch.ops.aten, name)(*positional, **keywords)
        if isinstance(concrete, (tuple, list)):
            varies = self._varies(name, arguments)
            parts = [self._fresh(name, c, varies, certain(name, arguments, c)) for c in concrete]
            self._append(node, name, arguments, parts, steps)
            if name in _PARTS and self._of_any_number(node, name, arguments):
                whole = Known(parts)
                whole.parts = steps[-1]
                return [whole]
            listed = node.output().type().kind() == "ListType" if len(list(node.outputs())) == 1 else False
            return [Known(parts)] if listed or len(list(node.outputs())) == 1 else parts
        if name in _BY_LAYOUT and self._varies(name, arguments):
            return [self._perhaps_a_view(node, name, arguments, concrete, steps)]
        if concrete is inputs[0].example:
            return [inputs[0]]
        if name in _OF_SIZES and concrete.dim() == 0 and all(i.value is None for i in inputs):
            return [Known(concrete)]  # sizes of the example, as traces compute with them
        found = self._emit(node, name, arguments, concrete, steps)
        if schema.text.partition(",")[0].partition(")")[0].endswith("(a") and is_shared(concrete, inputs[0].example):
            found.origin = inputs[0], name, arguments
        return [found]

    def _of_any_number(self, node, name, arguments):
        """Whether there may be more or fewer parts than of the example; an input of which a size is named has them surely."""
        value, dim = arguments["self"].value, deep(arguments["dim"])
        size = 0 if value is None else value.shape[dim]
        if isinstance(size, str) and name == "unbind" and value in self.program.inputs:
            raise self._refuse(node, f"aten::unbind along a size that may change ({size}) cannot be written")
        return isinstance(size, str)

    def check_counts(self):
        """Refuses a count of parts where no part is needed: then nothing in the file fails where there are others."""
        needed = self.program.needed() if self._counted else ()
        for node, step in self._counted:
            top = any(each is step for each in self.program.steps)
            if top and not any(each in needed for each in step.results):
                raise self._refuse(
                    node, f"the number of parts that {step.name} gives of a size that may change cannot be written"
                )

    def _converted(self, node, inputs, steps):
        """A tensor of another dtype: a file knows no devices and no copies."""
        x, given = inputs[0], dict(zip(_parameters(node.schema().partition("::")[2]), inputs, strict=True))
        dtype = given["other"].example.dtype if "other" in given else None
        if "dtype" in given:
            dtype = self._fixed(node, given["dtype"], "a dtype")
        dtype = scalar_type_to_pytorch_type[dtype] if isinstance(dtype, int) else dtype
        if dtype in (None, x.example.dtype):
            return self._twin(x) if "copy" in given and given["copy"].fixed else x
        if x.value is None:
            return Known(x.fixed.to(dtype))
        return self._emit(node, "_to_copy", {"self": x, "dtype": Known(dtype)}, x.example.to(dtype), steps)

    def _append(self, node, name, arguments, results, steps):
        place = str(node.sourceRange())
        values = {k: value_of(v) for k, v in arguments.items()}
        steps.append(Step(name, values, [r.value for r in results], None, place, f"  File {place}"))

    def _emit(self, node, name, arguments, concrete, steps):
        sizes = certain(name, arguments, concrete) if isinstance(concrete, torch.Tensor) else None
        found = self._fresh(name.replace(".", "_"), concrete, self._varies(name, arguments), sizes)
        self._append(node, name, arguments, [found], steps)
        return found

    def _size(self, inputs, steps, node):
        x = inputs[0]
        if len(inputs) == 1:
            return Known([self._size([x, Known(i)], steps, node) for i in range(x.example.dim())])
        dim = self._fixed(node, inputs[1], "the size of a dim")
        if x.value is None or isinstance(x.value.shape[dim], int):
            return Known(x.example.shape[dim])
        found = self._emit(node, "sym_size", {"self": x, "dim": Known(dim)}, x.example.shape[dim], steps)
        found.size = x.value.shape[dim]
        return found


#: parameters by which an operator is written, whose values the file cannot compute
_CHOOSING = {"dim", "dim0", "dim1", "dims", "start_dim", "end_dim", "chunks", "groups", "correction", "keepdim"}
#: operators whose results have sizes by the values that they are given
_OF_VALUES = ("nonzero", "argwhere", "masked_select", "_unique", "unique", "bincount", "repeat_interleave", "nms")
#: operators that give as many parts as a size tells
_PARTS = ("unbind", "chunk", "unsafe_chunk")
#: operators whose results are views or copies by the layout of what they are given
_BY_LAYOUT = ("contiguous", "reshape", "reshape_as", "flatten", "ravel")
#: parameters that elements are computed from, and no size
_OF_ELEMENTS = {"other", "alpha", "beta", "value", "fill_value", "min", "max", "exponent", "left", "right", "weight"}
#: operators that traces compute sizes by
_OF_SIZES = {
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "floor",
    "ceil",
    "neg",
    "true_divide",
    "_to_copy",
}
#: questions that the dtype of a tensor answers, or its layout, of which a file knows nothing
_OF_DTYPES = ("is_floating_point", "is_complex", "is_signed", "is_contiguous")
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)


def _is_sized_by_values(name, arguments):
    """Whether an operator's results have sizes by the elements of what it is given."""
    if name == "where":
        return len(arguments) == 1
    if name == "tensor_split":
        return any(isinstance(deep(each), torch.Tensor) for k, each in arguments.items() if k != "self")
    return name.startswith(_OF_VALUES) or (name.startswith("index") and _has_mask(arguments))


def _has_mask(arguments):
    given = [leaf.example for each in arguments.values() for leaf in leaves(each)]
    return any(isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8) for each in given[1:])


def _unless_constant(value):
    """What stands for a number, but where it is in the file already."""
    return None if value is None or value.constant is not None else value


def _typed(kind, known):
    """Graphs have dtypes and formats of memory by PyTorch's numbers."""
    if known.value is None and isinstance(known.example, int) and not isinstance(known.example, bool):
        if kind.startswith("ScalarType"):
            return Known(scalar_type_to_pytorch_type[known.fixed])
        if kind.startswith("memory_format"):
            return Known(_FORMATS[known.fixed])
    return known


def _parameters(text):
    from torch._seams import Schema
    from torch.export._rows import _known_types

    return [a.name for a in Schema.parse(_known_types(text)).arguments]


def read(module: Any, args: tuple, names: list[str], moving: dict[int, dict[int, Any]]) -> Program:
    """The program of a scripted module's forward."""
    walk = Walk(module, bool(moving))
    arguments = []
    for i, (name, arg) in enumerate(zip(names, args, strict=True)):
        if isinstance(arg, torch.Tensor):
            shape = tuple(moving.get(i, {}).get(d, s) for d, s in enumerate(arg.shape))
            value = Value(name, arg.dtype, shape)
            walk.program.inputs.append(value)
            arguments.append(Known(arg, value))
        else:
            arguments.append(Known(arg))
    with torch.no_grad():
        found = walk.method(module, module.graph, arguments, walk.program.steps)
    if any(holds_filled(each) for each in found):
        raise SymbolicValueError("a list that a loop has filled is no output of a file: torch.stack makes one")
    walk.settle(module.graph.return_node(), found)
    flat = [leaf for each in found for leaf in leaves(each)]
    walk.program.outputs = [k.value if k.value is not None else constant(k.fixed) for k in flat]
    walk.check_counts()
    return walk.program
