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

        return f"ONNXProgram(\n{printer.to_text(self.model_proto)}\n)"

    def save(self, destination: Any, *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
             external_data: bool | None = None) -> None:  # fmt: skip
        """Write the model to a path or an open file. Models of more than 2 GiB have their tensors in a file beside."""
        import onnx

        model = self.model_proto
        if not include_initializers:
            model = onnx.ModelProto()
            model.CopyFrom(self.model_proto)
            del model.graph.initializer[:]
        if not isinstance(destination, (str, os.PathLike)):
            destination.write(model.SerializeToString())
            return
        path = os.fspath(destination)
        if model.ByteSize() < 2**31 - 2**20:
            onnx.save_model(model, path)
            return
        copied = onnx.ModelProto()
        copied.CopyFrom(model)
        onnx.save_model(copied, path, save_as_external_data=True, location=f"{os.path.basename(path)}.data")

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
        leaves = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        names = [i.name for i in self._session.get_inputs()]
        kept = {i.name for i in self.model_proto.graph.input}
        order = [i for i, name in enumerate(i.name for i in self.model_proto.graph.input) if name in names]
        feed = {self.model_proto.graph.input[i].name: leaves[i].detach().numpy() for i in order if i < len(leaves)}
        del kept
        return tuple(torch.as_tensor(x) for x in self._session.run(None, feed))
