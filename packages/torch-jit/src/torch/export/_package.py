"""Exported programs as packages that are called and not changed: ``torch._inductor.aoti_compile_and_package`` and
``aoti_load_package``. A package is the file of the exported program; what is loaded runs as a plan, and holds no code of a file's.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from typing import Any

import torch
from torch import _pytree as pytree

from ._checks import Leaves
from ._scripted import scripted
from .exported_program import ExportedProgram
from .graph_signature import ConstantArgument, InputKind, OutputKind

__all__ = ["AOTICompiledModel", "package"]


class AOTICompiledModel:
    """A loaded package: called as the module that was exported, without gradients.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> AOTICompiledModel(program)(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(self, program: ExportedProgram) -> None:
        try:
            self._object = scripted(program)
        except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
            raise RuntimeError(
                f"aoti_load_package: the program in the package is broken ({type(error).__name__}: {error})"
            ) from error
        self._forward = self._object._type().methods()[0]
        specs = program.graph_signature.input_specs
        nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
        given = [(n, s) for n, s in zip(nodes, specs, strict=True) if s.kind is InputKind.USER_INPUT]
        self._leaves = Leaves(program, [node.target for node, _ in given], True)
        self._taken = [not isinstance(spec.arg, ConstantArgument) for _, spec in given]
        outputs = [s for s in program.graph_signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
        self._single, self._out_spec = len(outputs) == 1, program.call_spec.out_spec
        self._constants = {
            s.target: n.name for n, s in zip(nodes, specs, strict=True) if s.kind is not InputKind.USER_INPUT
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self._leaves(args, kwargs)
        with torch.no_grad():
            found = self._forward(self._object, *(leaf for leaf, taken in zip(leaves, self._taken) if taken))
        return pytree.tree_unflatten([found] if self._single else list(found), self._out_spec)

    def get_constant_fqns(self) -> list[str]:
        """The names of its parameters, buffers and constants."""
        return list(self._constants)

    def get_metadata(self) -> dict[str, str]:
        """The machine that it was loaded on."""
        return {"AOTI_DEVICE_KEY": "cpu", "AOTI_MACHINE": platform.machine(), "AOTI_PLATFORM": sys.platform}

    def load_constants(
        self, constants_map: dict[str, torch.Tensor], *, check_full_update: bool, user_managed: bool = False,
        allow_h2d_copy: bool = False,
    ) -> None:  # fmt: skip
        """Give it other parameters, buffers and constants: copies, or with ``user_managed`` the tensors themselves.

        RuntimeError (TypeError for what is no tensor), before anything is changed, for a name that it does not have, another shape or dtype, and, with
        ``check_full_update``, for a name that is missing.
        """
        for name, tensor in constants_map.items():
            if name not in self._constants:
                raise RuntimeError(f"load_constants: no constant {name!r}; there are {', '.join(self._constants)}")
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"load_constants: {name}: expected a tensor, got {type(tensor).__name__}")
            own = self._object.getattr(self._constants[name])
            if (tensor.shape, tensor.dtype) != (own.shape, own.dtype):
                raise RuntimeError(
                    f"load_constants: {name} has shape {tuple(own.shape)} and dtype {own.dtype}, "
                    f"got {tuple(tensor.shape)} and {tensor.dtype}"
                )
        if check_full_update and (absent := [name for name in self._constants if name not in constants_map]):
            raise RuntimeError(f"load_constants: {', '.join(absent)} missing; check_full_update=False keeps the others")
        for name, tensor in constants_map.items():
            tensor = tensor.detach()
            self._object.setattr(self._constants[name], tensor if user_managed else tensor.clone())


def package(program: ExportedProgram, path: Any) -> Any:
    """Write a package, if it is one that can run; return where."""
    if not isinstance(program, ExportedProgram):
        raise ValueError(
            f"aoti_compile_and_package: expected an ExportedProgram, got {type(program).__name__}: torch.export.export gives one"
        )
    if isinstance(path, (str, os.PathLike)) and not os.fspath(path).endswith(".pt2"):
        raise ValueError(f"aoti_compile_and_package: expected a path that ends with .pt2, got {os.fspath(path)!r}")
    try:
        scripted(program)
    except NotImplementedError as error:
        text = str(error).removeprefix("torch.jit.save: ")
        raise NotImplementedError(f"aoti_compile_and_package: {text}; torch.export.save keeps it") from None
    if path is None:
        handle, path = tempfile.mkstemp(suffix=".pt2")
        os.close(handle)
    torch.export.save(program, path)
    return os.fspath(path) if isinstance(path, os.PathLike) else path
