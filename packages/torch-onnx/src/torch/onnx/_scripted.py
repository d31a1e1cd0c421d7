"""A script (torch.jit.script) as a :class:`.Program`: branches and loops are kept as blocks.

The graph is walked once on the example, so that dtypes and dims are known; a branch that the example does not take is
walked too. Calls of methods are written out in place. Sizes of the example hold, but where ``moving`` says that they may
change, and within loops.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from typing import Any

import torch
import torch.nn.functional as F
from torch.export._rows import schemas

from ._program import Block, Program, Step, Value
from .errors import SymbolicValueError
from .symbolic_helper import scalar_type_to_pytorch_type


def _options(name, size, *rest):
    """What an operator that resizes is given, as ``interpolate`` takes it: scales come as a list, or one by one."""
    corners, scales = (None, rest) if "nearest" in name else (rest[0], rest[1:])
    scale = scales[0] if isinstance(scales[0].concrete, (list, tuple)) else Known(list(scales))
    of_size = size.concrete is not None
    return {
        "mode": _RESIZES[name], "antialias": name.endswith("_aa"), "align_corners": corners, "size": size if of_size else None,
        "scale_factor": None if of_size else scale,
    }  # fmt: skip


class Known:
    """A value of the walk: what it is on the example, and what stands for it in the file (None: a constant)."""

    def __init__(self, concrete: Any, value: Value | None = None, depth: int = 0) -> None:
        self.concrete, self.value = concrete, value
        self.depth = depth  # of the block that made it
        self.origin: tuple[Known, str, dict] | None = None  # of a view: what it is one of, by which operator
        self.stacked: Known | None = None  # of a list that a loop has filled: its elements, one after another

    @property
    def root(self) -> Known:
        """What has the memory that this is a view of."""
        return self if self.origin is None else self.origin[0].root


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


def _of_one_type(pick):
    """``min`` or ``max`` as scripts compute it: of an int and a float it is a float, whichever it is."""
    return lambda *numbers: pick(float(n) if any(isinstance(m, float) for m in numbers) else n for n in numbers)


_ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "lt": operator.lt, "gt": operator.gt,
    "le": operator.le, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "__not__": operator.not_, "neg": operator.neg,
    "__and__": operator.and_, "__or__": operator.or_, "__is__": operator.is_, "__isnot__": operator.is_not,
    "div": operator.truediv, "truediv": operator.truediv, "remainder": operator.mod, "len": len, "min": _of_one_type(min), "max": _of_one_type(max), "floor": math.floor, "ceil": math.ceil,
    "dim": lambda x: x.dim(), "Float": float, "Int": int, "abs": abs,
}  # fmt: skip
#: of these, what is computed in the file too
_OF_NUMBERS = {
    **{name: name for name in ("add", "sub", "mul", "floordiv", "min", "max", "abs")}, "remainder": "mod", "neg": "sub",
}  # fmt: skip
#: operators that change a list
_LIST_WRITES = ("append", "extend", "insert", "pop", "reverse", "clear", "_set_item", "Delete")
_TEXT = "a text that is put together when it runs"
_COMPARISONS = ("lt", "gt", "le", "ge", "eq", "ne")


class Walk:
    """Walks a method's graph."""

    def __init__(self, module: torch.nn.Module, moving: bool) -> None:
        self.program = Program([], [], [])
        self._names = {id(m): name for name, m in module.named_modules()}
        self._held: dict[int, Known] = {}
        self._moving, self._depth, self._count = moving, 0, 0
        self._parameters = {id(p) for p in module.parameters()}
        self._all: list[Known] = []
        self._growing: dict[
            int, tuple[int, list[Known]]
        ] = {}  # lists that a loop appends to: its depth, what it appends

    # --- values ---

    def _fresh(self, name: str, concrete: Any) -> Known:
        self._count += 1
        if isinstance(concrete, torch.Tensor):
            shape = (
                tuple(f"d{self._count}_{i}" for i in range(concrete.dim())) if self._loose else tuple(concrete.shape)
            )
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
        outputs = [v.debugName() for v in node.outputs()]
        if node.kind() == "prim::Print":  # a model in a file says nothing
            return
        inputs = [env[v.debugName()] for v in node.inputs()]
        if node.kind() != "prim::Constant" and [v.type().kind() for v in node.outputs()] == ["StringType"]:
            env[outputs[0]] = Known(_TEXT)  # for messages only
            return
        kind = node.kind()
        if any(i.stacked is not None for i in inputs) and kind not in ("aten::stack", "aten::cat", "aten::len"):
            raise self._refuse(
                node, f"{kind} of a list that a loop has filled cannot be written: torch.stack and torch.cat can"
            )
        short = kind.partition("::")[2]
        if kind == "prim::Constant":
            value = node.output().toIValue()
            held = isinstance(value, torch.Tensor) and value.dim() > 0
            found = [self.hold(None, f"constant_{len(self._held)}", value) if held else Known(value)]
        elif kind == "prim::GetAttr":
            owner, name = inputs[0].concrete, node.s("name")
            value = getattr(owner, name)
            found = [self.hold(owner, name, value) if isinstance(value, torch.Tensor) else Known(value)]
        elif kind == "prim::CallMethod":
            owner, name = inputs[0].concrete, node.s("name")
            graph = owner.graph if name == "forward" else getattr(owner, name).graph
            found = self.method(owner, graph, inputs[1:], steps)
        elif kind == "prim::CallFunction":
            called = inputs[0].concrete
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
            plain = {name: _deep(each) if isinstance(each, Known) else each for name, each in options.items()}
            found = [self._resized(node, lambda x, *_: F.interpolate(x, **plain), inputs, options, steps)]
        elif kind in _FUNCTIONS:
            function, names = _FUNCTIONS[kind]
            given = dict(zip(names, inputs))
            called = {name: _deep(each) for name, each in given.items()}
            found = [self._emit(node, function.__name__, given, function(**called), steps)]
        elif kind in _LAYERS:
            found = self._layers(node, _LAYERS[kind], inputs, steps)
        elif kind == "prim::PythonOp" and node.hasAttribute("operator"):
            found = self._composed(node, node.ival("pyobj"), inputs, steps)
        elif kind == "prim::dtype":
            found = [Known(scalar_type_to_pytorch_type.index(inputs[0].concrete.dtype))]
        elif kind == "prim::device":
            found = [Known(inputs[0].concrete.device)]
        elif kind == "prim::NumToTensor":
            found = [Known(torch.tensor(inputs[0].concrete), inputs[0].value)]
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            found = [Known(inputs, depth=self._depth)]
        elif kind == "prim::DictConstruct":
            found = [Known({key.concrete: each for key, each in zip(inputs[::2], inputs[1::2], strict=True)})]
        elif kind == "prim::abs":
            found = [self._number(node, short, inputs, steps)]
        elif kind in ("prim::min", "prim::max"):
            found = [self._extreme(node, short, inputs, steps)]
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            found = inputs[0].concrete
        elif kind == "prim::TupleIndex":
            found = [inputs[0].concrete[inputs[1].concrete]]
        elif kind == "prim::If":
            found = self._if(node, inputs[0], env, steps)
        elif kind == "prim::Loop":
            found = self._loop(node, inputs, env, steps)
        elif kind == "prim::unchecked_cast":
            found = inputs
        elif kind == "prim::Uninitialized":
            found = [Known(None)]
        elif kind == "prim::RaiseException":
            raise self._refuse(node, f"the program raises for the example: {inputs[0].concrete}")
        elif kind.startswith("aten::"):
            found = self._operator(node, short, inputs, steps)
        else:
            raise self._refuse(node, f"{kind} cannot be written")
        env.update(zip(outputs, found, strict=True))

    def _composed(self, node, function, inputs, steps):
        """A function of Python over operators: those that it calls for the example."""
        if self._loose:
            raise self._refuse(node, f"{function.__name__} cannot be written where sizes change, or in a block")
        real = [_deep(i) for i in inputs]
        at = [i for i, value in enumerate(real) if isinstance(value, torch.Tensor)]

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
        if given["size"].concrete is ...:
            given["size"] = inputs[-1]
        concrete = function(*map(_deep, inputs))
        return self._emit(node, "interpolate", {"input": inputs[0], **given}, concrete, steps)

    def _layers(self, node, mode, inputs, steps):
        """Recurrent layers as one step."""
        x, states, params, biases, layers, dropout, train, both, batch_first = inputs
        states = states.concrete if mode == "LSTM" else [states]
        ways = 2 if both.concrete else 1
        each = len(params.concrete) // (layers.concrete * ways)
        plain = {
            "bias": biases.concrete, "layers": layers.concrete, "bidirectional": both.concrete, "mode": mode,
            "projected": each % 2 == 1, "dropout": float(dropout.concrete) if train.concrete else 0.0,
        }  # fmt: skip
        turned = lambda known: self._emit(
            node,
            "transpose",
            {"self": known, "dim0": Known(0), "dim1": Known(1)},
            known.concrete.transpose(0, 1),
            steps,
        )
        x = turned(x) if batch_first.concrete else x
        function = getattr(torch, mode.lower())
        given = _deep(Known(states)) if mode == "LSTM" else _deep(states[0])
        found = function(
            x.concrete, given, _deep(params), biases.concrete, layers.concrete, 0.0, False, both.concrete, False
        )
        results = [self._fresh(mode.lower(), each) for each in found]
        arguments = {"input": x, "states": Known(states), "weights": params, **{k: Known(v) for k, v in plain.items()}}
        self._append(node, "recurrent", arguments, results, steps)
        return [turned(results[0]) if batch_first.concrete else results[0], *results[1:]]

    def _refuse(self, node, text):
        return SymbolicValueError(f"{node.sourceRange()}: {text}")

    # --- operators ---

    def _list(self, node, name, inputs):
        """A change of a list, which has to lie where the list was made."""
        items, *given = inputs
        if not isinstance(items.concrete, list):
            raise self._refuse(node, f"aten::{name} of a list that is no list of values cannot be written")
        if name == "append" and id(items) in self._growing and self._growing[id(items)][0] == self._depth:
            self._growing[id(items)][1].append(given[0])
            return items
        if items.depth < self._depth:
            raise self._refuse(node, f"aten::{name} changes a list of the outside in a branch or loop")
        if any(each.value is not None and name in ("insert", "pop", "_set_item", "Delete") for each in given[:1]):
            raise self._refuse(node, f"aten::{name} at a place that is computed cannot be written")
        if name == "extend":
            items.concrete.extend(given[0].concrete)
        elif name == "_set_item":
            items.concrete[given[0].concrete] = given[1]
        elif name == "Delete":
            del items.concrete[given[0].concrete]
        elif name in ("append", "reverse", "clear"):
            getattr(items.concrete, name)(*given)
        elif name == "insert":
            items.concrete.insert(given[0].concrete, given[1])
        else:
            return items.concrete.pop(*(each.concrete for each in given))
        return items

    def _operator(self, node, name, inputs, steps):
        if name in _LIST_WRITES and isinstance(inputs[0].concrete, list):
            found = self._list(node, name, inputs)
            return [found] if list(node.outputs()) else []
        if inputs and inputs[0].stacked is not None:
            return [self._of_filled(node, name, inputs, steps)]
        if name in ("list", "copy") and isinstance(inputs[0].concrete, list):
            return [Known(list(inputs[0].concrete), depth=self._depth)]
        if name == "tensor" and all(leaf.value is None for each in inputs for leaf in _leaves(each)):
            dtype = inputs[1].concrete if len(inputs) > 1 else None
            dtype = dtype if dtype is None else scalar_type_to_pytorch_type[dtype]
            return [self.hold(None, f"constant_{len(self._held)}", torch.tensor(_deep(inputs[0]), dtype=dtype))]
        if name == "numel" and isinstance(inputs[0].concrete, torch.Tensor):
            sizes = self._size(inputs[:1], steps, node).concrete
            return [functools.reduce(lambda a, b: self._number(node, "mul", [a, b], steps), sizes, Known(1))]
        tensors = [i for i in inputs if isinstance(_deep(i), torch.Tensor) or _holds_tensors(i)]
        if name == "size":
            return [self._size(inputs, steps, node)]
        if name == "Bool" and tensors:
            return [
                self._emit(
                    node, "_to_copy", {"self": inputs[0], "dtype": Known(torch.bool)}, bool(inputs[0].concrete), steps
                )
            ]
        if name == "Int" and tensors and inputs[0].concrete.dtype == torch.int64 and inputs[0].concrete.dim() == 0:
            return [Known(int(inputs[0].concrete), inputs[0].value if self._loose else None)]
        if name in ("Int", "Float") and tensors:
            raise self._refuse(node, f"aten::{name} of a tensor cannot be written")
        if name == "slice" and isinstance(inputs[0].concrete, list):
            return [Known(inputs[0].concrete[slice(*(i.concrete for i in inputs[1:]))])]
        if name == "__getitem__" and isinstance(inputs[0].concrete, (list, dict)):
            return [inputs[0].concrete[inputs[1].concrete]]
        gives_tensor = [str(v.type()) for v in node.outputs()] == ["Tensor"]
        if not (tensors or gives_tensor) or name in ("dim", "len", "__is__", "__isnot__"):
            return [self._number(node, name, inputs, steps)]
        text = node.schema().partition("::")[2]
        schema = next((s for s in schemas().get(name, ()) if text.startswith(s.text.partition(" -> ")[0].split("(")[0]) and len(s.arguments) == len(inputs)
                       and [a.name for a in s.arguments] == _parameters(text)), None)  # fmt: skip
        if schema is None:
            raise self._refuse(node, f"aten::{name} with arguments ({text}) cannot be written")
        arguments = {a.name: _typed(a.type, i) for a, i in zip(schema.arguments, inputs, strict=True)}
        if schema.arguments[0].is_write:
            return [self._in_place(node, name, schema, arguments, steps)]
        real = {k: _deep(v) for k, v in arguments.items()}
        positional = [real[a.name] for a in schema.arguments if not a.kwarg_only]
        keywords = {a.name: real[a.name] for a in schema.arguments if a.kwarg_only and real[a.name] is not None}
        concrete = getattr(torch.ops.aten, name)(*positional, **keywords)
        if isinstance(concrete, (tuple, list)):
            parts = [self._fresh(name, c) for c in concrete]
            self._append(node, name, arguments, parts, steps)
            listed = node.output().type().kind() == "ListType" if len(list(node.outputs())) == 1 else False
            return [Known(parts)] if listed or len(list(node.outputs())) == 1 else parts
        if concrete is inputs[0].concrete:
            return [inputs[0]]
        found = self._emit(node, name, arguments, concrete, steps)
        if schema.text.partition(",")[0].partition(")")[0].endswith("(a") and _is_shared(concrete, inputs[0].concrete):
            found.origin = inputs[0], name, arguments
        return [found]

    # --- writes ---

    def _in_place(self, node, name, schema, arguments, steps):
        """An operator in place: what it computes becomes the target's value, is put back into what the target is a view of,
        and all views of that are taken anew.
        """
        target, plain = arguments["self"], name[:-1]
        root = target.root
        views = [k for k in self._all if k.origin is not None and k.root is root]
        shared = [
            k for k in self._all if isinstance(k.concrete, torch.Tensor) and _is_shared(k.concrete, target.concrete)
        ]
        if any(k.root is not root for k in shared):
            raise self._refuse(
                node, f"aten::{name} writes to a tensor that others share (chunk, split, unbind): use {plain}"
            )
        if any(k.depth < self._depth for k in [root, *views]):
            raise self._refuse(node, f"aten::{name} writes to a tensor of the outside in a branch or loop: use {plain}")
        x = target.concrete.detach()
        real = {k: _deep(v) for k, v in arguments.items() if k != "self"}
        positional = [real[a.name] for a in schema.arguments[1:] if not a.kwarg_only]
        keywords = {a.name: real[a.name] for a in schema.arguments if a.kwarg_only and real.get(a.name) is not None}
        made = getattr(torch.ops.aten, name)(x.clone(), *positional, **keywords)
        if plain == "zero":
            plain, arguments = "fill", {"self": target, "value": Known(0)}
        elif plain != "copy" and plain not in schemas():
            raise self._refuse(node, f"aten::{name} cannot be written: use an operator that is not in place")
        computed = made
        if plain not in ("copy", "fill", "index_put") and not plain.startswith(_RANDOM):
            computed = getattr(torch.ops.aten, plain)(x, *positional, **keywords)
        found = self._emit(node, plain, arguments, computed, steps)
        if computed.dtype != made.dtype:  # of operands of a wider dtype
            found = self._emit(node, "_to_copy", {"self": found, "dtype": Known(made.dtype)}, made, steps)
        self._becomes(target, found)
        part = target
        while part.origin is not None:
            base = part.origin[0]
            self._becomes(base, self._put_back(node, part, steps))
            part = base
        for view in views:
            if not _leads_to(target, view):
                base, kind, given = view.origin
                self._becomes(view, self._emit(node, kind, given, _run(kind, given), steps))
        return target

    def _becomes(self, known, found):
        """``known`` stands for what ``found`` is from now on."""
        known.concrete, known.value = found.concrete, found.value
        if found in self._all:
            self._all.remove(found)

    def _put_back(self, node, part, steps):
        """What a tensor is after a view of it has been written to."""
        base, kind, given = part.origin
        x, y = base.concrete, part.concrete
        if kind in ("select", "slice", "diagonal"):
            names = {"self": base, "src": part, **{k: v for k, v in given.items() if k != "self"}}
            return self._emit(node, f"{kind}_scatter", names, _run(f"{kind}_scatter", names), steps)
        if kind == "narrow" and isinstance(start := _deep(given["start"]), int):
            places = {
                "dim": given["dim"],
                "start": Known(start),
                "end": Known(start + _deep(given["length"])),
                "step": Known(1),
            }
            names = {"self": base, "src": part, **places}
            if all(v.value is None for v in (given["start"], given["length"])):
                return self._emit(node, "slice_scatter", names, _run("slice_scatter", names), steps)
        if kind == "transpose":
            return self._emit(
                node, kind, {**given, "self": part}, y.transpose(_deep(given["dim0"]), _deep(given["dim1"])), steps
            )
        if kind == "t":
            return self._emit(node, kind, {"self": part}, y.t(), steps)
        if kind == "permute":
            order = [d % y.dim() for d in _deep(given["dims"])]
            back = [order.index(d) for d in range(len(order))]
            return self._emit(node, kind, {"self": part, "dims": Known(back)}, y.permute(back), steps)
        if x.numel() == y.numel() and kind not in ("expand", "as_strided") and x.dtype == y.dtype:
            sizes = self._size([base], steps, node)
            return self._emit(node, "reshape", {"self": part, "shape": sizes}, y.reshape(x.shape), steps)
        raise self._refuse(node, f"a write to what aten::{kind} gives cannot be written: write to a tensor of its own")

    def _append(self, node, name, arguments, results, steps):
        place = str(node.sourceRange())
        values = {k: _value(v) for k, v in arguments.items()}
        steps.append(Step(name, values, [r.value for r in results], None, place, f"  File {place}"))

    def _emit(self, node, name, arguments, concrete, steps):
        found = self._fresh(name.replace(".", "_"), concrete)
        self._append(node, name, arguments, [found], steps)
        return found

    def _size(self, inputs, steps, node):
        x = inputs[0]
        if len(inputs) == 1:
            return Known([self._size([x, Known(i)], steps, node) for i in range(x.concrete.dim())])
        dim = inputs[1].concrete
        if not self._loose or isinstance(x.value.shape[dim], int):
            return Known(x.concrete.shape[dim])
        return self._emit(node, "sym_size", {"self": x, "dim": Known(dim)}, x.concrete.shape[dim], steps)

    def _number(self, node, name, inputs, steps):
        if name not in _ARITHMETIC:
            raise self._refuse(node, f"aten::{name} of numbers cannot be written")
        concrete = _ARITHMETIC[name](*(i.concrete for i in inputs))
        if name in ("dim", "len", "__is__", "__isnot__") or all(i.value is None for i in inputs):
            return Known(concrete)
        if name in _OF_NUMBERS and (name != "remainder" or isinstance(concrete, int)):
            given = dict(zip(("left", "right"), [Known(0), *inputs] if name == "neg" else inputs, strict=False))
            return self._emit(node, f"number.{_OF_NUMBERS[name]}", given, concrete, steps)
        if name in _COMPARISONS:
            return self._emit(node, name, dict(zip(("self", "other"), inputs, strict=True)), concrete, steps)
        if name in ("__not__", "__and__", "__or__"):
            plain = {"__not__": "logical_not", "__and__": "logical_and", "__or__": "logical_or"}[name]
            return self._emit(node, plain, dict(zip(("self", "other"), inputs, strict=False)), concrete, steps)
        raise self._refuse(node, f"aten::{name} of numbers that are computed cannot be written")

    def _of_filled(self, node, name, inputs, steps):
        """``stack``, ``cat`` or ``len`` of a list that a loop has filled."""
        whole = inputs[0].stacked
        if name == "len":
            return self._emit(node, "sym_size", {"self": whole, "dim": Known(0)}, len(inputs[0].concrete), steps)
        rank = whole.concrete.dim() if name == "stack" else whole.concrete.dim() - 1
        dim = inputs[1].concrete % rank
        places = {"self": whole, "source": Known([0]), "destination": Known([dim])}
        moved = self._emit(node, "movedim", places, whole.concrete.movedim(0, dim), steps) if dim else whole
        if name == "stack":
            return moved
        ends = {"self": moved, "start_dim": Known(dim), "end_dim": Known(dim + 1)}
        return self._emit(node, "flatten", ends, moved.concrete.flatten(dim, dim + 1), steps)

    def _extreme(self, node, name, inputs, steps):
        """The extreme of two numbers, or of those of a list."""
        listed = inputs[0].concrete if len(inputs) == 1 else inputs
        numbers = [each if isinstance(each, Known) else Known(each) for each in listed]
        return functools.reduce(lambda one, two: self._number(node, name, [one, two], steps), numbers)

    # --- blocks ---

    def _block(self, block, inputs, env):
        inner = {**env, **dict(zip([v.debugName() for v in block.inputs()], inputs, strict=True))}
        steps: list[Step] = []
        self._depth += 1
        try:
            for node in block.nodes():
                self._node(node, inner, steps)
        finally:
            self._depth -= 1
        return steps, [inner[v.debugName()] for v in block.outputs()]

    def _if(self, node, condition, env, steps):
        blocks = list(node.blocks())
        if condition.value is None:
            inner = dict(env)
            taken = blocks[0 if condition.concrete else 1]
            for each in taken.nodes():
                self._node(each, inner, steps)
            return [inner[v.debugName()] for v in taken.outputs()]
        raising = [any(each.kind() == "prim::RaiseException" for each in block.nodes()) for block in blocks]
        if any(raising) and not all(raising):  # what a program checks while it runs is left away
            inner = dict(env)
            for each in blocks[raising.index(False)].nodes():
                self._node(each, inner, steps)
            return [inner[v.debugName()] for v in blocks[raising.index(False)].outputs()]
        both = [self._block(block, [], env) for block in blocks]
        results = []
        for one, two in zip(*(outputs for _, outputs in both), strict=True):
            if type(one.concrete) is not type(two.concrete) or isinstance(one.concrete, (list, tuple)):
                raise self._refuse(node, "branches that give lists, or things of two kinds, cannot be written")
            found = self._fresh("if", one.concrete if condition.concrete else two.concrete)
            if isinstance(one.concrete, torch.Tensor):
                if one.concrete.dtype != two.concrete.dtype or one.concrete.dim() != two.concrete.dim():
                    raise self._refuse(
                        node, "branches that give tensors of two dtypes, or with other dims, cannot be written"
                    )
                if not self._loose and one.concrete.shape != two.concrete.shape:
                    found.value.shape = tuple(f"{found.value.name}_{i}" for i in range(one.concrete.dim()))
            results.append(found)
        step = Step(
            "prim.if", {"condition": _value(condition)}, [r.value for r in results], place=str(node.sourceRange())
        )
        step.blocks = [Block([], inner, [_operand(o) for o in outputs]) for inner, outputs in both]
        steps.append(step)
        return results

    def _loop(self, node, inputs, env, steps):
        """A loop as a node; turn by turn where it changes what lies outside and its turns are known; else as a node that
        gives the elements of the lists that it fills.
        """
        known, count = len(self._all), len(steps)
        try:
            return self._loop_node(node, inputs, env, steps, False)
        except SymbolicValueError:
            del self._all[known:], steps[count:]
        trips, going = inputs[:2]
        if trips.value is None and going.value is None and trips.concrete <= _MOST_TURNS:
            lists = [(each, list(each.concrete)) for each in env.values() if isinstance(each.concrete, list)]
            found = self._turns(node, inputs, env, steps)
            if found is not None:
                return found
            for each, before in lists:
                each.concrete[:] = before
            del self._all[known:], steps[count:]
        return self._loop_node(node, inputs, env, steps, True)

    def _turns(self, node, inputs, env, steps):
        """A loop of turns that are known, one after another; None where a value decides whether it goes on."""
        trips, going, *carried = inputs
        (block,) = node.blocks()
        for turn in range(trips.concrete if going.concrete else 0):
            inner = {**env, **dict(zip([v.debugName() for v in block.inputs()], [Known(turn), *carried], strict=True))}
            for each in block.nodes():
                self._node(each, inner, steps)
            going, *carried = (inner[v.debugName()] for v in block.outputs())
            if going.value is not None:
                return None
            if not going.concrete:
                break
        return carried

    def _loop_node(self, node, inputs, env, steps, fills):
        trips, going, *carried = inputs
        (block,) = node.blocks()
        self._depth += 1
        entry = [self._fresh("turn", 0), *(self._fresh("carried", c.concrete) for c in carried)]
        self._depth -= 1
        for before in carried:
            if isinstance(before.concrete, (list, tuple)) or before.concrete is None:
                raise self._refuse(node, "loops that carry lists cannot be written")
        names = [next(iter(n.inputs())).debugName() for n in block.nodes() if n.kind() == "aten::append"]
        lists = [env[each] for each in dict.fromkeys(names) if each in env]
        lists = [each for each in lists if fills and each.concrete == [] and each.depth <= self._depth]
        kept, self._growing = self._growing, {id(each): (self._depth + 1, []) for each in lists}
        try:
            return self._written_loop(node, inputs, env, steps, block, entry, lists)
        finally:
            self._growing = kept

    def _written_loop(self, node, inputs, env, steps, block, entry, lists):
        trips, going, *carried = inputs
        inner, (going_on, *after) = self._block(block, entry, env)
        grown = [self._growing[id(each)][1] for each in lists]
        if any(len(each) != 1 for each in grown):
            raise self._refuse(node, "a loop that appends to a list more than once in a turn cannot be written")
        appended = [each[0] for each in grown]
        filled = [[] for _ in lists]

        def note():
            for whole, each in zip(filled, lists, strict=True):
                whole.append(self._growing[id(each)][1].pop().concrete)

        note()
        values = [c.concrete for c in carried]
        keep, turn = going.concrete, 0
        if keep and trips.concrete > 0:  # the rest of the example, for what comes after
            values, keep, turn = [a.concrete for a in after], going_on.concrete, 1
        while keep and turn < trips.concrete:
            self._count += 1
            _, (again, *then) = self._block(
                block, [Known(turn), *(Known(v, e.value) for v, e in zip(values, entry[1:], strict=True))], env
            )
            note()
            values, keep, turn = [t.concrete for t in then], again.concrete, turn + 1
        results = []
        for value, before, body in zip(values, entry[1:], after, strict=True):
            if isinstance(value, torch.Tensor) and (
                body.concrete.dtype != before.concrete.dtype or value.dim() != before.concrete.dim()
            ):
                raise self._refuse(node, "a loop whose tensors change their dtype or number of dims cannot be written")
            results.append(self._fresh("loop", value))
        stacks = []
        for each, items in zip(lists, filled, strict=True):
            if not turn or any(not isinstance(i, torch.Tensor) or i.shape != items[0].shape for i in items):
                raise self._refuse(node, "a loop fills a list with what are no tensors of one shape, or has no turn")
            each.stacked = self._fresh("stacked", torch.stack(items[:turn]))
            each.stacked.value.shape = (each.stacked.value.name, *each.stacked.value.shape[1:])
            each.concrete = [Known(i) for i in items[:turn]]
            stacks.append(each.stacked)
        forever = trips.value is None and trips.concrete >= 2**62
        step = Step(
            "prim.loop", {"trips": None if forever else _value(trips), "going": _operand(going), "first": [_operand(c) for c in carried]},
            [r.value for r in (*results, *stacks)], place=str(node.sourceRange()),
        )  # fmt: skip
        step.blocks = [Block([e.value for e in entry], inner, [_operand(o) for o in (going_on, *after, *appended)])]
        steps.append(step)
        return results


def _deep(known):
    if isinstance(known, Known):
        return [_deep(k) for k in known.concrete] if isinstance(known.concrete, list) else known.concrete
    return known


def _constant(number):
    made = torch.as_tensor(number)
    return Value("constant", made.dtype, tuple(made.shape), constant=made)


def _leaves(known):
    """The values within lists, tuples and dicts, one after another."""
    inner = known.concrete
    if not isinstance(inner, (list, dict)):
        return [known]
    return [leaf for each in (inner.values() if isinstance(inner, dict) else inner) for leaf in _leaves(each)]


def _holds_tensors(known):
    return isinstance(known.concrete, list) and any(isinstance(_deep(k), torch.Tensor) for k in known.concrete)


def _value(known):
    """An argument of a step."""
    if known.value is not None:
        return known.value
    return (
        [_value(k) for k in known.concrete]
        if isinstance(known.concrete, list) and any(isinstance(k, Known) for k in known.concrete)
        else known.concrete
    )


def _operand(known):
    """What a block takes or gives: constants have their dtype there, and numbers are double."""
    if known.value is None and isinstance(known.concrete, float):
        return torch.tensor(known.concrete, dtype=torch.float64)
    return known.value if known.value is not None else known.concrete


_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)


def _typed(kind, known):
    """Graphs have dtypes and formats of memory by PyTorch's numbers."""
    if known.value is None and isinstance(known.concrete, int) and not isinstance(known.concrete, bool):
        if kind.startswith("ScalarType"):
            return Known(scalar_type_to_pytorch_type[known.concrete])
        if kind.startswith("memory_format"):
            return Known(_FORMATS[known.concrete])
    return known


#: loops are written turn by turn up to so many
_MOST_TURNS = 1024
#: operators that draw numbers, and whose results are not computed twice
_RANDOM = ("normal", "uniform", "bernoulli", "random", "exponential", "geometric", "cauchy", "log_normal")


def _run(name, arguments):
    """What an operator gives for the example."""
    real = {k: _deep(v) for k, v in arguments.items()}
    return getattr(torch.ops.aten, name)(real.pop("self"), **real)


def _is_shared(one, other):
    """Whether two tensors lie in one memory."""
    return (
        one.numel() > 0 and other.numel() > 0 and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    )


def _leads_to(known, view):
    """Whether a view is one of those that ``known`` was made by."""
    return known is view or (known.origin is not None and _leads_to(known.origin[0], view))


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
    if any(each.stacked is not None for each in found):
        raise SymbolicValueError("a list that a loop has filled is no output of a file: torch.stack makes one")
    flat = [leaf for each in found for leaf in _leaves(each)]
    walk.program.outputs = [k.value if k.value is not None else _constant(k.concrete) for k in flat]
    return walk.program
