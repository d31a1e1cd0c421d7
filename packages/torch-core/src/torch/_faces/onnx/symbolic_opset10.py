"""How operators are written in version 10 of ONNX's operators, where torch-onnx is installed. Libraries name these functions at import."""

from . import refusals

__getattr__ = refusals("torch.onnx.symbolic_opset10")
