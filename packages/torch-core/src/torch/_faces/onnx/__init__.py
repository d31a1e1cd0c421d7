"""``torch.onnx`` while its distribution is absent: nothing is being exported, and an export is refused. Libraries register
their symbols here at import.
"""

import enum

from torch._lazy import later

from . import errors
from .errors import OnnxExporterError

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "errors", "export", "is_in_onnx_export",
    "register_custom_op_symbolic", "select_model_mode_for_export", "unregister_custom_op_symbolic",
]  # fmt: skip

#: numbers of element types in ONNX's own format (onnx.proto, TensorProto.DataType)
TensorProtoDataType = enum.IntEnum(
    "TensorProtoDataType",
    "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BFLOAT16 "
    "FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ",
)
TrainingMode = enum.Enum("TrainingMode", {"EVAL": 0, "PRESERVE": 1, "TRAINING": 2})
OperatorExportTypes = enum.Enum(
    "OperatorExportTypes", {"ONNX": 0, "ONNX_ATEN": 1, "ONNX_ATEN_FALLBACK": 2, "ONNX_FALLTHROUGH": 3}
)
_symbols = {}  # (name, opset): function


def absent() -> str:
    """Why nothing is written, and the command that mends it."""
    from torch import _install

    return _install.absent("writing ONNX files is", "torch-onnx")


def refusals(module):
    """``__getattr__`` of a module whose functions write operators: libraries name them at import, a call is refused."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")

        def refuse(*args, **kwargs):
            raise NotImplementedError(f"{module}.{name}: {absent()}")

        return refuse

    return __getattr__


class ONNXProgram:
    """What an export gives; there are none."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"ONNXProgram: {absent()}")


def is_in_onnx_export():
    """Whether a model is being written as ONNX just now.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False


def export(model, args=(), f=None, *more, **kwargs):
    """Raises NotImplementedError."""
    raise NotImplementedError(f"torch.onnx.export: {absent()}")


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Remember how an operator ``namespace::name`` is written, for torch-onnx. ValueError for another name."""
    if symbolic_name.count("::") != 1:
        raise ValueError(f"register_custom_op_symbolic: expected 'namespace::name', got {symbolic_name!r}")
    _symbols[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Forget it."""
    _symbols.pop((symbolic_name, opset_version), None)


def select_model_mode_for_export(model, mode):
    """A block in which the model is in the mode that an export wants."""
    import contextlib

    @contextlib.contextmanager
    def block():
        before = model.training
        if mode is not TrainingMode.PRESERVE:
            model.train(mode is TrainingMode.TRAINING)
        try:
            yield
        finally:
            model.train(before)

    return block()


_OPSETS = [f"symbolic_opset{version}" for version in range(9, 19)]
__getattr__, __dir__ = later(globals(), ["operators", "symbolic_helper", "utils", *_OPSETS])
