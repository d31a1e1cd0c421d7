"""Models as ONNX files, and back.

>>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
>>> program = torch.onnx.export(net, (torch.ones(4, 2),), input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}})
>>> [node.op_type for node in program.model_proto.graph.node]
['Gemm', 'Relu']
>>> again = torch.onnx.load(program.model_proto)
>>> x = torch.randn(3, 2)
>>> torch.allclose(again(x), net(x))
True

The module runs on its example as in :mod:`torch.export`, whose limits hold here too; a program goes through rules, one for
each operator. :func:`register_custom_op_symbolic` adds rules.
"""

from __future__ import annotations

import contextlib
import enum
import os
import threading
from importlib import import_module
from typing import Any

import torch

from . import errors
from ._custom import register_custom_op_symbolic, unregister_custom_op_symbolic
from .errors import OnnxExporterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._onnx_program import ONNXProgram

#: what the files that are written say of their writer
producer_name, producer_version = "torch", torch.__version__

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "errors", "export", "is_in_onnx_export",
    "load", "register_custom_op_symbolic", "select_model_mode_for_export", "unregister_custom_op_symbolic",
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
_state = threading.local()


class ExportTypes:
    """Kinds of files, as 2018 named them; ``export`` writes the first.

    >>> torch.onnx.ExportTypes.PROTOBUF_FILE
    1
    """

    PROTOBUF_FILE, ZIP_ARCHIVE, COMPRESSED_ZIP_ARCHIVE, DIRECTORY = 1, 2, 3, 4


def export_to_pretty_string(model: Any, args: Any, f: Any = None, **options: Any) -> str:
    """What `export` would write, as text.

    >>> "Relu" in torch.onnx.export_to_pretty_string(torch.nn.ReLU(), (torch.ones(2),))
    True
    """
    import onnx.printer

    options = {k: v for k, v in options.items() if k not in ("google_printer", "export_type")}
    return onnx.printer.to_text(export(model, args, None, **options).model_proto)


@contextlib.contextmanager
def set_training(model: torch.nn.Module, mode: bool) -> Any:
    """A block in which a model is in training, or in use; afterwards it is what it was.

    >>> layer = torch.nn.Dropout()
    >>> with torch.onnx.set_training(layer, False):
    ...     print(layer.training)
    False
    >>> layer.training
    True
    """
    before = {module: module.training for module in model.modules()}
    model.train(mode)
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


def _of_2018(name: str) -> Any:
    reason = "functions that add their own operators are registered: register_custom_op_symbolic"

    def refuse(symbolic_fn: Any) -> Any:
        raise NotImplementedError(f"torch.onnx.{name}: {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = (
        f"Raises NotImplementedError: {reason}.\n\n>>> torch.onnx.{name}(len)\nTraceback (most recent call last):\n    ...\n"
        f"NotImplementedError: torch.onnx.{name}: {reason}\n"
    )
    return refuse


symbolic_override = _of_2018("symbolic_override")
symbolic_override_first_arg_based = _of_2018("symbolic_override_first_arg_based")
symbolic_override_packed_sequence_based = _of_2018("symbolic_override_packed_sequence_based")


def is_in_onnx_export() -> bool:
    """Whether this thread is exporting a model just now.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return getattr(_state, "depth", 0) > 0


@contextlib.contextmanager
def _exporting():
    _state.depth = getattr(_state, "depth", 0) + 1
    try:
        yield
    finally:
        _state.depth -= 1


@contextlib.contextmanager
def select_model_mode_for_export(model: torch.nn.Module, mode: TrainingMode) -> Any:
    """A block in which the model is in the mode that an export wants; each of its modules has its own again afterwards.

    >>> net = torch.nn.Dropout()
    >>> with torch.onnx.select_model_mode_for_export(net, torch.onnx.TrainingMode.EVAL):
    ...     print(net.training)
    False
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    before = [m.training for m in modules]
    try:
        if modules and mode is not TrainingMode.PRESERVE:
            model.train(mode is TrainingMode.TRAINING)
        yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


def export(model: Any, args: Any = (), f: Any = None, export_params: bool = True, verbose: bool | None = None,
           training: TrainingMode | None = None, input_names: Any = None, output_names: Any = None,
           operator_export_type: Any = OperatorExportTypes.ONNX, opset_version: int | None = None,
           do_constant_folding: bool = True, dynamic_axes: Any = None, keep_initializers_as_inputs: bool = False,
           custom_opsets: Any = None, export_modules_as_functions: Any = False, autograd_inlining: bool = True, *,
           kwargs: dict | None = None, dynamo: bool = True, dynamic_shapes: Any = None, external_data: bool = True,
           custom_translation_table: Any = None, optimize: bool = True, verify: bool = False, report: bool = False,
           profile: bool = False, dump_exported_program: bool = False, artifacts_dir: Any = ".", fallback: bool = False,
           ) -> ONNXProgram:  # fmt: skip
    """Write what a model computes for arguments like these as ONNX, to the file ``f`` (a path or an open file) if one is given.

    ``args`` are the arguments of ``forward``, the last one a dict for those by name if it is meant so; ``model`` may also
    be a :class:`torch.export.ExportedProgram`. Sizes that may change stand in ``dynamic_axes``,
    ``{"input": {0: "batch"}}`` by the names of inputs and outputs, or in ``dynamic_shapes`` as for ``torch.export``.
    ``opset_version`` is 13 to 23. With ``verbose`` nodes keep the lines that they come from, and the graph is printed.
    A file at a path has the tensors of 1 KiB and more in ``f.data`` beside it, unless ``external_data`` or ``dynamo`` is False.
    ``verify`` compares the model with onnxruntime's results; ``report`` writes what was exported, or why it was not, as Markdown
    to ``artifacts_dir``, and ``dump_exported_program`` the exported program as ``.pt2``.

    Raises :class:`.errors.UnsupportedOperatorError` that names all operators without a rule, with their lines.

    >>> import io
    >>> file = io.BytesIO()
    >>> _ = torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),), file, dynamo=False)
    >>> torch.onnx.load(io.BytesIO(file.getvalue()))(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from . import _front

    options = _front.Options(
        export_params=export_params, verbose=bool(verbose), training=training, input_names=list(input_names or ()),
        output_names=list(output_names or ()), opset=opset_version, fold=do_constant_folding, dynamic_axes=dynamic_axes,
        dynamic_shapes=dynamic_shapes, keep_initializers=keep_initializers_as_inputs, custom_opsets=dict(custom_opsets or {}),
        own=dict(custom_translation_table or {}), external_data=external_data, dynamo=dynamo,
    )  # fmt: skip
    if operator_export_type not in (OperatorExportTypes.ONNX, None):
        raise NotImplementedError(f"onnx.export: {operator_export_type}: files with operators of ATen are not written")
    if export_modules_as_functions:
        raise NotImplementedError("onnx.export: modules as functions of ONNX are not written")
    if profile:
        raise NotImplementedError(
            "onnx.export(profile=True): torch.profiler.profile around the call shows where time goes"
        )
    from . import _report

    with _report.kept(artifacts_dir, model, report, dump_exported_program) as found:
        with _exporting():
            program = found.program = _front.export(model, args, dict(kwargs or {}), options)
        if f is not None:
            program.save(f, external_data=external_data and dynamo and isinstance(f, (str, os.PathLike)))
        if verify:
            from .verification import _verify_program

            found.verified = _verify_program(program)
    return program


def load(model: Any) -> torch.fx.GraphModule:
    """A model of ONNX (a path, an open file, bytes or a ModelProto) as a module that runs and trains: a GraphModule of
    ``torch.fx`` with the model's tensors as parameters. ``If``, ``Loop`` and ``Scan`` are modules that hold their graphs.

    NotImplementedError names all operators that cannot be read, RuntimeError says why a file is no model.
    """
    from ._import import load

    return load(model)


def __getattr__(name: str) -> Any:
    if name in ("operators", "symbolic_helper", "utils", "verification") or name.startswith("symbolic_opset"):
        return import_module(f"torch.onnx.{name}")
    if name == "ONNXProgram":
        from ._onnx_program import ONNXProgram

        return ONNXProgram
    raise AttributeError(f"module 'torch.onnx' has no attribute {name!r}")
