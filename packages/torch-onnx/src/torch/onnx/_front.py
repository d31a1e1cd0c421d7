"""The arguments of :func:`torch.onnx.export` made sense of."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import _pytree as pytree
from torch.export import Dim, ExportedProgram, _export
from torch.export._errors import UserError, UserErrorType
from torch.export._observe import names_of_leaves

from . import TrainingMode, _exported, _functions, select_model_mode_for_export
from ._export import DEFAULT, HIGHEST, LOWEST, Exporter
from ._onnx_program import ONNXProgram


@dataclass
class Options:
    """How to export."""

    export_params: bool
    verbose: bool
    training: Any
    input_names: list[str]
    output_names: list[str]
    opset: int | None
    fold: bool
    dynamic_axes: Any
    dynamic_shapes: Any
    keep_initializers: bool
    custom_opsets: dict
    own: dict
    external_data: bool
    dynamo: bool = True


def export(model: Any, args: Any, kwargs: dict, options: Options) -> ONNXProgram:
    """See :func:`torch.onnx.export`."""
    _needed()
    opset = DEFAULT if options.opset is None else options.opset
    if not LOWEST <= opset <= HIGHEST:
        raise ValueError(f"onnx.export: opset_version must be {LOWEST} to {HIGHEST}, got {opset}")
    training = options.training or TrainingMode.EVAL
    exported = model
    if not isinstance(model, ExportedProgram):
        if not callable(model):
            raise TypeError(f"onnx.export: expected a module, got {type(model).__name__}")
        args = args if isinstance(args, tuple) else (args,)
        if args and isinstance(args[-1], dict) and not kwargs and _by_name(model, args):
            args, kwargs = args[:-1], args[-1]
        if isinstance(model, torch.jit.ScriptModule):
            return _scripted(model, args, kwargs, opset, options, training)
        # PyTorch's exporter of traces writes functions by their symbolic methods, the one of exported programs what they do.
        with (
            select_model_mode_for_export(model, training),
            contextlib.nullcontext() if options.dynamo else _functions.as_operators(options.own),
        ):
            located = _located(model, args, kwargs, options)
            try:
                exported = _export(model, args, kwargs, _named_dims(options.dynamic_shapes), located)
            except UserError as error:
                if options.dynamo or options.dynamic_shapes is not None or error.error_type in _OF_ARGUMENTS:
                    raise
                return _traced(model, args, kwargs, located, error, opset, options)
    own = {_operator_name(k): _translator(k, v) for k, v in options.own.items()}
    fold = options.fold and training is not TrainingMode.TRAINING
    exporter = Exporter(
        _exported.read(exported), opset, own, export_params=options.export_params, fold=fold, verbose=options.verbose
    )
    proto = exporter.model(options.input_names, options.output_names, options.keep_initializers, options.custom_opsets)
    program = ONNXProgram(proto, exported)
    if options.verbose:
        print(program)
    return program


#: why neither an exported program nor a trace can be written
_OF_ARGUMENTS = (UserErrorType.INVALID_INPUT, UserErrorType.INVALID_OUTPUT)


class _OfLeaves(torch.nn.Module):
    """A model as one of the tensors among its arguments; what else is among them stays."""

    def __init__(self, model: Any, args: tuple, kwargs: dict) -> None:
        super().__init__()
        self.inner = model
        self._leaves, self._form = pytree.tree_flatten((args, kwargs))

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._form)
        return self.inner(*args, **kwargs)


def _traced(model, args, kwargs, located, error, opset, options):
    """A program that follows values or sizes, as PyTorch's exporter of traces writes it: what it did for the example."""
    from . import _scripted as script

    warnings.warn(
        f"onnx.export: {error}; the file holds what the program did for this example, and may be wrong for others",
        torch.jit.TracerWarning, stacklevel=4,
    )  # fmt: skip
    leaves = pytree.tree_leaves((args, kwargs))
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors, called = tuple(leaves[i] for i in at), names_of_leaves(model, args, kwargs)
    traced = torch.jit.trace(_OfLeaves(model, args, kwargs), tensors, strict=False, check_trace=False)
    moving = {n: {d: dim.__name__ for d, dim in located[i].items()} for n, i in enumerate(at) if i in (located or {})}
    program = script.read(traced, tensors, [called[i] for i in at], moving)
    program.parameters = {name.removeprefix("inner.") for name in program.parameters}
    for value in program.held:
        value.name = value.name.removeprefix("inner.")
    exporter = Exporter(program, opset, {}, export_params=options.export_params, fold=False, verbose=options.verbose)
    return ONNXProgram(
        exporter.model(options.input_names, options.output_names, options.keep_initializers, options.custom_opsets)
    )


def _scripted(model, args, kwargs, opset, options, training):
    """A script, whose branches and loops are kept."""
    from . import _scripted as script

    if kwargs or any(not isinstance(a, (torch.Tensor, int, float, bool, type(None))) for a in args):
        raise NotImplementedError("onnx.export: a script is exported for tensors and numbers by position")
    if options.dynamic_shapes is not None:
        raise NotImplementedError("onnx.export: sizes of a script that may change are said by dynamic_axes")
    names = [v.debugName() for v in model.graph.inputs()][1:]
    left_out = model.forward.schema.arguments[1 + len(args) :] if len(args) < len(names) else []
    if absent := [a.name for a in left_out if not a.has_default_value()]:
        raise TypeError(f"onnx.export: forward() is missing value for argument {', '.join(map(repr, absent))}")
    args = (*args, *(a.default_value for a in left_out))
    moving = {}
    for name, dims in (options.dynamic_axes or {}).items():
        chosen = [i for i, n in enumerate(names) if n == name]
        given = [i for i, n in enumerate(options.input_names) if n == name]
        for i in chosen or given:
            entries = dims.items() if isinstance(dims, dict) else ((d, f"{name}_dim_{d}") for d in dims)
            moving[i] = {d % args[i].dim(): str(text) for d, text in entries}
    with select_model_mode_for_export(model, training):
        program = script.read(model, args, names, moving)
    exporter = Exporter(
        program, opset, {}, export_params=options.export_params, fold=False, verbose=options.verbose
    )  # fmt: skip
    return ONNXProgram(
        exporter.model(options.input_names, options.output_names, options.keep_initializers, options.custom_opsets)
    )


def _needed():
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError("torch.onnx needs the package 'onnx': pip install onnx", name="onnx") from error


def _by_name(model, args):
    """Whether the dict at the end holds arguments by name: when forward has them."""
    import inspect

    try:
        signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
        signature.bind(*args[:-1], **args[-1])
    except TypeError:
        return False
    return all(isinstance(k, str) for k in args[-1])


def _operator_name(key):
    """``library::name`` of an operator: one overload, or a packet of them."""
    if isinstance(key, str):
        return key
    name = getattr(key, "_qualified_op_name", None)
    if name is None and isinstance(key, torch._ops.OpOverload):
        name = key.name().partition(".")[0]
    if name is None:
        raise TypeError(
            f"custom_translation_table: expected operators such as torch.ops.aten.relu.default, got {key!r}"
        )
    return name


def _translator(key, function):
    """One function for an operator; PyTorch takes several, for its types."""
    functions = list(function) if isinstance(function, (list, tuple)) else [function]
    if len(functions) != 1 or not callable(functions[0]):
        raise TypeError(
            f"custom_translation_table: {_operator_name(key)}: expected one function (g, *arguments), got {function!r}"
        )
    return functions[0]


def _named_dims(shapes):
    """``dynamic_shapes`` whose dims may be words: equal words are one Dim."""
    found: dict[str, Any] = {}

    def dim(value):
        if isinstance(value, dict):
            return {k: dim(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(dim(v) for v in value)
        return found.setdefault(value, Dim(_word(value))) if isinstance(value, str) else value

    return dim(shapes)


def _located(model, args, kwargs, options):
    """``dynamic_axes`` by the leaves of the arguments: leaf -> dim -> Dim."""
    axes = options.dynamic_axes
    if not axes:
        return None
    if options.dynamic_shapes is not None:
        raise ValueError("onnx.export: give dynamic_axes or dynamic_shapes, not both")
    leaves = pytree.tree_leaves((args, kwargs))
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    called = names_of_leaves(model, args, kwargs)
    names: dict[str, int] = {}
    for n, i in enumerate(tensors):
        names[called[i]] = i
        if n < len(options.input_names):
            names[options.input_names[n]] = i
    known = {*names, *options.output_names}
    if unknown := [name for name in axes if name not in known]:
        raise ValueError(
            f"onnx.export: dynamic_axes speaks of {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    found: dict[int, dict[int, Any]] = {}
    for name, dims in axes.items():
        if name not in names:
            continue
        leaf = leaves[names[name]]
        entries = dims.items() if isinstance(dims, dict) else ((d, None) for d in dims)
        for dim, what in entries:
            if not -leaf.dim() <= dim < leaf.dim():
                raise ValueError(f"onnx.export: dynamic_axes: {name} has {leaf.dim()} dims, got dim {dim}")
            dim %= leaf.dim()
            text = f"{name}_dim_{dim}" if what is None else str(what)
            found.setdefault(names[name], {})[dim] = Dim(_word(text))
    return found


def _word(text):
    import re

    if text.isidentifier():
        return text
    return re.sub(r"\W", "_", text) if text[:1].isalpha() else f"d_{re.sub(chr(92) + 'W', '_', text)}"
