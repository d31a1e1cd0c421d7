"""Programs exported ahead of time: the operators that a module computes with, for inputs of a kind.

>>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
>>> batch = torch.export.Dim("batch")
>>> program = torch.export.export(net, (torch.ones(4, 2),), dynamic_shapes=({0: batch},))
>>> x = torch.randn(9, 2)
>>> torch.equal(program.module()(x), net(x))
True

The module runs once on its example (and at three other sizes where some may change); what was computed becomes a graph of
operators. A program that goes on by the *values* of tensors cannot be exported, and the error names the line.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import _seams

from ._build import Builder
from ._dims import AdditionalInputs, Dim, ShapesCollection, dims, located
from ._errors import UserError, UserErrorType
from ._observe import names_of_leaves, observe
from ._recorder import QUANTIZED
from ._symbols import refuse_other_names
from ._unflatten import FlatArgsAdapter, InterpreterModule, UnflattenedModule, unflatten
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature

__all__ = [
    "AdditionalInputs", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "FlatArgsAdapter", "InterpreterModule", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection",
    "UnflattenedModule", "UserError", "UserErrorType", "default_decompositions", "dims", "export", "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip


def export(
    mod: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, dynamic_shapes: Any = None,
    strict: bool = False, preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Export what a module computes for arguments like these.

    ``preserve_module_call_signature`` names submodules that :func:`unflatten` is to call as the original. ``dynamic_shapes`` names the sizes that may change: for each argument, by name or position, ``{dim: Dim(...)}``. The
    module runs in the mode that it is in, and its buffers are as before afterwards. Raises :class:`UserError`, with the
    line of the program, where it reads values of tensors, or depends on sizes in a way that a graph cannot say.
    """
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"export: expected a torch.nn.Module, got {type(mod).__name__}")
    if isinstance(mod, torch.jit.ScriptModule):
        raise ValueError(
            f"export: a {type(mod).__name__} is a program already: export the module that it was made of, or torch.jit.save it"
        )
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT, f"export: args must be a tuple of the arguments, got {type(args).__name__}"
        )
    names = {name for name, _ in mod.named_modules()}
    if unknown := [name for name in preserve_module_call_signature if name not in names]:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"preserve_module_call_signature: the module has no submodule {', '.join(unknown)}",
        )
    return _export(
        mod, args, dict(kwargs or {}), dynamic_shapes, preserved=tuple(preserve_module_call_signature), by_names=True
    )


def _refuse_quantized(module: Any) -> None:
    """UserError for layers that take or give quantized tensors; those that only their weights make quantized are exported."""
    for name, each in module.named_modules() if isinstance(module, torch.nn.Module) else ():
        if any(
            cls.__module__ == "torch.ao.nn.quantized._layers" and cls.__name__ == "Rounds" for cls in type(each).__mro__
        ):
            raise UserError(
                UserErrorType.ANTI_PATTERN,
                f"export: {name or 'the module'} is a {type(each).__name__} of quantized tensors: {QUANTIZED}",
            )


def _state(module: Any) -> dict[str, Any]:
    """Parameters, then buffers."""
    state = module.state_dict(keep_vars=True)
    trained = dict(module.named_parameters(remove_duplicate=False))
    return dict(sorted(state.items(), key=lambda item: item[0] not in trained))


def _with_values(function: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments with zeros for fake tensors: the program runs while it is recorded."""
    from torch import _pytree as pytree
    from torch._subclasses.fake_tensor import FakeTensor

    for name, tensor in _state(function).items() if isinstance(function, torch.nn.Module) else ():
        if isinstance(tensor, FakeTensor):
            raise NotImplementedError(
                f"export: {name} is a fake tensor, and programs run on real ones: make the module outside of the mode"
            )
    real = lambda x: torch.zeros(x.shape, dtype=x.dtype) if isinstance(x, FakeTensor) else x
    return pytree.tree_map(real, (args, kwargs))


def _export(
    function: Any, args: tuple, kwargs: dict, dynamic_shapes: Any, moving: Any = None, preserved: tuple[str, ...] = (),
    by_names: bool = False,
) -> ExportedProgram:  # fmt: skip
    _refuse_quantized(function)
    if moving is None:
        moving = located(function, args, kwargs, dynamic_shapes)
    modes, function_modes, grad = _seams.modes(), _seams.function_modes(), torch.is_grad_enabled()
    try:
        observed = observe(function, *_with_values(function, args, kwargs), moving, preserved)
    except BaseException:  # an interrupt may have come before a mode was left
        _seams.set_modes(modes)
        _seams.set_function_modes(function_modes)
        torch.set_grad_enabled(grad)
        raise
    if by_names:
        refuse_other_names(observed.symbols, names_of_leaves(function, args, kwargs))
    builder = Builder(observed, function)
    graph = builder.build()
    state = _state(function) if isinstance(function, torch.nn.Module) else {}
    rest = {n: t for n, t in builder.tensors().items() if n not in state}
    signature = ModuleCallSignature([], [], observed.spec, observed.tape.out_spec, builder.argument_names())
    ranges = {s.name: (s.low, s.high) for s in observed.symbols}
    ranges |= {u.name: tuple(observed.tape.bounds[u.name]) for u in observed.tape.unknown}
    made = ExportedProgram(
        builder.modules,
        graph,
        builder.signature,
        state,
        ranges,
        [ModuleCallEntry("", signature), *builder.module_calls()],
        (args, kwargs),
        {**rest, **builder.constants},
    )
    made._guards = observed.guards
    return made


def save(
    ep: ExportedProgram, f: str | os.PathLike[str] | Any, *, extra_files: dict[str, Any] | None = None, **options: Any
) -> None:
    """Write an exported program to a file, by torch-serialize: text and tensors, no code.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),)), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.export.load(buffer).module()(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    from ._archive import save

    save(ep, f, extra_files, options)


def load(
    f: str | os.PathLike[str] | Any, *, extra_files: dict[str, Any] | None = None, **options: Any
) -> ExportedProgram:
    """Read an exported program; no code of the file's runs. RuntimeError when it is no such file."""
    from ._archive import load

    return load(f, extra_files, options)


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Let instances of a dataclass be arguments and results: their fields are.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Pair:
    ...     a: torch.Tensor
    ...     b: torch.Tensor
    >>> torch.export.register_dataclass(Pair)
    """
    from torch import _pytree as pytree

    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


def __getattr__(name: str) -> Any:
    if name in ("export_for_training", "draft_export"):
        return export
    if name == "dynamic_shapes":
        from importlib import import_module

        return import_module("torch.export.dynamic_shapes")
    raise AttributeError(f"module 'torch.export' has no attribute {name!r}")
