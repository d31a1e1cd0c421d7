"""The result of an export."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import _pytree as pytree

__all__ = ["ONNXProgram"]


class ONNXProgram:
    """A model as ONNX: ``model_proto`` is the model, calling it runs it by onnxruntime.

    >>> program = torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> program.model_proto.graph.output[0].name
    'relu'
    """

    model_proto: Any = None

    def __init__(self, model: Any, exported_program: Any = None) -> None:
        self.model_proto, self.exported_program = model, exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        from onnx import printer

        return f"ONNXProgram(\n{printer.to_text(_without_weights(self.model_proto))}\n)"

    def save(self, destination: Any, *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
             external_data: bool | None = None) -> None:  # fmt: skip
        """Write the model to a path or an open file.

        Without ``include_initializers`` the parameters are left away. With ``external_data`` tensors of 1 KiB and more stand in a file beside, named like the model with ``.data`` after
        it; models of more than 2 GiB always have them there. ``keep_initializers_as_inputs`` lists the parameters among
        the inputs too. ValueError when an open file is given for data beside it.

        >>> import io
        >>> file = io.BytesIO()
        >>> torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),)).save(file, include_initializers=False)
        >>> import onnx
        >>> len(onnx.load(io.BytesIO(file.getvalue())).graph.initializer)
        0
        """
        import onnx

        model = self.model_proto if include_initializers else _without_weights(self.model_proto, own=True)
        if keep_initializers_as_inputs:
            model = _with_inputs(model, self.model_proto.graph.initializer)
        large = model.ByteSize() >= 2**31 - 2**20
        if not isinstance(destination, (str, os.PathLike)):
            if external_data or large:
                raise ValueError(
                    "ONNXProgram.save: tensors beside the model need a path for it, got an open file"
                    + (": models of more than 2 GiB have them there" if large else "")
                )
            destination.write(model.SerializeToString())
            return
        path = os.fspath(destination)
        if not external_data and not large:
            onnx.save_model(model, path)
            return
        location = f"{os.path.basename(path)}.data"
        beside = os.path.join(os.path.dirname(path), location)
        if os.path.exists(beside):
            os.remove(beside)  # the writer appends
        copied = onnx.ModelProto()
        copied.CopyFrom(model)
        onnx.save_model(copied, path, save_as_external_data=True, location=location)

    def apply_weights(self, state_dict: dict[str, torch.Tensor]) -> None:
        """Put other tensors in the place of the model's own, by name. KeyError and ValueError where they do not fit.

        >>> program = torch.onnx.export(torch.nn.PReLU(), (torch.ones(2),))
        >>> program.apply_weights({"weight": torch.tensor([2.0])})
        >>> program(torch.tensor([-1.0]))
        Traceback (most recent call last):
            ...
        ValueError: ONNXProgram: input has shape (2,) in the file, got (1,)
        >>> program(torch.tensor([-1.0, 1.0]))
        (tensor([-2.,  1.]),)
        """
        from . import _types

        own = {i.name: i for i in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            if name not in own:
                raise KeyError(f"apply_weights: the model has no tensor {name!r}; it has {', '.join(sorted(own))}")
            have = tuple(own[name].dims), own[name].data_type
            if have != (tuple(tensor.shape), _types.number(tensor.dtype)):
                raise ValueError(
                    f"apply_weights: {name} has shape {have[0]} and {_types.dtype_of(have[1])}, "
                    f"got {tuple(tensor.shape)} and {tensor.dtype}"
                )
            own[name].CopyFrom(_types.proto(tensor, name))
        self._session = None

    def compute_values(self, value_names: Any, args: tuple = (), kwargs: dict | None = None) -> list[torch.Tensor]:
        """What values within the model are for these arguments. KeyError for a name that the model lacks.

        >>> program = torch.onnx.export(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()), (torch.ones(2),))
        >>> program.compute_values([program.model_proto.graph.node[0].output[0]], (torch.tensor([-1.0, 3.0]),))
        [tensor([0., 3.])]
        """
        import onnx

        from .verification import _session

        known = {name for node in self.model_proto.graph.node for name in node.output}
        if unknown := [name for name in value_names if name not in known]:
            raise KeyError(f"compute_values: no node of the model gives {', '.join(map(repr, unknown))}")
        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        del model.graph.output[:]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in value_names)
        session = _session(model)
        given = self._feed(args, kwargs or {}, {i.name for i in session.get_inputs()})
        return [torch.as_tensor(x) for x in session.run(None, given)]

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """What ONNX's own evaluator in Python gives: slow, and independent of onnxruntime.

        >>> torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),)).call_reference(torch.tensor([-1.0, 2.0]))
        (tensor([0., 2.]),)
        """
        from onnx.reference import ReferenceEvaluator

        found = ReferenceEvaluator(self.model_proto).run(None, self._feed(args, kwargs, None))
        return tuple(torch.as_tensor(x) for x in found)

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make onnxruntime ready to run the model; ``initializer(model)`` may make the session."""
        if initializer is not None:
            self._session = initializer(self.model_proto.SerializeToString())
            return
        from .verification import _session

        self._session = _session(self.model_proto)

    def release(self) -> None:
        """Let the session go."""
        self._session = None

    def optimize(self) -> None:
        """Does nothing: constants are folded, and unused nodes are gone, when the model is made."""

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        if self._session is None:
            self.initialize_inference_session()
        feed = self._feed(args, kwargs, {i.name for i in self._session.get_inputs()})
        return tuple(torch.as_tensor(x) for x in self._session.run(None, feed))

    def _feed(self, args: tuple, kwargs: dict, wanted: set[str] | None) -> dict[str, Any]:
        """The tensors of a call by the names of the file's inputs."""
        held = {i.name for i in self.model_proto.graph.initializer}
        inputs = [i for i in self.model_proto.graph.input if i.name not in held]
        numbers, leaves = self._numbers(), []
        for i, x in enumerate(pytree.tree_leaves(self._ordered(args, kwargs))):
            if isinstance(x, torch.Tensor):
                leaves.append(x)
            elif i in numbers:
                if not isinstance(x, int):
                    raise TypeError(f"ONNXProgram: argument {i + 1} is an int of the file, got {x!r}")
                leaves.append(torch.tensor(int(x)))
        if len(leaves) != len(inputs):
            raise ValueError(
                f"ONNXProgram: the file takes {len(inputs)} tensors ({', '.join(i.name for i in inputs)}), got {len(leaves)}"
            )
        for info, x in zip(inputs, leaves, strict=True):
            sizes = [d.dim_value if d.HasField("dim_value") else None for d in info.type.tensor_type.shape.dim]
            if len(sizes) != x.dim() or any(s is not None and s != n for s, n in zip(sizes, x.shape, strict=True)):
                shape = tuple(
                    d.dim_value if d.HasField("dim_value") else d.dim_param for d in info.type.tensor_type.shape.dim
                )
                raise ValueError(f"ONNXProgram: {info.name} has shape {shape} in the file, got {tuple(x.shape)}")
        named = zip((i.name for i in inputs), leaves, strict=True)
        return {name: x.detach().cpu().numpy() for name, x in named if wanted is None or name in wanted}

    def _numbers(self) -> set[int]:
        """Which leaves of the arguments are ints that may change: inputs of the file."""
        if self.exported_program is None:
            return set()
        specs = [s for s in self.exported_program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        return {i for i, spec in enumerate(specs) if type(spec.arg).__name__ == "SymIntArgument"}

    def _ordered(self, args: tuple, kwargs: dict) -> Any:
        """The arguments by name in the order of the export."""
        if not kwargs or self.exported_program is None or self.exported_program.example_inputs is None:
            return args, kwargs
        order = list(self.exported_program.example_inputs[1])
        if not order:  # exported by position: the names are those of the inputs
            order = [i.name for i in self.model_proto.graph.input]
        if unknown := [name for name in kwargs if name not in order]:
            raise TypeError(
                f"ONNXProgram: {', '.join(unknown)}: the model was exported without; it takes {', '.join(order)} by name"
            )
        return args, {name: kwargs[name] for name in order if name in kwargs}


def _without_weights(proto, own=False):
    """The model without tensors; with ``own`` it keeps the constants that the export made."""
    import onnx

    bare = onnx.ModelProto()
    bare.ir_version, bare.producer_name, bare.producer_version = (
        proto.ir_version,
        proto.producer_name,
        proto.producer_version,
    )
    bare.opset_import.extend(proto.opset_import)
    for field in ("node", "input", "output", "value_info"):
        getattr(bare.graph, field).extend(getattr(proto.graph, field))
    bare.graph.initializer.extend(t for t in proto.graph.initializer if own and t.name.startswith("onnx::"))
    bare.graph.name = proto.graph.name
    return bare


def _with_inputs(proto, initializers):
    """The model with its parameters among the inputs; constants of the graph are none."""
    import onnx

    listed = onnx.ModelProto()
    listed.CopyFrom(proto)
    known = {i.name for i in proto.graph.input}
    listed.graph.input.extend(
        onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims))
        for t in initializers if t.name not in known and not t.name.startswith("onnx::")
    )  # fmt: skip
    return listed
