"""How operators are written in version 9 of ONNX's operators: not yet. Libraries name these functions at import."""

from . import absent


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*args, **kwargs):
        raise NotImplementedError(f"torch.onnx.symbolic_opset9.{name}: {absent()}")

    return refuse
