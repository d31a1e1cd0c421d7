"""Exported models run by onnxruntime and compared with the modules that they came from."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import _pytree as pytree

__all__ = ["VerificationInfo", "VerificationOptions", "find_mismatch", "verify", "verify_onnx_program"]


@dataclasses.dataclass
class VerificationOptions:
    """How closely results must agree."""

    rtol: float = 1e-3
    atol: float = 1e-7
    check_shape: bool = True
    check_dtype: bool = True
    ignore_none: bool = True
    acceptable_error_percentage: float | None = None


@dataclasses.dataclass
class VerificationInfo:
    """How far apart a result is: the greatest differences, and the types on both sides."""

    name: str
    max_abs_diff: float
    max_rel_diff: float
    expected_dtype: torch.dtype
    actual_dtype: torch.dtype

    @classmethod
    def from_tensors(cls, name: str, expected: Any, actual: Any) -> VerificationInfo:
        """
        >>> VerificationInfo.from_tensors("y", torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5])).max_abs_diff
        0.5
        """
        expected, actual = torch.as_tensor(expected), torch.as_tensor(actual)
        if expected.shape != actual.shape:
            return cls(name, float("inf"), float("inf"), expected.dtype, actual.dtype)
        x, y = expected.double(), actual.double()
        away = torch.where(x == y, torch.zeros_like(x), (x - y).abs())
        relative = away / x.abs().clamp(min=1e-7)
        greatest, most = (float(t.max()) if t.numel() else 0.0 for t in (away, relative))
        return cls(name, greatest, most, expected.dtype, actual.dtype)


def _session(proto: Any) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModuleNotFoundError(
            "running a model of ONNX needs the package 'onnxruntime': pip install onnxruntime", name="onnxruntime"
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def verify_onnx_program(
    onnx_program: Any, args: tuple | None = None, kwargs: dict | None = None, compare_intermediates: bool = False
) -> list[VerificationInfo]:
    """Run an exported program on both sides; by default on the example that it was exported with.

    >>> program = torch.onnx.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),))
    >>> [info.max_abs_diff < 1e-6 for info in torch.onnx.verification.verify_onnx_program(program)]
    [True]
    """
    if compare_intermediates:
        raise NotImplementedError("verify_onnx_program: results between are not compared")
    exported = onnx_program.exported_program
    if exported is None:
        raise ValueError("verify_onnx_program: the program was made without its exported program")
    if args is None:
        args, kwargs = exported.example_inputs
    copies = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs or {}))
    with torch.no_grad():
        expected = [x for x in pytree.tree_leaves(exported.module()(*copies[0], **copies[1])) if x is not None]
    actual = onnx_program(*args, **(kwargs or {}))
    names = [o.name for o in onnx_program.model_proto.graph.output]
    return [VerificationInfo.from_tensors(n, x, y) for n, x, y in zip(names, expected, actual, strict=True)]


def _verify_program(program: Any, options: VerificationOptions | None = None) -> list[VerificationInfo]:
    options = options or VerificationOptions(atol=1e-5)
    found = verify_onnx_program(program)
    for info in found:
        _compare(info, options)
    return found


def _compare(info, options):
    if options.check_dtype and info.expected_dtype != info.actual_dtype:
        raise AssertionError(f"{info.name}: onnxruntime gives {info.actual_dtype}, the model {info.expected_dtype}")
    if info.max_abs_diff > options.atol and info.max_rel_diff > options.rtol:
        raise AssertionError(
            f"{info.name}: onnxruntime is away by {info.max_abs_diff:.3g} ({info.max_rel_diff:.3g} of the value)"
        )


def verify(
    model: Any, input_args: Any, input_kwargs: dict | None = None, do_constant_folding: bool = True, dynamic_axes: Any = None,
    input_names: Any = None, output_names: Any = None, training: Any = None, opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True, verbose: bool = False, fixed_batch_size: bool = False, use_external_data: bool = False,
    additional_test_inputs: Any = None, options: VerificationOptions | None = None,
) -> None:  # fmt: skip
    """Export a model, run it on both sides, and raise AssertionError where the results are apart.

    ``additional_test_inputs`` are further arguments, whose sizes may be others where ``dynamic_axes`` says so.

    >>> torch.onnx.verification.verify(torch.nn.Linear(2, 3), torch.ones(1, 2))
    """
    args = input_args if isinstance(input_args, tuple) else (input_args,)
    program = torch.onnx.export(
        model, args, kwargs=input_kwargs, do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes, input_names=input_names,
        output_names=output_names, training=training, opset_version=opset_version, verbose=verbose,
    )  # fmt: skip
    options = options or VerificationOptions(atol=1e-5)
    for given in (args, *(additional_test_inputs or ())):
        given = given if isinstance(given, tuple) else (given,)
        for info in verify_onnx_program(program, given, input_kwargs):
            _compare(info, options)


def find_mismatch(model: Any, input_args: Any, **options: Any) -> list[VerificationInfo]:
    """Export a model and tell how far each of its results is from onnxruntime's."""
    args = input_args if isinstance(input_args, tuple) else (input_args,)
    return verify_onnx_program(torch.onnx.export(model, args, **options), args)
