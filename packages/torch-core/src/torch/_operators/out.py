"""The borders of functions written in Python: arguments that must be tensors, and ``out=``."""

from .. import _C


def into(name, result, out):
    """The result, or ``out`` with it: of its dtype, resized where it has another shape."""
    if out is None:
        return result
    if not isinstance(out, _C.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {result.dtype}, that of the result, but got {out.dtype} instead; "
            "leave out= away and convert the result"
        )
    return _C._operator("clone")(result, out=out)


def check_tensor(name, **arguments):
    """TypeError for the first argument that is not a tensor."""
    for argument, value in arguments.items():
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")
