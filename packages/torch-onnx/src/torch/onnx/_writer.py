"""Writes nodes of ONNX. A rule gets a writer, calls ``w.op("Relu", x)``, and returns the name of its result."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import _types
from ._bfloat16 import NUMBER, Tracked
from ._program import Program, Step, Value
from .errors import UnsupportedOperatorError


class Writer:
    """The nodes and initializers of one graph."""

    def __init__(self, opset: int, fold: bool = True, verbose: bool = False) -> None:
        self.opset, self.fold, self.verbose = opset, fold, verbose
        self.nodes: list[Any] = []
        self.initializers: dict[str, torch.Tensor] = {}
        self.names: dict[Value, str] = {}
        self.domains: dict[str, int] = {}
        self._bfloat16 = Tracked()
        self._used: set[str] = set()
        self._constants: dict[Any, str] = {}
        self.step: Step | None = None

    # --- names ---

    def unique(self, name: str) -> str:
        """A name that nothing has yet."""
        found, n = name, 0
        while found in self._used:
            n += 1
            found = f"{name}_{n}"
        self._used.add(found)
        return found

    def name(self, value: Any, like: torch.dtype | None = None) -> str:
        """The name of an operand: of a value, of a name, or of a constant made for a number."""
        if isinstance(value, str):
            return value
        if isinstance(value, Value):
            if value not in self.names:
                raise KeyError(f"{value.name} is used before it is computed")
            if value.dtype == torch.bfloat16:
                self._bfloat16.names.add(self.names[value])
            return self.names[value]
        return self.const(value, like)

    def const(self, value: Any, dtype: torch.dtype | None = None) -> str:
        """An initializer for a number, a list of numbers or a tensor."""
        tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
        if dtype is not None:
            tensor = tensor.to(dtype)
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        key = None
        if tensor.numel() <= 64 and tensor.dtype != torch.bfloat16:
            key = (tensor.dtype, tuple(tensor.shape), tensor.contiguous().numpy().tobytes())
            if key in self._constants:
                return self._constants[key]
        name = self.unique("onnx::Constant")
        self.initializers[name] = tensor
        if tensor.dtype == torch.bfloat16:
            self._bfloat16.names.add(name)
        if key is not None:
            self._constants[key] = name
        return name

    def needs(self, opset: int, what: str) -> None:
        """Refuse to write what the opset lacks."""
        if self.opset < opset:
            raise UnsupportedOperatorError(f"{what} needs opset {opset}, the export is for {self.opset}")

    # --- nodes ---

    def op(self, kind: str, *inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """A node; the name of its result, or names. None is an input that is left out."""
        from onnx import helper

        names = ["" if x is None else self.name(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        names, are = self._bfloat16.taken(self, kind, names) if not domain and kind != "Cast" else (names, [])
        scope = f"/{self.step.scope.replace('.', '/')}" if self.step is not None and self.step.scope else ""
        own = self.unique(f"{scope}/{kind}")
        results = [self.unique(f"{own}_output_{i}") for i in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        for attribute, given in attributes.items():
            if any(isinstance(each, Value) for each in (given if isinstance(given, (list, tuple)) else [given])):
                raise NotImplementedError(
                    f"{kind} of ONNX takes its {attribute} as a constant: a size that may change, or another number that is "
                    "computed, cannot stand there"
                )
        node = helper.make_node(kind, names, results, name=own, domain=domain, **attributes)
        if self.verbose and self.step is not None and self.step.trace:
            node.doc_string = self.step.trace
        self.nodes.append(node)
        if domain:
            self.domains.setdefault(domain, 1)
        if kind == "Cast" and attributes["to"] == NUMBER:
            self._bfloat16.names.add(results[0])
        results = self._bfloat16.given(self, results, are)
        return results[0] if outputs == 1 else tuple(results)

    def cast(self, x: Any, to: torch.dtype, of: torch.dtype | None = None) -> str:
        """Another dtype; nothing where it is known to be that already."""
        of = of or (x.dtype if isinstance(x, Value) else None)
        if not isinstance(x, (Value, str)):
            return self.const(x, to)
        return self.name(x) if of == to else self.op("Cast", x, to=_types.number(to))

    # --- sizes ---

    def ints(self, values: Any) -> str:
        """A list of ints as a tensor of one dim; some may be computed."""
        if isinstance(values, (Value, str)):
            return self.op("Reshape", values, self.const([-1], torch.int64))
        values = [values] if isinstance(values, int) else list(values)
        if all(not isinstance(v, (Value, str)) for v in values):
            return self.const([int(v) for v in values], torch.int64)
        parts, row = [], []
        for v in values:
            if isinstance(v, (Value, str)):
                if row:
                    parts.append(self.const(row, torch.int64))
                    row = []
                parts.append(self.op("Reshape", v, self.const([1], torch.int64)))
            else:
                row.append(int(v))
        if row:
            parts.append(self.const(row, torch.int64))
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def shape(self, x: Any) -> str:
        """The shape of a value as a tensor."""
        if isinstance(x, Value) and x.shape is not None and all(isinstance(s, int) for s in x.shape):
            return self.const(list(x.shape), torch.int64)
        return self.op("Shape", x)

    def size(self, x: Value, dim: int) -> Any:
        """The size of a value along a dim: an int, or the name of a number."""
        known = x.shape[dim] if x.shape is not None else None
        if isinstance(known, int):
            return known
        return self.op("Gather", self.op("Shape", x), self.const(dim % x.rank, torch.int64), axis=0)

    def count(self, x: Value, dims: list[int]) -> Any:
        """How many elements some dims have together: an int, or the name of a number."""
        sizes = [self.size(x, d) for d in dims]
        product = math.prod(s for s in sizes if isinstance(s, int))
        names = [s for s in sizes if not isinstance(s, int)]
        if not names:
            return product
        found = names[0]
        for other in names[1:]:
            found = self.op("Mul", found, other)
        return found if product == 1 else self.op("Mul", found, self.const(product, torch.int64))

    def loop(self, count: Any, turn: Any, first: str, dtype: torch.dtype) -> str:
        """``state = turn(k, state)`` for k = 0, 1, ... below ``count``, from the state ``first``; the last state."""
        from onnx import helper

        outer, self.nodes = self.nodes, []
        k, going, state = (self.unique(n) for n in ("turn", "going", "state"))
        last = [self.op("Identity", going), turn(k, state)]
        inputs = [(k, 7, []), (going, 9, []), (state, _types.number(dtype), None)]
        outputs = [(last[0], 9, []), (last[1], _types.number(dtype), None)]
        infos = [[helper.make_tensor_value_info(*info) for info in part] for part in (inputs, outputs)]
        body, self.nodes = helper.make_graph(self.nodes, "body", *infos), outer
        return self.op("Loop", count, self.const(True), first, body=body)

    def scan(self, turn: Any, first: list[str], x: str, dtype: torch.dtype, backward: bool) -> tuple[str, ...]:
        """``states, y = turn(states, x[k])`` for each k, from behind where ``backward``: the last states, then all y."""
        from onnx import helper

        outer, self.nodes = self.nodes, []
        states, entry = [self.unique("state") for _ in first], self.unique("entry")
        last, y = turn(states, entry)
        given = [self.op("Identity", name) for name in (*last, y)]
        infos = [
            [helper.make_tensor_value_info(n, _types.number(dtype), None) for n in part]
            for part in ((*states, entry), given)
        ]
        body, self.nodes = helper.make_graph(self.nodes, "body", *infos), outer
        ways = {"scan_input_directions": [1], "scan_output_directions": [1]} if backward else {}
        return self.op("Scan", *first, x, outputs=len(given), body=body, num_scan_inputs=1, **ways)

    # --- frequent shapes of operators ---

    def reduce(self, kind: str, x: Any, dims: list[int] | None, keepdim: bool) -> str:
        """ReduceSum and the like, whose axes were an attribute once."""
        keep = int(bool(keepdim))
        if dims is None:
            return self.op(kind, x, keepdims=keep)
        if kind == "ReduceSum" or self.opset >= 18:
            return self.op(kind, x, self.const(list(dims), torch.int64), keepdims=keep)
        return self.op(kind, x, axes=list(dims), keepdims=keep)

    def is_inf(self, x: Any, dtype: torch.dtype, positive: int = 1, negative: int = 1) -> str:
        """IsInf, which has no half types before opset 20."""
        if dtype in (torch.float32, torch.float64) or self.opset >= 20:
            return self.op("IsInf", x, detect_positive=positive, detect_negative=negative)
        x = self.op("Abs", x) if positive and negative else x
        return self.op("Equal", x, self.const(math.inf if positive else -math.inf, dtype))

    def unsqueeze(self, x: Any, *dims: int) -> str:
        return self.op("Unsqueeze", x, self.const(list(dims), torch.int64))

    def squeeze(self, x: Any, *dims: int) -> str:
        return self.op("Squeeze", x, self.const(list(dims), torch.int64))

    def reshape(self, x: Any, shape: Any) -> str:
        return self.op("Reshape", x, self.ints(shape))

    def permute(self, x: Any, dims: list[int]) -> str:
        """Dims in another order; a tensor of the model's own is turned at once."""
        name = self.name(x)
        if list(dims) == sorted(dims):
            return name
        held = self.initializers.get(name)
        if held is not None and self.fold:
            key = (name, tuple(dims))
            if key not in self._constants:
                self._constants[key] = self.unique(f"onnx::{name}_turned" if not name.startswith("onnx::") else name)
                self.initializers[self._constants[key]] = held.permute(*dims).contiguous()
            return self._constants[key]
        return self.op("Transpose", x, perm=list(dims))

    def slice(self, x: Any, dim: int, start: Any, end: Any, step: int = 1) -> str:
        return self.op(
            "Slice",
            x,
            self.ints([start]),
            self.ints([end]),
            self.const([dim], torch.int64),
            self.const([step], torch.int64),
        )


def missing(program: Program, known: Any) -> list[Step]:
    """The steps for which there is no rule."""
    found = []
    for step in program.steps:
        if not step.blocks and not known(step):
            found.append(step)
        for block in step.blocks:
            found += missing(Program([], block.steps, []), known)
    return found
